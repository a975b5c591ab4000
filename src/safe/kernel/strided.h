/*
 * Kernels that copy elements which lie apart.
 *
 * A copy is described in words: pieces of 1 to 16 bytes that lie together on both sides. There are
 * these kernels for each size of a word. `each` computes where a word is from its number, and
 * writes in the destination's order. `tile` is for copies whose fastest dimensions differ: a block
 * reads a square of words in the source's order, and writes it in the destination's. `packed` does
 * the same with words of 1 or 2 bytes, but reads and writes 4 bytes at once: everything but the
 * words themselves must be a multiple of that.
 */
#ifndef ACU_SRC_STRIDED_H
#define ACU_SRC_STRIDED_H

#include <stddef.h>

#include "safe/kernel/kernel.h"
#include "safe/memory/buffer.h"

/* Sizes that the PTX and the C code both know. */
enum {
    ACU_STRIDED_THREADS = 256, /* of a block */
    ACU_STRIDED_RANK = ACU_MAX_RANK + 1
};

/* A dimension; how many words, or tiles, it has. The magic number and the shift divide a number
 * below 2^31 by the count: (high half of n * magic, plus n) >> shift. */
typedef struct acu_strided_dim {
    uint32_t count, magic, shift, unused;
    int64_t to, from; /* bytes from one to the next */
} acu_strided_dim;

/* The argument of the kernels; the PTX knows the offsets. */
typedef struct acu_strided_layout {
    int64_t to_at, from_at; /* bytes from the buffers' beginnings to the first words */
    uint32_t total;         /* words of `each`, below 2^31 */
    uint32_t rank;          /* at least 1; of `tile` at least 2 */
    /* Of tiles: the words of the dimensions in which a tile extends, the fastest one of the
     * destination (across) and of the source (down), which are dims[0] and dims[1] in tiles. */
    uint32_t across, down;
    int64_t across_to, across_from, down_to, down_from; /* bytes from a word to the next */
    acu_strided_dim dims[ACU_STRIDED_RANK];             /* the fastest one first */
} acu_strided_layout;

typedef enum acu_strided_kind {
    ACU_STRIDED_EACH,
    ACU_STRIDED_TILE,
    ACU_STRIDED_PACKED,
    ACU_STRIDED_KINDS
} acu_strided_kind;

/* Returns how many words a thread of `each` copies. */
static inline unsigned acu_strided_words(unsigned word) {
    return word >= 8 ? 4 : 8;
}
/* Returns how many words a side of a tile has. */
static inline unsigned acu_strided_side(acu_strided_kind kind, unsigned word) {
    if (kind == ACU_STRIDED_PACKED)
        return 128 / word;
    return word == 16 ? 32 : 64;
}

/* Writes the kernel's name, such as "acu_strided_each_4". */
void acu_strided_name(acu_strided_kind kind, unsigned word, char name[32]);
/* Writes the PTX of a kernel for words of 1, 2, 4, 8 or 16 bytes to `text`, which has room for
 * `size` bytes, and returns its length as snprintf() does. */
size_t acu_strided_ptx(acu_strided_kind kind, unsigned word, char *text, size_t size);

/* A copy in bytes; the innermost dimension is the last one. */
typedef struct acu_strided_copy {
    acu_buffer *to_buffer, *from_buffer;
    int64_t to_at, from_at; /* bytes from the buffers' beginnings to the first elements */
    size_t width;           /* bytes that lie together on both sides */
    unsigned rank;
    size_t shape[ACU_MAX_RANK]; /* at least 2 each */
    int64_t to[ACU_MAX_RANK], from[ACU_MAX_RANK];
    /* Each element has a place of its own in the destination: the dimensions descend there, all
     * steps there are positive, and none is shorter than what lies within it. */
    bool is_nested;
} acu_strided_copy;

/* Returns whether kernels for such copies have been loaded for the stream. */
bool acu_strided_is_loaded(acu_stream *on);
/* Copies by one kernel, or by several where there are 2^31 words or more. Returns false, with
 * nothing copied and no error recorded, where that is not possible: the copy is not nested, the
 * device does not reach the memory, or CUDA cannot load or launch the kernel. */
bool acu_strided_launch(const acu_strided_copy *copy, acu_stream *on);

#endif
