// A container without ptrace: the calls that look into processes are refused, and the program is not dumpable.
// lsan: differs: needs ptrace
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuse_ptrace(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) | prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) |
           prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static void lose_secret(void) {
    char *secret = strdup("correct horse");    // lost: 1 block, 14 bytes
    secret[0] = 'C';
    secret = NULL;
}

int main(void) {
    if (refuse_ptrace() != 0)
        return 1;
    lose_secret();
    return 0;
}
