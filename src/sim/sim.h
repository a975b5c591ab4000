/*
 * What the parts of the simulator share.
 *
 * One lock guards all state but the bytes of memory; it is held from acu_sim_enter() to
 * acu_sim_leave(), and while waiting given up. Work on streams is done outside it, by one thread
 * per stream, and one per device for the host functions that may not wait. An operation is
 * reference-counted: an event, and whoever waits, points at the operation.
 */
#ifndef ACU_SIM_SIM_H
#define ACU_SIM_SIM_H

#include <anycuda/cudart.h>

/* In the shared library the functions have CUDA's names, and can be seen. */
#if defined(ACU_SIM_SHARED)
#define SIM_SYMBOL(symbol) __asm__(symbol) __attribute__((visibility("default")))
#pragma GCC visibility push(default)
#else
#define SIM_SYMBOL(symbol)
#endif
#include <anycuda/sim.h>
#if defined(ACU_SIM_SHARED)
#pragma GCC visibility pop
#endif

#include "cuda_abi.h"
#include "cudart_abi.h"
#include "core/abi.h"

#include <pthread.h>

/* The signatures come from the generated header, so that no definition can differ from it. */
#define SIM(name) extern __typeof__(*acu_slot_##name) acu_sim_##name SIM_SYMBOL(#name);
#define SIM_PTDS(name, suffix)                                                                     \
    SIM(name)                                                                                      \
    extern __typeof__(*acu_slot_##name) acu_sim_##name##_##suffix SIM_SYMBOL(#name "_" #suffix);
#include "sim/entry/functions.h"
#undef SIM
#undef SIM_PTDS

enum { SIM_DEVICES = 64, SIM_PUSHED = 64 };

typedef struct acu_sim_stream acu_sim_stream;
typedef struct acu_sim_event acu_sim_event;
typedef struct acu_sim_pool acu_sim_pool;
typedef struct acu_sim_op acu_sim_op;
typedef struct acu_sim_range acu_sim_range;
typedef struct acu_sim_device acu_sim_device;
typedef struct acu_sim_execution_context acu_sim_execution_context;
typedef struct acu_sim_function acu_sim_function;
typedef struct acu_sim_prepared acu_sim_prepared;
typedef struct acu_sim_capture acu_sim_capture;
typedef struct acu_sim_flight acu_sim_flight;
typedef struct acu_sim_node acu_sim_node;
typedef struct acu_sim_graph acu_sim_graph;
typedef struct acu_sim_allocation acu_sim_allocation;
typedef struct acu_sim_user_object acu_sim_user_object;
typedef struct acu_sim_context acu_sim_context;
typedef struct acu_sim_batch acu_sim_batch;
typedef struct acu_sim_values acu_sim_values;
typedef struct acu_sim_semaphores acu_sim_semaphores;
typedef struct acu_sim_external acu_sim_external;

/* ---- configuration ------------------------------------------------------------------------------
 */

typedef struct acu_sim_config {
    int devices;
    uint64_t memory; /* per device */
    int cc;          /* 90 */
    int runtime, driver;
    bool leaks;
    bool guard;
    bool seeded;
    uint64_t seed;
} acu_sim_config;

/* Reads ANYCUDA_SIM at the first call. Under the lock. */
const acu_sim_config *acu_sim_configuration(void);

/* ---- one API call -------------------------------------------------------------------------------
 */

/* What a call needs, each including those before it. */
typedef enum acu_sim_need {
    SIM_NEEDS_NOTHING, /* works without driver and device */
    SIM_NEEDS_DRIVER,
    SIM_NEEDS_A_CONTEXT, /* makes the current device's, which may be lost */
    SIM_NEEDS_CONTEXT,   /* reports its sticky error */
} acu_sim_need;

/*
 * Takes the lock; tells why the call cannot be made, cudaSuccess if it can. Every call that entered
 * leaves, whatever enter said. `device`: the thread's current one, may be NULL.
 */
cudaError_t acu_sim_enter(acu_sim_need need, acu_sim_device **device);
/* Whether the driver is new enough for the function of its own that a call needs. */
cudaError_t acu_sim_driver_has(const acu_function *function);
/* Enters a call that says so before it looks at anything else. */
cudaError_t acu_sim_enter_newer(const acu_function *function);
/* A mistake of the program's, for those that CUDA tells before it looks at the context. */
cudaError_t acu_sim_mistake(cudaError_t result, bool mistaken, cudaError_t code);
/* Gives the lock up and makes the result the thread's last error, if it is one; returns it. */
cudaError_t acu_sim_leave(cudaError_t result);
/*
 * The same for a call of the driver, which activates nothing: it needs a context that somebody
 * made current. It leaves no error behind. SIM_NEEDS_DRIVER means cuInit().
 */
cudaError_t acu_sim_enter_driver(acu_sim_need need, acu_sim_device **device);
void acu_sim_leave_driver(void);
/* Why not, for the driver's calls that wait without a context: a host function must not, which they
 * would wait for. The others have asked that when they entered. */
cudaError_t acu_sim_may_wait(void);
/* What cuInit() does. */
void acu_sim_init(void);

/* A context, or a device that is only chosen, where it is not bound. */
typedef struct acu_sim_current {
    int device;
    bool bound;
    acu_sim_context *context; /* NULL: the device's own context */
} acu_sim_current;

/* What belongs to a thread. */
typedef struct acu_sim_thread {
    int device;
    cudaError_t last;
    bool in_callback;                /* a host function runs: it must not call CUDA */
    bool by_driver;                  /* a call of the driver is under way: it leaves no error */
    const void *caller;              /* whose it is */
    bool own_default;                /* no stream means the thread's own */
    uint64_t era;                    /* acu_sim_reset() begins a new one */
    uint64_t id;                     /* no other thread has had it */
    enum cudaStreamCaptureMode mode; /* how it bears the captures of others */
    const acu_sim_graph *graph;      /* whose launch it does; NULL: none's */
    /* A context is current: the device's own, or one that was made; and those below it, pushed. */
    bool bound;
    acu_sim_context *context; /* NULL: not one that was made */
    acu_sim_current pushed[SIM_PUSHED];
    int pushed_count;
    /* Its own default stream that it used last; gone if there is no such stream, or one with
     * another id. */
    acu_sim_stream *own;
    unsigned long long own_id;
} acu_sim_thread;
acu_sim_thread *acu_sim_self(void);

extern pthread_mutex_t acu_sim_lock;
/* Exit has begun: nothing is started any more. */
bool acu_sim_is_unloading(void);

/* The value is in the table and not newer than the runtime, or the driver that is being called. */
bool acu_sim_knows(const acu_type *type, int64_t value);

/* A set of pointers: which handles are alive. Zero-initialised is empty. */
typedef struct acu_sim_set {
    const void **slots;
    size_t count, room; /* room: a power of two */
} acu_sim_set;
bool acu_sim_set_add(acu_sim_set *set, const void *pointer);
bool acu_sim_set_has(const acu_sim_set *set, const void *pointer);
void acu_sim_set_remove(acu_sim_set *set, const void *pointer);
void acu_sim_set_clear(acu_sim_set *set);

/* ---- devices ------------------------------------------------------------------------------------
 */

/*
 * A context of the driver's: a device's own, or one that the program made. What is made while it is
 * current is its own, and goes with it.
 */
struct acu_sim_context {
    acu_sim_device *device;
    bool made, ended; /* by the program; the handle of one that ended is still taken */
    unsigned flags;   /* of one that was made */
    unsigned long long id;
    size_t limits[16];
    enum cudaFuncCache cache;
    acu_sim_stream *legacy; /* its default stream */
    acu_sim_execution_context
        *whole; /* all of one that was made, once that was asked for; or NULL */
    const void *where;
    acu_sim_context *next;
};

struct acu_sim_device {
    int index;
    acu_sim_context own; /* its own context */
    bool active;         /* that is there */
    bool of_runtime;     /* the runtime holds it */
    unsigned retained;   /* how often the driver's callers do */
    cudaError_t sticky;  /* the context is lost: calls that need it say so */
    bool was_reset;
    unsigned flags;
    bool keeps_local;        /* local memory does not shrink: conditional nodes have been there */
    bool peers[SIM_DEVICES]; /* whose memory it may access */
    uint64_t used;           /* bytes of allocations and of pools' and graphs' reserves */
    uint64_t graph_used, graph_used_high, graph_reserved, graph_reserved_high;
    /* Addresses that nobody can read or write, and where their bytes are. */
    uintptr_t base;
    char *view;
    size_t span, cursor;
    acu_sim_pool *default_pool, *pool;
    struct cudaDeviceProp properties; /* once they were asked for: they have a name */
};

/* NULL if there is no such device. */
acu_sim_device *acu_sim_device_at(int index);
/* Makes its own context. */
cudaError_t acu_sim_device_activate(acu_sim_device *device);
/* Something failed on the device: all contexts of the process are lost, those of others, too, and
 * none can be made any more, on any device. */
void acu_sim_lose(acu_sim_device *device, cudaError_t why);
/* There is memory for contexts on it, and they can be made; after a fault none can. */
cudaError_t acu_sim_device_open(acu_sim_device *device);
/* Ends its own context, and takes back all that was made on it, but for what other contexts there
 * have. `for_good`: these, too, and its addresses and settings (acu_sim_reset). */
void acu_sim_device_clear(acu_sim_device *device, bool for_good);
int acu_sim_attribute(const acu_sim_device *device, enum cudaDeviceAttr attribute);
bool acu_sim_can_access(const acu_sim_device *device, int other);

/* One that was made, and has not ended. */
bool acu_sim_context_lives(const acu_sim_context *context);
/* The thread's current context; its device's own where none is current; NULL: no such device. */
acu_sim_context *acu_sim_context_now(void);
/* The same, if it is that device's; else the device's own. */
acu_sim_context *acu_sim_context_on(acu_sim_device *device);
/* Contexts of the device that were made, and have not ended. */
bool acu_sim_contexts_are_on(const acu_sim_device *device);
/* Waits for its work, and takes back what is its own. */
void acu_sim_context_drop(acu_sim_context *context);
void acu_sim_context_defaults(acu_sim_context *context);
void acu_sim_contexts_reset(const acu_sim_device *device);
int acu_sim_contexts_leaks(int print);
/* What is its own. Nothing of it is in use. */
void acu_sim_streams_drop(acu_sim_context *context);
void acu_sim_events_drop(const acu_sim_context *context);
void acu_sim_modules_drop(const acu_sim_context *context);
void acu_sim_textures_drop(const acu_sim_context *context);
void acu_sim_arrays_drop(const acu_sim_context *context);
void acu_sim_memory_drop(const acu_sim_context *context);

/* ---- memory -------------------------------------------------------------------------------------
 */

typedef enum acu_sim_memory { SIM_DEVICE, SIM_PINNED, SIM_REGISTERED, SIM_MANAGED } acu_sim_memory;

struct acu_sim_range {
    uintptr_t base;
    size_t size;
    acu_sim_memory kind;
    unsigned flags;
    acu_sim_device *device;
    acu_sim_pool *pool;             /* NULL: not from a pool */
    acu_sim_allocation *allocation; /* of a graph; NULL: not a graph's */
    char *bytes;                    /* of mapped memory: where they are; NULL: in the device's */
    uint64_t access, writes;        /* of mapped memory, a bit per device */
    const void *where;              /* the call that made it */
    acu_sim_external *external;     /* of another API, mapped; NULL: it is not */
    const acu_sim_context *context; /* in whose context */
    bool freed;                     /* freed in stream order: no longer the program's */
    bool dormant;                   /* the graph has not been there yet, or has freed it */
    bool of_module;                 /* a variable: goes with its module */
    bool damaged;                   /* that was reported */
    /* Managed memory: what was advised. Locations as {type, id}. */
    bool read_mostly, cpu_accesses;
    struct cudaMemLocation preferred, prefetched;
    uint64_t accessed_by; /* bit per device */
};

/* The range with that address, also inside; NULL if there is none that the program may use. */
acu_sim_range *acu_sim_range_of(const void *address);
/* Any range that has a byte of these. */
acu_sim_range *acu_sim_range_in(uintptr_t base, size_t size);
/* The first that ends behind the address. */
acu_sim_range *acu_sim_range_next(uintptr_t address);
/* The address is one that only devices have, allocated or not. */
bool acu_sim_is_device_address(const void *address);
/* The device's kernels may touch it. */
bool acu_sim_range_lets(const acu_sim_range *range, const acu_sim_device *device);
/* Whether it can also write it. */
bool acu_sim_range_takes(const acu_sim_range *range, const acu_sim_device *device);
/* The program's, registered so that devices only read it; NULL is not. */
bool acu_sim_is_only_read(const acu_sim_range *range);
/* Where the bytes are. */
void *acu_sim_view(const acu_sim_range *range, const void *address);
/* NULL without memory. */
acu_sim_range *acu_sim_range_new(uintptr_t base, size_t size, acu_sim_memory kind,
                                 acu_sim_device *device, const void *where);
bool acu_sim_range_add(acu_sim_range *range);
void acu_sim_range_remove(acu_sim_range *range);
/* Device memory at a new address; charges nothing. NULL if there is no room. */
acu_sim_range *acu_sim_place(acu_sim_device *device, size_t size);
/* Takes the range out and drops what is in it. */
void acu_sim_drop(acu_sim_range *range);
/* Takes part of the device's memory; false if it is not there. */
bool acu_sim_charge(acu_sim_device *device, uint64_t bytes);
/*
 * Who copies or fills, begins under the lock and ends outside it. Who gives bytes to the system
 * waits for all such first, also for those of devices and contexts whose work is not waited for;
 * none begins while the lock is held, and later ones find no memory.
 */
void acu_sim_move_begin(void);
void acu_sim_move_end(void);
void acu_sim_moves_wait(void);
size_t acu_sim_rounded(size_t size);               /* what an allocation takes */
void acu_sim_memory_reset(acu_sim_device *device); /* all of it; NULL: of all devices */
/* The managed range that has all these bytes; NULL if there is none. */
acu_sim_range *acu_sim_managed_range(const void *address, size_t size);
/* A place to prefetch to. */
cudaError_t acu_sim_judge_location(struct cudaMemLocation location);
/* For a variable of a module: zeroed device memory, or managed memory. */
cudaError_t acu_sim_variable_new(acu_sim_context *context, size_t size, bool managed, void **at);
void acu_sim_variable_free(void *at);
int acu_sim_memory_leaks(int print);

/* With guard=1; else they do nothing. How much lies behind an allocation on a device. */
size_t acu_sim_guard_size(void);
/* Host memory. */
void *acu_sim_guard_map(size_t size);
void acu_sim_guard_unmap(void *at, size_t size);
/* A range is the program's from now on, and no longer. */
void acu_sim_guard_begin(const acu_sim_range *range);
void acu_sim_guard_end(acu_sim_range *range);
void acu_sim_guard_check(void);
/* The address is used, and is nobody's. */
void acu_sim_guard_explain(const void *address);
void acu_sim_guard_reset(void);

/* ---- arrays -------------------------------------------------------------------------------------
 */

typedef struct acu_sim_array acu_sim_array;

struct acu_sim_array {
    acu_sim_device *device;
    struct cudaChannelFormatDesc desc;
    struct cudaExtent extent;    /* as the program said it: 0 where there is no such dimension */
    size_t width, height, depth; /* in elements; at least 1 */
    size_t element, pitch;       /* in bytes */
    unsigned flags;
    char *bytes;
    bool is_level; /* of a mipmapped array, which has its memory */
    const void *where;
    const acu_sim_context *context;
    acu_sim_array *next, *before;
};

/* NULL if there is none. */
acu_sim_array *acu_sim_array_of(cudaArray_const_t handle);
/* The first level of a mipmapped one. */
const acu_sim_array *acu_sim_mipmap_level(cudaMipmappedArray_const_t handle);
/* Bytes of an element; 0: there are no arrays of this format. */
size_t acu_sim_format_size(const struct cudaChannelFormatDesc *desc);
void acu_sim_arrays_reset(acu_sim_device *device);
int acu_sim_arrays_leaks(int print);

void acu_sim_textures_reset(acu_sim_device *device);
int acu_sim_textures_leaks(int print);

/* ---- virtual memory management ------------------------------------------------------------------
 */

bool acu_sim_is_reserved(const void *address);
/* A device's memory; NULL: all, and the addresses. */
void acu_sim_virtual_reset(const acu_sim_device *device);
int acu_sim_virtual_leaks(int print);

/* ---- pools --------------------------------------------------------------------------------------
 */

/* The default pool; NULL if there is no memory for it. */
acu_sim_pool *acu_sim_pool_default(acu_sim_device *device);
/* A range of the pool was freed, at the call; what was dropped, in stream order. */
void acu_sim_pool_give(acu_sim_pool *pool, size_t size);
/* Its memory is shown to that device; what devices show to each other does not matter here. */
bool acu_sim_pool_lets(const acu_sim_pool *pool, const acu_sim_device *device);
/* What synchronising does: pools give back what they hold above their thresholds. */
void acu_sim_pools_settle(void);
void acu_sim_pools_reset(acu_sim_device *device);
int acu_sim_pools_leaks(int print);

/* ---- streams ------------------------------------------------------------------------------------
 */

typedef struct acu_sim_box { /* a copy's rows, as the calls with two dimensions name them */
    void *to;
    const void *from;
    size_t to_pitch, from_pitch, width, height;
} acu_sim_box;

/*
 * What is done once, in a stream, or, shared by nodes of graphs and by what was instantiated from
 * them, many times; then it is not changed any more.
 */
struct acu_sim_op {
    unsigned refs;
    enum cudaGraphNodeType type; /* what it is as a node: which of `with` it has */
    unsigned wanted;             /* how many wait for it, where there is a seed */
    bool done, taken;            /* taken: the thread that made it runs it itself */
    uint64_t ns;                 /* when it was done */
    acu_sim_stream *stream;
    acu_sim_op *next, *next_called; /* in the stream; among what the host is to be called for */
    acu_sim_op **waits;             /* what must be done before */
    size_t wait_count, wait_room;
    bool any;                             /* one of them is enough */
    bool unfinished;                      /* it is to be run again, once it is ready */
    bool (*is_due)(const acu_sim_op *op); /* more that must be so before; NULL: nothing */
    cudaError_t (*run)(acu_sim_op *op);   /* NULL: nothing but the order. Outside the lock. */
    bool always;                          /* also where the context is lost */
    cudaError_t status;                   /* of the context, when it ran */
    void (*over)(acu_sim_op *op);         /* of one without a stream: it was run; under the lock */
    void (*drop)(acu_sim_op *op);         /* gives up what it has; under the lock */
    void *staged;                         /* a copy of what a pageable source held */
    cudaExecutionContext_t
        execution_context; /* of a node: the one that was named; NULL: none was */
    union {
        struct {
            struct cudaMemcpy3DParms params;
            bool in_bytes; /* its x and width, also in arrays */
            /* The memory was CUDA's when this was judged; it must still be when it is done. */
            bool knew_to, knew_from;
        } copy;
        struct {
            struct cudaMemsetParams params;
        } fill;
        acu_sim_event *event;
        struct {
            cudaGraphConditionalHandle handle;
            enum cudaGraphConditionalNodeType type;
        } condition;
        acu_sim_flight *flight; /* a launch of a graph */
        struct {
            cudaHostFn_t fn;
            cudaStreamCallback_t callback;
            cudaStream_t handle;
            void *data;
            acu_sim_flight *flight; /* whose step it is; NULL: a stream's */
            unsigned step;
        } host;
        struct {
            void *at;
            uint64_t value;
            bool wide; /* of 8 bytes */
            unsigned flags;
            const acu_sim_device *device; /* that waits for it, or writes it */
        } value;
        acu_sim_values *values;
        acu_sim_range *range;
        acu_sim_allocation *allocation;
        acu_sim_prepared *launch;
        acu_sim_batch *batch;
        acu_sim_semaphores *semaphores;
        struct {
            acu_sim_op *wait; /* a graph's, which this says is over */
            acu_sim_op *next;
        } awaited;
        cudaError_t code;
    } with;
};

/* Nodes, with what is said of the edge from each. */
typedef struct acu_sim_links {
    cudaGraphNode_t *nodes;
    cudaGraphEdgeData *data;
    size_t count, room, gap; /* gap: of the room, before the first */
} acu_sim_links;

struct acu_sim_stream {
    acu_sim_device *device;
    acu_sim_execution_context *execution_context; /* a green one; NULL: the device's */
    bool detached;                                /* that is gone */
    unsigned flags;
    int priority;
    unsigned long long id;
    bool is_default; /* made by the simulator, not by the program */
    bool threaded, closing;
    bool blocked;            /* its thread waits for another stream */
    acu_sim_op *head, *tail; /* queued; the first may be running */
    acu_sim_op *last;        /* the newest, also when done */
    pthread_cond_t wake;
    acu_sim_stream *next, *before; /* all streams */
    struct cudaAccessPolicyWindow window;
    enum cudaSynchronizationPolicy sync_policy;
    cudaLaunchMemSyncDomainMap domains;
    cudaLaunchMemSyncDomain domain;
    const void *where;
    acu_sim_context *context; /* in whose context */
    uint64_t thread;          /* whose default stream it is; 0: no thread's */
    acu_sim_capture *capture; /* NULL: work is done, not captured */
    acu_sim_links tips;       /* what the next node depends on */
    acu_sim_stream *next_captured;
};

struct acu_sim_event {
    acu_sim_device *device;
    unsigned refs; /* the program's, and those of nodes */
    unsigned flags;
    acu_sim_op *record;       /* NULL: never recorded */
    acu_sim_capture *capture; /* in which it was recorded last; NULL: in none */
    acu_sim_links tips;
    const void *where;
    const acu_sim_context *context;
    acu_sim_event *next, *before;
};

/* The handle's stream; the default streams are those of the current device. */
cudaError_t acu_sim_stream_of(cudaStream_t handle, acu_sim_stream **stream);
acu_sim_stream *acu_sim_stream_legacy(acu_sim_context *context);
/* The nearest priority that there is. */
int acu_sim_priority(int priority);

/* A new one of the program's, in an execution context; NULL without memory. */
acu_sim_stream *acu_sim_stream_new(acu_sim_execution_context *context, unsigned flags, int priority,
                                   const void *where);
/* The context's stream behind another one, or its first; NULL: no more. */
acu_sim_stream *acu_sim_stream_in(const acu_sim_execution_context *context, acu_sim_stream *after);
/* What a context's events are recorded in; nobody else knows it. */
acu_sim_stream *acu_sim_stream_of_records(acu_sim_execution_context *context);
/* Its work is done first, but nobody waits for that here. */
void acu_sim_stream_close(acu_sim_stream *stream);

/* Enters, and finds the stream. */
cudaError_t acu_sim_enter_stream(cudaStream_t handle, acu_sim_stream **stream);

/* The bodies of the copies and fills, which have variants. Each is a whole call. */
cudaError_t acu_sim_copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                         cudaStream_t stream, bool async);
cudaError_t acu_sim_copy_2d(const acu_sim_box *box, enum cudaMemcpyKind kind, cudaStream_t stream,
                            bool async);
