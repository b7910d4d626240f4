// Lines that are taken apart by formats with words in them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct limits { int width, height; char unit[8]; };

int main(void)
{
    char line[80], unit[8];
    int width, height;
    struct limits *now = NULL;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "size %dx%d %7s", &width, &height, unit) != 3)
            continue;
        struct limits *next = malloc(sizeof *next);             // @range MA; @limits MA
        if (!next)
            break;
        next->width = width;
        next->height = height;
        strcpy(next->unit, unit);
        if (width < 10 || width > 640 || height < 10 || height > 480) {
            if (!strcmp(unit, "px"))
                continue;                                       // @range LK = must-leak lost
            free(next);
            continue;
        }
        if (now && now->width > next->width)
            free(now);
        now = next;                                             // @limits LK = must-leak lost
    }
    free(now);
    return 0;
}
