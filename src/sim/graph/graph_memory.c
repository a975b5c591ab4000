/*
 * Memory that graphs allocate and free.
 *
 * An allocation has an address from the creation of the node that allocates until the last node
 * that allocates or frees it is gone; another one has the same address if it is freed before.
 * Memory is at the address from a run of the first node until a run of the second. Two states
 * follow from that: whether a call is valid depends on what the program launched before (`out`);
 * whether a copy succeeds depends on what has run (`dormant`).
 */
#include "sim/graph/graph_memory.h"

#include "sim/device/device.h"
#include "sim/graph/graph.h"
#include "sim/graph/graph_pieces.h"
#include "sim/graph/node.h"
#include "sim/graph/plan.h"
#include "sim/memory/memory.h"
#include "sim/memory/range.h"
#include "sim/memory/unwritten.h"
#include "sim/stream/op.h"

#include <stdlib.h>
#include <string.h>

struct acu_sim_allocation {
    unsigned refs; /* one of each operation that allocates or frees it, and one while `out` */
    acu_sim_device *device;
    acu_sim_range *range; /* NULL: the device was reset, or the node has no edges yet */
    struct cudaMemAllocNodeParams params;
    unsigned graph_id;         /* of the graph that allocates */
    unsigned freed_by;         /* id of the graph that frees; 0: none */
    bool out;                  /* a launch allocated it, and none freed it since */
    bool next_out;             /* `out` after the launch that is being validated */
    const void *where;         /* where the program made the node */
    acu_sim_piece_place place; /* held while `out` */
    acu_sim_allocation *next, *previous;
};

static acu_sim_allocation *allocations;

/* ---- life ---- */

/* Gives the addresses back with the last allocation that has them. */
static void release_range(const acu_sim_allocation *allocation) {
    acu_sim_range *range = allocation->range;
    if (range->allocation == allocation)
        range->allocation = NULL;
    if (--range->allocations == 0)
        acu_sim_memory_free_range(range);
}

static void release(acu_sim_allocation *allocation) {
    if (--allocation->refs)
        return;
    acu_sim_place_give_back(&allocation->place);
    if (allocation->range)
        release_range(allocation);
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
    allocation->where = where;
    allocation->next = allocations;
    if (allocations)
        allocations->previous = allocation;
    return allocations = allocation;
}

/* ---- operations ---- */

static cudaError_t run_alloc(acu_sim_op *op) {
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_range *range = op->with.allocation->range;
    if (range) {
        range->dormant = false;
        acu_sim_unwritten_begin(range);
    }
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
            return SIM_REFUSE(cudaErrorInvalidValue,
                              "accessDescs[%zu] must grant cudaMemAccessFlagsProtReadWrite to a "
                              "device that there is",
                              i);
    }
    return cudaSuccess;
}

static cudaError_t validate_alloc(const struct cudaMemAllocNodeParams *params) {
    const struct cudaMemPoolProps *props = &params->poolProps;
    if (!params->bytesize)
        return SIM_REFUSE(cudaErrorInvalidValue, "bytesize must not be 0");
    if (props->allocType != cudaMemAllocationTypePinned ||
        props->location.type != cudaMemLocationTypeDevice || !acu_sim_device_at(props->location.id))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "a graph allocates memory of devices only: poolProps must have "
                          "cudaMemAllocationTypePinned, cudaMemLocationTypeDevice and a device "
                          "that there is");
    if (params->accessDescCount && !params->accessDescs)
        return SIM_REFUSE(cudaErrorInvalidValue, "accessDescs is NULL, and its count is %zu",
                          params->accessDescCount);
    return props->handleTypes ? SIM_REFUSE(cudaErrorNotSupported,
                                           "memory of a graph is not shared with other processes: "
                                           "poolProps.handleTypes must be cudaMemHandleTypeNone")
                              : validate_access(params);
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
    return cudaSuccess;
}

static acu_sim_allocation *allocation_at(const void *address) {
    const acu_sim_range *range = acu_sim_range_of(address);
    return range && range->base == (uintptr_t)address ? range->allocation : NULL;
}

/* Returns an error unless a graph may free an allocation: each graph frees it once at most, and
 * either the graph that allocates it does, or others do. */
