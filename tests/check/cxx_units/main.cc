#include "shape.h"

#include <cstring>

void keeper_good()
{
    Shape *shape = make_keeper();
    shape->own(strdup("x"));
    delete shape;
}

void ignorer_bad()
{
    Shape *shape = make_ignorer();
    shape->own(strdup("x")); // alloc @ignored; leak @ignored
    delete shape;
}

void not_deleted_bad()
{
    Shape *shape = make_ignorer();
    (void)shape;
} // leak @ignorer: shape
