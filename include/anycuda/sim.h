/*
 * The simulator: CUDA's runtime for machines without a GPU. Link anycuda::sim and choose it with
 * ANYCUDA_CUDART=sim, acu_load() with the path "sim", or ACU_LOAD_ALLOW_SIM.
 *
 * ANYCUDA_SIM configures it: "devices=2,memory=8GiB,cc=9.0,runtime=12.4,driver=12.4,leaks=1". What
 * is left out has its default: one device of 8 GiB, 9.0, and the versions of the headers. `runtime`
 * is what it reports and refuses like, `driver` may be "none", `leaks` prints at exit what is left.
 * For tests: "guard=1" reports writes behind allocations and uses of freed ones, "seed=7" does one
 * operation at a time, in an order that the number decides, "check=race" looks at what kernels do,
 * "profile=1" counts it, "trap=sum:12" stops at a line, and "budget=1GiB" is what the process
 * should use of each device's memory: who exceeds it is notified.
 */
#ifndef ACU_SIM_H
#define ACU_SIM_H

#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** Returns the version whose ABI the simulator has, as CUDA counts, whatever version it reports. */
int acu_sim_abi(void);

/**
 * Counts what the program holds: allocations, streams, events, graphs, whatever it made itself.
 *
 * With `print` not 0 each is described on stderr, one line each, with where it was made: the calls
 * that led there with "leaks=1" or "guard=1", else the last one, which may be anycuda's own. What
 * anycuda keeps for later, and nobody uses, is given back first. What work still uses counts, also
 * if it was released.
 */
int acu_sim_leaks(int print);

/**
 * Counts, with "guard=1", what was done to memory that was not the program's; each was reported on
 * stderr when it was found.
 *
 * These are: bytes written behind an allocation, by the host or by a kernel, which are looked for
 * here, where the host synchronises and where memory is freed; and addresses given to CUDA, or
 * reached for by a kernel, whose allocation was freed. The host's own accesses to pinned and
 * managed memory that was freed, or beyond its last page, fault. Returns 0 without "guard=1".
 */
int acu_sim_damages(void);

/**
 * Counts what the checks of kernels found: "check=memory,race,init,sync" in ANYCUDA_SIM, or some of
 * these.
 *
 * `check` is one of these names; NULL counts all. The checks look at kernels that are executed from
 * PTX: "memory" for accesses beyond allocations and of freed ones, "race" for accesses of several
 * threads that nothing orders, "init" for reads of memory that was never written, "sync" for
 * barriers and .sync operations to which not all threads come. Each finding is reported on stderr;
 * of one instruction only the first ones are. acu_sim_reset() begins anew.
 */
unsigned long long acu_sim_findings(const char *check);

/**
 * Writes what was found last, as it is reported, into `text`, which has room for `size` bytes.
 * Returns the length of all of it; 0 if nothing was found.
 */
size_t acu_sim_last_finding(char *text, size_t size);

/**
 * What the launches of a kernel did, as Nsight Compute counts it: docs/users/profiles.md. A request
 * is a warp's instruction that accesses the space, by those of its lanes that do; a sector has 32
 * bytes; a wavefront is what the 32 banks of shared memory do at once.
 */
typedef struct acu_sim_profile {
    size_t size;      /**< sizeof(acu_sim_profile), set by the caller */
    double occupancy; /**< an estimate of the achieved occupancy, 0 to 1; the launches' mean */
    unsigned long long launches;
    unsigned long long warp_instructions;   /**< instructions of the PTX, for each warp */
    unsigned long long thread_instructions; /**< the same, for each active thread */
    unsigned long long branches;            /**< conditional branches, for each warp */
    unsigned long long divergent_branches;  /**< of these, those that sent lanes both ways */
    unsigned long long load_requests;       /**< of global memory */
    unsigned long long load_sectors;
    unsigned long long load_ideal; /**< sectors that have room for the bytes that were asked for */
    unsigned long long store_requests;
    unsigned long long store_sectors;
    unsigned long long store_ideal;
    unsigned long long atomic_requests; /**< atomic operations on global memory */
    unsigned long long atomic_sectors;
    unsigned long long local_requests; /**< loads and stores of local memory */
    unsigned long long local_sectors;
    unsigned long long shared_load_requests;
    unsigned long long shared_load_wavefronts;
    unsigned long long shared_load_conflicts; /**< wavefronts that bank conflicts add */
    unsigned long long shared_store_requests;
    unsigned long long shared_store_wavefronts;
    unsigned long long shared_store_conflicts;
    unsigned long long shared_atomic_requests;
    unsigned long long atomic_lanes;     /**< threads' atomic operations, global and shared */
    unsigned long long atomic_addresses; /**< different addresses in each request, added up */
} acu_sim_profile;

