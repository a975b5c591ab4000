/*
 * Run-time gates: whether a feature can be used, and if not, what is missing: the library, the
 * driver or the device. The features themselves are in <anycuda/features.h>.
 */
#ifndef ACU_SUPPORTS_H
#define ACU_SUPPORTS_H

#include <anycuda/features.h>
#include <anycuda/load.h>

ACU_BEGIN_C

/**
 * Whether a feature can be used with the loaded library, the installed driver and a device.
 *
 * Loads the feature's library if it is not loaded yet. `device` is an ordinal; with -1 no device is
 * asked (-1 does not mean the current device), and CUDA is not initialised. Never changes what
 * cudaGetLastError() returns.
 *
 * Returns 0 if the feature can be used, else the reason in the CUDA runtime's numbers: 303 (no
 * library) or 34 (a stub), 35 (no driver, the driver API's features included, or one that the
 * loaded runtime cannot use), 801 (the
 * library, driver or device lacks the feature), 100 (no device), 101 (no such device), 1 (no such
 * feature), or the driver's own error. acu_last_error_message() then says what is missing; success
 * leaves it as it is.
 */
int acu_supports(acu_feature feature, int device);

/** The feature's name in messages: "graph conditional nodes"; "unknown feature" if there is none.
 */
const char *acu_feature_name(acu_feature feature);

/** The feature's name in C: "ACU_FEATURE_BATCH_COPIES"; "unknown feature" if there is none. */
const char *acu_feature_id(acu_feature feature);

/**
 * What a feature needs, all of it constant. A version is 12030 for 12.3; 0 means that there is no
 * such condition.
 */
typedef struct acu_feature_info {
    const char *id;               /* its name in C: "ACU_FEATURE_BATCH_COPIES" */
    const char *title;            /* its name in messages: "batched copies" */
    acu_library_id library;       /* the one that has it; for ACU_CUDA, `driver` is the version */
    int since, until;             /* the first and the last version of the library that has it */
    int removed;                  /* the first known version that lacks it again */
    int driver;                   /* the oldest driver that supports it */
    const char *attribute;        /* of a device, which must not be 0; NULL: no condition */
    int attribute_number;         /* the same number in the driver and the runtime */
    int compute_capability;       /* 90 for 9.0 */
    const char *const *functions; /* the library's functions that belong to it; ended by NULL */
} acu_feature_info;

/** Copies what a feature needs. Errors: ACU_ERROR_ARGUMENT where there is no such feature. */
ACU_CHECKED acu_result acu_feature_get_info(acu_feature feature, acu_feature_info *info);

ACU_END_C

#endif
