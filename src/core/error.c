/* The record of a thread's last failure, and the sentences in it. */
#include "core/error.h"
#include "loader/loader.h"
#include "loader/platform.h"

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_SIZE = 1024, HINT_SIZE = 256 };

static _Thread_local struct {
    int code;
    char message[MESSAGE_SIZE];
    /* The refusal that acu_explain, called next by the wrapper, must not explain again: the name,
     * which both variants of a function (default stream per thread or not) share. */
    const char *refused;
    int own;       /* for cudaGetLastError */
    char note[64]; /* for the next message */
    const char *call;
    char object[ACU_OBJECT_TEXT];
    char hint[HINT_SIZE];
} record;

/* ---- recording ---------------------------------------------------------------------------------
 */

/* One line, whatever a path or an environment variable holds, and marked where it is cut. */
static void set_message(const char *call, const char *format, va_list args) {
    int length = vsnprintf(record.message, sizeof record.message, format, args);
    if (length >= (int)sizeof record.message)
        memcpy(record.message + sizeof record.message - 4, "...", 4);
    for (char *c = record.message; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    record.call = call;
    record.object[0] = record.hint[0] = '\0';
}

int acu_record(int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    set_message("", format, args);
    va_end(args);
    record.code = code;
    record.refused = NULL;
    return code;
}

const char *acu_record_one_line(const char *log, char *line, size_t size) {
    size_t used = 0;
    for (; *log && used + 4 < size; log++) {
        if (*log != '\n')
            line[used++] = *log;
        else if (used && log[1] && log[1] != '\n')
            used += (size_t)snprintf(line + used, size - used, " | ");
    }
    line[used] = '\0';
    return line;
}

int acu_record_recode(int from, int to) {
    if (record.code == from)
        record.code = to;
    return to;
}

void acu_record_note(const char *what, size_t index) {
    size_t used = record.refused ? strlen(record.message) : 0;
    if (record.refused) /* the call failed here, and its message is written */
        snprintf(record.message + used, sizeof record.message - used, " (%s %zu)", what, index);
    else
        snprintf(record.note, sizeof record.note, " (%s %zu)", what, index);
}

bool acu_function_has_quirk(const acu_function *function, unsigned quirk) {
    unsigned quirks = function->quirks;
    return (quirks & quirk) != 0;
}

bool acu_function_is_answer(const acu_function *function, int result) {
    for (const int *answer = function->not_failures; answer && *answer; answer++)
        if (*answer == result)
            return true;
    return false;
}

static bool repeats_errors(const acu_function *function) {
    return acu_function_has_quirk(function, ACU_QUIRK_GET_LAST_ERROR) ||
           acu_function_has_quirk(function, ACU_QUIRK_PEEK_LAST_ERROR);
}

int acu_refuse_format(const acu_function *function, int code, const char *format, ...) {
    if (repeats_errors(function) || acu_function_is_answer(function, code))
        return code;
    va_list args;
    va_start(args, format);
    set_message(function->name, format, args);
    va_end(args);
    record.code = code;
    record.refused = function->name;
    /* The driver API has no last error. */
    if (function->library->id == ACU_CUDART)
        record.own = code;
    return code;
}

int acu_record_own_error(bool take) {
    int own = record.own;
    if (take)
        record.own = 0;
    return own;
}

__attribute__((hot)) int acu_last_error(void) {
    return record.code;
}

const char *acu_last_error_message(void) {
    return record.message;
}

void acu_clear_error(void) {
    record.code = 0;
    record.message[0] = record.object[0] = record.hint[0] = '\0';
    record.refused = record.call = NULL;
}

acu_error acu_last_error_details(void) {
    return (acu_error){.code = record.code,
                       .call = record.call ? record.call : "",
                       .object = record.object,
                       .message = record.message,
                       .hint = *record.hint ? record.hint : acu_status_hint(record.code)};
}

/* ---- failures of the safe layer ----------------------------------------------------------------
 */

/* What CUDA said is kept behind the call that the user made. */
static void attribute(const char *call, const char *object) {
    char said[MESSAGE_SIZE];
    memcpy(said, record.message, sizeof said);
    int length = snprintf(record.message, sizeof record.message, "%s: %s%s%s", call, said,
                          *object ? "; " : "", object);
    if (length >= (int)sizeof record.message)
        memcpy(record.message + sizeof record.message - 4, "...", 4);
    record.call = call;
    snprintf(record.object, sizeof record.object, "%s", object);
}

int acu_cuda_failed(const char *call, const char *object, int code) {
    if (record.code != code || !*record.message)
        acu_record(code, "%s (%d)", acu_result_name(code), code);
    attribute(call, object);
    return code;
}

int acu_vfail(const char *call, const char *object, int code, const char *format, va_list args) {
    set_message(call, format, args);
    record.code = code;
    record.refused = NULL;
    attribute(call, object);
    return code;
}

int acu_fail(const char *call, const char *object, int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)acu_vfail(call, object, code, format, args);
    va_end(args);
    return code;
}

