/*
 * Unpacks Zstandard (RFC 8878): one frame of a known size, without a dictionary. The output itself
 * is the window. Numbers have their low bits first; bit streams are read from their end, where a
 * one bit marks the last bit. Damaged input fails, and nothing is read or written out of bounds.
 */
#include "sim/code/bytes.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_OF_BLOCK = 128 << 10,
    MOST_HUFFMAN_BITS = 11,
    MOST_STATE_BITS = 9,
    SYMBOLS = 256,
};

/* Returns the index of the highest bit of a number that is not 0. */
static unsigned top_bit(uint64_t number) {
    return 63 - (unsigned)__builtin_clzll(number);
}

/* ---- bits ---- */

/* Returns up to 56 bits from bit `at` on. Bits outside of the bytes are zeros. */
static uint64_t bits_at(acu_sim_bytes from, int64_t at, unsigned count) {
    uint64_t mask = ((uint64_t)1 << count) - 1;
    if (at < 0)
        return -at >= (int64_t)count ? 0 : bits_at(from, 0, count - (unsigned)-at) << -at;
    uint64_t byte = (uint64_t)at / 8, there = from.size > byte ? from.size - byte : 0;
    return acu_sim_bytes_number(from, byte, there < 8 ? (unsigned)there : 8) >> at % 8 & mask;
}

/* A bit stream, read from its end. */
typedef struct stream {
    acu_sim_bytes from;
    int64_t left; /* bits; below 0: too many were read */
} stream;

static bool open_stream(stream *s, acu_sim_bytes from) {
    if (!from.size || !from.at[from.size - 1])
        return false;
    *s = (stream){from, (int64_t)from.size * 8 - 8 + top_bit(from.at[from.size - 1])};
    return true;
}

static uint64_t take(stream *s, unsigned count) {
    s->left -= count;
    return bits_at(s->from, s->left, count);
}

/* ---- state tables (FSE) ---- */

typedef struct states {
    unsigned log; /* bits of a state */
    bool there;   /* the table was read */
    struct {
        unsigned char symbol, bits; /* bits that are read for the next state */
        unsigned short base;        /* the next state is the base plus these bits */
    } at[1 << MOST_STATE_BITS];
} states;

/* Makes the table from how often each symbol occurs. */
static bool spread(states *t, const short *counts, unsigned symbols, unsigned log) {
    unsigned size = 1U << log, high = size, at = 0, next[SYMBOLS] = {0};
    for (unsigned s = 0; s < symbols; s++)
        if (counts[s] == -1) { /* a symbol rarer than 1 has one state, at the end */
            t->at[--high].symbol = (unsigned char)s;
            next[s] = 1;
        }
    for (unsigned s = 0; s < symbols; s++)
        for (int i = 0; i < counts[s]; i++) {
            next[s] = (unsigned)counts[s];
            t->at[at].symbol = (unsigned char)s;
            do
                at = (at + (size >> 1) + (size >> 3) + 3) & (size - 1);
            while (at >= high);
        }
    for (unsigned i = 0; i < size; i++) {
        unsigned n = next[t->at[i].symbol]++;
        t->at[i].bits = (unsigned char)(log - top_bit(n));
        t->at[i].base = (unsigned short)((n << t->at[i].bits) - size);
    }
    t->log = log;
    t->there = true;
    return at == 0;
}

