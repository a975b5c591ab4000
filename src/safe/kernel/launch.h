/*
 * A launch that was checked: for a stream, or for a kernel node of a graph.
 *
 * acu_launch_prepare() compares arguments and grid with what the kernel and its device can take,
 * and gathers what CUDA's functions need. It allocates nothing, and calls CUDA only if the launch
 * may have to be refused. The result points into the kernel, the buffers and the caller's
 * arguments, so it is valid until the public function returns.
 */
#ifndef ACU_SRC_LAUNCH_H
#define ACU_SRC_LAUNCH_H

#include <anycuda/launch.h>

#include "safe/kernel/kernel.h"
#include "safe/memory/storage.h"
#include "safe/memory/tensor_map.h"
#include "safe/memory/texture.h"

enum { ACU_LAUNCH_MAX_ATTRIBUTES = 20, ACU_LAUNCH_MAX_EVENTS = 2 };

/* The use of one buffer. */
typedef struct acu_launch_use {
    acu_buffer *buffer;
    uint64_t version;
    bool writes;
} acu_launch_use;

typedef struct acu_prepared_launch {
    acu_kernel *kernel;
    dim3 blocks, threads;
    unsigned shared_bytes;
    bool cooperative;         /* then that is the first attribute, too */
    unsigned attribute_count; /* before 11.8 the runtime has none but those of graph nodes */
    unsigned use_count;
    unsigned event_count;
    unsigned image_count;
    acu_event *events[ACU_LAUNCH_MAX_EVENTS]; /* those that the launch records */
    acu_image *images[ACU_MAX_ARGUMENTS];     /* textures, surfaces and tensor maps */
    void *params[ACU_MAX_ARGUMENTS + 1];
    acu_launch_use uses[ACU_MAX_ARGUMENTS];
    cudaLaunchAttribute attributes[ACU_LAUNCH_MAX_ATTRIBUTES];
} acu_prepared_launch;

/* Returns 0 where no size is given. */
static inline uintptr_t acu_size_bits(const acu_size3 *size) {
    return size->x | size->y | size->z;
}

/* Returns whether the grid has no attributes, without a branch for each of them. */
static inline bool acu_grid_has_no_attributes(const acu_grid *g) {
    return ((uintptr_t)g->cooperative | (unsigned)g->priority | acu_size_bits(&g->cluster) |
            acu_size_bits(&g->preferred_cluster) | g->cluster_scheduling |
            (uintptr_t)g->programmatic | (uintptr_t)g->programmatic_event | (uintptr_t)g->at_start |
            (uintptr_t)g->begun_event | g->memory_domain | (uintptr_t)g->window |
            (uintptr_t)g->more | g->raw_count) == 0;
}

/* Returns the class of the handle in an argument: a buffer's, a texture's, a surface's or a
 * tensor map's; NULL for
 * any other argument. */
const acu_class *acu_arg_class(const acu_arg *arg);

/* Returns the kinds of arguments that a parameter of that type takes, as bits. */
unsigned acu_launch_kinds(acu_parameter_type type);

/* Checks the grid alone. Returns 0, or a failure recorded for `call`. */
int acu_launch_prepare_grid(const char *call, acu_kernel *kernel, const acu_grid *grid,
                            acu_prepared_launch *prepared);

/* Does all that acu_launch_args() does, by checks one by one. */
int acu_launch_checked(acu_stream *stream, acu_kernel *kernel, const acu_grid *grid,
                       const acu_arg *args, size_t count);

/* Records that the kernel is about to be launched on the stream, so that its module is not unloaded
 * before it has ended. Mostly the stream is that of the kernel's last launch. */
void acu_launch_record(acu_kernel *kernel, acu_timeline *timeline);

/* Checks everything but the stream. Returns 0, or a failure recorded for `call`. */
int acu_launch_prepare(const char *call, acu_kernel *kernel, const acu_grid *grid,
                       const acu_arg *args, size_t count, acu_prepared_launch *prepared);

/* Launches on a stream of the kernel's device, which is checked. Returns 0, or a failure that is
 * recorded, but not yet for a public function. */
int acu_launch_prepared(acu_prepared_launch *prepared, acu_stream *stream);

/* Fills in the objects that a node must keep alive; returns how many they are. */
enum { ACU_LAUNCH_MAX_OBJECTS = 1 + 2 * ACU_MAX_ARGUMENTS + ACU_LAUNCH_MAX_EVENTS };
size_t acu_launch_objects(const acu_prepared_launch *prepared,
                          acu_object_use kept[ACU_LAUNCH_MAX_OBJECTS]);

/*
 * Add and change kernel nodes, which are the runtime's, whichever API has loaded the kernel. The
 * caller keeps kernel and buffers alive as long as the graph may run. Failures are recorded, but
 * not yet for a public function. Changing a node leaves attributes as they are that the grid does
 * not name; CUDA can change no attributes of a node of an exec.
 */
int acu_launch_add_node(const acu_prepared_launch *prepared, cudaGraph_t graph,
                        const cudaGraphNode_t *after, size_t count, cudaGraphNode_t *node);
int acu_launch_set_node(const acu_prepared_launch *prepared, cudaGraphNode_t node);
int acu_launch_set_exec_node(const acu_prepared_launch *prepared, cudaGraphExec_t exec,
                             cudaGraphNode_t node);

#endif
