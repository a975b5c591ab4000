/*
 * Which CUDA libraries were found, where, and why not; and the last error of a thread.
 *
 * A program need not call anything here: the first CUDA call loads what it needs.
 */
#ifndef ACU_LOAD_H
#define ACU_LOAD_H

#if defined(__cplusplus)
extern "C" {
#endif

/** A library that anycuda binds at run time. */
typedef enum acu_library_id {
    ACU_CUDART, /* the CUDA runtime, libcudart */
    ACU_CUDA,   /* the driver API, libcuda */
    ACU_NVRTC   /* the run-time compiler, libnvrtc */
} acu_library_id;

/** Bits of acu_load_options.flags. */
enum acu_load_flag {
    ACU_LOAD_ALLOW_SIM = 1, /* take the simulator where there is no library, or no driver */
    ACU_LOAD_ALLOW_UNKNOWN =
        2,                   /* take an unknown major version, or one older than all known ones */
    ACU_LOAD_SKIP_DRIVER = 4 /* do not ask the driver's version: faster, judges less */
};

/** What to load; zero means the default everywhere. */
typedef struct acu_load_options {
    acu_library_id library; /* the default is the CUDA runtime */
    const char *path;       /* this file, or "sim" for the simulator, and nothing else */
    unsigned flags;         /* acu_load_flag bits */
    /* Instead of a file: where symbols come from; NULL for one that does not exist. It must not
     * call CUDA or anycuda, and is called from any thread, by one at a time. */
    void *(*resolve)(const char *symbol, void *data);
    void *data;  /* passed to `resolve`, not owned */
    int version; /* what `resolve` stands for, 12040 for 12.4; 0 asks its symbols */
} acu_load_options;

/** A loaded library; the texts live as long as the process. */
typedef struct acu_load_info {
    const char *path;   /* the file */
    const char *soname; /* "libcudart.so.12", or "" where there is no file */
    const char *found;  /* the place where it was found: "system loader", "CUDA_PATH" … */
    int version;        /* 12040 for 12.4 */
    int driver; /* what the installed driver supports, 13000; 0 if there is none or it was not asked
                 */
    int is_sim; /* it is the simulator */
} acu_load_info;

/**
 * Loads a library, or says why it cannot be.
 *
 * Only needed to choose one, or to know early. A library is loaded once per process and never
 * unloaded: a second call that chooses the same, or does not choose, is success; one that chooses
 * otherwise is an error that names what is loaded. After a failure it may be called again, and CUDA
 * calls that were refused then work. `options` may be NULL and is not kept.
 *
 * Returns 0, or an error as the library numbers them, for the CUDA runtime 303 (nothing found, or
 * refused) or 34 (only a stub); acu_last_error_message() and acu_load_trace() say more.
 */
int acu_load(const acu_load_options *options);

/** The library that is loaded, or NULL; loads nothing. */
const acu_load_info *acu_loaded(acu_library_id library);

/**
 * The search for a library: each place, and why it was taken or not, one line each.
 *
 * Never NULL. The text holds until the next acu_load() of this library that fails, by any thread.
 */
const char *acu_load_trace(acu_library_id library);

/** The code of this thread's last failed call, 0 if none failed. */
int acu_last_error(void);

/**
 * This thread's last failure in one line: which call, why, and what is loaded.
 *
 * Never NULL, "" if no call failed. The text holds until this thread's next failure.
 */
const char *acu_last_error_message(void);

/** Forgets this thread's last failure. */
void acu_clear_error(void);

#if defined(__cplusplus)
}
#endif

#endif
