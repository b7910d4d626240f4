// A script engine gets one function that allocates, resizes and frees, and calls it through a pointer: what asked for the memory has the names.
// valgrind-variable -O2: differs: the function is called by a jump, and debug information has f nowhere then
// stdout: 5 and 3 bytes of code
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *(*memory_function)(void *context, void *block, size_t old_size, size_t new_size);

struct engine {
    memory_function memory;
    void *context;
    size_t used;
};

struct function {
    int length;
    char *name;
    unsigned char *code;
};

static void *host(void *context, void *block, size_t old_size, size_t new_size) {
    (void)context;
    (void)old_size;
    if (new_size == 0) {
        free(block);                                                              // leaks: holder-freed f->name
        return NULL;
    }
    return realloc(block, new_size);                                              // lost: 2 blocks, 12 bytes
}

static void *resize(struct engine *engine, void *block, size_t old_size, size_t new_size) {
    engine->used += new_size - old_size;
    return engine->memory(engine->context, block, old_size, new_size);
}

static struct function *function_new(struct engine *engine, const char *name) {
    struct function *f = resize(engine, NULL, 0, sizeof *f);
    memset(f, 0, sizeof *f);
    f->name = resize(engine, NULL, 0, strlen(name) + 1);
    strcpy(f->name, name);                                                        // last used
    return f;
}

static void emit(struct engine *engine, struct function *f, unsigned char byte) {
    f->code = resize(engine, f->code, f->length, f->length + 1);
    f->code[f->length++] = byte;
}

static void function_free(struct engine *engine, struct function *f) {
    resize(engine, f->code, f->length, 0);
    resize(engine, f, sizeof *f, 0);
}

int main(void) {
    struct engine engine = {.memory = host};
    struct function *f = function_new(&engine, "begin"), *g = function_new(&engine, "other");
    for (int i = 0; i < 5; i++)
        emit(&engine, f, i);
    for (int i = 0; i < 3; i++)
        emit(&engine, g, i);
    printf("%d and %d bytes of code\n", f->length, g->length);
    function_free(&engine, f);
    function_free(&engine, g);
    return 0;
}
