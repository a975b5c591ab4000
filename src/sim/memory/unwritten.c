#include "sim/memory/unwritten.h"

#include "sim/memory/range.h"

#include <string.h>

enum { CHECK_INIT = 4 }; /* the bit of acu_sim_config.checks */

/* The word depends on the place within 4 KiB alone, which is the same for an address of a device
 * and for where its bytes are. Halves and words of it are NaN in all floating types, and its bytes
 * neither small nor text: what a program writes is hardly ever the same, even where that is one
 * byte of four. */
uint32_t acu_sim_unwritten_word(uint64_t address) {
    uint32_t mixed = (uint32_t)(address % 4096 / 4) * UINT32_C(0x9e3779b1) ^ UINT32_C(0x5c3fa0d7);
    return UINT32_C(0x7f817f81) + (mixed & UINT32_C(0x003e003e));
}

void acu_sim_unwritten_fill(void *bytes, const void *address, size_t size) {
    if (!(acu_sim_configuration()->checks & CHECK_INIT))
        return;
    for (size_t at = 0; at < size; at += 4) {
        uint32_t word = acu_sim_unwritten_word((uintptr_t)address + at);
        memcpy((char *)bytes + at, &word, size - at < 4 ? size - at : 4);
    }
}

void acu_sim_unwritten_copied(void *to, const void *from, size_t size) {
    const uintptr_t target = (uintptr_t)to, source = (uintptr_t)from;
    if (!(acu_sim_configuration()->checks & CHECK_INIT) || (target - source) % 4)
        return;
    for (size_t at = -target % 4; at < size && size - at >= 4; at += 4) {
        uint32_t word;
        memcpy(&word, (char *)to + at, sizeof word);
        if (word == acu_sim_unwritten_word(source + at))
            acu_sim_unwritten_fill((char *)to + at, (char *)to + at, sizeof word);
    }
}

void acu_sim_unwritten_begin(const acu_sim_range *range) {
    if (range->kind == SIM_DEVICE && !range->bytes && !range->view)
        acu_sim_unwritten_fill(acu_sim_range_bytes(range, (void *)range->base), (void *)range->base,
                               range->size);
}
