/* Shows the functions that buffer.py calls, by their names: the library exports none by itself. */
#include <anycuda/anycuda.h>

#include <string.h>

#define ALL(_)                                                                                     \
    _(acu_buffer_bytes)                                                                            \
    _(acu_buffer_copy_strided)                                                                     \
    _(acu_buffer_export_dlpack)                                                                    \
    _(acu_buffer_export_dlpack_unversioned)                                                        \
    _(acu_buffer_fill_typed)                                                                       \
    _(acu_buffer_get_dlpack_device)                                                                \
    _(acu_buffer_import_dlpack)                                                                    \
    _(acu_buffer_import_dlpack_unversioned)                                                        \
    _(acu_buffer_join_dlpack)                                                                      \
    _(acu_buffer_raw)                                                                              \
    _(acu_buffer_read_typed)                                                                       \
    _(acu_buffer_release)                                                                          \
    _(acu_buffer_wrap)                                                                             \
    _(acu_buffer_write_typed)                                                                      \
    _(acu_dtype_size)                                                                              \
    _(acu_last_error_message)                                                                      \
    _(acu_stream_call_function)                                                                    \
    _(acu_stream_create)                                                                           \
    _(acu_stream_dlpack)                                                                           \
    _(acu_stream_raw)                                                                              \
    _(acu_stream_release)                                                                          \
    _(acu_stream_wait_dlpack)

/* The options of a buffer have more fields in each version. */
static acu_result create_in(acu_stream *stream, acu_dtype dtype, size_t count, acu_memory memory,
                            acu_buffer **buffer) {
    const acu_buffer_options options = {.memory = memory};
    return acu_buffer_create_with(stream, dtype, count, &options, buffer);
}

/* buffer.py has structs of its own, which must be as large. */
size_t size_of(const char *name);

size_t size_of(const char *name) {
    return strcmp(name, "acu_tensor_layout") == 0    ? sizeof(acu_tensor_layout)
           : strcmp(name, "acu_dlpack_options") == 0 ? sizeof(acu_dlpack_options)
           : strcmp(name, "acu_dlpack_info") == 0    ? sizeof(acu_dlpack_info)
           : strcmp(name, "acu_strides") == 0        ? sizeof(acu_strides)
                                                     : 0;
}

#define ENTRY(name) {#name, (void (*)(void))(name)},

void (*function(const char *name))(void);

void (*function(const char *name))(void) {
    static const struct {
        const char *name;
        void (*function)(void);
    } all[] = {ALL(ENTRY){"acu_buffer_create_in", (void (*)(void))create_in}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].function;
    return NULL;
}
