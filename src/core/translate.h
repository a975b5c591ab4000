/*
 * Results of the libraries as results of the safe layer. A translation is needed because the values
 * of their enumerations overlap; each library has its own (`translate` of loader/library.h).
 */
#ifndef ACU_TRANSLATE_H
#define ACU_TRANSLATE_H

#include <anycuda/load.h>

#include "core/abi.h"

/* Returns what a result of a library means in the runtime's numbers, or in anycuda's own. */
int acu_translate_result(const acu_library *library, int result);
/* Translate a failure; its record, if there is one, is given the new code, too. */
int acu_translate_driver_error(int result);
int acu_translate_nvrtc(int result);

static inline int acu_translate_driver(int result) {
    return ACU_LIKELY(result == 0) ? 0 : acu_translate_driver_error(result);
}

#endif
