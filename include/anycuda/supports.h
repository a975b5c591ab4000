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
 * Loads the library that the feature belongs to if nothing did yet. `device` is an ordinal; -1 asks
 * no device (it does not mean the current one), and then CUDA is not initialised. Never changes
 * what cudaGetLastError() returns.
 *
 * Returns 0, or why not, in the CUDA runtime's numbers: 303 (no library) or 34 (a stub), 35 (no
 * driver, or one that the loaded runtime cannot use), 801 (the library, driver or device lacks the
 * feature), 100 (no device), 101 (not this device), 1 (no such feature), or what the driver failed
 * with. Then acu_last_error_message() says what is missing; success leaves it as it is.
 */
int acu_supports(acu_feature feature, int device);

/** What messages call a feature: "graph conditional nodes"; "unknown feature" if there is none. */
const char *acu_feature_name(acu_feature feature);

/** Its name in the source: "ACU_FEATURE_BATCH_COPIES"; "unknown feature" if there is none. */
const char *acu_feature_id(acu_feature feature);

#if defined(__cplusplus)
}
#endif

#endif
