/* The driver's log, by the driver: the runtime has these functions since 13.0, the driver since
 * 12.9. */
#include "safe/base/listener.h"

#include <anycuda/cuda.h>

#include "core/translate.h"

static void hear(void *number, CUlogLevel level, char *line, size_t length) {
    acu_listener *l = acu_listener_begin_call(number);
    if (!l)
        return;
    l->call.log((acu_log_level)level, line, length, l->data);
    acu_listener_end_call(l);
}

static int begin(acu_listener *made, void *number) {
    return acu_translate_driver(
        cuLogsRegisterCallback(hear, number, (CUlogsCallbackHandle *)(void *)&made->raw));
}

int acu_log_end_listening(const acu_listener *listener) {
    return acu_translate_driver(cuLogsUnregisterCallback((CUlogsCallbackHandle)listener->raw));
}

acu_result acu_log_listen(acu_log_function function, void *data, acu_listener **listener) {
    ACU_SCOPE();
    ACU_NEED_POINTER(listener);
    *listener = NULL;
    ACU_NEED_POINTER(function);
    acu_destroy_deferred();
    acu_listener *made = acu_listener_new(__func__, ACU_LISTENER_LOG, ACU_DEVICE_CURRENT);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->call.log = function;
    made->data = data;
    made->unregister = acu_log_end_listening;
    return acu_listener_register(__func__, made, begin, listener);
}

/* ---- reading ---- */

#define OUTCOME(code) ((code) ? acu_cuda_failed(__func__, "", (code)) : 0)

acu_result acu_log_get_end(acu_log_position *end) {
    ACU_SCOPE();
    CUlogIterator at = 0;
    ACU_NEED_POINTER(end);
    int code = acu_translate_driver(cuInit(0));
    if (!code)
        code = acu_translate_driver(cuLogsCurrent(&at, 0));
    *end = at;
    return OUTCOME(code);
}

acu_result acu_log_read(acu_log_position *from, char *text, size_t size, size_t *length) {
    ACU_SCOPE();
    CUlogIterator at = from ? *from : 0;
    ACU_NEED_POINTER(length);
    *length = 0;
    ACU_NEED_POINTER(text);
    ACU_REQUIRE(size > 0, ACU_ERROR_RANGE, "'size' is 0: the text has at least a zero at its end");
    *text = '\0';
    int code = acu_translate_driver(cuInit(0));
    if (!code)
        code = acu_translate_driver(cuLogsDumpToMemory(from ? &at : NULL, text, &size, 0));
    if (code)
        return OUTCOME(code);
    *length = size;
    if (from)
        *from = at;
    return 0;
}

acu_result acu_log_print(acu_log_position *from, const char *path) {
    ACU_SCOPE();
    CUlogIterator at = from ? *from : 0;
    ACU_NEED_POINTER(path);
    int code = acu_translate_driver(cuInit(0));
    if (!code)
        code = acu_translate_driver(cuLogsDumpToFile(from ? &at : NULL, path, 0));
    if (code)
        return acu_cuda_failed(__func__, path, code);
    if (from)
        *from = at;
    return 0;
}
