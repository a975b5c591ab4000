/* The heap of a context, from which its kernels take memory with malloc() and free(). */
#ifndef ACU_SIM_CODE_HEAP_H
#define ACU_SIM_CODE_HEAP_H

#include "sim/device/context.h"
#include "sim/noun.h"

typedef struct acu_sim_heap acu_sim_heap;

/* Returns the context's heap; NULL if it has none, or there is no memory for one. With `make` it is
 * made, of the size that cudaLimitMallocHeapSize has at the moment. Called under the lock. */
acu_sim_heap *acu_sim_heap_of(acu_sim_context *context, bool make);

/* Takes back what a kernel frees. Memory of others is overlooked, as by a GPU, and `overlooked` is
 * set; what is free already is error 719, and no memory 700. Called under the lock. */
cudaError_t acu_sim_heap_free(acu_sim_context *context, const void *memory, bool *overlooked);

/* The others are called without the lock, by any thread. */

/* Returns memory for so many bytes, aligned to 16; NULL: the heap has none. */
void *acu_sim_heap_take(acu_sim_heap *heap, size_t bytes);
/* Gives memory back; false if it is not what acu_sim_heap_take() returned. */
bool acu_sim_heap_give(acu_sim_heap *heap, const void *memory);
/* Returns the heap's bytes, and their number, if it has the address; else NULL. */
char *acu_sim_heap_find(acu_sim_heap *heap, const void *address, size_t *bytes);

/* Returns whether an access of memory of the heap is not one of a piece that a kernel has; then the
 * text says why. */
bool acu_sim_heap_stray(acu_sim_heap *heap, const void *address, size_t size, char *text,
                        size_t room);

extern const acu_sim_noun acu_sim_heap_noun;

#endif
