// fread() fills one slot with record after record of a file; a record's note is made in memory, and read over.
// valgrind-variable -O2: differs: gcc has the address of sample in a register from before the loop, and no variable is there
// stdout: 3 records, 2 noted, last 70
#include <stdio.h>
#include <stdlib.h>

struct sample {
    int value;
    char *note;
};

static int write_samples(FILE *file) {
    static const int values[] = {99, 12, 70};

    for (int i = 0; i < 3; i++) {
        struct sample sample = {.value = values[i]};
        if (fwrite(&sample, sizeof sample, 1, file) != 1)
            return -1;
    }
    rewind(file);
    return 0;
}

static void annotate(struct sample *sample) {
    sample->note = malloc(32);    // lost: 1 block, 32 bytes
    snprintf(sample->note, 32, "%d is above the limit", sample->value);    // last used
}

static int summarise(FILE *file) {
    struct sample sample;
    int count = 0, noted = 0;

    while (fread(&sample, sizeof sample, 1, file) == 1) {    // leaks: overwritten sample.note
        count++;
        if (sample.value < 50)
            continue;
        annotate(&sample);
        noted++;
    }
    printf("%d records, %d noted, last %d\n", count, noted, sample.value);
    free(sample.note);    // frees: 1 block
    return 0;
}

int main(void) {
    FILE *file = tmpfile();

    if (file == NULL || write_samples(file) != 0 || summarise(file) != 0)
        return 1;
    fclose(file);
    return 0;
}
