// free() of a number that is no pointer to anything mapped.
// stops: invalid free
#include <stdint.h>
#include <stdlib.h>

struct handle {
    uintptr_t tagged;
};

static void release(struct handle *handle) {
    free((void *)handle->tagged);    // stops here
}

int main(void) {
    struct handle handle = {.tagged = 0x123456789a10};

    release(&handle);
    return 0;
}
