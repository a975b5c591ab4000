/* Unpacks LZ4: one block of a known size. Damaged input fails, and is never read beyond its end. */
#include "sim/code/bytes.h"

#include <string.h>

typedef struct cursor {
    const unsigned char *at, *end;
} cursor;

/* Completes a length. 15 means that more bytes are added, of which all but the last are 255. */
static bool read_length(cursor *from, size_t *length) {
    unsigned char more = 255;
    if (*length != 15)
        return true;
    while (more == 255) {
        if (from->at == from->end)
            return false;
        more = *from->at++;
        *length += more;
    }
    return true;
}

/* A block is a list of sequences: literals, then a match, which repeats earlier output. The last
 * sequence has no match. */
bool acu_sim_lz4_unpack(acu_sim_bytes packed, unsigned char *to, size_t size) {
    cursor from = {packed.at, packed.at + packed.size};
    size_t used = 0;
    while (from.at < from.end) {
        unsigned token = *from.at++;
        size_t literals = token >> 4, match = token & 15;
        if (!read_length(&from, &literals) || literals > (size_t)(from.end - from.at) ||
            literals > size - used)
            return false;
        memcpy(to + used, from.at, literals);
        used += literals;
        from.at += literals;
        if (from.at == from.end)
            break;
        if (from.end - from.at < 2)
            return false;
        size_t back = from.at[0] | (size_t)from.at[1] << 8;
        from.at += 2;
        if (!read_length(&from, &match) || back == 0 || back > used || match + 4 > size - used)
            return false;
        for (size_t end = used + match + 4; used < end;
             used++) /* a match may overlap its own output */
            to[used] = to[used - back];
    }
    return used == size;
}
