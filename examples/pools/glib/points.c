/* Slices in a list of which one is removed and not freed. */
#include <glib.h>
#include <stdio.h>

struct point {
    double x, y;
};

static struct point *point_new(double x, double y)
{
    struct point *point = g_slice_new(struct point);
    point->x = x;
    point->y = y;
    return point;
}

static void point_free(gpointer point)
{
    g_slice_free(struct point, point);
}

int main(void)
{
    GList *points = NULL;
    for (int i = 0; i < 4; i++)
        points = g_list_prepend(points, point_new(i, i * i));
    struct point *last = points->data;
    points = g_list_delete_link(points, points);
    printf("removed %g\n", last->y);
    last = NULL;
    g_list_free_full(points, point_free);
    return 0;
}
