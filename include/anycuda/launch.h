/*
 * Launches: a kernel on a grid, with arguments that are checked before CUDA sees them.
 *
 *     acu_launch(stream, kernel, acu_grid_1d(n, 256), acu_in(a), acu_in(b), acu_out(c), n);
 *
 * Count, sizes and, where the code declares them, types of the arguments are compared with the
 * kernel's parameters, and the grid with the limits of device and kernel. The launch waits for
 * earlier uses of its buffers on other streams, and later uses wait for the launch. A launch on a
 * captured stream becomes a node of the graph, which keeps kernel and buffers alive.
 */
#ifndef ACU_LAUNCH_H
#define ACU_LAUNCH_H

#include <anycuda/kernel.h>
#include <anycuda/tensor_map.h>
#include <anycuda/texture.h>

struct cudaLaunchAttribute_st;

ACU_BEGIN_C

/* ---- arguments ---- */

/** Kinds of arguments. */
typedef enum acu_arg_kind {
    ACU_ARG_SIGNED,
    ACU_ARG_UNSIGNED,
    ACU_ARG_WORD, /* unsigned long long: an integer, or an address of the driver API */
    ACU_ARG_FLOAT,
    ACU_ARG_ADDRESS,      /* a raw pointer */
    ACU_ARG_IN,           /* a buffer that the kernel reads */
    ACU_ARG_OUT,          /* a buffer that the kernel writes */
    ACU_ARG_INOUT,        /* a buffer that the kernel reads and writes */
    ACU_ARG_TEXTURE,      /* a texture */
    ACU_ARG_SURFACE,      /* a surface that the kernel reads and writes */
    ACU_ARG_SURFACE_IN,   /* a surface that the kernel reads */
    ACU_ARG_TENSOR_IN,    /* a tensor map by which the kernel reads */
    ACU_ARG_TENSOR_OUT,   /* a tensor map by which the kernel writes */
    ACU_ARG_TENSOR_INOUT, /* a tensor map by which the kernel reads and writes */
    ACU_ARG_BYTES,        /* a copy of the bytes that a pointer leads to */
    /* for acu_run() of <anycuda/program.h> only: */
    ACU_ARG_BLOCK_IN,   /* a block that the program reads */
    ACU_ARG_BLOCK_OUT,  /* a block that the program writes */
    ACU_ARG_BLOCK_INOUT /* a block that the program reads and writes */
} acu_arg_kind;

struct acu_block;

/** An argument of a launch, made by acu_arg_of() from a value, or by acu_in() … from a buffer. */
typedef struct acu_arg {
    acu_arg_kind kind;
    uint32_t size; /* bytes that the kernel receives */
    union {
        uint64_t bits;
        const void *pointer; /* the address, or where the bytes are */
        acu_buffer *buffer;
        acu_texture *texture;
        acu_surface *surface;
        acu_tensor_map *tensor_map;
        struct acu_block *block;
    } value;
} acu_arg;

/**
 * Makes an argument of a buffer that the kernel only reads. Launches on other streams may read the
 * buffer at the same time.
 */
static inline acu_arg acu_in(acu_buffer *buffer) {
    acu_arg arg = {ACU_ARG_IN, sizeof(void *), {0}};
    arg.value.buffer = buffer;
    return arg;
}

/** Makes an argument of a buffer that the kernel writes. */
static inline acu_arg acu_out(acu_buffer *buffer) {
    acu_arg arg = {ACU_ARG_OUT, sizeof(void *), {0}};
    arg.value.buffer = buffer;
    return arg;
}

/**
 * Makes an argument of a buffer that the kernel reads and writes. A buffer without any of these
 * functions means the same.
 */
static inline acu_arg acu_inout(acu_buffer *buffer) {
    acu_arg arg = {ACU_ARG_INOUT, sizeof(void *), {0}};
    arg.value.buffer = buffer;
    return arg;
}

/** Makes an argument of a texture, which the kernel reads. A texture alone means the same. */
static inline acu_arg acu_in_texture(acu_texture *texture) {
    acu_arg arg = {ACU_ARG_TEXTURE, sizeof(void *), {0}};
    arg.value.texture = texture;
    return arg;
}

