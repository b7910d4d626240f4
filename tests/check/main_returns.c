// What `main` holds when it returns is not reported, from inside of a loop neither; what it loses before is.
#include <stdlib.h>
#include <string.h>

extern int step(int);

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *copy = strdup(argv[i]); // alloc
        if (!copy)
            continue;
        if (step(i))
            return 1;
        if (step(i + 1))
            continue; // leak: copy
        free(copy);
    }
    return 0;
}
