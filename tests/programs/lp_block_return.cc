// Statements that leave a block which has variables of its own, and a new object that is given away as it is made.
// valgrind: differs: unoptimised, the parameter is a variable of the called function, whose end is the last that is seen; optimised, jobs and words are in registers
// valgrind-totals -O2: differs: gcc gives doubled the number alone, and drops the object
// lsan: differs: a word that is left on the stack leads to the job that was given away
// stdout: 3 2 14 1
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

struct Job {
    int number;
    explicit Job(int n) : number(n) {}
};

__attribute__((noinline)) static int take(Job *&slot, bool detach) {
    if (detach) {
        Job *mine = std::exchange(slot, nullptr);
        return mine->number;                             // leaks @returned: scope-end mine
    }
    return 0;
}

__attribute__((noinline)) static int first_word(const char *const *texts, int n) {
    int found = 0;
    for (int i = 0; i < n; i++) {
        if (texts[i][0] == '#')
            continue;
        {
            char *word = strndup(texts[i], std::strcspn(texts[i], " "));    // lost @broken: 1 block, 4 bytes
            found = i + 1 + (word[0] == '?');
            break;                                       // leaks @broken: scope-end word
        }
    }
    return found;
}

__attribute__((noinline)) static int doubled(const Job *job) {
    return 2 * job->number;
}

__attribute__((noinline)) static int sign(int n) {
    if (n > 0) {
        char *text = strdup("+");
        int one = text[0] == '+';
        free(text);
        return one;
    }
    return -1;
}

int main() {
    const char *const texts[] = {"# none", "one two", "three"};
    Job *job = new Job(3);                               // lost @returned: 1 block, 4 bytes
    int a = take(job, true), b = first_word(texts, 3);
    int c = doubled(new Job(7));                         // lost @given: 1 block, 4 bytes; leaks @given: discarded
    std::printf("%d %d %d %d\n", a, b, c, sign(5));
}
