// The figures of the paper, and the examples in its text, with the summaries that it prints.
#include <stddef.h>
#include <stdlib.h>

typedef struct List {
    int *val;
    struct List *next;
} List;

int n;
int **gp;
int *gq;

// Figure 1.
// summary fig1_f: Alloc2Ret ret*
// summary fig1_f: Alloc2Arg arg0*.next*
void *fig1_f(List *p)
{
    if (n)
        return malloc(4);
    p->next = malloc(10); // alloc @fig1
    return NULL;
}

void *fig1_g(void)
{
    List k;
    k.next = NULL;
    void *a = fig1_f(&k);
    return a; // leak @fig1: k.next
}

// Figure 2: both arguments point to the same block.
// summary fig2_f: Arg2Free arg0*
// summary fig2_f: Arg2Free arg1*.next*
void fig2_f(List *x, List *y)
{
    free(y->next);
    free(x);
}

void fig2_g(void)
{
    List *a = malloc(sizeof *a);
    if (!a)
        return;
    List *b = a;
    a->next = malloc(sizeof *a);
    fig2_f(a, b);
}

// Figure 3.
// summary freeNext: Arg2Free arg0*.next*
void freeNext(List *lst)
{
    free(lst->next);
}

// Figure 4.
// summary attachGlob: Arg2Glob arg0*
// summary attachGlob: Glob2Arg arg1**
void attachGlob(int *p1, int ***p2)
{
    gq = p1;
    *p2 = gp;
}

// Figure 5.
// summary makeArray: Alloc2Arg arg0**
void makeArray(int **p)
{
    *p = malloc(40);
}

// Figure 6.
// summary make2List: Alloc2Ret ret*
// summary make2List: Alloc2Ret ret*.val*
// summary make2List: Alloc2Ret ret*.next*
// summary make2List: Alloc2Ret ret*.next*.val*
List *make2List(void)
{
    List *lst = malloc(sizeof *lst);
    if (!lst)
        abort();
    lst->val = malloc(4);
    lst->next = malloc(sizeof *lst); // alloc @fig9
    if (!lst->next)
        abort();
    lst->next->next = NULL;
    lst->next->val = malloc(4);
    return lst;
}

// Figure 7.
// summary argPassing: Arg2Arg arg0* arg1**
// summary argPassing: Glob2Ret ret*
int **argPassing(int *p1, int **p2)
{
    *p2 = p1;
    return gp;
}

// Figure 8.
// summary renewList: Arg2Free arg0*
// summary renewList: Arg2Free arg0*.val*
// summary renewList: Arg2Ret arg0*.next* ret*
List *renewList(List *lst)
{
    List *rest = lst->next;
    free(lst->val);
    free(lst);
    return rest;
}

// Figure 9: of all blocks that are made here, one is lost.
void leak(void)
{
    List *lst1, *lst2;
    int **ptr;
    lst1 = make2List();
    lst2 = renewList(lst1);
    attachGlob(lst2->val, &ptr);
    makeArray(ptr);
    freeNext(lst2);
} // leak @fig9: lst2

// Section 3: the second block takes the place of the first in a global.
int *kept;

// summary keep: Arg2Glob arg0*
void keep(int *p)
{
    kept = p;
}

// Section 3: freed on one path alone.
// summary freeIf: Arg2Free arg0*
void freeIf(int *p, int flag)
{
    if (flag)
        free(p);
}

void neverFreed(void)
{
    int *p = malloc(4); // alloc @flag
    freeIf(p, 0);
} // leak @flag: p

void alwaysFreed(void)
{
    int *p = malloc(4);
    freeIf(p, 1);
}

// Section 3: stored on one path alone.
void storedIf(int flag)
{
    int *p = malloc(4); // alloc @stored
    if (flag)
        gq = p;
} // leak @stored: p

// Figure 12, bounded by k = 5.
// summary freeList: Arg2Free arg0*
// summary freeList: Arg2Free arg0*.next*
// summary freeList: Arg2Free arg0*.next*.next*
// summary freeList: Arg2Free arg0*.next*.next*.next*
// summary freeList: Arg2Free arg0*.next*.next*.next*.next*
// summary freeList: Arg2Free arg0*.next*.next*.next*.next*.next*
void freeList(List *p)
{
    List *t = p;
    while (t != NULL) {
        p = p->next;
        free(t);
        t = p;
    }
}

// Section 3: returns 1 whenever it allocates.
int foo(int **pp)
{
    if (n == 0)
        return 0;
    *pp = malloc(n);
    return 1;
}

void bar(void)
{
    int *p;
    if (foo(&p) == 0)
        return;
    free(p);
}

// Figure 13: the loop runs at least once.
void loop13(void)
{
    char *p = malloc(10);
    for (int i = 0; i < 10; i++) {
        if (p) {
            free(p);
            p = NULL;
        }
    }
}

// Section 3: one block by two paths.
int *both(int **p)
{
    *p = malloc(4);
    return *p;
}

void oneBlock(void)
{
    int *a;
    int *b = both(&a);
    (void)a;
    free(b);
}

// Figure 14.
// summary fig14_f: Alloc2Ret ret*
// summary fig14_f: Arg2Ret arg0*.val* ret*
int *fig14_f(List *p)
{
    if (n)
        return malloc(4);
    return p->val;
}

// Figure 15, in our own words.
struct visual { int depth; };
struct context { struct visual *visual; char *cache; };
struct canvas { struct visual *visual; struct context *context; };

struct visual *create_visual(int depth)
{
    struct visual *v = malloc(sizeof *v);
    if (v)
        v->depth = depth;
    return v;
}

void destroy_visual(struct visual *v)
{
    free(v);
}

struct context *create_context(struct visual *v)
{
    struct context *c = malloc(sizeof *c);
    if (!c)
        return NULL;
    c->visual = v;
    c->cache = malloc(100); // alloc @cache
    return c;
}

// The cache is forgotten.
void destroy_context(struct context *c)
{
    free(c); // leak @cache: c->cache
}

struct canvas *create_canvas(int depth)
{
    struct canvas *canvas = calloc(1, sizeof *canvas); // alloc @canvas
    if (canvas) {
        canvas->visual = create_visual(depth);
        if (!canvas->visual)
            return NULL; // leak @canvas: canvas
        canvas->context = create_context(canvas->visual);
        if (!canvas->context) {
            destroy_visual(canvas->visual);
            free(canvas);
            return NULL;
        }
        if (depth > 32) {
            destroy_visual(canvas->visual);
            destroy_context(canvas->context);
            free(canvas);
            return NULL;
        }
    }
    return canvas;
}
