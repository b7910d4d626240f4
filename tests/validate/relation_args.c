// Two numbers among the arguments must fit together.
// options: --sym-args 2 6
#include <stdio.h>
#include <stdlib.h>

static int area(int width, int height)
{
    char *grid = malloc(32);                                    // @grid MA
    if (!grid)
        return -1;
    grid[0] = 0;
    if (width > 3 && width * 3 == height + 7) {                 // @grid BT
        printf("odd shape\n");
        return -2;                                              // @grid LK = must-leak lost
    }
    free(grid);
    return width * height;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 1;
    return area(atoi(argv[1]), atoi(argv[2])) < 0;
}