/** Makes an argument of a surface that the kernel only reads. */
static inline acu_arg acu_in_surface(acu_surface *surface) {
    acu_arg arg = {ACU_ARG_SURFACE_IN, sizeof(void *), {0}};
    arg.value.surface = surface;
    return arg;
}

/**
 * Makes an argument of a surface that the kernel reads and writes. A surface alone means the same.
 */
static inline acu_arg acu_inout_surface(acu_surface *surface) {
    acu_arg arg = {ACU_ARG_SURFACE, sizeof(void *), {0}};
    arg.value.surface = surface;
    return arg;
}

/** Makes an argument of a tensor map by which the kernel only reads. */
static inline acu_arg acu_in_tensor(acu_tensor_map *map) {
    acu_arg arg = {ACU_ARG_TENSOR_IN, 128, {0}};
    arg.value.tensor_map = map;
    return arg;
}

/** Makes an argument of a tensor map by which the kernel writes. */
static inline acu_arg acu_out_tensor(acu_tensor_map *map) {
    acu_arg arg = {ACU_ARG_TENSOR_OUT, 128, {0}};
    arg.value.tensor_map = map;
    return arg;
}

/**
 * Makes an argument of a tensor map by which the kernel reads and writes. A tensor map alone means
 * the same.
 */
static inline acu_arg acu_inout_tensor(acu_tensor_map *map) {
    acu_arg arg = {ACU_ARG_TENSOR_INOUT, 128, {0}};
    arg.value.tensor_map = map;
    return arg;
}

/**
 * Makes an argument of a struct, or of anything else: `acu_bytes(&x, sizeof x)`. The launch copies
 * the bytes.
 */
static inline acu_arg acu_bytes(const void *bytes, size_t size) {
    acu_arg arg = {ACU_ARG_BYTES, 0, {0}};
    arg.size = size < UINT32_MAX ? ACU_CAST(uint32_t, size) : UINT32_MAX;
    arg.value.pointer = bytes;
    return arg;
}

/** Makes an argument of a block (<anycuda/block.h>) that a program only reads. */
static inline acu_arg acu_in_block(struct acu_block *block) {
    acu_arg arg = {ACU_ARG_BLOCK_IN, sizeof(void *), {0}};
    arg.value.block = block;
    return arg;
}

/** Makes an argument of a block that a program writes. */
static inline acu_arg acu_out_block(struct acu_block *block) {
    acu_arg arg = {ACU_ARG_BLOCK_OUT, sizeof(void *), {0}};
    arg.value.block = block;
    return arg;
}

/** Makes an argument of a block that a program reads and writes. A block alone means the same. */
static inline acu_arg acu_inout_block(struct acu_block *block) {
    acu_arg arg = {ACU_ARG_BLOCK_INOUT, sizeof(void *), {0}};
    arg.value.block = block;
    return arg;
}

/* ---- grids ---- */

/** With which limits a launch may be made, with CUDA's numbers. */
typedef enum acu_portability {
    ACU_PORTABILITY_DEFAULT = 0,    /* the kernel's attributes say it */
    ACU_PORTABILITY_REQUIRED = 1,   /* only what every device of the kind can do */
    ACU_PORTABILITY_NOT_NEEDED = 2, /* all that this device can do */
    /* of shared memory, with hardly any L1 cache left: */
    ACU_PORTABILITY_OVERSIZED = 3,       /* more than that, where it is needed */
    ACU_PORTABILITY_PREFER_OVERSIZED = 4 /* more than that */
} acu_portability;

/** What few launches need; what is zero is CUDA's default. */
typedef struct acu_grid_more {
    const acu_memory_domains *memory_domains; /* NULL: the stream's; since CUDA 12.0 */
    int carveout;        /* percent of the L1 cache that become shared memory, -1 for none of it;
                            since CUDA 12.5 */
    bool nvlink_centric; /* spread the blocks so that the NVLinks are used best; since CUDA 13.0 */
    acu_portability clusters;      /* of their size; since CUDA 13.2 */
    acu_portability shared_memory; /* of its size; since CUDA 13.2 */
} acu_grid_more;