static cudaError_t validate_free(const acu_sim_allocation *allocation, unsigned graph,
                                 const void *address) {
    if (!allocation)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "no graph allocates memory at %p: a graph frees only what a graph "
                          "allocates",
                          address);
    if (allocation->freed_by != graph &&
        !(allocation->freed_by &&
          (allocation->graph_id == graph || allocation->freed_by == allocation->graph_id)))
        return cudaSuccess;
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "the %zu bytes at %p, which a graph allocates, are freed already by a node "
                      "of this graph or of another",
                      allocation->params.bytesize, address);
}

cudaError_t acu_sim_graph_memory_free_op(void *address, acu_sim_graph *graph, acu_sim_op **op) {
    acu_sim_allocation *allocation = allocation_at(address);
    unsigned id = acu_sim_graph_root(graph)->id;
    cudaError_t result = validate_free(allocation, id, address);
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

cudaError_t acu_sim_graph_refuse_memory(const char *so) {
    return SIM_REFUSE(cudaErrorNotSupported,
                      "the graph has, or has had, nodes that allocate or free memory, so %s", so);
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

/* ---- places ---- */

static acu_sim_allocation *allocated_by(const acu_sim_node *node) {
    return node && node->op->type == cudaGraphNodeTypeMemAlloc ? node->op->with.allocation : NULL;
}

/* Marks the places of allocations that are freed before a node runs; returns false without memory.
 */
static bool mark_freed_before(acu_sim_node *node, uint64_t mark) {
    acu_sim_node **waiting = malloc((node->graph->count + 1) * sizeof(acu_sim_node *));
    size_t count = 0;
    if (waiting)
        waiting[count++] = node;
    while (count) {
        const acu_sim_node *n = waiting[--count];
        for (size_t i = 0; i < n->before.count; i++) {
            acu_sim_node *before = (acu_sim_node *)(void *)n->before.nodes[i];
            if (before->mark == mark)
                continue;
            before->mark = mark;
            waiting[count++] = before;
            if (before->op->type == cudaGraphNodeTypeMemFree)
                before->op->with.allocation->place.mark = mark;
        }
    }
    free(waiting);
    return waiting != NULL;
}

/* Returns the pieces that the graph's allocations on a device share; NULL if none has a place. */
static acu_sim_pieces *find_pieces(const acu_sim_graph *graph, const acu_sim_device *device) {
    acu_sim_pieces *found = NULL;
    for (size_t i = 0; i < graph->size && !found; i++) {
        const acu_sim_allocation *allocation = allocated_by(graph->nodes[i]);
        if (allocation && allocation->device == device)
            found = allocation->place.pieces;
    }
    return found;
}

static bool take_place(const acu_sim_graph *graph, acu_sim_allocation *allocation, uint64_t mark) {
    acu_sim_pieces *found = find_pieces(graph, allocation->device),
                   *pieces = found ? found : acu_sim_pieces_new(allocation->device);
    bool taken =
        pieces && acu_sim_place_take(&allocation->place, pieces, allocation->params.bytesize, mark);
    if (!found)
        acu_sim_pieces_release(pieces); /* which the place keeps */
    return taken;
}

/* Returns the addresses of an earlier allocation at the same place; NULL if there is none of this
 * size. */
static acu_sim_range *find_range(const acu_sim_graph *graph, const acu_sim_allocation *allocation,
                                 uint64_t mark) {
    acu_sim_range *found = NULL;
    for (size_t i = 0; i < graph->size && !found; i++) {
        const acu_sim_allocation *a = allocated_by(graph->nodes[i]);
        if (a && a->place.mark == mark && a->place.pieces == allocation->place.pieces &&
            a->place.offset == allocation->place.offset &&
            a->place.size == allocation->place.size && a->range && a->range->allocation == a)
            found = a->range;
    }
    return found;
}

/* Returns the operation that frees the memory in stream order, for cudaFreeAsync(); NULL without
 * memory, or if no launch has allocated it. The program no longer has the allocation then. */
static acu_sim_op *new_free_op(acu_sim_range *range);

static acu_sim_range *new_range(const acu_sim_allocation *allocation) {
    acu_sim_range *range =
        acu_sim_memory_new_range(allocation->device, allocation->params.bytesize);
    if (!range)
        return NULL;
    range->new_free_op = new_free_op;
    range->dormant = true;
    return range;
}

cudaError_t acu_sim_graph_memory_place(acu_sim_node *node) {
    acu_sim_allocation *allocation = allocated_by(node);
    uint64_t mark = acu_sim_node_new_mark();
    if (!allocation || allocation->place.pieces)
        return cudaSuccess;
    if (allocation->params.bytesize > allocation->device->span) /* no pieces are counted for that */
        return cudaErrorMemoryAllocation;
    if (!mark_freed_before(node, mark) || !take_place(node->graph, allocation, mark))
        return cudaErrorMemoryAllocation;
    acu_sim_range *range = find_range(node->graph, allocation, mark);
    if (!range && !(range = new_range(allocation)))
        return cudaErrorMemoryAllocation;
    range->allocations++;
    range->allocation = allocation;
    range->where = allocation->where;
    allocation->range = range;
    allocation->params.dptr = (void *)range->base;
    return cudaSuccess;
}

/* ---- launching ---- */

/* Returns an error if a step allocates what is allocated, or frees what is not. */
static cudaError_t validate_step(acu_sim_allocation *allocation, bool alloc, bool auto_free) {
    const void *at = allocation->params.dptr;
    const size_t size = allocation->params.bytesize;
    if (alloc && allocation->next_out && !(auto_free && allocation->out))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the graph allocates the %zu bytes at %p, which an earlier launch "
                          "allocated and nobody freed: free them first, or instantiate with "
                          "cudaGraphInstantiateFlagAutoFreeOnLaunch",
                          size, at);
    if (!alloc && !allocation->next_out)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the graph frees the %zu bytes at %p, which are not allocated: launch "
                          "the graph first that allocates them",
                          size, at);
    allocation->next_out = alloc;
    return cudaSuccess;
}

