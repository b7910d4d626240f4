// A timer interrupts a loop of malloc and free many times; the handler does only what is safe in one.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;
static int pipe_ends[2];

static void on_tick(int number) {
    char byte = (char)number;
    if (write(pipe_ends[1], &byte, 1) == 1)
        ticks++;
}

static void lose_page(void) {
    char *page = malloc(999);    // lost: 1 block, 999 bytes
    page[0] = 1;
    page = NULL;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 500}, {0, 500}}, never = {0};
    void *kept[64] = {0};

    if (pipe(pipe_ends) != 0)
        return 1;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (size_t i = 0; ticks < 40; i++) {
        free(kept[i % 64]);
        kept[i % 64] = malloc(i * 37 % 9000);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    lose_page();
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    memset(kept, 0, sizeof kept);
    return 0;
}
