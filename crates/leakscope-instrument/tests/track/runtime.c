// A runtime as small as can be: it prints each death that it is told of, and
// is right about what points into the same block, and about the clock. Nothing
// is within reach of the code that derived programs have for themselves.
//
// Blocks of `make` lie where pointers are followed, those of `malloc` do not.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define WORD __thread __attribute__((tls_model("initial-exec"))) unsigned long

#define KEEPS_REGISTERS __attribute__((preserve_most))

WORD leakscope_context, leakscope_site, leakscope_clock, leakscope_outer, leakscope_tables, leakscope_given;
unsigned long leakscope_reach, leakscope_use_chunks;
void *leakscope_last_uses;
char leakscope_uses;

struct site {
    unsigned cause, line, column, name, frame, held, bytes, fields;
    char text[];
};

static const unsigned long START = 4ul << 42, BLOCK = 4096, PLACE_IS_LINE = 1ul << 61;
static unsigned long births;
static unsigned long latest[64];

void *make(void) {
    char *block = mmap((char *)START + births * BLOCK, BLOCK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    latest[births++] = ++leakscope_clock;
    return block;
}

static long block_of(const void *pointer) {
    unsigned long block = ((unsigned long)pointer - START) / BLOCK;
    return block < births ? (long)block : -1;
}

static void dies(const void *old, const struct site *site, unsigned long place) {
    unsigned line = place & PLACE_IS_LINE ? place >> 16 & 0xffffffff : site->line;
    latest[block_of(old)] = ++leakscope_clock;
    printf("%u:%.*s ", line, (int)site->name, site->text);
}

KEEPS_REGISTERS unsigned long __leakscope_dies(const void *old, const struct site *site, const void *kept,
                                               unsigned long place, unsigned long context, unsigned long since) {
    long block = block_of(old);
    if (block >= 0 && latest[block] > since && block_of(kept) != block)
        dies(old, site, place);
    return leakscope_clock;
}

KEEPS_REGISTERS unsigned long __leakscope_ends(const void *old, const struct site *site, unsigned long free1,
                                               unsigned long free2, unsigned long context, unsigned long since) {
    return __leakscope_dies(old, site, 0, 0, context, since);
}

KEEPS_REGISTERS unsigned long __leakscope_overwritten(const void *old, const struct site *site, unsigned long free1,
                                                      unsigned long free2, unsigned long context, const void *new) {
    return __leakscope_dies(old, site, new, 0, context, 0);
}

KEEPS_REGISTERS void __leakscope_drop(const void *old, const struct site *site, unsigned long since,
                                      unsigned long until) {
    if (block_of(old) >= 0 && latest[block_of(old)] > since && latest[block_of(old)] <= until)
        dies(old, site, 0);
}

void __leakscope_range_dies(void **start, unsigned long bytes, const struct site *site, unsigned long place) {
    for (unsigned long i = 0; i < bytes / sizeof *start; i++)
        if (block_of(start[i]) >= 0)
            dies(start[i], site, place);
}

unsigned long __leakscope_watch(void *start, unsigned long bytes) { return 0; }

void __leakscope_check(unsigned long token, const struct site *site) {}

KEEPS_REGISTERS void __leakscope_returns(unsigned long own, const struct site *site, unsigned long place,
                                         const void *value) {
    leakscope_outer = own;
}

KEEPS_REGISTERS void __leakscope_unwound(const void *old, const struct site *site) {
    if (block_of(old) >= 0)
        dies(old, site, 0);
}

void __leakscope_cleans(void *exception) {}

KEEPS_REGISTERS void __leakscope_shrinks(void **old, void **new, const struct site *site) {}
