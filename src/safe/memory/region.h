/* Rows of bytes, as regions and strided copies have CUDA copy them. */
#ifndef ACU_SRC_REGION_H
#define ACU_SRC_REGION_H

#include <anycuda/region.h>

#include "safe/memory/buffer.h"

/* A copy of slices of rows of bytes. Neither side has rows that overlap each other. */
typedef struct acu_rows_copy {
    char *to;
    const char *from;
    size_t width, height, depth; /* bytes of a row, rows of a slice, slices; none is 0 */
    size_t to_pitch, from_pitch; /* bytes from a row to the next one */
    size_t to_slice, from_slice; /* bytes from a slice to the next one */
    enum cudaMemcpyKind kind;
    bool is_peer;               /* CUDA has to know the devices */
    int to_device, from_device; /* ordinals; set if `is_peer` */
} acu_rows_copy;

/* Copies with as few calls as CUDA allows: one, unless the steps are larger than CUDA takes, or
 * slices do not begin a whole number of rows apart. `names_devices` is whether the devices of a
 * copy with `is_peer` may be named. Returns CUDA's code. */
int acu_rows_copy_on(const acu_rows_copy *copy, bool names_devices, cudaStream_t on);

#endif
