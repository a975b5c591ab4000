/*
 * DLPack's structs as the library sees them: the ABI of major version 1, and of the time before.
 * The public header only names them, so that it can stand beside <dlpack/dlpack.h>.
 */
#ifndef ACU_SRC_DLPACK_H
#define ACU_SRC_DLPACK_H

#include <anycuda/dlpack.h>

#include "core/record.h"

enum { ACU_DLPACK_MAJOR = 1, ACU_DLPACK_MINOR = 1 /* which has the types of 8 bits */ };

typedef struct acu_dlpack_dtype {
    uint8_t code;
    uint8_t bits;   /* of one lane */
    uint16_t lanes; /* elements of a vector type; 1 for others */
} acu_dlpack_dtype;

typedef struct acu_dlpack_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t rank;
    acu_dlpack_dtype dtype;
    int64_t *shape;
    int64_t *strides; /* elements; NULL: densely packed */
    uint64_t byte_offset;
} acu_dlpack_tensor;

struct DLManagedTensor {
    acu_dlpack_tensor tensor;
    void *context; /* the exporter's */
    void (*deleter)(struct DLManagedTensor *self);
};

/* All fields before `tensor` are the same in every major version. */
struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *context; /* the exporter's */
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    acu_dlpack_tensor tensor;
};

#if UINTPTR_MAX == UINT64_MAX
#define ACU_DLPACK_AT(type, field, at)                                                             \
    _Static_assert(offsetof(type, field) == (at), #type "." #field " is not where DLPack has it")
ACU_DLPACK_AT(acu_dlpack_tensor, device_type, 8);
ACU_DLPACK_AT(acu_dlpack_tensor, device_id, 12);
ACU_DLPACK_AT(acu_dlpack_tensor, rank, 16);
ACU_DLPACK_AT(acu_dlpack_tensor, dtype, 20);
ACU_DLPACK_AT(acu_dlpack_tensor, shape, 24);
ACU_DLPACK_AT(acu_dlpack_tensor, strides, 32);
ACU_DLPACK_AT(acu_dlpack_tensor, byte_offset, 40);
ACU_DLPACK_AT(struct DLManagedTensor, context, 48);
ACU_DLPACK_AT(struct DLManagedTensor, deleter, 56);
ACU_DLPACK_AT(struct DLManagedTensorVersioned, context, 8);
ACU_DLPACK_AT(struct DLManagedTensorVersioned, deleter, 16);
ACU_DLPACK_AT(struct DLManagedTensorVersioned, flags, 24);
ACU_DLPACK_AT(struct DLManagedTensorVersioned, tensor, 32);
_Static_assert(sizeof(acu_dlpack_dtype) == 4 && sizeof(acu_dlpack_tensor) == 48 &&
                   sizeof(struct DLManagedTensor) == 64 &&
                   sizeof(struct DLManagedTensorVersioned) == 80,
               "a struct does not have DLPack's size");
#endif

/* Returns the name of a device type; "an unknown one" where it has none. */
const char *acu_dlpack_device_name(int type);

/* ---- types ---- */

/* Finds DLPack's type for ours; returns 0 or a failure recorded for `call`. */
int acu_dlpack_from_dtype(const char *call, acu_dtype dtype, acu_dlpack_dtype *theirs);
/* Finds our type for DLPack's; returns 0 or a failure recorded for `call`. */
int acu_dlpack_to_dtype(const char *call, acu_dlpack_dtype theirs, acu_dtype *dtype);

/* ---- layouts ---- */

/* Where the elements of a layout lie, as distances to the first one. */
typedef struct acu_tensor_reach {
    size_t count; /* elements of the tensor; 0: none, and the distances are 0 */
    int64_t low, high;
} acu_tensor_reach;

/* Writes the steps of densely packed elements. Returns false where the shape has too many. */
bool acu_tensor_pack(unsigned rank, const size_t *shape, int64_t *strides);
/* Computes where the elements lie; returns false where that cannot be addressed. */
bool acu_tensor_find_reach(const acu_tensor_layout *l, acu_tensor_reach *reach);
/* Finds whether a layout lies in so many elements, for an export; returns 0 or a failure recorded
 * for `call`, where the layout is none. */
int acu_tensor_check(const char *call, const acu_tensor_layout *l, uint64_t count, bool *inside);

/* ---- tensors that are made for others ---- */

#define ACU_DLPACK_FLAGS ((unsigned)ACU_DLPACK_READ_ONLY | (unsigned)ACU_DLPACK_COPIED)

/* What a tensor is made of. */
typedef struct acu_dlpack_made {
    acu_dlpack_tensor tensor; /* without rank, shape and strides, which are the layout's */
    void *owner;
    void (*end)(void *owner); /* called by the tensor's deleter */
} acu_dlpack_made;

/* Make a tensor whose layout was checked; NULL where the host has no memory. */
struct DLManagedTensorVersioned *acu_dlpack_make(const acu_dlpack_made *made,
                                                 const acu_tensor_layout *layout, unsigned flags);
struct DLManagedTensor *acu_dlpack_make_unversioned(const acu_dlpack_made *made,
                                                    const acu_tensor_layout *layout);

/* ---- tensors that are taken over ---- */

/* A tensor that another framework exported: one of the two, the other is NULL. */
typedef struct acu_dlpack_taken {
    struct DLManagedTensorVersioned *versioned;
    struct DLManagedTensor *unversioned;
} acu_dlpack_taken;

static inline const acu_dlpack_tensor *acu_dlpack_tensor_of(const acu_dlpack_taken *taken) {
    return taken->versioned ? &taken->versioned->tensor : &taken->unversioned->tensor;
}
/* Calls the tensor's deleter. What that does is not known, and may be CUDA's: the thread's last
 * error stays as it is. */
void acu_dlpack_delete(const acu_dlpack_taken *taken);
/* Refuses another major version, of which nothing but the deleter is known; returns 0 or a failure
 * recorded for `call`. */
int acu_dlpack_check_version(const char *call, const acu_dlpack_taken *taken);
/* Reads shape and strides as a layout; returns 0 or a failure recorded for `call`. */
int acu_dlpack_read_layout(const char *call, const acu_dlpack_tensor *t, acu_tensor_layout *l,
                           acu_tensor_reach *reach);
/* Reads all that acu_dlpack_info has. `found->layout.at` is the first element as counted from the
 * lowest one. Returns 0 or a failure recorded for `call`. */
int acu_dlpack_read(const char *call, const acu_dlpack_taken *taken, acu_dlpack_info *found,
                    acu_tensor_reach *reach);
/* Finds the address of the lowest element, of `size` bytes, and how many lie from there to the
 * highest; 0 where there are none. Returns 0 or a failure recorded for `call`. */
int acu_dlpack_find_memory(const char *call, const acu_dlpack_tensor *t,
                           const acu_tensor_reach *reach, size_t size, uintptr_t *lowest,
                           size_t *count);
/* Refuses a tensor that the caller cannot use without `info`; returns 0 or a failure recorded for
 * `call`. */
int acu_dlpack_check_info(const char *call, const acu_dlpack_info *info,
                          const acu_dlpack_info *found);

#endif
