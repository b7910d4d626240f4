// A record is copied over another one byte by byte, as a portable copy routine does: the pointer goes with its first bytes.
// gap: -O0 -O2: stores of less than a word are not looked at
// valgrind -O0: differs: the program copies byte by byte, and stores of single bytes are not looked at
// stdout: harbour 54.3
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct station {
    double latitude;
    char *name;
    int readings;
};

static void copy_bytes(void *to, const void *from, size_t count) {
    unsigned char *target = to;
    const unsigned char *source = from;

    for (size_t i = 0; i < count; i++)
        target[i] = source[i];    // leaks: overwritten ?
}

static struct station station_at(double latitude, const char *name) {
    struct station station = {.latitude = latitude};

    station.name = strdup(name);    // lost: 1 block, 11 bytes
    return station;
}

static double northernmost(struct station *best, const double *latitudes, const char *const *names, int count) {
    *best = station_at(latitudes[0], names[0]);
    for (int i = 1; i < count; i++) {
        if (latitudes[i] <= best->latitude)
            continue;
        struct station next = station_at(latitudes[i], names[i]);
        copy_bytes(best, &next, sizeof next);
    }
    return best->latitude;
}

int main(void) {
    static const double latitudes[] = {51.5, 50.1, 54.3};
    static const char *const names[] = {"lighthouse", "airfield", "harbour"};
    struct station best;
    double latitude = northernmost(&best, latitudes, names, 3);

    printf("%s %.1f\n", best.name, latitude);
    free(best.name);
    return 0;
}
