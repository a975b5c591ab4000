/*
 * Tensor maps: 128 bytes that a GPU copies tiles by. Here they hold the tensor as it was described,
 * so that a kernel's C function can copy tiles, too.
 */
#ifndef ACU_SIM_TENSOR_H
#define ACU_SIM_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ACU_SIM_TENSOR_RANKS = 5,
    ACU_SIM_TENSOR_BYTES = 128,
    ACU_SIM_TENSOR_TILED = 0x544d4150,
    ACU_SIM_TENSOR_IM2COL
};

/* What a map holds. */
typedef struct acu_sim_tensor {
    uint32_t magic; /* ACU_SIM_TENSOR_TILED or ACU_SIM_TENSOR_IM2COL */
    uint8_t rank, bits;
    uint16_t box[ACU_SIM_TENSOR_RANKS];
    uint8_t steps[ACU_SIM_TENSOR_RANKS];
    uint8_t fill;
    uint32_t shape[ACU_SIM_TENSOR_RANKS]; /* less one */
    uint64_t strides[ACU_SIM_TENSOR_RANKS - 1];
    char *address;
} acu_sim_tensor;

/* Reads a map; false where the bytes are none. */
bool acu_sim_tensor_read(const void *map, acu_sim_tensor *tensor);

#endif
