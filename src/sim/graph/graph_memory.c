/*
 * Memory that graphs allocate and free.
 *
 * An allocation has an address from the creation of the node that allocates until the last node
 * that allocates or frees it is gone. Memory is at the address from a run of the first node until a
 * run of the second. Two states follow from that: whether a call is valid depends on what the
 * program launched before (`out`); whether a copy succeeds depends on what has run (`dormant`).
 */
#include "sim/graph/graph_memory.h"

#include "sim/device/device.h"
#include "sim/graph/graph.h"
#include "sim/graph/node.h"
#include "sim/graph/plan.h"
#include "sim/memory/memory.h"
#include "sim/memory/range.h"
#include "sim/stream/op.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 2 << 20 }; /* bytes: devices give memory to graphs in such units */

struct acu_sim_allocation {
    unsigned refs; /* one of each operation that allocates or frees it, and one while `out` */
    acu_sim_device *device;
    acu_sim_range *range; /* NULL: the device was reset */
    struct cudaMemAllocNodeParams params;
    unsigned graph_id; /* of the graph that allocates */
    unsigned freed_by; /* id of the graph that frees; 0: none */
    bool out;          /* a launch allocated it, and none freed it since */
    bool next_out;     /* `out` after the launch that is being validated */
    bool mapped;       /* bytes of the device are in use for it */
    acu_sim_allocation *next, *previous;
};

static acu_sim_allocation *allocations;

/* ---- life ---- */

/* Returns the bytes that an allocation takes of its device. */
static uint64_t taken(const acu_sim_allocation *allocation) {
    return (allocation->params.bytesize + PAGE - 1) / PAGE * PAGE;
}

static void unmap(acu_sim_allocation *allocation) {
    if (!allocation->mapped)
        return;
    allocation->mapped = false;
    allocation->device->graph_used -= taken(allocation);
}

/* Takes the bytes of an allocation from the device; returns false if it has too few. */
static bool map(acu_sim_allocation *allocation) {
    acu_sim_device *device = allocation->device;
    uint64_t used = device->graph_used + taken(allocation);
    if (allocation->mapped)
        return true;
    if (used > device->graph_reserved) {
        if (!acu_sim_memory_charge(device, used - device->graph_reserved))
            return false;
        device->graph_reserved = used;
    }
    allocation->mapped = true;
    device->graph_used = used;
    if (device->graph_used_high < used)
        device->graph_used_high = used;
    if (device->graph_reserved_high < device->graph_reserved)
        device->graph_reserved_high = device->graph_reserved;
    return true;
}

static void release(acu_sim_allocation *allocation) {
    if (--allocation->refs)
        return;
    unmap(allocation);
    if (allocation->range)
        acu_sim_memory_free_range(allocation->range);
    if (allocation->previous)
        allocation->previous->next = allocation->next;
    else
        allocations = allocation->next;
    if (allocation->next)
        allocation->next->previous = allocation->previous;
    free((void *)(uintptr_t)allocation->params.accessDescs);
    free(allocation);
}

static void drop_allocation(acu_sim_op *op) {
    release(op->with.allocation);
}

static bool copy_access(struct cudaMemAllocNodeParams *params) {
    size_t size = params->accessDescCount * sizeof *params->accessDescs;
    struct cudaMemAccessDesc *copy = size ? malloc(size) : NULL;
    if (size && !copy)
        return false;
    if (size)
        memcpy(copy, params->accessDescs, size);
    params->accessDescs = copy;
    return true;
}

/* Returns the operation that frees the memory in stream order, for cudaFreeAsync(); NULL without
 * memory, or if no launch has allocated it. The program no longer has the allocation then. */
static acu_sim_op *new_free_op(acu_sim_range *range);

