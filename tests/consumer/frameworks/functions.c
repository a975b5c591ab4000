/* Shows the functions that buffer.py calls, by their names: the library exports none by itself. */
#include <anycuda/anycuda.h>

#include <string.h>

#define ALL(_)                                                                                     \
    _(acu_buffer_bytes)                                                                            \
    _(acu_buffer_copy_strided)                                                                     \
    _(acu_buffer_create_with)                                                                      \
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

#define ENTRY(name) {#name, (void (*)(void))(name)},

void (*function(const char *name))(void);

void (*function(const char *name))(void) {
    static const struct {
        const char *name;
        void (*function)(void);
    } all[] = {ALL(ENTRY)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].function;
    return NULL;
}
