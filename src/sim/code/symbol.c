/*
 * Variables of device code that the host program names: each is found, and then the call is that
 * for its memory. Those of modules that the program loaded, cudaLibraryGetGlobal() finds.
 */
#include "sim/code/symbol.h"

#include "sim/code/compiled.h"
#include "sim/device/context.h"

/* A whole call: finds the variable in the current context. `judged`: what else it is given is good.
 */
static cudaError_t find(const acu_sim_symbol_part *p, bool judged, cudaError_t otherwise,
                        char **at) {
    void *begin = NULL;
    size_t size = 0;
    if (!judged)
        SIM_TRY(otherwise);
    SIM_TRY(acu_sim_compiled_variable(p->symbol, acu_sim_context_now(), &begin, &size));
    if (p->offset > size || p->count > size - p->offset)
        return cudaErrorInvalidValue;
    *at = (char *)begin + p->offset;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGetSymbolAddress(void **devPtr, const void *symbol) {
    char *at = NULL;
    cudaError_t result =
        find(&(acu_sim_symbol_part){.symbol = symbol}, devPtr != NULL, cudaErrorInvalidValue, &at);
    if (!result && devPtr)
        *devPtr = at;
    return result;
}

cudaError_t acu_sim_cudaGetSymbolSize(size_t *size, const void *symbol) {
    void *at;
    return size ? acu_sim_compiled_variable(symbol, acu_sim_context_now(), &at, size)
                : cudaErrorInvalidValue;
}

/* A variable is memory of the device. */
cudaError_t acu_sim_symbol_find_to(const acu_sim_symbol_part *p, enum cudaMemcpyKind kind,
                                   char **at) {
    bool good = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ||
                kind == cudaMemcpyDefault;
    return find(p, good, cudaErrorInvalidMemcpyDirection, at);
}

cudaError_t acu_sim_symbol_find_from(const acu_sim_symbol_part *p, enum cudaMemcpyKind kind,
                                     char **at) {
    bool good = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ||
                kind == cudaMemcpyDefault;
    return find(p, good, cudaErrorInvalidMemcpyDirection, at);
}

cudaError_t acu_sim_cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count,
                                       size_t offset, enum cudaMemcpyKind kind) {
    char *at = NULL;
    cudaError_t result =
        acu_sim_symbol_find_to(&(acu_sim_symbol_part){symbol, count, offset}, kind, &at);
    return result ? result : acu_sim_cudaMemcpy(at, src, count, kind);
}

cudaError_t acu_sim_cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
                                         enum cudaMemcpyKind kind) {
    char *at = NULL;
    cudaError_t result =
        acu_sim_symbol_find_from(&(acu_sim_symbol_part){symbol, count, offset}, kind, &at);
    return result ? result : acu_sim_cudaMemcpy(dst, at, count, kind);
}

cudaError_t acu_sim_cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
                                            size_t offset, enum cudaMemcpyKind kind,
                                            cudaStream_t stream) {
    char *at = NULL;
    cudaError_t result =
        acu_sim_symbol_find_to(&(acu_sim_symbol_part){symbol, count, offset}, kind, &at);
    return result ? result : acu_sim_cudaMemcpyAsync(at, src, count, kind, stream);
}

cudaError_t acu_sim_cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count,
                                              size_t offset, enum cudaMemcpyKind kind,
                                              cudaStream_t stream) {
    char *at = NULL;
    cudaError_t result =
        acu_sim_symbol_find_from(&(acu_sim_symbol_part){symbol, count, offset}, kind, &at);
    return result ? result : acu_sim_cudaMemcpyAsync(dst, at, count, kind, stream);
}
