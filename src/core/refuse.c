#include "core/refuse.h"

#include "core/record.h"
#include "loader/load.h"

#include <stdio.h>

static int refuse(const acu_function *function, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

static int refuse(const acu_function *function, int code, const char *format, ...) {
    if (acu_function_repeats_errors(function) || acu_function_is_answer(function, code))
        return code;
    va_list args;
    va_start(args, format);
    acu_record_call(function->name, code, format, args);
    va_end(args);
    /* The driver API has no last error. */
    acu_record_refusal(function->name, function->library->id == ACU_CUDART);
    return code;
}

int acu_refuse(const acu_function *function, int code, const char *why) {
    return refuse(function, code, "%s: %s", function->name, why);
}

int acu_refuse_newer(const acu_function *function, const char *what, int since) {
    char loaded[ACU_LIBRARY_TEXT];
    const acu_library *library = function->library;
    int code = library->info->error_unavailable;
    acu_library_describe(library, " is", loaded);
    if (since)
        return refuse(function, code, "%s: %s needs CUDA %d.%d; loaded %s", function->name, what,
                      ACU_MAJOR(since), ACU_MINOR(since), loaded);
    return refuse(function, code, "%s: %s was removed from CUDA; loaded %s", function->name, what,
                  loaded);
}

int acu_refuse_invalid(const acu_function *function, const char *what, const char *why) {
    return refuse(function, function->library->info->error_invalid, "%s: %s %s", function->name,
                  what, why);
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
    if (removed && removed <= function->library->loaded.version)
        return refuse(function, code, "%s%s was removed in CUDA %d.%d (last in %d.%d); loaded %s",
                      function->name, feature, ACU_MAJOR(removed), ACU_MINOR(removed),
                      ACU_MAJOR(until), ACU_MINOR(until), loaded);
    return refuse(function, code, "%s%s was removed from CUDA (last in %d.%d); loaded %s",
                  function->name, feature, ACU_MAJOR(until), ACU_MINOR(until), loaded);
}

int acu_refuse_missing_function(const acu_function *function) {
    char loaded[ACU_LIBRARY_TEXT], feature[80] = "";
    const acu_library *library = function->library;
    int code = library->info->error_unavailable, version = library->loaded.version;
    acu_library_describe(library, " is", loaded);
    if (function->feature)
        snprintf(feature, sizeof feature, " (%s)", function->feature);
    if (function->since > version)
        return refuse(function, code, "%s needs CUDA %d.%d%s; loaded %s", function->name,
                      ACU_MAJOR(function->since), ACU_MINOR(function->since), feature, loaded);
    if (function->until && function->until < version)
        return refuse_removed(function, feature, loaded);
    return refuse(function, code, "%s does not exist in this version; loaded %s", function->name,
                  loaded);
}

int acu_refuse_missing_symbol(const acu_function *function, const char *symbol) {
    char loaded[ACU_LIBRARY_TEXT];
    const acu_library *library = function->library;
    int code = library->info->error_unavailable;
    acu_library_describe(library, " is", loaded);
    if (library->loaded.is_sim)
        return refuse(function, code, "%s: the simulator does not have %s; loaded %s",
                      function->name, symbol, loaded);
    return refuse(function, code,
                  "%s: the library lacks the symbol %s, which this version should export; loaded "
                  "%s",
                  function->name, symbol, loaded);
}

int acu_refuse_missing_library(const acu_function *function) {
    char why[2 * ACU_WHY_SIZE];
    int code = acu_load_why(function->library, why, sizeof why);
    return code ? refuse(function, code, "%s: %s", function->name, why) : 0;
}
