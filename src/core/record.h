/*
 * The record: each thread's last failure, and the first failure of a release in any thread. Nothing
 * here allocates, and nothing here asks the loader.
 */
#ifndef ACU_RECORD_H
#define ACU_RECORD_H

#include <anycuda/base.h>

#include <stdarg.h>
#include <stdbool.h>

enum {
    ACU_MESSAGE_SIZE = 1024,
    ACU_OBJECT_TEXT = 160,
    ACU_HINT_SIZE = 256,
    ACU_NOTE_SIZE = 64,
    ACU_REASON_SIZE = 256
};

/* What a program may want to know of a failure. Zero: unknown, or no such thing. */
typedef struct acu_failure_facts {
    int kind;         /* an acu_error_kind; 0: the kind of the failure's code */
    int feature;      /* an acu_feature, + 1 */
    int since, until; /* the versions of the library that have what was used */
    int needed, found;
    const char *hint; /* a constant; NULL: the hint of the failure's code */
    bool injected;    /* the failure was asked for, so that the code says nothing else */
} acu_failure_facts;

/* A failure in all its parts. */
typedef struct acu_failure {
    int code;         /* 0: no failure */
    int runtime_code; /* the code in the runtime's numbers, or one of anycuda's own */
    acu_failure_facts facts;
    const char *call; /* a constant; "" or NULL if the failure is no call's */
    char object[ACU_OBJECT_TEXT];
    char message[ACU_MESSAGE_SIZE];
    char hint[ACU_HINT_SIZE]; /* "" if there is nothing more to do than the code's own hint */
} acu_failure;

/* What a thread keeps. */
typedef struct acu_thread_record {
    acu_failure last;
    /* The function whose refusal is `last` and was not yet returned to its wrapper; else NULL. The
     * address of the name identifies the function: the variants for the two meanings of the default
     * stream share it. */
    const char *refused;
    bool hinted;        /* `last.hint` is already that of the failure recorded next */
    int own;            /* an error made here that cudaGetLastError has yet to return; or 0 */
    const char *noted;  /* what the call that is failing now, or next, is about; NULL: nothing */
    size_t noted_index; /* which of those */
    char reason[ACU_REASON_SIZE]; /* why that call fails, where the callee knows; "" if not */
} acu_thread_record;

/* ---- recording ---- */

/* Records a failure that is no call's; returns the code. */
int acu_record(int code, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
/* Records a failure of `call`, a constant. The message is cut to one printable line. */
void acu_record_call(const char *call, int code, const char *format, va_list args)
    __attribute__((format(printf, 3, 0), cold));
/* Puts the call that the user made, and its object, around the message just recorded. */
void acu_record_object(const char *call, const char *object) ACU_COLD;
/* Gives the failure that is recorded next its hint, or the one recorded already, if the next call
 * is acu_record_object(). */
void acu_record_hint(const char *format, va_list args) __attribute__((format(printf, 1, 0), cold));
/* Adds facts to the failure just recorded, whose code means `runtime_code`. */
void acu_record_facts(int runtime_code, const acu_failure_facts *facts) ACU_COLD;
/* The failure just recorded is one that the program sees, and is complete. */
void acu_record_complete(void) ACU_COLD;
/* Between the two, which can be nested, failures of this thread are recorded, but the program does
 * not see them: the thread has a lock that the program's function might need, and what the failure
 * comes to is recorded after the lock is given up. */
void acu_record_hold(void);
void acu_record_resume(void);
/* Sets what is called for each complete failure, in its thread; NULL: nothing. */
void acu_record_observe(void (*observe)(void));
/* Changes the code of the last failure from `from` to `to`, if it is `from`; returns `to`. */
int acu_record_recode(int from, int to);
/* Adds "(copy 3)" to the message of the call that is failing now, or that fails next. `what` is a
 * constant; NULL adds nothing. */
void acu_record_note(const char *what, size_t index);
/* Copies the note for the failing call and forgets it. */
void acu_record_take_note(char note[ACU_NOTE_SIZE]);
/* Sets why the call fails that this thread is making, for its message: the simulator knows more
 * than a code. */
void acu_record_reason(const char *format, ...) __attribute__((format(printf, 1, 2), cold));
/* Forgets the reason: the thread makes another call. */
void acu_record_forget_reason(void);
/* Copies the reason for the failing call and forgets it. */
void acu_record_take_reason(char reason[ACU_REASON_SIZE]);

/* ---- reading ---- */

/* Returns this thread's last failure, with code 0 if there is none; never NULL. */
const acu_failure *acu_record_last(void);
void acu_record_clear(void);

/* ---- refusals ---- */

/* Marks the failure just recorded as the refusal of the function with this name. `own`:
 * cudaGetLastError will return the code once. */
void acu_record_refusal(const char *name, bool own);
/* Returns whether the last failure is this function's refusal with this code; true only once. */
bool acu_record_take_refusal(const char *name, int code);
/* Returns the error made here that cudaGetLastError has yet to return, 0 if none; `take` forgets
 * it. */
int acu_record_own_error(bool take);

/* ---- keeping a record through a cleanup ---- */

/* The record as it was, so that a release does not hide why the program is cleaning up. */
typedef struct acu_saved_record {
    bool any;
    acu_thread_record record; /* set if `any` */
} acu_saved_record;

void acu_record_save(acu_saved_record *saved);
void acu_record_restore(const acu_saved_record *saved);

/* Counts the failure just recorded as one of a release, and keeps it if it is the first. */
void acu_record_release_error(void);
/* Copies the first failure of a release, of any thread, and forgets it; returns how many there
 * were since the last call, and a failure with code 0 if none. */
size_t acu_record_take_release_errors(acu_failure *first);

/* Writes a log of several lines as one into `line` and returns it; what is too long is cut off. */
const char *acu_record_one_line(const char *log, char *line, size_t size);

#endif