/** How a kernel is launched; what is zero is CUDA's default, except for blocks and threads. */
typedef struct acu_grid {
    acu_size3 blocks;    /* at least one */
    acu_size3 threads;   /* per block; at least one */
    size_t shared_bytes; /* dynamic shared memory per block */
    int priority;        /* smaller is more urgent; 0: the stream's */
    bool cooperative;    /* all blocks run at once and may wait for each other */

    acu_size3 cluster;           /* blocks per cluster; since CUDA 11.8 */
    acu_size3 preferred_cluster; /* a larger cluster, where it fits; since CUDA 12.8 */
    unsigned cluster_scheduling; /* 1: spread the blocks; 2: balance the load */

    /* Programmatic dependent launch, since CUDA 11.8: the kernel may begin before the previous one
     * on the stream has ended, and waits itself where it must (griddepcontrol.wait). */
    bool programmatic;
    /* This event is recorded when all blocks have triggered it (griddepcontrol.launch_dependents)
     * or, with `at_start`, have begun. It must be made with ACU_EVENT_DISABLE_TIMING. */
    acu_event *programmatic_event;
    bool at_start;
    acu_event *begun_event; /* recorded when all blocks have begun; since CUDA 12.3 */

    unsigned memory_domain;          /* 1: the remote domain; since CUDA 12.0 */
    const acu_access_window *window; /* memory that L2 treats in its own way */

    const acu_grid_more *more; /* what few launches need; or NULL */

    /* Other attributes of CUDA, which are added last. */
    const struct cudaLaunchAttribute_st *raw;
    unsigned raw_count;
} acu_grid;

/**
 * Makes a grid of as many blocks of `threads` threads as `n` threads need. If either number is 0,
 * the launch fails.
 */
static inline acu_grid acu_grid_1d(size_t n, size_t threads) {
    acu_grid grid = {{0, 0, 0}, {0, 0, 0}, 0,        0, false,    {0, 0, 0}, {0, 0, 0}, 0, false,
                     ACU_NULL,  false,     ACU_NULL, 0, ACU_NULL, ACU_NULL,  ACU_NULL,  0};
    grid.blocks.x = threads ? n / threads + (n % threads != 0) : 0;
    grid.threads.x = threads;
    return grid;
}

/** Makes a grid in two dimensions, as acu_grid_1d() does in one. */
static inline acu_grid acu_grid_2d(size_t nx, size_t ny, size_t threads_x, size_t threads_y) {
    acu_grid grid = acu_grid_1d(nx, threads_x);
    grid.blocks.y = threads_y ? ny / threads_y + (ny % threads_y != 0) : 0;
    grid.threads.y = threads_y;
    if (grid.blocks.y == 0) /* 0 would mean 1 in y: let the launch fail */
        grid.blocks.x = 0;
    return grid;
}

/** Makes a grid in three dimensions, as acu_grid_1d() does in one. */
static inline acu_grid acu_grid_3d(acu_size3 n, acu_size3 threads) {
    acu_grid grid = acu_grid_2d(n.x, n.y, threads.x, threads.y);
    grid.blocks.z = threads.z ? n.z / threads.z + (n.z % threads.z != 0) : 0;
    grid.threads.z = threads.z;
    if (grid.blocks.z == 0)
        grid.blocks.x = 0;
    return grid;
}

/* ---- launching ---- */

enum { ACU_MAX_ARGUMENTS = 64 };

/**
 * Launches a kernel on a stream, and does not wait.
 *
 * `args` and what they point to are not needed after the call. The call allocates nothing. Errors
 * that are found before anything is done: ACU_ERROR_ARGUMENT (too few or too many arguments, a
 * wrong size, no blocks, no threads), ACU_ERROR_DTYPE (a float for an integer, or an integer for a
 * pointer), ACU_ERROR_DEVICE (stream, kernel and buffers are of different devices), ACU_ERROR_LIMIT
 * (more than the device or the kernel can have), ACU_ERROR_HANDLE, and 801 where the runtime lacks
 * something that the grid asks for. CUDA's own errors may be those of earlier kernels.
 */
