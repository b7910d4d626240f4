// What elements own, in a library: nobody here knows what its users do, but who releases some of an element's members
// is to release all.
#include <stdlib.h>
#include <string.h>

struct series {
    char *name;
    int *values;
    size_t count;
    struct series *next;
};

static void *grown(void *block, size_t count, size_t size)
{
    if (size != 0 && count > (size_t)-1 / size)
        return NULL;
    return realloc(block, count * size); // alloc @values
}

struct series *series_new(const char *name)
{
    struct series *series = calloc(1, sizeof *series);
    if (series)
        series->name = strdup(name);
    return series;
}

int series_add(struct series *series, int value)
{
    int *values = grown(series->values, series->count + 1, sizeof *values);
    if (!values)
        return -1;
    series->values = values;
    series->values[series->count++] = value;
    return 0;
}

void series_free_bad(struct series *series)
{
    free(series->name);
    free(series); // leak @values: series->values
}

struct point {
    int *weights;
    struct point *next;
};

int point_add(struct point *point, int weight)
{
    int *weights = grown(point->weights, 4, sizeof *weights);
    if (!weights)
        return -1;
    weights[0] = weight;
    point->weights = weights;
    return 0;
}

// Weights may be what users took before.
void points_free_silent(struct point *point)
{
    while (point) {
        struct point *next = point->next;
        free(point);
        point = next;
    }
}

struct key {
    char *text, *hash;
};

int key_set(struct key *key, const char *text)
{
    key->text = strdup(text);
    key->hash = strdup("");
    return key->text && key->hash;
}

char *key_hash(const struct key *key)
{
    return key->hash;
}

// Whoever asked for the hash has it.
void key_free_silent(struct key *key)
{
    free(key->text);
    free(key);
}
