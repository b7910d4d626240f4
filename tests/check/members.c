/* Members of elements that were found in a data structure: who releases an element, or writes over its member, and
   forgets what the member owns. That it is owned is known of the whole program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One function releases the member, another forgets it. */
struct contact {
    char *name;
    char *phone;
    struct contact *next;
};

static struct contact *contacts;

void contact_add(const char *name, const char *phone)
{
    struct contact *contact = malloc(sizeof *contact);
    if (contact == NULL)
        exit(1);
    contact->name = strdup(name);
    contact->phone = strdup(phone);     // alloc @phone
    contact->next = contacts;
    contacts = contact;
}

static void contact_free(struct contact *contact)
{
    free(contact->name);
    free(contact);
}

void contact_remove_bad(const char *name)
{
    for (struct contact **link = &contacts; *link != NULL; link = &(*link)->next) {
        struct contact *contact = *link;
        if (strcmp(contact->name, name) == 0) {
            *link = contact->next;
            contact_free(contact);      // leak @phone: contact->phone
            return;
        }
    }
}

void contact_remove_good(const char *name)
{
    for (struct contact **link = &contacts; *link != NULL; link = &(*link)->next) {
        struct contact *contact = *link;
        if (strcmp(contact->name, name) == 0) {
            *link = contact->next;
            free(contact->phone);
            contact_free(contact);
            return;
        }
    }
}

char *contact_take_phone_good(void)
{
    struct contact *contact = contacts;
    if (contact == NULL)
        return NULL;
    contacts = contact->next;
    char *phone = contact->phone;
    contact_free(contact);
    return phone;
}

void contacts_clear_good(void)
{
    while (contacts != NULL) {
        struct contact *contact = contacts;
        contacts = contact->next;
        free(contact->phone);
        contact_free(contact);
    }
}

/* Nobody in the program ever releases the member. */
struct account {
    char *user;
    char *password;
};

static struct account *accounts[8];

void account_open(int at, const char *user, const char *password)
{
    struct account *account = calloc(1, sizeof *account);
    if (account == NULL)
        exit(1);
    account->user = strdup(user);
    account->password = strdup(password);       // alloc @password
    accounts[at & 7] = account;
}

int account_check(int at, const char *password)
{
    return accounts[at & 7] != NULL && strcmp(accounts[at & 7]->password, password) == 0;
}

void account_close_bad(int at)
{
    struct account *account = accounts[at & 7];
    if (account == NULL)
        return;
    free(account->user);
    free(account);      // leak @password: account->password
    accounts[at & 7] = NULL;
}

/* Elements of an array: another function releases both members. */
struct route {
    char *path;
    char *target;
};

struct router {
    struct route *routes;
    int count;
};

int route_add(struct router *router, const char *path, const char *target)
{
    struct route *routes = realloc(router->routes, (router->count + 1) * sizeof *routes);
    if (routes == NULL)
        return -1;
    router->routes = routes;
    routes[router->count].path = strdup(path);
    routes[router->count++].target = strdup(target);    // alloc @target
    return 0;
}

void route_pop_good(struct router *router)
{
    struct route *last = &router->routes[--router->count];
    free(last->path);
    free(last->target);
}

void router_clear_bad(struct router *router)
{
    for (int i = 0; i < router->count; i++)
        free(router->routes[i].path);
    free(router->routes);       // leak @target: ?
}

/* A member is written over that all elements have. */
struct header {
    char *name;
    char *value;
    struct header *next;
};

int header_set_bad(struct header **headers, const char *name, const char *value)
{
    struct header *header;
    for (header = *headers; header != NULL; header = header->next)
        if (strcmp(header->name, name) == 0) {
            header->value = strdup(value);      // leak @value: header->value
            return header->value == NULL ? -1 : 0;
        }
    header = malloc(sizeof *header);
    if (header == NULL)
        return -1;
    header->name = strdup(name);
    header->value = strdup(value);      // alloc @value
    header->next = *headers;
    *headers = header;
    return 0;
}

