/*
 * Types that a program registered. Their numbers count from ACU_REGISTERED_KIND in the first byte,
 * and have the bytes of a group in the others, as those of all types.
 */
#ifndef ACU_SRC_DTYPE_H
#define ACU_SRC_DTYPE_H

#include <anycuda/dtype.h>

#include "core/abi.h"

#include <stdatomic.h>

enum { ACU_REGISTERED_TYPES = 64 };
#define ACU_REGISTERED_KIND 0x80000000u

/* A registered type; once `dtype` is not 0, nothing of it changes. */
typedef struct acu_registered_dtype {
    _Atomic(acu_dtype) dtype; /* 0: not registered yet */
    uint32_t elements;        /* of a group */
    const char *name;
} acu_registered_dtype;

/* The registered types, in their order. */
extern ACU_OURS acu_registered_dtype acu_registered_dtypes[ACU_REGISTERED_TYPES];

/* Returns the registered type with the number; NULL where there is none. */
const acu_registered_dtype *acu_dtype_find_registered(acu_dtype dtype);
/* Returns the bytes that an address of such elements must be a multiple of: the largest power of
 * two that divides their size; 1 of raw bytes. */
size_t acu_dtype_alignment(acu_dtype dtype);
/* Returns whether a type that everybody has is called so, or what acu_dtype_name() says of numbers
 * that are none. */
bool acu_dtype_is_taken(const char *name);

/* Records for `call` that no elements have such a type; returns the code. */
int acu_refuse_dtype(const char *call, acu_dtype dtype) ACU_COLD;

#endif