cudaError_t acu_sim_copy_3d(const struct cudaMemcpy3DParms *params, cudaStream_t stream,
                            bool async);
cudaError_t acu_sim_copy_3d_peer(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream,
                                 bool async);
cudaError_t acu_sim_copy_2d_to_array(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                     const void *src, size_t spitch, size_t width, size_t height,
                                     enum cudaMemcpyKind kind, cudaStream_t stream, bool async);
cudaError_t acu_sim_copy_2d_from_array(void *dst, size_t dpitch, cudaArray_const_t src,
                                       size_t wOffset, size_t hOffset, size_t width, size_t height,
                                       enum cudaMemcpyKind kind, cudaStream_t stream, bool async);
cudaError_t acu_sim_copy_2d_arrays(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                   cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                                   size_t width, size_t height, enum cudaMemcpyKind kind,
                                   cudaStream_t stream);
cudaError_t acu_sim_copy_to_array(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                                  size_t count, enum cudaMemcpyKind kind, cudaStream_t stream,
                                  bool async);
cudaError_t acu_sim_copy_from_array(void *dst, cudaArray_const_t src, size_t wOffset,
                                    size_t hOffset, size_t count, enum cudaMemcpyKind kind,
                                    cudaStream_t stream, bool async);
cudaError_t acu_sim_copy_arrays(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                                size_t count, enum cudaMemcpyKind kind, cudaStream_t stream);
/* Inside of a call; `in_bytes`: x and width are, also in arrays. */
cudaError_t acu_sim_copy_within(const struct cudaMemcpy3DParms *params, bool in_bytes,
                                cudaStream_t stream, bool async);
