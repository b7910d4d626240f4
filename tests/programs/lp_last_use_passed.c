// Orders are passed to functions of which some look at them at once, some after a call that may end the program, some not at all.
// stdout: 7 3 0
#include <stdio.h>
#include <stdlib.h>

struct order {
    int pieces;
    int price;
};

static struct order *orders[4];

__attribute__((noinline)) static struct order *filled(struct order *order, int pieces) {
    order->pieces = pieces;
    order->price = 1;
    return order;
}

__attribute__((noinline)) static int pieces_of(const struct order *order) {
    return order->pieces;    // last used @read
}

__attribute__((noinline)) static int price_of(const struct order *order, int is_free) {
    if (is_free)
        return 0;
    return order->price;
}

__attribute__((noinline)) static void close_shop(int code) {
    if (code >= 0)
        exit(code);
}

__attribute__((noinline)) static int finish(const struct order *order, int code) {
    close_shop(code);
    return order->pieces;
}

int main(int count, char **arguments) {
    int read, skipped, price;

    (void)arguments;
    orders[0] = filled(malloc(sizeof(struct order)), 7);    // forgotten @read: 1 block, 8 bytes
    orders[1] = filled(malloc(sizeof(struct order)), 3);    // forgotten @skipped: 1 block, 8 bytes
    orders[2] = filled(malloc(sizeof(struct order)), 5);    // forgotten @ended: 1 block, 8 bytes
    skipped = pieces_of(orders[1]);
    price = price_of(orders[1], count);    // last used @skipped
    read = pieces_of(orders[0]);
    printf("%d %d %d\n", read, skipped, price);
    return finish(orders[2], count - 1);    // last used @ended
}
