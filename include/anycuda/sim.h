/*
 * The simulator: CUDA's runtime for machines without a GPU. Link anycuda::sim and choose it with
 * ANYCUDA_CUDART=sim, acu_load() with the path "sim", or ACU_LOAD_ALLOW_SIM.
 *
 * ANYCUDA_SIM configures it: "devices=2,memory=8GiB,cc=9.0,runtime=12.4,driver=12.4,leaks=1". What
 * is left out has its default: one device of 8 GiB, 9.0, and the versions of the headers. `runtime`
 * is what it reports and refuses like, `driver` may be "none", `leaks` prints at exit what is left.
 */
#ifndef ACU_SIM_H
#define ACU_SIM_H

#if defined(__cplusplus)
extern "C" {
#endif

/** The version whose ABI the simulator has, 13050, whatever version it reports. */
int acu_sim_abi(void);

/**
 * Counts what the program holds: allocations, streams, events and pools that it made itself.
 *
 * With `print` not 0 each is described on stderr, one line each, with where it was made.
 */
int acu_sim_leaks(int print);

/**
 * As if the process had just begun: waits for all work, takes everything back, forgets every error.
 *
 * For tests; no other thread may use CUDA meanwhile. The configuration is read again by the next
 * call, from `configuration`, or from ANYCUDA_SIM where that is NULL. The version that a program
 * bound at its first call stays.
 */
void acu_sim_reset(const char *configuration);

/**
 * Queues work that fails as a faulty kernel does: 700 is an illegal address, 719 a launch failure.
 *
 * The error is asynchronous and sticky: from when the stream has come to it, calls on its device
 * return it until the device is reset. `stream` is a CUDA stream. Returns what CUDA would, 0 if it
 * is queued.
 */
int acu_sim_fault(void *stream, int code);

#if defined(__cplusplus)
}
#endif

#endif
