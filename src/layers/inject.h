/* Injected errors: calls that fail on purpose, without reaching the library. */
#ifndef ACU_LAYERS_INJECT_H
#define ACU_LAYERS_INJECT_H

#include "core/call.h"

bool acu_inject_on(void);
/* Does what acu_inject_errors() does. `about` is the setting, which a message about a mistake
 * names. */
int acu_inject_set(const char *list, const char *about);
/* Makes the call fail if a rule applies to it: sets fn to NULL, and the result. */
void acu_inject_call(acu_call *call);

#endif
