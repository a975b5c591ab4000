/* Launches: the checks before CUDA sees one, and the launch itself. */
#include "safe/kernel/launch.h"
#include "safe/base/event.h"
#include "safe/base/execution_context.h"
#include "safe/kernel/module.h"

#include <stdio.h>
#include <string.h>

/* Stands before what is part of each launch: one function, which saves and restores registers once.
 * A launch that is not on a stream yet has copies of its own. */
#define ACU_INLINED static inline __attribute__((always_inline))

/* For errors: the caller mostly uses this macro. */
static const char launch_name[] = "acu_launch";

/* ---- the grid ---- */

static const char axes[] = "xyz";

static size_t at_least_one(size_t n) {
    return n ? n : 1;
}

/* Converts a size for CUDA; false if the device cannot have it. The sentences of refusals are in
 * other functions, here and below, so that they are not between the code that each launch runs. */
static inline bool fill_dim(const acu_size3 *size, const int most[3], dim3 *dim) {
    size_t x = size->x, y = at_least_one(size->y), z = at_least_one(size->z);
    *dim = (dim3){(unsigned)x, (unsigned)y, (unsigned)z};
    return x > 0 && x <= (size_t)most[0] && y <= (size_t)most[1] && z <= (size_t)most[2];
}

ACU_COLD static int refuse_empty(const char *call, const acu_kernel *kernel, const char *what,
                                 const acu_size3 *size) {
    acu_fail_hint(
        "a grid for 0 elements, or with 0 threads per block, has no blocks: there is nothing to "
        "launch");
    return acu_fail_on(call, kernel, ACU_ERROR_ARGUMENT, "the %s are %zu x %zu x %zu", what,
                       size->x, size->y, size->z);
}

ACU_COLD static int refuse_dim(const char *call, const acu_kernel *kernel, const char *what,
                               const acu_size3 *size, const int most[3]) {
    const size_t n[3] = {size->x, at_least_one(size->y), at_least_one(size->z)};
    if (n[0] == 0)
        return refuse_empty(call, kernel, what, size);
    int axis = n[0] > (size_t)most[0] ? 0 : n[1] > (size_t)most[1] ? 1 : 2;
    return acu_fail_on(call, kernel, ACU_ERROR_LIMIT, "%zu %s in %c: device %d can have %d",
                       n[axis], what, axes[axis], kernel->object.device, most[axis]);
}

static size_t threads_of(const acu_prepared_launch *p) {
    return (size_t)p->threads.x * p->threads.y * p->threads.z;
}

ACU_COLD static int refuse_threads(const char *call, const acu_kernel *kernel, size_t threads) {
    if (threads > (size_t)kernel->limits.threads)
        return acu_fail_on(call, kernel, ACU_ERROR_LIMIT,
                           "%zu threads per block: device %d can have %d", threads,
                           kernel->object.device, kernel->limits.threads);
    acu_fail_hint(
        "use smaller blocks, or compile the kernel with __launch_bounds__ or max_registers");
    return acu_fail_on(
        call, kernel, ACU_ERROR_LIMIT,
        "%zu threads per block: %s can have %d on device %d, because it takes %d registers "
        "per thread, or was compiled for so many",
        threads, kernel->name, kernel->max_threads, kernel->object.device, kernel->registers);
}

static bool has_room(const acu_kernel *kernel, size_t shared) {
    int most = __atomic_load_n(&kernel->max_shared, __ATOMIC_RELAXED);
    return shared <= (size_t)most;
}

/* Asks again for the limit, which may have been raised by CUDA's own functions. */
static int look_again(acu_kernel *kernel) {
    acu_code_guard guard;
    int code = kernel->api->enter(&kernel->place, &guard);
    if (!code)
        code = acu_kernel_refresh(kernel);
    kernel->api->leave(&guard);
    return code;
}

/* Returns 0 if the kernel may have so much shared memory after all. */
ACU_COLD static int look_for_room(const char *call, acu_kernel *kernel, size_t shared) {
    int code = look_again(kernel);
    if (code)
        return acu_outcome(call, kernel, code);
    if (has_room(kernel, shared))
        return 0;
    int most = kernel->limits.shared_most - kernel->static_shared;
    if (shared <= (size_t)most)
        acu_fail_hint("acu_kernel_set_attribute(kernel, ACU_KERNEL_MAX_SHARED, %zu) allows it; "
                      "device %d has %d",
                      shared, kernel->object.device, most);
    else
        acu_fail_hint("device %d has %d bytes per block at most", kernel->object.device, most);
    return acu_fail_on(call, kernel, ACU_ERROR_LIMIT,
                       "%zu bytes of dynamic shared memory: %s may have %d", shared, kernel->name,
                       __atomic_load_n(&kernel->max_shared, __ATOMIC_RELAXED));
}

