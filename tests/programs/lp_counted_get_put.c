// Devices that are counted by get and put, with the count in a structure of its own: one of those who looked a device up does not put it.
// engines: track valgrind
// valgrind -O2: differs: gcc inlines it all, and in registers: a function stands for the variables that it has there
// options: --explain
// stdout: 3 opened, 1 refused
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kref {
    unsigned count;
};

struct device {
    struct device *next;
    struct kref kref;
    char name[12];
    int busy;
};

static struct device *devices;

static void kref_get(struct kref *kref) {
    __atomic_fetch_add(&kref->count, 1, __ATOMIC_RELAXED);
}

static int kref_put(struct kref *kref) {
    return __atomic_sub_fetch(&kref->count, 1, __ATOMIC_ACQ_REL) == 0;
}

static void device_put(struct device *device) {
    if (kref_put(&device->kref))
        free(device);
}

static void device_register(const char *name) {
    struct device *device = calloc(1, sizeof *device); // lost: 1 block, 32 bytes; counted: 2 references, 1 holder
    device->kref.count = 1;
    strncpy(device->name, name, sizeof device->name - 1);
    device->next = devices;
    devices = device;
}

static struct device *device_find(const char *name) {
    for (struct device *device = devices; device != NULL; device = device->next) {
        if (strcmp(device->name, name) == 0) {
            kref_get(&device->kref);
            return device;
        }
    }
    return NULL;
}

static int device_open(const char *name) {
    struct device *device = device_find(name);
    if (device->busy)
        return 0; // leaks: scope-end device
    device->busy = 1;
    device_put(device);
    return 1;
}

static void devices_unregister(void) {
    while (devices != NULL) {
        struct device *device = devices;
        devices = device->next;
        device->next = NULL;
        device_put(device);
    }
}

int main(void) {
    const char *names[] = {"disk", "sound", "net"};
    for (int i = 0; i < 3; i++)
        device_register(names[i]);
    int opened = device_open("disk") + device_open("sound");
    int refused = !device_open("sound");
    opened += device_open("net");
    devices_unregister();
    printf("%d opened, %d refused\n", opened, refused);
    return 0;
}
