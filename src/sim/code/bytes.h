/* Bytes that somebody else laid out, and what of them may be read. */
#ifndef ACU_SIM_CODE_BYTES_H
#define ACU_SIM_CODE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct acu_sim_bytes {
    const unsigned char *at;
    size_t size;
} acu_sim_bytes;

/* A number as GPUs write it, the low byte first; 0 where there are not so many bytes. */
static inline uint64_t acu_sim_number(acu_sim_bytes bytes, uint64_t offset, unsigned width) {
    uint64_t number = 0;
    if (offset > bytes.size || bytes.size - offset < width)
        return 0;
    for (unsigned i = 0; i < width; i++)
        number |= (uint64_t)bytes.at[offset + i] << (8 * i);
    return number;
}

/* False if it is not all within. */
static inline bool acu_sim_part(acu_sim_bytes whole, uint64_t offset, uint64_t size,
                                acu_sim_bytes *part) {
    if (offset > whole.size || whole.size - offset < size)
        return false;
    *part = (acu_sim_bytes){whole.at + offset, (size_t)size};
    return true;
}

/* They fill `to`, of `size` bytes; false if it is not that much, or is damaged, or without memory.
 */
bool acu_sim_lz4_unpack(acu_sim_bytes from, unsigned char *to, size_t size);
bool acu_sim_zstd_unpack(acu_sim_bytes from, unsigned char *to, size_t size);

#endif
