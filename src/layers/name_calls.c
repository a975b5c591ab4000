/* Naming the calls of the safe layer. */
#include <anycuda/layers.h>

#include "core/audience.h"

void acu_name_calls(int named) {
    acu_audience_of_calls(named != 0);
}
