// A pool threads its free objects through their own memory, and gives them out and takes them back without malloc.
// variants: -O0 -O2
// stdout: 6 particles from 1 slab
#include <stdio.h>
#include <stdlib.h>

enum { SLAB = 4 };

union particle {
    union particle *next_free;
    struct {
        float x, y;
        char *label;
    } live;
};

struct slab {
    struct slab *next;
    union particle particles[SLAB];
};

static struct slab *slabs;
static union particle *free_particles;
static int slab_count;

static union particle *particle_new(float x, float y) {
    if (free_particles == NULL) {
        struct slab *slab = malloc(sizeof *slab);
        slab->next = slabs;
        slabs = slab;
        slab_count++;
        for (int i = 0; i < SLAB; i++) {
            slab->particles[i].next_free = free_particles;
            free_particles = &slab->particles[i];
        }
    }
    union particle *particle = free_particles;
    free_particles = particle->next_free;
    particle->live.x = x;
    particle->live.y = y;
    particle->live.label = NULL;
    return particle;
}

static void particle_free(union particle *particle) {
    free(particle->live.label);
    particle->next_free = free_particles;
    free_particles = particle;
}

static int simulate(void) {
    int made = 0;

    for (int step = 0; step < 3; step++) {
        union particle *left = particle_new(0, 1), *right = particle_new(1, 0);
        left->live.label = calloc(1, 8);
        made += 2;
        particle_free(left);
        particle_free(right);
    }
    return made;
}

int main(void) {
    int made = simulate();

    printf("%d particles from %d slab\n", made, slab_count);
    free_particles = NULL;
    while (slabs != NULL) {
        struct slab *next = slabs->next;
        free(slabs);
        slabs = next;
    }
    return 0;
}