/* Reads how often each symbol occurs, makes the table, and removes what was read from `from`. */
static bool read_states(states *t, acu_sim_bytes *from, unsigned symbols, unsigned most_log) {
    short counts[SYMBOLS] = {0};
    unsigned log = (unsigned)bits_at(*from, 0, 4) + 5, symbol = 0;
    int64_t at = 4;
    int left = 1 << log;
    if (log > most_log)
        return false;
    while (left > 0 && symbol < symbols) {
        unsigned width = top_bit((unsigned)left + 1) + 1, low = (1U << (width - 1)) - 1;
        unsigned value = (unsigned)bits_at(*from, at, width);
        unsigned spare = (1U << width) - 1 - ((unsigned)left + 1);
        bool is_short = (value & low) < spare;
        at += is_short ? width - 1 : width;
        value = is_short ? value & low : value > low ? value - spare : value;
        counts[symbol] = (short)(value - 1);
        left -= value ? (int)value - 1 : 1;
        symbol++;
        for (unsigned zeros = value == 1 ? 3 : 0; zeros == 3;) {
            zeros = (unsigned)bits_at(*from, at, 2);
            at += 2;
            symbol += zeros;
        }
    }
    uint64_t used = ((uint64_t)at + 7) / 8;
    return left == 0 && symbol <= symbols && used <= from->size &&
           acu_sim_bytes_part(*from, used, from->size - used, from) &&
           spread(t, counts, symbol, log);
}

static unsigned first_state(const states *t, stream *s) {
    return (unsigned)take(s, t->log);
}

static unsigned next_state(const states *t, unsigned state, stream *s) {
    return t->at[state].base + (unsigned)take(s, t->at[state].bits);
}

/* ---- literals ---- */

typedef struct huffman {
    unsigned bits; /* of the longest code; 0: there are no codes */
    struct {
        unsigned char symbol, bits;
    } at[1 << MOST_HUFFMAN_BITS];
} huffman;

typedef struct decoder {
    unsigned char *to;
    size_t size, used;
    huffman codes;
    states lengths, offsets, matches;
    uint64_t recent[3]; /* the last three offsets */
    unsigned char literals[MOST_OF_BLOCK];
    size_t literal_count;
} decoder;

/* Reads the weights of symbols. Two states take turns until one reads beyond the stream; then the
 * other has one more symbol. */
static bool unpack_weights(acu_sim_bytes from, unsigned char *weights, unsigned *count) {
    states t = {0};
    stream s;
    if (!read_states(&t, &from, SYMBOLS, 6) || !open_stream(&s, from))
        return false;
    unsigned state[2] = {first_state(&t, &s), 0}, n = 0;
    state[1] = first_state(&t, &s);
    while (n < SYMBOLS - 2) {
        unsigned turn = n & 1;
        weights[n++] = t.at[state[turn]].symbol;
        state[turn] = next_state(&t, state[turn], &s);
        if (s.left < 0) {
            weights[n++] = t.at[state[!turn]].symbol;
            *count = n;
            return true;
        }
    }
    return false;
}

/* Makes the codes from the weights. A weight w stands for 2^(w-1) places in the table. The last
 * symbol, whose weight is not stored, has the places that are left. */
static bool make_codes(huffman *h, unsigned char *weights, unsigned count) {
    unsigned sum = 0, at = 0;
    for (unsigned i = 0; i < count; i++) {
        if (weights[i] > MOST_HUFFMAN_BITS)
            return false;
        sum += weights[i] ? 1U << (weights[i] - 1) : 0;
    }
    if (!sum || top_bit(sum) + 1 > MOST_HUFFMAN_BITS)
        return false;
    h->bits = top_bit(sum) + 1;
    unsigned missing = (1U << h->bits) - sum;
    if (missing & (missing - 1))
        return false;
    weights[count++] = (unsigned char)(top_bit(missing) + 1);
    for (unsigned weight = 1; weight <= h->bits; weight++)
        for (unsigned i = 0; i < count; i++)
            for (unsigned k = 0; weights[i] == weight && k < 1U << (weight - 1); k++, at++) {
                h->at[at].symbol = (unsigned char)i;
                h->at[at].bits = (unsigned char)(h->bits + 1 - weight);
            }
    return at == 1U << h->bits;
}

