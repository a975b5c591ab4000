/* A run of a program, as work of a client. */
#ifndef ACU_RUN_INTERNAL_H
#define ACU_RUN_INTERNAL_H

#include "runtime/program.h"
#include "runtime/work.h"

typedef struct acu_run_work {
    acu_work work; /* its uses are the arguments that are blocks, in their order */
    acu_program *program;
    acu_compiled *compiled; /* for the client's device, or for the CPU */
    bool on_cpu;            /* the client's device is another, and its blocks are copied */
    size_t items[3];
    const acu_backend_arg *args;
    size_t count;
} acu_run_work;

/* Runs the CPU's form for a client of another place, on copies of its blocks, and waits. Called as
 * acu_work_kind.perform. */
acu_result acu_run_on_cpu(acu_client *client, const acu_run_work *run);

#endif
