/*
 * Plays the scenes and prints what CUDA answered: share [NAME…]. With "-c FILE" it compares that
 * with the file, and fails if a line differs. ANYCUDA_CUDART=sim says that this is the simulator.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include "share.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE = 20 }; /* seconds, after which a process that hangs is ended */

static scene *scenes;
static int other = -1; /* the socket to the other process */

/* What the first and the second process of a scene have said, in memory that they share with the
 * parent; `told` is the process's own, and the parent's is the first's. */
struct log {
    size_t used;
    char text[1 << 15];
};
static struct log *logs, *told;

void add_scene(scene *added) {
    scene **at = &scenes;
    while (*at && strcmp((*at)->name, added->name) < 0)
        at = &(*at)->next;
    added->next = *at;
    *at = added;
}

/* ---- what a process does ---- */

void say(const char *format, ...) {
    va_list list;
    va_start(list, format);
    told->used += (size_t)vsnprintf(told->text + told->used, sizeof told->text - told->used - 1,
                                    format, list);
    va_end(list);
    told->text[told->used++] = '\n';
}

int ask(const char *call, long long code) {
    say("%s = %lld", call, code);
    return (int)code;
}

void must_succeed(const char *call, long long code) {
    say("%s failed and then gave %lld", call, code);
    _exit(1);
}

void give(const void *data, size_t size, int descriptor) {
    char none = 0;
    struct iovec part = {.iov_base = size ? (void *)(uintptr_t)data : &none,
                         .iov_len = size ? size : 1};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control.bytes;
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.header), &descriptor, sizeof descriptor);
    }
    if (sendmsg(other, &message, MSG_NOSIGNAL) < 0) {
        say("the other process is gone");
        _exit(1);
    }
}

int take(void *data, size_t size) {
    char none;
    int descriptor = -1;
    struct iovec part = {.iov_base = size ? data : &none, .iov_len = size ? size : 1};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.bytes};
    if (recvmsg(other, &message, MSG_WAITALL) != (ssize_t)part.iov_len) {
        say("the other process is gone");
        _exit(1);
    }
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS)
        memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
}

void let_go_on(void) {
    give(NULL, 0, -1);
}

void wait_for_other(void) {
    (void)take(NULL, 0);
}

void wait_for_end(void) {
    char none;
    while (recv(other, &none, 1, 0) > 0) {
    }
}

unsigned *blocked(cudaStream_t *stream) {
    unsigned *flag = NULL;
    OK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    *flag = 0;
    OK(cuStreamWaitValue32(*stream, (CUdeviceptr)(uintptr_t)flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    return flag;
}

void say_byte(const char *what, const void *at) {
    unsigned char byte = 0;
    const int code = (int)cudaMemcpy(&byte, at, 1, cudaMemcpyDeviceToHost);
    say("%s: byte %02x, code %d", what, byte, code);
}

void fill(void *at, int value, size_t size) {
    OK(cudaMemset(at, value, size));
    OK(cudaDeviceSynchronize());
}

/* ---- playing ---- */

static pid_t start(void (*does)(void), int mine, int others, struct log *log) {
    const pid_t child = fork();
    if (child)
        return child;
    if (others >= 0)
        close(others);
    other = mine;
    told = log;
    alarm(PATIENCE);
    does();
    _exit(0);
}

static void finish(pid_t child, struct log *log) {
    int status;
    told = log;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status))
        say("ended by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status))
        say("ended with %d", WEXITSTATUS(status));
}

static void play(const scene *of) {
    int ends[2] = {-1, -1};
    logs[0] = logs[1] = (struct log){0};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        say("no sockets");
        return;
    }
    const pid_t first = start(of->first, ends[0], ends[1], &logs[0]);
    const pid_t second = of->second ? start(of->second, ends[1], ends[0], &logs[1]) : -1;
    close(ends[0]);
    close(ends[1]);
    if (second > 0)
        finish(second, &logs[1]);
    finish(first, &logs[0]);
}

static bool is_wanted(const char *name, char **names) {
    for (char **at = names; *at; at++)
        if (strncmp(name, *at, strlen(*at)) == 0)
            return true;
    return !*names;
}

/* Reads the next line of the file that is for this CUDA, without its beginning, which says for whom
 * the line is if it is not for both; returns false at the end. */
static bool read_wanted(char *line, int size, FILE *expected) {
    const char *runtime = getenv("ANYCUDA_CUDART"); /* nothing is loaded before the fork */
    const bool simulated = runtime && strcmp(runtime, "sim") == 0;
    const char *mine = simulated ? "simulator: " : "GPU: ";
    const char *theirs = simulated ? "GPU: " : "simulator: ";
    do
        if (!fgets(line, size, expected))
            return false;
    while (strncmp(line, theirs, strlen(theirs)) == 0);
    if (strncmp(line, mine, strlen(mine)) == 0)
        memmove(line, line + strlen(mine), strlen(line) - strlen(mine) + 1);
    return true;
}

/* Prints the lines of a process; with a file, only those that differ, and returns how many do. */
static int report(const char *name, int number, FILE *expected) {
    char line[1024], wanted[1024] = "nothing\n";
    int wrong = 0;
    char *rest = NULL;
    for (char *text = strtok_r(logs[number].text, "\n", &rest); text;
         text = strtok_r(NULL, "\n", &rest)) {
        (void)snprintf(line, sizeof line, "%s %d: %s\n", name, number + 1, text);
        if (!expected)
            (void)fputs(line, stdout);
        else if (!read_wanted(wanted, sizeof wanted, expected) || strcmp(line, wanted) != 0) {
            printf("is:     %sshould: %s", line, wanted);
            wrong++;
        }
    }
    (void)fflush(stdout);
    return wrong;
}

int main(int count, char **arguments) {
    FILE *expected = NULL;
    int wrong = 0;
    if (count == 3 && strcmp(arguments[1], "-c") == 0) {
        expected = fopen(arguments[2], "re");
        if (!expected) {
            perror(arguments[2]);
            return 2;
        }
        arguments += 2;
    }
    logs = mmap(NULL, 2 * sizeof *logs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (logs == MAP_FAILED)
        abort();
    for (const scene *of = scenes; of && !wrong; of = of->next)
        if (is_wanted(of->name, arguments + 1)) {
            play(of);
            wrong += report(of->name, 0, expected);
            wrong += report(of->name, 1, expected);
        }
    char line[1024];
    if (expected && !wrong && read_wanted(line, sizeof line, expected)) {
        printf("missing: %s", line);
        wrong++;
    }
    if (expected)
        (void)fclose(expected);
    return wrong ? 1 : 0;
}
