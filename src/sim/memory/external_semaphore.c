/*
 * Semaphores of other APIs. There is no other API here, so the program makes a semaphore that
 * stands for one of another API (acu_sim_semaphore_create()), and imports that. Any other
 * descriptor is refused, as CUDA refuses one that is not of a semaphore.
 *
 * An exported descriptor is recognised by the name of its file, which has the semaphore's number.
 */
#define _GNU_SOURCE /* memfd_create */

#include "sim/memory/external_semaphore.h"

#include "sim/caller.h"
#include "sim/device/device.h"
#include "sim/memory/external_memory.h"
#include "sim/set.h"
#include "sim/stream/capture.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct acu_sim_semaphore {
    unsigned refs;             /* one of the program's, one of each import and operation */
    unsigned long long number; /* no other semaphore has had it */
    unsigned long long value;  /* of a binary semaphore: 1 if it is signaled */
    bool timeline;             /* false: a binary semaphore */
    acu_sim_semaphore *next;
};

/* What the program gets for a semaphore that it imports. */
typedef struct imported {
    acu_sim_semaphore *semaphore;
    acu_sim_device *device;
    const void *where; /* where the program imported the semaphore */
    struct imported *next;
} imported;

/* What an operation signals or waits for. Signals and waits have parameters of the same layout. */
typedef struct cudaExternalSemaphoreSignalNodeParamsV2 node_params;
typedef struct cudaExternalSemaphoreSignalParams each_params;
_Static_assert(sizeof(node_params) == sizeof(struct cudaExternalSemaphoreWaitNodeParamsV2) &&
                   sizeof(each_params) == sizeof(struct cudaExternalSemaphoreWaitParams) &&
                   offsetof(each_params, flags) ==
                       offsetof(struct cudaExternalSemaphoreWaitParams, flags),
               "signals and waits have the same parameters");

struct acu_sim_semaphores {
    node_params params;             /* whose arrays the operation owns */
    acu_sim_semaphore **semaphores; /* one reference to each */
};

static acu_sim_semaphore *semaphores;
static imported *imports;
static acu_sim_set handles;

/* ---- waits of graphs ---- */

static acu_sim_op *awaited; /* the marks of waits that are not over, the oldest one first */

/* Returns whether all semaphores of a wait are signaled, so that it is over. */
static bool is_signaled(const acu_sim_op *op) {
    const acu_sim_semaphores *s = op->with.semaphores;
    for (unsigned i = 0; i < s->params.numExtSems; i++) {
        const acu_sim_semaphore *semaphore = s->semaphores[i];
        if (semaphore->value <
            (semaphore->timeline ? s->params.paramsArray[i].params.fence.value : 1))
            return false;
    }
    return true;
}

/* Ends a wait if it is over, which takes the signals of its binary semaphores; returns whether it
 * is over. */
static bool try_to_end(const acu_sim_op *wait) {
    const acu_sim_semaphores *s = wait->with.semaphores;
    if (!is_signaled(wait))
        return false;
    for (unsigned i = 0; i < s->params.numExtSems; i++)
        if (!s->semaphores[i]->timeline)
            s->semaphores[i]->value = 0;
    return true;
}

/* Takes a mark out of the list, and releases its wait. */
static void remove_mark(acu_sim_op *mark) {
    acu_sim_op **link = &awaited;
    while (*link && *link != mark)
        link = &(*link)->with.awaited.next;
    if (*link)
        *link = mark->with.awaited.next;
    acu_sim_op_release(mark->with.awaited.wait);
    mark->with.awaited.wait = NULL;
    mark->drop = NULL;
}

void acu_sim_semaphores_await(acu_sim_op *wait, acu_sim_op *mark) {
    acu_sim_op **link = &awaited;
    if (try_to_end(wait)) {
        acu_sim_op_finish(mark);
        return;
    }
    while (*link)
        link = &(*link)->with.awaited.next;
    wait->refs++;
    mark->with.awaited.wait = wait;
    mark->with.awaited.next = NULL;
    mark->drop = remove_mark;
    *link = mark;
}

/* ---- the other API ---- */

/* Gives up a reference; the last one frees the semaphore. */
static void release(acu_sim_semaphore *semaphore) {
    if (--semaphore->refs)
        return;
    acu_sim_semaphore **link = &semaphores;
    while (*link != semaphore)
        link = &(*link)->next;
    *link = semaphore->next;
    free(semaphore);
}