ACU_CHECKED acu_result acu_launch_args(acu_stream *stream, acu_kernel *kernel, const acu_grid *grid,
                                       const acu_arg *args, size_t count);

/** The size of a launch, which is all that most grids have. */
typedef struct acu_launch_size {
    acu_size3 blocks, threads; /* as those of a grid */
    size_t shared_bytes;
} acu_launch_size;

/**
 * Launches a kernel as acu_launch_args() does, on a grid that has a size and nothing else.
 * acu_launch() does so where the grid is one, which then needs not be put into memory. Errors:
 * those of acu_launch_args().
 */
ACU_CHECKED acu_result acu_launch_sized(acu_stream *stream, acu_kernel *kernel,
                                        const acu_launch_size *size, const acu_arg *args,
                                        size_t count);

/** A list of arguments that a program makes as it runs. One thread at a time may use a list. */
typedef struct acu_args acu_args;

/** Makes an empty list; the caller owns it. */
ACU_CHECKED acu_result acu_args_create(acu_args **args);

/**
 * Adds an argument: `acu_args_add(args, acu_arg_of(n))`. Bytes are copied, and buffers kept alive.
 *
 * Errors: ACU_ERROR_RANGE beyond ACU_MAX_ARGUMENTS, ACU_ERROR_HANDLE, ACU_ERROR_HOST_MEMORY.
 */
ACU_CHECKED acu_result acu_args_add(acu_args *args, acu_arg arg);

/** Replaces an argument by one of the same size. Errors: ACU_ERROR_RANGE beyond the last one. */
ACU_CHECKED acu_result acu_args_set(acu_args *args, size_t index, acu_arg arg);

/** Removes all arguments, so that the list can be used again. */
ACU_CHECKED acu_result acu_args_clear(acu_args *args);

/** Returns the number of arguments; 0 where the handle is not a list. */
size_t acu_args_count(const acu_args *args);

/** Adds an owner and returns the list; NULL where the handle is not a list. */
acu_args *acu_args_retain(acu_args *args);

/**
 * Takes an owner away; the last release destroys the list. Everything else is as for
 * acu_stream_release().
 */
acu_result acu_args_release(acu_args *args);

void acu_args_cleanup(acu_args **args);

/** Writes one line that names the list, as errors do; acu_stream_describe() has the rules. */
size_t acu_args_describe(const acu_args *args, char *text, size_t size);

/**
 * Launches a kernel as acu_launch_args() does, with the arguments of a list, which stays as it is.
 */
ACU_CHECKED acu_result acu_launch_list(acu_stream *stream, acu_kernel *kernel, const acu_grid *grid,
                                       const acu_args *args);

/* ---- acu_arg_of() and acu_launch(): macros in C, functions in C++ ---- */

/* Returns whether the grid has nothing but its size. */
static inline bool acu_grid_is_plain(const acu_grid *grid_) {
    const acu_size3 *c_ = &grid_->cluster, *p_ = &grid_->preferred_cluster;
    const size_t sizes_ = c_->x | c_->y | c_->z | p_->x | p_->y | p_->z;
    const unsigned numbers_ = ACU_CAST(unsigned, grid_->priority) | grid_->cluster_scheduling |
                              grid_->memory_domain | grid_->raw_count;
    return sizes_ == 0 && numbers_ == 0 && !grid_->cooperative && !grid_->programmatic &&
           !grid_->programmatic_event && !grid_->at_start && !grid_->begun_event &&
           !grid_->window && !grid_->more;
}

/* Launches on any grid. One of acu_grid_1d() and the like, of which the compiler knows that it has
 * nothing but a size, is not put into memory. The names end with _, because a program's own
 * variables would be shadowed here, which -Wshadow reports. */
