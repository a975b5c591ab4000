/* DLPack: tensors that are made for others, and those that are taken over. */
#include "types/dlpack.h"

#include "core/fail.h"

#include <stdlib.h>
#include <string.h>

/* ---- made for others ---- */

/* A tensor of ours, until its deleter runs. */
typedef struct export {
    union {
        struct DLManagedTensorVersioned versioned;
        struct DLManagedTensor unversioned;
    } tensor;
    void *owner;
    void (*end)(void *owner);
    int64_t shape[ACU_MAX_RANK], strides[ACU_MAX_RANK];
} export;

static void end_export(export *e) {
    e->end(e->owner);
    free(e);
}

static void delete_versioned(struct DLManagedTensorVersioned *tensor) {
    if (tensor)
        end_export(tensor->context);
}

static void delete_unversioned(struct DLManagedTensor *tensor) {
    if (tensor)
        end_export(tensor->context);
}

/* Makes what the tensor's fields beside the flags are; NULL where the host has no memory. */
static export *new_export(const acu_dlpack_made *made, const acu_tensor_layout *l,
                          acu_dlpack_tensor *tensor) {
    export *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->owner = made->owner;
    e->end = made->end;
    (void)acu_tensor_pack(l->rank, l->shape, e->strides);
    for (unsigned i = 0; i < l->rank; i++) {
        e->shape[i] = (int64_t)l->shape[i];
        if (l->strided)
            e->strides[i] = l->strides[i];
    }
    *tensor = made->tensor;
    tensor->rank = (int32_t)l->rank;
    tensor->shape = e->shape;
    tensor->strides = e->strides;
    return e;
}

struct DLManagedTensorVersioned *acu_dlpack_make(const acu_dlpack_made *made,
                                                 const acu_tensor_layout *layout, unsigned flags) {
    acu_dlpack_tensor t;
    export *e = new_export(made, layout, &t);
    if (!e)
        return NULL;
    e->tensor.versioned = (struct DLManagedTensorVersioned){.major = ACU_DLPACK_MAJOR,
                                                            .minor = ACU_DLPACK_MINOR,
                                                            .context = e,
                                                            .deleter = delete_versioned,
                                                            .flags = flags,
                                                            .tensor = t};
    return &e->tensor.versioned;
}

struct DLManagedTensor *acu_dlpack_make_unversioned(const acu_dlpack_made *made,
                                                    const acu_tensor_layout *layout) {
    acu_dlpack_tensor t;
    export *e = new_export(made, layout, &t);
    if (!e)
        return NULL;
    e->tensor.unversioned =
        (struct DLManagedTensor){.tensor = t, .context = e, .deleter = delete_unversioned};
    return &e->tensor.unversioned;
}

/* ---- taken over ---- */

void acu_dlpack_delete(const acu_dlpack_taken *taken) {
    acu_saved_record before;
    acu_record_save(&before);
    if (taken->versioned && taken->versioned->deleter)
        taken->versioned->deleter(taken->versioned);
    if (taken->unversioned && taken->unversioned->deleter)
        taken->unversioned->deleter(taken->unversioned);
    acu_record_restore(&before);
}

int acu_dlpack_check_version(const char *call, const acu_dlpack_taken *taken) {
    if (!taken->versioned || taken->versioned->major == ACU_DLPACK_MAJOR)
        return 0;
    acu_fail_hint("ask the exporter for version 1 (max_version=(1, 0) in Python)");
    return acu_fail(call, "", ACU_NOT_SUPPORTED,
                    "the tensor is of DLPack %u.%u, but only version 1 is known here",
                    taken->versioned->major, taken->versioned->minor);
}

int acu_dlpack_read(const char *call, const acu_dlpack_taken *taken, acu_dlpack_info *found,
                    acu_tensor_reach *reach) {
    const acu_dlpack_tensor *t = acu_dlpack_tensor_of(taken);
    ACU_TRY(acu_dlpack_to_dtype(call, t->dtype, &found->dtype));
    ACU_TRY(acu_dlpack_read_layout(call, t, &found->layout, reach));
    found->device = (acu_dlpack_device)t->device_type;
    found->device_id = t->device_id;
    found->flags = taken->versioned ? (unsigned)taken->versioned->flags & ACU_DLPACK_FLAGS : 0;
    return 0;
}

int acu_dlpack_check_info(const char *call, const acu_dlpack_info *info,
                          const acu_dlpack_info *found) {
    if (info)
        return 0;
    if (!found->layout.strided && !(found->flags & (unsigned)ACU_DLPACK_READ_ONLY))
        return 0;
    acu_fail_hint("give an acu_dlpack_info, which says how the tensor is");
    return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'info' is NULL, but the tensor %s",
                    found->layout.strided ? "is not densely packed" : "must not be written to");
}
