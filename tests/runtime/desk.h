/*
 * A made-up back end for tests of programs: memory of the host, work that is done at once, and
 * counters. It is registered twice: "desk" runs programs by forms of its own, whose bytes are a
 * desk_form; "bare" runs none.
 */
#ifndef DESK_H
#define DESK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <anycuda/backend.h>

#include <string.h>

/* What a form is made of. */
typedef struct desk_form {
    acu_part_function *function;
    acu_result code; /* what compiling fails with; 0: it does not */
} desk_form;

/* What happened since the last desk_begin(); atomic. */
typedef struct desk_counters {
    int created, destroyed, ran, written, read;
} desk_counters;
extern desk_counters desk_counted;

enum { DESK_MAX_BLOCKS = 3, DESK_MAX_GROUP = 64, DESK_MAX_ITEMS = 128 };

/* Registers both at the first call; setup of a test. */
int desk_begin(void **state);
acu_place desk_place(int device);
acu_place bare_place(void);

/* Fails the test with the message of the thread's last error. */
void desk_ok(acu_result code, const char *call, int line);
#define OK(call) desk_ok((call), #call, __LINE__)
/* Fails the test unless the call failed with the code, and the message has the words. */
void desk_fails(acu_result wanted, const char *words, acu_result code, const char *call, int line);
#define FAILS(code, words, call) desk_fails((code), (words), (call), #call, __LINE__)

#endif
