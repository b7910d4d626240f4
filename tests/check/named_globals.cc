// What holds a block is told by the source's name, also where the linker's is
// another.
#include <cstdlib>
#include <cstring>

static char *title;

namespace menu {
char *label;
}

void title_bad(const char *text)
{
    title = strdup(text); // alloc @title
    title = nullptr;      // leak @title: title
}

void label_bad(const char *text)
{
    menu::label = strdup(text); // alloc @label
    menu::label = nullptr;      // leak @label: menu::label
}

void kept_bad(const char *text)
{
    static char *kept;
    kept = strdup(text); // alloc @kept
    kept = nullptr;      // leak @kept: kept
}

void title_good(const char *text)
{
    title = strdup(text);
    free(title);
    title = nullptr;
}
