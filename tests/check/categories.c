// Each category of a summary, used by a caller that leaks and by one that does not.
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *next;
    char *name;
};

static struct node *head;
static char *last_name;

// summary alloc2ret: Alloc2Ret ret*
char *alloc2ret(void)
{
    return malloc(10); // alloc @alloc2ret
}

void alloc2ret_bad(void)
{
    char *p = alloc2ret();
    if (p)
        p[0] = 0;
} // leak @alloc2ret: p

void alloc2ret_good(void)
{
    char *p = alloc2ret();
    free(p);
}

// summary alloc2arg: Alloc2Arg arg0*.name*
void alloc2arg(struct node *node)
{
    node->name = strdup("name"); // alloc @alloc2arg
}

void alloc2arg_bad(void)
{
    struct node node = {0};
    alloc2arg(&node);
} // leak @alloc2arg: node.name

void alloc2arg_good(void)
{
    struct node node = {0};
    alloc2arg(&node);
    free(node.name);
}

void alloc2arg_callers(struct node *node)
{
    alloc2arg(node);
}

// summary arg2free: Arg2Free arg0*
// summary arg2free: Arg2Free arg0*.name*
void arg2free(struct node *node)
{
    free(node->name);
    free(node);
}

void arg2free_good(void)
{
    struct node *node = calloc(1, sizeof *node);
    if (!node)
        return;
    node->name = malloc(3);
    arg2free(node);
}

// summary arg2free_half: Arg2Free arg0*
void arg2free_half(struct node *node)
{
    free(node); // leak @half: node->name
}

void arg2free_bad(void)
{
    struct node *node = calloc(1, sizeof *node);
    if (!node)
        return;
    node->name = malloc(3); // alloc @half
    arg2free_half(node);
}

// summary arg2glob: Arg2Glob arg0*
// summary arg2glob: Glob2Arg arg0*.next*
void arg2glob(struct node *node)
{
    node->next = head;
    head = node;
}

void arg2glob_good(void)
{
    struct node *node = calloc(1, sizeof *node);
    if (node)
        arg2glob(node);
}

void arg2glob_not(struct node *node)
{
    node->name = NULL;
}

void arg2glob_bad(void)
{
    struct node *node = calloc(1, sizeof *node); // alloc @glob
    if (node)
        arg2glob_not(node);
} // leak @glob: node

// summary arg2arg: Arg2Arg arg1* arg0*.name*
void arg2arg(struct node *node, char *name)
{
    node->name = name;
}

void arg2arg_good(struct node *node)
{
    char *name = malloc(5);
    arg2arg(node, name);
}

void arg2arg_bad(void)
{
    struct node node = {0};
    char *name = malloc(5); // alloc @arg2arg
    arg2arg(&node, name);
} // leak @arg2arg: ?

// summary arg2ret: Arg2Ret arg0* ret*
char *arg2ret(char *text)
{
    for (char *c = text; *c; c++)
        if (*c == '\n')
            *c = ' ';
    return text;
}

void arg2ret_good(void)
{
    char *p = arg2ret(strdup("a"));
    free(p);
}

void arg2ret_bad(void)
{
    char *p = arg2ret(strdup("a")); // alloc @arg2ret
    (void)p;
} // leak @arg2ret: p

// summary glob2ret: Glob2Ret ret*
struct node *glob2ret(void)
{
    return head;
}

void glob2ret_good(void)
{
    struct node *node = glob2ret();
    if (node)
        node->name = malloc(4);
}

// summary glob2arg: Glob2Arg arg0**
void glob2arg(struct node **where)
{
    *where = head; // leak @glob2arg: *where
}

void glob2arg_good(void)
{
    struct node *node;
    glob2arg(&node);
    if (node)
        node->name = malloc(4);
}

void glob2arg_bad(void)
{
    struct node *node = malloc(sizeof *node); // alloc @glob2arg
    glob2arg(&node);
}

// A global is overwritten while it holds the only pointer.
void global_overwritten(void)
{
    last_name = malloc(4); // alloc @overwritten
    last_name = malloc(8); // leak @overwritten: last_name
}

void global_released(void)
{
    free(last_name);
    last_name = malloc(4);
}