acu_sim_semaphore *acu_sim_semaphore_create(int timeline) {
    static unsigned long long last_number;
    acu_sim_semaphore *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    pthread_mutex_lock(&acu_sim_lock);
    *made = (acu_sim_semaphore){
        .refs = 1, .number = ++last_number, .timeline = timeline != 0, .next = semaphores};
    semaphores = made;
    pthread_mutex_unlock(&acu_sim_lock);
    return made;
}

void acu_sim_semaphore_destroy(acu_sim_semaphore *semaphore) {
    if (!semaphore)
        return;
    pthread_mutex_lock(&acu_sim_lock);
    release(semaphore);
    pthread_mutex_unlock(&acu_sim_lock);
}

enum { NAME = 64 }; /* bytes of a file's name */

static void write_name(const acu_sim_semaphore *semaphore, char name[NAME]) {
    snprintf(name, NAME, "anycuda-semaphore-%d-%llu", (int)getpid(), semaphore->number);
}

int acu_sim_semaphore_export(const acu_sim_semaphore *semaphore) {
    char name[NAME];
    write_name(semaphore, name);
    return memfd_create(name, MFD_CLOEXEC);
}

/* Signals a semaphore, and ends the waits that are over now. Under the lock. */
static void set_value(acu_sim_semaphore *semaphore, unsigned long long value) {
    semaphore->value = semaphore->timeline ? value : 1;
    for (acu_sim_op **link = &awaited; *link;) {
        acu_sim_op *mark = *link;
        if (!try_to_end(mark->with.awaited.wait)) {
            link = &mark->with.awaited.next;
            continue;
        }
        remove_mark(mark);
        acu_sim_op_finish(mark);
    }
    acu_sim_streams_wake();
}

void acu_sim_semaphore_signal(acu_sim_semaphore *semaphore, unsigned long long value) {
    pthread_mutex_lock(&acu_sim_lock);
    set_value(semaphore, value);
    pthread_mutex_unlock(&acu_sim_lock);
}

unsigned long long acu_sim_semaphore_value(const acu_sim_semaphore *semaphore) {
    pthread_mutex_lock(&acu_sim_lock);
    unsigned long long value = semaphore->value;
    pthread_mutex_unlock(&acu_sim_lock);
    return value;
}

/* ---- importing ---- */

bool acu_sim_external_descriptor_name(int fd, char *name, size_t size) {
    char path[64], target[128];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = fd < 0 ? -1 : readlink(path, target, sizeof target - 1);
    if (length < 0)
        return false;
    target[length] = '\0';
    snprintf(name, size, "%s", target);
    return true;
}

/* Returns the semaphore that was exported as the descriptor; NULL if there is none. */
static acu_sim_semaphore *find(int fd) {
    char name[NAME], wanted[2 * NAME], found[2 * NAME];
    if (!acu_sim_external_descriptor_name(fd, found, sizeof found))
        return NULL;
    for (acu_sim_semaphore *semaphore = semaphores; semaphore; semaphore = semaphore->next) {
        write_name(semaphore, name);
        snprintf(wanted, sizeof wanted, "/memfd:%s (deleted)", name);
        if (strcmp(found, wanted) == 0)
            return semaphore;
    }
    return NULL;
}

/* The other types are those of other systems and of other libraries, of which global handles have
 * no names. CUDA does not look whether a semaphore is a timeline. */
static cudaError_t validate_type(const struct cudaExternalSemaphoreHandleDesc *desc) {
    const bool is_global = desc->type == cudaExternalSemaphoreHandleTypeOpaqueWin32Kmt ||
                           desc->type == cudaExternalSemaphoreHandleTypeKeyedMutexKmt;
    if (!acu_sim_knows(&acu_cudart_type_cudaExternalSemaphoreHandleType, desc->type))
        return cudaErrorInvalidValue;
    if (desc->type == cudaExternalSemaphoreHandleTypeOpaqueFd ||
        desc->type == cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd)
        return cudaSuccess;
    if (desc->type == cudaExternalSemaphoreHandleTypeNvSciSync)
        return desc->handle.nvSciSyncObj ? cudaErrorNotSupported : cudaErrorInvalidValue;
    return desc->handle.win32.handle || (desc->handle.win32.name && !is_global)
               ? cudaErrorNotSupported
               : cudaErrorInvalidValue;
}

