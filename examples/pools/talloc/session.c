/* A session that is not freed on one of the ways out. */
#include <stdio.h>
#include <string.h>
#include <talloc.h>

struct session {
    char *user;
    int *rights;
};

static struct session *session_open(TALLOC_CTX *parent, const char *user)
{
    struct session *session = talloc_zero(parent, struct session);
    session->user = talloc_strdup(session, user);
    session->rights = talloc_array(session, int, 8);
    return session;
}

static int serve(const char *user)
{
    struct session *session = session_open(NULL, user);
    if (strcmp(session->user, "guest") == 0)
        return -1;
    printf("served %s\n", session->user);
    talloc_free(session);
    return 0;
}

int main(void)
{
    TALLOC_CTX *server = talloc_new(NULL);
    session_open(server, "monitor");
    serve("ada");
    serve("guest");
    serve("grace");
    talloc_free(server);
    return 0;
}
