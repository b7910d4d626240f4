// A crash on a null pointer after a loss: the report of what is known, and the crash.
// signal: 11
// lsan: differs: does not check a program that a signal ends
#include <stdlib.h>
#include <string.h>

struct account {
    struct account *next;
    long balance;
};

static struct account *accounts;

static void open_account(long balance) {
    struct account *account = malloc(sizeof *account);    // lost: 1 block, 16 bytes; forgotten: 1 block, 16 bytes
    account->balance = balance;
    account->next = NULL;
    accounts = account;
}

static long second_balance(void) {
    return accounts->next->balance;
}

int main(void) {
    open_account(10);
    open_account(20);
    return second_balance() == 10 ? 0 : 1;
}
