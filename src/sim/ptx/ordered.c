#include "sim/ptx/ordered.h"

#include <string.h>

static char *ordered_at(ptx_warp *w, const ptx_op *op, unsigned lane, bool writes) {
    const ptx_access *access = op->more;
    const void *at = ptx_at(w, op->a);
    const uint64_t address =
        (access->narrow ? ((const uint32_t *)at)[lane] : ((const uint64_t *)at)[lane]) +
        (uint64_t)op->value;
    return acu_ptx_memory_at(w, op, lane, access->space,
                             access->narrow ? (uint32_t)address : address, access->size,
                             access->size, writes);
}

/* The place is aligned to the size. */
static uint64_t load_atomically(const void *at, unsigned size) {
    switch (size) {
    case 1:
        return __atomic_load_n((const uint8_t *)at, __ATOMIC_RELAXED);
    case 2:
        return __atomic_load_n((const uint16_t *)at, __ATOMIC_RELAXED);
    case 4:
        return __atomic_load_n((const uint32_t *)at, __ATOMIC_RELAXED);
    default:
        return __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
    }
}

static void store_atomically(void *at, unsigned size, uint64_t value) {
    switch (size) {
    case 1:
        __atomic_store_n((uint8_t *)at, (uint8_t)value, __ATOMIC_RELAXED);
        break;
    case 2:
        __atomic_store_n((uint16_t *)at, (uint16_t)value, __ATOMIC_RELAXED);
        break;
    case 4:
        __atomic_store_n((uint32_t *)at, (uint32_t)value, __ATOMIC_RELAXED);
        break;
    default:
        __atomic_store_n((uint64_t *)at, value, __ATOMIC_RELAXED);
        break;
    }
}

void acu_ptx_load_ordered(ptx_warp *w, const ptx_op *op) {
    const ptx_access *access = op->more;
    const unsigned shift = 64 - 8u * access->size;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t value = load_atomically(ordered_at(w, op, lane, false), access->size);
        if (access->is_signed)
            value = (uint64_t)((int64_t)(value << shift) >> shift);
        if (access->slots[0] != UINT32_MAX)
            memcpy((char *)ptx_at(w, access->slots[0]) + (size_t)lane * access->register_size,
                   &value, access->register_size);
    }
}

void acu_ptx_store_ordered(ptx_warp *w, const ptx_op *op) {
    const ptx_access *access = op->more;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t value = 0;
        memcpy(&value,
               (const char *)ptx_at(w, access->slots[0]) + (size_t)lane * access->register_size,
               access->register_size);
        store_atomically(ordered_at(w, op, lane, true), access->size, value);
    }
}

/* A sanitizer of threads knows no fences, but sees what orders the changes of one word. */
void acu_ptx_fence(ptx_warp *w, const ptx_op *op) {
    (void)w;
    (void)op;
#if defined(__SANITIZE_THREAD__)
    static uint32_t fences;
    __atomic_fetch_add(&fences, 1, __ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
