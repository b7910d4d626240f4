// Values that count their holders, in a table whose setter takes a reference of its own: one caller hands it a value that it
// options: --explain
// valgrind -O2: differs: gcc inlines it all, and in registers: a function stands for the variables that it has there
// has just made and forgets. Others look values up, copy the table, and list them; the list is freed with its references.
// stdout: Ada 2, Bob 2
// stdout: copied Ada
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value {
    int references;
    char text[20];
};

struct table {
    struct value *values[4];
    int used;
};

struct item {
    struct value *value;
    struct item *next;
};

static struct value *value_new(const char *text)
{
    struct value *value = malloc(sizeof *value); // lost @name: 2 blocks, 48 bytes; lost @job: 1 block, 24 bytes; counted @name: 2 references, 1 holder; counted @job: 2 references, 1 holder
    value->references = 1;
    strcpy(value->text, text);
    return value;
}

static struct value *value_ref(struct value *value)
{
    if (value != NULL)
        value->references++;
    return value;
}

static void value_drop(struct value *value)
{
    if (value != NULL && --value->references == 0)
        free(value);
}

static void table_take(struct table *table, struct value *value)
{
    table->values[table->used++] = value;
}

static void table_set(struct table *table, struct value *value)
{
    table_take(table, value_ref(value));
}

static struct value *table_get(const struct table *table, int at)
{
    return at < table->used ? table->values[at] : NULL;
}

static void table_clear(struct table *table)
{
    while (table->used > 0)
        value_drop(table->values[--table->used]);
}

static void describe(struct table *table, const char *name)
{
    table_set(table, value_new(name)); // leaks @name: discarded ?
    table_take(table, value_new("2"));
}

static struct table copy_of(const struct table *table)
{
    struct table copy = {0};
    for (int i = 0; i < table->used; i++) {
        struct value *value = table_get(table, i);
        table_set(&copy, value);
    }
    return copy;
}

static struct item *item_push(struct item *next, struct value *value)
{
    struct item *item = malloc(sizeof *item);
    item->value = value_ref(value);
    item->next = next;
    return item;
}

static void items_free(struct item *item)
{
    while (item != NULL) {
        struct item *next = item->next;
        free(item); // leaks @job: holder-freed item->value
        item = next;
    }
}

int main(void)
{
    struct table ada = {0}, bob = {0};
    describe(&ada, "Ada");
    describe(&bob, "Bob");
    printf("%s %s, %s %s\n", table_get(&ada, 0)->text, table_get(&ada, 1)->text, table_get(&bob, 0)->text,
           table_get(&bob, 1)->text);
    struct table copy = copy_of(&ada);
    struct value *found = value_ref(table_get(&copy, 0));
    struct value *job = value_new("copied");
    struct item *jobs = item_push(NULL, job);
    printf("%s %s\n", jobs->value->text, found->text);
    items_free(jobs);
    value_drop(job);
    value_drop(found);
    table_clear(&copy);
    table_clear(&ada);
    table_clear(&bob);
    return 0;
}