static bool read_codes(huffman *h, acu_sim_bytes *from) {
    unsigned char weights[SYMBOLS] = {0};
    unsigned head = (unsigned)acu_sim_bytes_number(*from, 0, 1), count = head - 127;
    size_t size = head < 128 ? head : (count + 1) / 2;
    acu_sim_bytes packed;
    h->bits = 0;
    if (!from->size || !acu_sim_bytes_part(*from, 1, size, &packed) ||
        !acu_sim_bytes_part(*from, 1 + size, from->size - 1 - size, from))
        return false;
    if (head < 128 && !unpack_weights(packed, weights, &count))
        return false;
    for (unsigned i = 0; head >= 128 && i < count; i++)
        weights[i] = i & 1 ? packed.at[i / 2] & 15 : packed.at[i / 2] >> 4;
    return make_codes(h, weights, count);
}

/* Unpacks one stream of codes, of which all bits must be used. */
static bool unpack_codes(const huffman *h, acu_sim_bytes from, unsigned char *to, size_t count) {
    stream s;
    if (!h->bits || !open_stream(&s, from))
        return false;
    unsigned state = (unsigned)take(&s, h->bits), mask = (1U << h->bits) - 1;
    for (size_t i = 0; i < count; i++) {
        unsigned bits = h->at[state].bits;
        to[i] = h->at[state].symbol;
        state = (state << bits | (unsigned)take(&s, bits)) & mask;
    }
    return s.left == -(int64_t)h->bits;
}

/* Unpacks the literals from one stream or from four. Each of four has a quarter of the literals,
 * and a table before them has the sizes of the first three. */
static bool unpack_streams(decoder *d, acu_sim_bytes from, bool four) {
    size_t quarter = (d->literal_count + 3) / 4, at = 6;
    if (!four)
        return unpack_codes(&d->codes, from, d->literals, d->literal_count);
    if (from.size < at || d->literal_count < 3 * quarter)
        return false;
    for (unsigned i = 0; i < 4; i++) {
        acu_sim_bytes part;
        size_t size =
            i < 3 ? (size_t)acu_sim_bytes_number(from, (uint64_t)2 * i, 2) : from.size - at;
        size_t count = i < 3 ? quarter : d->literal_count - 3 * quarter;
        if (!acu_sim_bytes_part(from, at, size, &part) ||
            !unpack_codes(&d->codes, part, d->literals + i * quarter, count))
            return false;
        at += size;
    }
    return true;
}

static bool read_packed_literals(decoder *d, acu_sim_bytes *block, bool has_codes) {
    static const struct {
        unsigned char head, bits;
    } forms[] = {{3, 10}, {3, 10}, {4, 14}, {5, 18}};
    unsigned form = (unsigned)acu_sim_bytes_number(*block, 0, 1) >> 2 & 3, bits = forms[form].bits;
    uint64_t head = acu_sim_bytes_number(*block, 0, forms[form].head), mask = (1U << bits) - 1;
    size_t packed = (size_t)(head >> (4 + bits) & mask), used = forms[form].head + packed;
    acu_sim_bytes from;
    d->literal_count = (size_t)(head >> 4 & mask);
    return d->literal_count <= MOST_OF_BLOCK &&
           acu_sim_bytes_part(*block, forms[form].head, packed, &from) &&
           acu_sim_bytes_part(*block, used, block->size - used, block) &&
           (!has_codes || read_codes(&d->codes, &from)) && unpack_streams(d, from, form != 0);
}

/* The kinds of literals; the first three are also the kinds of blocks. */
enum { PLAIN, ONE_BYTE, PACKED, PACKED_AS_BEFORE };

static bool read_literals(decoder *d, acu_sim_bytes *block) {
    unsigned kind = (unsigned)acu_sim_bytes_number(*block, 0, 1) & 3;
    unsigned form = (unsigned)acu_sim_bytes_number(*block, 0, 1) >> 2 & 3;
    unsigned head = form == 1 ? 2 : form == 3 ? 3 : 1;
    acu_sim_bytes from;
    if (kind >= PACKED)
        return read_packed_literals(d, block, kind == PACKED);
    d->literal_count = (size_t)(acu_sim_bytes_number(*block, 0, head) >> (head == 1 ? 3 : 4));
    size_t size = kind == PLAIN ? d->literal_count : 1;
    if (d->literal_count > MOST_OF_BLOCK || !acu_sim_bytes_part(*block, head, size, &from) ||
        !acu_sim_bytes_part(*block, head + size, block->size - head - size, block))
        return false;
    if (kind == PLAIN)
        memcpy(d->literals, from.at, size);
    else
        memset(d->literals, from.at[0], d->literal_count);
    return true;
}

