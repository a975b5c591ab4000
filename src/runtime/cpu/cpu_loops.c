/*
 * Each loop exists for each type of element: of 1, 2, 4, 8 and 16 bytes, and two that overlap,
 * which make an element of any size up to 64 bytes. Nothing is aligned. The compiler turns loops
 * with constant steps into ones of vectors.
 */
#include "runtime/cpu/cpu_loops.h"

#include <stdint.h>
#include <string.h>

#define UNALIGNED __attribute__((aligned(1), may_alias))
typedef uint8_t UNALIGNED e1;
typedef uint16_t UNALIGNED e2;
typedef uint32_t UNALIGNED e4;
typedef uint64_t UNALIGNED e8;
typedef uint64_t __attribute__((vector_size(16), aligned(1), may_alias)) e16;
typedef uint64_t __attribute__((vector_size(32), aligned(1), may_alias)) e32;

/* The rest of a row, as names that the loops have in common. */
#define EACH_ROW(plane)                                                                            \
    char *restrict to = (plane)->to;                                                               \
    const char *restrict from = (plane)->from;                                                     \
    for (size_t row = 0; row < (plane)->rows;                                                      \
         row++, to += (plane)->to_row, from += (plane)->from_row)

/* A loop over elements that are dense in the destination, and `place` columns from the first one in
 * the source. */
#define DENSE_LOOP(type, name, place)                                                              \
    static void type##_##name(const acu_cpu_plane *plane) {                                        \
        const size_t columns = plane->columns;                                                     \
        EACH_ROW(plane) {                                                                          \
            const type *restrict source = (const type *)(const void *)from;                        \
            for (size_t i = 0; i < columns; i++)                                                   \
                *(type *)(void *)(to + i * sizeof(type)) = source[place];                          \
        }                                                                                          \
    }

#define LOOPS(type)                                                                                \
    DENSE_LOOP(type, repeat, 0)                                                                    \
    DENSE_LOOP(type, second, 2 * i)                                                                \
    DENSE_LOOP(type, third, 3 * i)                                                                 \
    DENSE_LOOP(type, fourth, 4 * i)                                                                \
    static void type##_any(const acu_cpu_plane *plane) {                                           \
        const ptrdiff_t to_step = plane->to_column, from_step = plane->from_column;                \
        const size_t columns = plane->columns;                                                     \
        EACH_ROW(plane) {                                                                          \
            char *target = to;                                                                     \
            const char *source = from;                                                             \
            _Pragma("GCC unroll 4") for (size_t i = 0; i < columns;                                \
                                         i++, target += to_step, source += from_step) {            \
                *(type *)(void *)target = *(const type *)(const void *)source;                     \
            }                                                                                      \
        }                                                                                          \
    }

/* A loop over elements that are longer than the type, and at most twice as long. */
#define PAIR_LOOP(type)                                                                            \
    static void type##_pair(const acu_cpu_plane *plane) {                                          \
        const ptrdiff_t to_step = plane->to_column, from_step = plane->from_column;                \
        const size_t columns = plane->columns, second = plane->element - sizeof(type);             \
        EACH_ROW(plane) {                                                                          \
            char *target = to;                                                                     \
            const char *source = from;                                                             \
            _Pragma("GCC unroll 4") for (size_t i = 0; i < columns;                                \
                                         i++, target += to_step, source += from_step) {            \
                const type a = *(const type *)(const void *)source;                                \
                const type b = *(const type *)(const void *)(source + second);                     \
                *(type *)(void *)target = a;                                                       \
                *(type *)(void *)(target + second) = b;                                            \
            }                                                                                      \
        }                                                                                          \
    }

LOOPS(e1)
LOOPS(e2)
LOOPS(e4)
LOOPS(e8)
LOOPS(e16)
PAIR_LOOP(e2)
PAIR_LOOP(e4)
PAIR_LOOP(e8)
PAIR_LOOP(e16)
PAIR_LOOP(e32)
#define e1_pair e1_any /* of one element */

/* Elements of more than 64 bytes. */
static void long_any(const acu_cpu_plane *plane) {
    EACH_ROW(plane) {
        char *target = to;
        const char *source = from;
        for (size_t i = 0; i < plane->columns;
             i++, target += plane->to_column, source += plane->from_column)
            memcpy(target, source, plane->element);
    }
}

/* ---- vectors ---- */