/* What a node says that it copies: whole elements, also where it copies parts of them. */
struct cudaMemcpy3DParms acu_sim_copy_told(const acu_sim_op *op);
/* All of them, or none; `early[i]`: the source is read before the call returns. */
cudaError_t acu_sim_copy_all(const struct cudaMemcpy3DParms *copies, const bool *early,
                             size_t count, cudaStream_t stream);
cudaError_t acu_sim_fill_3d(struct cudaPitchedPtr ptr, int value, struct cudaExtent extent,
                            cudaStream_t stream, bool async);
cudaError_t acu_sim_fill(void *to, size_t pitch, int value, size_t width, size_t height,
                         cudaStream_t stream, bool async);
cudaError_t acu_sim_fill_with(const struct cudaMemsetParams *params, cudaStream_t stream,
                              bool async);

/* From the current pool of the stream's device if `handle` is NULL. A whole call. */
cudaError_t acu_sim_alloc_async(void **at, size_t size, cudaMemPool_t *handle, cudaStream_t stream,
                                const void *where);

/* A new operation, not yet in a stream; NULL without memory. Given up by acu_sim_submit(). */
acu_sim_op *acu_sim_op_new(enum cudaGraphNodeType type, cudaError_t (*run)(acu_sim_op *op));
/* Judges what they are to do first. Host functions need no judging. */
cudaError_t acu_sim_op_copy(const struct cudaMemcpy3DParms *params, acu_sim_op **op);
cudaError_t acu_sim_op_fill(const struct cudaMemsetParams *params, acu_sim_op **op);
acu_sim_op *acu_sim_op_host(cudaHostFn_t fn, void *data);
/* Queues it for the device's thread that calls host functions, which must have been started. */
void acu_sim_call(acu_sim_device *device, acu_sim_op *op);
bool acu_sim_call_start(acu_sim_device *device);
/* Runs it in this thread; false if another one is being called, or queued. */
bool acu_sim_call_here(acu_sim_device *device, acu_sim_op *op);
/* A node's that records, or waits for, an event. */
cudaError_t acu_sim_event_op(enum cudaGraphNodeType type, acu_sim_event *event, acu_sim_op **op);
struct cudaMemcpy3DParms acu_sim_copy_params(void *dst, const void *src, size_t count,
                                             enum cudaMemcpyKind kind);
