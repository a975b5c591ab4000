/*
 * Descendants: what a kernel and its children launch, copy and set. CUDA promises that a child sees
 * what was written before its launch, that its grid's parent ends after it, and the order of
 * streams; so the children of a grid run when its blocks have ended, one after the other.
 */
#ifndef ACU_SIM_CODE_DESCENDANTS_H
#define ACU_SIM_CODE_DESCENDANTS_H

#include "sim/code/kernel_launch.h"
#include "sim/code/module.h"

/* Addresses, and how far rows and slices are apart there. */
typedef struct acu_sim_descendant_place {
    uint64_t at, row, slice;
} acu_sim_descendant_place;

/* A copy of rows of bytes, or a fill. */
typedef struct acu_sim_descendant_copy {
    acu_sim_descendant_place to, from;
    uint64_t bytes, rows, slices; /* of a row, of a slice, of all */
    bool sets;                    /* the bytes to `value`, instead of a copy */
    unsigned char value;
} acu_sim_descendant_copy;

/* A launch, or a copy. */
typedef struct acu_sim_descendant {
    acu_sim_kernel_launch *launch; /* NULL: a copy, or what may not be launched */
    char *arguments;               /* what threads write them to, and how many bytes; the launch has
                                    * them, or, if there is none, this has */
    size_t bytes;
    acu_sim_descendant_copy copy;
    struct acu_sim_descendant *next;
} acu_sim_descendant;

typedef struct acu_sim_descendant_list {
    acu_sim_descendant *first, *last;
} acu_sim_descendant_list;

/* What a launch and all its children have to do yet. Zeros are a good beginning. */
typedef struct acu_sim_descendants {
    acu_sim_descendant *first;  /* what runs next, when the running grid has launched nothing */
    acu_sim_descendant *filled; /* launches of the running grid that get their arguments */
    acu_sim_descendant_list launched;    /* by the running grid */
    acu_sim_descendant_list tail;        /* launched by it for when all others have ended */
    uint64_t handles;                    /* streams and events that were made */
    unsigned events, tails;              /* that there are of the running grid */
    struct acu_sim_thread_error *errors; /* of threads of the running grid */
    size_t error_count, error_room;
    const char **texts; /* that threads have addresses of */
    size_t text_count;
} acu_sim_descendants;

/* ---- under the lock ---- */

/* Adds a launch that gets its arguments yet, and owns it; NULL stands for one that may not be
 * launched. Returns the address of the arguments; 0 without memory: then the launch is freed. */
uint64_t acu_sim_descendants_fill(acu_sim_descendants *children, acu_sim_kernel_launch *launch,
                                  size_t bytes);
/* Returns the launch whose arguments are at the address; NULL if there is none. */
acu_sim_descendant *acu_sim_descendants_filled(const acu_sim_descendants *children,
                                               uint64_t arguments);
/* Queues such a launch. */
void acu_sim_descendants_launch(acu_sim_descendants *children, acu_sim_descendant *filled,
                                bool in_tail);
/* Queues a copy; false without memory. */
bool acu_sim_descendants_copy(acu_sim_descendants *children, const acu_sim_descendant_copy *copy,
                              bool in_tail);

/* Returns the memory with the address that only kernels have, its bytes, and whether kernels may
 * write there: arguments that are filled, and texts; else NULL. */
char *acu_sim_descendants_find(const acu_sim_descendants *children, const void *address,
                               size_t *bytes, bool *writable);
/* Lets kernels read the text, which lives for ever. Returns its address; 0 without memory. */
uint64_t acu_sim_descendants_show(acu_sim_descendants *children, const char *text);

/* Returns the thread's last error, and forgets it or not. */
cudaError_t acu_sim_descendants_error(acu_sim_descendants *children, uint64_t thread, bool forget);
void acu_sim_descendants_set_error(acu_sim_descendants *children, uint64_t thread,
                                   cudaError_t error);

/* ---- without the lock ---- */

/* Ends the grid that ran, and returns what runs next, which the caller frees; NULL: nothing. */
acu_sim_descendant *acu_sim_descendants_take(acu_sim_descendants *children);
/* Copies; the bytes must be in memory that kernels of the module can access. */
cudaError_t acu_sim_descendant_copy_run(const acu_sim_descendant_copy *copy,
                                        const acu_sim_module *module);
void acu_sim_descendant_free(acu_sim_descendant *child);
/* Frees all that is left. */
void acu_sim_descendants_clear(acu_sim_descendants *children);

#endif
