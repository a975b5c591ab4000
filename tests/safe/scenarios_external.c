/* What programs do with memory and semaphores of another API, and with its buffers and images. Only
 * the simulator has them. */
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

/* ---- graphics ---- */

static acu_result use_graphics(acu_stream *stream, unsigned name, unsigned image) {
    enum { GL_2D = 0x0DE1 };
    size_t count = 0;
    ACU_AUTO(acu_graphics) *g = NULL;
    ACU_AUTO(acu_graphics) *h = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_array) *array = NULL;
    ACU_AUTO(acu_mipmap) *mipmap = NULL;
    const acu_graphics_source buffers = {.type = ACU_GRAPHICS_GL_BUFFER, .name = name};
    const acu_graphics_source images = {ACU_GRAPHICS_GL_IMAGE, image, GL_2D, NULL, 0};
    ACU_TRY(acu_graphics_get_gl_devices(ACU_GRAPHICS_GL_ALL, NULL, &count));
    ACU_TRY(acu_graphics_register(0, &buffers, &g));
    ACU_TRY(acu_graphics_register(0, &images, &h));
    ACU_TRY(acu_graphics_set_map_flags(g, ACU_GRAPHICS_WRITE_DISCARD));
    ACU_TRY(acu_graphics_map(g, stream));
    ACU_TRY(acu_graphics_unmap(g, NULL));
    acu_graphics *const both[] = {g, h};
    ACU_TRY(acu_graphics_map_all(both, 2, stream));
    ACU_TRY(acu_graphics_create_buffer(g, 0, ACU_U8, ACU_REST, &x));
    ACU_TRY(acu_graphics_create_array(h, 0, 0, &array));
    ACU_TRY(acu_graphics_create_mipmap(h, 2, &mipmap));
    ACU_TRY(acu_buffer_zero(x, NULL));
    return acu_stream_synchronize(stream); /* all of it is unmapped by its release */
}

static acu_result use_egl(acu_stream *stream, unsigned image) {
    ACU_AUTO(acu_graphics) *g = NULL;
    ACU_AUTO(acu_array) *array = NULL;
    const acu_graphics_source source = {.type = ACU_GRAPHICS_EGL_IMAGE,
                                        .image = (void *)(uintptr_t)image};
    ACU_TRY(acu_graphics_register(0, &source, &g));
    ACU_TRY(acu_graphics_map(g, stream));
    return acu_graphics_create_array(g, 0, 0, &array);
}

acu_result graphics(void) {
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    if (!acu_loaded(ACU_CUDART)->is_sim) {
        print_message("needs the simulator: a GPU's resources are OpenGL's, tests/graphics/\n");
        return 0;
    }
    const acu_sim_graphics_object what[] = {
        {ACU_SIM_GL_BUFFER, .bytes = 4096},
        {ACU_SIM_GL_IMAGE, .width = 16, .height = 16, .levels = 2},
        {ACU_SIM_EGL_IMAGE, .width = 16, .height = 16}};
    unsigned names[3];
    for (int i = 0; i < 3; i++)
        names[i] = acu_sim_graphics_create(&what[i]);
    acu_sim_graphics_make_current(0);
    acu_result result = use_graphics(a, names[0], names[1]);
    if (!result)
        result = use_egl(a, names[2]);
    acu_sim_graphics_make_current(-1);
    for (int i = 0; i < 3; i++)
        acu_sim_graphics_destroy(names[i]);
    return result;
}
