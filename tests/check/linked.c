// Lists, trees and queues: built and released in loops and by recursion.
#include <stdlib.h>
#include <string.h>

struct item {
    struct item *next;
    char *name;
};

struct tree {
    struct tree *left, *right;
    int key;
};

extern int more(void);

static struct item *push(struct item *list)
{
    struct item *item = malloc(sizeof *item);
    if (!item)
        return list;
    item->next = list;
    item->name = NULL;
    return item;
}

static void release(struct item *list)
{
    while (list) {
        struct item *next = list->next;
        free(list->name);
        free(list);
        list = next;
    }
}

void built_good(int count)
{
    struct item *list = NULL;
    for (int i = 0; i < count; i++)
        list = push(list);
    release(list);
}

struct item *built_returned_good(int count)
{
    struct item *list = NULL;
    for (int i = 0; i < count; i++)
        list = push(list);
    return list;
}

void built_inline_good(void)
{
    struct item *list = NULL;
    while (more()) {
        struct item *item = malloc(sizeof *item);
        if (!item)
            break;
        item->name = NULL;
        item->next = list;
        list = item;
    }
    release(list);
}

void dropped_bad(void)
{
    struct item *list = NULL;
    while (more()) {
        list = malloc(sizeof *list); // alloc @drop; leak @drop: list
        if (!list)
            return;
        list->next = NULL;
    }
    free(list);
}

void whole_list_bad(void)
{
    struct item *list = NULL;
    while (more()) {
        struct item *item = malloc(sizeof *item); // alloc @whole
        if (!item)
            break;
        item->next = list;
        list = item;
    }
} // leak @whole: list

static void release_nodes(struct item *list)
{
    while (list) {
        struct item *next = list->next;
        free(list); // leak @names: list->name
        list = next;
    }
}

void names_forgotten_bad(void)
{
    struct item *item = malloc(sizeof *item);
    if (!item)
        return;
    item->next = NULL;
    item->name = strdup("name"); // alloc @names
    release_nodes(item);
}

void first_only_bad(void)
{
    struct item *first = malloc(sizeof *first);
    if (!first)
        return;
    first->next = malloc(sizeof *first); // alloc @second
    free(first); // leak @second: first->next
}

void both_good(void)
{
    struct item *first = malloc(sizeof *first);
    if (!first)
        return;
    first->next = malloc(sizeof *first);
    free(first->next);
    free(first);
}

// Appended at the end.
struct queue {
    struct item *head;
    struct item **tail;
};

void queue_good(struct queue *queue)
{
    struct item *item = calloc(1, sizeof *item);
    if (!item)
        return;
    *queue->tail = item;
    queue->tail = &item->next;
}

struct item *appended_good(void)
{
    struct item *head = NULL, **tail = &head;
    while (more()) {
        struct item *item = calloc(1, sizeof *item);
        if (!item)
            break;
        *tail = item;
        tail = &item->next;
    }
    return head;
}

// Recursion.
static void tree_free(struct tree *tree)
{
    if (!tree)
        return;
    tree_free(tree->left);
    tree_free(tree->right);
    free(tree);
}

static struct tree *tree_insert(struct tree *tree, int key)
{
    if (!tree) {
        tree = calloc(1, sizeof *tree);
        if (tree)
            tree->key = key;
        return tree;
    }
    if (key < tree->key)
        tree->left = tree_insert(tree->left, key);
    else
        tree->right = tree_insert(tree->right, key);
    return tree;
}

void tree_good(void)
{
    struct tree *tree = NULL;
    for (int i = 0; more(); i++)
        tree = tree_insert(tree, i);
    tree_free(tree);
}

static void list_free_recursive(struct item *list)
{
    if (list) {
        list_free_recursive(list->next);
        free(list->name);
        free(list);
    }
}

void recursive_good(void)
{
    struct item *list = push(push(NULL));
    list_free_recursive(list);
}

