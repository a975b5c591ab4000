/*
 * What CUDA does differently in some of its versions, each by a name. No other file of the
 * simulator compares versions: a function that a runtime or driver lacks is refused by its
 * description.
 *
 * The evidence is the named case of tests/conformance/, which was run on GPUs with all 17 runtimes
 * and a driver 13.0 (docs/users/gpu.md): it expects one answer from the older runtimes and another
 * one from the newer. What no GPU showed says so.
 */
#ifndef ACU_SIM_BEHAVIOUR_H
#define ACU_SIM_BEHAVIOUR_H

#include "sim/sim.h"

static inline bool acu_sim_runtime_since(int version) {
    return acu_sim_configuration()->runtime >= version;
}

/* ---- devices ---- */

/* cudaRuntimeGetVersion() initialises the driver. 11.7 and 11.8 do: nothing_works_before_init. */
static inline bool acu_sim_behaviour_version_query_inits_driver(void) {
    return !acu_sim_runtime_since(12000);
}

/* cudaSetDevice() makes the device's context. 11.7 and 11.8 leave that to the first call that needs
 * it: a_fault_and_a_device_that_was_not_used. */
static inline bool acu_sim_behaviour_set_device_makes_context(void) {
    return acu_sim_runtime_since(12000);
}

/* cudaDeviceMask has the bits 0x20 and 0x40. Up to 12.0 both are refused: flags_are_set. */
static inline bool acu_sim_behaviour_device_mask_is_wide(void) {
    return acu_sim_runtime_since(12010);
}

/* Kernels may wait for the kernels that they launch. All runtimes refuse
 * cudaLimitDevRuntimeSyncDepth on the GPUs of compute capability 9.0 that were asked
 * (limits_that_are_refused); that CUDA 12 ended it on older ones is from CUDA's documentation. */
static inline bool acu_sim_behaviour_has_sync_depth(void) {
    return !acu_sim_runtime_since(12000);
}

/* cudaGetDriverEntryPoint() forgets the last error where there is no such symbol. 11.7 and 11.8 do:
 * a_question_that_forgets_the_last_error. */
static inline bool acu_sim_behaviour_entry_point_forgets_error(void) {
    return !acu_sim_runtime_since(12000);
}

/* ---- streams and memory ---- */

/* Attributes of launches are refused as attributes of streams. 11.8 alone does; 11.7 does not look:
 * a_streams_priority_as_an_attribute. */
static inline bool acu_sim_behaviour_stream_attributes_are_few(void) {
    return acu_sim_runtime_since(11080) && !acu_sim_runtime_since(12000);
}

/* cudaMemAdvise() and cudaMemPrefetchAsync() take places with a type. Up to 12.1 they take the
 * number of a device, so that anycuda refuses other places before the call, and advice to a device
 * that does not exist is an invalid device, not an invalid value: advice_that_is_refused,
 * places_of_numa_nodes. */
enum { ACU_SIM_BEHAVIOUR_PLACES_HAVE_TYPES = 12020 };

static inline bool acu_sim_behaviour_places_have_types(void) {
    return acu_sim_runtime_since(ACU_SIM_BEHAVIOUR_PLACES_HAVE_TYPES);
}

/* ---- kernels ---- */

/* A launch of what is no kernel fails with cudaErrorInvalidResourceHandle. Up to 12.6 it fails with
 * cudaErrorInvalidDeviceFunction: what_is_no_kernel. */
static inline bool acu_sim_behaviour_launch_reports_handle(void) {
    return acu_sim_runtime_since(12080);
}

/* cudaGetFuncBySymbol() refuses a library's kernel: other_handles. Older runtimes make none, so
 * what they do with the driver's is a guess. */
static inline bool acu_sim_behaviour_kernel_is_no_symbol(void) {
    return acu_sim_runtime_since(12080);
}

/* Symbols that are missing or defined twice make linking fail with CUDA_ERROR_UNKNOWN. With
 * runtimes up to 12.6 and the same driver it is CUDA_ERROR_INVALID_SOURCE: cannot_link() of link.c.
 */
static inline bool acu_sim_behaviour_linking_fails_unknown(void) {
    return acu_sim_runtime_since(12080);
}

/* The runtime's attributes of a function are those of the kernel on the device. Up to 12.9 they are
 * those of the function in the current context: attributes_set_by_the_runtime. */
static inline bool acu_sim_behaviour_attributes_are_the_kernels(void) {
    return acu_sim_runtime_since(13000);
}

/* cudaFuncSetCacheConfig() and cudaFuncSetSharedMemConfig() take a library's kernel. Up to 12.9
 * they refuse it: banks_of_shared_memory. */
static inline bool acu_sim_behaviour_hints_take_kernels(void) {
    return acu_sim_runtime_since(13000);
}

/* A grid or block that no device can have is cudaErrorInvalidValue. Up to 12.9 it is
 * cudaErrorInvalidConfiguration: configurations. */
static inline bool acu_sim_behaviour_bad_grid_is_a_value(void) {
    return acu_sim_runtime_since(13000);
}

/* A launch may use a stream of another device than the current one. Up to 12.9 it may not:
 * the_stream_of_another_device. */
static inline bool acu_sim_behaviour_launch_goes_by_stream(void) {
    return acu_sim_runtime_since(13000);
}

/* The size of dynamic shared memory has 64 bits. Up to 13.4 a launch passes on 32 bits of it:
 * limits_of_a_kernel. */
static inline bool acu_sim_behaviour_shared_size_is_wide(void) {
    return acu_sim_runtime_since(13050);
}

/* ---- graphs ---- */

/* cudaGraphExecUpdate() pairs nodes by their edges only. In 11.7 and 11.8 pairs must also have been
 * made in the same order: updating_with_nodes_made_in_another_order. */
static inline bool acu_sim_behaviour_update_pairs_by_edges(void) {
    return acu_sim_runtime_since(12000);
}

/* cudaGraphExecUpdate() looks at the nodes in the order in which they are paired, the last ones
 * first. 11.8 does in the order in which they were made: updating_looks_at_the_last_node_first. */
static inline bool acu_sim_behaviour_update_validates_as_paired(void) {
    return acu_sim_runtime_since(12000);
}

/* cudaGraphExecUpdate() writes no result where there is no instance or no graph. 11.7 and 11.8
 * write an error: updating_nothing, which GPUs were asked in random programs (tests/fuzz/) on 11.8,
 * 12.4 and 13.0 only. */
static inline bool acu_sim_behaviour_update_of_nothing_has_no_result(void) {
    return acu_sim_runtime_since(12000);
}

/* cudaGraphNodeGetType() does not know the type of conditional nodes. Up to 12.9 it does not:
 * graphs_with_handles_of_conditions. */
static inline bool acu_sim_behaviour_conditional_type_is_unknown(void) {
    return !acu_sim_runtime_since(13000);
}

/* ---- execution contexts ---- */

/* The driver has queues besides processors, keeps how a part was split off, and destroys a stream
 * that lost its context. A driver 13.0 does none of that: processors_of_a_device,
 * parts_of_one_size, streams_of_a_context. What drivers of 13.1 and newer do is from CUDA's
 * documentation. */
static inline bool acu_sim_behaviour_driver_knows_parts(void) {
    return acu_sim_configuration()->driver >= 13010;
}

#endif