static cudaError_t import(const struct cudaExternalSemaphoreHandleDesc *desc,
                          acu_sim_device *device, imported **made) {
    if (desc->flags)
        return cudaErrorInvalidValue;
    SIM_TRY(validate_type(desc));
    SIM_TRY(acu_sim_capture_allows_unsafe());
    acu_sim_semaphore *semaphore = find(desc->handle.fd);
    if (!semaphore && desc->handle.fd < 0)
        return cudaErrorInvalidValue;
    if (!semaphore)
        return SIM_REFUSE(cudaErrorUnknown,
                          "the descriptor is of no semaphore that another API exports; on the "
                          "simulator acu_sim_semaphore_export() makes such ones");
    *made = calloc(1, sizeof **made);
    if (!*made || !acu_sim_set_add(&handles, *made)) {
        free(*made);
        return cudaErrorMemoryAllocation;
    }
    **made = (imported){semaphore, device, SIM_CALLER, imports};
    imports = *made;
    semaphore->refs++;
    (void)close(desc->handle.fd); /* CUDA owns the descriptor now */
    return cudaSuccess;
}

/* Ends an import; operations keep the semaphore. */
static void destroy(imported *it) {
    imported **link = &imports;
    while (*link != it)
        link = &(*link)->next;
    *link = it->next;
    acu_sim_set_remove(&handles, it);
    release(it->semaphore);
    free(it);
}

/* Returns the import of a handle; NULL if there is none. */
static imported *imported_of(cudaExternalSemaphore_t handle) {
    imported *it = (imported *)(void *)handle;
    return acu_sim_set_has(&handles, it) ? it : NULL;
}