/* ---- attributes ---- */

/* Adds an attribute and returns its value, which the caller fills in. There is room for all
 * attributes of a grid but the raw ones. */
static cudaLaunchAttributeValue *add(acu_prepared_launch *p, cudaLaunchAttributeID id) {
    cudaLaunchAttribute *attribute = &p->attributes[p->attribute_count++];
    *attribute = (cudaLaunchAttribute){.id = id};
    return &attribute->val;
}

static int add_event(const char *call, acu_prepared_launch *p, acu_event *event,
                     cudaLaunchAttributeID id, bool at_start) {
    if (!acu_is(event, &acu_event_class))
        return acu_object_refuse(call, event, &acu_event_class);
    if (event->object.device != p->kernel->object.device)
        return acu_fail_on(call, p->kernel, ACU_ERROR_DEVICE,
                           "the event is on device %d, the kernel on device %d",
                           event->object.device, p->kernel->object.device);
    if (event->owned && event->timed)
        return acu_fail_on(
            call, p->kernel, ACU_ERROR_STATE,
            "an event that a kernel records must be made with ACU_EVENT_DISABLE_TIMING");
    cudaLaunchAttributeValue *value = add(p, id);
    if (id == cudaLaunchAttributeProgrammaticEvent) {
        value->programmaticEvent.event = event->raw;
        value->programmaticEvent.triggerAtBlockStart = at_start;
    } else {
        value->launchCompletionEvent.event = event->raw;
    }
    p->events[p->event_count++] = event;
    return 0;
}

static bool is_given(const acu_size3 *size) {
    return size->x || size->y || size->z;
}

static int add_cluster(const char *call, const acu_grid *grid, acu_prepared_launch *p) {
    const acu_kernel *kernel = p->kernel;
    const acu_size3 c = {at_least_one(grid->cluster.x), at_least_one(grid->cluster.y),
                         at_least_one(grid->cluster.z)};
    if (kernel->limits.clusters == 0)
        return acu_fail_on(call, kernel, ACU_NOT_SUPPORTED,
                           "device %d has no clusters, which come with compute capability 9.0",
                           kernel->object.device);
    if (p->blocks.x % c.x || p->blocks.y % c.y || p->blocks.z % c.z)
        return acu_fail_on(call, kernel, ACU_ERROR_ARGUMENT,
                           "%u x %u x %u blocks cannot be divided into clusters of %zu x %zu x %zu",
                           p->blocks.x, p->blocks.y, p->blocks.z, c.x, c.y, c.z);
    cudaLaunchAttributeValue *value = add(p, cudaLaunchAttributeClusterDimension);
    value->clusterDim.x = (unsigned)c.x;
    value->clusterDim.y = (unsigned)c.y;
    value->clusterDim.z = (unsigned)c.z;
    if (!is_given(&grid->preferred_cluster))
        return 0;
    value = add(p, cudaLaunchAttributePreferredClusterDimension);
    value->preferredClusterDim.x = (unsigned)at_least_one(grid->preferred_cluster.x);
    value->preferredClusterDim.y = (unsigned)at_least_one(grid->preferred_cluster.y);
    value->preferredClusterDim.z = (unsigned)at_least_one(grid->preferred_cluster.z);
    return 0;
}

static void add_window(acu_prepared_launch *p, const acu_access_window *window) {
    add(p, cudaLaunchAttributeAccessPolicyWindow)->accessPolicyWindow =
        (struct cudaAccessPolicyWindow){
            .base_ptr = window->pointer,
            .num_bytes = window->bytes,
            .hitRatio = window->hit_ratio,
            .hitProp = (enum cudaAccessProperty)window->hit,
            .missProp = (enum cudaAccessProperty)window->miss,
    };
}

