/* Images: what is read from PTX, machine code and fat binaries. */
#ifndef ACU_SIM_CODE_IMAGE_H
#define ACU_SIM_CODE_IMAGE_H

#include "sim/bytes.h"
#include "sim/sim.h"

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

/* What the linker's text begins with: of what is there twice the first is taken. */
#define SIM_LINKED "// linked by the simulator\n"

/*
 * What was read fills `image`; on failure `why` has one line, as ptxas would say it. `newest`: the
 * newest PTX that is understood.
 */
cudaError_t acu_sim_ptx_read(const char *text, size_t size, int newest, acu_sim_image *image,
                             char *why, size_t room);

/* It begins like PTX. */
bool acu_sim_ptx_is_text(const char *text);

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
bool acu_sim_options_are_known(const acu_sim_options *options);

/* Where the value of the JIT compiler's option is; NULL: it was not given. */
void **acu_sim_options_value(const acu_sim_options *options, int option);

/* It begins like machine code, or several of them. */
bool acu_sim_image_is_binary(const void *code, size_t size);
void acu_sim_image_release(acu_sim_image *image);

/* What is in it; not the struct itself. */
void acu_sim_image_clear(acu_sim_image *image);

/* The text of a file, with a zero behind it; to be freed. */
cudaError_t acu_sim_module_read_file(const char *path, char **text, size_t *size);

/* Their index in the image; -1 if there is none. */
int acu_sim_image_entry(const acu_sim_image *image, const char *name);
int acu_sim_image_variable(const acu_sim_image *image, const char *name);

#endif
