/* Switching the trace on, of lines or for viewers: a program that names this has both. */
#include <anycuda/layers.h>

#include "core/hooks.h"
#include "layers/layers.h"
#include "layers/trace.h"
#include "layers/trace_file.h"

int acu_trace_to(const char *target) {
    static const char about[] = "acu_trace_to";
    int error = 0;
    (void)acu_layer_hooks.on(); /* the environment comes first */
    if (acu_trace_file_set(target, about, &error))
        (void)acu_trace_set(NULL, about);
    else
        error = acu_trace_set(target, about);
    acu_layers_take_slots_back();
    return error;
}
