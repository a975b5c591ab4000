/* DLPack: layouts, and where their elements lie. */
#include "types/dlpack.h"

#include "core/fail.h"

#include <string.h>

bool acu_tensor_pack(unsigned rank, const size_t *shape, int64_t *strides) {
    int64_t dense = 1;
    for (unsigned i = rank; i-- > 0;) {
        strides[i] = dense;
        if (shape[i] > PTRDIFF_MAX || __builtin_mul_overflow(dense, (int64_t)shape[i], &dense))
            return false;
        dense = dense ? dense : 1; /* of a tensor without elements, so that no step is 0 */
    }
    return true;
}

bool acu_tensor_find_reach(const acu_tensor_layout *l, acu_tensor_reach *reach) {
    int64_t strides[ACU_MAX_RANK];
    *reach = (acu_tensor_reach){.count = 1};
    if (!acu_tensor_pack(l->rank, l->shape, strides))
        return false;
    for (unsigned i = 0; i < l->rank; i++)
        reach->count *= l->shape[i];
    if (l->strided)
        memcpy(strides, l->strides, sizeof strides);
    for (unsigned i = 0; i < l->rank && reach->count > 0; i++) {
        int64_t distance, *end = strides[i] < 0 ? &reach->low : &reach->high;
        if (l->shape[i] > 1 &&
            (__builtin_mul_overflow(strides[i], (int64_t)(l->shape[i] - 1), &distance) ||
             __builtin_add_overflow(*end, distance, end)))
            return false;
    }
    return true;
}

int acu_tensor_check(const char *call, const acu_tensor_layout *l, uint64_t count, bool *inside) {
    acu_tensor_reach reach;
    int64_t low, high;
    *inside = false;
    if (l->rank > ACU_MAX_RANK)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "layout.rank is %u, but a tensor has at most %d dimensions", l->rank,
                        ACU_MAX_RANK);
    if (!acu_tensor_find_reach(l, &reach))
        return acu_fail(call, "", ACU_ERROR_OVERFLOW,
                        "the layout's elements lie where nothing can be addressed");
    if (reach.count == 0)
        *inside = l->at <= count;
    else
        *inside = l->at < count && !__builtin_add_overflow((int64_t)l->at, reach.low, &low) &&
                  !__builtin_add_overflow((int64_t)l->at, reach.high, &high) && low >= 0 &&
                  (uint64_t)high < count;
    return 0;
}

/* ---- of a tensor ---- */

/* Returns whether the elements are densely packed, whatever the steps of what has one element. */
static bool is_packed(const acu_tensor_layout *l, const int64_t *packed, size_t count) {
    for (unsigned i = 0; i < l->rank && count > 0; i++)
        if (l->shape[i] > 1 && l->strides[i] != packed[i])
            return false;
    return true;
}

int acu_dlpack_read_layout(const char *call, const acu_dlpack_tensor *t, acu_tensor_layout *l,
                           acu_tensor_reach *reach) {
    int64_t packed[ACU_MAX_RANK] = {0};
    if (t->rank < 0 || t->rank > ACU_MAX_RANK || (t->rank > 0 && !t->shape))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "the tensor has %d dimensions, or no shape: a buffer's layout has at most "
                        "%d",
                        t->rank, ACU_MAX_RANK);
    l->rank = (unsigned)t->rank;
    for (unsigned i = 0; i < l->rank; i++) {
        if (t->shape[i] < 0)
            return acu_fail(call, "", ACU_ERROR_ARGUMENT, "the tensor's shape[%u] is %lld", i,
                            (long long)t->shape[i]);
        l->shape[i] = (size_t)t->shape[i];
    }
    const bool fits = acu_tensor_pack(l->rank, l->shape, packed);
    memcpy(l->strides, t->strides && l->rank > 0 ? t->strides : packed,
           l->rank * sizeof *l->strides);
    l->strided = true;
    if (!fits || !acu_tensor_find_reach(l, reach))
        return acu_fail(call, "", ACU_ERROR_OVERFLOW,
                        "the tensor's elements lie where nothing can be addressed");
    l->strided = !is_packed(l, packed, reach->count);
    if (!l->strided)
        memcpy(l->strides, packed, sizeof packed);
    l->at = 0 - (size_t)reach->low; /* of the lowest number of all, too */
    return 0;
}

int acu_dlpack_find_memory(const char *call, const acu_dlpack_tensor *t,
                           const acu_tensor_reach *reach, size_t size, uintptr_t *lowest,
                           size_t *count) {
    int64_t span = 0, bytes = 0, down = 0;
    uintptr_t first = 0;
    *lowest = *count = 0;
    if (reach->count == 0)
        return 0;
    if (!t->data)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "the tensor has elements, but its data is NULL");
    if (__builtin_sub_overflow(reach->high, reach->low, &span) ||
        __builtin_add_overflow(span, 1, &span) ||
        __builtin_mul_overflow(span, (int64_t)size, &bytes) ||
        __builtin_mul_overflow(reach->low, (int64_t)size, &down) ||
        __builtin_add_overflow((uintptr_t)t->data, t->byte_offset, &first) ||
        __builtin_add_overflow(first, down, &first) || first > UINTPTR_MAX - (uintptr_t)bytes)
        return acu_fail(call, "", ACU_ERROR_OVERFLOW,
                        "the tensor's elements lie where nothing can be addressed");
    *lowest = first;
    *count = (size_t)span;
    return 0;
}
