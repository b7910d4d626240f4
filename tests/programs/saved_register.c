// Code without frame pointers keeps a block's address in rbp while it allocates: the call stack that is noted holds no block.
// flags: -O2 -fomit-frame-pointer -mno-red-zone
// engines: preload
// lsan: differs: finds the address in a word that nobody uses any more
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline)) void lose(void) {
    char *block = malloc(31);    // lost: 1 block, 31 bytes

    memset(block, 'b', 31);
    __asm__ volatile(
        "mov %%rbp, %%r12\n\t"
        "mov %0, %%rbp\n\t"
        "mov $8, %%edi\n\t"
        "call malloc@PLT\n\t"
        "mov %%rax, %%rdi\n\t"
        "call free@PLT\n\t"
        "mov %%r12, %%rbp"
        :
        : "r"(block)
        : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "cc", "memory");
}

int main(void) {
    lose();
    return 0;
}
