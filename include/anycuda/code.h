/*
 * Code that is compiled and not loaded: PTX, machine code, or what a linker makes such of.
 *
 * A program compiles once, keeps or ships the images, and loads them on any number of devices. Code
 * belongs to no device. It never changes after it was made, so several threads may use it.
 */
#ifndef ACU_CODE_H
#define ACU_CODE_H

#include <anycuda/module.h>

ACU_BEGIN_C

/** What bytes of code are. */
typedef enum acu_code_form {
    ACU_CODE_PTX,
    ACU_CODE_CUBIN,  /* machine code of one architecture */
    ACU_CODE_LTO,    /* LTO IR, which only a linker takes: what NVRTC makes with "-dlto" */
    ACU_CODE_FATBIN, /* several of these */
    ACU_CODE_OBJECT, /* an object file of the host's, as nvcc makes it with -dc; for the linker */
    ACU_CODE_ARCHIVE /* a static library of such; for the linker */
} acu_code_form;

/** Where code comes from: exactly one of `bytes` and `file`. The call copies what it needs. */
typedef struct acu_code_source {
    const void *bytes;
    size_t size;
    const char *file; /* path of a file */
    const char *name; /* in messages of the linker; NULL: the file's, or "code" */
} acu_code_source;

/**
 * Makes code of bytes, whose beginning says of which form they are; the caller owns it.
 *
 * Errors: ACU_ERROR_ARGUMENT (not exactly one source, no such file, nothing that is known, or
 * something incomplete), ACU_ERROR_HOST_MEMORY.
 */
ACU_CHECKED acu_result acu_code_create(const acu_code_source *source, acu_code **code);

/**
 * Compiles CUDA C++ source with NVRTC; the caller owns the code.
 *
 * The code has PTX, and a cubin where the target is a real architecture (sm_90), or, with the
 * option "-dlto", LTO IR alone. The device, which says what to compile for, is not looked at where
 * an option names an architecture: then neither a GPU nor a runtime is needed. `program->jit` is
 * not used. Errors: those of acu_module_compile() that are not of loading.
 */
ACU_CHECKED acu_result acu_code_compile(acu_device device, const acu_module_program *program,
                                        acu_code **code);

/** The library that links code. */
typedef enum acu_code_linker {
    ACU_CODE_LINKER_ANY, /* nvJitLink, or where that is missing or simulated, the driver */
    ACU_CODE_LINKER_NVJITLINK,
    ACU_CODE_LINKER_DRIVER /* in the context of the device; without LTO IR and `options` */
} acu_code_linker;

/** How code is linked; zero is the default. */
typedef struct acu_code_link_options {
    acu_code_linker linker;
    unsigned max_registers; /* per thread; 0: as many as the code needs */
    acu_jit_level level;
    bool debug;   /* debug information */
    bool lines;   /* line information */
    bool verbose; /* the log has registers, shared memory … of each kernel */
    /* Of nvJitLink, such as "-arch=sm_90" or "-ptx"; ends with NULL. */
    const char *const *options;
    acu_code_cache *cache; /* NULL: that of the variable ANYCUDA_CODE_CACHE, or else none */
} acu_code_link_options;

/**
 * Links code into a cubin, across calls from one part to the other; the caller owns the result,
 * which has the C++ names of all parts.
 *
 * A part takes part with its LTO IR, else with its cubin, fatbin, object file or archive, else with
 * its PTX. Parts that call each other are compiled with "--relocatable-device-code=true" or
 * "-dlto". Parts of LTO IR are optimised as one. The device, which says what to link for, is not
 * looked at by nvJitLink where an option names an architecture. `options` may be NULL. Errors:
 * ACU_ERROR_COMPILE and ACU_ERROR_ARGUMENT with the linker's log (acu_module_compile_log() has all
 * of it), 303 where nvJitLink is needed and missing, 801 where the linker is too old for the
 * architecture, ACU_ERROR_HANDLE, ACU_ERROR_HOST_MEMORY, and those of the driver.
 */
ACU_CHECKED acu_result acu_code_link(acu_device device, acu_code *const *parts, size_t count,
                                     const acu_code_link_options *options, acu_code **code);

/**
 * Asks for an image, which lives as long as the code; PTX ends with a zero that `size` does not
 * count.
 *
 * Errors: ACU_ERROR_STATE, with the forms that there are, where the code has no such image.
 */
ACU_CHECKED acu_result acu_code_get_image(const acu_code *code, acu_code_form form,
                                          const void **bytes, size_t *size);

/** Returns the compiler's or linker's log, which lives as long as the code; "" where it is empty.
 */
const char *acu_code_log(const acu_code *code);

/** Adds an owner and returns the code; NULL where the handle is not code. */
acu_code *acu_code_retain(acu_code *code);

/**
 * Takes an owner away; the last release frees the code. Modules that were loaded from it have what
 * they need. Everything else is as for acu_stream_release().
 */
acu_result acu_code_release(acu_code *code);

void acu_code_cleanup(acu_code **code);

/** Writes one line that names the code, as errors do; acu_stream_describe() has the rules. */
size_t acu_code_describe(const acu_code *code, char *text, size_t size);

ACU_END_C

#endif