void acu_fail_hint(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(record.hint, sizeof record.hint, format, args);
    va_end(args);
}

/* ---- errors met while releasing ----------------------------------------------------------------
 */

typedef struct kept_error {
    int code;
    const char *call;
    char object[ACU_OBJECT_TEXT], message[MESSAGE_SIZE], hint[HINT_SIZE];
} kept_error;

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static kept_error kept; /* the first one that nobody asked for yet */
static size_t kept_count;

size_t acu_release_error(acu_error *error) {
    static _Thread_local kept_error asked; /* holds the texts */
    pthread_mutex_lock(&kept_lock);
    size_t count = kept_count;
    asked = kept;
    kept_count = 0;
    memset(&kept, 0, sizeof kept);
    pthread_mutex_unlock(&kept_lock);
    if (error)
        *error = (acu_error){.code = asked.code,
                             .call = asked.call ? asked.call : "",
                             .object = asked.object,
                             .message = asked.message,
                             .hint = asked.hint};
    return count;
}

void acu_record_release_error(void) {
    acu_error error = acu_last_error_details();
    pthread_mutex_lock(&kept_lock);
    if (kept_count++ == 0) {
        kept.code = error.code;
        kept.call = error.call;
        memcpy(kept.object, record.object, sizeof kept.object);
        memcpy(kept.message, record.message, sizeof kept.message);
        snprintf(kept.hint, sizeof kept.hint, "%s", error.hint);
    }
    pthread_mutex_unlock(&kept_lock);
}

void acu_record_save(acu_saved_record *saved) {
    static_assert(sizeof record <= sizeof saved->bytes, "ACU_SAVED_ERROR_SIZE is too small");
    saved->any = record.code != 0;
    if (saved->any)
        memcpy(saved->bytes, &record, sizeof record);
}

void acu_record_restore(const acu_saved_record *saved) {
    int own = record.own; /* cudaGetLastError tells what CUDA last refused, whoever asked for it */
    if (saved->any)
        memcpy(&record, saved->bytes, sizeof record);
    else if (record.code)
        acu_clear_error();
    record.own = own;
}

/* ---- what is loaded -----------------------------------------------------------------------------
 */

const char *acu_explain_loaded(const acu_library *library, const char *between,
                               char text[ACU_LOADED_SIZE]) {
    if (acu_library_version(library))
        snprintf(text, ACU_LOADED_SIZE, "%s%s %d.%d (%s)", library->info->name, between,
                 ACU_MAJOR(library->loaded.version), ACU_MINOR(library->loaded.version),
                 library->loaded.path);
    else
        snprintf(text, ACU_LOADED_SIZE, "no %s is loaded", library->info->name);
    return text;
}

/* ---- refusals -----------------------------------------------------------------------------------
 */

int acu_refuse_newer(const acu_function *function, const char *what, int since) {
    char text[ACU_LOADED_SIZE];
    const acu_library *library = function->library;
    acu_explain_loaded(library, " is", text);
    if (since)
        return acu_refuse_format(function, library->info->error_unavailable,
                                 "%s: %s needs CUDA %d.%d; loaded %s", function->name, what,
                                 ACU_MAJOR(since), ACU_MINOR(since), text);
    return acu_refuse_format(function, library->info->error_unavailable,
                             "%s: %s is gone; loaded %s", function->name, what, text);
}

int acu_refuse_invalid(const acu_function *function, const char *what, const char *why) {
    return acu_refuse_format(function, function->library->info->error_invalid, "%s: %s %s",
                             function->name, what, why);
}

int acu_refuse(const acu_function *function, int code, const char *why) {
    return acu_refuse_format(function, code, "%s: %s", function->name, why);
}

/* The first known version that lacks the function again; 0 if that is not known. */
static int gone_since(const acu_function *function) {
    for (unsigned i = 0; i < function->era_count; i++)
        if (function->eras[i].since > function->until && !function->eras[i].symbol)
            return function->eras[i].since;
    return 0;
}

