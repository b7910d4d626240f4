// read() loads a saved record over one in memory, pointers and all: what the name pointed to is lost.
// valgrind-variable -O2: differs: gcc inlines load, where player is the address of main's player
// stdout: score 120 of nobody
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct player {
    long score;
    char *name;
    int level;
};

static int save(int file, const struct player *player) {
    struct player plain = {.score = player->score, .level = player->level};

    return write(file, &plain, sizeof plain) == (ssize_t)sizeof plain ? 0 : -1;
}

static int load(int file, struct player *player) {
    if (lseek(file, 0, SEEK_SET) != 0)
        return -1;
    ssize_t got = read(file, player, sizeof *player);    // leaks: overwritten player->name
    return got == (ssize_t)sizeof *player ? 0 : -1;
}

static int play(struct player *player, const char *name) {
    player->name = strdup(name);    // lost: 1 block, 9 bytes
    for (player->level = 1; player->level < 4; player->level++)
        player->score += 20 * player->level;
    return (int)strlen(player->name);    // last used
}

int main(void) {
    struct player player = {.level = 1};
    FILE *saved = tmpfile();

    if (saved == NULL || play(&player, "lovelace") == 0 || save(fileno(saved), &player) != 0)
        return 1;
    player.score = 0;
    if (load(fileno(saved), &player) != 0)
        return 1;
    printf("score %ld of %s\n", player.score, player.name != NULL ? player.name : "nobody");
    free(player.name);
    fclose(saved);
    return 0;
}
