/* The clusters of a launch that have not begun, divided among its workers. */
#ifndef ACU_SIM_PTX_DIVISION_H
#define ACU_SIM_PTX_DIVISION_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ptx_division ptx_division;

/*
 * Returns `count` clusters for at most `workers` workers; NULL without memory. The caller frees
 * them. No cluster is taken before one that comes a window, which is not 0, or more before it. With
 * `in_order` the workers take one cluster at a time, in the order of their numbers.
 */
ptx_division *acu_ptx_division_new(uint64_t count, unsigned workers, uint64_t window,
                                   bool in_order);
void acu_ptx_division_free(ptx_division *division);

/* Returns the number of one more worker, from 0 on. At most `workers` join, and no more
 * than there are clusters. */
unsigned acu_ptx_division_join(ptx_division *division);

/* Takes some clusters for a worker, from `*first` up to but without `*last`. Returns false, and
 * writes nothing, where none is left. */
bool acu_ptx_division_take(ptx_division *division, unsigned worker, uint64_t *first,
                           uint64_t *last);

/* Returns whether none is left for a worker that has not joined. */
bool acu_ptx_division_is_empty(ptx_division *division);

#endif
