/* Bytes of a file format, read within their bounds; and two ways to unpack them. */
#ifndef ACU_SIM_CODE_BYTES_H
#define ACU_SIM_CODE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Code in memory comes without its size, which only its own head tells: what says more than this is
 * damaged, and is not followed to memory that nobody has. */
enum { ACU_SIM_MOST_CODE = INT32_MAX };

typedef struct acu_sim_bytes {
    const unsigned char *at;
    size_t size;
} acu_sim_bytes;

/* Returns the number of `width` bytes at the offset, the low byte first; 0 if it is not all within.
 */
static inline uint64_t acu_sim_bytes_number(acu_sim_bytes bytes, uint64_t offset, unsigned width) {
    uint64_t number = 0;
    if (offset > bytes.size || bytes.size - offset < width)
        return 0;
    for (unsigned i = 0; i < width; i++)
        number |= (uint64_t)bytes.at[offset + i] << (8 * i);
    return number;
}

/* Finds a part of the bytes; false if it is not all within. */
static inline bool acu_sim_bytes_part(acu_sim_bytes whole, uint64_t offset, uint64_t size,
                                      acu_sim_bytes *part) {
    if (offset > whole.size || whole.size - offset < size)
        return false;
    *part = (acu_sim_bytes){whole.at + offset, (size_t)size};
    return true;
}

/* Unpack exactly `size` bytes; false if there are more or fewer, if the input is damaged, or
 * without memory. */
bool acu_sim_lz4_unpack(acu_sim_bytes from, unsigned char *to, size_t size);
bool acu_sim_zstd_unpack(acu_sim_bytes from, unsigned char *to, size_t size);

#endif