ACU_CHECKED static inline acu_result acu_launch_on(acu_stream *stream_, acu_kernel *kernel_,
                                                   const acu_grid grid_, const acu_arg *args_,
                                                   size_t count_) {
#if !defined(__clang__) /* clang does not know at this point what a grid has */
    const bool plain_ = acu_grid_is_plain(&grid_);
    if (__builtin_constant_p(plain_) && plain_) {
        /* Number by number, because gcc keeps structs in memory that are copied as a whole. */
        const acu_launch_size size_ = {{grid_.blocks.x, grid_.blocks.y, grid_.blocks.z},
                                       {grid_.threads.x, grid_.threads.y, grid_.threads.z},
                                       grid_.shared_bytes};
        return acu_launch_sized(stream_, kernel_, &size_, args_, count_);
    }
#endif
    return acu_launch_args(stream_, kernel_, &grid_, args_, count_);
}

static inline acu_arg acu_arg_address(const volatile void *address) {
    acu_arg arg = {ACU_ARG_ADDRESS, sizeof(void *), {0}};
    __builtin_memcpy(&arg.value.pointer, &address,
                     sizeof address); /* a cast drops `volatile` with a warning */
    return arg;
}

static inline acu_arg acu_arg_same(acu_arg arg) {
    return arg;
}

/* A const buffer can only be an argument that the kernel reads. */
static inline acu_arg acu_arg_constant(const acu_buffer *buffer) {
    acu_arg arg = {ACU_ARG_IN, sizeof(void *), {0}};
    __builtin_memcpy(&arg.value.buffer, &buffer, sizeof(void *));
    return arg;
}

/* Handles that no kernel can use. Without this list their addresses would pass as raw pointers. */
#define ACU_EACH_HANDLE(DO)                                                                        \
    DO(struct acu_stream)                                                                          \
    DO(struct acu_event)                                                                           \
    DO(struct acu_array)                                                                           \
    DO(struct acu_mipmap)                                                                          \
    DO(struct acu_pool)                                                                            \
    DO(struct acu_allocator)                                                                       \
    DO(struct acu_code)                                                                            \
    DO(struct acu_code_cache)                                                                      \
    DO(struct acu_module)                                                                          \
    DO(struct acu_kernel)                                                                          \
    DO(struct acu_args)                                                                            \
    DO(struct acu_graph)                                                                           \
    DO(struct acu_exec)                                                                            \
    DO(struct acu_execution_context)                                                               \
    DO(struct acu_domain)                                                                          \
    DO(struct acu_physical)                                                                        \
    DO(struct acu_virtual)                                                                         \
    DO(struct acu_multicast)                                                                       \
    DO(struct acu_share)                                                                           \
    DO(struct acu_transfer)                                                                        \
    DO(struct acu_external_memory)                                                                 \
    DO(struct acu_external_semaphore)                                                              \
    DO(struct acu_graphics)                                                                        \
    DO(struct acu_listener)                                                                        \
    DO(struct acu_client)                                                                          \
    DO(struct acu_mark)                                                                            \
    DO(struct acu_program)                                                                         \
    DO(struct acu_replay)                                                                          \
    DO(struct acu_sim_semaphore)                                                                   \
    DO(acu_buffer *)
struct acu_allocator;
struct acu_graph;
struct acu_exec;
struct acu_execution_context;
struct acu_domain;
struct acu_physical;
struct acu_virtual;
struct acu_multicast;
struct acu_share;
struct acu_transfer;
struct acu_external_memory;
struct acu_external_semaphore;
struct acu_graphics;
struct acu_listener;
struct acu_client;
struct acu_mark;
struct acu_program;
struct acu_replay;
struct acu_sim_semaphore;

ACU_END_C

