// Copies a file by read and write; an error of read leaves the buffer.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int copy(int from, int to)
{
    size_t room = 32;
    char *buffer = malloc(room); // @buffer MA
    if (!buffer)
        return -1;
    for (;;) {
        ssize_t n = read(from, buffer, room);
        if (n < 0) {
            if (errno == EINTR)
                continue;
            return -1; // @buffer LK = must-leak
        }
        if (n == 0)
            break;
        for (ssize_t at = 0; at < n;) {
            ssize_t w = write(to, buffer + at, n - at);
            if (w < 0) {
                free(buffer);
                return -1;
            }
            at += w;
        }
    }
    free(buffer);
    return 0;
}

int main(int argc, char **argv)
{
    int fd = 0;
    if (argc > 1 && strcmp(argv[1], "-") != 0) {
        fd = open(argv[1], O_RDONLY);
        if (fd < 0) {
            perror(argv[1]);
            return 1;
        }
    }
    int bad = copy(fd, 1);
    if (fd)
        close(fd);
    return bad ? 1 : 0;
}
