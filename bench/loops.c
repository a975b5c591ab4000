/* Compiled twice; with DIRECT the functions are the library's own. */
#include "loops.h"

#include <stdlib.h>

#if defined(DIRECT)
typedef void *cudaStream_t;
typedef void *cudaEvent_t;
int cudaGetDevice(int *device);
int cudaStreamQuery(cudaStream_t stream);
int cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
#define NAME(call) direct_##call
#else
#include <anycuda/cudart.h>
#define NAME(call) anycuda_##call
#endif

/* Each result is looked at, as a program would. */
#define LOOP(call, ...)                                                                            \
    void NAME(call)(long calls) {                                                                  \
        for (long i = 0; i < calls; i++)                                                           \
            if (call(__VA_ARGS__))                                                                 \
                abort();                                                                           \
    }

static int device;

LOOP(cudaGetDevice, &device)
LOOP(cudaStreamQuery, (cudaStream_t)bench_stream)
LOOP(cudaEventRecord, (cudaEvent_t)bench_event, (cudaStream_t)bench_stream)