#define ACU_EACH_SCALAR(DO)                                                                        \
    DO(plain, char, ACU_ARG_SIGNED)                                                                \
    DO(schar, signed char, ACU_ARG_SIGNED)                                                         \
    DO(short, short, ACU_ARG_SIGNED)                                                               \
    DO(int, int, ACU_ARG_SIGNED)                                                                   \
    DO(long, long, ACU_ARG_SIGNED)                                                                 \
    DO(llong, long long, ACU_ARG_SIGNED)                                                           \
    DO(uchar, unsigned char, ACU_ARG_UNSIGNED)                                                     \
    DO(ushort, unsigned short, ACU_ARG_UNSIGNED)                                                   \
    DO(uint, unsigned int, ACU_ARG_UNSIGNED)                                                       \
    DO(ulong, unsigned long, ACU_ARG_UNSIGNED)                                                     \
    DO(ullong, unsigned long long, ACU_ARG_WORD)                                                   \
    DO(boolean, bool, ACU_ARG_UNSIGNED)                                                            \
    DO(float, float, ACU_ARG_FLOAT)                                                                \
    DO(double, double, ACU_ARG_FLOAT)

#define ACU_DEFINE_SCALAR(name, type, kind)                                                        \
    ACU_SCALAR_FUNCTION(name, type) {                                                              \
        acu_arg arg = {kind, sizeof value, {0}};                                                   \
        __builtin_memcpy(&arg.value, &value, sizeof value);                                        \
        return arg;                                                                                \
    }

#if !defined(__cplusplus)

#define ACU_SCALAR_FUNCTION(name, type) static inline acu_arg acu_arg_##name(type value)
ACU_EACH_SCALAR(ACU_DEFINE_SCALAR)

/* The compiler names this type in its error where an argument is such a handle. */
typedef struct acu_no_handle {
    int unused;
} acu_no_handle;
static inline acu_arg acu_arg_refused(acu_no_handle handle) {
    (void)handle;
    return acu_arg_address(NULL);
}

/**
 * Makes an argument of a value: a number, a raw pointer, a buffer, a texture, a surface, a tensor
 * map, a block, or an acu_arg, which stays as it is. A const buffer becomes acu_in(). Handles of
 * other objects do not compile.
 */
#define acu_arg_of(value)                                                                          \
    _Generic((value),                                                                              \
        ACU_EACH_SCALAR(ACU_SCALAR_CASE) ACU_EACH_HANDLE(ACU_HANDLE_CASE) acu_buffer *: acu_inout, \
        const acu_buffer *: acu_arg_constant,                                                      \
        acu_texture *: acu_in_texture,                                                             \
        acu_surface *: acu_inout_surface,                                                          \
        acu_tensor_map *: acu_inout_tensor,                                                        \
        struct acu_block *: acu_inout_block,                                                       \
        acu_arg: acu_arg_same,                                                                     \
        default: acu_arg_address)(value)
#define ACU_SCALAR_CASE(name, type, kind)                                                          \
    type:                                                                                          \
    acu_arg_##name,
#define ACU_HANDLE_CASE(type) type * : acu_arg_refused, type const * : acu_arg_refused,

/**
 * Launches a kernel: `acu_launch(stream, kernel, grid, arguments…)`, up to 32 of them.
 *
 * The macro does what acu_launch_args() does, with acu_arg_of() around each argument. A grid that
 * is a compound literal needs parentheses around it, as in every macro.
 */
#define acu_launch(stream, kernel, ...)                                                            \
    acu_launch_on((stream), (kernel), ACU_FIRST(__VA_ARGS__, 0), ACU_LAUNCH_ARGS(__VA_ARGS__),     \
                  ACU_COUNT(__VA_ARGS__) - 1)

/* The grid, and the arguments after it, as arrays. */
#define ACU_LAUNCH_GRID(...)                                                                       \
    (const acu_grid[]) {                                                                           \
        ACU_FIRST(__VA_ARGS__, 0)                                                                  \
    }
#define ACU_LAUNCH_ARGS(...)                                                                       \
    (const acu_arg[]) {                                                                            \
        ACU_CONCAT(ACU_ARGS_, ACU_COUNT(__VA_ARGS__))(__VA_ARGS__, 0)                              \
            acu_arg_same((acu_arg){ACU_ARG_BYTES, 0, {0}})                                         \
    }