/**
 * Fills in what the launches of a kernel that have ended did since "profile=" was set in
 * ANYCUDA_SIM, or since the last reset.
 *
 * `kernel` is the name in the PTX; kernels of that name count together; NULL: all kernels together.
 * `profile->size` must be set; a larger struct of a later version is filled as far as this one
 * knows, and its size becomes that. Only kernels that are executed from PTX count.
 * Returns 0; 1 where `profile` is NULL or smaller than the struct is here; 500 where no launch of
 * such a kernel was counted. Any thread may call this function.
 */
int acu_sim_profile_get(const char *kernel, acu_sim_profile *profile);

/** Forgets what was counted, as acu_sim_reset() does. Any thread may call this function. */
void acu_sim_profile_reset(void);

/**
 * Takes everything back, as if the process had just begun: waits for all work and forgets every
 * error.
 *
 * This is for tests; no other thread may use CUDA meanwhile. The child of a process that used CUDA
 * is not helped: nothing works there. The configuration is read again by the next call, from
 * `configuration`, or from ANYCUDA_SIM where that is NULL. The version that a program bound at its
 * first call stays.
 */
void acu_sim_reset(const char *configuration);

/**
 * Queues work that fails as a faulty kernel does: 700 is an illegal address, 719 a launch failure.
 *
 * The error is asynchronous and sticky: from when the stream has come to it, calls return it, on
 * all devices, and cudaDeviceReset() does not help, as on a GPU; acu_sim_reset() does. `stream` is
 * a CUDA stream. Returns what CUDA would, 0 if it is queued.
 */
int acu_sim_fault(void *stream, int code);

/*
 * Kernels. A module is loaded from PTX, which the simulator executes; what it does not execute
 * docs/users/simulator.md lists. A C function that the program registers by a kernel's name is
 * called in place of the kernel.
 *
 *     static void scale(const acu_sim_launch *launch, void *const *args) {
 *         size_t count = *(const unsigned *)args[1];
 *         float *data = acu_sim_at(launch, *(void *const *)args[0], count * sizeof *data);
 *         for (size_t i = 0; i < count; i++)
 *             data[i] *= 2;
 *     }
 *     acu_sim_register("scale", scale);
 *
 * Machine code (a cubin) is read for the same; of a fat binary, what the device would take.
 * How many registers a kernel takes machine code says; of PTX, 32, or fewer if .maxnreg says so.
 * Kernels that nvcc compiled into a program have their mangled names: docs/users/simulator.md.
 *
 * CUDA C++ may be compiled where there is no NVRTC, or with ANYCUDA_NVRTC=sim: then the source is
 * read for the kernels that it declares extern "C" with parameters of plain types, and for its
 * variables without initializers, and becomes PTX whose kernels are empty. Templates, macros in
 * declarations and structs by value are an error 6 (NVRTC_ERROR_COMPILATION) whose log says so;
 * errors in bodies are not found. A real NVRTC is taken first: its PTX is loaded like any other.
 */

/** One launch, as its kernel sees it; valid until the kernel returns. */
typedef struct acu_sim_launch {
    const char *kernel;                     /* its name in the module */
    unsigned grid[3], block[3], cluster[3]; /* x, y, z */
    size_t shared;                          /* bytes of dynamic shared memory */
    int device;
    unsigned multiprocessors; /* how many it may run on: the device's, or an execution context's */
    struct acu_sim_run *run;  /* the simulator's own */
} acu_sim_launch;

/**
 * What a kernel does: a function that is called once per launch, on a thread of the simulator, for
 * all threads of the launch.
 *
 * `args` has a pointer to each argument. The function reaches memory through acu_sim_at() only, and
 * must not call CUDA.
 */
typedef void (*acu_sim_kernel)(const acu_sim_launch *launch, void *const *args);

/**
 * Gives the kernels of that name, in all modules, loaded already or later, a function.
 *
 * The name is the one in the PTX, mangled if it was C++. NULL takes the function away; a second one
 * replaces the first. The function stays over acu_sim_reset(). A kernel without a function, and
 * without PTX that can be executed, is loaded; launching it fails, with a line on stderr that says
 * why: with 218 where the PTX is wrong, else with 801.
 * Returns 0, or 1 for an empty name, or 2 without memory.
 */
