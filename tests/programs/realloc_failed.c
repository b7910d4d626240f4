// The old block is lost when realloc fails and its result is assigned over the only pointer.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct packet {
    char *payload;
    size_t size;
};

static int receive(struct packet *packet, size_t announced) {
    packet->size = 512;
    packet->payload = malloc(packet->size);     // lost: 1 block, 512 bytes
    memset(packet->payload, 0, packet->size);
    packet->payload = realloc(packet->payload, announced);
    return packet->payload == NULL ? -errno : 0;
}

int main(void) {
    struct packet packet;
    volatile size_t announced = PTRDIFF_MAX - 4096;

    return receive(&packet, announced) == -ENOMEM ? 0 : 1;
}
