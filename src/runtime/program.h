/* What a program is inside: a copy of its source, and what back ends made of it. */
#ifndef ACU_PROGRAM_INTERNAL_H
#define ACU_PROGRAM_INTERNAL_H

#include <anycuda/program.h>

#include "runtime/handle.h"
#include "runtime/place.h"

/* How far a program is on a device. */
enum {
    ACU_NOT_COMPILED, /* or it failed, and is tried again */
    ACU_COMPILED,
    ACU_NO_FORM /* the program has no form for this device */
};

/* A program as a back end compiled it for one device. */
typedef struct acu_compiled acu_compiled;
struct acu_compiled {
    acu_place_device *device;
    unsigned forks;            /* acu_place_forks when the program was compiled */
    int state;                 /* atomic; once it is not ACU_NOT_COMPILED, it stays */
    acu_backend_program *made; /* set if ACU_COMPILED */
    uint64_t users;            /* atomic: the clients that ran it, as bits of id % 64 */
    pthread_mutex_t lock;      /* of compiling, and of `queue`; clients' locks come before it */
    acu_backend_queue *queue;  /* of the CPU, for runs that other places ask for; NULL: none yet */
    acu_compiled *next;
};

struct acu_program {
    acu_handle handle;
    acu_program_source source; /* all that it points to is the program's */
    pthread_mutex_t lock;      /* of adding to the list; no other lock is taken while it is held */
    acu_compiled *compiled;    /* atomic: a list, which only grows */
};

/* Finds what the program is on a device, compiled at the first call; threads that come meanwhile
 * wait. The program keeps it. That there is no form for the device is no failure: ACU_NO_FORM.
 * Without a client's lock, because compiling takes long. A failure is recorded for `call`. */
acu_result acu_program_compile(const char *call, acu_program *program, acu_place_device *device,
                               acu_compiled **compiled);
/* Refuses a place that the program has no form for, with the forms that it has; returns the code.
 */
acu_result acu_program_refuse_place(const char *call, const acu_program *program,
                                    const char *runtime) ACU_COLD;
/* Finds the CPU's form, for runs on a place that has none; `cpu` is NULL where ACU_PROGRAM_ON_CPU
 * does not allow that. A failure is recorded for `call`. */
acu_result acu_program_compile_for_cpu(const char *call, acu_program *program, acu_compiled **cpu);
/* Gives back what all back ends compiled, once no work uses it; at the end of the program. Returns
 * 0, or the failure of a client that ended with it. */
acu_result acu_program_free_compiled(acu_program *program);

#endif
