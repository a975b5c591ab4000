/* Semaphores of other APIs as the rest of the safe layer sees them. */
#ifndef ACU_SRC_EXTERNAL_SEMAPHORE_H
#define ACU_SRC_EXTERNAL_SEMAPHORE_H

#include <anycuda/external.h>

#include "safe/base/object.h"
#include "safe/base/timeline.h"

#include <pthread.h>

/* The signals and waits on one stream. */
typedef struct acu_semaphore_use {
    acu_timeline *timeline; /* with a reference */
    uint64_t number;        /* the last one, on the timeline; 0: there was none yet */
    unsigned pending;       /* how many threads are issuing one */
} acu_semaphore_use;

struct acu_external_semaphore {
    acu_object object;
    cudaExternalSemaphore_t raw;
    acu_external_semaphore_type type;
    bool owned; /* the raw semaphore is destroyed with the handle */
    /* CUDA wants all signals and waits to be done before a semaphore is destroyed. The use on the
     * first stream stays, so that a program with one stream needs no lock: timeline and number are
     * atomic. */
    acu_semaphore_use first;
    pthread_mutex_t lock;
    acu_semaphore_use *more; /* under the lock, as the next two: the uses on other streams */
    size_t use_count, use_room;
};

extern ACU_OURS const acu_class acu_external_semaphore_class;

/* The parameters of a signal or a wait have one layout, so that an array of these is an array of
 * either. */
typedef union acu_semaphore_params {
    struct cudaExternalSemaphoreSignalParams signal;
    struct cudaExternalSemaphoreWaitParams wait;
} acu_semaphore_params;

enum { ACU_FEW_SEMAPHORES = 4 };

/* Several signals or waits, in arrays for CUDA, which are in `few` or allocated. */
typedef struct acu_semaphore_list {
    size_t count;
    int device; /* of all semaphores; -1: there are none */
    cudaExternalSemaphore_t *raw;
    acu_semaphore_params *params;
    acu_object_use *objects; /* the semaphores */
    struct {
        cudaExternalSemaphore_t raw[ACU_FEW_SEMAPHORES];
        acu_semaphore_params params[ACU_FEW_SEMAPHORES];
        acu_object_use objects[ACU_FEW_SEMAPHORES];
    } few;
} acu_semaphore_list;

/* Check the semaphores and fill a list, which acu_external_free_list() frees. Return 0, or a
 * failure recorded for `call`, after which there is nothing to free. */
int acu_external_list_signals(const char *call, const acu_semaphore_signal *signals, size_t count,
                              acu_semaphore_list *list);
int acu_external_list_waits(const char *call, const acu_semaphore_wait *waits, size_t count,
                            acu_semaphore_list *list);
void acu_external_free_list(const acu_semaphore_list *list);

#endif
