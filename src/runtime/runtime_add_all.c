/* Naming all runtimes. The function has a file of its own, because only a program that calls it
 * shall be linked with all of them. */
#include <anycuda/runtime.h>

void acu_runtime_add_all(void) {
    (void)acu_place_cuda(0);
    (void)acu_place_webgpu(0);
}
