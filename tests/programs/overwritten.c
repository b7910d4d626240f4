// The plain leaks: overwritten, dropped result, early return, holder freed; through two call paths of one wrapper.
#include <stdlib.h>
#include <string.h>

struct contact {
    char *name;
    char *phone;
};

static char *copy_text(const char *text) {
    char *copy = malloc(strlen(text) + 1);    // lost: 3 blocks, 17 bytes; indirect: 1 block, 4 bytes
    if (copy == NULL)
        abort();
    return strcpy(copy, text);
}

static struct contact *new_contact(const char *name, const char *phone) {
    struct contact *contact = malloc(sizeof *contact);    // lost: 1 block, 16 bytes
    contact->name = copy_text(name);
    contact->phone = NULL;
    if (phone[0] == '\0')
        return NULL;
    contact->phone = copy_text(phone);
    return contact;
}

static void rename_contact(struct contact *contact, const char *name) {
    contact->name = copy_text(name);
}

static void free_contact(struct contact *contact) {
    free(contact->name);
    free(contact);
}

int main(void) {
    struct contact *ada = new_contact("ada", "12-34");

    new_contact("eve", "");
    rename_contact(ada, "lovelace");
    copy_text("unused");
    free_contact(ada);
    ada = NULL;
    return 0;
}
