/*
 * Functions for the generated adapters of the runtime API: the parts of spec/decisions.yaml that
 * are more than an expression.
 */
#ifndef ACU_DECISIONS_H
#define ACU_DECISIONS_H

#include "anycuda/cuda_types.h"
#include "anycuda/cudart_types.h"
#include "anycuda/nvml_types.h"
#include "anycuda/nvrtc_types.h"
#include "core/abi.h"

/* Room for a struct in the loaded library's layout. */
#define acu_temporary(size)                                                                        \
    union {                                                                                        \
        unsigned char bytes[size];                                                                 \
        long double widest;                                                                        \
        void *pointer;                                                                             \
    }

/* ---- edge data, on libraries whose graphs have plain edges only ---- */

/* Returns whether any edge has other data than a plain edge. */
bool acu_edges_in_use(const cudaGraphEdgeData *edges, size_t count);
/* Marks as many edges as were returned as plain. */
void acu_plain_edges(cudaGraphEdgeData *edges, size_t capacity, const size_t *returned);
/* Gives `count` plain edges that the library itself would own; they stay valid. Returns an error,
 * and records it, if there are too many. */
cudaError_t acu_capture_edges(const acu_function *function, const cudaGraphEdgeData **edges,
                              size_t count);

/* ---- locations, on libraries that know device numbers only ---- */

/* Returns whether the advice concerns a place; CUDA ignores the location of any other advice. */
bool acu_advice_is_local(enum cudaMemoryAdvise advice);
/* Returns whether the location is valid, or ignored by the advice; "no type" is never valid. */
bool acu_advice_fits(enum cudaMemoryAdvise advice, const struct cudaMemLocation *location);
bool acu_location_known(const struct cudaMemLocation *location);
bool acu_location_valid(const struct cudaMemLocation *location);
int acu_location_device(const struct cudaMemLocation *location);
/* Returns the location for a device number of an older API. */
struct cudaMemLocation acu_device_location(int device);

/* ---- results that older calls give in another form ---- */

cudaError_t acu_driver_entry_status(cudaError_t result, void **entry,
                                    enum cudaDriverEntryPointQueryResult *status);
void acu_update_result(cudaGraphExecUpdateResultInfo *info, enum cudaGraphExecUpdateResult outcome,
                       cudaGraphNode_t node);
/* Adds "(copy 3)" to the message of a failed call, unless the index is SIZE_MAX. */
void acu_note_index(cudaError_t result, const char *what, size_t index);

/* Sets the index that an older call leaves where the newer library does not report which copy
 * failed. */
void acu_unknown_index(cudaError_t result, size_t *index);

/* ---- device properties that a layout lacks ---- */

typedef struct acu_attribute {
    uint32_t offset, size; /* of the field; size 0 ends the table */
    int attribute;         /* cudaDeviceAttr, which is CUdevice_attribute by number */
    int attribute_since;   /* first runtime that may be asked for it */
    int since, until;      /* versions whose layout has the field; 0: no bound */
} acu_attribute;

typedef struct acu_attribute_table {
    const acu_attribute *rows;
} acu_attribute_table;

/*
 * Fills the fields that the loaded layout lacks from device attributes. The runtime is asked only
 * for attributes that it knows, so that its last error does not change; the driver is asked for the
 * others.
 */
void acu_fill_from_attributes(const acu_attribute_table *table, void *properties, int device);

/* ---- hooks ---- */

/* Functions that answer without a library, or return errors made here. `real` may be NULL. */

const char *acu_hook_cudaGetErrorName(acu_fn real, cudaError_t error);
const char *acu_hook_cudaGetErrorString(acu_fn real, cudaError_t error);
struct cudaChannelFormatDesc acu_hook_cudaCreateChannelDesc(acu_fn real, int x, int y, int z, int w,
                                                            enum cudaChannelFormatKind f);
cudaError_t acu_hook_cudaGetLastError(acu_fn real);
cudaError_t acu_hook_cudaPeekAtLastError(acu_fn real);

CUresult acu_hook_cuGetErrorName(acu_fn real, CUresult error, const char **pStr);
CUresult acu_hook_cuGetErrorString(acu_fn real, CUresult error, const char **pStr);

const char *acu_hook_nvrtcGetErrorString(acu_fn real, nvrtcResult result);

const char *acu_hook_nvmlErrorString(acu_fn real, nvmlReturn_t result);

#endif