#define ACU_FIRST(first, ...) first
#define ACU_CONCAT(a, b)      ACU_CONCAT_(a, b)
#define ACU_CONCAT_(a, b)     a##b
/* Up to 95 arguments are counted, so that the 33rd is refused: no macro is ACU_ARGS_MORE_THAN_32.
 */
#define ACU_COUNT(...)                                                                             \
    ACU_COUNT_ALL(__VA_ARGS__, ACU_MORE_21, ACU_MORE_21, ACU_MORE_21, 33, 32, 31, 30, 29, 28, 27,  \
                  26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6,  \
                  5, 4, 3, 2, 1, 0)
#define ACU_COUNT_ALL(...) ACU_COUNT_(__VA_ARGS__)
#define ACU_MORE_21        ACU_MORE_7, ACU_MORE_7, ACU_MORE_7
#define ACU_MORE_7                                                                                 \
    MORE_THAN_32, MORE_THAN_32, MORE_THAN_32, MORE_THAN_32, MORE_THAN_32, MORE_THAN_32, MORE_THAN_32
#define ACU_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17,     \
                   a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, \
                   a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, \
                   a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, a65, \
                   a66, a67, a68, a69, a70, a71, a72, a73, a74, a75, a76, a77, a78, a79, a80, a81, \
                   a82, a83, a84, a85, a86, a87, a88, a89, a90, a91, a92, a93, a94, a95, a96, n,   \
                   ...)                                                                            \
    n
#define ACU_ARGS_1(grid, ...)
#define ACU_ARGS_2(grid, x, ...)  acu_arg_of(x),
#define ACU_ARGS_3(grid, x, ...)  acu_arg_of(x), ACU_ARGS_2(grid, __VA_ARGS__)
#define ACU_ARGS_4(grid, x, ...)  acu_arg_of(x), ACU_ARGS_3(grid, __VA_ARGS__)
#define ACU_ARGS_5(grid, x, ...)  acu_arg_of(x), ACU_ARGS_4(grid, __VA_ARGS__)
#define ACU_ARGS_6(grid, x, ...)  acu_arg_of(x), ACU_ARGS_5(grid, __VA_ARGS__)
#define ACU_ARGS_7(grid, x, ...)  acu_arg_of(x), ACU_ARGS_6(grid, __VA_ARGS__)
#define ACU_ARGS_8(grid, x, ...)  acu_arg_of(x), ACU_ARGS_7(grid, __VA_ARGS__)
#define ACU_ARGS_9(grid, x, ...)  acu_arg_of(x), ACU_ARGS_8(grid, __VA_ARGS__)
#define ACU_ARGS_10(grid, x, ...) acu_arg_of(x), ACU_ARGS_9(grid, __VA_ARGS__)
#define ACU_ARGS_11(grid, x, ...) acu_arg_of(x), ACU_ARGS_10(grid, __VA_ARGS__)
#define ACU_ARGS_12(grid, x, ...) acu_arg_of(x), ACU_ARGS_11(grid, __VA_ARGS__)
#define ACU_ARGS_13(grid, x, ...) acu_arg_of(x), ACU_ARGS_12(grid, __VA_ARGS__)
#define ACU_ARGS_14(grid, x, ...) acu_arg_of(x), ACU_ARGS_13(grid, __VA_ARGS__)
#define ACU_ARGS_15(grid, x, ...) acu_arg_of(x), ACU_ARGS_14(grid, __VA_ARGS__)
#define ACU_ARGS_16(grid, x, ...) acu_arg_of(x), ACU_ARGS_15(grid, __VA_ARGS__)
#define ACU_ARGS_17(grid, x, ...) acu_arg_of(x), ACU_ARGS_16(grid, __VA_ARGS__)
#define ACU_ARGS_18(grid, x, ...) acu_arg_of(x), ACU_ARGS_17(grid, __VA_ARGS__)
#define ACU_ARGS_19(grid, x, ...) acu_arg_of(x), ACU_ARGS_18(grid, __VA_ARGS__)
#define ACU_ARGS_20(grid, x, ...) acu_arg_of(x), ACU_ARGS_19(grid, __VA_ARGS__)
#define ACU_ARGS_21(grid, x, ...) acu_arg_of(x), ACU_ARGS_20(grid, __VA_ARGS__)
#define ACU_ARGS_22(grid, x, ...) acu_arg_of(x), ACU_ARGS_21(grid, __VA_ARGS__)
#define ACU_ARGS_23(grid, x, ...) acu_arg_of(x), ACU_ARGS_22(grid, __VA_ARGS__)
#define ACU_ARGS_24(grid, x, ...) acu_arg_of(x), ACU_ARGS_23(grid, __VA_ARGS__)
#define ACU_ARGS_25(grid, x, ...) acu_arg_of(x), ACU_ARGS_24(grid, __VA_ARGS__)
#define ACU_ARGS_26(grid, x, ...) acu_arg_of(x), ACU_ARGS_25(grid, __VA_ARGS__)
#define ACU_ARGS_27(grid, x, ...) acu_arg_of(x), ACU_ARGS_26(grid, __VA_ARGS__)
#define ACU_ARGS_28(grid, x, ...) acu_arg_of(x), ACU_ARGS_27(grid, __VA_ARGS__)
#define ACU_ARGS_29(grid, x, ...) acu_arg_of(x), ACU_ARGS_28(grid, __VA_ARGS__)
#define ACU_ARGS_30(grid, x, ...) acu_arg_of(x), ACU_ARGS_29(grid, __VA_ARGS__)
#define ACU_ARGS_31(grid, x, ...) acu_arg_of(x), ACU_ARGS_30(grid, __VA_ARGS__)
#define ACU_ARGS_32(grid, x, ...) acu_arg_of(x), ACU_ARGS_31(grid, __VA_ARGS__)
#define ACU_ARGS_33(grid, x, ...) acu_arg_of(x), ACU_ARGS_32(grid, __VA_ARGS__)