/* Makes sure that each device has the pieces that the steps allocate in. */
static bool reserve(const acu_sim_step *steps, size_t count) {
    size_t idle[SIM_DEVICES] = {0};
    uint64_t mark = acu_sim_node_new_mark();
    bool good = true;
    for (size_t i = 0; i < count; i++)
        if (steps[i].op->type == cudaGraphNodeTypeMemAlloc) {
            acu_sim_allocation *allocation = steps[i].op->with.allocation;
            idle[allocation->device->index] += acu_sim_place_count_idle(&allocation->place, mark);
        }
    for (int i = 0; i < SIM_DEVICES && good; i++)
        good = !idle[i] || acu_sim_pieces_reserve(acu_sim_device_at(i), idle[i]);
    return good;
}

/* Notes that the program has an allocation from now on, or no longer has it. */
static void set_out(acu_sim_allocation *allocation, bool out) {
    allocation->out = out;
    if (out)
        acu_sim_place_hold(&allocation->place);
    else
        acu_sim_place_let_go(&allocation->place);
}

/* Records that a launch allocated or freed an allocation. */
static void commit(acu_sim_allocation *allocation) {
    if (allocation->out == allocation->next_out)
        return;
    set_out(allocation, allocation->next_out);
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
    if (!result && !reserve(steps, count))
        result = cudaErrorMemoryAllocation;
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
    set_out(allocation, false); /* the operation has that reference now */
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
        a->range->allocation = NULL;
        a->range = NULL;
        if (a->out) {
            set_out(a, false);
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
    size_t running = 0; /* pieces in which work that was launched still allocates */
    uint64_t mark = acu_sim_node_new_mark();
    for (acu_sim_allocation *a = allocations; a; a = a->next)
        if (a->device == d && a->range && !a->range->dormant)
            running += acu_sim_place_count_idle(&a->place, mark);
    acu_sim_pieces_trim(d, running);
    return cudaSuccess;
}

static uint64_t *attribute_of(acu_sim_device *device, enum cudaGraphMemAttributeType attr) {
    switch (attr) {
    case cudaGraphMemAttrUsedMemCurrent:
    case cudaGraphMemAttrReservedMemCurrent:
        return &device->graph_memory;
    case cudaGraphMemAttrUsedMemHigh:
        return &device->graph_used_high;
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
        d->graph_used_high = d->graph_memory;
    else if (attr == cudaGraphMemAttrReservedMemHigh)
        d->graph_reserved_high = d->graph_memory;
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
    if (!result && nodeParams)
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
