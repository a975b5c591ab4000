/*
 * The hook for layers, which watch every call or replace its result. The core and the loader use
 * the hook; src/layers/ defines it, and the linker brings them together, so nothing below includes
 * a header of the layers.
 */
#ifndef ACU_HOOKS_H
#define ACU_HOOKS_H

#include "core/call.h"

typedef struct acu_hooks {
    /*
     * Whether a layer is on; reads the environment on first use. While one is, no slot is
     * published, and each call comes through acu_call_begin. Publishing a slot asks this under
     * ACU_LOCK_SLOTS, because a layer is switched on before it takes published slots back.
     */
    bool (*on)(void);
    /* Before the call. May set fn to NULL and give the call a result. Leaves errno as it is. */
    void (*begin)(acu_call *call);
    /* After the call, whose result is set. Changes nothing, and leaves errno as it is. */
    void (*end)(acu_call *call);
} acu_hooks;

extern const acu_hooks acu_layer_hooks;

#endif
