/* Naming a device of WebGPU. The function has a file of its own, because only a program that calls
 * it shall be linked with WebGPU. */
#include "runtime/runtime.h"
#include "runtime/webgpu/webgpu.h"

acu_place acu_place_webgpu(int device) {
    acu_runtime_add(ACU_RUNTIME_WEBGPU, &acu_webgpu_backend);
    return (acu_place){ACU_RUNTIME_WEBGPU, device};
}