int acu_sim_register(const char *name, acu_sim_kernel function);

/**
 * Returns where the bytes of memory are that the launched kernel may access.
 *
 * That is any memory that its device can reach: its own, its peers' with access, pinned, managed.
 * If not all of the bytes are in one allocation the kernel ends here, by longjmp() (in C++ no
 * destructor runs), and its device is lost as on a GPU, with 700, an illegal address. For 0 bytes
 * the address itself is returned, whatever it is. Only the kernel may call this function, on its
 * own thread.
 */
void *acu_sim_at(const acu_sim_launch *launch, const void *address, size_t bytes);

/**
 * Writes where a multicast object's bytes are at that address: in the memory that each device has
 * bound there, in the order of the devices. Returns how many there are, also if `places` has room
 * for fewer.
 *
 * This is how a kernel's function does what `multimem` instructions do: it stores to all places, or
 * loads from all and reduces. Plain accesses by acu_sim_at() fail there. The kernel fails where not
 * every device has bound memory, as with acu_sim_at().
 */
size_t acu_sim_multicast_at(const acu_sim_launch *launch, const void *address, size_t bytes,
                            void **places, size_t room);

/**
 * Sets, as cudaGraphSetConditional() in a kernel, the value by which conditional nodes of the graph
 * that the kernel is launched in choose among their graphs.
 *
 * `handle` comes from cudaGraphConditionalHandleCreate(). Only the kernel may call this function,
 * on its own thread. If the graph has no such handle, a line on stderr says so.
 */
void acu_sim_set_conditional(const acu_sim_launch *launch, unsigned long long handle,
                             unsigned value);

/*
 * Graphs that kernels launch, and nodes that they change. These functions do what
 * cudaGraphLaunch(), cudaGetCurrentGraphExec(), cudaGraphKernelNodeSetEnabled() and their like do
 * in a kernel. Only the kernel may call them, on its own thread. Where CUDA would refuse, they
 * return 1 (cudaErrorInvalidValue) and a line on stderr says why.
 */
struct CUgraphExec_st;
struct CUgraphDeviceUpdatableNode_st;

/** Where a graph runs that a kernel launches: CUDA's named streams. */
typedef enum acu_sim_graph_place {
    ACU_SIM_FIRE_AND_FORGET, /* beside the graph that the kernel is in, which ends behind it */
    ACU_SIM_TAIL,            /* behind the graph that the kernel is in, and before later work */
    ACU_SIM_SIBLING          /* beside the graph that the kernel is in, and before later work */
} acu_sim_graph_place;

/**
 * Launches an executable graph. It must have been instantiated with
 * cudaGraphInstantiateFlagDeviceLaunch and uploaded, and have no other launch that has not ended;
 * but a graph may launch itself, behind itself. Here a graph that runs beside another one runs as
 * soon as the kernel has returned.
 */
int acu_sim_launch_graph(const acu_sim_launch *launch, struct CUgraphExec_st *graph,
                         acu_sim_graph_place place);

/** Returns the executable graph that the kernel is in; NULL unless kernels may launch it. */
struct CUgraphExec_st *acu_sim_current_graph(const acu_sim_launch *launch);

/**
 * Lets a node run, or not. `node` is what its attribute
 * cudaLaunchAttributeDeviceUpdatableKernelNode gave the host; its executable graph must have been
 * uploaded.
 */
int acu_sim_set_node_enabled(const acu_sim_launch *launch,
                             struct CUgraphDeviceUpdatableNode_st *node, int enabled);

/** Sets the blocks of a node's grid. */
int acu_sim_set_node_grid(const acu_sim_launch *launch, struct CUgraphDeviceUpdatableNode_st *node,
                          const unsigned blocks[3]);

/** Sets bytes of a node's arguments, which lie as the kernel's parameters do. */
int acu_sim_set_node_param(const acu_sim_launch *launch, struct CUgraphDeviceUpdatableNode_st *node,
                           size_t offset, const void *value, size_t size);

/*
 * Textures and surfaces. These functions do for a kernel what PTX's tex, tld4, suld and sust do on
 * a GPU. `texture` is the kernel's argument, a cudaTextureObject_t. An array is read as it is when
 * the kernel runs. Only the kernel may call them, on its own thread; where there is no such
 * texture, the kernel ends as at an illegal address.
 */

/** What a texture has: of a layered one, each layer. */
typedef enum acu_sim_geometry {
    ACU_SIM_1D,
    ACU_SIM_2D,
    ACU_SIM_3D,
    ACU_SIM_1D_LAYERED,
    ACU_SIM_2D_LAYERED,
    ACU_SIM_CUBE,
    ACU_SIM_CUBE_LAYERED
} acu_sim_geometry;

