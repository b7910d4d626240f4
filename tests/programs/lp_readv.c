// readv() and recvmsg() fill records that still had a text; one of them lies on two pages of a static table.
// stdout: 4 records
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

struct record {
    long number;
    char *text;
};

struct table {
    char before[4088];
    struct record records[2];
};

static struct table table __attribute__((aligned(4096)));

static int fill(int from, struct record *first, struct record *second) {
    struct iovec parts[2] = {{first, sizeof *first}, {second, sizeof *second}};
    return readv(from, parts, 2) == (ssize_t)(2 * sizeof *first);          // leaks @parts: overwritten
}

static int receive(int from, struct record *record) {
    struct iovec part = {record, sizeof *record};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return recvmsg(from, &message, 0) == (ssize_t)sizeof *record;          // leaks @message: overwritten
}

int main(void) {
    struct record *first = calloc(2, sizeof *first), sent[4] = {{1, NULL}, {2, NULL}, {3, NULL}, {4, NULL}};
    int ends[2], got = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || write(ends[1], sent, sizeof sent) != sizeof sent)
        return 1;
    first[0].text = strdup("one");                                         // lost @parts: 1 block, 4 bytes
    first[1].text = strdup("three");                                       // lost @message: 1 block, 6 bytes
    table.records[0].text = strdup("paged");                               // lost @paged: 1 block, 6 bytes
    got += 2 * fill(ends[0], &first[0], &table.records[1]);
    got += receive(ends[0], &first[1]);
    got += read(ends[0], &table.records[0], sizeof *first) == sizeof *first;    // leaks @paged: overwritten table.records[0].text
    printf("%d records\n", got);
    free(first);
    return 0;
}
