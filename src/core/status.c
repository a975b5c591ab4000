#include <anycuda/status.h>

#include <anycuda/cudart.h>
#include <anycuda/load.h>

#include "core/codes.h"
#include "core/record.h"
#include "core/status.h"
#include "core/values.h"
#include "loader/driver.h"
#include "loader/library.h"
#include "loader/load.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- names, meanings and hints ---- */

typedef struct own_code {
    const char *name;
    acu_code_row about;
} own_code;

static const own_code own_codes[] = {
    {"ACU_ERROR_ARGUMENT", {ACU_ERROR_ARGUMENT, ACU_ERROR_KIND_ARGUMENT, "invalid argument", ""}},
    {"ACU_ERROR_HANDLE",
     {ACU_ERROR_HANDLE, ACU_ERROR_KIND_ARGUMENT, "not a live handle of this kind",
      "look for an object that is released twice, or passed as an object of another kind"}},
    {"ACU_ERROR_HOST_MEMORY",
     {ACU_ERROR_HOST_MEMORY, ACU_ERROR_KIND_MEMORY, "the host is out of memory", ""}},
    {"ACU_ERROR_DTYPE",
     {ACU_ERROR_DTYPE, ACU_ERROR_KIND_ARGUMENT, "the elements have another type", ""}},
    {"ACU_ERROR_RANGE", {ACU_ERROR_RANGE, ACU_ERROR_KIND_ARGUMENT, "outside the buffer", ""}},
    {"ACU_ERROR_OVERFLOW",
     {ACU_ERROR_OVERFLOW, ACU_ERROR_KIND_ARGUMENT, "a size that no machine can address",
      "look for a negative number that became a size"}},
    {"ACU_ERROR_DEVICE",
     {ACU_ERROR_DEVICE, ACU_ERROR_KIND_ARGUMENT, "objects of different devices", ""}},
    {"ACU_ERROR_STATE",
     {ACU_ERROR_STATE, ACU_ERROR_KIND_STATE, "the object's state does not allow it", ""}},
    {"ACU_ERROR_CAPTURE",
     {ACU_ERROR_CAPTURE, ACU_ERROR_KIND_STATE, "not allowed while the stream is being captured",
      "call it before the capture begins, or on a stream outside the capture"}},
    {"ACU_ERROR_MEMORY_KIND",
     {ACU_ERROR_MEMORY_KIND, ACU_ERROR_KIND_ARGUMENT,
      "this kind of memory does not support the operation", ""}},
    {"ACU_ERROR_COMPILE",
     {ACU_ERROR_COMPILE, ACU_ERROR_KIND_CODE, "the source does not compile",
      "acu_module_compile_log() returns the compiler's whole log"}},
    {"ACU_ERROR_LIMIT",
     {ACU_ERROR_LIMIT, ACU_ERROR_KIND_ARGUMENT, "above a limit of the device or the kernel", ""}},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const own_code *find_own(int code) {
    for (size_t i = 0; i < COUNT(own_codes); i++)
        if (own_codes[i].about.number == code)
            return &own_codes[i];
    return NULL;
}

/* Returns what a code is about; NULL if it is newer than this library, or no error at all. */
static const acu_code_row *find(int code) {
    const own_code *own = find_own(code);
    for (size_t i = 0; !own && i < acu_code_count && acu_codes[i].number <= code; i++)
        if (acu_codes[i].number == code)
            return &acu_codes[i];
    return own ? &own->about : NULL;
}

static const char *hint_for(int code) {
    if (code == cudaErrorInsufficientDriver && acu_driver_version(&acu_cudart) == 0)
        return acu_load_driver_hint(); /* CUDA reports "insufficient" also without a driver */
    const acu_code_row *known = find(code);
    return known ? known->hint : "";
}

/* Returns whether the runtime does not know a code: its text is then "unrecognized error code". */
static bool is_unknown(const char *text) {
    return !text || strncmp(text, "unrecognized", 12) == 0;
}

const char *acu_result_name(acu_result result) {
    const own_code *own = find_own(result);
    if (own)
        return own->name;
    const char *name = result < 0
                           ? "unknown error"
                           : acu_value_name(acu_library_about(&acu_cudart)->result_type, result);
    if (!name && acu_loaded(ACU_CUDART))
        name = cudaGetErrorName((cudaError_t)result);
    return is_unknown(name) ? "unknown error" : name;
}

const char *acu_result_string(acu_result result) {
    const acu_code_row *known = find(result);
    if (result == 0)
        return "no error";
    if (known)
        return known->text;
    const char *text =
        result > 0 && acu_loaded(ACU_CUDART) ? cudaGetErrorString((cudaError_t)result) : NULL;
    return is_unknown(text) ? "unknown error" : text;
}

/* ---- the last error ---- */

__attribute__((hot)) int acu_last_error(void) {
    return acu_record_last()->runtime_code;
}

const char *acu_last_error_message(void) {
    return acu_record_last()->message;
}

void acu_clear_error(void) {
    acu_record_clear();
}

static acu_error_kind kind_of(const acu_failure *failure) {
    if (failure->facts.kind || !failure->code)
        return (acu_error_kind)failure->facts.kind;
    const acu_code_row *known = find(failure->runtime_code);
    return known ? (acu_error_kind)known->kind : ACU_ERROR_KIND_OTHER;
}

bool acu_status_is_lost(void) {
    const acu_failure *last = acu_record_last();
    return kind_of(last) == ACU_ERROR_KIND_WORK && !last->facts.injected;
}

/* Returns whether the text has a number that is negative where it is read as a signed one. */
static bool has_negative_size(const char *text) {
    bool begins = true;
    for (const char *c = text; *c; begins = !isalnum((unsigned char)*c), c++)
        if (begins && isdigit((unsigned char)*c) && strtoull(c, NULL, 10) > INT64_MAX)
            return true;
    return false;
}

static const char *hint_of(const acu_failure *failure) {
    if (*failure->hint)
        return failure->hint;
    if (failure->facts.hint)
        return failure->facts.hint;
    int negative = failure->code < 0 && has_negative_size(failure->message);
    return hint_for(negative ? ACU_ERROR_OVERFLOW : failure->runtime_code);
}

acu_error acu_error_of(const acu_failure *failure) {
    return (acu_error){.code = failure->runtime_code,
                       .call = failure->call ? failure->call : "",
                       .object = failure->object,
                       .message = failure->message,
                       .hint = hint_of(failure),
                       .kind = kind_of(failure),
                       .feature = failure->facts.feature - 1,
                       .since = failure->facts.since,
                       .until = failure->facts.until,
                       .needed = failure->facts.needed,
                       .found = failure->facts.found};
}

acu_error acu_last_error_details(void) {
    return acu_error_of(acu_record_last());
}

size_t acu_release_error(acu_error *error) {
    static _Thread_local acu_failure first; /* holds the texts */
    size_t count = acu_record_take_release_errors(&first);
    if (error)
        *error = acu_error_of(&first);
    return count;
}
