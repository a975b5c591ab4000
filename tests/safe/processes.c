#include "processes.h"
#include "safe.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE = 60 /* seconds, after which a partner that hangs is ended */ };

static partner *partners;

void add_partner(partner *added) {
    added->next = partners;
    partners = added;
}

void run_partner(int count, char **arguments) {
    if (count != 4 || strcmp(arguments[1], "partner") != 0)
        return;
    alarm(PATIENCE);
    for (const partner *at = partners; at; at = at->next)
        if (strcmp(at->name, arguments[2]) == 0) {
            at->does((int)strtol(arguments[3], NULL, 10));
            exit(acu_sim_leaks(1) ? 1 : 0);
        }
    fprintf(stderr, "there is no partner %s\n", arguments[2]);
    exit(1);
}

/* The child uses nothing but system calls before it becomes the new program. */
process start_partner(const char *name) {
    int ends[2];
    char number[16];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    snprintf(number, sizeof number, "%d", ends[1]);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        execl("/proc/self/exe", "partner", "partner", name, number, (char *)NULL);
        _exit(1);
    }
    assert_true(child > 0);
    close(ends[1]);
    return (process){child, ends[0]};
}

void finish_partner(process *other) {
    int status = 0;
    close(other->socket);
    assert_int_equal(waitpid(other->id, &status, 0), other->id);
    assert_int_equal(status, 0);
}

void kill_partner(process *other) {
    int status = 0;
    kill(other->id, SIGKILL);
    close(other->socket);
    assert_int_equal(waitpid(other->id, &status, 0), other->id);
}

bool let_go_on(int socket) {
    return send(socket, "!", 1, MSG_NOSIGNAL) == 1;
}

bool wait_for_other(int socket) {
    char sign = 0;
    return recv(socket, &sign, 1, MSG_WAITALL) == 1 && sign == '!';
}