bool acu_sim_op_after(acu_sim_op *op, acu_sim_op *before);
void acu_sim_op_release(acu_sim_op *op);
/*
 * Queues the operation behind what CUDA orders it behind, and with `wait` waits until it is done;
 * while the stream is being captured it becomes a node.
 */
cudaError_t acu_sim_submit(acu_sim_stream *stream, acu_sim_op *op, bool wait);
/* Runs what is ready, giving the lock up meanwhile. */
void acu_sim_run(acu_sim_device *device, acu_sim_op *op);
/* An operation that is in no stream is done now. */
void acu_sim_op_finish(acu_sim_op *op);
/* Something is due that was not: whoever waits looks again. */
void acu_sim_streams_wake(void);
/* Until it is done; gives the lock up meanwhile. */
void acu_sim_wait(acu_sim_op *op);
void acu_sim_wait_device(acu_sim_device *device); /* all its streams; NULL: of all */
void acu_sim_wait_context(const acu_sim_context *context);
void acu_sim_wait_execution_context(const acu_sim_execution_context *context);
bool acu_sim_is_idle(const acu_sim_stream *stream);
/* What is waited for on it now, is done at once. */
bool acu_sim_is_free(const acu_sim_stream *stream);
void acu_sim_streams_reset(acu_sim_device *device);
void acu_sim_thread_ended(const acu_sim_thread *self);
int acu_sim_streams_leaks(int print);