static int add_more(const char *call, const acu_grid_more *more, acu_prepared_launch *p) {
    if ((unsigned)more->clusters > ACU_PORTABILITY_NOT_NEEDED ||
        (unsigned)more->shared_memory > ACU_PORTABILITY_PREFER_OVERSIZED)
        return acu_fail_on(call, p->kernel, ACU_ERROR_ARGUMENT,
                           "'clusters' is %d, and can be 0 to 2; 'shared_memory' is %d, and can be "
                           "0 to 4",
                           (int)more->clusters, (int)more->shared_memory);
    if (more->carveout < -1 || more->carveout > 100)
        return acu_fail_on(call, p->kernel, ACU_ERROR_ARGUMENT,
                           "'carveout' is %d, but percent are -1 (none) to 100", more->carveout);
    if (more->memory_domains)
        add(p, cudaLaunchAttributeMemSyncDomainMap)->memSyncDomainMap =
            (cudaLaunchMemSyncDomainMap){.default_ = more->memory_domains->local,
                                         .remote = more->memory_domains->remote};
    if (more->carveout)
        add(p, cudaLaunchAttributePreferredSharedMemoryCarveout)->sharedMemCarveout =
            more->carveout > 0 ? (unsigned)more->carveout : 0;
    if (more->nvlink_centric)
        add(p, cudaLaunchAttributeNvlinkUtilCentricScheduling)->nvlinkUtilCentricScheduling = 1;
    if (more->clusters)
        add(p, cudaLaunchAttributePortableClusterSizeMode)->portableClusterSizeMode =
            (cudaLaunchAttributePortableClusterMode)more->clusters;
    if (more->shared_memory)
        add(p, cudaLaunchAttributeSharedMemoryMode)->sharedMemoryMode =
            (cudaSharedMemoryMode)more->shared_memory;
    return 0;
}

static int add_raw(const char *call, const acu_grid *grid, acu_prepared_launch *p) {
    unsigned left = ACU_LAUNCH_MAX_ATTRIBUTES - p->attribute_count;
    if (grid->raw_count > left || (grid->raw_count && !grid->raw))
        return acu_fail_on(call, p->kernel, ACU_ERROR_ARGUMENT,
                           grid->raw ? "'raw' has %u attributes, but there is room for %u"
                                     : "'raw' is NULL, but 'raw_count' is %u",
                           grid->raw_count, left);
    for (unsigned i = 0; i < grid->raw_count; i++)
        p->attributes[p->attribute_count++] = grid->raw[i];
    return 0;
}

/* Checks what needs neither CUDA nor the device. */
static int check_attributes(const char *call, const acu_grid *grid, const acu_prepared_launch *p) {
    if (is_given(&grid->preferred_cluster) && !is_given(&grid->cluster))
        return acu_fail_on(call, p->kernel, ACU_ERROR_ARGUMENT,
                           "'preferred_cluster' is set, but 'cluster' is not");
    if (grid->at_start && !grid->programmatic_event)
        return acu_fail_on(call, p->kernel, ACU_ERROR_ARGUMENT,
                           "'at_start' is set, but 'programmatic_event' is not");
    if (grid->memory_domain > cudaLaunchMemSyncDomainRemote)
        return acu_fail_on(call, p->kernel, ACU_ERROR_ARGUMENT,
                           "there is no memory domain %u: 0 is the default one, 1 the remote one",
                           grid->memory_domain);
    if (grid->cluster_scheduling > cudaClusterSchedulingPolicyLoadBalancing)
        return acu_fail_on(call, p->kernel, ACU_ERROR_ARGUMENT,
                           "there is no cluster scheduling %u: 1 spreads, 2 balances",
                           grid->cluster_scheduling);
    return 0;
}

/* Adds all attributes. `cooperative` comes first: where it is the only one, runtimes of any age
 * have a function for it. */
ACU_COLD static int add_attributes(const char *call, const acu_grid *grid, acu_prepared_launch *p) {
    int code = check_attributes(call, grid, p);
    if (code)
        return code;
    p->cooperative = grid->cooperative;
    if (grid->cooperative && p->kernel->limits.cooperative == 0)
        return acu_fail_on(call, p->kernel, ACU_NOT_SUPPORTED,
                           "device %d cannot launch cooperatively", p->kernel->object.device);
    if (grid->cooperative)
        add(p, cudaLaunchAttributeCooperative)->cooperative = 1;
    if (grid->priority)
        add(p, cudaLaunchAttributePriority)->priority = grid->priority;
    if (is_given(&grid->cluster))
        code = add_cluster(call, grid, p);
    if (grid->cluster_scheduling)
        add(p, cudaLaunchAttributeClusterSchedulingPolicyPreference)
            ->clusterSchedulingPolicyPreference =
            (enum cudaClusterSchedulingPolicy)grid->cluster_scheduling;
    if (grid->programmatic)
        add(p, cudaLaunchAttributeProgrammaticStreamSerialization)
            ->programmaticStreamSerializationAllowed = 1;
    if (grid->programmatic_event && !code)
        code = add_event(call, p, grid->programmatic_event, cudaLaunchAttributeProgrammaticEvent,
                         grid->at_start);
    if (grid->begun_event && !code)
        code =
            add_event(call, p, grid->begun_event, cudaLaunchAttributeLaunchCompletionEvent, false);
    if (grid->memory_domain)
        add(p, cudaLaunchAttributeMemSyncDomain)->memSyncDomain =
            (cudaLaunchMemSyncDomain)grid->memory_domain;
    if (grid->window)
        add_window(p, grid->window);
    if (grid->more && !code)
        code = add_more(call, grid->more, p);
    return code ? code : add_raw(call, grid, p);
}

