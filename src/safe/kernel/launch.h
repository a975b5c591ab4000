/*
 * A launch that was checked: for a stream, or for a kernel node of a graph.
 *
 * acu_launch_prepare() compares arguments and grid with what the kernel and its device can take,
 * and gathers what CUDA's calls need. It calls CUDA only to explain a refusal, and allocates
 * nothing. What it gathered points into the kernel, the buffers and the caller's arguments: it
 * holds as long as these do, at most until the caller returns.
 */
#ifndef ACU_SRC_LAUNCH_H
#define ACU_SRC_LAUNCH_H

#include <anycuda/launch.h>

#include "safe/kernel/kernel.h"
#include "safe/memory/storage.h"

enum { ACU_LAUNCH_MAX_ATTRIBUTES = 16, ACU_LAUNCH_MAX_EVENTS = 2 };

typedef struct acu_launch_use {
    acu_buffer *buffer;
    uint64_t version;
    bool writes;
} acu_launch_use;

typedef struct acu_prepared_launch {
    acu_kernel *kernel;
    dim3 blocks, threads;
    unsigned shared_bytes;
    bool cooperative;         /* also among the attributes, of which it is the first */
    unsigned attribute_count; /* below 11.8 there are none but what graph nodes have */
    unsigned use_count;
    unsigned event_count;
    acu_event *events[ACU_LAUNCH_MAX_EVENTS]; /* that the launch records */
    void *params[ACU_MAX_ARGUMENTS + 1];
    acu_launch_use uses[ACU_MAX_ARGUMENTS];
    cudaLaunchAttribute attributes[ACU_LAUNCH_MAX_ATTRIBUTES];
} acu_prepared_launch;

/* The grid alone, as for a launch without arguments. */
int acu_launch_prepare_grid(const char *call, acu_kernel *kernel, const acu_grid *grid,
                            acu_prepared_launch *prepared);

/* Checks everything but the stream; failures are recorded in the name of `call`. */
int acu_launch_prepare(const char *call, acu_kernel *kernel, const acu_grid *grid,
                       const acu_arg *args, size_t count, acu_prepared_launch *prepared);

/* What a node must keep alive; returns how many they are. */
enum { ACU_LAUNCH_MAX_OBJECTS = 1 + ACU_MAX_ARGUMENTS + ACU_LAUNCH_MAX_EVENTS };
size_t acu_launch_objects(const acu_prepared_launch *prepared,
                          acu_object_use kept[ACU_LAUNCH_MAX_OBJECTS]);

/*
 * The kernel nodes of it, in the runtime's handles, whichever API has made the kernel. The caller
 * keeps kernel and buffers alive as long as the graph may run them. Failures are recorded, but not
 * yet in a public function's name. Setting leaves attributes as they are that the grid does not
 * name; of a node of an exec CUDA can change none.
 */
int acu_launch_add_node(const acu_prepared_launch *prepared, cudaGraph_t graph,
                        const cudaGraphNode_t *after, size_t count, cudaGraphNode_t *node);
int acu_launch_set_node(const acu_prepared_launch *prepared, cudaGraphNode_t node);
int acu_launch_set_exec_node(const acu_prepared_launch *prepared, cudaGraphExec_t exec,
                             cudaGraphNode_t node);

#endif