int acu_refuse_missing_function(const acu_function *function) {
    char text[ACU_LOADED_SIZE], feature[80] = "";
    const acu_library *library = function->library;
    const char *name = function->name;
    int code = library->info->error_unavailable, version = library->loaded.version;
    int since = function->since, until = function->until;
    acu_explain_loaded(library, " is", text);
    if (function->feature)
        snprintf(feature, sizeof feature, " (%s)", function->feature);
    if (since > version)
        return acu_refuse_format(function, code, "%s needs CUDA %d.%d%s; loaded %s", name,
                                 ACU_MAJOR(since), ACU_MINOR(since), feature, text);
    int gone = gone_since(function);
    if (until && until < version && gone && gone <= version)
        return acu_refuse_format(
            function, code, "%s%s is gone since CUDA %d.%d (last in %d.%d); loaded %s", name,
            feature, ACU_MAJOR(gone), ACU_MINOR(gone), ACU_MAJOR(until), ACU_MINOR(until), text);
    if (until && until < version)
        return acu_refuse_format(function, code, "%s%s is gone (last in CUDA %d.%d); loaded %s",
                                 name, feature, ACU_MAJOR(until), ACU_MINOR(until), text);
    return acu_refuse_format(function, code, "%s does not exist in this version; loaded %s", name,
                             text);
}

int acu_refuse_missing_symbol(const acu_function *function, const char *symbol) {
    char text[ACU_LOADED_SIZE];
    const acu_library *library = function->library;
    if (library->loaded.is_sim)
        return acu_refuse_format(function, library->info->error_unavailable,
                                 "%s: the simulator does not play %s; loaded %s", function->name,
                                 symbol, acu_explain_loaded(library, " is", text));
    return acu_refuse_format(function, library->info->error_unavailable,
                             "%s: the symbol %s should be there, but is missing; loaded %s",
                             function->name, symbol, acu_explain_loaded(library, " is", text));
}

int acu_refuse_missing_library(const acu_function *function) {
    char why[MESSAGE_SIZE];
    int code = acu_library_why(function->library, why, sizeof why);
    if (!code)
        return 0;
    return acu_refuse_format(function, code, "%s: %s", function->name, why);
}

/* ---- errors of the library ----------------------------------------------------------------------
 */

const char *acu_explain_code(const acu_library *library, int result) {
    const char *name = acu_value_name(library->info->result_type, result);
    return name ? name : "an unknown error";
}

/* Any driver of a major version carries all its runtimes. */
void acu_explain_driver(const acu_library *library, char *why, size_t size) {
    int driver = acu_driver_version(library), major = ACU_MAJOR(library->loaded.version);
    if (driver == 0)
        snprintf(why, size, "no NVIDIA driver is installed");
    else if (driver < 0)
        snprintf(why, size, "the NVIDIA driver does not say its version");
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

/* A runtime has functions that an older driver of its major version cannot do. */
static void newer_driver_reason(const acu_function *function, char *why, size_t size) {
    int driver = acu_driver_version(function->library), since = function->since;
    if (driver > 0 && since > driver)
        snprintf(why, size, "the driver knows CUDA %d.%d, and %s came with %d.%d",
                 ACU_MAJOR(driver), ACU_MINOR(driver), function->name, ACU_MAJOR(since),
                 ACU_MINOR(since));
    else if (driver > 0)
        snprintf(why, size, "the driver, which knows CUDA %d.%d, is too old for this use of it",
                 ACU_MAJOR(driver), ACU_MINOR(driver));
}

static int explain_result(const acu_function *function, int result, const char *note) {
    char why[160] = "", text[ACU_LOADED_SIZE];
    const acu_library *library = function->library;
    const acu_library_info *info = library->info;
    if (result == info->error_no_driver && info->error_no_driver)
        acu_explain_driver(library, why, sizeof why);
    else if (result == info->error_no_device && info->error_no_device)
        acu_explain_device(why, sizeof why);
    else if (result == info->error_newer_driver && info->error_newer_driver)
        newer_driver_reason(function, why, sizeof why);
    else if (result == info->error_stub && info->error_stub != info->error_missing)
        snprintf(why, sizeof why, "a stub library was loaded");
    acu_record(result, "%s failed with %s (%d)%s%s%s; %s", function->name,
               acu_explain_code(library, result), result, note, *why ? ": " : "", why,
               acu_explain_loaded(library, "", text));
    record.call = function->name;
    return result;
}

int acu_explain(const acu_function *function, int result, const void *args) {
    char note[sizeof record.note];
    memcpy(note, record.note, sizeof note);
    record.note[0] = '\0'; /* it was about this call, whatever becomes of it */
    if (result == 0 || repeats_errors(function) || acu_function_is_answer(function, result))
        return result;
    if (record.refused == function->name && record.code == result) {
        record.refused = NULL; /* said by who refused it */
        return result;
    }
    const acu_library *library = function->library;
    if (result == library->info->error_invalid && args && acu_library_version(library)) {
        int since = 0;
        const char *newer = acu_newer_argument(function, args, library->loaded.version, &since);
        if (newer) {
            result = acu_refuse_newer(function, newer, since);
            record.refused = NULL;
            return result;
        }
    }
    /* The library's error is the later one: its cudaGetLastError tells it. */
    if (library->id == ACU_CUDART)
        record.own = 0;
    return explain_result(function, result, note);
}
