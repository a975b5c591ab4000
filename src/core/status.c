#include <anycuda/status.h>

#include <anycuda/cudart.h>
#include <anycuda/load.h>

#include "core/record.h"
#include "core/values.h"
#include "loader/driver.h"
#include "loader/library.h"

#include <ctype.h>
#include <string.h>

/* ---- names, meanings and hints ---- */

typedef struct words {
    acu_result code;
    const char *name, *text, *hint;
} words;

static const words ours[] = {
    {ACU_ERROR_ARGUMENT, "ACU_ERROR_ARGUMENT", "invalid argument", ""},
    {ACU_ERROR_HANDLE, "ACU_ERROR_HANDLE", "not a live handle of this kind",
     "look for an object that is released twice, or passed as an object of another kind"},
    {ACU_ERROR_HOST_MEMORY, "ACU_ERROR_HOST_MEMORY", "the host is out of memory", ""},
    {ACU_ERROR_DTYPE, "ACU_ERROR_DTYPE", "the elements have another type", ""},
    {ACU_ERROR_RANGE, "ACU_ERROR_RANGE", "outside the buffer", ""},
    {ACU_ERROR_OVERFLOW, "ACU_ERROR_OVERFLOW", "a size that no machine can address",
     "look for a negative number that became a size"},
    {ACU_ERROR_DEVICE, "ACU_ERROR_DEVICE", "objects of different devices", ""},
    {ACU_ERROR_STATE, "ACU_ERROR_STATE", "the object's state does not allow it", ""},
    {ACU_ERROR_CAPTURE, "ACU_ERROR_CAPTURE", "not allowed while the stream is being captured",
     "call it before the capture begins, or on a stream outside the capture"},
    {ACU_ERROR_MEMORY_KIND, "ACU_ERROR_MEMORY_KIND",
     "this kind of memory does not support the operation", ""},
    {ACU_ERROR_COMPILE, "ACU_ERROR_COMPILE", "the source does not compile",
     "acu_module_compile_log() returns the compiler's whole log"},
    {ACU_ERROR_LIMIT, "ACU_ERROR_LIMIT", "above a limit of the device or the kernel", ""},
};

/* cudaErrorGraphRecaptureFailure of 13.3, as a number, because this file is also compiled for
 * older presented APIs. */
enum { RECAPTURE_FAILURE = 918 };

