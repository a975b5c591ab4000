/*
 * What is loaded: an image is what was read of the PTX, a module is an image on one device, a
 * library an image with a module for each context that needs one. A kernel belongs to a library
 * and has a function per context; a function belongs to a module.
 */
#ifndef ACU_SIM_MODULE_H
#define ACU_SIM_MODULE_H

#include "sim/bytes.h"
#include "sim/stream/execution_context.h"

typedef struct acu_sim_module acu_sim_module;
typedef struct acu_sim_library acu_sim_library;

typedef struct acu_sim_param {
    size_t offset, size;
} acu_sim_param;

typedef struct acu_sim_entry { /* a kernel, as it was declared */
    char *name;
    acu_sim_param *params;
    size_t param_count, param_bytes;
    unsigned max_threads[3], threads[3], cluster[3]; /* at most, exactly; 0: not said */
    unsigned max_registers, min_blocks;
    unsigned registers; /* 0: not known */
    size_t shared, local;
    bool explicit_cluster;
    bool told;               /* that there is no function for it */
    acu_sim_kernel function; /* what it does, if that is registered; may be out of date */
    unsigned looked;         /* after so many registrations */
} acu_sim_entry;

typedef struct acu_sim_variable {
    char *name;
    size_t size;
    char *bytes; /* NULL: zeros */
    bool constant, managed;
} acu_sim_variable;

typedef struct acu_sim_symbol { /* of PTX, that other PTX is linked with */
    char *name;
    bool weak; /* of one that is defined: it may be there twice */
    bool used; /* of one that is declared only */
} acu_sim_symbol;

typedef struct acu_sim_image {
    unsigned refs;
    int version, target; /* PTX 8.0 is 80, sm_90 is 90 */
    int binary;          /* of machine code: what it is for; else 0 */
    char variant;        /* sm_90a: 'a' */
    acu_sim_entry *entries;
    acu_sim_variable *variables;
    size_t entry_count, variable_count, constant_bytes;
    acu_sim_symbol *offers, *needs; /* what it defines for others, and what they must define */
    size_t offer_count, need_count;
} acu_sim_image;

typedef struct acu_sim_settings {
    int dynamic, carveout; /* bytes of dynamic shared memory allowed; percent */
    int cluster_must_be_set, cluster[3], cluster_policy, big_clusters;
} acu_sim_settings;

struct acu_sim_function {
    acu_sim_module *module;
    acu_sim_entry *entry;
    acu_sim_settings set, of_kernel; /* what holds; what its kernel has on the device */
    uint32_t own; /* bits of the attributes that were set here, and no longer follow the kernel */
};

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

/* What a load is asked besides. The values are those of the driver, which are the runtime's, too.
 */
typedef struct acu_sim_options {
    const int *jit;
    void **jit_values;
    unsigned jit_count;
    const int *library;
    void **library_values;
    unsigned library_count;
} acu_sim_options;

/* ---- images -------------------------------------------------------------------------------------
 */

/* What the linker's text begins with: of what is there twice the first is taken. */
#define SIM_LINKED "// linked by the simulator\n"

/*
 * What was read fills `image`; on failure `why` has one line, as ptxas would say it. `newest`: the
 * newest PTX that is understood.
 */
cudaError_t acu_sim_ptx_read(const char *text, size_t size, int newest, acu_sim_image *image,
                             char *why, size_t room);

/* It begins like PTX. */
bool acu_sim_is_ptx(const char *text);
/* The newest PTX that came with a CUDA version: 90 with 13.0. */
int acu_sim_ptx_newest(int version);
/* The same of machine code. */
cudaError_t acu_sim_cubin_read(acu_sim_bytes code, acu_sim_image *image);

/*
 * Of PTX, machine code, a fat binary of both, or the wrapper that a compiler puts around that: what
 * the device takes. `size`: of a file; SIZE_MAX: what is in memory says so itself.
 */
cudaError_t acu_sim_image_read(const void *code, size_t size, acu_sim_image **image, char *why,
                               size_t room);