/* Clears all fields but the arrays, which are large and have counts. */
static inline void clear(acu_prepared_launch *p, acu_kernel *kernel) {
    p->kernel = kernel;
    p->blocks = p->threads = (dim3){1, 1, 1};
    p->shared_bytes = 0;
    p->cooperative = false;
    p->attribute_count = p->use_count = p->event_count = p->image_count = 0;
}

ACU_INLINED int prepare_grid(const char *call, acu_kernel *kernel, const acu_grid *grid,
                             acu_prepared_launch *p) {
    int code = 0;
    clear(p, kernel);
    if (!acu_is(kernel, &acu_kernel_class))
        return acu_object_refuse(call, kernel, &acu_kernel_class);
    if (!grid)
        return acu_fail_on(call, kernel, ACU_ERROR_ARGUMENT, "'grid' is NULL");
    if (!ACU_LIKELY(fill_dim(&grid->blocks, kernel->most_blocks, &p->blocks)))
        return refuse_dim(call, kernel, "blocks", &grid->blocks, kernel->most_blocks);
    if (!ACU_LIKELY(fill_dim(&grid->threads, kernel->most_threads, &p->threads)))
        return refuse_dim(call, kernel, "threads", &grid->threads, kernel->most_threads);
    if (!ACU_LIKELY(threads_of(p) <= (size_t)kernel->max_threads))
        return refuse_threads(call, kernel, threads_of(p));
    if (!ACU_LIKELY(has_room(kernel, grid->shared_bytes)))
        code = look_for_room(call, kernel, grid->shared_bytes);
    p->shared_bytes = (unsigned)grid->shared_bytes;
    if (!code && !ACU_LIKELY(acu_grid_has_no_attributes(grid)))
        code = add_attributes(call, grid, p);
    if (!code && __atomic_load_n(&kernel->cluster_needed, __ATOMIC_RELAXED) &&
        !is_given(&grid->cluster))
        code = acu_fail_on(call, kernel, ACU_ERROR_ARGUMENT,
                           "%s needs the size of its clusters: grid.cluster", kernel->name);
    return code;
}

int acu_launch_prepare_grid(const char *call, acu_kernel *kernel, const acu_grid *grid,
                            acu_prepared_launch *p) {
    return prepare_grid(call, kernel, grid, p);
}

/* ---- arguments ---- */

static const char *const kind_names[] = {
    [ACU_ARG_SIGNED] = "a signed integer",
    [ACU_ARG_UNSIGNED] = "an unsigned integer",
    [ACU_ARG_WORD] = "an unsigned integer",
    [ACU_ARG_FLOAT] = "a floating-point number",
    [ACU_ARG_ADDRESS] = "a pointer",
    [ACU_ARG_IN] = "a buffer",
    [ACU_ARG_OUT] = "a buffer",
    [ACU_ARG_INOUT] = "a buffer",
    [ACU_ARG_TEXTURE] = "a texture",
    [ACU_ARG_SURFACE] = "a surface",
    [ACU_ARG_SURFACE_IN] = "a surface",
    [ACU_ARG_TENSOR_IN] = "a tensor map",
    [ACU_ARG_TENSOR_OUT] = "a tensor map",
    [ACU_ARG_TENSOR_INOUT] = "a tensor map",
    [ACU_ARG_BYTES] = "bytes",
};
static const char *const type_names[] = {
    [ACU_PARAMETER_ANY] = "anything",
    [ACU_PARAMETER_INTEGER] = "an integer",
    [ACU_PARAMETER_FLOAT] = "a floating-point number",
    [ACU_PARAMETER_POINTER] = "a pointer",
    [ACU_PARAMETER_RECORD] = "a struct",
};