/* ---- sequences ---- */

/* A code stands for a range of numbers, and so many bits that follow select one of them. Each range
 * begins where the range of the code before ends. */
static const unsigned char length_bits[36] = {0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  0,  0,
                                              0, 0, 0, 0, 1, 1,  1,  1,  2,  2,  3,  3,
                                              4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const unsigned char match_bits[53] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  0,  0, 0,
    0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const short usual_lengths[36] = {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1,  1,  2,  2,
                                        2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1};
static const short usual_matches[53] = {1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                                        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                                        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1};
static const short usual_offsets[29] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 1,  1,  1,  1,  1, 1,
                                        1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1};
enum { LENGTHS = 36, MATCHES = 53, OFFSETS = 32, USUAL_OFFSETS = 29 };

/* Reads a state table. `mode`: 0 is the usual table, 1 has one symbol only, 2 has a description
 * here, and 3 is the table of the block before. */
static bool read_mode(states *t, unsigned mode, acu_sim_bytes *block, const short *usual,
                      unsigned usual_count, unsigned usual_log, unsigned symbols,
                      unsigned most_log) {
    if (mode == 0)
        return spread(t, usual, usual_count, usual_log);
    if (mode == 2)
        return read_states(t, block, symbols, most_log);
    if (mode == 3)
        return t->there;
    unsigned symbol = (unsigned)acu_sim_bytes_number(*block, 0, 1);
    t->log = 0;
    t->there = true;
    t->at[0].symbol = (unsigned char)symbol;
    t->at[0].bits = 0;
    t->at[0].base = 0;
    return symbol < symbols && acu_sim_bytes_part(*block, 1, block->size - 1, block);
}

static size_t number_of(const unsigned char *bits, unsigned code, size_t first, stream *s) {
    for (unsigned i = 0; i < code; i++)
        first += (size_t)1 << bits[i];
    return first + (size_t)take(s, bits[code]);
}

/* Returns the offset that a value means. Values up to 3 mean one of the last three offsets, a
 * different one if the sequence has no literals. */
static uint64_t offset_of(decoder *d, uint64_t value, bool has_literals) {
    uint64_t *r = d->recent;
    uint64_t index = value > 3 ? 3 : value - (has_literals ? 1 : 0);
    uint64_t offset = value > 3 ? value - 3 : index == 3 ? r[0] - 1 : r[index];
    if (index > 1)
        r[2] = r[1];
    if (index > 0)
        r[1] = r[0];
    return r[0] = offset;
}

static bool copy_literals(decoder *d, size_t *read, size_t count) {
    if (count > d->literal_count - *read || count > d->size - d->used)
        return false;
    memcpy(d->to + d->used, d->literals + *read, count);
    d->used += count;
    *read += count;
    return true;
}

static bool copy_match(decoder *d, uint64_t offset, size_t count) {
    if (offset == 0 || offset > d->used || count > d->size - d->used)
        return false;
    for (size_t end = d->used + count; d->used < end;
         d->used++) /* a match may overlap its own output */
        d->to[d->used] = d->to[d->used - offset];
    return true;
}

static bool run_sequences(decoder *d, acu_sim_bytes from, size_t count, size_t *read) {
    stream s;
    if (!open_stream(&s, from))
        return false;
    unsigned length = first_state(&d->lengths, &s), offset = first_state(&d->offsets, &s);
    unsigned match = first_state(&d->matches, &s);
    for (size_t i = 0; i < count; i++) {
        unsigned bits = d->offsets.at[offset].symbol;
        uint64_t value = ((uint64_t)1 << bits) + take(&s, bits);
        size_t copied = number_of(match_bits, d->matches.at[match].symbol, 3, &s);
        size_t literals = number_of(length_bits, d->lengths.at[length].symbol, 0, &s);
        if (s.left < 0 || !copy_literals(d, read, literals) ||
            !copy_match(d, offset_of(d, value, literals != 0), copied))
            return false;
        if (i + 1 < count) {
            length = next_state(&d->lengths, length, &s);
            match = next_state(&d->matches, match, &s);
            offset = next_state(&d->offsets, offset, &s);
        }
    }
    return s.left == 0;
}

