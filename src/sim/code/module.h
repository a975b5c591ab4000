/*
 * Modules and libraries. A module is an image in one context; a library is an image with a module
 * in each context that needs one. A kernel belongs to a library and has a function in each of its
 * modules; a function belongs to a module.
 */
#ifndef ACU_SIM_CODE_MODULE_H
#define ACU_SIM_CODE_MODULE_H

#include "sim/noun.h"
#include "sim/code/image.h"

typedef struct acu_sim_module acu_sim_module;
typedef struct acu_sim_library acu_sim_library;
typedef struct acu_sim_reference acu_sim_reference;

struct acu_sim_module {
    unsigned refs; /* one while it is loaded, and one for each prepared launch */
    bool loaded;
    acu_sim_code_image *image;
    acu_sim_device *device;
    acu_sim_library *library;      /* NULL: the program loaded the module alone */
    acu_sim_function *functions;   /* one for each kernel of the image */
    void **variables;              /* the device address of each variable of the image */
    acu_sim_reference *references; /* NULL: the image has none */
    const void *where;             /* where the program loaded it */
    acu_sim_context *context;
    acu_sim_module *next, *next_of_library;
};

/* A CUkernel, which is a cudaKernel_t. */
typedef struct acu_sim_kernel_handle {
    acu_sim_library *library;
    size_t index;     /* in the image; SIZE_MAX: not looked up yet */
    const char *name; /* of a kernel that is compiled into the program, which owns it; else NULL */
} acu_sim_kernel_handle;

struct acu_sim_library {
    acu_sim_code_image *image; /* empty if the code could not be read; NULL: it was not read yet */
    cudaError_t why;           /* why the code could not be read: every use returns this error */
    const void *compiled; /* code that is compiled into the program; NULL: the program loaded it */
    bool read;            /* the compiled code was read */
    acu_sim_module *modules;        /* one for each context where something of it was needed */
    acu_sim_kernel_handle *kernels; /* one for each kernel of the image */
    void **managed;    /* the address of each managed variable of the image; else NULL */
    const void *where; /* where the program loaded it */
    acu_sim_library *next;
};

/* All functions are called under the lock. `where` is the place in the program, for reports of
 * leaks. */

/* Loads code as acu_sim_image_load() reads it. The program unloads the module. */
cudaError_t acu_sim_module_load(acu_sim_context *context, const void *code, size_t size,
                                const acu_sim_options *options, const void *where,
                                acu_sim_module **module);

/* Loads a library. Code that cannot be read is no error here: the functions that need something in
 * it return the error. The program unloads the library. */
cudaError_t acu_sim_library_load(const void *code, size_t size, const acu_sim_options *options,
                                 const void *where, acu_sim_library **library);

/* Returns a library of code that is compiled into the program, which is read later and outlives
 * acu_sim_reset(). NULL without memory. */
acu_sim_library *acu_sim_library_compiled(const void *code);

/* Unload a module or a library. The lock is given up while they wait for all work of the device, or
 * of all devices for a library. Launches that were prepared with its kernels fail when they run. */
void acu_sim_module_unload(acu_sim_module *module);
void acu_sim_library_unload(acu_sim_library *library);

/* Gives one reference up, and frees the module with the last one. NULL is allowed. */
void acu_sim_module_release(acu_sim_module *module);

/* Return what the handle is of; NULL if the handle is invalid. */
acu_sim_module *acu_sim_module_of(const void *handle);
acu_sim_library *acu_sim_library_of(const void *handle);
acu_sim_kernel_handle *acu_sim_kernel_of(const void *handle);
acu_sim_function *acu_sim_function_of(const void *handle);

/* Reads the library's code if it is compiled into the program and was not read yet. Returns the
 * error with which the code could not be read, now or when it was loaded. */
cudaError_t acu_sim_library_read(acu_sim_library *library);

/* Finds the library's module in the context, and loads it there first if needed. */
cudaError_t acu_sim_library_module(acu_sim_library *library, acu_sim_context *context,
                                   acu_sim_module **module);

/* Returns the declaration of a kernel whose index is known. */
acu_sim_entry *acu_sim_kernel_entry(const acu_sim_kernel_handle *kernel);

/* Looks up the kernel's index in its library. Returns cudaErrorInvalidDeviceFunction if the library
 * has no kernel of the name. */
cudaError_t acu_sim_kernel_find(acu_sim_kernel_handle *kernel);

/* Makes the handle of a kernel that is compiled into the program valid, or invalid again. False
 * without memory. */
bool acu_sim_kernel_publish(acu_sim_kernel_handle *kernel, bool known);

/* Returns the kernel that the runtime finds for a handle of a kernel, or for the host's address
 * that the program registered for one; NULL if there is none. */
acu_sim_kernel_handle *acu_sim_kernel_of_symbol(const void *function);

/* Modules and libraries. */
extern const acu_sim_noun acu_sim_module_noun;

#endif
