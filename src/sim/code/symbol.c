/*
 * Symbols: variables of device code that nvcc compiled into the program. Each function finds the
 * variable's device memory and copies that. Variables of libraries that the program loads are found
 * with cudaLibraryGetGlobal().
 */
#include "sim/code/symbol.h"

#include "sim/code/compiled.h"
#include "sim/device/context.h"

static cudaError_t find(const acu_sim_symbol_part *p, char **at) {
    void *begin;
    size_t size;
    SIM_TRY(acu_sim_compiled_variable(p->symbol, acu_sim_context_now(), &begin, &size));
    if (p->offset > size || p->count > size - p->offset)
        return cudaErrorInvalidValue;
    *at = (char *)begin + p->offset;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGetSymbolAddress(void **devPtr, const void *symbol) {
    size_t size;
    return devPtr ? acu_sim_compiled_variable(symbol, acu_sim_context_now(), devPtr, &size)
                  : cudaErrorInvalidValue;
}

cudaError_t acu_sim_cudaGetSymbolSize(size_t *size, const void *symbol) {
    void *at;
    return size ? acu_sim_compiled_variable(symbol, acu_sim_context_now(), &at, size)
                : cudaErrorInvalidValue;
}

cudaError_t acu_sim_symbol_find_to(const acu_sim_symbol_part *p, enum cudaMemcpyKind kind,
                                   char **at) {
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    return find(p, at);
}

cudaError_t acu_sim_symbol_find_from(const acu_sim_symbol_part *p, enum cudaMemcpyKind kind,
                                     char **at) {
    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    return find(p, at);
}

cudaError_t acu_sim_cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count,
                                       size_t offset, enum cudaMemcpyKind kind) {
    char *at;
    SIM_TRY(acu_sim_symbol_find_to(&(acu_sim_symbol_part){symbol, count, offset}, kind, &at));
    return acu_sim_cudaMemcpy(at, src, count, kind);
}

cudaError_t acu_sim_cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
                                         enum cudaMemcpyKind kind) {
    char *at;
    SIM_TRY(acu_sim_symbol_find_from(&(acu_sim_symbol_part){symbol, count, offset}, kind, &at));
    return acu_sim_cudaMemcpy(dst, at, count, kind);
}

cudaError_t acu_sim_cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
                                            size_t offset, enum cudaMemcpyKind kind,
                                            cudaStream_t stream) {
    char *at;
    SIM_TRY(acu_sim_symbol_find_to(&(acu_sim_symbol_part){symbol, count, offset}, kind, &at));
    return acu_sim_cudaMemcpyAsync(at, src, count, kind, stream);
}

cudaError_t acu_sim_cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count,
                                              size_t offset, enum cudaMemcpyKind kind,
                                              cudaStream_t stream) {
    char *at;
    SIM_TRY(acu_sim_symbol_find_from(&(acu_sim_symbol_part){symbol, count, offset}, kind, &at));
    return acu_sim_cudaMemcpyAsync(dst, at, count, kind, stream);
}
