/* The counterpart of CUDA's <driver_functions.h>: make_cudaExtent(), make_cudaPos() and
 * make_cudaPitchedPtr(). */
#ifndef ACU_DRIVER_FUNCTIONS_H
#define ACU_DRIVER_FUNCTIONS_H

#include <anycuda/cudart.h>

/* Undefined where NVIDIA's own headers were included first, and cudart.h was an #error. */
#if defined(ACU_CUDART_TYPES_H)

/** Pitched memory: its address, bytes from row to row, width and height. */
static inline struct cudaPitchedPtr make_cudaPitchedPtr(void *d, size_t p, size_t xsz, size_t ysz) {
    struct cudaPitchedPtr made = {d, p, xsz, ysz};
    return made;
}

/** A position in an array. */
static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
    struct cudaPos made = {x, y, z};
    return made;
}

/** A size in three dimensions. */
static inline struct cudaExtent make_cudaExtent(size_t w, size_t h, size_t d) {
    struct cudaExtent made = {w, h, d};
    return made;
}

#endif
#endif