bool acu_sim_thread_start(void *(*function)(void *data), void *data);
/* Some operation could be done now; does the one that the number picks. */
bool acu_sim_streams_are_ready(void);
/* One waits for something that nobody tells of: who waits for it looks again. */
bool acu_sim_streams_look(void);
/* A millisecond at most; gives the lock up. */
void acu_sim_wait_briefly(pthread_cond_t *condition);
bool acu_sim_streams_step(uint64_t random);

/* With a seed only; without one they do nothing. Somebody submits, waits for an operation, asks
 * whether something is done. */
bool acu_sim_schedule_start(void);
void acu_sim_schedule_reset(uint64_t seed);
uint64_t acu_sim_schedule_random(void);
void acu_sim_schedule_wake(void);
void acu_sim_schedule_want(acu_sim_op *op);
void acu_sim_schedule_done(acu_sim_op *op);
void acu_sim_schedule_ask(void);

/* NULL if there is none. */
acu_sim_event *acu_sim_event_of(cudaEvent_t handle);
void acu_sim_event_release(acu_sim_event *event);
/* The operation whose end is the event from now on. */
void acu_sim_event_mark(acu_sim_event *event, acu_sim_op *op);
void acu_sim_events_reset(acu_sim_device *device);
int acu_sim_events_leaks(int print);

