/*
 * Modules: code for a device, as PTX, cubin, fatbin or CUDA C source, and the variables in it.
 *
 * A module belongs to a device. Its kernels and the buffers on its variables keep it alive. Since
 * CUDA 12.8 a module is a library of the runtime (cudaLibrary_t), before that a module of the
 * driver (CUmodule) in the device's primary context. Only the raw handles differ.
 *
 * Several threads may use one module.
 */
#ifndef ACU_MODULE_H
#define ACU_MODULE_H

#include <anycuda/buffer.h>

struct CUlib_st; /* what CUDA calls cudaLibrary_t and CUlibrary */
struct CUmod_st; /* what CUDA calls CUmodule */

ACU_BEGIN_C

/** Code that is loaded on a device. */
typedef struct acu_module acu_module;
/** A function of a module, to be launched: <anycuda/kernel.h>. */
typedef struct acu_kernel acu_kernel;
/** Code that is not loaded: <anycuda/code.h>. */
typedef struct acu_code acu_code;
/** A folder of compiled code: <anycuda/code_cache.h>. */
typedef struct acu_code_cache acu_code_cache;

/** How much the driver's compiler optimises PTX. */
typedef enum acu_jit_level {
    ACU_JIT_LEVEL_DEFAULT, /* CUDA's default: the highest */
    ACU_JIT_O0,
    ACU_JIT_O1,
    ACU_JIT_O2,
    ACU_JIT_O3,
    ACU_JIT_O4
} acu_jit_level;

/** Where loads from global memory are cached. */
typedef enum acu_jit_cache {
    ACU_JIT_CACHE_DEFAULT,
    ACU_JIT_CACHE_L2, /* not in L1 (-dlcm=cg) */
    ACU_JIT_CACHE_L1  /* also in L1 (-dlcm=ca) */
} acu_jit_cache;

/** Options of the driver's compiler for PTX; zero is CUDA's default. */
typedef struct acu_jit_options {
    unsigned max_registers;     /* per thread */
    unsigned threads_per_block; /* blocks must be able to have at least so many */
    unsigned min_blocks;        /* per multiprocessor, with max_threads; since CUDA 12.3 */
    unsigned max_threads;       /* per block; since CUDA 12.3 */
    acu_jit_level level;
    acu_jit_cache cache;
    bool debug;                /* debug information */
    bool lines;                /* line information */
    bool verbose;              /* the log has registers, shared memory … of each kernel */
    bool position_independent; /* since CUDA 12.0 */
    bool override_directives;  /* the numbers above replace those in the PTX; since CUDA 12.4 */
    size_t log_bytes;          /* room for each of the two logs, below 4 GiB; 0: 8 KiB */
} acu_jit_options;

/** Code to load: exactly one of the first four sources. The call copies what it needs. */
typedef struct acu_module_source {
    const char *ptx;   /* PTX, ended by a zero */
    const void *image; /* PTX, cubin or fatbin */
    size_t size;       /* of the image, in bytes */
    const char *file;  /* path of a file with PTX, cubin or fatbin */
    acu_code *code;    /* compiled code, by its cubin, fatbin or PTX */
    acu_jit_options jit;
} acu_module_source;

/**
 * Loads code for a device; the caller owns the module.
 *
 * With lazy loading, CUDA's default, code may be compiled, and fail, only when the first kernel is
 * asked for. Errors: ACU_ERROR_ARGUMENT (not exactly one source, no such file, a cubin or fatbin
 * that is incomplete, a text that is not PTX, code that must be linked first), ACU_ERROR_HANDLE,
 * ACU_ERROR_HOST_MEMORY, and CUDA's own, with the log of the driver's compiler in the message. PTX
 * that is cut off is the compiler's to judge: inside a function it does not compile, between two
 * functions the module only lacks the later ones.
 */
ACU_CHECKED acu_result acu_module_load(acu_device device, const acu_module_source *source,
                                       acu_module **module);

/** A header that `#include <name>` finds while source is compiled. */
typedef struct acu_module_header {
    const char *name, *text;
} acu_module_header;

/** CUDA C++ source to compile; the lists may be NULL. The call copies what it needs. */
typedef struct acu_module_program {
    const char *text;
    const char *name;                 /* in messages; NULL: "program.cu" */
    const acu_module_header *headers; /* ends with a name that is NULL */
    const char *const *options; /* of the compiler, such as "--use_fast_math"; ends with NULL */
    /* Kernels by their C++ names, such as "scale<float>", so that acu_module_get_kernel() and
     * acu_module_get_global() find them under these; ends with NULL. Kernels that are `extern "C"`
     * need none. */
    const char *const *expressions;
    acu_jit_options jit;
    acu_code_cache *cache; /* NULL: that of the variable ANYCUDA_CODE_CACHE, or else none */
} acu_module_program;

/**
 * Compiles CUDA C++ source for a device with NVRTC, and loads it; the caller owns the module.
 *
 * Unless an option names an architecture, the target is the device's own, or else the newest that
 * this NVRTC knows and the device can run. Errors: ACU_ERROR_COMPILE with the beginning of the
 * compiler's log in the message (acu_module_compile_log() has all of it), 303 where there is no
 * NVRTC, and those of acu_module_load().
 */
ACU_CHECKED acu_result acu_module_compile(acu_device device, const acu_module_program *program,
                                          acu_module **module);

