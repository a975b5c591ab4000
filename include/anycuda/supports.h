/*
 * Run-time gates: whether a feature can be used, and if not, what is missing: the library, the
 * driver or the device. The features themselves are in <anycuda/features.h>.
 */
#ifndef ACU_SUPPORTS_H
#define ACU_SUPPORTS_H

#include <anycuda/features.h>

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * Whether a feature can be used with the loaded library, the installed driver and a device.
 *
 * Loads the feature's library if it is not loaded yet. `device` is an ordinal; with -1 no device is
 * asked (-1 does not mean the current device), and CUDA is not initialised. Never changes what
 * cudaGetLastError() returns.
 *
 * Returns 0 if the feature can be used, else the reason in the CUDA runtime's numbers: 303 (no
 * library) or 34 (a stub), 35 (no driver, or one that the loaded runtime cannot use), 801 (the
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

#if defined(__cplusplus)
}
#endif

#endif