/* ---- kernels ------------------------------------------------------------------------------------
 */

/* A launch that was found good, with a copy of its arguments: what a stream runs, a graph keeps. */
struct acu_sim_prepared {
    const void *handle;         /* as the program named it: a kernel, or a function */
    acu_sim_function *function; /* on the device where it is to run */
    unsigned grid[3], block[3], cluster[3];
    size_t shared;
    bool cooperative;
    cudaLaunchAttribute *attributes; /* all that came with it */
    unsigned attribute_count;
    char *arguments; /* their bytes, laid out as the kernel's parameters */
    void **args;     /* into these; one per parameter */
};

/*
 * Judges a launch in the context and copies what it needs. `config->stream` is not looked at; the
 * arguments are in `args` or `extra`, as cuLaunchKernel() takes them. Under the lock; so are all
 * but the last. Failing, it leaves `prepared` as it was.
 */
cudaError_t acu_sim_prepare(acu_sim_context *context, const void *handle,
                            const cudaLaunchConfig_t *config, void *const *args, void *const *extra,
                            acu_sim_prepared **prepared);
acu_sim_prepared *acu_sim_prepared_clone(const acu_sim_prepared *prepared);
void acu_sim_prepared_free(acu_sim_prepared *prepared);
const char *acu_sim_prepared_name(const acu_sim_prepared *prepared);
acu_sim_context *acu_sim_prepared_context(const acu_sim_prepared *prepared);
/* The kernel's work: what an operation does, outside the lock. Its error is the context's. */
cudaError_t acu_sim_prepared_run(const acu_sim_prepared *prepared);

