#ifndef NOTES_H
#define NOTES_H

#include <stddef.h>

struct note {
    char *title;
    char *body;
    struct note *next;
};

/* text: trims and wraps; both return a new string. */
char *trimmed(const char *text);
char *wrapped(const char *text, size_t width);

/* store: keeps notes and writes down what happened to them. */
void store_add(const char *title, const char *body);
int store_count(void);
void store_clear(void);
void journal(const char *event);

const char *version(void);

#endif