void headers_free_good(struct header *headers)
{
    while (headers != NULL) {
        struct header *next = headers->next;
        free(headers->name);
        free(headers->value);
        free(headers);
        headers = next;
    }
}

/* The same, where a function of its own makes elements. */
struct option {
    char *key;
    char *text;
    char *note;
    struct option *next;
};

static struct option *options;

static struct option *option_new(const char *key, const char *text)
{
    struct option *option = calloc(1, sizeof *option);
    if (option == NULL)
        return NULL;
    option->key = strdup(key);
    option->text = strdup(text);        // alloc @text
    return option;
}

int option_set_bad(const char *key, const char *text)
{
    for (struct option *option = options; option != NULL; option = option->next)
        if (strcmp(option->key, key) == 0) {
            option->text = strdup(text);        // leak @text: option->text
            return 0;
        }
    struct option *option = option_new(key, text);
    if (option == NULL)
        return -1;
    option->next = options;
    options = option;
    return 1;
}

/* Who makes one leaves this member out, and whoever sets it knows that. */
int option_annotate_silent(const char *key, const char *note)
{
    for (struct option *option = options; option != NULL; option = option->next)
        if (strcmp(option->key, key) == 0) {
            option->note = strdup(note);
            return 0;
        }
    return -1;
}

void options_free_good(void)
{
    while (options != NULL) {
        struct option *option = options;
        options = option->next;
        free(option->key);
        free(option->text);
        free(option->note);
        free(option);
    }
}

/* A member that is at times owned is for its flag to say. */
struct text {
    char *content;
    int is_owned;
    struct text *next;
};

void text_add(struct text **texts, char *content, int is_copied)
{
    struct text *text = malloc(sizeof *text);
    if (text == NULL)
        exit(1);
    text->content = is_copied ? strdup(content) : content;
    text->is_owned = is_copied;
    text->next = *texts;
    *texts = text;
}

void text_drop_silent(struct text **texts)
{
    struct text *text = *texts;
    *texts = text->next;
    free(text);
}

void texts_free_good(struct text *texts)
{
    while (texts != NULL) {
        struct text *next = texts->next;
        if (texts->is_owned)
            free(texts->content);
        free(texts);
        texts = next;
    }
}

/* A member that is null, or that a callee or caller sees to. */
struct job {
    char *command;
    char *output;
    struct job *next;
};

static struct job *jobs;

void job_add(const char *command)
{
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL)
        exit(1);
    job->command = strdup(command);
    job->next = jobs;
    jobs = job;
}

void job_run(void)
{
    if (jobs != NULL && jobs->output == NULL)
        jobs->output = malloc(100);
}

static void job_unlink(struct job *job)
{
    jobs = job->next;
    free(job);
}

void job_skip_good(void)
{
    struct job *job = jobs;
    if (job != NULL && job->output == NULL) {
        free(job->command);
        job_unlink(job);
    }
}

static void job_clear(struct job *job)
{
    free(job->command);
    free(job->output);
}

void job_end_good(void)
{
    struct job *job = jobs;
    if (job != NULL) {
        job_clear(job);
        job_unlink(job);
    }
}

// Slots of one kind have no label; how far one has come says nothing of that.
enum kind { EMPTY, LABELLED };

struct slot {
    enum kind kind;
    int state;
    char *label;
    struct slot *next;
};

static struct slot *slots;

static struct slot *slot_new(enum kind kind)
{
    struct slot *slot = calloc(1, sizeof *slot);
    if (slot == NULL)
        abort();
    slot->kind = kind;
    slot->next = slots;
    slots = slot;
    return slot;
}

void slot_label(const char *text)
{
    struct slot *slot = slot_new(LABELLED);
    slot->label = strdup(text); // alloc @label
}

void slot_run(void)
{
    for (struct slot *slot = slots; slot != NULL; slot = slot->next)
        slot->state++;
}

void slot_merge_good(void)
{
    struct slot *first = slots, *next = first != NULL ? first->next : NULL;
    if (next != NULL && next->kind == EMPTY && first->kind == EMPTY) {
        first->next = next->next;
        free(next);
    }
}

