/*
 * Results, and the last error of each thread.
 *
 * Every function of the safe layer that can fail returns an acu_result, which the caller must
 * check. A thread's last failure (what failed, on which object, and why) is kept until that
 * thread's next failure; success leaves it as it is. CUDA's own calls keep their failures in the
 * same place.
 *
 * Any function may return these codes, so its own description does not repeat them:
 * ACU_ERROR_ARGUMENT if a handle or pointer is NULL and must not be, or if an enumerator or number
 * is invalid; ACU_ERROR_HANDLE if a handle was released or is of another kind; 101 if there is no
 * such device; ACU_ERROR_HOST_MEMORY if the function creates something and the host is out of
 * memory; ACU_NOT_SUPPORTED if the loaded runtime is older than the function needs; ACU_ERROR_STATE
 * if the stream is another thread's default stream; and CUDA's own codes, which may belong to work
 * that was queued before.
 */
#ifndef ACU_STATUS_H
#define ACU_STATUS_H

#include <anycuda/base.h>

#include <stddef.h>

ACU_BEGIN_C

/** 0 is success; a positive number is CUDA's own code (cudaError_t), a negative one anycuda's. */
typedef int acu_result;

/** Results with a name of their own; all other codes of CUDA keep CUDA's numbers. */
enum acu_result_code {
    ACU_SUCCESS = 0,
    ACU_OUT_OF_MEMORY = 2,   /* CUDA's: the device is out of memory */
    ACU_NOT_READY = 600,     /* CUDA's: "not yet", an answer and not a failure */
    ACU_NOT_SUPPORTED = 801, /* CUDA's; also if the loaded runtime lacks a function or a field */

    ACU_ERROR_ARGUMENT = -1,     /* NULL, or an invalid value */
    ACU_ERROR_HANDLE = -2,       /* released already, or of another kind */
    ACU_ERROR_HOST_MEMORY = -3,  /* the host is out of memory */
    ACU_ERROR_DTYPE = -4,        /* the elements have another type */
    ACU_ERROR_RANGE = -5,        /* outside the buffer */
    ACU_ERROR_OVERFLOW = -6,     /* a size that no machine can address */
    ACU_ERROR_DEVICE = -7,       /* objects of different devices */
    ACU_ERROR_STATE = -8,        /* the object's state does not allow it: in use, or never used */
    ACU_ERROR_CAPTURE = -9,      /* not allowed while the stream is being captured */
    ACU_ERROR_MEMORY_KIND = -10, /* this kind of memory cannot do that */
    ACU_ERROR_COMPILE = -11,     /* the source does not compile */
    ACU_ERROR_LIMIT = -12        /* above a limit of the device or the kernel */
};

/** The compiler warns where the result is not used. */
#define ACU_CHECKED __attribute__((warn_unused_result))

/** Returns from the function with the result of `call` unless that is success. */
#define ACU_TRY(call)                                                                              \
    do {                                                                                           \
        acu_result acu_try_result = (call);                                                        \
        if (acu_try_result != ACU_SUCCESS)                                                         \
            return acu_try_result;                                                                 \
    } while (0)

/* gcc before 14 only warns where the variable is an array, of which one element were released. */
#if defined(__clang__) || defined(__cplusplus)
#define ACU_ONE_VARIABLE
#else
#define ACU_ONE_VARIABLE _Pragma("GCC diagnostic error \"-Wincompatible-pointer-types\"")
#endif

/**
 * Declares a variable whose object is released when its scope ends: `ACU_AUTO(acu_stream) *s =
 * NULL;`
 *
 * The variable must be initialised, and an array does not compile. To keep the object, copy the
 * pointer and set the variable to NULL. To release it earlier, call the function that the scope's
 * end calls, `acu_stream_cleanup(&s)`: each of these sets the variable to NULL.
 */
#define ACU_AUTO(type) ACU_ONE_VARIABLE __attribute__((cleanup(type##_cleanup))) type

/** The code of this thread's last failed call, 0 if none failed. */
int acu_last_error(void);

/**
 * This thread's last failure in one line: which call failed, why, and which library is loaded.
 *
 * Never NULL, "" if no call failed. The text is valid until this thread's next failure.
 */
