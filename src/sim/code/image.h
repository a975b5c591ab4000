/* Images: what PTX, machine code and fat binaries declare: kernels and variables. */
#ifndef ACU_SIM_CODE_IMAGE_H
#define ACU_SIM_CODE_IMAGE_H

#include "sim/code/bytes.h"
#include "sim/sim.h"

/* A parameter of a kernel. */
typedef struct acu_sim_param {
    size_t offset, size; /* bytes; where CUDA says that it is, as ptxas places it */
    size_t place;        /* where it is here, as the PTX has it */
} acu_sim_param;

/* A kernel as it was declared. */
typedef struct acu_sim_entry {
    char *name;
    acu_sim_param *params;
    size_t param_count, param_bytes; /* up to the end of the last one */
    size_t param_room;               /* by their places */
    unsigned max_threads[3];         /* of a block, in x, y, z (.maxntid); 0: not declared */
    unsigned threads[3];             /* exactly those of every block (.reqntid); 0: not declared */
    unsigned cluster[3];             /* blocks of a cluster (.reqnctapercluster); 0: not declared */
    unsigned max_registers, min_blocks;
    unsigned registers;    /* of a thread, by the machine code; 0: not known */
    unsigned estimate;     /* of them; 0: not made yet */
    unsigned last_exit;    /* bytes of the machine code before it; 0: not known */
    size_t shared, local;  /* bytes of static shared memory, of local memory */
    unsigned max_cluster;  /* blocks of a cluster, at most (.maxclusterrank); 0: not declared */
    bool explicit_cluster; /* every launch has clusters */
    bool blocks_are_clusters;
    bool reported;           /* stderr has a line about the missing C function already */
    acu_sim_kernel function; /* the C function registered for the name; NULL: none */
    unsigned looked_up;      /* the number of registrations when `function` was looked up */
    struct ptx_code *code;   /* what executes the kernel's PTX; NULL: nothing does */
    char *why;               /* why nothing does; NULL: not known */
    bool tried;              /* to make `code` */
    bool invalid;            /* the reason is a mistake in the PTX, which a driver refuses, too */
} acu_sim_entry;

/* A variable in global or constant memory. */
typedef struct acu_sim_variable {
    char *name;
    size_t size; /* bytes */
    char *bytes; /* the initial value; NULL: zeros */
    bool constant, managed;
} acu_sim_variable;

/* A texture or surface reference: a variable that the program binds. */
typedef struct acu_sim_named_reference {
    char *name;
    bool is_surface;
} acu_sim_named_reference;

typedef struct acu_sim_code_image {
    unsigned refs;
    int version;  /* of the PTX: 80 is 8.0 */
    int target;   /* the architecture that the PTX is written for: 90 is sm_90 */
    int binary;   /* the architecture of machine code; 0: the image is PTX */
    char variant; /* the architecture's letter: 'a' of sm_90a; '\0': none */
    acu_sim_entry *entries;
    acu_sim_variable *variables;
    acu_sim_named_reference *references;
    size_t entry_count, variable_count, reference_count, constant_bytes;
    char *text; /* the PTX; NULL: the image has none */
    size_t text_size;
    struct ptx_module *ptx; /* what the text says; NULL without a text */
    bool unlinked; /* nvcc -rdc=true made the code: a module of it has no symbols until it is linked
                    */
    bool has_addresses; /* an initial value of a variable has the address of another one */
    char *why; /* why machine code has no PTX that could be read; NULL: not known, or it has */
} acu_sim_code_image;

/*
 * The options of a call that loads code. Option numbers are the driver's; the runtime has the same.
 */
typedef struct acu_sim_options {
    const int *jit;
    void **jit_values;
    unsigned jit_count;
    const int *library;
    void **library_values;
    unsigned library_count;
    bool links; /* the code is linked with other code: symbols may be undefined */
} acu_sim_options;

/*
 * Reads PTX into the empty `image`, which the caller clears, also on failure.
 * `newest` is the newest PTX version that is accepted. On failure `why` has one line, as ptxas
 * would write it. Instructions are read, but acu_sim_ptx_validate() finds what is wrong with them.
 */
cudaError_t acu_sim_ptx_read(const char *text, size_t size, int newest, acu_sim_code_image *image,
                             char *why, size_t room);

/* Validates the PTX of the image. `whole`: what it does not define is missing. On failure `why` has
 * one line. */
cudaError_t acu_sim_ptx_validate(const acu_sim_code_image *image, bool whole, char *why,
                                 size_t room);

/* Returns cudaErrorNotSupported, and writes a line, if the image has a kernel that the simulator
 * does not execute and that no C function stands for. */
cudaError_t acu_sim_ptx_executes(const acu_sim_code_image *image, char *why, size_t room);

/* Returns whether the text begins like PTX: with .version. */
bool acu_sim_ptx_is_text(const char *text);

/* Returns the newest PTX version of a CUDA version: 90 for 13000. */
int acu_sim_ptx_newest(int version);

/* Reads the declarations of machine code (a cubin) into the empty `image`, which the caller clears,
 * also on failure. */
cudaError_t acu_sim_cubin_read(acu_sim_bytes code, acu_sim_code_image *image);

/* Reads the PTX of a fat binary that suits the device best. The image is NULL if the fat binary has
 * only machine code for the device. */
cudaError_t acu_sim_image_read_ptx(const void *code, size_t size, acu_sim_code_image **image,
                                   char *why, size_t room);

/*
 * Reads PTX, machine code, a fat binary of both, or the wrapper that a compiler puts around one: of
 * several codes the one that the device runs best. `size` is a file's size, or SIZE_MAX for code in
 * memory, whose headers say how long it is. The caller releases the image. Fills the logs that the
 * options name. On failure `image` is left as it is. Returns cudaErrorInvalidValue if the options
 * are invalid; cudaErrorNotSupported for PTX with a kernel that is not executed: of a fat binary
 * such a kernel is refused when it is launched.
 */
cudaError_t acu_sim_image_load(const void *code, size_t size, const acu_sim_options *options,
                               acu_sim_code_image **image);

/* Returns whether CUDA knows all the options, and their arrays are not NULL. */
bool acu_sim_options_are_known(const acu_sim_options *options);

/* Returns where the value of a JIT option is; NULL if the option was not given. */
void **acu_sim_options_value(const acu_sim_options *options, int option);
/* Returns how many registers a thread may have by the options; 0: they do not say. */
unsigned acu_sim_options_registers(const acu_sim_options *options);

/* Returns whether the code begins like machine code, a fat binary or a wrapper of one. */
bool acu_sim_image_is_binary(const void *code, size_t size);

/* Gives one reference up, and frees the image with the last one. NULL is allowed. */
void acu_sim_image_release(acu_sim_code_image *image);

/* Frees what the image has, but not the struct itself, which is empty afterwards. */
void acu_sim_image_clear(acu_sim_code_image *image);

/* Reads a file. The text ends with a zero that `size` does not count, and the caller frees it. */
cudaError_t acu_sim_image_read_file(const char *path, char **text, size_t *size);

/* Return the index of the kernel or the variable in the image; -1 if there is none of the name. */
int acu_sim_image_entry(const acu_sim_code_image *image, const char *name);
int acu_sim_image_variable(const acu_sim_code_image *image, const char *name);

/* Returns cudaErrorSymbolNotFound, for a name that the image does not have. */
cudaError_t acu_sim_image_lacks(const acu_sim_code_image *image, const char *name);

#endif