static acu_sim_allocation *new_allocation(acu_sim_device *device,
                                          const struct cudaMemAllocNodeParams *params,
                                          const void *where) {
    acu_sim_allocation *allocation = calloc(1, sizeof *allocation);
    if (!allocation)
        return NULL;
    *allocation = (acu_sim_allocation){.refs = 1, .device = device, .params = *params};
    if (!copy_access(&allocation->params)) {
        free(allocation);
        return NULL;
    }
    allocation->range = acu_sim_memory_new_range(device, params->bytesize);
    if (!allocation->range) {
        free((void *)(uintptr_t)allocation->params.accessDescs);
        free(allocation);
        return NULL;
    }
    allocation->range->allocation = allocation;
    allocation->range->new_free_op = new_free_op;
    allocation->range->dormant = true;
    allocation->range->where = where;
    allocation->params.dptr = (void *)allocation->range->base;
    allocation->next = allocations;
    if (allocations)
        allocations->previous = allocation;
    return allocations = allocation;
}

/* ---- operations ---- */

static cudaError_t run_alloc(acu_sim_op *op) {
    pthread_mutex_lock(&acu_sim_lock);
    if (op->with.allocation->range)
        op->with.allocation->range->dormant = false;
    pthread_mutex_unlock(&acu_sim_lock);
    return cudaSuccess;
}

static cudaError_t run_free(acu_sim_op *op) {
    pthread_mutex_lock(&acu_sim_lock);
    if (op->with.allocation->range)
        op->with.allocation->range->dormant = true;
    pthread_mutex_unlock(&acu_sim_lock);
    return cudaSuccess;
}

