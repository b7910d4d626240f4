// A session is made ready for the next client by clearing it, together with the name of the former one.
// valgrind -O2: differs: gcc drops the store of the first user, whose name nobody reads: the result of strdup is not kept
// gap: -O2: the optimiser leaves no use on the line
// stdout: 2 sessions, 3 requests
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session {
    int socket;
    char *user;
    unsigned requests;
};

static unsigned total;

static void session_begin(struct session *session, int socket) {
    memset(session, 0, sizeof *session);    // leaks: overwritten session->user
    session->socket = socket;
}

static void session_login(struct session *session, const char *user) {
    free(session->user);
    session->user = strdup(user);    // lost: 1 block, 6 bytes
}

static int session_request(struct session *session, const char *path) {
    session->requests++;
    total++;
    return strncmp(path + 1, session->user, strlen(session->user)) == 0;    // last used
}

int main(void) {
    static struct session session;

    session_begin(&session, 4);
    session_login(&session, "grace");
    session_request(&session, "/grace/inbox");
    session_request(&session, "/public");
    session_begin(&session, 5);
    session_login(&session, "alan");
    session_request(&session, "/alan");
    printf("2 sessions, %u requests\n", total);
    free(session.user);
    return 0;
}
