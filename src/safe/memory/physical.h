/* Physical memory as the rest of the safe layer sees it. */
#ifndef ACU_SRC_PHYSICAL_H
#define ACU_SRC_PHYSICAL_H

#include <anycuda/cuda.h>
#include <anycuda/physical.h>

#include "core/translate.h"
#include "safe/base/object.h"

struct acu_physical {
    acu_object object;
    CUmemGenericAllocationHandle raw;
    size_t bytes;
    CUmemLocation location;
    bool owned;        /* the raw handle is given up with this one */
    bool tiles;        /* it is for arrays */
    bool untiled;      /* it is not; of raw handles neither is known, because CUDA does not say */
    acu_object *lease; /* of a share's: ends after the raw handle; with a reference, or NULL */
};

extern ACU_OURS const acu_class acu_physical_class;

/* Makes memory of a device, or of ACU_DEVICE_HOST, whose size is right, with the caller as owner.
 * Returns 0, or a recorded code. */
int acu_physical_take(acu_device device, const acu_physical_options *options, size_t bytes,
                      acu_physical **physical);
/* Returns 0 if there can be such options, or a failure recorded for `call`. */
int acu_physical_check_options(const char *call, acu_device device, const acu_physical_options *o);

/* Exports as acu_physical_export() does; returns 0 or a failure recorded for `call`. */
int acu_physical_export_for(const char *call, const acu_physical *physical, int *descriptor);

/* Hints at what fabric handles need, where they were asked for and refused with the code. */
void acu_physical_hint_at_fabric(unsigned handles, int code);

/* Prepares the driver for calls about memory of the device, or of ACU_DEVICE_HOST, and replaces
 * ACU_DEVICE_CURRENT by the ordinal. Returns 0 or a failure recorded for `call`. */
int acu_physical_begin(const char *call, acu_device *device);

/* Asks of what number of bytes the size of such memory must be a multiple; `options` may be NULL.
 * Returns 0 or a recorded code. */
int acu_physical_step(acu_device device, const acu_physical_options *options, size_t *bytes);

#endif