/**
 * Returns the log of this thread's last acu_module_compile(), acu_code_compile() or
 * acu_code_link(); never NULL. The text is valid until the thread's next such call.
 */
const char *acu_module_compile_log(void);

/**
 * Makes a handle for a raw library of the runtime (CUDA 12.8 or newer) that stays someone else's;
 * the caller owns the handle.
 *
 * The last release leaves the library alone. The library must stay loaded until the handle is
 * released.
 */
ACU_CHECKED acu_result acu_module_wrap(acu_device device, struct CUlib_st *raw,
                                       acu_module **module);

/**
 * Makes a handle that owns a raw library: the last release destroys the handle and unloads the
 * library.
 */
ACU_CHECKED acu_result acu_module_adopt(acu_device device, struct CUlib_st *raw,
                                        acu_module **module);

/**
 * Makes a handle for a raw module of the driver, in the device's primary context, that stays
 * someone else's; the caller owns the handle.
 *
 * The last release leaves the raw module alone. The raw module must stay loaded until the handle is
 * released.
 */
ACU_CHECKED acu_result acu_module_wrap_driver(acu_device device, struct CUmod_st *raw,
                                              acu_module **module);

/**
 * Makes a handle that owns a raw module of the driver: the last release destroys the handle and
 * unloads the module.
 */
ACU_CHECKED acu_result acu_module_adopt_driver(acu_device device, struct CUmod_st *raw,
                                               acu_module **module);

/**
 * Returns the cudaLibrary_t, which is also a CUlibrary; NULL where the module is a CUmodule, or the
 * handle is not a module. The raw library stays the handle's.
 */
struct CUlib_st *acu_module_raw(const acu_module *module);

/**
 * Returns the CUmodule, which stays the handle's; NULL where the module is a cudaLibrary_t, or the
 * handle is not a module.
 */
struct CUmod_st *acu_module_raw_driver(const acu_module *module);

/** Adds an owner and returns the module; NULL where the handle is not a module. */
acu_module *acu_module_retain(acu_module *module);

/**
 * Takes an owner away; kernels and buffers of the module are owners, too.
 *
 * The last release waits until the module's kernels that run have ended, and unloads it. Everything
 * else is as for acu_stream_release().
 */
acu_result acu_module_release(acu_module *module);

void acu_module_cleanup(acu_module **module);

/** Writes one line that names the module, as errors do; acu_stream_describe() has the rules. */
size_t acu_module_describe(const acu_module *module, char *text, size_t size);

/** Returns the module's device; ACU_DEVICE_CURRENT where the handle is not a module. */
acu_device acu_module_device(const acu_module *module);

/**
 * Returns the log of the driver's compiler, which lives as long as the module; "" where it is
 * empty.
 */
const char *acu_module_log(const acu_module *module);

/**
 * Finds a kernel by its name; the caller owns the kernel, which keeps the module alive.
 *
 * This call also asks CUDA, once, for what launches are checked against. Errors: 500
 * (cudaErrorSymbolNotFound), with names that exist, where the module has no such kernel; CUDA's
 * own.
 */
ACU_CHECKED acu_result acu_module_get_kernel(acu_module *module, const char *name,
                                             acu_kernel **kernel);

/**
 * Lists the names of the module's kernels, which live as long as the module; `count` as for
 * acu_graph_get_nodes().
 *
 * The names in PTX are always known. Those in other code are known with a driver 12.4 or newer
 * (and, since CUDA 12.8, with any runtime); otherwise the result is 801.
 */
ACU_CHECKED acu_result acu_module_get_kernel_names(acu_module *module, const char **names,
                                                   size_t *count);

/**
 * Asks for the address of a unified function: one that the host and the device call by the same
 * address, on systems whose devices have cudaDevAttrUnifiedFunctionPointers. The address is valid
 * as long as the module.
 *
 * Errors: 500 where the module has no such function, or no device has unified functions; 801 before
 * CUDA 12.8.
 */
ACU_CHECKED acu_result acu_module_get_unified_function(acu_module *module, const char *name,
                                                       void **function);

/**
 * Makes a buffer on a `__device__`, `__constant__` or `__managed__` variable of the module, which
 * the buffer keeps alive; the caller owns the buffer.
 *
 * `stream` becomes the buffer's own stream. The number of elements follows from the variable's
 * size. Kernels that use the variable by its name are not seen as uses of the buffer: the caller
 * orders them. Errors: ACU_ERROR_DTYPE where the size is no multiple of the element's,
 * ACU_ERROR_DEVICE where the stream is on another device, 500 where there is no such variable.
 */
ACU_CHECKED acu_result acu_module_get_global(acu_module *module, const char *name,
                                             acu_stream *stream, acu_dtype dtype,
                                             acu_buffer **buffer);

/** When code is loaded onto the device, with CUDA's numbers (CUmoduleLoadingMode). */
typedef enum acu_loading_mode {
    ACU_LOADING_EAGER = 1, /* all of a module by acu_module_load() */
    ACU_LOADING_LAZY = 2   /* each kernel at its first use */
} acu_loading_mode;

/**
 * Asks when this process's driver loads code.
 *
 * The environment variable CUDA_MODULE_LOADING chooses (EAGER or LAZY), before the first call of
 * CUDA; the default is LAZY since CUDA 12.2. Errors: 303 where there is no driver.
 */
ACU_CHECKED acu_result acu_module_get_loading_mode(acu_loading_mode *mode);

ACU_END_C

#endif
