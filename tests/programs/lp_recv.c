// recv() receives a request into the same message whose reply text was never freed.
// stdout: reply 1: sum is 5
// stdout: reply 2: sum is 30
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct message {
    int number;
    int operands[2];
    char *reply;
};

static void answer(struct message *message) {
    char text[32];

    snprintf(text, sizeof text, "sum is %d", message->operands[0] + message->operands[1]);
    message->reply = strdup(text);    // lost: 1 block, 9 bytes
    printf("reply %d: %s\n", message->number, message->reply);    // last used
}

static void serve(int socket) {
    struct message message;

    while (recv(socket, &message, sizeof message, 0) == (ssize_t)sizeof message)    // leaks: overwritten message.reply
        answer(&message);
    free(message.reply);    // frees: 1 block
}

static int request(int socket, int number, int left, int right) {
    struct message message = {.number = number, .operands = {left, right}};

    return send(socket, &message, sizeof message, 0) == (ssize_t)sizeof message ? 0 : -1;
}

int main(void) {
    int sockets[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) != 0)
        return 1;
    if (request(sockets[0], 1, 2, 3) != 0 || request(sockets[0], 2, 10, 20) != 0)
        return 1;
    close(sockets[0]);
    serve(sockets[1]);
    close(sockets[1]);
    return 0;
}