#if defined(__clang__)
#define SHUFFLE(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(type, a, b, ...) __builtin_shuffle(a, b, (type){__VA_ARGS__})
#endif
typedef uint8_t __attribute__((vector_size(16))) v1;
typedef uint16_t __attribute__((vector_size(16))) v2;
typedef uint32_t __attribute__((vector_size(16))) v4;
typedef uint64_t __attribute__((vector_size(16))) v8;

/* The elements of the lower, or of the upper half of two vectors, in turn. */
#define v1_LOW(a, b) SHUFFLE(v1, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define v1_HIGH(a, b)                                                                              \
    SHUFFLE(v1, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define v2_LOW(a, b)  SHUFFLE(v2, a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define v2_HIGH(a, b) SHUFFLE(v2, a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define v4_LOW(a, b)  SHUFFLE(v4, a, b, 0, 4, 1, 5)
#define v4_HIGH(a, b) SHUFFLE(v4, a, b, 2, 6, 3, 7)
#define v8_LOW(a, b)  SHUFFLE(v8, a, b, 0, 2)
#define v8_HIGH(a, b) SHUFFLE(v8, a, b, 1, 3)

/* The elements of a vector, the last one first. */
static inline v8 v8_reverse(v8 a) {
    return SHUFFLE(v8, a, a, 1, 0);
}
static inline v4 v4_reverse(v4 a) {
    return SHUFFLE(v4, a, a, 3, 2, 1, 0);
}
static inline v2 v2_reverse(v2 a) {
    return SHUFFLE(v2, a, a, 7, 6, 5, 4, 3, 2, 1, 0);
}
static inline v1 v1_reverse(v1 a) {
    const v2 pairs = v2_reverse((v2)a);
    return (v1)((pairs << 8) | (pairs >> 8));
}

/* A row whose elements are dense in both memories, but backwards in the source. */
#define BACKWARDS(type, element)                                                                   \
    static void element##_back(const acu_cpu_plane *plane) {                                       \
        enum { SIDE = 16 / sizeof(element) };                                                      \
        const size_t whole = plane->columns / SIDE * SIDE;                                         \
        EACH_ROW(plane) {                                                                          \
            const element *source = (const element *)(const void *)from;                           \
            for (size_t i = 0; i < whole; i += SIDE) {                                             \
                type line;                                                                         \
                memcpy(&line, source - i - SIDE + 1, 16);                                          \
                line = type##_reverse(line);                                                       \
                memcpy(to + i * sizeof(element), &line, 16);                                       \
            }                                                                                      \
            for (size_t i = whole; i < plane->columns; i++)                                        \
                *(element *)(void *)(to + i * sizeof(element)) = *(source - i);                    \
        }                                                                                          \
    }

BACKWARDS(v1, e1)
BACKWARDS(v2, e2)
BACKWARDS(v4, e4)
BACKWARDS(v8, e8)
#define e16_back e16_any

/* ---- transpositions: columns are dense in the destination, and rows in the source ---- */

/*
 * Transposes a square of as many elements as a vector has on each side. When the rows of the upper
 * and of the lower half have taken turns as often as the side can be halved, rows are columns.
 */
#define SQUARE(type, element)                                                                      \
    static inline void type##_square(char *to, ptrdiff_t to_row, const char *from,                 \
                                     ptrdiff_t from_column) {                                      \
        enum { SIDE = 16 / sizeof(element) };                                                      \
        type lines[2][SIDE];                                                                       \
        unsigned now = 0;                                                                          \
        _Pragma("GCC unroll 16") for (size_t i = 0; i < SIDE; i++)                                 \
            memcpy(&lines[0][i], from + (ptrdiff_t)i * from_column, 16);                           \
        _Pragma("GCC unroll 4") for (size_t half = 1; half < SIDE; half *= 2) {                    \
            _Pragma("GCC unroll 8") for (size_t i = 0; i < SIDE / 2; i++) {                        \
                const type a = lines[now][i], b = lines[now][i + SIDE / 2];                        \
                lines[!now][2 * i] = type##_LOW(a, b);                                             \
                lines[!now][2 * i + 1] = type##_HIGH(a, b);                                        \
            }                                                                                      \
            now = !now;                                                                            \
        }                                                                                          \
        _Pragma("GCC unroll 16") for (size_t i = 0; i < SIDE; i++)                                 \
            memcpy(to + (ptrdiff_t)i * to_row, &lines[now][i], 16);                                \
    }

SQUARE(v1, e1)
SQUARE(v2, e2)
SQUARE(v4, e4)
SQUARE(v8, e8)

/* An element of 16 bytes is its own transposition. */
static inline void e16_square(char *to, ptrdiff_t to_row, const char *from, ptrdiff_t from_column) {
    (void)to_row;
    (void)from_column;
    memcpy(to, from, 16);
}

enum { TILE = 64 }; /* bytes of a side: a line of the cache */

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/*
 * Goes through the plane in tiles, so that each line of the cache is read and written once. Squares
 * do the whole part of a tile; what is left at the lower and the right edge is done one by one.
 */
#define TRANSPOSITION(type, square)                                                                \
    static void type##_rest(const acu_cpu_plane *tile, size_t row, size_t column) {                \
        acu_cpu_plane rest = *tile;                                                                \
        rest.to += (ptrdiff_t)row * rest.to_row + (ptrdiff_t)column * rest.to_column;              \
        rest.from += (ptrdiff_t)row * rest.from_row + (ptrdiff_t)column * rest.from_column;        \
        rest.rows -= row;                                                                          \
        rest.columns -= column;                                                                    \
        type##_any(&rest);                                                                         \
    }                                                                                              \
    static void type##_tile(acu_cpu_plane *tile) {                                                 \
        enum { SIDE = 16 / sizeof(type) };                                                         \
        const size_t rows = tile->rows / SIDE * SIDE, columns = tile->columns / SIDE * SIDE;       \
        for (size_t row = 0; row < rows; row += SIDE)                                              \
            for (size_t column = 0; column < columns; column += SIDE)                              \
                square(tile->to + (ptrdiff_t)row * tile->to_row + column * sizeof(type),           \
                       tile->to_row,                                                               \
                       tile->from + row * sizeof(type) + (ptrdiff_t)column * tile->from_column,    \
                       tile->from_column);                                                         \
        if (columns < tile->columns)                                                               \
            type##_rest(tile, 0, columns);                                                         \
        tile->columns = columns;                                                                   \
        if (rows < tile->rows && columns > 0)                                                      \
            type##_rest(tile, rows, 0);                                                            \
    }                                                                                              \
    static void type##_transpose(const acu_cpu_plane *plane) {                                     \
        enum { SIDE = TILE / sizeof(type) };                                                       \
        for (size_t column = 0; column < plane->columns; column += SIDE)                           \
            for (size_t row = 0; row < plane->rows; row += SIDE) {                                 \
                acu_cpu_plane tile = *plane;                                                       \
                tile.to += (ptrdiff_t)row * plane->to_row + column * sizeof(type);                 \
                tile.from += row * sizeof(type) + (ptrdiff_t)column * plane->from_column;          \
                tile.rows = least(plane->rows - row, SIDE);                                        \
                tile.columns = least(plane->columns - column, SIDE);                               \
                type##_tile(&tile);                                                                \
            }                                                                                      \
    }

