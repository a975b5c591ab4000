/*
 * Coredumps of devices: whether one is written when a kernel faults, where, and what is in it.
 * Needs a driver of CUDA 12.1 or later, with any runtime; an older one is refused (801).
 *
 * cuda-gdb reads such files. A variable of the environment that cuda-gdb documents
 * (CUDA_ENABLE_COREDUMP_ON_EXCEPTION and its like) comes before what is set here.
 */
#ifndef ACU_COREDUMP_H
#define ACU_COREDUMP_H

#include <stdbool.h>
#include <stddef.h>

#include <anycuda/listener.h>

ACU_BEGIN_C

enum {
    /* Instead of a device: what the contexts have that do not exist yet. A device means its primary
     * context, which is made where there is none. */
    ACU_COREDUMP_PROCESS = -16,
    ACU_COREDUMP_PATH_SIZE = 1024
};

/** What is on or off, with CUDA's numbers (CUcoredumpSettings). */
typedef enum acu_coredump_switch {
    ACU_COREDUMP_ON_EXCEPTION = 1, /* write one when a kernel faults */
    ACU_COREDUMP_OF_HOST = 2,      /* the host writes one, too, and ends */
    ACU_COREDUMP_LIGHTWEIGHT = 3,  /* without memory and without code that was not moved */
    ACU_COREDUMP_ON_REQUEST = 4    /* write one when something is written to the pipe */
} acu_coredump_switch;

/** Asks whether something is on. */
ACU_CHECKED acu_result acu_coredump_get_switch(acu_device device, acu_coredump_switch which,
                                               bool *enabled);

/**
 * Switches something on or off. A driver for 13.0 loads no code any more (1) in a context where
 * ACU_COREDUMP_ON_EXCEPTION was turned on and off, until the device is reset. Errors: 1 where there
 * is no such switch; CUDA's own where it cannot be set any more, or for ACU_COREDUMP_ON_REQUEST of
 * one device.
 */
ACU_CHECKED acu_result acu_coredump_set_switch(acu_device device, acu_coredump_switch which,
                                               bool enabled);

/** Files, with CUDA's numbers (CUcoredumpSettings). */
typedef enum acu_coredump_file {
    ACU_COREDUMP_FILE = 5, /* where coredumps are written: "core.cuda.HOST.PID" */
    ACU_COREDUMP_PIPE = 6  /* that is listened to with ACU_COREDUMP_ON_REQUEST */
} acu_coredump_file;

/** Asks for the path of a file. */
ACU_CHECKED acu_result acu_coredump_get_path(acu_device device, acu_coredump_file which,
                                             char path[ACU_COREDUMP_PATH_SIZE]);

/**
 * Sets the path of a file. Errors: ACU_ERROR_RANGE where it has more than 1023 bytes; 1 where there
 * is no such file; CUDA's own for ACU_COREDUMP_PIPE of one device.
 */
ACU_CHECKED acu_result acu_coredump_set_path(acu_device device, acu_coredump_file which,
                                             const char *path);

/** What is left out of coredumps, and how they are written (CUCoredumpGenerationFlags). */
enum acu_coredump_flag {
    ACU_COREDUMP_SKIP_CODE = 1, /* that is not moved when it is loaded */
    ACU_COREDUMP_SKIP_GLOBAL_MEMORY = 2,
    ACU_COREDUMP_SKIP_SHARED_MEMORY = 4,
    ACU_COREDUMP_SKIP_LOCAL_MEMORY = 8,
    ACU_COREDUMP_SKIP_ABORT = 16,                /* the host goes on */
    ACU_COREDUMP_SKIP_CONSTANT_MEMORY = 32,      /* since CUDA 12.6 */
    ACU_COREDUMP_COMPRESS = 64,                  /* since CUDA 13.1: by gzip */
    ACU_COREDUMP_FAULTED_CONTEXTS = 128,         /* since CUDA 13.3: only those */
    ACU_COREDUMP_SKIP_TENSOR_MEMORY = 256,       /* since CUDA 13.5 */
    ACU_COREDUMP_NO_BARRIER_AT_EXIT = 0x40000000 /* since CUDA 13.3: warps may end with errors */
};
/** Since CUDA 13.3: no file is written, and the log has the exception. */
#define ACU_COREDUMP_LOG_ONLY 0x80000000u

/** Asks for the flags of coredumps. Errors: 801 before CUDA 12.5. */
ACU_CHECKED acu_result acu_coredump_get_flags(acu_device device, unsigned *flags);

/**
 * Replaces the flags of coredumps; ACU_COREDUMP_OF_HOST and ACU_COREDUMP_LIGHTWEIGHT mean some of
 * them, so that a program sets either these or those. Errors: 801 before CUDA 12.5; CUDA's own with
 * a flag that the driver does not know.
 */
ACU_CHECKED acu_result acu_coredump_set_flags(acu_device device, unsigned flags);

/** Hears that process `process` begins a coredump of a device, or has written it. */
typedef void (*acu_coredump_function)(int process, acu_device device, void *data);

/**
 * Lets a function hear of coredumps: those that begin, or, with `written`, those that are written;
 * the caller owns the listener.
 *
 * The coredump waits until the function has returned. `data` is passed on, and must live as long as
 * the listener. Errors: 801 before CUDA 13.2.
 */
ACU_CHECKED acu_result acu_coredump_listen(bool written, acu_coredump_function function, void *data,
                                           acu_listener **listener);

ACU_END_C

#endif