static struct item *make_recursive(int count)
{
    if (count == 0)
        return NULL;
    struct item *item = malloc(sizeof *item); // alloc @recursive
    if (!item)
        return NULL;
    item->name = NULL;
    item->next = make_recursive(count - 1);
    return item;
}

void make_recursive_good(void)
{
    list_free_recursive(make_recursive(5));
}

void make_recursive_bad(void)
{
    struct item *list = make_recursive(5);
    (void)list;
} // leak @recursive: list

// Taken out of a list that came from elsewhere: nothing says that it was on the heap.
void popped_silent(struct item **list)
{
    struct item *first = *list;
    if (!first)
        return;
    *list = first->next;
}

// A circle that nobody holds.
void circle_bad(void)
{
    struct item *a = malloc(sizeof *a); // alloc @circle
    if (!a)
        return;
    a->name = NULL;
    a->next = a;
} // leak @circle: a

void two_in_circle_good(void)
{
    struct item *a = malloc(sizeof *a), *b = malloc(sizeof *b);
    if (a && b) {
        a->next = b;
        b->next = a;
    }
    free(a);
    free(b);
}

// A cycle of functions, of which the first is declared last.
struct key;
struct certificate {
    char *blob;
    struct key *signer;
};
struct key {
    int kind;
    struct certificate *certificate;
    char *secret;
};
int is_signed(int kind);
void key_end(struct key *k);

static void certificate_end(struct certificate *c)
{
    if (c == NULL)
        return;
    free(c->blob);
    key_end(c->signer);
    free(c);
}

static void key_clear(struct key *k)
{
    if (k == NULL)
        return;
    if (is_signed(k->kind))
        certificate_end(k->certificate);
    free(k->secret);
}

void key_end(struct key *k)
{
    key_clear(k);
    free(k);
}

static struct key *key_make(int kind)
{
    struct key *k = calloc(1, sizeof(*k));
    if (k == NULL)
        return NULL;
    k->kind = kind;
    if (is_signed(kind)) {
        k->certificate = calloc(1, sizeof(*k->certificate));
        if (k->certificate == NULL) {
            key_end(k);
            return NULL;
        }
    }
    return k;
}

int key_good(struct key **out, int kind)
{
    struct key *k = key_make(kind);
    if (k == NULL)
        return -1;
    if (kind > 5) {
        key_end(k);
        return -1;
    }
    *out = k;
    return 0;
}

// A list of the program that one function fills and another ends.
struct entry {
    char *text;
    struct entry *next;
};
static struct entry *entries, *others;

static void entry_add(struct entry **to, char *text)
{
    struct entry *e = malloc(sizeof(*e));
    if (e == NULL)
        exit(1);
    e->text = text;
    e->next = *to;
    *to = e;
}

static void entries_end(void)
{
    while (entries != NULL) {
        struct entry *e = entries;
        entries = e->next;
        free(e->text);
        free(e);
    }
}

static void others_end_bad(void)
{
    while (others != NULL) {
        struct entry *e = others;
        others = e->next;
        free(e); // leak @others: e->text
    }
}

void entries_good(void)
{
    entry_add(&entries, strdup("a"));
    entries_end();
}

void others_bad(void)
{
    entry_add(&others, strdup("a")); // alloc @others
    others_end_bad();
}

// What a function takes out of a list of the program's is its result.
static struct entry *stacked, *discarded;

static char *entry_pop(struct entry **from)
{
    struct entry *e = *from;
    if (e == NULL)
        return NULL;
    char *text = e->text;
    *from = e->next;
    free(e);
    return text;
}

static char *stacked_pop(void)
{
    struct entry *e = stacked;
    char *text = e->text;
    stacked = e->next;
    free(e);
    return text;
}

void stacked_good(void)
{
    entry_add(&stacked, strdup("a"));
    free(stacked_pop());
}

