// An arena frees its blocks all at once: one to which no pointer is left is no leak while the arena is there. Its functions cannot be preloaded: the program does not export them.
// valgrind-totals -O2: differs: gcc inlines arena_alloc and arena_strdup, so that the arena's blocks are not seen
// valgrind -O2: differs: gcc inlines arena_alloc and arena_strdup, so that the arena's blocks are not seen; scratch too, whose arena goes with the call of word_new
// config: [[allocator]]
// config: alloc = ["arena_alloc", { name = "arena_strdup", string = true }]
// config: size = 1
// config: pool = 0
// config: destroy = "arena_free"
// config: clear = "arena_reset"
// engines: track valgrind
// stdout: 3 words, longest 9
// memcheck: differs: it knows nothing of the arena: what its memory holds is part of it
// lsan: differs: it knows nothing of the arena: what its memory holds is part of it
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena {
    char *memory;
    size_t used;
    size_t size;
};

struct arena *arena_new(size_t size) {
    struct arena *arena = malloc(sizeof *arena); // lost @dropped: 1 block, 24 bytes; forgotten: 1 block, 24 bytes
    arena->memory = malloc(size);
    arena->used = 0;
    arena->size = size;
    return arena;
}

void *arena_alloc(struct arena *arena, size_t size) {
    void *block = arena->memory + arena->used;
    arena->used += (size + 7) / 8 * 8;
    return arena->used <= arena->size ? block : NULL;
}

char *arena_strdup(struct arena *arena, const char *text) {
    return strcpy(arena_alloc(arena, strlen(text) + 1), text);
}

void arena_reset(struct arena *arena) {
    arena->used = 0;
}

void arena_free(struct arena *arena) {
    free(arena->memory);
    free(arena);
}

struct word {
    struct word *next;
    char *text;
};

static struct arena *permanent;

static struct word *word_new(struct arena *arena, const char *text, struct word *next) {
    struct word *word = arena_alloc(arena, sizeof *word); // forgotten: 3 blocks, 48 bytes; indirect @dropped: 1 block, 16 bytes
    word->next = next;
    word->text = arena_strdup(arena, text); // forgotten: 3 blocks, 21 bytes; indirect @dropped: 1 block, 5 bytes
    return word;
}

static size_t longest(const struct word *words) {
    size_t most = 0;
    for (; words != NULL; words = words->next)
        if (strlen(words->text) > most)
            most = strlen(words->text);
    return most;
}

static void scratch(void) {
    struct arena *arena = arena_new(256);
    word_new(arena, "left", NULL);
} // leaks @dropped: scope-end arena

int main(void) {
    permanent = arena_new(4096);
    word_new(permanent, "first draft", NULL);
    arena_reset(permanent);
    struct word *words = NULL;
    const char *texts[] = {"leak", "reference", "arena"};
    for (int i = 0; i < 3; i++)
        words = word_new(permanent, texts[i], words);
    scratch();
    struct arena *brief = arena_new(128);
    for (int i = 0; i < 4; i++)
        word_new(brief, "gone", NULL);
    arena_free(brief);
    printf("3 words, longest %zu\n", longest(words));
    return 0;
}
