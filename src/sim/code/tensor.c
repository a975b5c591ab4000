/* What kernels copy by tensor maps. */
#include "sim/code/tensor.h"

#include <anycuda/sim.h>

#include <string.h>

_Static_assert(sizeof(acu_sim_tensor) <= ACU_SIM_TENSOR_BYTES, "");

bool acu_sim_tensor_read(const void *map, acu_sim_tensor *tensor) {
    if (!map)
        return false;
    memcpy(tensor, map, sizeof *tensor);
    return tensor->magic == ACU_SIM_TENSOR_TILED || tensor->magic == ACU_SIM_TENSOR_IM2COL;
}

/* Copies one row of a tile, element by element; what lies outside is 0 where it is read, and is not
 * written. `at` is the place of the row's first element. */
static void copy_row(const acu_sim_launch *launch, const acu_sim_tensor *t, const int64_t *at,
                     char *tile, bool store) {
    const size_t size = t->bits / 8;
    bool inside = true;
    int64_t offset = 0;
    for (unsigned i = 1; i < t->rank; i++) {
        inside = inside && at[i] >= 0 && at[i] <= (int64_t)t->shape[i];
        offset += at[i] * (int64_t)t->strides[i - 1];
    }
    for (unsigned x = 0; x < t->box[0]; x++, tile += size) {
        const int64_t column = at[0] + (int64_t)x;
        if (!inside || column < 0 || column > (int64_t)t->shape[0]) {
            if (!store)
                memset(tile, 0, size);
            continue;
        }
        char *element = acu_sim_at(launch, t->address + offset + column * (int64_t)size, size);
        memcpy(store ? element : tile, store ? tile : element, size);
    }
}

static unsigned rows_of(const acu_sim_tensor *t, unsigned i) {
    return (t->box[i] + t->steps[i] - 1u) / t->steps[i];
}

static int copy_tile(const acu_sim_launch *launch, const void *map, const int *at, char *tile,
                     bool store) {
    acu_sim_tensor t;
    int64_t place[ACU_SIM_TENSOR_RANKS] = {0};
    unsigned row[ACU_SIM_TENSOR_RANKS] = {0}, i = 1;
    if (!acu_sim_tensor_read(map, &t) || t.magic != ACU_SIM_TENSOR_TILED || t.bits < 8)
        return 0;
    for (;;) {
        for (unsigned j = 0; j < t.rank; j++)
            place[j] = at[j] + (int64_t)row[j] * t.steps[j];
        copy_row(launch, &t, place, tile, store);
        tile += (size_t)t.box[0] * (t.bits / 8);
        for (i = 1; i < t.rank && ++row[i] == rows_of(&t, i); i++)
            row[i] = 0;
        if (i >= t.rank)
            return 1;
    }
}

int acu_sim_tensor_load(const acu_sim_launch *launch, const void *map, const int *at, void *tile) {
    return copy_tile(launch, map, at, tile, false);
}

int acu_sim_tensor_store(const acu_sim_launch *launch, const void *map, const int *at,
                         const void *tile) {
    return copy_tile(launch, map, at, (char *)(uintptr_t)tile, true);
}