/** Four components: floats, or integers, as the texture's format and mode of reading have it. */
typedef union acu_sim_texel {
    float f[4];    /**< floats */
    unsigned u[4]; /**< unsigned integers */
    int i[4];      /**< signed integers */
} acu_sim_texel;

/**
 * Samples level 0, as tex does: `at` has as many coordinates as the geometry needs, 3 for a cube;
 * `layer` is ignored where there are no layers.
 */
acu_sim_texel acu_sim_texture_sample(const acu_sim_launch *launch, unsigned long long texture,
                                     acu_sim_geometry geometry, unsigned layer, const float *at);

/** Samples the levels of a mipmap next to `level`, as tex.level does. */
acu_sim_texel acu_sim_texture_sample_level(const acu_sim_launch *launch, unsigned long long texture,
                                           acu_sim_geometry geometry, unsigned layer,
                                           const float *at, float level);

/**
 * Samples the levels of a mipmap that fit the derivatives of the coordinates, as tex.grad does.
 * Each has as many numbers as `at`.
 */
acu_sim_texel acu_sim_texture_sample_grad(const acu_sim_launch *launch, unsigned long long texture,
                                          acu_sim_geometry geometry, unsigned layer,
                                          const float *at, const float *dx, const float *dy);

/** Reads one texel, whose place is counted, as tex with integer coordinates does. */
acu_sim_texel acu_sim_texture_fetch(const acu_sim_launch *launch, unsigned long long texture,
                                    acu_sim_geometry geometry, unsigned layer, const int *at,
                                    int level);

/**
 * Reads a component, 0 to 3, of the four texels that a linear filter of a 2D texture would mix, as
 * tld4 does: counterclockwise from the one below on the left.
 */
acu_sim_texel acu_sim_texture_gather(const acu_sim_launch *launch, unsigned long long texture,
                                     const float *at, unsigned component);

/** What a surface does beyond its edges: `.trap`, `.clamp` and `.zero` of suld and sust. */
typedef enum acu_sim_boundary {
    ACU_SIM_TRAP,  /* the kernel fails */
    ACU_SIM_CLAMP, /* what lies at the edge is accessed */
    ACU_SIM_ZERO   /* zeros are read, and what is written is lost */
} acu_sim_boundary;

/**
 * Reads `size` bytes, 1, 2, 4, 8 or 16, of a surface as suld.b does. `at` has as many numbers as
 * the geometry needs; the first one counts bytes.
 */
void acu_sim_surface_read(const acu_sim_launch *launch, unsigned long long surface,
                          acu_sim_geometry geometry, unsigned layer, const int *at,
                          acu_sim_boundary boundary, void *bytes, size_t size);

/** Writes `size` bytes of a surface as sust.b does; the parameters are those of a read. */
void acu_sim_surface_write(const acu_sim_launch *launch, unsigned long long surface,
                           acu_sim_geometry geometry, unsigned layer, const int *at,
                           acu_sim_boundary boundary, const void *bytes, size_t size);

/**
 * Writes a line into the driver's log, beside those of calls that fail, and calls those who listen
 * to it, in this thread, unless one of them makes the call. With `warning` not 0 the line is a
 * warning, else an error. Nothing is put before the text.
 */
void acu_sim_log(int warning, const char *text);

/*
 * Tensor maps. These functions copy tiles as PTX's cp.async.bulk.tensor does, but at once. `map` is
 * the kernel's argument, a tiled tensor map; `at` has a coordinate for each dimension, the first
 * one is that of the elements that lie together. The tile has no gaps and is not shuffled, whatever
 * the map's swizzling is. They return 0, and copy nothing, where the map is none, is one of im2col,
 * of interleaved channels or of elements of less than a byte; and, as a GPU refuses that, where the
 * first coordinate is no multiple of 16 bytes, or a coordinate of a store is negative.
 */

/** Copies a tile out of the tensor; what lies outside of the tensor is 0. */
int acu_sim_tensor_load(const acu_sim_launch *launch, const void *map, const int *at, void *tile);

/** Copies a tile into the tensor; what lies outside of the tensor is left out. */
int acu_sim_tensor_store(const acu_sim_launch *launch, const void *map, const int *at,
                         const void *tile);

