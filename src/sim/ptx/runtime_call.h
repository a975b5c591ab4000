/*
 * CUDA's device runtime: functions that kernels call as host code calls the runtime's, of which
 * launches are one. The machine does them, a thread at a time.
 */
#ifndef ACU_SIM_PTX_RUNTIME_CALL_H
#define ACU_SIM_PTX_RUNTIME_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ptx_runtime_function {
    PTX_RUNTIME_GET_LAST_ERROR,
    PTX_RUNTIME_PEEK_AT_LAST_ERROR,
    PTX_RUNTIME_GET_ERROR_NAME,
    PTX_RUNTIME_GET_ERROR_STRING,
    PTX_RUNTIME_GET_DEVICE,
    PTX_RUNTIME_GET_DEVICE_COUNT,
    PTX_RUNTIME_GET_ATTRIBUTE,
    PTX_RUNTIME_GET_LIMIT,
    PTX_RUNTIME_GET_CACHE_CONFIG,
    PTX_RUNTIME_GET_BANKS,
    PTX_RUNTIME_GET_VERSION,
    PTX_RUNTIME_FUNCTION_ATTRIBUTES,
    PTX_RUNTIME_OCCUPANCY,
    PTX_RUNTIME_MALLOC,
    PTX_RUNTIME_FREE,
    PTX_RUNTIME_COPY,
    PTX_RUNTIME_COPY_ROWS,
    PTX_RUNTIME_COPY_BOX,
    PTX_RUNTIME_SET,
    PTX_RUNTIME_SET_ROWS,
    PTX_RUNTIME_SET_BOX,
    PTX_RUNTIME_STREAM_CREATE,
    PTX_RUNTIME_STREAM_DESTROY,
    PTX_RUNTIME_STREAM_WAIT,
    PTX_RUNTIME_EVENT_CREATE,
    PTX_RUNTIME_EVENT_RECORD,
    PTX_RUNTIME_EVENT_DESTROY,
    PTX_RUNTIME_PARAMETER_BUFFER, /* of bytes; the result is its address */
    PTX_RUNTIME_LAUNCH_BUFFER,    /* for a launch of a kernel */
    PTX_RUNTIME_LAUNCH_KERNEL,    /* with a buffer of bytes */
    PTX_RUNTIME_LAUNCH,           /* of a buffer for a launch */
    PTX_RUNTIME_GRAPH_LAUNCH,     /* the first one of graphs */
    PTX_RUNTIME_NODE_SET_PARAM,
    PTX_RUNTIME_NODE_SET_ENABLED,
    PTX_RUNTIME_NODE_SET_GRID,
    PTX_RUNTIME_NODE_UPDATES, /* the machine gets each as a call of the three above */
} ptx_runtime_function;

enum { PTX_RUNTIME_ARGUMENTS = 8 };

/* The bytes of cudaFuncAttributes that the device runtime writes: up to binaryVersion. */
enum { PTX_RUNTIME_FUNCTION_BYTES = 40 };

/* The bytes of cudaMemcpy3DParms. */
enum { PTX_RUNTIME_BOX_BYTES = 160 };

/* A call by one thread. */
typedef struct ptx_runtime_call {
    ptx_runtime_function function;
    uint64_t thread; /* its number in the grid */
    uint64_t arguments[PTX_RUNTIME_ARGUMENTS];
    unsigned large[PTX_RUNTIME_ARGUMENTS][8]; /* arguments of more than 8 bytes, such as a dim3 */
    void *out;       /* the memory that the function's pointer points to; NULL: it has none */
    const void *in;  /* what a node's parameter is set to, or what says how a box is copied; NULL:
                      * nothing */
    bool only_asks;  /* a change of a node: only whether it can be done */
    uint64_t result; /* for the caller: an error, or an address */
    int fault;       /* the kernel ends with that error; 0: it does not */
    char what[160];  /* why */
} ptx_runtime_call;

#endif
