// A contact is copied as a struct, then its name gets a copy of its own; the address of the copy that is dropped does not.
// valgrind -O2: differs: gcc drops the block of the copy: the address is a result that nobody keeps
// stdout: ada, ada (copy)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct contact {
    char *name;
    char *address;
};

static struct contact *duplicate(const struct contact *from) {
    struct contact *copy = malloc(sizeof *copy);

    *copy = *from;
    copy->name = malloc(strlen(from->name) + 8);
    sprintf(copy->name, "%s (copy)", from->name);
    copy->address = strdup(from->address);    // lost: 1 block, 9 bytes
    return copy;
}

static void release(struct contact *contact) {
    free(contact->name);
    free(contact);    // leaks: holder-freed contact->address
}

int main(void) {
    struct contact ada = {strdup("ada"), strdup("12 Mill Rd")};

    ada.address[8] = '\0';
    struct contact *copy = duplicate(&ada);
    printf("%s, %s\n", ada.name, copy->name);
    release(copy);
    free(ada.name);
    free(ada.address);
    return 0;
}
