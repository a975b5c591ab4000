/*
 * The slow path of a slot: from a function's description to a pointer.
 *
 * A refused function is never published, so each call of it comes here: the refusal is recorded
 * each time, and the function works as soon as a later acu_load() succeeds.
 */
#include "core/call.h"

#include "core/hooks.h"
#include "core/record.h"
#include "core/refuse.h"
#include "loader/load.h"
#include "loader/slot.h"

/* Returns the symbol and adapter for the loaded version; one older than all known is bound as the
 * oldest. The simulator has the ABI of one version, and also functions that its ABI lacks, for the
 * older versions that it reports. */
static acu_era era_of(const acu_function *function) {
    const acu_library *library = function->library;
    const bool is_older =
        library->loaded.is_sim && function->until && library->loaded.version <= function->until;
    acu_era found = {.symbol = function->name};
    for (unsigned i = 0; i < function->era_count; i++)
        if (i == 0 ||
            (function->eras[i].since <= library->abi && (function->eras[i].symbol || !is_older)))
            found = function->eras[i];
    return found;
}

static bool is_unimplemented(const acu_function *function) {
    const acu_library *library = function->library;
    return acu_function_has_quirk(function, ACU_QUIRK_UNIMPLEMENTED) &&
           library->loaded.version == library->info->newest;
}

/* Returns whether the loaded library has no such function. `since` and `until` decide for the
 * simulator, because it reports versions whose ABI it does not have. */
static bool is_absent(const acu_function *function, const acu_era *era) {
    const acu_load_info *loaded = &function->library->loaded;
    return !era->symbol || is_unimplemented(function) ||
           (loaded->is_sim && (function->since > loaded->version ||
                               (function->until && function->until < loaded->version)));
}

bool acu_call_exists(const acu_function *function) {
    if (!acu_load_once(function->library))
        return false;
    acu_era era = era_of(function);
    return !is_absent(function, &era);
}

static acu_fn bind_symbol(const acu_function *function, const acu_era *era) {
    acu_fn symbol = acu_load_symbol(function->library, era->symbol);
    acu_fn fn = symbol && era->adapter ? era->adapter : symbol;
    if (symbol)
        acu_slot_publish(function, symbol, fn);
    return fn;
}

/* Returns what a call that is not made returns: for a query of the last error, the error made here.
 */
static int refused_result(const acu_function *function, int code) {
    if (acu_function_has_quirk(function, ACU_QUIRK_GET_LAST_ERROR))
        return acu_record_own_error(true);
    if (acu_function_has_quirk(function, ACU_QUIRK_PEEK_LAST_ERROR))
        return acu_record_own_error(false);
    return function->returns == ACU_RETURNS_STATUS ? code : 0;
}

/* Sets fn, or the result of a refusal. */
static void bind(acu_call *call) {
    const acu_function *function = call->function;
    bool has_fallback = acu_function_has_quirk(function, ACU_QUIRK_NO_LIBRARY);
    int code = 0;
    while (!code && !acu_load_once(function->library)) {
        if (has_fallback)
            break;
        code = acu_refuse_missing_library(function);
    }
    if (!code && acu_library_version(function->library)) {
        acu_era era = era_of(function);
        if (is_absent(function, &era))
            code = has_fallback ? 0 : acu_refuse_missing_function(function);
        else if ((call->fn = bind_symbol(function, &era)) == NULL)
            code = has_fallback ? 0 : acu_refuse_missing_symbol(function, era.symbol);
    }
    if (!call->fn)
        call->result = refused_result(function, code);
}

int acu_call_version(const acu_library *library) {
    return acu_library_version(library);
}

acu_fn acu_call_bind(const acu_function *function) {
    if (acu_load_once(function->library)) {
        acu_era era = era_of(function);
        if (!is_absent(function, &era))
            (void)bind_symbol(function, &era);
    }
    return __atomic_load_n(function->slot, __ATOMIC_ACQUIRE);
}

void acu_call_begin(acu_call *call, const acu_function *function, const void *args) {
    *call = (acu_call){.function = function, .args = args, .layered = acu_layer_hooks.on()};
    bind(call);
    if (call->layered)
        acu_layer_hooks.begin(call);
    call->made_here = call->fn == NULL;
}

int acu_call_end(acu_call *call) {
    if (call->layered)
        acu_layer_hooks.end(call);
    return call->result;
}
