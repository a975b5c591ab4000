/* Slots: the published pointers that lead from the wrappers into a library. */
#ifndef ACU_LOADER_SLOT_H
#define ACU_LOADER_SLOT_H

#include "core/abi.h"

/* Stores the library's symbol for the adapters and, unless a layer is on, `fn` in the slot. */
void acu_slot_publish(const acu_function *function, acu_fn symbol, acu_fn fn);
/* Puts the entries back into all published slots of the library, so that their next calls come
 * through acu_call_begin. */
void acu_slot_unpublish(acu_library *library);

#endif
