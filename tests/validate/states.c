// Four states in a row, each by a byte that depends on the last one.
#include <stdio.h>
#include <stdlib.h>

enum state { START, OPENED, ARMED, FIRED };

static int run(void)
{
    enum state state = START;
    int last = 0, c;
    char *session = malloc(24);                                 // @row MA
    if (!session)
        return 1;
    session[0] = 0;
    while ((c = getchar()) != EOF) {
        switch (state) {
        case START:
            state = c == '(' ? OPENED : START;
            break;
        case OPENED:
            state = c >= 'a' && c <= 'f' ? ARMED : START;
            break;
        case ARMED:
            state = c == last + 3 ? FIRED : START;
            break;
        case FIRED:
            if (c == ')')                                       // @row BT
                return 2;                                       // @row LK = must-leak lost
            state = START;
            break;
        }
        last = c;
    }
    free(session);
    return 0;
}

int main(void)
{
    return run();
}
