/* What makes CUDA a part of the program: only this file names its table. */
#include "runtime/cuda/cuda.h"
#include "runtime/runtime.h"

acu_place acu_place_cuda(int device) {
    const acu_place place = {ACU_RUNTIME_CUDA, device};
    acu_runtime_add(ACU_RUNTIME_CUDA, &acu_cuda_backend);
    return place;
}