const char *acu_last_error_message(void);

/** Forgets this thread's last failure. */
void acu_clear_error(void);

/** What a failure is about, for programs: one kind for many codes. */
typedef enum acu_error_kind {
    ACU_ERROR_KIND_NONE,     /* no failure */
    ACU_ERROR_KIND_ARGUMENT, /* the call is wrong as it stands */
    ACU_ERROR_KIND_STATE,    /* the call is right, but not now: a capture, a mapping */
    ACU_ERROR_KIND_MEMORY,   /* the device or the host is out of memory */
    ACU_ERROR_KIND_LIBRARY,  /* no library, or one that cannot be used */
    ACU_ERROR_KIND_VERSION,  /* the loaded library lacks what was used */
    ACU_ERROR_KIND_DRIVER,   /* no driver, or one that is too old */
    ACU_ERROR_KIND_DEVICE,   /* no such device, or one that cannot do that, is broken or taken */
    ACU_ERROR_KIND_CODE,     /* a kernel, its PTX or its source cannot be used */
    ACU_ERROR_KIND_WORK,     /* queued work failed, and with it perhaps the whole process */
    ACU_ERROR_KIND_OTHER     /* the system around CUDA, and codes newer than this library */
} acu_error_kind;

/** A failure in all its parts; no text is NULL. A version is 12040 for 12.4. */
typedef struct acu_error {
    acu_result code;
    const char *call;    /* the function that failed: "cudaMalloc", "acu_launch"; of a macro the
                            function that it calls: "acu_buffer_write_typed" */
    const char *object;  /* "stream 0x55… on device 0"; "" if the call concerns no object */
    const char *message; /* everything in one line, as acu_last_error_message() returns it */
    const char *hint;    /* what to do about it; "" if nothing is known */
    acu_error_kind kind;
    int feature; /* the acu_feature that is missing, or that acu_supports() was asked for; -1 if
                    none is known to be */
    int since, until; /* the versions of the library that have what was used; 0: no limit */
    /* The version that is needed and the one that was found, of the library (kinds LIBRARY and
     * VERSION) or of the driver (kind DRIVER); of a device (kind DEVICE) the compute capability,
     * 90 for 9.0. `needed` is 0 where no version is missing, because any will do or none is known
     * to; `found` is 0 where none was found. */
    int needed, found;
} acu_error;

/** This thread's last failure, code 0 if there is none; its texts hold until the next failure. */
acu_error acu_last_error_details(void);

/**
 * Returns how many releases failed, in all threads, since the last call, and the first failure.
 *
 * A release returns its result, but a cleanup does not check it, so the failure is kept here. The
 * thread's last error stays as it is, because it may be the reason for the cleanup. `error` may be
 * NULL; its texts are valid until this thread calls this again.
 */
size_t acu_release_error(acu_error *error);

/** A program's function for failures: acu_set_error_callback(). */
typedef void acu_error_callback(const acu_error *error, void *data);

/**
 * Sets the function that is called for each failure, in the thread that fails and before the call
 * returns; NULL: none. The process has one such function.
 *
 * A call of CUDA that fails inside a function of anycuda is a failure of its own, which comes first
 * and which anycuda may overcome. The error and its texts are valid during the call. The function
 * may use CUDA and anycuda; its own failures are neither reported nor recorded. It must return: a
 * thread that leaves it by an exception or longjmp() counts as still in it, so that its later
 * failures are recorded but not reported. Replacing the function waits for the threads that are in
 * it, so that `data` can be freed afterwards. Errors:
 * ACU_ERROR_STATE while the thread is in that function.
 */
ACU_CHECKED acu_result acu_set_error_callback(acu_error_callback *function, void *data);

/**
 * The name of a code: "cudaErrorInvalidValue", "ACU_ERROR_RANGE"; never NULL.
 *
 * Codes newer than the loaded runtime have their names, too. The loaded runtime is asked for codes
 * newer than this library. Any other code is "unknown error".
 */
const char *acu_result_name(acu_result result);

/**
 * What a code means, in a few words; never NULL.
 *
 * The text is anycuda's own, a constant. For codes newer than this library it is the runtime's.
 */
const char *acu_result_string(acu_result result);

ACU_END_C

#endif
