/*
 * The API by which kernels are loaded and launched: the runtime's libraries, or, where the runtime
 * has none (before 12.8), the driver's modules in the device's primary context, on the runtime's
 * streams.
 *
 * Each API has one table of functions. All of them return an acu_result; a failure is recorded, but
 * not yet for a public function. `enter` makes current what the others need: each call but
 * `launch`, `open` and `close` is made between `enter` and `leave`.
 */
#ifndef ACU_SRC_CODE_API_H
#define ACU_SRC_CODE_API_H

#include <anycuda/cuda_types.h>
#include <anycuda/cudart.h>

#include "safe/base/stream.h"

struct acu_prepared_launch;

/* Where code is loaded: a device and, for the driver, its primary context. */
typedef struct acu_code_place {
    int device;
    struct CUctx_st *context;
} acu_code_place;

typedef struct acu_code_guard {
    acu_guard device;
    bool pushed; /* the driver's context must be popped */
} acu_code_guard;

/* Options of the compiler of PTX, which have the same numbers in both APIs. */
enum { ACU_JIT_OPTIONS = 16 };
typedef struct acu_code_jit {
    unsigned count;
    enum cudaJitOption options[ACU_JIT_OPTIONS];
    void *values[ACU_JIT_OPTIONS];
} acu_code_jit;

typedef struct acu_code_api {
    /* Enters and leaves itself. */
    int (*launch)(const struct acu_prepared_launch *prepared, acu_stream *stream);
    /* Fills in the place's context, which close gives up. */
    int (*open)(acu_code_place *place);
    int (*close)(const acu_code_place *place);
    int (*enter)(const acu_code_place *place, acu_code_guard *guard);
    void (*leave)(acu_code_guard *guard);

    int (*load)(void **module, const void *image, acu_code_jit *jit);
    int (*unload)(void *module);
    int (*kernel)(const void **function, void *module, const char *name);
    int (*global)(void **at, size_t *bytes, void *module, const char *name);
    /* Finds the address of a unified function. */
    int (*unified)(void **at, void *module, const char *name);
    int (*count)(unsigned *count, void *module);
    int (*list)(const void **functions, unsigned count, void *module);
    int (*name)(const char **name, const void *function);

    int (*attributes)(struct cudaFuncAttributes *attributes, const void *function);
    /* Finds the driver's function of a kernel of a module, or of one that was wrapped, in the
     * current device's context. */
    int (*driver_function)(struct CUfunc_st **found, const void *function, bool of_module);
    int (*set)(const void *function, enum cudaFuncAttribute attribute, int value);
    /* *size is 0 beyond the last parameter; ACU_NOT_SUPPORTED where CUDA cannot report parameters.
     */
    int (*parameter)(const void *function, size_t index, size_t *offset, size_t *size);

    int (*occupancy)(int *blocks, const void *function, int threads, size_t shared, unsigned flags);
    int (*available_shared)(size_t *bytes, const void *function, int blocks, int threads);
    int (*clusters)(int *clusters, const struct acu_prepared_launch *prepared);
    int (*cluster_size)(int *blocks, const struct acu_prepared_launch *prepared);

    int (*add_node)(const struct acu_prepared_launch *prepared, cudaGraph_t graph,
                    const cudaGraphNode_t *after, size_t count, cudaGraphNode_t *node);
    /* CUDA's parameters of a node, whose function is the API's own. `exec` is NULL for a node of a
     * graph. */
    int (*get_node_params)(cudaGraphNode_t node, struct cudaKernelNodeParamsV2 *params);
    int (*set_node_params)(cudaGraphExec_t exec, cudaGraphNode_t node,
                           const struct cudaKernelNodeParamsV2 *params);
    int (*set_node)(const struct acu_prepared_launch *prepared, cudaGraphNode_t node);
    int (*set_exec_node)(const struct acu_prepared_launch *prepared, cudaGraphExec_t exec,
                         cudaGraphNode_t node);
} acu_code_api;

extern const acu_code_api acu_code_by_runtime, acu_code_by_driver;

/* Returns the API for new modules. */
const acu_code_api *acu_code_api_for_modules(void);

#endif
