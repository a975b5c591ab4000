/*
 * What is loaded: an image is what was read of the PTX, a module is an image on one device, a
 * library an image with a module for each context that needs one. A kernel belongs to a library
 * and has a function per context; a function belongs to a module.
 */
#ifndef ACU_SIM_CODE_MODULE_H
#define ACU_SIM_CODE_MODULE_H

#include "sim/noun.h"
#include "sim/code/image.h"

typedef struct acu_sim_module acu_sim_module;
typedef struct acu_sim_library acu_sim_library;

struct acu_sim_module {
    unsigned refs; /* its handle's, and of launches */
    bool loaded;
    acu_sim_image *image;
    acu_sim_device *device;
    acu_sim_library *library;    /* NULL: loaded alone */
    acu_sim_function *functions; /* as the image's entries */
    void **variables;            /* as the image's */
    const void *where;
    acu_sim_context *context;
    acu_sim_module *next, *next_of_library;
};

typedef struct acu_sim_kernel_handle { /* a CUkernel */
    acu_sim_library *library;
    size_t index;     /* in the image; SIZE_MAX: not looked for yet */
    const char *name; /* what the program knows it by; NULL: by its index */
} acu_sim_kernel_handle;

struct acu_sim_library {
    acu_sim_image *image; /* with nothing in it, if it could not be read */
    cudaError_t why;      /* it could not: who needs what is in it is told */
    /* Compiled into the program, and read when it is needed; NULL: the program loaded it. */
    const void *compiled;
    bool read;
    acu_sim_module *modules;        /* one for each context where something of it was needed */
    acu_sim_kernel_handle *kernels; /* as the image's entries */
    void **managed;                 /* as the image's variables */
    const void *where;
    acu_sim_library *next;
};

cudaError_t acu_sim_module_load(acu_sim_context *context, const void *code, size_t size,
                                const acu_sim_options *options, const void *where,
                                acu_sim_module **module);
cudaError_t acu_sim_library_load(const void *code, size_t size, const acu_sim_options *options,
                                 const void *where, acu_sim_library **library);

/* What is in the program: it outlives acu_sim_reset(). NULL without memory. */
acu_sim_library *acu_sim_library_compiled(const void *code);

/* They wait for what runs; the handles are gone. What was prepared with their kernels fails. */
void acu_sim_module_unload(acu_sim_module *module);
void acu_sim_library_unload(acu_sim_library *library);
void acu_sim_module_release(acu_sim_module *module);

/* NULL if the handle is none of these. */
acu_sim_module *acu_sim_module_of(const void *handle);
acu_sim_library *acu_sim_library_of(const void *handle);
acu_sim_kernel_handle *acu_sim_kernel_of(const void *handle);
acu_sim_function *acu_sim_function_of(const void *handle);

/* Why what is in it cannot be had. What is compiled into the program is read now. */
cudaError_t acu_sim_library_read(acu_sim_library *library);

/* The library's module in the context, loaded now if it was not yet. */
cudaError_t acu_sim_library_module(acu_sim_library *library, acu_sim_context *context,
                                   acu_sim_module **module);

/* Of a kernel that was found. */
acu_sim_entry *acu_sim_kernel_entry(const acu_sim_kernel_handle *kernel);

/* Looks for it in its library. */
cudaError_t acu_sim_kernel_find(acu_sim_kernel_handle *kernel);

/* The handle of a kernel of the program is one from now on, or no longer. */
bool acu_sim_kernel_publish(acu_sim_kernel_handle *kernel, bool known);

/* What the runtime takes for a kernel: one, or the address that the program registered for one. */
acu_sim_kernel_handle *acu_sim_kernel_of_symbol(const void *function);

extern const acu_sim_noun acu_sim_module_noun;

#endif
