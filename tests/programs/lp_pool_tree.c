// Blocks that hang on other blocks: freeing one frees what hangs on it, and a block may be hung on another. Its functions cannot be preloaded: the program does not export them.
// valgrind-totals -O2: differs: gcc inlines tree_steal, so that the draft is taken to be freed with the document, and drops the store to settings, which nobody reads
// valgrind -O2: differs: gcc inlines tree_steal, so that the draft is taken to be freed with the document
// config: [[allocator]]
// config: alloc = { name = "tree_calloc", count = 1, size = 2 }
// config: realloc = { name = "tree_resize", pointer = 0, size = 1 }
// config: free = "tree_free"
// config: move = { name = "tree_steal", pointer = 1, pool = 0 }
// config: pool = 0
// config: pointer = 0
// config: keeps = true
// engines: track valgrind
// stdout: 3 sections
// memcheck: differs: it knows the blocks by their headers, at other lines
// lsan: differs: it knows the blocks by their headers, at other lines
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct header {
    struct header *parent, *child, *next;
    size_t size;
};

static struct header *header_of(void *block) {
    return block == NULL ? NULL : (struct header *)block - 1;
}

static void hang(struct header *header, struct header *parent) {
    header->parent = parent;
    header->next = parent ? parent->child : NULL;
    if (parent)
        parent->child = header;
}

static void unhang(struct header *header) {
    if (header->parent == NULL)
        return;
    struct header **link = &header->parent->child;
    while (*link != header)
        link = &(*link)->next;
    *link = header->next;
}

static void *tree_calloc(void *parent, size_t count, size_t size) {
    struct header *header = calloc(1, sizeof *header + count * size);
    header->size = count * size;
    hang(header, header_of(parent));
    return header + 1;
}

static void *tree_resize(void *block, size_t size) {
    struct header *old = header_of(block);
    unhang(old);
    struct header *header = realloc(old, sizeof *header + size);
    header->size = size;
    for (struct header *child = header->child; child != NULL; child = child->next)
        child->parent = header;
    hang(header, header->parent);
    return header + 1;
}

static void tree_steal(void *parent, void *block) {
    unhang(header_of(block));
    hang(header_of(block), header_of(parent));
}

static void tree_free(void *block) {
    struct header *header = header_of(block);
    unhang(header);
    while (header->child != NULL) {
        struct header *child = header->child;
        tree_free(child + 1);
    }
    free(header);
}

struct section {
    char *title;
    int *lines;
};

static struct section *section_new(void *document, const char *title) {
    struct section *section = tree_calloc(document, 1, sizeof *section); // lost @draft: 1 block, 16 bytes
    section->title = tree_calloc(section, strlen(title) + 1, 1); // indirect @draft: 1 block, 6 bytes
    strcpy(section->title, title);
    section->lines = tree_calloc(section, 4, sizeof *section->lines);
    return section;
}

static int section_count(struct section *section, int lines) {
    section->lines = tree_resize(section->lines, lines * sizeof *section->lines); // indirect @draft: 1 block, 4000 bytes
    section->lines[lines - 1] = lines;
    return 1;
}

static void *settings;

int main(void) {
    settings = tree_calloc(NULL, 1, 40); // forgotten: 1 block, 40 bytes
    int sections = 0;
    void *document = tree_calloc(NULL, 1, 8);
    sections += section_count(section_new(document, "Introduction"), 1000);
    sections += section_count(section_new(document, "Method"), 8);
    struct section *draft = section_new(document, "Draft");
    sections += section_count(draft, 1000);
    tree_steal(NULL, draft);
    tree_free(document);
    draft = NULL; // leaks @draft: overwritten draft
    printf("%d sections\n", sections);
    return draft != NULL;
}
