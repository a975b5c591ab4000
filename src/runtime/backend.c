/* What back ends say when they fail. */
#include "runtime/backend.h"

#include "core/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The last failure that a back end explained on this thread. */
static _Thread_local struct {
    acu_result code; /* 0: none */
    char words[ACU_BACKEND_WORDS];
    /* Of the failure that the words were taken from, if they were: */
    int runtime_code; /* 0: the words are the back end's own */
    acu_failure_facts facts;
    char hint[ACU_HINT_SIZE];
} explained;

/* Returns whether the code is one that a function of this library may return. */
static bool is_result(acu_result code) {
    enum { LAST_OF_CUDA = 10000 }; /* cudaErrorApiFailureBase */
    return code >= ACU_ERROR_LIMIT && code <= LAST_OF_CUDA && code != ACU_SUCCESS;
}

static acu_result valid(acu_result code) {
    return is_result(code) ? code : ACU_ERROR_STATE;
}

/* Keeps what else is known of the failure that the words were taken from: a library that is missing
 * has a hint of its own, which no code tells. */
static void keep_facts(const acu_failure *from) {
    explained.runtime_code = 0;
    if (from->code != explained.code || !strstr(from->message, explained.words))
        return;
    explained.runtime_code = from->runtime_code;
    explained.facts = from->facts;
    memcpy(explained.hint, from->hint, sizeof explained.hint);
}

acu_result acu_backend_fail(acu_result code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(explained.words, sizeof explained.words, format, args);
    va_end(args);
    explained.code = valid(code);
    keep_facts(acu_record_last());
    return explained.code;
}

acu_result acu_backend_check(acu_result code, const void *handle, const char *what) {
    return code || handle
               ? code
               : acu_backend_fail(ACU_ERROR_STATE,
                                  "the back end reports success, but its %s is NULL", what);
}

acu_result acu_backend_take_words(acu_result code, char *words, size_t size) {
    code = valid(code);
    if (explained.code == code && *explained.words)
        (void)snprintf(words, size, "%s", explained.words);
    else
        (void)snprintf(words, size, "the back end gives no reason but %s (%d)",
                       acu_result_name(code), code);
    explained.code = 0;
    return code;
}

acu_result acu_backend_failed(const char *call, const char *object, acu_result code) {
    char words[ACU_BACKEND_WORDS];
    const bool has_facts = explained.code == valid(code) && explained.runtime_code;
    code = acu_backend_take_words(code, words, sizeof words);
    if (!has_facts)
        return acu_fail(call, object, code, "%s", words);
    if (*explained.hint)
        acu_fail_hint("%s", explained.hint);
    (void)acu_record(code, "%s", words);
    acu_record_facts(explained.runtime_code, &explained.facts);
    acu_record_object(call, object);
    return code;
}
