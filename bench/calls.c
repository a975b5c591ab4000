/*
 * A call through anycuda against the same call linked directly, in pairs within one process. Prints
 * a table in Markdown. Which libcudart that is, is decided when this is linked: the fake one of
 * empty functions, or a real one. Exits with 77 where a real one finds no GPU.
 */
#include "loops.h"
#include "pairs.h"

#include <anycuda/cudart.h>
#include <anycuda/load.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *bench_stream, *bench_event;

static void synchronize(void) {
    if (cudaStreamSynchronize(bench_stream))
        abort();
}

int main(void) {
    /* Already in the process, as it is linked. */
    if (cudaStreamCreate((cudaStream_t *)&bench_stream) ||
        cudaEventCreate((cudaEvent_t *)&bench_event)) {
        printf("%s\n", acu_last_error_message());
        return 77;
    }
    if (strcmp(acu_loaded(ACU_CUDART)->found, "already in the process") != 0) {
        printf("anycuda took another libcudart: %s\n", acu_loaded(ACU_CUDART)->path);
        return 1;
    }
    print_header("direct", "anycuda");
    compare("cudaGetDevice", direct_cudaGetDevice, anycuda_cudaGetDevice, 0, synchronize);
    compare("cudaStreamQuery", direct_cudaStreamQuery, anycuda_cudaStreamQuery, 0, synchronize);
    compare("cudaEventRecord", direct_cudaEventRecord, anycuda_cudaEventRecord, 500, synchronize);
    compare("noise: direct cudaGetDevice twice", direct_cudaGetDevice, direct_cudaGetDevice, 0,
            synchronize);
    return 0;
}
