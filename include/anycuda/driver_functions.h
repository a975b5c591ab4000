/*
 * make_cudaExtent() and its like, which CUDA has in <driver_functions.h>.
 */
#ifndef ACU_DRIVER_FUNCTIONS_H
#define ACU_DRIVER_FUNCTIONS_H

#include <anycuda/cudart.h>

/* cudart.h gave way to NVIDIA's own headers, with an #error. */
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
