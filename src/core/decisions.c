#include "core/decisions.h"

#include <string.h>

#include "cudart_abi.h"
#include "core/record.h"
#include "core/refuse.h"
#include "core/values.h"
#include "loader/driver.h"
#include "loader/load.h"

/* ---- edge data ---- */

bool acu_edges_in_use(const cudaGraphEdgeData *edges, size_t count) {
    static const cudaGraphEdgeData plain;

    for (size_t i = 0; edges != NULL && i < count; i++) {
        if (memcmp(&edges[i], &plain, sizeof plain) != 0) {
            return true;
        }
    }
    return false;
}

void acu_plain_edges(cudaGraphEdgeData *edges, size_t capacity, const size_t *returned) {
    if (edges != NULL && returned != NULL) {
        memset(edges, 0, (*returned < capacity ? *returned : capacity) * sizeof *edges);
    }
}

cudaError_t acu_capture_edges(const acu_function *function, const cudaGraphEdgeData **edges,
                              size_t count) {
    /* All plain edges are equal, so all calls share one array of zeros, which is never written. */
    enum { MOST = 4096 };
    static cudaGraphEdgeData plain[MOST];

    if (edges != NULL && count > MOST) {
        *edges = NULL;
        return (cudaError_t)acu_refuse(
            function, cudaErrorNotSupported,
            "the stream depends on more than 4096 nodes; call it without edge data");
    }
    if (edges != NULL) {
        *edges = plain;
    }
    return cudaSuccess;
}

/* ---- locations ---- */

bool acu_advice_is_local(enum cudaMemoryAdvise advice) {
    return advice == cudaMemAdviseSetPreferredLocation || advice == cudaMemAdviseSetAccessedBy ||
           advice == cudaMemAdviseUnsetAccessedBy;
}

bool acu_location_known(const struct cudaMemLocation *location) {
    return location->type == cudaMemLocationTypeDevice ||
           location->type == cudaMemLocationTypeHost ||
           location->type == cudaMemLocationTypeInvalid;
}

bool acu_location_valid(const struct cudaMemLocation *location) {
    return location->type == cudaMemLocationTypeHost ||
           (location->type == cudaMemLocationTypeDevice && location->id >= 0);
}

int acu_location_device(const struct cudaMemLocation *location) {
    return location->type == cudaMemLocationTypeHost ? cudaCpuDeviceId : location->id;
}

bool acu_advice_fits(enum cudaMemoryAdvise advice, const struct cudaMemLocation *location) {
    if (acu_advice_is_local(advice)) {
        return acu_location_valid(location);
    }
    return location->type != cudaMemLocationTypeInvalid;
}

struct cudaMemLocation acu_device_location(int device) {
    struct cudaMemLocation location = {.type = cudaMemLocationTypeHost};

    if (device != cudaCpuDeviceId) {
        location.type = cudaMemLocationTypeDevice;
        location.id = device;
    }
    return location;
}

/* ---- results in another form ---- */

cudaError_t acu_driver_entry_status(cudaError_t result, void **entry,
                                    enum cudaDriverEntryPointQueryResult *status) {
    bool missing = result == cudaErrorSymbolNotFound ||
                   (result == cudaSuccess && entry != NULL && *entry == NULL);

    if (status != NULL && (missing || result == cudaSuccess)) {
        *status = missing ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
    }
    if (missing && entry != NULL) {
        *entry = NULL;
    }
    if (result == cudaErrorSymbolNotFound) {
        cudaError_t (*forget)(void) =
            (cudaError_t (*)(void))acu_load_symbol(&acu_cudart, "cudaGetLastError");
        if (forget != NULL) {
            (void)forget();
        }
        return cudaSuccess;
    }
    return result;
}

void acu_update_result(cudaGraphExecUpdateResultInfo *info, enum cudaGraphExecUpdateResult outcome,
                       cudaGraphNode_t node) {
    if (info != NULL) {
        info->result = outcome;
        info->errorNode = node;
        info->errorFromNode = NULL;
    }
}

void acu_note_index(cudaError_t result, const char *what, size_t index) {
    if (result != cudaSuccess && index != SIZE_MAX) {
        acu_record_note(what, index);
    }
}

void acu_unknown_index(cudaError_t result, size_t *index) {
    if (result != cudaSuccess && index != NULL) {
        *index = SIZE_MAX;
    }
}

/* ---- device properties ---- */

static int ask_attribute(const acu_attribute *row, int device, int *value) {
    int (*from_runtime)(int *, int, int);
    int (*from_driver)(int *, int, int);

    if (row->attribute_since <= acu_library_version(&acu_cudart)) {
        from_runtime =
            (int (*)(int *, int, int))acu_load_symbol(&acu_cudart, "cudaDeviceGetAttribute");
        return from_runtime == NULL ? -1 : from_runtime(value, row->attribute, device);
    }
    /* A device's ordinal is used as its CUdevice, because cuDeviceGet returns equal numbers. */
    from_driver = (int (*)(int *, int, int))acu_load_symbol(acu_driver_of(&acu_cudart),
                                                            "cuDeviceGetAttribute");
    return from_driver == NULL ? -1 : from_driver(value, row->attribute, device);
}

