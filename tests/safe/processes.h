/*
 * Tests with a second process, which is this program once more: PARTNER(name) is what it does. Both
 * have a socket to each other. Between a partner's checks nothing of cmocka's is used: what it
 * finds wrong it prints, and ends with 1.
 */
#ifndef PROCESSES_H
#define PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct partner {
    const char *name;
    void (*does)(int socket);
    struct partner *next;
} partner;

void add_partner(partner *added);

#define PARTNER(title)                                                                             \
    static void title(int socket);                                                                 \
    __attribute__((constructor)) static void add_##title(void) {                                   \
        static partner it = {#title, title, NULL};                                                 \
        add_partner(&it);                                                                          \
    }                                                                                              \
    static void title(int socket)

/* For main(): runs the partner that the arguments name, and ends; or returns. */
void run_partner(int count, char **arguments);

typedef struct process {
    int id, socket;
} process;

/* Starts a partner; and waits until it has ended, which has to be without a complaint. */
process start_partner(const char *name);
void finish_partner(process *other);
/* Ends it at once, as a crash would, and waits until it is gone. */
void kill_partner(process *other);

/* Tell the other process to go on, and wait for that; false if the other one is gone. */
bool let_go_on(int socket);
bool wait_for_other(int socket);

/* What a partner checks. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #condition,            \
                    acu_last_error_message());                                                     \
            _Exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#endif
