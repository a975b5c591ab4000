/*
 * One binary for any CUDA: which features this machine has, and why it lacks the others.
 *
 * Run it again with ANYCUDA_CUDART=/path/to/another/libcudart.so.12, or, on the simulator, with
 * ANYCUDA_SIM=runtime=11.8.
 */
#include "example.h"

#include <anycuda/cudart.h> /* CUDA's own names: both layers in one file */

#include <string.h>

/* Breaks sentences at the width of a terminal. */
static void print_folded(const char *first, const char *text) {
    const char *gap = "";
    int column = printf("%s", first);
    while (*text) {
        int word = (int)strcspn(text, " ");
        bool fits = column + 1 + word <= 80;
        column = fits ? column + printf("%s", gap) : printf("\n      ") - 1;
        column += printf("%.*s", word, text);
        text += word + (text[word] == ' ');
        gap = " ";
    }
    printf("\n");
}

/* A program can ask for a feature, and do something else where it is missing. */
static const char *choose_allocator(void) {
    if (acu_supports(ACU_FEATURE_STREAM_ORDERED_ALLOCATION, 0) == 0)
        return "cudaMallocAsync";
    return "cudaMalloc";
}

/* A program can also call the function and check the result: with any version it is a result, never
 * a crash. */
static void call_new_functions(void) {
    struct cudaDeviceProp properties;
    cudaGraph_t graph = NULL;
    cudaGraphConditionalHandle handle;
    if (cudaGetDeviceProperties(&properties, 0) == cudaSuccess)
        printf("cudaDeviceProp, laid out as this runtime does: %d multiprocessors\n",
               properties.multiProcessorCount);
    if (cudaGraphCreate(&graph, 0) == cudaSuccess &&
        cudaGraphConditionalHandleCreate(&handle, graph, 0, 0) == cudaSuccess)
        printf("a handle for conditional nodes: made\n");
    else
        print_folded("a handle for conditional nodes: ", acu_last_error_message());
    if (graph)
        (void)cudaGraphDestroy(graph);
}

static acu_result run(void) {
    int driver = 0, usable = 0;
    ACU_TRY(example_begin());
    const acu_load_info *runtime = acu_loaded(ACU_CUDART);
    (void)cudaDriverGetVersion(&driver);
    printf("written for CUDA %d.%d, loaded is %d.%d, the driver supports %d.%d\n",
           CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, runtime->version / 1000,
           runtime->version % 1000 / 10, driver / 1000, driver % 1000 / 10);
    printf("how it was found:\n%s", acu_load_trace(ACU_CUDART));
    printf("allocating with %s\n", choose_allocator());
    call_new_functions();

    printf("\nwhat cannot be used on device 0:\n");
    for (int i = 0; i < ACU_FEATURE_COUNT; i++)
        if (acu_supports((acu_feature)i, 0) == 0)
            usable++;
        else
            print_folded("  ", acu_last_error_message());
    printf("%d of %d features can be used\n", usable, ACU_FEATURE_COUNT);
    return ACU_SUCCESS;
}

int main(void) {
    return example_end(run());
}
