#include "book.h"

#include <stdlib.h>
#include <string.h>

static struct contact *contact_new(const char *name, size_t name_length) {
    struct contact *contact = calloc(1, sizeof *contact);

    if (contact == NULL)
        abort();
    contact->name = strndup(name, name_length);
    return contact;
}

static void contact_free(struct contact *contact) {
    free(contact->name);
    free(contact);
}

int book_add(struct book *book, const char *line) {
    const char *colon = strchr(line, ':');
    struct contact *contact = contact_new(line, colon ? (size_t)(colon - line) : strlen(line));

    if (colon == NULL)
        return -1;
    contact->phone = strdup(colon + 1 + strspn(colon + 1, " "));
    contact->next = book->contacts;
    book->contacts = contact;
    book->count++;
    return 0;
}

int book_remove(struct book *book, const char *name) {
    for (struct contact **link = &book->contacts; *link != NULL; link = &(*link)->next) {
        struct contact *contact = *link;
        if (strcmp(contact->name, name) == 0) {
            *link = contact->next;
            contact_free(contact);
            book->count--;
            return 0;
        }
    }
    return -1;
}

const struct contact *book_find(struct book *book, const char *name) {
    for (const struct contact *contact = book->contacts; contact != NULL; contact = contact->next)
        if (strcmp(contact->name, name) == 0)
            return contact;
    return NULL;
}

void book_clear(struct book *book) {
    while (book->contacts != NULL) {
        struct contact *contact = book->contacts;
        book->contacts = contact->next;
        free(contact->phone);
        contact_free(contact);
    }
    book->count = 0;
}
