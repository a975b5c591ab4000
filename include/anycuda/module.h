/*
 * Modules: code for a device, as PTX, cubin, fatbin or CUDA C source, and the variables in it.
 *
 * A module belongs to a device. Its kernels and the buffers on its variables keep it alive. With
 * CUDA 12.8 and newer it is a library of the runtime (cudaLibrary_t), before that a module of the
 * driver (CUmodule) in the device's primary context; nothing but the raw handles differs.
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

/** How hard the driver's compiler tries, when it compiles PTX. */
typedef enum acu_jit_level {
    ACU_JIT_LEVEL_DEFAULT, /* CUDA's: the highest */
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

/** What the driver's compiler is told when it compiles PTX; zero is CUDA's default. */
typedef struct acu_jit_options {
    unsigned max_registers;     /* per thread */
    unsigned threads_per_block; /* compile for blocks of at least so many */
    unsigned min_blocks;        /* per multiprocessor; since CUDA 12.3, with max_threads */
    unsigned max_threads;       /* per block; since CUDA 12.3 */
    acu_jit_level level;
    acu_jit_cache cache;
    bool debug;                /* debug information */
    bool lines;                /* line information */
    bool verbose;              /* the log tells registers, shared memory … of each kernel */
    bool position_independent; /* since CUDA 12.0 */
    bool override_directives;  /* the numbers above rule over those in the PTX; since CUDA 12.4 */
    size_t log_bytes;          /* room for each of the logs, below 4 GiB; 0: 8 KiB */
} acu_jit_options;

/** Code to load: exactly one of `ptx`, `image` and `file`. Nothing of it is needed after the call.
 */
typedef struct acu_module_source {
    const char *ptx;   /* PTX, ended by a zero */
    const void *image; /* PTX, cubin or fatbin */
    size_t size;       /* of the image, in bytes */
    const char *file;  /* PTX, cubin or fatbin, in this file */
    acu_jit_options jit;
} acu_module_source;

/**
 * Loads code for a device; the caller owns the module.
 *
 * An image that is cut off, or a text that is no PTX, is refused here. Errors: ACU_ERROR_ARGUMENT
 * (not exactly one source, no such file, not an image), ACU_ERROR_HOST_MEMORY, CUDA's own, with
 * what the driver's compiler said in the message. With lazy loading, CUDA's default, it may say it
 * only when the first kernel is asked for.
 */
ACU_CHECKED acu_result acu_module_load(acu_device device, const acu_module_source *source,
                                       acu_module **module);

/** A header that `#include <name>` finds while source is compiled. */
typedef struct acu_module_header {
    const char *name, *text;
} acu_module_header;

/** CUDA C++ source to compile; the lists may be NULL. Nothing of it is needed after the call. */
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
} acu_module_program;

/**
 * Compiles CUDA C++ source for a device with NVRTC, and loads it; the caller owns the module.
 *
 * Unless an option names an architecture, the device's own is compiled for, or else the newest that
 * this NVRTC knows and the device can run. Errors: ACU_ERROR_COMPILE with the compiler's log in the
 * message, and whole in acu_module_compile_log(); 303 where there is no NVRTC; those of
 * acu_module_load().
 */
ACU_CHECKED acu_result acu_module_compile(acu_device device, const acu_module_program *program,
                                          acu_module **module);

/** What NVRTC said in this thread's last acu_module_compile(); never NULL, holds until the next. */
const char *acu_module_compile_log(void);

/** A handle for a runtime library (CUDA 12.8 or newer) of someone else, who unloads it later. */
ACU_CHECKED acu_result acu_module_wrap(acu_device device, struct CUlib_st *raw,
                                       acu_module **module);

/** Like acu_module_wrap(), but takes the library over: it is unloaded with the handle. */
ACU_CHECKED acu_result acu_module_adopt(acu_device device, struct CUlib_st *raw,
                                        acu_module **module);

/** A handle for a driver module of someone else, in the device's primary context. */
ACU_CHECKED acu_result acu_module_wrap_driver(acu_device device, struct CUmod_st *raw,
                                              acu_module **module);

/** Like acu_module_wrap_driver(), but takes the module over. */
ACU_CHECKED acu_result acu_module_adopt_driver(acu_device device, struct CUmod_st *raw,
                                               acu_module **module);

/** The cudaLibrary_t, which is a CUlibrary, too; it stays the handle's. NULL if it is a CUmodule.
 */
struct CUlib_st *acu_module_raw(const acu_module *module);

/** The CUmodule; it stays the handle's. NULL if it is a cudaLibrary_t. */
struct CUmod_st *acu_module_raw_driver(const acu_module *module);

/** One more owner; returns the module, NULL if it is none. */
acu_module *acu_module_retain(acu_module *module);

/**
 * One owner less; the last one, kernels and buffers of the module count as such, unloads it, after
 * what runs of it has ended: the calling thread waits. As acu_stream_release() otherwise.
 */
acu_result acu_module_release(acu_module *module);

void acu_module_cleanup(acu_module **module);

acu_device acu_module_device(const acu_module *module); /* ACU_DEVICE_CURRENT if it is no module */

/** What the driver's compiler said while loading; "" if nothing. It lives as long as the module. */
const char *acu_module_log(const acu_module *module);

/**
 * A kernel by its name; the caller owns it, and it keeps the module alive.
 *
 * What a launch is checked against is asked for here, once. Errors: 500 (cudaErrorSymbolNotFound)
 * if there is none of that name, with names that there are; CUDA's own.
 */
ACU_CHECKED acu_result acu_module_get_kernel(acu_module *module, const char *name,
                                             acu_kernel **kernel);

/**
 * The names of its kernels; the list lives as long as the module.
 *
 * Of PTX always; of other code with a driver 12.4 or newer and, from CUDA 12.8 on, any runtime:
 * otherwise 801.
 */
ACU_CHECKED acu_result acu_module_get_kernel_names(acu_module *module, const char **names,
                                                   size_t *count);

/**
 * A buffer on a `__device__`, `__constant__` or `__managed__` variable of the module, which it
 * keeps alive; the caller owns it.
 *
 * It is used on `stream` unless another is named. The count follows from the variable's size; it is
 * ACU_ERROR_DTYPE where that is not a multiple of the element's, ACU_ERROR_DEVICE where the stream
 * is of another device. 500 if there is none of that name. Uses by kernels that reach the variable
 * by its name are not seen: order them yourself.
 */
ACU_CHECKED acu_result acu_module_get_global(acu_module *module, const char *name,
                                             acu_stream *stream, acu_dtype dtype,
                                             acu_buffer **buffer);

ACU_END_C

#endif
