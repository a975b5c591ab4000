#include "core/explain.h"

#include <anycuda/status.h>

#include "core/newer.h"
#include "core/record.h"
#include "core/refuse.h"
#include "core/translate.h"
#include "core/values.h"
#include "loader/driver.h"
#include "loader/library.h"
#include "loader/load.h"
#include "loader/platform.h"

#include <stdio.h>
#include <string.h>

const char *acu_explain_code(const acu_library *library, int result) {
    const char *name = acu_value_name(library->info->result_type, result);
    return name ? name : "an unknown error";
}

/* ---- reasons ---- */

/* Only the major version is compared, because a driver supports every runtime of its major. */
void acu_explain_driver(const acu_library *library, char *why, size_t size) {
    int driver = acu_driver_version(library), major = ACU_MAJOR(library->loaded.version);
    if (driver == ACU_DRIVER_NONE)
        snprintf(why, size, "no NVIDIA driver is installed");
    else if (driver == ACU_DRIVER_SILENT)
        snprintf(why, size, "the NVIDIA driver does not report its version");
    else if (ACU_MAJOR(driver) < major)
        snprintf(why, size, "driver %d.%d is older than %s %d.x needs", ACU_MAJOR(driver),
                 ACU_MINOR(driver), library->info->name, major);
    else
        snprintf(why, size, "the NVIDIA driver (CUDA %d.%d) does not work with it",
                 ACU_MAJOR(driver), ACU_MINOR(driver));
}

void acu_explain_device(char *why, size_t size) {
    const char *visible = acu_platform_env("CUDA_VISIBLE_DEVICES");
    if (visible && (!*visible || strcmp(visible, "-1") == 0))
        snprintf(why, size, "no device is visible, because CUDA_VISIBLE_DEVICES is \"%s\"",
                 visible);
    else
        snprintf(why, size, "the driver sees no device");
}

/* Explains that a runtime has functions that an older driver of its major version cannot do. */
static void explain_newer_driver(const acu_function *function, char *why, size_t size) {
    int driver = acu_driver_version(function->library), since = function->since;
    if (driver > 0 && since > driver)
        snprintf(why, size, "the driver supports CUDA %d.%d, and %s came with %d.%d",
                 ACU_MAJOR(driver), ACU_MINOR(driver), function->name, ACU_MAJOR(since),
                 ACU_MINOR(since));
    else if (driver > 0)
        snprintf(why, size,
                 "the driver, which supports CUDA %d.%d, is too old for this use of the function",
                 ACU_MAJOR(driver), ACU_MINOR(driver));
}

/* Leaves `why` empty where the code explains itself. A code of 0 in `info` means that the library
 * has no such error. */
static void explain_result(const acu_function *function, int result, char *why, size_t size) {
    const acu_library_info *info = function->library->info;
    if (result == info->error_no_driver)
        acu_explain_driver(function->library, why, size);
    else if (result == info->error_no_device)
        acu_explain_device(why, size);
    else if (result == info->error_newer_driver)
        explain_newer_driver(function, why, size);
    else if (result == info->error_stub && info->error_stub != info->error_missing)
        snprintf(why, size, "a stub library was loaded");
}

/* What else is known of a failure: the driver's version where the driver is too old. A code of "not
 * supported" comes from a function that is there, and may concern any part of the call, so no
 * feature is named. */
static acu_failure_facts facts_of(const acu_function *function, int result) {
    const acu_library *library = function->library;
    const acu_library_info *info = library->info;
    acu_failure_facts facts = {0};
    if (result == info->error_no_driver || result == info->error_newer_driver) {
        int driver = acu_driver_version(library);
        facts.kind = ACU_ERROR_KIND_DRIVER;
        facts.found = driver > 0 ? driver : 0;
        facts.needed = result == info->error_no_driver ? ACU_MAJOR(library->loaded.version) * 1000
                       : function->since > facts.found ? function->since
                                                       : 0;
    }
    if (facts.kind && facts.needed) { /* else the driver lacks something else than the function */
        facts.feature = function->feature_number;
        facts.since = function->since;
        facts.until = function->until;
    }
    return facts;
}

/* ---- a failed call ---- */

static void record_call(const char *call, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void record_call(const char *call, int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    acu_record_call(call, code, format, args);
    va_end(args);
}

/* Returns whether the code says that an argument is invalid. The type of a device's resource has a
 * code of its own, with one number in the runtime and the driver. */
static bool is_about_arguments(const acu_library *library, int result) {
    enum { INVALID_RESOURCE_TYPE = 914 };
    const bool of_cuda = library->id == ACU_CUDART || library->id == ACU_CUDA;
    return result == library->info->error_invalid || (of_cuda && result == INVALID_RESOURCE_TYPE);
}

static const char *newer_argument(const acu_function *function, const void *args, int *since) {
    const acu_library *library = function->library;
    return args && acu_library_version(library)
               ? acu_newer_argument(function, args, library->loaded.version, since)
               : NULL;
}

int acu_explain(const acu_function *function, int result, const void *args) {
    const acu_library *library = function->library;
    char note[ACU_NOTE_SIZE], why[ACU_REASON_SIZE], loaded[ACU_LIBRARY_TEXT];
    int since = 0;
    acu_record_take_reason(why);
    if (result == 0 || acu_function_repeats_errors(function) ||
        acu_function_is_answer(function, result) || acu_record_take_refusal(function->name, result))
        return result;
    acu_record_take_note(note);
    const char *newer =
        is_about_arguments(library, result) ? newer_argument(function, args, &since) : NULL;
    if (newer) {
        result = acu_refuse_newer(function, newer, since);
        (void)acu_record_take_refusal(function->name, result);
        return result;
    }
    /* cudaGetLastError must return the library's error, which is the later one. */
    if (library->id == ACU_CUDART)
        (void)acu_record_own_error(true);
    if (!*why)
        explain_result(function, result, why, sizeof why);
    const bool no_driver =
        result == library->info->error_no_driver && acu_driver_version(library) == ACU_DRIVER_NONE;
    record_call(function->name, result, "%s failed with %s (%d)%s%s%s; %s%s", function->name,
                acu_explain_code(library, result), result, note, *why ? ": " : "", why,
                acu_library_describe(library, "", loaded), acu_load_driver_ending(no_driver));
    const acu_failure_facts facts = facts_of(function, result);
    acu_record_facts(acu_translate_result(library, result), &facts);
    acu_record_complete();
    return result;
}