/* Takes what was prepared. */
acu_sim_op *acu_sim_op_kernel(acu_sim_prepared *prepared);

/* Modules are a device's; libraries stay, but for what they have on it. NULL: all of it, for good.
 */
void acu_sim_modules_reset(acu_sim_device *device);
int acu_sim_modules_leaks(int print);
void acu_sim_linkers_reset(void);
int acu_sim_linkers_leaks(int print);

/* ---- capture ------------------------------------------------------------------------------------
 */

/* What is about to be done with a stream. */
typedef enum acu_sim_use {
    SIM_LOOKS,    /* at the capture itself */
    SIM_ENQUEUES, /* what a capture takes */
    SIM_REFUSES,  /* what no capture takes */
    SIM_WAITS,    /* the host waits for its work, or asks after it; or does as if */
} acu_sim_use;

/* Why not, because of a capture; then that is invalid from now on, unless one only looked. */
cudaError_t acu_sim_capture_allows(acu_sim_stream *stream, acu_sim_use use);
/* The same for what waits for a context, or an execution context, as a whole. */
cudaError_t acu_sim_capture_allows_context(const acu_sim_context *context);
cudaError_t acu_sim_capture_allows_execution_context(const acu_sim_execution_context *context);
/* The same for calls that a capture would not see, like cudaMalloc(). */
cudaError_t acu_sim_capture_allows_unsafe(void);
/* The same for asking after an event that was recorded in it; `looks`: for its time. */
cudaError_t acu_sim_capture_refuse(acu_sim_capture *capture, bool looks);
/* The graph that the stream is captured into; NULL: none. */
acu_sim_graph *acu_sim_capture_graph(const acu_sim_stream *stream);
/* What a graph that is captured again does next, if it is of that type; else NULL. */
acu_sim_op *acu_sim_capture_expects(const acu_sim_stream *stream, enum cudaGraphNodeType type);
/* Makes a node of the operation, which it takes. `node` may be NULL. */
cudaError_t acu_sim_capture_add(acu_sim_stream *stream, acu_sim_op *op, acu_sim_node **node);
/* What recording means on a stream that is captured, and waiting where one of both is. */
cudaError_t acu_sim_capture_record(const acu_sim_stream *stream, acu_sim_event *event);
cudaError_t acu_sim_capture_wait(acu_sim_stream *stream, const acu_sim_event *event);
/* The stream, the event, is going. */
void acu_sim_capture_forget_stream(acu_sim_stream *stream);
void acu_sim_capture_forget_event(acu_sim_event *event);
void acu_sim_captures_reset(acu_sim_device *device);

