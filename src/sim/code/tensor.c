/* What C functions in the place of kernels copy by tensor maps. */
#include "sim/ptx/tensor_map.h"

#include <anycuda/sim.h>

#include <string.h>

static int copy_tile(const acu_sim_launch *launch, const void *bytes, const int *at, char *tile,
                     bool store) {
    ptx_tensor_map map;
    if (!acu_ptx_tensor_read(bytes, &map) || map.magic != PTX_TENSOR_TILED ||
        acu_ptx_tensor_bits(map.type) < 8 || map.interleave || !ptx_tensor_begins(&map, at[0]))
        return 0;
    ptx_tensor_walk walk = {.map = &map};
    for (unsigned i = 0; store && i < map.rank; i++)
        if (at[i] < 0)
            return 0;
    for (unsigned i = 0; i < map.rank; i++)
        walk.first[i] = walk.at[i] = at[i];
    size_t size = acu_ptx_tensor_bits(map.type) / 8, row = map.box[0] * size;
    for (uint64_t n = acu_ptx_tensor_rows(&map); n > 0; n--, tile += row) {
        unsigned begin;
        uint64_t address;
        size_t inside = acu_ptx_tensor_row(&walk, &begin, &address) * size;
        if (!store)
            memset(tile, 0, row);
        if (inside) {
            char *elements = acu_sim_at(launch, (void *)(uintptr_t)address, inside);
            char *part = tile + begin * size;
            memcpy(store ? elements : part, store ? part : elements, inside);
        }
        acu_ptx_tensor_next(&walk);
    }
    return 1;
}

int acu_sim_tensor_load(const acu_sim_launch *launch, const void *map, const int *at, void *tile) {
    return copy_tile(launch, map, at, tile, false);
}

int acu_sim_tensor_store(const acu_sim_launch *launch, const void *map, const int *at,
                         const void *tile) {
    return copy_tile(launch, map, at, (char *)(uintptr_t)tile, true);
}