static cudaError_t validate_access(const struct cudaMemAllocNodeParams *params) {
    for (size_t i = 0; i < params->accessDescCount; i++) {
        const struct cudaMemAccessDesc *access = &params->accessDescs[i];
        if (access->location.type != cudaMemLocationTypeDevice ||
            !acu_sim_device_at(access->location.id) ||
            access->flags != cudaMemAccessFlagsProtReadWrite)
            return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

static cudaError_t validate_alloc(const struct cudaMemAllocNodeParams *params) {
    const struct cudaMemPoolProps *props = &params->poolProps;
    if (!params->bytesize || props->allocType != cudaMemAllocationTypePinned ||
        props->location.type != cudaMemLocationTypeDevice ||
        !acu_sim_device_at(props->location.id) || (params->accessDescCount && !params->accessDescs))
        return cudaErrorInvalidValue;
    return props->handleTypes ? cudaErrorNotSupported : validate_access(params);
}

cudaError_t acu_sim_graph_memory_alloc_op(struct cudaMemAllocNodeParams *params,
                                          acu_sim_graph *graph, acu_sim_op **op) {
    params->dptr = NULL;
    cudaError_t result = validate_alloc(params);
    if (result)
        return result;
    acu_sim_device *device = acu_sim_device_at(params->poolProps.location.id);
    if ((result = acu_sim_device_activate(device)))
        return result;
    if (!(*op = acu_sim_op_new(cudaGraphNodeTypeMemAlloc, run_alloc)))
        return cudaErrorMemoryAllocation;
    acu_sim_allocation *allocation = new_allocation(device, params, SIM_CALLER);
    if (!allocation) {
        acu_sim_op_release(*op);
        return cudaErrorMemoryAllocation;
    }
    allocation->graph_id = acu_sim_graph_root(graph)->id;
    (*op)->with.allocation = allocation;
    (*op)->drop = drop_allocation;
    params->dptr = allocation->params.dptr;
    return cudaSuccess;
}

static acu_sim_allocation *allocation_at(const void *address) {
    const acu_sim_range *range = acu_sim_range_of(address);
    return range && range->base == (uintptr_t)address ? range->allocation : NULL;
}

/* Returns an error unless a graph may free an allocation: each graph frees it once at most, and
 * either the graph that allocates it does, or others do. */
static cudaError_t validate_free(const acu_sim_allocation *allocation, unsigned graph) {
    if (!allocation || allocation->freed_by == graph)
        return cudaErrorInvalidValue;
    return allocation->freed_by &&
                   (allocation->graph_id == graph || allocation->freed_by == allocation->graph_id)
               ? cudaErrorInvalidValue
               : cudaSuccess;
}

cudaError_t acu_sim_graph_memory_free_op(void *address, acu_sim_graph *graph, acu_sim_op **op) {
    acu_sim_allocation *allocation = allocation_at(address);
    unsigned id = acu_sim_graph_root(graph)->id;
    cudaError_t result = validate_free(allocation, id);
    if (result)
        return result;
    if (!(*op = acu_sim_op_new(cudaGraphNodeTypeMemFree, run_free)))
        return cudaErrorMemoryAllocation;
    allocation->freed_by = id;
    allocation->refs++;
    (*op)->with.allocation = allocation;
    (*op)->drop = drop_allocation;
    return cudaSuccess;
}

struct cudaMemAllocNodeParams acu_sim_allocation_params(const acu_sim_op *op) {
    return op->with.allocation->params;
}

bool acu_sim_graph_memory_is_op(const acu_sim_op *op) {
    return op->type == cudaGraphNodeTypeMemAlloc || op->type == cudaGraphNodeTypeMemFree;
}

void acu_sim_allocations_move(const acu_sim_graph *from, const acu_sim_graph *to) {
    for (acu_sim_allocation *a = allocations; a; a = a->next) {
        if (a->graph_id == from->id)
            a->graph_id = to->id;
        if (a->freed_by == from->id)
            a->freed_by = to->id;
    }
}

/* ---- launching ---- */

/* Returns an error if a step allocates what is allocated, or frees what is not. */
static cudaError_t validate_step(acu_sim_allocation *allocation, bool alloc, bool auto_free) {
    if (alloc ? allocation->next_out && !(auto_free && allocation->out) : !allocation->next_out)
        return cudaErrorInvalidValue;
    allocation->next_out = alloc;
    return alloc && !map(allocation) ? cudaErrorMemoryAllocation : cudaSuccess;
}

/* Records that a launch allocated or freed an allocation. */
static void commit(acu_sim_allocation *allocation) {
    if (allocation->out == allocation->next_out)
        return;
    allocation->out = allocation->next_out;
    if (allocation->out)
        allocation->refs++;
    else
        release(allocation);
}

cudaError_t acu_sim_graph_memory_launch(const acu_sim_step *steps, size_t count, bool auto_free) {
    cudaError_t result = cudaSuccess;
    for (size_t i = 0; i < count; i++)
        if (acu_sim_graph_memory_is_op(steps[i].op))
            steps[i].op->with.allocation->next_out = steps[i].op->with.allocation->out;
    for (size_t i = 0; !result && i < count; i++)
        if (acu_sim_graph_memory_is_op(steps[i].op))
            result = validate_step(steps[i].op->with.allocation,
                                   steps[i].op->type == cudaGraphNodeTypeMemAlloc, auto_free);
    for (size_t i = 0; !result && i < count; i++)
        if (acu_sim_graph_memory_is_op(steps[i].op))
            commit(steps[i].op->with.allocation);
    return result;
}

static acu_sim_op *new_free_op(acu_sim_range *range) {
    acu_sim_allocation *allocation = range->allocation;
    acu_sim_op *op = allocation->out ? acu_sim_op_new(cudaGraphNodeTypeMemFree, run_free) : NULL;
    if (!op)
        return NULL;
    allocation->out = false; /* the operation has that reference now */
    op->with.allocation = allocation;
    op->drop = drop_allocation;
    op->always = true;
    return op;
}

static void reset_device(acu_sim_device *device) {
    acu_sim_allocation *next;
    for (acu_sim_allocation *a = allocations; a; a = next) {
        next = a->next;
        /* An allocation without a range is one that a closing stream has kept after a reset. */
        if (a->device != device || !a->range)
            continue;
        unmap(a);
        a->range->allocation = NULL;
        a->range = NULL;
        if (a->out) {
            a->out = false;
            release(a);
        }
    }
}

const acu_sim_noun acu_sim_graph_memory_noun = {.reset_device = reset_device};

/* ---- memory of devices for graphs ---- */

static cudaError_t find_device(int index, acu_sim_device **device) {
    *device = acu_sim_device_at(index);
    return *device ? acu_sim_device_activate(*device) : cudaErrorInvalidDevice;
}

cudaError_t acu_sim_cudaDeviceGraphMemTrim(int device) {
    acu_sim_device *d;
    SIM_TRY(find_device(device, &d));
    for (acu_sim_allocation *a = allocations; a; a = a->next)
        if (a->device == d && !a->out && a->range && a->range->dormant)
            unmap(a);
    d->used -= d->graph_reserved - d->graph_used;
    d->graph_reserved = d->graph_used;
    return cudaSuccess;
}

static uint64_t *attribute_of(acu_sim_device *device, enum cudaGraphMemAttributeType attr) {
    switch (attr) {
    case cudaGraphMemAttrUsedMemCurrent:
        return &device->graph_used;
    case cudaGraphMemAttrUsedMemHigh:
        return &device->graph_used_high;
    case cudaGraphMemAttrReservedMemCurrent:
        return &device->graph_reserved;
    case cudaGraphMemAttrReservedMemHigh:
        return &device->graph_reserved_high;
    }
    return NULL;
}

cudaError_t acu_sim_cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                                   void *value) {
    acu_sim_device *d;
    SIM_TRY(find_device(device, &d));
    const uint64_t *attribute = attribute_of(d, attr);
    if (!attribute || !value)
        return cudaErrorInvalidValue;
    memcpy(value, attribute, sizeof *attribute);
    return cudaSuccess;
}

/* A high-water mark can only be set to 0, which resets it to the current value. */
cudaError_t acu_sim_cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                                   void *value) {
    acu_sim_device *d;
    uint64_t asked = 1;
    SIM_TRY(find_device(device, &d));
    if (value)
        memcpy(&asked, value, sizeof asked);
    if (asked)
        return cudaErrorInvalidValue;
    if (attr == cudaGraphMemAttrUsedMemHigh)
        d->graph_used_high = d->graph_used;
    else if (attr == cudaGraphMemAttrReservedMemHigh)
        d->graph_reserved_high = d->graph_reserved;
    else
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

/* ---- nodes ---- */

cudaError_t acu_sim_cudaGraphAddMemAllocNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                             const cudaGraphNode_t *pDependencies,
                                             size_t numDependencies,
                                             struct cudaMemAllocNodeParams *nodeParams) {
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeMemAlloc};
    if (nodeParams)
        memcpy(&params.alloc, nodeParams, sizeof *nodeParams);
    cudaError_t result = acu_sim_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies,
                                          nodeParams ? &params : NULL);
    if (!result)
        nodeParams->dptr = params.alloc.dptr;
    return result;
}

cudaError_t acu_sim_cudaGraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                            const cudaGraphNode_t *pDependencies,
                                            size_t numDependencies, void *dptr) {
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeMemFree, .free = {.dptr = dptr}};
    return acu_sim_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &params);
}

cudaError_t acu_sim_cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
                                                   struct cudaMemAllocNodeParams *params_out) {
    struct cudaGraphNodeParams params;
    cudaError_t result =
        acu_sim_node_get_params(node, cudaGraphNodeTypeMemAlloc, params_out ? &params : NULL);
    if (!result && params_out)
        memcpy(params_out, &params.alloc, sizeof *params_out);
    return result;
}

cudaError_t acu_sim_cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out) {
    struct cudaGraphNodeParams params;
    cudaError_t result =
        acu_sim_node_get_params(node, cudaGraphNodeTypeMemFree, dptr_out ? &params : NULL);
    if (!result && dptr_out)
        memcpy(dptr_out, &params.free.dptr, sizeof params.free.dptr);
    return result;
}
