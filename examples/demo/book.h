/* An address book: contacts in a list, and the cards that searches show. */
#ifndef BOOK_H
#define BOOK_H

struct contact {
    char *name;
    char *phone;
    struct contact *next;
};

struct book {
    struct contact *contacts;
    int count;
};

/* Adds a contact, or returns -1 when the line is not "name: phone". */
int book_add(struct book *book, const char *line);
int book_remove(struct book *book, const char *name);
const struct contact *book_find(struct book *book, const char *name);
void book_clear(struct book *book);

/* The text that a search shows for a contact; kept, so that asking again is fast. */
const char *card_for(const struct contact *contact);

#endif
