#include "sim/ptx/tensor_map.h"

#include <string.h>

_Static_assert(sizeof(ptx_tensor_map) <= PTX_TENSOR_BYTES, "a map has 128 bytes");

bool acu_ptx_tensor_read(const void *bytes, ptx_tensor_map *map) {
    if (!bytes)
        return false;
    memcpy(map, bytes, sizeof *map);
    return map->magic >= PTX_TENSOR_TILED && map->magic <= PTX_TENSOR_IM2COL_WIDE;
}

bool acu_ptx_tensor_begin(const char *bytes, ptx_tensor_map *map) {
    for (unsigned i = 0; bytes && i < PTX_TENSOR_BYTES; i++)
        if (bytes[i])
            return false;
    *map = (ptx_tensor_map){.magic = PTX_TENSOR_TILED, .rank = 1};
    return bytes != NULL;
}

unsigned acu_ptx_tensor_bits(unsigned type) {
    static const uint8_t bits[PTX_TENSOR_TYPES] = {8,  16, 32, 32, 64, 64, 16, 32,
                                                   64, 16, 32, 32, 32, 4,  4,  6};
    return type < PTX_TENSOR_TYPES ? bits[type] : 0;
}

uint64_t acu_ptx_tensor_rows(const ptx_tensor_map *map) {
    uint64_t rows = 1;
    if (map->magic != PTX_TENSOR_TILED)
        return map->box[1];
    for (unsigned i = 1; i < map->rank; i++)
        rows *= (map->box[i] + map->steps[i] - 1u) / map->steps[i];
    return rows;
}

static void next_row(ptx_tensor_walk *walk) {
    const ptx_tensor_map *map = walk->map;
    for (unsigned i = 1; i < map->rank; i++) {
        walk->at[i] += map->steps[i];
        if (walk->at[i] - walk->first[i] < map->box[i])
            return;
        walk->at[i] = walk->first[i];
    }
}

/* Pixels go on at the box's lower corner, in the next line, plane or image. */
static void next_pixel(ptx_tensor_walk *walk) {
    const ptx_tensor_map *map = walk->map;
    for (unsigned i = 1; i + 1 < map->rank; i++) {
        walk->at[i] += map->steps[i];
        if (walk->at[i] <= (int64_t)map->shape[i] + map->upper[i - 1])
            return;
        walk->at[i] = map->lower[i - 1];
    }
    walk->at[map->rank - 1] += map->steps[map->rank - 1];
}

void acu_ptx_tensor_next(ptx_tensor_walk *walk) {
    (walk->map->magic == PTX_TENSOR_TILED ? next_row : next_pixel)(walk);
}

unsigned acu_ptx_tensor_row(const ptx_tensor_walk *walk, unsigned *begin, uint64_t *address) {
    const ptx_tensor_map *map = walk->map;
    int64_t first = walk->at[0], end = first + map->box[0], size = (int64_t)map->shape[0] + 1;
    *begin = first < 0 ? (unsigned)-first : 0;
    *address = map->address + (uint64_t)(first < 0 ? 0 : first) * ptx_tensor_unit(map) / 8;
    for (unsigned i = 1; i < map->rank; i++) {
        int64_t at = walk->at[i] + walk->offset[i];
        if (at < 0 || at > (int64_t)map->shape[i])
            return 0;
        *address += (uint64_t)at * map->strides[i - 1];
    }
    if (first >= size || end <= 0)
        return 0;
    return (unsigned)((end < size ? end : size) - first) - *begin;
}