/* The kinds of arguments that a type of parameter accepts, as bits. */
#define KIND(kind) (1u << (unsigned)(kind))
#define NUMBERS    (KIND(ACU_ARG_SIGNED) | KIND(ACU_ARG_UNSIGNED) | KIND(ACU_ARG_WORD))
#define BUFFERS    (KIND(ACU_ARG_IN) | KIND(ACU_ARG_OUT) | KIND(ACU_ARG_INOUT))
#define OBJECTS    (KIND(ACU_ARG_TEXTURE) | KIND(ACU_ARG_SURFACE) | KIND(ACU_ARG_SURFACE_IN))
#define TENSORS    (KIND(ACU_ARG_TENSOR_IN) | KIND(ACU_ARG_TENSOR_OUT) | KIND(ACU_ARG_TENSOR_INOUT))
#define IMAGES     (OBJECTS | TENSORS)
#define ADDRESSES  (BUFFERS | KIND(ACU_ARG_ADDRESS) | KIND(ACU_ARG_WORD))
#define BYTES      KIND(ACU_ARG_BYTES)
static const unsigned takes[] = {
    [ACU_PARAMETER_ANY] = ~0u,
    [ACU_PARAMETER_INTEGER] = NUMBERS | BUFFERS | OBJECTS | KIND(ACU_ARG_ADDRESS) | BYTES,
    [ACU_PARAMETER_FLOAT] = KIND(ACU_ARG_FLOAT) | BYTES,
    [ACU_PARAMETER_POINTER] = ADDRESSES | BYTES,
    [ACU_PARAMETER_RECORD] = ~0u,
};

unsigned acu_launch_kinds(acu_parameter_type type) {
    return takes[type];
}

static int refuse_type(const char *call, const acu_kernel *kernel, size_t i, const acu_arg *arg) {
    acu_parameter_type type = kernel->parameters[i].type;
    if (type == ACU_PARAMETER_POINTER)
        acu_fail_hint(
            "check the order of the arguments; cast an address in an integer to (void *)");
    else
        acu_fail_hint("check the order of the arguments, or cast this one to the type of the "
                      "kernel's parameter");
    return acu_fail_on(call, kernel, ACU_ERROR_DTYPE,
                       "argument %zu of %s is %s, but the kernel takes %s", i, kernel->name,
                       kind_names[arg->kind], type_names[type]);
}

static int refuse_size(const char *call, const acu_kernel *kernel, size_t i, const acu_arg *arg) {
    if (arg->kind == ACU_ARG_FLOAT || arg->kind <= ACU_ARG_WORD)
        acu_fail_hint("cast the argument to the type of the kernel's parameter");
    return acu_fail_on(call, kernel, ACU_ERROR_ARGUMENT,
                       "argument %zu of %s is %s of %u bytes, but the kernel takes %zu bytes", i,
                       kernel->name, kind_names[arg->kind], arg->size, kernel->parameters[i].size);
}

static int refuse_count(const char *call, const acu_kernel *kernel, size_t given) {
    return acu_fail_on(call, kernel, ACU_ERROR_ARGUMENT,
                       "%s takes %zu arguments, but %zu are given", kernel->name, kernel->count,
                       given);
}

/* Returns whether the buffer is in another device's memory. */
static bool is_elsewhere(const acu_kernel *kernel, const acu_buffer *buffer) {
    return buffer->object.device != kernel->object.device && acu_buffer_is_device_memory(buffer);
}

/* Returns whether it is in another device's memory, to which the kernel's has no such access. */
static inline bool is_out_of_reach(const acu_kernel *kernel, const acu_buffer *buffer,
                                   bool writes) {
    return !ACU_LIKELY(!is_elsewhere(kernel, buffer)) &&
           !acu_storage_is_open_to(buffer->storage, kernel->object.device, writes);
}

/* A program without textures or tensor maps does not link their classes; then no handle is of
 * them. */
const acu_class *acu_arg_class(const acu_arg *arg) {
    static const acu_class texture = {"texture", NULL, NULL, NULL},
                           surface = {"surface", NULL, NULL, NULL},
                           tensor = {"tensor map", NULL, NULL, NULL};
    if (KIND(arg->kind) & BUFFERS)
        return &acu_buffer_class;
    if (arg->kind == ACU_ARG_TEXTURE)
        return &acu_texture_class ? &acu_texture_class : &texture;
    if (KIND(arg->kind) & TENSORS)
        return &acu_tensor_map_class ? &acu_tensor_map_class : &tensor;
    if (KIND(arg->kind) & IMAGES)
        return &acu_surface_class ? &acu_surface_class : &surface;
    return NULL;
}

static int refuse_handle(const char *call, const acu_kernel *kernel, size_t i, const acu_arg *arg) {
    const acu_object *object = arg->value.pointer;
    const acu_class *kind = acu_arg_class(arg);
    if (!acu_is(object, kind)) {
        acu_fail_hint("the %s is argument %zu of %s", kind->name, i, kernel->name);
        return acu_object_refuse(call, object, kind);
    }
    if ((KIND(arg->kind) & BUFFERS) && arg->value.buffer->storage->access_of)
        acu_fail_hint("acu_virtual_set_access() lets a device read, or read and write, the range");
    else if (KIND(arg->kind) & BUFFERS)
        acu_fail_hint(
            "where peer access is enabled, pass acu_buffer_raw() and order the streams yourself");
    return acu_fail_on(call, kernel, ACU_ERROR_DEVICE,
                       "argument %zu of %s is %s on device %d, the kernel is on device %d", i,
                       kernel->name, kind_names[arg->kind], object->device, kernel->object.device);
}