/* What to do about errors of CUDA, where the code alone is enough for a hint. */
static const words cudas[] = {
    {cudaErrorMemoryAllocation, "", "", "release buffers, trim pools, or work in smaller pieces"},
    {cudaErrorStubLibrary, "", "", "acu_load_trace() lists where a real library was searched"},
    {cudaErrorInsufficientDriver, "", "", "install a newer driver, or use an older CUDA runtime"},
    {cudaErrorCallRequiresNewerDriver, "", "", "install a newer driver, or avoid the call"},
    {cudaErrorNoDevice, "", "",
     "check CUDA_VISIBLE_DEVICES, and the devices that nvidia-smi lists"},
    {cudaErrorInvalidDevice, "", "", "acu_device_get_count() returns the number of devices"},
    {cudaErrorSharedObjectInitFailed, "", "",
     "acu-info prints the search; ANYCUDA_CUDART=path chooses a library, =sim the simulator"},
    {cudaErrorNotSupported, "", "",
     "acu_supports() reports what the runtime, the driver and the device support"},
    {cudaErrorIllegalAddress, "", "",
     "this process cannot use its contexts any more; compute-sanitizer finds the access"},
    {cudaErrorLaunchFailure, "", "",
     "this process cannot use its contexts any more; compute-sanitizer finds the access"},
    {cudaErrorStreamCaptureUnsupported, "", "",
     "CUDA refuses this call while a stream is being captured, and has invalidated that capture: "
     "call it before or after the capture"},
    {cudaErrorStreamCaptureInvalidated, "", "",
     "an earlier call has invalidated the capture: end the capture, and look for the call that "
     "failed with 900 to 908"},
    {cudaErrorStreamCaptureMerge, "", "",
     "the streams are in two different captures, which cannot join"},
    {cudaErrorStreamCaptureUnmatched, "", "", "end the capture on the stream where it began"},
    {cudaErrorStreamCaptureUnjoined, "", "",
     "before the end, acu_stream_join() all forked streams into the first stream"},
    {cudaErrorStreamCaptureIsolation, "", "",
     "a capture can wait for work outside it only by acu_stream_wait_event_external()"},
    {cudaErrorStreamCaptureImplicit, "", "",
     "the legacy default stream would wait for the capture: use non-blocking streams"},
    {cudaErrorCapturedEvent, "", "",
     "the event was recorded in a capture; acu_event_record_external() records an event that can "
     "be "
     "used outside"},
    {cudaErrorStreamCaptureWrongThread, "", "",
     "end the capture in the thread that began it, or begin it with ACU_CAPTURE_RELAXED"},
    {RECAPTURE_FAILURE, "", "",
     "capture the same work in the same order as before, or capture a new graph"},
    {cudaErrorNotPermitted, "", "", "host callbacks must not call CUDA"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const words *find(const words *list, size_t count, acu_result code) {
    for (size_t i = 0; i < count; i++)
        if (list[i].code == code)
            return &list[i];
    return NULL;
}

static const char *hint_for(int code) {
    if (code == cudaErrorInsufficientDriver && acu_driver_version(&acu_cudart) == 0)
        return "install an NVIDIA driver, or set ANYCUDA_CUDART=sim in a program that has the "
               "simulator"; /* CUDA reports "insufficient" also without a driver */
    const words *known = find(ours, COUNT(ours), code);
    if (!known)
        known = find(cudas, COUNT(cudas), code);
    return known ? known->hint : "";
}

/* Returns whether the runtime does not know a code: its text is then "unrecognized error code". */
static bool is_unknown(const char *text) {
    return !text || strncmp(text, "unrecognized", 12) == 0;
}

const char *acu_result_name(acu_result result) {
    const words *own = find(ours, COUNT(ours), result);
    if (own)
        return own->name;
    const char *name = result < 0
                           ? "unknown error"
                           : acu_value_name(acu_library_about(&acu_cudart)->result_type, result);
    if (!name && acu_loaded(ACU_CUDART))
        name = cudaGetErrorName((cudaError_t)result);
    return is_unknown(name) ? "unknown error" : name;
}

/* Turns "cudaErrorStreamCaptureMerge" into "stream capture merge". */
static const char *spell(const char *name) {
    static _Thread_local char text[96];
    size_t used = 0;
    if (strncmp(name, "cudaError", 9) == 0)
        name += 9;
    for (; *name && used + 3 < sizeof text; name++) {
        if (isupper((unsigned char)*name) && used)
            text[used++] = ' ';
        text[used++] = (char)tolower((unsigned char)*name);
    }
    text[used] = '\0';
    return text;
}

const char *acu_result_string(acu_result result) {
    const words *own = find(ours, COUNT(ours), result);
    if (own)
        return own->text;
    const char *text = NULL;
    if (result >= 0 && (result == 0 || acu_loaded(ACU_CUDART)))
        text = cudaGetErrorString((cudaError_t)result);
    const char *name = acu_result_name(result);
    return is_unknown(text) || strcmp(text, name) == 0 ? spell(name) : text;
}

/* ---- the last error ---- */

__attribute__((hot)) int acu_last_error(void) {
    return acu_record_last()->code;
}

const char *acu_last_error_message(void) {
    return acu_record_last()->message;
}

void acu_clear_error(void) {
    acu_record_clear();
}

static acu_error details_of(const acu_failure *failure) {
    return (acu_error){.code = failure->code,
                       .call = failure->call ? failure->call : "",
                       .object = failure->object,
                       .message = failure->message,
                       .hint = *failure->hint ? failure->hint : hint_for(failure->code)};
}

acu_error acu_last_error_details(void) {
    return details_of(acu_record_last());
}

size_t acu_release_error(acu_error *error) {
    static _Thread_local acu_failure first; /* holds the texts */
    size_t count = acu_record_take_release_errors(&first);
    if (error)
        *error = details_of(&first);
    return count;
}
