// Objects are linked by a member in their middle: while they wait, only that member's address is kept.
// variants: -O0 -O2
// stdout: printed a.ps, b.ps, c.ps
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct link {
    struct link *next;
};

struct print_job {
    char *file;
    int pages;
    struct link link;
};

static struct link *waiting;

static struct print_job *job_of(struct link *link) {
    return (struct print_job *)((char *)link - offsetof(struct print_job, link));
}

static void submit(const char *file, int pages) {
    struct print_job *job = malloc(sizeof *job);

    job->file = strdup(file);
    job->pages = pages;
    job->link.next = waiting;
    waiting = &job->link;
}

static void print_next(void) {
    struct print_job *job = job_of(waiting);

    waiting = waiting->next;
    printf("%s%s", job->file, waiting != NULL ? ", " : "\n");
    free(job->file);
    free(job);
}

int main(void) {
    submit("c.ps", 3);
    submit("b.ps", 1);
    submit("a.ps", 12);
    fputs("printed ", stdout);
    while (waiting != NULL)
        print_next();
    return 0;
}