/*
 * Other APIs. CUDA imports semaphores and memory that another API, like Vulkan, exports as file
 * descriptors. These stand for that API: what they export is imported with
 * cudaImportExternalSemaphore() and cudaImportExternalMemory(), in the same process. Memory that
 * Mesa's Vulkan for the CPU exports is imported, too; any other descriptor is refused.
 */

/** A semaphore of another API. */
typedef struct acu_sim_semaphore acu_sim_semaphore;

/**
 * Makes a semaphore: with `timeline` a number, imported as cudaExternalSemaphoreHandleType
 * TimelineSemaphoreFd; without, one that is signaled or not, imported as OpaqueFd.
 *
 * Returns NULL without memory. The caller destroys the semaphore; what imported it keeps it alive,
 * and it outlives acu_sim_reset().
 */
acu_sim_semaphore *acu_sim_semaphore_create(int timeline);

/** Takes the caller away as an owner; NULL is fine. */
void acu_sim_semaphore_destroy(acu_sim_semaphore *semaphore);

/**
 * Returns a new file descriptor for the semaphore, to import once, which takes the descriptor over;
 * -1 if the system has none.
 */
int acu_sim_semaphore_export(const acu_sim_semaphore *semaphore);

/**
 * Signals the semaphore as the other API would; `value` is the number of a timeline. Any thread may
 * call this function.
 */
void acu_sim_semaphore_signal(acu_sim_semaphore *semaphore, unsigned long long value);

/** Returns the number of a timeline; else 1 if the semaphore is signaled, 0 if not. */
unsigned long long acu_sim_semaphore_value(const acu_sim_semaphore *semaphore);

/**
 * Makes memory of another API: returns a new file descriptor of `size` bytes, zeroed, to import
 * once, which takes the descriptor over; -1 if the system has none.
 *
 * Before that the descriptor may be mapped with mmap(), MAP_SHARED, which shows what the other API
 * sees.
 */
int acu_sim_memory_export(size_t size);

/*
 * Graphics. CUDA registers buffers and images that OpenGL, EGL or VDPAU have. These stand for those
 * APIs: what acu_sim_graphics_create() makes is registered with cudaGraphicsGLRegisterBuffer() and
 * its neighbours, by its name.
 */

/** What another API has. */
typedef enum acu_sim_graphics_kind {
    ACU_SIM_GL_BUFFER = 1,
    ACU_SIM_GL_IMAGE = 2,
    ACU_SIM_EGL_IMAGE = 3,           /* the EGLImage is the name, as a pointer */
    ACU_SIM_VDPAU_VIDEO_SURFACE = 4, /* four images: of luma and chroma the even and odd lines */
    ACU_SIM_VDPAU_OUTPUT_SURFACE = 5
} acu_sim_graphics_kind;

/** A buffer or image of another API. */
typedef struct acu_sim_graphics_object {
    acu_sim_graphics_kind kind;
    size_t bytes;    /* of a buffer; 0: it has no memory yet, and CUDA refuses it */
    unsigned target; /* of an image, OpenGL's number; 0: GL_TEXTURE_2D */
    unsigned format; /* of an image, OpenGL's number; 0: GL_RGBA8. VDPAU has 8 bits of its own */
    size_t width, height;
    size_t depth;    /* of GL_TEXTURE_3D, or the layers of GL_TEXTURE_2D_ARRAY */
    unsigned levels; /* 0: one */
} acu_sim_graphics_object;

/**
 * Makes a buffer or image of another API, whose bytes are zero; returns its name, which no other
 * one has, or 0 where there is no such format, target or size, or no memory.
 *
 * CUDA keeps what is registered. The objects outlive acu_sim_reset().
 */
unsigned acu_sim_graphics_create(const acu_sim_graphics_object *object);

/** Destroys it; 0 is fine. */
void acu_sim_graphics_destroy(unsigned name);

/**
 * Makes a context of OpenGL on this device of CUDA's current in the calling thread; with -1 none
 * is, as in the beginning.
 */
void acu_sim_graphics_make_current(int device);

/**
 * Writes all bytes of a buffer, or of a layer or plane `index` of a level, row by row without gaps,
 * as the other API would: after what CUDA did before it unmapped the object.
 *
 * Returns 0; -1, with nothing done, where the size is another one, or where CUDA has the object
 * mapped: then the other API must not use it.
 */
int acu_sim_graphics_write(unsigned name, unsigned index, unsigned level, const void *bytes,
                           size_t size);

/** Reads in the same way. */
int acu_sim_graphics_read(unsigned name, unsigned index, unsigned level, void *bytes, size_t size);

#if defined(__cplusplus)
}
#endif

#endif