cudaError_t
acu_sim_cudaImportExternalSemaphore(cudaExternalSemaphore_t *extSem_out,
                                    const struct cudaExternalSemaphoreHandleDesc *semHandleDesc) {
    imported *made;
    if (!extSem_out || !semHandleDesc)
        return cudaErrorInvalidValue;
    SIM_TRY(import(semHandleDesc, acu_sim_device_now(), &made));
    *extSem_out = (cudaExternalSemaphore_t)(void *)made;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDestroyExternalSemaphore(cudaExternalSemaphore_t extSem) {
    imported *it = imported_of(extSem);
    if (!it)
        return cudaErrorInvalidResourceHandle;
    SIM_TRY(acu_sim_capture_allows_unsafe());
    destroy(it);
    return cudaSuccess;
}

static void reset_device(acu_sim_device *device) {
    imported *next;
    for (imported *it = imports; it; it = next) {
        next = it->next;
        if (it->device == device)
            destroy(it);
    }
}

static int leaks(int print) {
    int count = 0;
    for (const imported *it = imports; it; it = it->next, count++)
        if (print)
            acu_sim_caller_report("external semaphore", it, 0, it->where);
    return count;
}

const acu_sim_noun acu_sim_external_semaphore_noun = {.reset_device = reset_device, .leaks = leaks};

/* ---- operations ---- */

static void drop(acu_sim_op *op) {
    acu_sim_semaphores *s = op->with.semaphores;
    for (unsigned i = 0; i < s->params.numExtSems; i++)
        if (s->semaphores[i])
            release(s->semaphores[i]);
    free(s->semaphores);
    free(s->params.extSemArray);
    free((void *)(uintptr_t)s->params.paramsArray);
    free(s);
}

static cudaError_t signal_all(acu_sim_op *op) {
    const acu_sim_semaphores *s = op->with.semaphores;
    pthread_mutex_lock(&acu_sim_lock);
    for (unsigned i = 0; i < s->params.numExtSems; i++)
        set_value(s->semaphores[i], s->params.paramsArray[i].params.fence.value);
    pthread_mutex_unlock(&acu_sim_lock);
    return cudaSuccess;
}

/* A stream does not run a wait before its semaphores are signaled. */
static cudaError_t wait_all(acu_sim_op *op) {
    pthread_mutex_lock(&acu_sim_lock);
    (void)try_to_end(op);
    pthread_mutex_unlock(&acu_sim_lock);
    return cudaSuccess;
}

/* A node may have no semaphores, unlike a call. */
static cudaError_t validate(const node_params *params) {
    if (params->numExtSems && (!params->extSemArray || !params->paramsArray))
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < params->numExtSems; i++) {
        if (!imported_of(params->extSemArray[i]))
            return cudaErrorInvalidResourceHandle;
        if (params->paramsArray[i].flags)
            return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

/* Copies the parameters, and takes a reference to each semaphore; NULL without memory. */
static acu_sim_semaphores *copy_params(const node_params *params) {
    const unsigned count = params->numExtSems;
    acu_sim_semaphores *s = calloc(1, sizeof *s);
    if (!s || !count)
        return s;
    each_params *each = calloc(count, sizeof *each);
    cudaExternalSemaphore_t *list = calloc(count, sizeof(cudaExternalSemaphore_t));
    acu_sim_semaphore **found = calloc(count, sizeof(acu_sim_semaphore *));
    if (!each || !list || !found) {
        free(s);
        free(each);
        free(list);
        free(found);
        return NULL;
    }
    memcpy(each, params->paramsArray, count * sizeof *each);
    memcpy(list, params->extSemArray, count * sizeof(cudaExternalSemaphore_t));
    *s = (acu_sim_semaphores){{list, each, count, params->ctx}, found};
    for (unsigned i = 0; i < count; i++) {
        found[i] = imported_of(list[i])->semaphore;
        found[i]->refs++;
    }
    return s;
}

static cudaError_t new_op(enum cudaGraphNodeType type, const node_params *params, acu_sim_op **op) {
    const bool waits = type == cudaGraphNodeTypeExtSemaphoreWait;
    SIM_TRY(validate(params));
    acu_sim_op *made = acu_sim_op_new(type, waits ? wait_all : signal_all);
    if (!made || !(made->with.semaphores = copy_params(params))) {
        acu_sim_op_release(made);
        return cudaErrorMemoryAllocation;
    }
    made->is_due = waits ? is_signaled : NULL;
    made->drop = drop;
    *op = made;
    return cudaSuccess;
}

cudaError_t acu_sim_semaphores_op(const struct cudaGraphNodeParams *params, acu_sim_op **op) {
    node_params p;
    memcpy(&p, &params->extSemSignal, sizeof p);
    cudaError_t why = new_op(params->type, &p, op);
    /* CUDA reports an invalid semaphore of a node as an invalid value. */
    return why == cudaErrorInvalidResourceHandle ? cudaErrorInvalidValue : why;
}

void acu_sim_semaphores_describe(const acu_sim_op *op, struct cudaGraphNodeParams *params) {
    memcpy(&params->extSemSignal, &op->with.semaphores->params, sizeof(node_params));
}

unsigned acu_sim_semaphores_count(const acu_sim_op *op) {
    return op->with.semaphores->params.numExtSems;
}

/* ---- signaling and waiting ---- */

static cudaError_t submit(enum cudaGraphNodeType type, const node_params *params,
                          cudaStream_t stream) {
    acu_sim_stream *s;
    acu_sim_op *op;
    SIM_TRY(acu_sim_stream_usable(stream, &s));
    if (!params->numExtSems)
        return cudaErrorInvalidValue;
    SIM_TRY(new_op(type, params, &op));
    return acu_sim_stream_submit(s, op, false);
}

cudaError_t acu_sim_cudaSignalExternalSemaphoresAsync(
    const cudaExternalSemaphore_t *extSemArray,
    const struct cudaExternalSemaphoreSignalParams *paramsArray, unsigned int numExtSems,
    cudaStream_t stream) {
    const node_params params = {(cudaExternalSemaphore_t *)(uintptr_t)extSemArray, paramsArray,
                                numExtSems, NULL};
    return submit(cudaGraphNodeTypeExtSemaphoreSignal, &params, stream);
}

cudaError_t
acu_sim_cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
                                        const struct cudaExternalSemaphoreWaitParams *paramsArray,
                                        unsigned int numExtSems, cudaStream_t stream) {
    const node_params params = {(cudaExternalSemaphore_t *)(uintptr_t)extSemArray,
                                (const each_params *)(const void *)paramsArray, numExtSems, NULL};
    return submit(cudaGraphNodeTypeExtSemaphoreWait, &params, stream);
}
