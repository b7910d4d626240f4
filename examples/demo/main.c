#include "book.h"

#include <stdio.h>

static const char *const lines[] = {
    "Ada Lovelace: +44 20 1815",
    "Alan Turing: +44 161 1912",
    "no phone here",
    "Grace Hopper: +1 212 1906",
    "Edsger Dijkstra: +31 10 1930",
};

int main(void) {
    struct book book = {0};
    static const char *const wanted[] = {"Grace Hopper", "Ada Lovelace", "Grace Hopper"};

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (book_add(&book, lines[i]) != 0)
            printf("skipped: %s\n", lines[i]);
    book_remove(&book, "Alan Turing");
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        puts(card_for(book_find(&book, wanted[i])));
    printf("%d contacts\n", book.count);
    book_clear(&book);
    return 0;
}