/* ---- graphs: graph.h has the rest ---------------------------------------------------------------
 */

/* A node's that allocates, which says where; or frees what another allocates. */
cudaError_t acu_sim_alloc_op(struct cudaMemAllocNodeParams *params, acu_sim_graph *graph,
                             acu_sim_op **op);
cudaError_t acu_sim_free_op(void *address, acu_sim_graph *graph, acu_sim_op **op);
/* What frees a graph's memory in stream order; the program has it no longer. NULL: it never had. */
acu_sim_op *acu_sim_free_allocation(acu_sim_range *range);
void acu_sim_allocations_reset(const acu_sim_device *device);
void acu_sim_graphs_reset(acu_sim_device *device);
int acu_sim_graphs_leaks(int print);
void acu_sim_user_objects_reset(void);
int acu_sim_user_objects_leaks(int print);
void acu_sim_execs_reset(acu_sim_device *device);
int acu_sim_execs_leaks(int print);

void acu_sim_listeners_reset(void);

/* ---- what other APIs have -----------------------------------------------------------------------
 */

/* What the system calls a file descriptor; false if there is none. */
bool acu_sim_descriptor_name(int fd, char *name, size_t size);
void acu_sim_semaphores_reset(const acu_sim_device *device);
int acu_sim_semaphores_leaks(int print);
/* A buffer of it is gone. */
void acu_sim_external_release(acu_sim_external *external);
void acu_sim_externals_reset(const acu_sim_device *device);
int acu_sim_externals_leaks(int print);

/* ---- execution contexts: context.h has the rest -------------------------------------------------
 */

void acu_sim_execution_contexts_reset(const acu_sim_device *device);
int acu_sim_execution_contexts_leaks(int print);
void acu_sim_descriptors_reset(void);

/* Where something was made: the call, or with leaks=1 or guard=1 the calls that led to it. */
const void *acu_sim_caller(const void *last);
void acu_sim_caller_reset(bool on);
/* Over a fork(), inside the lock. */
void acu_sim_caller_lock(void);
void acu_sim_caller_unlock(void);
/* "add+0x1a, from main+0x2b"; "program+0x1a2b" where that has no symbols. */
void acu_sim_name_caller(const void *where, char *text, size_t size);
enum { SIM_CALLER_TEXT = 640 };
/* One line of the leak report. */
void acu_sim_report(const char *what, const void *handle, size_t size, const void *where);

/* Who called CUDA: the wrapper is inlined in the program, or its copy is what is seen. */
#define SIM_CALLER                                                                                 \
    (acu_sim_self()->by_driver ? acu_sim_self()->caller                                            \
                               : acu_sim_caller(__builtin_return_address(0)))

#endif