static bool read_sequences(decoder *d, acu_sim_bytes block) {
    size_t first = (size_t)acu_sim_bytes_number(block, 0, 1), read = 0;
    size_t head = first < 128 ? 1 : first < 255 ? 2 : 3;
    size_t count = first < 128   ? first
                   : first < 255 ? (first - 128) << 8 | (size_t)acu_sim_bytes_number(block, 1, 1)
                                 : (size_t)acu_sim_bytes_number(block, 1, 2) + 0x7f00;
    if (block.size < head)
        return false;
    if (count) {
        unsigned modes = (unsigned)acu_sim_bytes_number(block, head, 1);
        if (!acu_sim_bytes_part(block, head + 1, block.size - head - 1, &block) || modes & 3 ||
            !read_mode(&d->lengths, modes >> 6, &block, usual_lengths, LENGTHS, 6, LENGTHS, 9) ||
            !read_mode(&d->offsets, modes >> 4 & 3, &block, usual_offsets, USUAL_OFFSETS, 5,
                       OFFSETS, 8) ||
            !read_mode(&d->matches, modes >> 2 & 3, &block, usual_matches, MATCHES, 6, MATCHES,
                       9) ||
            !run_sequences(d, block, count, &read))
            return false;
    }
    return copy_literals(d, &read, d->literal_count - read);
}

/* ---- blocks ---- */

static bool unpack_block(decoder *d, unsigned kind, acu_sim_bytes block, size_t size) {
    if (kind == PACKED)
        return read_literals(d, &block) && read_sequences(d, block);
    if (kind > PACKED || size > d->size - d->used)
        return false;
    if (kind == PLAIN)
        memcpy(d->to + d->used, block.at, size);
    else
        memset(d->to + d->used, block.at[0], size);
    d->used += size;
    return true;
}

static bool unpack_blocks(decoder *d, acu_sim_bytes from) {
    for (bool last = false; !last;) {
        unsigned head = (unsigned)acu_sim_bytes_number(from, 0, 3), kind = head >> 1 & 3;
        size_t size = head >> 3, stored = kind == ONE_BYTE ? 1 : size;
        acu_sim_bytes block;
        if (from.size < 3 || size > MOST_OF_BLOCK || !acu_sim_bytes_part(from, 3, stored, &block) ||
            !unpack_block(d, kind, block, size) ||
            !acu_sim_bytes_part(from, 3 + stored, from.size - 3 - stored, &from))
            return false;
        last = head & 1;
    }
    return d->used == d->size;
}

/* Returns the size of the frame's head; 0 if this is no frame, or a frame that needs a dictionary.
 */
static size_t head_size(acu_sim_bytes from) {
    unsigned what = (unsigned)acu_sim_bytes_number(from, 4, 1);
    bool single = what & 32;
    size_t content = what >> 6 ? (size_t)1 << (what >> 6) : single;
    return acu_sim_bytes_number(from, 0, 4) == 0xfd2fb528 && !(what & 3) ? 5 + !single + content
                                                                         : 0;
}

bool acu_sim_zstd_unpack(acu_sim_bytes from, unsigned char *to, size_t size) {
    size_t head = head_size(from);
    decoder *d = head ? calloc(1, sizeof *d) : NULL;
    if (!d)
        return false;
    d->to = to;
    d->size = size;
    d->recent[0] = 1, d->recent[1] = 4, d->recent[2] = 8;
    bool good = head <= from.size && acu_sim_bytes_part(from, head, from.size - head, &from) &&
                unpack_blocks(d, from);
    free(d);
    return good;
}
