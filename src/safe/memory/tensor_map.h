/* Tensor maps as launches see them, and what is checked of a tensor. */
#ifndef ACU_SRC_TENSOR_MAP_H
#define ACU_SRC_TENSOR_MAP_H

#include <anycuda/tensor_map.h>

#include "safe/memory/texture.h"

enum { ACU_TENSOR_MAP_BYTES = 128, ACU_TENSOR_MAP_ALIGNMENT = 128 };

struct acu_tensor_map {
    acu_image image; /* without a raw handle: the map is a value */
    char room[ACU_TENSOR_MAP_BYTES + ACU_TENSOR_MAP_ALIGNMENT];
    void *raw;         /* the map, in `room` */
    acu_tensor tensor; /* complete: strides and steps are not 0; of rank 0: not known */
    unsigned bits;     /* of an element */
};

/* A program that makes no tensor maps does not link their functions: then this is NULL. */
extern ACU_OURS const acu_class acu_tensor_map_class __attribute__((weak));

/* Fills in the strides and steps that are 0, and checks all that CUDA asks for, and that the tensor
 * fits in the buffer. Returns 0, or a failure recorded for `call`. */
int acu_tensor_map_check(const char *call, const acu_buffer *buffer, acu_tensor *tensor,
                         unsigned *bits);
/* Checks the place of a tensor that was checked already. */
int acu_tensor_map_check_place(const char *call, const acu_buffer *buffer, const acu_tensor *tensor,
                               unsigned bits);
/* Returns the address of the tensor's first element. */
void *acu_tensor_map_address(const acu_buffer *buffer, const acu_tensor *tensor);
/* Returns the number of CUDA's type of elements; -1 where the buffer's type has none. */
int acu_tensor_map_type(const acu_buffer *buffer, acu_tensor_elements elements);

#endif