static bool fits(const acu_kernel *kernel, size_t i, const acu_arg *arg) {
    if (kernel->check == ACU_CHECK_NOTHING)
        return true;
    const acu_accepted *accepted = &kernel->accepted[i];
    return arg->size == accepted->size && (accepted->kinds & KIND(arg->kind));
}

ACU_COLD static int refuse_argument(const char *call, const acu_kernel *kernel, size_t i,
                                    const acu_arg *arg) {
    if (arg->kind >= ACU_ARG_BLOCK_IN && arg->kind <= ACU_ARG_BLOCK_INOUT)
        return acu_fail_on(call, kernel, ACU_ERROR_ARGUMENT,
                           "argument %zu is a block, which acu_run() takes", i);
    if (arg->kind > ACU_ARG_BYTES)
        return acu_fail_on(call, kernel, ACU_ERROR_ARGUMENT,
                           "argument %zu is invalid: make arguments by acu_arg_of(), acu_in() …",
                           i);
    if (!fits(kernel, i, arg))
        return arg->size != kernel->parameters[i].size ? refuse_size(call, kernel, i, arg)
                                                       : refuse_type(call, kernel, i, arg);
    if (acu_arg_class(arg))
        return refuse_handle(call, kernel, i, arg);
    return acu_fail_on(call, kernel, ACU_ERROR_ARGUMENT,
                       "argument %zu is NULL: acu_bytes() needs the address of the bytes", i);
}

/* Adds a texture, a surface or a tensor map; false if it must be refused. */
__attribute__((noinline)) static bool add_image(acu_prepared_launch *p, size_t i,
                                                const acu_arg *arg) {
    acu_image *image = (acu_image *)(uintptr_t)arg->value.pointer;
    if (!acu_is(image, acu_arg_class(arg)) || is_elsewhere(p->kernel, image->memory))
        return false;
    const bool is_tensor = (KIND(arg->kind) & TENSORS) != 0;
    p->params[i] = is_tensor ? ((acu_tensor_map *)image)->raw : (void *)&image->raw;
    p->images[p->image_count++] = image;
    p->uses[p->use_count].buffer = image->memory;
    p->uses[p->use_count++].writes =
        is_tensor ? arg->kind != ACU_ARG_TENSOR_IN : arg->kind == ACU_ARG_SURFACE;
    return true;
}

/* Adds an argument; false if it must be refused. */
static inline bool add_argument(acu_prepared_launch *p, size_t i, const acu_arg *arg) {
    if (arg->kind > ACU_ARG_BYTES || !fits(p->kernel, i, arg))
        return false;
    if (KIND(arg->kind) & BUFFERS) {
        acu_buffer *buffer = arg->value.buffer;
        if (!acu_is(buffer, &acu_buffer_class) ||
            is_out_of_reach(p->kernel, buffer, arg->kind != ACU_ARG_IN))
            return false;
        p->params[i] = &buffer->pointer;
        p->uses[p->use_count].buffer = buffer;
        p->uses[p->use_count++].writes = arg->kind != ACU_ARG_IN;
        return true;
    }
    if (!ACU_LIKELY((KIND(arg->kind) & IMAGES) == 0))
        return add_image(p, i, arg);
    p->params[i] = arg->kind == ACU_ARG_BYTES ? (void *)arg->value.pointer : (void *)&arg->value;
    return p->params[i] != NULL;
}

ACU_INLINED int prepare(const char *call, acu_kernel *kernel, const acu_grid *grid,
                        const acu_arg *args, size_t count, acu_prepared_launch *p) {
    int code = prepare_grid(call, kernel, grid, p);
    if (code)
        return code;
    if (kernel->check != ACU_CHECK_NOTHING && count != kernel->count)
        return refuse_count(call, kernel, count);
    if (count > ACU_MAX_ARGUMENTS || (count && !args))
        return acu_fail_on(call, kernel, ACU_ERROR_ARGUMENT,
                           args ? "there are %zu arguments, but there can be %d"
                                : "'args' is NULL, but there are %zu arguments",
                           count, ACU_MAX_ARGUMENTS);
    for (size_t i = 0; i < count; i++)
        if (!ACU_LIKELY(add_argument(p, i, &args[i])))
            return refuse_argument(call, kernel, i, &args[i]);
    p->params[count] = NULL;
    return 0;
}

int acu_launch_prepare(const char *call, acu_kernel *kernel, const acu_grid *grid,
                       const acu_arg *args, size_t count, acu_prepared_launch *p) {
    return prepare(call, kernel, grid, args, count, p);
}