void acu_fill_from_attributes(const acu_attribute_table *table, void *properties, int device) {
    int version = acu_library_version(&acu_cudart);

    for (const acu_attribute *row = table->rows; row->size != 0; row++) {
        int value = 0;
        bool has = (row->since == 0 || version >= row->since) &&
                   (row->until == 0 || version <= row->until);

        if (!has && ask_attribute(row, device, &value) == 0) {
            unsigned char *field = (unsigned char *)properties + row->offset;
            int64_t wide = value;

            memcpy(field, &wide,
                   row->size < sizeof wide ? row->size
                                           : sizeof wide); /* both machines are little-endian */
        }
    }
}

/* ---- hooks ---- */

/*
 * Returns why there is no library, if that is this thread's last failure and `code` its code: many
 * programs print nothing else than the text of a code. The text is the thread's until it fails
 * again. NULL if the code is another one.
 */
static const char *why_no_library(acu_fn real, int code) {
    const acu_failure *last = acu_record_last();

    return real == NULL && code != 0 && last->code == code && last->message[0] ? last->message
                                                                               : NULL;
}

static bool is_unrecognized(const char *text) {
    return text == NULL || strstr(text, "unrecognized") != NULL;
}

const char *acu_hook_cudaGetErrorName(acu_fn real, cudaError_t error) {
    const char *name = real == NULL ? NULL : ((const char *(*)(cudaError_t))real)(error);
    const char *ours =
        is_unrecognized(name) ? acu_value_name(acu_cudart_info.result_type, (int64_t)error) : NULL;

    if (ours != NULL) {
        return ours;
    }
    return name != NULL ? name : "unrecognized error code";
}

const char *acu_hook_cudaGetErrorString(acu_fn real, cudaError_t error) {
    const char *text = real == NULL ? NULL : ((const char *(*)(cudaError_t))real)(error);
    const char *ours =
        is_unrecognized(text) ? acu_value_name(acu_cudart_info.result_type, (int64_t)error) : NULL;
    const char *why = why_no_library(real, (int)error);

    if (why != NULL) {
        return why;
    }
    if (ours != NULL) {
        return error == cudaSuccess ? "no error" : ours; /* the name, as there is no better text */
    }
    return text != NULL ? text : "unrecognized error code";
}

struct cudaChannelFormatDesc acu_hook_cudaCreateChannelDesc(acu_fn real, int x, int y, int z, int w,
                                                            enum cudaChannelFormatKind f) {
    (void)real; /* the function only copies its arguments into a struct */
    return (struct cudaChannelFormatDesc){.x = x, .y = y, .z = z, .w = w, .f = f};
}

/* Returns the error made here, if there is one, because that is newer than the library's own: a
 * later error of the library would have replaced it. */
cudaError_t acu_hook_cudaGetLastError(acu_fn real) {
    cudaError_t own = (cudaError_t)acu_record_own_error(true);
    cudaError_t theirs = real == NULL ? cudaSuccess : ((cudaError_t (*)(void))real)();

    return own != cudaSuccess ? own : theirs;
}

cudaError_t acu_hook_cudaPeekAtLastError(acu_fn real) {
    cudaError_t own = (cudaError_t)acu_record_own_error(false);

    if (own != cudaSuccess) {
        return own;
    }
    return real == NULL ? cudaSuccess : ((cudaError_t (*)(void))real)();
}

/* Returns the text of a result code where the library is not there to ask. */
static const char *text_of_result(const acu_library_info *info, int result) {
    const char *why = why_no_library(NULL, result);
    const char *name = acu_value_name(info->result_type, result);

    if (why != NULL) {
        return why;
    }
    return name != NULL ? name : "unrecognized result code";
}

const char *acu_hook_nvrtcGetErrorString(acu_fn real, nvrtcResult result) {
    return real != NULL ? ((const char *(*)(nvrtcResult))real)(result)
                        : text_of_result(&acu_nvrtc_info, (int)result);
}

const char *acu_hook_nvmlErrorString(acu_fn real, nvmlReturn_t result) {
    return real != NULL ? ((const char *(*)(nvmlReturn_t))real)(result)
                        : text_of_result(&acu_nvml_info, (int)result);
}

/* The driver's own functions set the text to NULL where they do not know the code. */
CUresult acu_hook_cuGetErrorName(acu_fn real, CUresult error, const char **pStr) {
    (void)real; /* called only where there is none */
    if (pStr == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *pStr = acu_value_name(acu_cuda_info.result_type, (int64_t)error);
    return *pStr != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult acu_hook_cuGetErrorString(acu_fn real, CUresult error, const char **pStr) {
    const char *why = why_no_library(real, (int)error);
    CUresult result = acu_hook_cuGetErrorName(real, error, pStr);

    if (result == CUDA_SUCCESS && error == CUDA_SUCCESS) {
        *pStr = "no error";
    } else if (result == CUDA_SUCCESS && why != NULL) {
        *pStr = why;
    }
    return result;
}
