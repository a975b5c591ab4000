/* What programs do with memory and semaphores of another API. Only the simulator exports them. */
#include "scenarios.h"

#include <unistd.h>

/* Imports what a descriptor stands for, or closes that. */
static acu_result import_both(acu_external_memory **memory, acu_external_semaphore **semaphore,
                              const acu_sim_semaphore *other) {
    const acu_external_memory_source m = {.type = ACU_EXTERNAL_MEMORY_OPAQUE_FD,
                                          .descriptor = acu_sim_memory_export(65536),
                                          .bytes = 65536};
    const acu_external_semaphore_source s = {.type = ACU_EXTERNAL_SEMAPHORE_TIMELINE_FD,
                                             .descriptor = acu_sim_semaphore_export(other)};
    acu_result result = acu_external_memory_import(0, &m, memory);
    if (!result)
        result = acu_external_semaphore_import(0, &s, semaphore);
    if (!*memory)
        (void)close(m.descriptor);
    if (!*semaphore)
        (void)close(s.descriptor);
    return result;
}

static acu_result in_a_graph(acu_stream *stream, acu_external_semaphore *semaphore) {
    acu_node wait, signal;
    const acu_semaphore_wait waits[] = {{.semaphore = semaphore, .value = 1}};
    const acu_semaphore_signal signals[] = {{.semaphore = semaphore, .value = 3}};
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_graph) *captured = NULL;
    ACU_AUTO(acu_exec) *exec = NULL;
    ACU_TRY(acu_graph_create(&graph));
    ACU_TRY(acu_graph_add_semaphore_wait(graph, NULL, 0, waits, 1, &wait));
    ACU_TRY(acu_graph_add_semaphore_signal(graph, &wait, 1, signals, 1, &signal));
    ACU_TRY(acu_node_set_semaphore_wait(wait, waits, 1));
    ACU_TRY(acu_node_set_semaphore_signal(signal, signals, 1));
    ACU_TRY(acu_graph_instantiate(graph, NULL, &exec));
    ACU_TRY(acu_exec_set_semaphore_wait(exec, wait, waits, 1));
    ACU_TRY(acu_exec_set_semaphore_signal(exec, signal, signals, 1));
    ACU_TRY(acu_exec_launch(exec, stream));
    ACU_TRY(acu_stream_synchronize(stream)); /* else it takes time until the exec can go */
    ACU_TRY(acu_stream_begin_capture(stream, NULL));
    acu_result result = acu_external_signal(signals, 1, stream);
    const acu_result ended = acu_stream_end_capture(stream, &captured);
    return result ? result : ended;
}

static acu_result use_both(acu_stream *stream, const acu_sim_semaphore *other) {
    ACU_AUTO(acu_external_memory) *memory = NULL;
    ACU_AUTO(acu_external_semaphore) *semaphore = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_mipmap) *image = NULL;
    ACU_TRY(import_both(&memory, &semaphore, other));
    ACU_TRY(acu_external_memory_create_buffer(memory, 0, stream, ACU_U8, 65536, &x));
    ACU_TRY(acu_external_memory_create_mipmap(memory, 0, stream, (acu_format){.dtype = ACU_U8},
                                              (acu_extent){16, 16, 0}, 2, 0, &image));
    ACU_TRY(acu_external_semaphore_signal(semaphore, 1, stream));
    ACU_TRY(acu_external_semaphore_wait(semaphore, 1, stream));
    ACU_TRY(acu_buffer_zero(x, NULL));
    ACU_TRY(in_a_graph(stream, semaphore));
    return acu_stream_synchronize(stream);
}

acu_result other_apis(void) {
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    if (!acu_loaded(ACU_CUDART)->is_sim) {
        print_message("needs the simulator: a GPU imports what Vulkan exports, tests/vulkan/\n");
        return 0;
    }
    acu_sim_semaphore *other = acu_sim_semaphore_create(1);
    const acu_result result = use_both(a, other);
    acu_sim_semaphore_destroy(other);
    return result;
}