/* ---- CUDA's refusals ---- */

/* Adds to the record how many blocks would fit, where CUDA refused a cooperative launch. Returns
 * the code. */
ACU_COLD static int explain(const acu_prepared_launch *p, const acu_stream *stream, int code) {
    char before[400];
    size_t threads = threads_of(p), fit = 0;
    const acu_execution_context *part = (const acu_execution_context *)stream->context;
    if (code != cudaErrorCooperativeLaunchTooLarge)
        return code;
    snprintf(before, sizeof before, "%s", acu_last_error_message());
    if (acu_kernel_count_resident(p->kernel, (int)threads, p->shared_bytes,
                                  part ? part->multiprocessors : 0, &fit))
        return acu_record(code, "%s", before);
    return acu_record(code, "%s; %zu blocks of %zu threads and %u bytes run at once, not %zu",
                      before, fit, threads, p->shared_bytes,
                      (size_t)p->blocks.x * p->blocks.y * p->blocks.z);
}

static void hint_at_refusal(const acu_prepared_launch *p, int code) {
    for (unsigned i = 0; code == cudaErrorInvalidValue && i < p->attribute_count; i++)
        acu_stream_hint_at(p->kernel->object.device, &p->attributes[i]);
    if (code == cudaErrorCooperativeLaunchTooLarge)
        acu_fail_hint(
            "use fewer blocks: acu_kernel_get_blocks_per_multiprocessor() returns how many fit");
    else if (code == cudaErrorInvalidClusterSize)
        acu_fail_hint(
            "clusters of more than 8 blocks need acu_kernel_set_attribute(kernel, "
            "ACU_KERNEL_BIG_CLUSTERS, 1); acu_kernel_get_max_cluster_size() returns what fits");
    else if (code == cudaErrorLaunchOutOfResources)
        acu_fail_hint("use smaller blocks: %s takes %d registers per thread", p->kernel->name,
                      p->kernel->registers);
}

/* ---- on a stream ---- */

/* Begins the uses and counts them, up to one that fails. */
static int begin_uses(acu_prepared_launch *p, acu_stream *stream, unsigned *begun) {
    int code = 0;
    for (*begun = 0; *begun < p->use_count && !code; *begun += code == 0) {
        acu_launch_use *use = &p->uses[*begun];
        code = acu_storage_begin_use(use->buffer->storage, stream, use->writes, &use->version);
    }
    return code;
}

/* Ends the uses that have begun. Returns the first failure, which may be `code`. */
static int end_uses(const acu_prepared_launch *p, acu_stream *stream, unsigned begun, int code) {
    for (unsigned i = 0; i < begun; i++) {
        const acu_launch_use *use = &p->uses[i];
        int ended = acu_storage_end_use(use->buffer->storage, stream, use->writes, use->version);
        code = code ? code : ended;
    }
    return code;
}

void acu_launch_record(acu_kernel *kernel, acu_timeline *timeline) {
    if (kernel->module && acu_module_record_use(kernel->module, timeline))
        __atomic_store_n(&kernel->recorded, timeline, __ATOMIC_RELAXED);
}

static inline void record_use(acu_kernel *kernel, acu_timeline *timeline) {
    if (!ACU_LIKELY(__atomic_load_n(&kernel->recorded, __ATOMIC_RELAXED) == timeline))
        acu_launch_record(kernel, timeline);
}

/* Records the coming launch in the stream's capture, which keeps kernel, events and textures alive,
 * or in the module, which is not unloaded before the kernel has ended. */
static int record_launch(const acu_prepared_launch *p, acu_stream *stream) {
    acu_capture *capture = acu_capture_of(stream);
    if (capture) {
        int code = capture->use(capture, &p->kernel->object, false);
        for (unsigned i = 0; i < p->event_count && !code; i++)
            code = capture->use(capture, &p->events[i]->object, false);
        for (unsigned i = 0; i < p->image_count && !code; i++)
            code = capture->use(capture, &p->images[i]->object, false);
        return code;
    }
    record_use(p->kernel, stream->timeline);
    return 0;
}

/* Lets the grid's events stand for work on the stream. */
static void record_events(const acu_prepared_launch *p, const acu_stream *stream) {
    for (unsigned i = 0; i < p->event_count && i < ACU_LAUNCH_MAX_EVENTS; i++) {
        __atomic_store_n(&p->events[i]->recorded, true, __ATOMIC_RELAXED);
        if (acu_is_shared(&stream->shared))
            acu_mark_shared(&p->events[i]->shared);
    }
}

