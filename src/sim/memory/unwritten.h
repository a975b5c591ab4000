/* What stands in device memory that was never written, with check=init in ANYCUDA_SIM: words that
 * depend on the address, so that who reads one finds that nobody has written there. */
#ifndef ACU_SIM_MEMORY_UNWRITTEN_H
#define ACU_SIM_MEMORY_UNWRITTEN_H

#include "sim/sim.h"

/* Returns the word of 4 bytes that stands at an address, which is a multiple of 4. */
uint32_t acu_sim_unwritten_word(uint64_t address);

/* Fills memory with these words, without check=init not. `bytes` is where the byte at `address` is.
 */
void acu_sim_unwritten_fill(void *bytes, const void *address, size_t size);
/* Bytes were copied: what was never written of them is not where they are now either. */
void acu_sim_unwritten_copied(void *to, const void *from, size_t size);
/* Fills a range that was allocated, if it is a device's own memory. */
void acu_sim_unwritten_begin(const acu_sim_range *range);

#endif
