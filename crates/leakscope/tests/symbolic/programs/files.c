#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char text[100] = "";
    if (read(0, text, 3) == 3 && text[1] == 'b') puts("b");
    if (lseek(0, 1, SEEK_SET) == 1 && read(0, text, 1) == 1 && text[0] == 'b') puts("again");
    FILE *f = fopen(argv[1], "r");
    if (!f) { puts("none"); return 1; }
    int number;
    if (fscanf(f, "magic %d", &number) == 1 && number == 12) puts("magic");
    int c = fgetc(f);
    if (c == '\n') puts("line");
    ungetc('u', f);
    if (getc(f) == 'u') puts("u");
    char *line = 0; size_t room = 0;
    while (getline(&line, &room, f) > 0) if (line[0] == 'r') puts("rest");
    rewind(f);
    if (fgets(text, 4, f) && text[2] == 'g') puts("g");
    fseek(f, 0, SEEK_END);
    if (ftell(f) > 20) puts("long");
    fclose(f);
    int d = open(argv[1], O_RDONLY);
    struct stat s;
    if (fstat(d, &s) == 0 && s.st_size == 26) puts("26");
    if (pread(d, text, 2, 6) == 2 && text[0] == '1') puts("1");
    char *m = mmap(0, s.st_size, PROT_READ, MAP_PRIVATE, d, 0);
    if (m[0] == 'm') puts("m");
    if (read(d, text, 90) < 50) puts("short");
    close(d);
    free(line);
    if (getchar() == EOF) puts("end");
    return 0;
}
