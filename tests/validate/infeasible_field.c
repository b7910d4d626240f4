// What was compared of an object's field holds until somebody writes it: no transfer overdraws.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct account {
    char name[8];
    long balance;
    struct account *next;
};

static struct account *accounts;

static struct account *find(const char *name)
{
    for (struct account *a = accounts; a; a = a->next)
        if (!strcmp(a->name, name))
            return a;
    return NULL;
}

static void transfer(const char *from, const char *to, long amount)
{
    struct account *a = find(from), *b = find(to);
    if (!a || !b || a == b || amount <= 0 || a->balance < amount)
        return;
    char *note = malloc(32); // @x MA
    if (!note)
        return;
    snprintf(note, 32, "%s>%s", from, to);
    a->balance -= amount;
    b->balance += amount;
    if (a->balance < 0)
        return; // @x LK = likely-not-leak
    puts(note);
    free(note);
}

int main(void)
{
    char line[64], name[8], other[8];
    long amount;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "open %7s %ld", name, &amount) == 2) {
            struct account *a = calloc(1, sizeof *a);
            if (!a)
                return 1;
            strcpy(a->name, name);
            a->balance = amount;
            a->next = accounts;
            accounts = a;
        } else if (sscanf(line, "move %7s %7s %ld", name, other, &amount) == 3) {
            transfer(name, other, amount);
        }
    }
    while (accounts) {
        struct account *gone = accounts;
        accounts = gone->next;
        free(gone);
    }
    return 0;
}
