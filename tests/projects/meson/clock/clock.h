#ifndef CLOCK_H
#define CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

struct zone {
    char *name;
    int offset;
};

const struct zone *zone_find(const char *name);
/* The hour in a zone as new text, such as "09:00". */
char *clock_text(int minutes, const struct zone *zone);

#ifdef __cplusplus
}
#endif
#endif
