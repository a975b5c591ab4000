/*
 * Loading CUDA's libraries, NVML and WebGPU's: which were found, where, and why others were not
 * taken.
 *
 * No program has to call a function of this header, because the first CUDA call loads what it
 * needs.
 */
#ifndef ACU_LOAD_H
#define ACU_LOAD_H

#include <anycuda/status.h>

ACU_BEGIN_C

/** A library that anycuda binds at run time. */
typedef enum acu_library_id {
    ACU_CUDART, /* the CUDA runtime, libcudart */
    ACU_CUDA,   /* the driver API, libcuda */
    ACU_NVRTC,  /* the run-time compiler, libnvrtc */
    /* Only in a program that calls a function of them: */
    ACU_WEBGPU,   /* WebGPU, libwgpu_native */
    ACU_NVML,     /* NVML, libnvidia-ml */
    ACU_NVJITLINK /* the linker of code, libnvJitLink */
} acu_library_id;

/** Bits of acu_load_options.flags. */
enum acu_load_flag {
    ACU_LOAD_ALLOW_SIM = 1, /* take the simulator where there is no library, or no driver */
    /* take an unknown major version, or one older than all known ones */
    ACU_LOAD_ALLOW_UNKNOWN = 2,
    /* do not ask the driver's version: faster, but a library that needs a newer driver is taken */
    ACU_LOAD_SKIP_DRIVER = 4
};

/** What to load; zero means the default everywhere. */
typedef struct acu_load_options {
    acu_library_id library; /* the default is the CUDA runtime */
    const char *path;       /* only this file, or only the simulator if it is "sim" */
    unsigned flags;         /* acu_load_flag bits */
    /* A resolver instead of a file: returns the address of a symbol, or NULL if there is none. The
     * resolver must not call CUDA or anycuda. Any thread may call it, one thread at a time. */
    void *(*resolve)(const char *symbol, void *data);
    void *data;  /* passed to `resolve`, not owned */
    int version; /* of the library behind `resolve`, 12040 for 12.4; 0: its symbols show it */
} acu_load_options;

/** A loaded library; the texts live as long as the process. */
typedef struct acu_load_info {
    const char *path;   /* the file */
    const char *soname; /* "libcudart.so.12", or "" where there is no file */
    const char *found;  /* the place where it was found: "system loader", "CUDA_PATH" … */
    int version;        /* 12040 for 12.4; of WebGPU wgpu-native's, 29000 for 29.0; of NVML that
                         * of the CUDA that the driver supports */
    /* the version that the installed driver supports, 13000; 0: no driver, or it was not asked */
    int driver;
    int is_sim; /* 1 if this is the simulator */
} acu_load_info;

/**
 * Loads a library, or records why it cannot be loaded.
 *
 * A program calls this only to choose a library, or to learn early whether there is one. A library
 * is loaded once per process and never unloaded. A second call succeeds if it chooses the same
 * library or makes no choice; a call that chooses another one fails, and its error names what is
 * loaded. After a failure the program may call this again; CUDA calls that were refused work once
 * it succeeds. `options` may be NULL and is not kept.
 *
 * Returns 0, or an error in the library's own numbers: for the CUDA runtime 303 (no library found,
 * or all of them refused) or 34 (only a stub found); for WebGPU WGPUStatus_Error;
 * for NVML NVML_ERROR_LIBRARY_NOT_FOUND.
 * acu_last_error_message() has the reason, and acu_load_trace() the whole search.
 */
int acu_load(const acu_load_options *options);

/** Returns the loaded library; NULL where it is not loaded. This call loads nothing. */
const acu_load_info *acu_loaded(acu_library_id library);

/**
 * Returns the search for a library: a line for each place and file, with the reason why it was
 * taken or not; never NULL.
 *
 * After a search that found a library, the first call also looks at what was passed over.
 *
 * The text is valid until an acu_load() of this library fails, in any thread.
 */
const char *acu_load_trace(acu_library_id library);

ACU_END_C

#endif
