// A program that starts others and writes outside its folder.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int step(int c)
{
    char *text = malloc(8);                                     // @parent MA
    if (!text)
        return 1;
    if (c == 'f')
        for (int i = 0; i < 8; i++)
            if (fork() == 0)
                for (;;)
                    pause();
    FILE *file = fopen("/tmp/leakscope-validate-was-here", "w");
    if (file)
        fclose(file);
    if (c == 'w')                                               // @parent BT
        return 2;                                               // @parent LK = must-leak lost
    free(text);
    return 0;
}

int main(void)
{
    return step(getchar());
}
