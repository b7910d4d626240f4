// Out of memory, a program may end without freeing what is freed otherwise; but what
// is lost because a call failed is a leak.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *lines[16];
static int count;

static int keep(const char *text)
{
    char *line = strdup(text);                                  // @kept MA
    if (!line)
        return 0;
    if (count == 16) {
        free(line);
        return 0;
    }
    lines[count++] = line;                                      // @kept LK = likely-not-leak
    return 1;
}

static char *join(void)
{
    char *head = malloc(32);                                    // @head MA
    if (!head)
        return NULL;
    strcpy(head, "# ");
    char *all = malloc(400);
    if (!all)
        return NULL;                                            // @head LK = must-leak
    all[0] = 0;
    strcat(all, head);
    free(head);
    for (int i = 0; i < count; i++)
        strncat(all, lines[i], 20);
    return all;
}

int main(void)
{
    char text[16];
    while (fgets(text, sizeof text, stdin))
        if (!keep(text))
            break;
    char *all = join();
    if (!all)
        return 2;
    puts(all);
    free(all);
    while (count > 0)
        free(lines[--count]);
    return 0;
}
