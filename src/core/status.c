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
    {ACU_ERROR_ARGUMENT, "ACU_ERROR_ARGUMENT", "an argument that the call cannot take", ""},
    {ACU_ERROR_HANDLE, "ACU_ERROR_HANDLE", "not a live handle of this kind",
     "look for a release too many, or for one of another kind"},
    {ACU_ERROR_HOST_MEMORY, "ACU_ERROR_HOST_MEMORY", "the host is out of memory", ""},
    {ACU_ERROR_DTYPE, "ACU_ERROR_DTYPE", "elements of another type", ""},
    {ACU_ERROR_RANGE, "ACU_ERROR_RANGE", "outside of the buffer", ""},
    {ACU_ERROR_OVERFLOW, "ACU_ERROR_OVERFLOW", "a size that cannot be addressed",
     "look for a negative number that became a size"},
    {ACU_ERROR_DEVICE, "ACU_ERROR_DEVICE", "objects of different devices", ""},
    {ACU_ERROR_STATE, "ACU_ERROR_STATE", "the object's state does not allow it", ""},
    {ACU_ERROR_CAPTURE, "ACU_ERROR_CAPTURE", "not while the stream is being captured",
     "do it before the capture begins, or on a stream outside of it"},
    {ACU_ERROR_MEMORY_KIND, "ACU_ERROR_MEMORY_KIND", "this kind of memory cannot do that", ""},
    {ACU_ERROR_COMPILE, "ACU_ERROR_COMPILE", "the source does not compile",
     "acu_module_compile_log() has all that the compiler said"},
    {ACU_ERROR_LIMIT, "ACU_ERROR_LIMIT", "more than the device or the kernel can have", ""},
};

/* Without CUDA's name, of 13.3: this is compiled for older presented APIs, too. */
enum { RECAPTURE_FAILURE = 918 };

/* What to do about CUDA's own, where that can be said without knowing more. */
static const words cudas[] = {
    {cudaErrorMemoryAllocation, "", "", "release buffers, trim pools, or work in smaller pieces"},
    {cudaErrorStubLibrary, "", "", "acu_load_trace() tells where a real library was looked for"},
    {cudaErrorInsufficientDriver, "", "", "install a newer driver, or use an older CUDA runtime"},
    {cudaErrorCallRequiresNewerDriver, "", "", "install a newer driver, or do without the call"},
    {cudaErrorNoDevice, "", "", "look at CUDA_VISIBLE_DEVICES, and at what nvidia-smi lists"},
    {cudaErrorInvalidDevice, "", "", "acu_device_get_count() tells how many there are"},
    {cudaErrorSharedObjectInitFailed, "", "",
     "acu-info prints the search; ANYCUDA_CUDART=path chooses a library, =sim the simulator"},
    {cudaErrorNotSupported, "", "",
     "acu_supports() tells what runtime and driver have; it may be the device, too, or what these "
     "objects are made of"},
    {cudaErrorIllegalAddress, "", "",
     "the contexts of this process are lost: compute-sanitizer finds the access"},
    {cudaErrorLaunchFailure, "", "",
     "the contexts of this process are lost: compute-sanitizer finds the access"},
    {cudaErrorStreamCaptureUnsupported, "", "",
     "CUDA refuses this while a stream is being captured, and has broken that capture: do it "
     "before or after"},
    {cudaErrorStreamCaptureInvalidated, "", "",
     "an earlier call has broken the capture; end it, and look for what failed with 900 to 908"},
    {cudaErrorStreamCaptureMerge, "", "", "the streams are in two captures, which cannot join"},
    {cudaErrorStreamCaptureUnmatched, "", "", "end the capture on the stream where it began"},
    {cudaErrorStreamCaptureUnjoined, "", "",
     "acu_stream_join() all that was forked into the first stream before the end"},
    {cudaErrorStreamCaptureIsolation, "", "",
     "the capture cannot wait for what is outside of it, but by acu_stream_wait_event_external()"},
    {cudaErrorStreamCaptureImplicit, "", "",
     "the legacy default stream would wait for the capture: use others, made non-blocking"},
    {cudaErrorCapturedEvent, "", "",
     "the event means work that is being captured; acu_event_record_external() makes one that does "
     "not"},
    {cudaErrorStreamCaptureWrongThread, "", "",
     "end it in the thread that began it, or begin it with ACU_CAPTURE_RELAXED"},
    {RECAPTURE_FAILURE, "", "",
     "capture again what was captured before, in the same order; or capture a new graph"},
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
        return "install an NVIDIA driver"; /* CUDA says "insufficient" where there is none, too */
    const words *known = find(ours, COUNT(ours), code);
    if (!known)
        known = find(cudas, COUNT(cudas), code);
    return known ? known->hint : "";
}

/* What the runtime calls a code that it does not know, "unrecognized error code". */
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

/* "cudaErrorStreamCaptureMerge" says it, too: "stream capture merge". */
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