void stacked_bad(void)
{
    entry_add(&stacked, strdup("a")); // alloc @stacked
    stacked_pop(); // leak @stacked
}

void discarded_good(void)
{
    entry_add(&discarded, strdup("a"));
    free(entry_pop(&discarded));
}

void discarded_bad(void)
{
    entry_add(&discarded, strdup("a")); // alloc @discarded
    entry_pop(&discarded); // leak @discarded
}

// A variable of the program's that a callee writes over.
static char *passed, *passed_on;

static void pass_on(void)
{
    passed_on = passed;
    passed = NULL;
}

static void pass_end_bad(void)
{
    passed_on = NULL; // leak @passed: passed_on
}

static void pass_end(void)
{
    free(passed_on);
    passed_on = NULL;
}

void pass_good(void)
{
    passed = strdup("a");
    pass_on();
    pass_end();
}

void pass_bad(void)
{
    passed = strdup("a"); // alloc @passed
    pass_on();
    pass_end_bad();
}

// Members of what is in others' members.
struct label {
    char *text;
};
struct leaf {
    struct label *label;
};
struct branch {
    struct leaf *leaf;
};

static struct branch *branch_new(void)
{
    struct branch *b = malloc(sizeof(*b));
    if (b == NULL)
        exit(1);
    b->leaf = malloc(sizeof(*b->leaf));
    if (b->leaf == NULL)
        exit(1);
    b->leaf->label = malloc(sizeof(*b->leaf->label));
    if (b->leaf->label == NULL)
        exit(1);
    b->leaf->label->text = strdup("a"); // alloc @leaf
    return b;
}

static void branch_end(struct branch *b)
{
    free(b->leaf->label->text);
    free(b->leaf->label);
    free(b->leaf);
    free(b);
}

static void branch_end_bad(struct branch *b)
{
    free(b->leaf->label); // leak @leaf: ?
    free(b->leaf);
    free(b);
}

void branch_good(void)
{
    branch_end(branch_new());
}

void branch_bad(void)
{
    branch_end_bad(branch_new());
}

// What is released or written over only where there is something.
static void clear_bad(char **text)
{
    if (*text != NULL)
        *text = NULL; // leak @cleared: *text
}

static void clear(char **text)
{
    if (*text != NULL) {
        free(*text);
        *text = NULL;
    }
}

void cleared_good(void)
{
    char *text = strdup("a");
    clear(&text);
}

void cleared_bad(void)
{
    char *text = strdup("a"); // alloc @cleared
    clear_bad(&text);
}

// How much is moved is not known, so neither is where it is.
static void exchange(void *a, void *b, size_t bytes)
{
    char room[16];
    memcpy(room, a, bytes);
    memcpy(a, b, bytes);
    memcpy(b, room, bytes);
}

void exchanged_good(void)
{
    char *one = strdup("a"), *other = NULL;
    exchange(&one, &other, sizeof(one));
    free(other);
}

// A list that is built at its end, and that a loop elsewhere releases. The
// variable of the loop's body makes ways that leave it go through one place.
static struct item *new_item(void)
{
    return calloc(1, sizeof(struct item)); // alloc @parsed
}

struct item *parsed_good(void)
{
    struct item *head = NULL, *last = NULL;
    while (more()) {
        int number = more();
        if (number < 0) {
            release(head);
            return NULL;
        }
        struct item *item = new_item();
        if (item == NULL) {
            release(head);
            return NULL;
        }
        if (head != NULL)
            last->next = item;
        else
            head = item;
        last = item;
    }
    return head;
}

struct item *parsed_bad(void)
{
    struct item *head = NULL, *last = NULL;
    while (more()) {
        int number = more();
        if (number < 0)
            return NULL; // leak @parsed: head
        struct item *item = new_item();
        if (item == NULL) {
            release(head);
            return NULL;
        }
        if (head != NULL)
            last->next = item;
        else
            head = item;
        last = item;
    }
    return head;
}