/* The same as a load asks for it, with what the log says. */
cudaError_t acu_sim_image_load(const void *code, size_t size, const acu_sim_options *options,
                               acu_sim_image **image);
bool acu_sim_are_options(const acu_sim_options *options);
/* Where the value of the JIT compiler's option is; NULL: it was not given. */
void **acu_sim_option_value(const acu_sim_options *options, int option);
/* It begins like machine code, or several of them. */
bool acu_sim_is_binary(const void *code, size_t size);
void acu_sim_image_release(acu_sim_image *image);
/* What is in it; not the struct itself. */
void acu_sim_image_clear(acu_sim_image *image);

/* ---- modules and libraries: all under the lock --------------------------------------------------
 */

cudaError_t acu_sim_module_load(acu_sim_context *context, const void *code, size_t size,
                                const acu_sim_options *options, const void *where,
                                acu_sim_module **module);
cudaError_t acu_sim_library_load(const void *code, size_t size, const acu_sim_options *options,
                                 const void *where, acu_sim_library **library);
/* The text of a file, with a zero behind it; to be freed. */
cudaError_t acu_sim_read_file(const char *path, char **text, size_t *size);
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
cudaError_t acu_sim_kernel_function(acu_sim_kernel_handle *kernel, acu_sim_context *context,
                                    acu_sim_function **function);
/* The same where the call names a device: in its own context, made for it, if the current one is
 * not of that device. */
cudaError_t acu_sim_kernel_function_on(acu_sim_kernel_handle *kernel, acu_sim_device *device,
                                       acu_sim_function **function);
/* Of a kernel that was found. */
acu_sim_entry *acu_sim_kernel_entry(const acu_sim_kernel_handle *kernel);
/* Looks for it in its library. */
cudaError_t acu_sim_kernel_find(acu_sim_kernel_handle *kernel);
/* The handle of a kernel of the program is one from now on, or no longer. */
bool acu_sim_kernel_known(acu_sim_kernel_handle *kernel, bool known);
/* What the runtime takes for a kernel: one, or the address that the program registered for one. */
acu_sim_kernel_handle *acu_sim_kernel_called(const void *function);

/* Their index in the image; -1 if there is none. */
int acu_sim_entry_named(const acu_sim_image *image, const char *name);
int acu_sim_variable_named(const acu_sim_image *image, const char *name);

/* ---- kernels ------------------------------------------------------------------------------------
 */

/* What the device takes to run it, and what it is: numbered as cudaFuncAttribute numbers them. */
cudaError_t acu_sim_function_get(const acu_sim_function *function, int attribute, int *value);
cudaError_t acu_sim_function_set(acu_sim_function *function, int attribute, int value);
/* The same of its kernel on the device: set in all contexts, and in those to come. */
cudaError_t acu_sim_kernel_get(const acu_sim_function *function, int attribute, int *value);
cudaError_t acu_sim_kernel_set(acu_sim_function *function, int attribute, int value);
unsigned acu_sim_function_registers(const acu_sim_function *function);
unsigned acu_sim_function_threads(const acu_sim_function *function); /* the largest block */

/* Blocks that a multiprocessor holds at once. */
unsigned acu_sim_occupancy(const acu_sim_function *function, unsigned threads, size_t shared);

/* Dynamic shared memory for each block where a multiprocessor holds that many. */
size_t acu_sim_shared_for(const acu_sim_function *function, size_t blocks);
/* The largest cluster, and how many of the configured ones the device holds at once. */
cudaError_t acu_sim_max_cluster(const acu_sim_function *function, const cudaLaunchConfig_t *config,
                                int *size);
cudaError_t acu_sim_max_clusters(const acu_sim_function *function, const cudaLaunchConfig_t *config,
                                 int *count);

/* Queues it on the stream. */
cudaError_t acu_sim_launch_on(cudaStream_t handle, const void *function,
                              const cudaLaunchConfig_t *config, void *const *args,
                              void *const *extra);

#endif
