/*
 * Results and errors of the safe layer.
 *
 * Every function that can fail returns an acu_result, and must be looked at. What failed, on what
 * and why is kept for the thread until its next failure; success leaves it as it is.
 *
 * What any function may return is not said again at each: ACU_ERROR_ARGUMENT where a handle or a
 * pointer is NULL and must not be, or an enumerator or a number is none that it takes;
 * ACU_ERROR_HANDLE where a handle was released, or is of another kind; 101 where there is no such
 * device; ACU_ERROR_HOST_MEMORY where something is made; ACU_NOT_SUPPORTED where the runtime is
 * older than the header says; ACU_ERROR_STATE where the stream is another thread's default one; and
 * CUDA's own codes, also those of work that was queued before.
 */
#ifndef ACU_STATUS_H
#define ACU_STATUS_H

#include <anycuda/base.h>
#include <anycuda/load.h>

ACU_BEGIN_C

/** 0 is success; a positive number is CUDA's own code (cudaError_t); a negative one is ours. */
typedef int acu_result;

/** Results that have a name here; CUDA's others keep their numbers. */
enum acu_result_code {
    ACU_SUCCESS = 0,
    ACU_OUT_OF_MEMORY = 2,   /* CUDA's: the device has no room */
    ACU_NOT_READY = 600,     /* CUDA's: an answer of a query, not a failure */
    ACU_NOT_SUPPORTED = 801, /* CUDA's, and ours where a runtime lacks something */

    ACU_ERROR_ARGUMENT = -1,     /* NULL or a value that the call cannot take */
    ACU_ERROR_HANDLE = -2,       /* released already, or a handle of another kind */
    ACU_ERROR_HOST_MEMORY = -3,  /* the host has no memory left */
    ACU_ERROR_DTYPE = -4,        /* elements of another type */
    ACU_ERROR_RANGE = -5,        /* outside of the buffer */
    ACU_ERROR_OVERFLOW = -6,     /* a size that no machine can address */
    ACU_ERROR_DEVICE = -7,       /* objects of different devices */
    ACU_ERROR_STATE = -8,        /* not now: the object is in use, or was never used */
    ACU_ERROR_CAPTURE = -9,      /* not while the stream is being captured */
    ACU_ERROR_MEMORY_KIND = -10, /* this kind of memory cannot do that */
    ACU_ERROR_COMPILE = -11,     /* the source does not compile */
    ACU_ERROR_LIMIT = -12        /* more than the device or the kernel can have */
};

/** The result must be looked at. */
#define ACU_CHECKED __attribute__((warn_unused_result))

/** Returns from the function with the result of `call` unless that is success. */
#define ACU_TRY(call)                                                                              \
    do {                                                                                           \
        acu_result acu_try_result = (call);                                                        \
        if (acu_try_result != ACU_SUCCESS)                                                         \
            return acu_try_result;                                                                 \
    } while (0)

/**
 * Declares a variable that releases what it holds when its scope ends: `ACU_AUTO(acu_stream) *s =
 * NULL;`
 *
 * It must be initialised. To keep the object, hand the variable's value on and set it to NULL.
 */
#define ACU_AUTO(type) __attribute__((cleanup(type##_cleanup))) type

/** A failure in all its parts; no text is NULL. */
typedef struct acu_error {
    acu_result code;
    const char *call;    /* the function that failed: "acu_buffer_write", "cudaMalloc" */
    const char *object;  /* on what: "stream 0x55… on device 0"; "" if on nothing */
    const char *message; /* all of it in one line, as acu_last_error_message() */
    const char *hint;    /* what to do about it; "" if nothing is known */
} acu_error;

/** This thread's last failure, code 0 if there is none; its texts hold until the next failure. */
acu_error acu_last_error_details(void);

/**
 * How many releases failed, in all threads, since this was last asked; and the first of them.
 *
 * A release tells its result, but nobody looks at it in a cleanup; so it is kept here, and the
 * thread's last error, which may be why it cleans up, is left alone. `error` may be NULL; its texts
 * hold until this thread asks again.
 */
size_t acu_release_error(acu_error *error);

/**
 * The name of a code: "cudaErrorInvalidValue", "ACU_ERROR_RANGE"; never NULL.
 *
 * Knows codes that are newer than the loaded runtime, and asks that for codes newer than this
 * library. Any other is "unknown error".
 */
const char *acu_result_name(acu_result result);

/**
 * What a code means, in a few words; never NULL.
 *
 * The text is the runtime's where it has one; it holds until this thread asks again.
 */
const char *acu_result_string(acu_result result);

ACU_END_C

#endif
