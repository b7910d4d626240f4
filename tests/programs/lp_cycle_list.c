// A doubly linked list whose only way in is overwritten: its nodes still point to each other.
// valgrind -O2: differs: gcc keeps the server in registers and drops the store to server->first: the loop of served, inlined, is the last to have the list
// lsan: differs: calls every member of a cycle indirect
// stdout: 3 clients served, 1 waiting
#include <stdio.h>
#include <stdlib.h>

struct client {
    struct client *previous, *next;
    int socket;
};

struct server {
    struct client *first;
    int clients;
};

static void accept_client(struct server *server, int socket) {
    struct client *client = calloc(1, sizeof *client);    // lost: 1 block, 24 bytes; indirect: 2 blocks, 48 bytes
    client->socket = socket;
    client->next = server->first;
    if (server->first != NULL)
        server->first->previous = client;
    server->first = client;
    server->clients++;
}

static int served(const struct server *server) {
    int sum = 0;

    for (const struct client *client = server->first; client != NULL; client = client->next)    // last used
        sum += client->socket > 0;
    return sum;
}

static void restart(struct server *server) {
    server->first = NULL;    // leaks: overwritten server->first
    server->clients = 0;
}

int main(void) {
    struct server server = {0};

    for (int socket = 4; socket < 7; socket++)
        accept_client(&server, socket);
    printf("%d clients served", served(&server));
    restart(&server);
    accept_client(&server, 9);
    printf(", %d waiting\n", server.clients);
    free(server.first);
    return 0;
}