void slot_done_bad(void)
{
    struct slot *slot = slots;
    if (slot != NULL && slot->state == 3) {
        slots = slot->next;
        free(slot); // leak @label: slot->label
    }
}

void slots_free_good(void)
{
    while (slots != NULL) {
        struct slot *slot = slots;
        slots = slot->next;
        free(slot->label);
        free(slot);
    }
}

/* A table that is made where it is null, in each turn of a loop: what was used before is the one of another turn. */
struct letters {
    char **texts;
    int *counts;
};

void letters_put_good(struct letters *letters, const char *text)
{
    for (; *text != 0; text++) {
        if (letters->texts == NULL && (letters->texts = calloc(128, sizeof *letters->texts)) == NULL)
            exit(1);
        letters->texts[*text & 127] = "x";
    }
}

void letters_count_bad(struct letters *letters, const char *text)
{
    for (; *text != 0; text++) {
        int *counts = calloc(128, sizeof *counts);                      // alloc @counts
        if (counts == NULL)
            exit(1);
        if (letters->counts != NULL)
            memcpy(counts, letters->counts, 128 * sizeof *counts);
        letters->counts = counts;                                       // leak @counts: letters->counts
        letters->counts[*text & 127]++;
    }
}

void letters_free_good(struct letters *letters)
{
    free(letters->texts);
    free(letters->counts);
    letters->texts = NULL;
    letters->counts = NULL;
}

static struct letters *found_letters(void)
{
    static struct letters all[4];
    return &all[getchar() & 3];
}

int main(int argc, char **argv)
{
    struct router router = { NULL, 0 };
    struct header *headers = NULL;
    struct text *texts = NULL;
    for (int i = 1; i < argc; i++) {
        contact_add(argv[0], argv[i]);
        account_open(i, argv[0], argv[i]);
        route_add(&router, argv[0], argv[i]);
        header_set_bad(&headers, argv[0], argv[i]);
        text_add(&texts, argv[i], i & 1);
        job_add(argv[i]);
    }
    contact_remove_bad("a");
    letters_put_good(found_letters(), argv[0]);
    letters_count_bad(found_letters(), argv[0]);
    letters_free_good(found_letters());
    contact_remove_good("b");
    free(contact_take_phone_good());
    contacts_clear_good();
    printf("%d\n", account_check(1, "x"));
    account_close_bad(1);
    if (router.count > 2)
        route_pop_good(&router);
    router_clear_bad(&router);
    headers_free_good(headers);
    if (texts != NULL)
        text_drop_silent(&texts);
    texts_free_good(texts);
    job_run();
    job_skip_good();
    job_end_good();
    slot_new(EMPTY);
    slot_label(argv[0]);
    slot_run();
    slot_merge_good();
    slot_done_bad();
    slots_free_good();
    return 0;
}

/* A cache: who makes an element also drops another one. */
struct cached {
    char *key;
    char *data;
    long used;
};

static struct cached *cache[8];

int cache_put_bad(const char *key, const char *data, int oldest)
{
    struct cached *entry = malloc(sizeof *entry);
    if (entry == NULL)
        return -1;
    entry->key = strdup(key);
    entry->data = strdup(data);     // alloc @data
    entry->used = 0;
    if (cache[oldest & 7] != NULL) {
        free(cache[oldest & 7]->key);
        free(cache[oldest & 7]);    // leak @data: ?
    }
    cache[oldest & 7] = entry;
    return 0;
}

struct held {
    char *key;
    char *data;
    int used;
    int unused;
};

static struct held *all_held[8];

int held_put_good(const char *key, const char *data, int oldest)
{
    struct held *entry = malloc(sizeof *entry);
    if (entry == NULL)
        return -1;
    entry->key = strdup(key);
    entry->data = strdup(data);
    entry->used = 0;
    if (all_held[oldest & 7] != NULL) {
        free(all_held[oldest & 7]->key);
        free(all_held[oldest & 7]->data);
        free(all_held[oldest & 7]);
    }
    all_held[oldest & 7] = entry;
    return 0;
}
