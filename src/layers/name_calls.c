/* Naming the calls of the safe layer. */
#include <anycuda/layers.h>

#include "core/listen.h"

void acu_name_calls(int on) {
    acu_listen_to_calls(on != 0);
}