#else

#define ACU_SCALAR_FUNCTION(name, type) inline acu_arg acu_arg_of(type value)
ACU_EACH_SCALAR(ACU_DEFINE_SCALAR)

#define ACU_REFUSE_HANDLE(type) acu_arg acu_arg_of(type const *handle) = delete;
ACU_EACH_HANDLE(ACU_REFUSE_HANDLE)
#undef ACU_REFUSE_HANDLE

/**
 * Makes an argument of a value: a number, a raw pointer, a buffer, a texture, a surface, a tensor
 * map, a block, or an acu_arg, which stays as it is. A const buffer becomes acu_in(). Handles of
 * other objects do not compile.
 */
inline acu_arg acu_arg_of(const volatile void *address) {
    return acu_arg_address(address);
}
inline acu_arg acu_arg_of(decltype(nullptr)) {
    return acu_arg_address(nullptr);
}
inline acu_arg acu_arg_of(acu_buffer *buffer) {
    return acu_inout(buffer);
}
inline acu_arg acu_arg_of(const acu_buffer *buffer) {
    return acu_arg_constant(buffer);
}
inline acu_arg acu_arg_of(acu_texture *texture) {
    return acu_in_texture(texture);
}
inline acu_arg acu_arg_of(acu_surface *surface) {
    return acu_inout_surface(surface);
}
inline acu_arg acu_arg_of(acu_tensor_map *map) {
    return acu_inout_tensor(map);
}
inline acu_arg acu_arg_of(struct acu_block *block) {
    return acu_inout_block(block);
}
inline acu_arg acu_arg_of(acu_arg arg) {
    return arg;
}

/** Launches a kernel by acu_launch_args(), with acu_arg_of() around each argument. */
template <typename... Values>
ACU_CHECKED inline acu_result acu_launch(acu_stream *stream, acu_kernel *kernel,
                                         const acu_grid &grid, const Values &...values) {
    const acu_arg args[] = {acu_arg_of(values)..., acu_bytes(nullptr, 0)};
    return acu_launch_on(stream, kernel, grid, args, sizeof...(values));
}

#endif

#undef ACU_DEFINE_SCALAR
#undef ACU_SCALAR_FUNCTION

#endif