int acu_launch_prepared(acu_prepared_launch *p, acu_stream *stream) {
    unsigned begun = 0;
    int code = record_launch(p, stream);
    if (!code)
        code = begin_uses(p, stream, &begun);
    if (!code)
        code = p->kernel->launch(p, stream);
    if (!ACU_LIKELY(code == 0))
        code = explain(p, stream, code);
    else if (p->event_count > 0)
        record_events(p, stream);
    return end_uses(p, stream, begun, code);
}

/* Returns whether the stream alone has used all memory of the launch. */
static inline bool is_only_on(const acu_prepared_launch *p, const acu_stream *stream) {
    for (unsigned i = 0; i < p->use_count; i++)
        if (!acu_storage_is_only_on(p->uses[i].buffer->storage, stream->timeline))
            return false;
    return true;
}

/* Ends uses of which only the beginning is known: no other stream had used the memory. */
ACU_COLD static int finish(acu_prepared_launch *p, acu_stream *stream, int code) {
    for (unsigned i = 0; i < p->use_count; i++)
        p->uses[i].version = 0;
    return end_uses(p, stream, p->use_count, code ? explain(p, stream, code) : 0);
}

/* Does the same as acu_launch_prepared() where the stream alone uses the memory, with one look at
 * each buffer before and after, and with one number for all uses. */
static inline int launch_prepared(acu_prepared_launch *p, acu_stream *stream) {
    if (!ACU_LIKELY(!acu_capture_of(stream) && p->event_count == 0 && is_only_on(p, stream)))
        return acu_launch_prepared(p, stream);
    record_use(p->kernel, stream->timeline);
    int code = p->kernel->launch(p, stream);
    (void)acu_timeline_issue(stream->timeline);
    return ACU_LIKELY(code == 0 && is_only_on(p, stream)) ? 0 : finish(p, stream, code);
}

int acu_launch_checked(acu_stream *stream, acu_kernel *kernel, const acu_grid *grid,
                       const acu_arg *args, size_t count) {
    ACU_SCOPE_OF(launch_name);
    acu_prepared_launch p;
    ACU_TRY(acu_stream_check(launch_name, stream));
    ACU_TRY(prepare(launch_name, kernel, grid, args, count, &p));
    if (stream->object.device != kernel->object.device)
        return acu_fail_on(launch_name, kernel, ACU_ERROR_DEVICE,
                           "the stream is on device %d, %s on device %d", stream->object.device,
                           kernel->name, kernel->object.device);
    int code = launch_prepared(&p, stream);
    if (ACU_LIKELY(code == 0))
        return 0;
    hint_at_refusal(&p, code);
    return acu_outcome(launch_name, kernel, code);
}

/* ---- in a graph ---- */

size_t acu_launch_objects(const acu_prepared_launch *p,
                          acu_object_use kept[ACU_LAUNCH_MAX_OBJECTS]) {
    size_t count = 0;
    kept[count++] = (acu_object_use){&p->kernel->object, false};
    for (unsigned i = 0; i < p->use_count; i++)
        kept[count++] = (acu_object_use){&p->uses[i].buffer->storage->object, p->uses[i].writes};
    for (unsigned i = 0; i < p->event_count; i++)
        kept[count++] = (acu_object_use){&p->events[i]->object, false};
    for (unsigned i = 0; i < p->image_count; i++)
        kept[count++] = (acu_object_use){&p->images[i]->object, false};
    return count;
}

/* Calls the API where the kernel is loaded. */
#define AT_KERNEL(p, code, call)                                                                   \
    do {                                                                                           \
        acu_code_guard guard;                                                                      \
        (code) = (p)->kernel->api->enter(&(p)->kernel->place, &guard);                             \
        if (!(code))                                                                               \
            (code) = (p)->kernel->api->call;                                                       \
        (p)->kernel->api->leave(&guard);                                                           \
    } while (0)

int acu_launch_add_node(const acu_prepared_launch *p, cudaGraph_t graph,
                        const cudaGraphNode_t *after, size_t count, cudaGraphNode_t *node) {
    int code = 0;
    *node = NULL;
    AT_KERNEL(p, code, add_node(p, graph, after, count, node));
    if (code && *node) { /* CUDA has added the node, but its attributes could not be set */
        (void)cudaGraphDestroyNode(*node);
        *node = NULL;
    }
    return code;
}

int acu_launch_set_node(const acu_prepared_launch *p, cudaGraphNode_t node) {
    int code = 0;
    AT_KERNEL(p, code, set_node(p, node));
    return code;
}

int acu_launch_set_exec_node(const acu_prepared_launch *p, cudaGraphExec_t exec,
                             cudaGraphNode_t node) {
    int code = 0;
    AT_KERNEL(p, code, set_exec_node(p, exec, node));
    return code;
}
