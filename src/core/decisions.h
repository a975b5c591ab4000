/*
 * What spec/decisions.yaml and the generated adapters of the runtime API call: the parts of a
 * decision that are more than an expression.
 */
#ifndef ACU_DECISIONS_H
#define ACU_DECISIONS_H

#include "anycuda/cudart_types.h"
#include "anycuda/nvrtc_types.h"
#include "core/abi.h"

/* Room for a struct in the loaded library's layout. */
#define acu_temporary(size)                                                                        \
    union {                                                                                        \
        unsigned char bytes[size];                                                                 \
        long double widest;                                                                        \
        void *pointer;                                                                             \
    }

/* ---- edge data, on libraries whose graphs have plain edges only */

/* True if any of the edges says more than "plain". */
bool acu_edges_in_use(const cudaGraphEdgeData *edges, size_t count);
/* Says "plain" of as many edges as were returned. */
void acu_plain_edges(cudaGraphEdgeData *edges, size_t capacity, const size_t *returned);
/* The same for edges that the library itself would own: they stay valid until the thread's next
 * such call. */
cudaError_t acu_capture_edges(const acu_function *function, const cudaGraphEdgeData **edges,
                              size_t count);

/* ---- locations, on libraries that know device numbers only */

/* The advice concerns a place; otherwise CUDA ignores the location. */
bool acu_advice_is_local(enum cudaMemoryAdvise advice);
/* The location is valid, or the advice ignores it; "no type" is never valid. */
bool acu_advice_fits(enum cudaMemoryAdvise advice, const struct cudaMemLocation *location);
bool acu_location_known(const struct cudaMemLocation *location);
bool acu_location_valid(const struct cudaMemLocation *location);
int acu_location_device(const struct cudaMemLocation *location);
/* The other way: where a device number of an older API lies. */
struct cudaMemLocation acu_device_location(int device);

/* ---- results that older calls give in another form */

cudaError_t acu_driver_entry_status(cudaError_t result, void **entry,
                                    enum cudaDriverEntryPointQueryResult *status);
void acu_update_result(cudaGraphExecUpdateResultInfo *info, enum cudaGraphExecUpdateResult outcome,
                       cudaGraphNode_t node);
/* Puts "copy 3 of the batch" into the message of a failed call; SIZE_MAX says nothing. */
void acu_note_index(cudaError_t result, const char *what, size_t index);

/* What an older call leaves in its index where the newer library does not say which copy failed. */
void acu_unknown_index(cudaError_t result, size_t *index);

/* ---- device properties that a layout lacks */

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
 * Fills the fields which the loaded layout lacks from device attributes: from the runtime where it
 * knows them, else from the driver, so that the runtime's last error stays untouched.
 */
void acu_fill_from_attributes(const acu_attribute_table *table, void *properties, int device);

/* ---- functions that answer without a library, or see errors that were made here; real may be NULL
 */

const char *acu_hook_cudaGetErrorName(acu_fn real, cudaError_t error);
const char *acu_hook_cudaGetErrorString(acu_fn real, cudaError_t error);
struct cudaChannelFormatDesc acu_hook_cudaCreateChannelDesc(acu_fn real, int x, int y, int z, int w,
                                                            enum cudaChannelFormatKind f);
cudaError_t acu_hook_cudaGetLastError(acu_fn real);
cudaError_t acu_hook_cudaPeekAtLastError(acu_fn real);

const char *acu_hook_nvrtcGetErrorString(acu_fn real, nvrtcResult result);

#endif
