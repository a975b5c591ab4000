#include "core/refuse.h"

#include <anycuda/status.h>

#include "core/record.h"
#include "core/translate.h"
#include "loader/driver.h"
#include "loader/load.h"

#include <stdio.h>

static int refuse(const acu_function *function, int code, const acu_failure_facts *facts,
                  const char *format, ...) __attribute__((format(printf, 4, 5), cold));

static int refuse(const acu_function *function, int code, const acu_failure_facts *facts,
                  const char *format, ...) {
    if (acu_function_repeats_errors(function) || acu_function_is_answer(function, code))
        return code;
    va_list args;
    va_start(args, format);
    acu_record_call(function->name, code, format, args);
    va_end(args);
    bool missing = facts->kind == ACU_ERROR_KIND_LIBRARY && !acu_library_version(function->library);
    acu_record_facts(missing ? acu_load_code(function->library, code)
                             : acu_translate_result(function->library, code),
                     facts);
    acu_record_complete();
    /* The driver API has no last error. */
    acu_record_refusal(function->name, function->library->id == ACU_CUDART);
    return code;
}

/* The library has what was used from `since` to `until`; 0: all known versions before or after. A
 * libcuda that is too old is a driver that is too old. */
__attribute__((noinline)) static acu_failure_facts out_of_versions(const acu_function *function,
                                                                   int since, int until) {
    int version = function->library->loaded.version;
    bool driver = function->library->id == ACU_CUDA && since > version;
    return (acu_failure_facts){.kind = driver ? ACU_ERROR_KIND_DRIVER : ACU_ERROR_KIND_VERSION,
                               .feature = function->feature_number,
                               .since = since,
                               .until = until,
                               .needed = since > version ? since : until,
                               .found = version};
}

int acu_refuse(const acu_function *function, int code, const char *why) {
    return refuse(function, code, &(acu_failure_facts){0}, "%s: %s", function->name, why);
}

int acu_refuse_injected(const acu_function *function, int code, const char *why) {
    const acu_failure_facts facts = {
        .injected = true, .hint = "ANYCUDA_FAIL or acu_inject_errors() asks for this failure"};
    return refuse(function, code, &facts, "%s: %s", function->name, why);
}

int acu_refuse_newer(const acu_function *function, const char *what, int since) {
    char loaded[ACU_LIBRARY_TEXT];
    const acu_library *library = function->library;
    int code = library->info->error_unavailable;
    acu_failure_facts facts = out_of_versions(function, since, 0);
    if (since != function->since)
        facts.feature = 0; /* the function is there: its feature is not what is missing */
    acu_library_describe(library, " is", loaded);
    if (since)
        return refuse(function, code, &facts, "%s: %s needs CUDA %d.%d; loaded %s", function->name,
                      what, ACU_MAJOR(since), ACU_MINOR(since), loaded);
    return refuse(function, code, &facts, "%s: %s was removed from CUDA; loaded %s", function->name,
                  what, loaded);
}

int acu_refuse_invalid(const acu_function *function, const char *what, const char *why) {
    return refuse(function, function->library->info->error_invalid, &(acu_failure_facts){0},
                  "%s: %s %s", function->name, what, why);
}

/* ---- functions ---- */

/* Returns the first known version without the function after those that have it; 0 if it is
 * unknown. */
static int removed_in(const acu_function *function) {
    for (unsigned i = 0; i < function->era_count; i++)
        if (function->eras[i].since > function->until && !function->eras[i].symbol)
            return function->eras[i].since;
    return 0;
}

static int refuse_removed(const acu_function *function, const char *feature, const char *loaded) {
    int code = function->library->info->error_unavailable, until = function->until;
    int removed = removed_in(function);
    const acu_failure_facts facts = out_of_versions(function, function->since, until);
    if (removed && removed <= function->library->loaded.version)
        return refuse(function, code, &facts,
                      "%s%s was removed in CUDA %d.%d (last in %d.%d); loaded %s", function->name,
                      feature, ACU_MAJOR(removed), ACU_MINOR(removed), ACU_MAJOR(until),
                      ACU_MINOR(until), loaded);
    return refuse(function, code, &facts, "%s%s was removed from CUDA (last in %d.%d); loaded %s",
                  function->name, feature, ACU_MAJOR(until), ACU_MINOR(until), loaded);
}

int acu_refuse_missing_function(const acu_function *function) {
    char loaded[ACU_LIBRARY_TEXT], feature[80] = "";
    const acu_library *library = function->library;
    int code = library->info->error_unavailable, version = library->loaded.version;
    const acu_failure_facts facts = out_of_versions(function, function->since, function->until);
    acu_library_describe(library, " is", loaded);
    if (function->feature)
        snprintf(feature, sizeof feature, " (%s)", function->feature);
    if (function->since > version)
        return refuse(function, code, &facts, "%s needs CUDA %d.%d%s; loaded %s", function->name,
                      ACU_MAJOR(function->since), ACU_MINOR(function->since), feature, loaded);
    if (function->until && function->until < version)
        return refuse_removed(function, feature, loaded);
    return refuse(function, code, &facts, "%s %s; loaded %s", function->name,
                  acu_function_has_quirk(function, ACU_QUIRK_UNIMPLEMENTED)
                      ? "is not implemented, it would end the process"
                      : "does not exist in this version",
                  loaded);
}

int acu_refuse_missing_symbol(const acu_function *function, const char *symbol) {
    char loaded[ACU_LIBRARY_TEXT];
    const acu_library *library = function->library;
    int code = library->info->error_unavailable, version = library->loaded.version;
    const acu_failure_facts facts = {.kind = ACU_ERROR_KIND_LIBRARY};
    if (function->since > version || (function->until && function->until < version))
        return acu_refuse_missing_function(function);
    acu_library_describe(library, " is", loaded);
    if (library->loaded.is_sim)
        return refuse(function, code, &facts, "%s: the simulator does not have %s; loaded %s",
                      function->name, symbol, loaded);
    return refuse(function, code, &facts,
                  "%s: the library lacks the symbol %s, which this version should export; loaded "
                  "%s",
                  function->name, symbol, loaded);
}

int acu_refuse_missing_library(const acu_function *function) {
    char why[2 * ACU_WHY_SIZE];
    int code = acu_load_why(function->library, why, sizeof why);
    bool driver = function->library->id == ACU_CUDA ||
                  code == function->library->info->error_no_driver; /* libcuda is the driver */
    int found =
        driver && function->library->id != ACU_CUDA ? acu_driver_version(function->library) : 0;
    const acu_failure_facts facts = {.kind =
                                         driver ? ACU_ERROR_KIND_DRIVER : ACU_ERROR_KIND_LIBRARY,
                                     .feature = function->feature_number,
                                     .since = function->since,
                                     .until = function->until,
                                     .needed = function->since,
                                     .found = found > 0 ? found : 0,
                                     .hint = acu_load_hint(function->library)};
    return code ? refuse(function, code, &facts, "%s: %s", function->name, why) : 0;
}
