// What is read is kept in a temporary file first, as editors do; and a stream that cannot be made of a descriptor.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void list(FILE *text)
{
    char line[16];
    rewind(text);
    while (fgets(line, sizeof line, text)) {
        char *copy = strdup(line); // @listed MA
        if (!copy)
            return;
        if (strlen(copy) > 4)
            return; // @listed LK = must-leak lost
        puts(copy);
        free(copy);
    }
}

static void note(const char *name)
{
    int file = open(name, O_WRONLY | O_CREAT, 0600);
    if (file < 0)
        return;
    char *title = malloc(8); // @noted MA
    FILE *out = fdopen(file, "w");
    if (!out) {
        close(file);
        return; // @noted LK = must-leak
    }
    if (title)
        fputs(strcpy(title, "list\n"), out);
    free(title);
    fclose(out);
}

int main(void)
{
    char line[16];
    FILE *text = tmpfile();
    if (!text)
        return 1;
    while (fgets(line, sizeof line, stdin))
        fputs(line, text);
    list(text);
    fclose(text);
    note("notes");
    return 0;
}
