/* What the parts of bench_sim share. Rows go to the standard output, complaints to stderr. */
#ifndef BENCH_SIM_H
#define BENCH_SIM_H

#include "pairs.h"

#include <anycuda/cudart.h>

#include <stdbool.h>

/* What went wrong in a loop, which then does nothing any more. */
extern cudaError_t failed;
#define TRY(call)                                                                                  \
    do {                                                                                           \
        if (!failed)                                                                               \
            failed = (call);                                                                       \
    } while (0)

extern cudaStream_t stream;
extern const void *kernel; /* it does nothing, without arguments */

void synchronize(void);
void synchronize_all(void);
/* What failed is said, and why; true if something did. */
bool complain(const char *name);
/* A row: what, nanoseconds. `base` > 0: what the same took memcpy() or memset(). */
void print_row(const char *name, double ns, double base);

/* The parts. */
void time_copies(void);
void time_graphs(void);

#endif