TRANSPOSITION(e1, v1_square)
TRANSPOSITION(e2, v2_square)
TRANSPOSITION(e4, v4_square)
TRANSPOSITION(e8, v8_square)
TRANSPOSITION(e16, e16_square)

/* ---- choosing ---- */

typedef struct loops {
    acu_cpu_loop *any, *pair, *repeat, *back, *second, *third, *fourth, *transpose;
} loops;

#define LOOPS_OF(type)                                                                             \
    {type##_any,    type##_pair,  type##_repeat, type##_back,                                      \
     type##_second, type##_third, type##_fourth, type##_transpose}

static const loops by_size[] = {LOOPS_OF(e1), LOOPS_OF(e2), LOOPS_OF(e4), LOOPS_OF(e8),
                                LOOPS_OF(e16)};

static acu_cpu_loop *for_element(const loops *all, const acu_cpu_plane *plane) {
    const ptrdiff_t element = (ptrdiff_t)plane->element, step = plane->from_column;
    if (plane->to_column != element)
        return all->any;
    if (plane->from_row == element && plane->rows > 1 && step != 0)
        return all->transpose;
    return step == 0             ? all->repeat
           : step == -element    ? all->back
           : step == 2 * element ? all->second
           : step == 3 * element ? all->third
           : step == 4 * element ? all->fourth
                                 : all->any;
}

acu_cpu_loop *acu_cpu_loop_for(const acu_cpu_plane *plane) {
    const size_t element = plane->element;
    if (element > 32)
        return element <= 64 ? e32_pair : long_any;
    for (unsigned i = 0; i < sizeof by_size / sizeof *by_size; i++) {
        const size_t size = (size_t)1 << i;
        if (element == size)
            return for_element(&by_size[i], plane);
        if (element < 2 * size || size == 16)
            return by_size[i].pair;
    }
    return long_any;
}
