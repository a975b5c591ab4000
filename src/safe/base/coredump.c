/* Coredumps: what is set for them, and who hears of them. The runtime has none of these
 * functions. */
#include "safe/base/device.h"
#include "safe/base/listener.h"

#include <anycuda/cuda.h>

#include <stdio.h>
#include <string.h>

#include "core/translate.h"

typedef CUresult exchange(CUcoredumpSettings setting, void *value, size_t *size);

/* Exchanges a setting with the device's primary context, or with the process; returns the runtime's
 * code. */
static int exchange_with(acu_device device, exchange *local, exchange *global, int setting,
                         void *value, size_t size) {
    acu_guard guard;
    if (device == ACU_COREDUMP_PROCESS)
        return acu_translate_driver(global((CUcoredumpSettings)setting, value, &size));
    int code = acu_guard_enter(&guard, device);
    if (!code)
        ACU_IGNORING_CAPTURES(code, cudaFree(NULL)); /* makes the context */
    if (!code)
        code = acu_translate_driver(local((CUcoredumpSettings)setting, value, &size));
    acu_guard_leave(&guard);
    return code;
}

/* Returns 0 where the device exists, or the process is meant; else a recorded failure. */
static int begin_with(const char *call, acu_device *device) {
    if (*device != ACU_COREDUMP_PROCESS)
        ACU_TRY(acu_device_resolve(call, device));
    const int code = acu_translate_driver(cuInit(0));
    return code ? acu_cuda_failed(call, "", code) : 0;
}

static int get(const char *call, acu_device device, int setting, void *value, size_t size) {
    ACU_TRY(begin_with(call, &device));
    const int code = exchange_with(device, cuCoredumpGetAttribute, cuCoredumpGetAttributeGlobal,
                                   setting, value, size);
    return device == ACU_COREDUMP_PROCESS ? code ? acu_cuda_failed(call, "", code) : 0
                                          : acu_device_outcome(call, device, code);
}

static int set(const char *call, acu_device device, int setting, void *value, size_t size) {
    ACU_TRY(begin_with(call, &device));
    const int code = exchange_with(device, cuCoredumpSetAttribute, cuCoredumpSetAttributeGlobal,
                                   setting, value, size);
    return device == ACU_COREDUMP_PROCESS ? code ? acu_cuda_failed(call, "", code) : 0
                                          : acu_device_outcome(call, device, code);
}

acu_result acu_coredump_get_switch(acu_device device, acu_coredump_switch which, bool *enabled) {
    ACU_SCOPE();
    bool found = false;
    ACU_NEED_POINTER(enabled);
    *enabled = false;
    ACU_REQUIRE((int)which >= ACU_COREDUMP_ON_EXCEPTION && (int)which <= ACU_COREDUMP_ON_REQUEST,
                cudaErrorInvalidValue, "'which' is %d, which is no acu_coredump_switch",
                (int)which);
    ACU_TRY(get(__func__, device, (int)which, &found, sizeof found));
    *enabled = found;
    return 0;
}

acu_result acu_coredump_set_switch(acu_device device, acu_coredump_switch which, bool enabled) {
    ACU_SCOPE();
    ACU_REQUIRE((int)which >= ACU_COREDUMP_ON_EXCEPTION && (int)which <= ACU_COREDUMP_ON_REQUEST,
                cudaErrorInvalidValue, "'which' is %d, which is no acu_coredump_switch",
                (int)which);
    return set(__func__, device, (int)which, &enabled, sizeof enabled);
}

acu_result acu_coredump_get_path(acu_device device, acu_coredump_file which,
                                 char path[ACU_COREDUMP_PATH_SIZE]) {
    ACU_SCOPE();
    ACU_NEED_POINTER(path);
    *path = '\0';
    ACU_REQUIRE(which == ACU_COREDUMP_FILE || which == ACU_COREDUMP_PIPE, cudaErrorInvalidValue,
                "'which' is %d, which is no acu_coredump_file", (int)which);
    return get(__func__, device, (int)which, path, ACU_COREDUMP_PATH_SIZE);
}

acu_result acu_coredump_set_path(acu_device device, acu_coredump_file which, const char *path) {
    ACU_SCOPE();
    char copy[ACU_COREDUMP_PATH_SIZE];
    ACU_NEED_POINTER(path);
    ACU_REQUIRE(which == ACU_COREDUMP_FILE || which == ACU_COREDUMP_PIPE, cudaErrorInvalidValue,
                "'which' is %d, which is no acu_coredump_file", (int)which);
    const int length = snprintf(copy, sizeof copy, "%s", path);
    ACU_REQUIRE(length >= 0 && (size_t)length < sizeof copy, ACU_ERROR_RANGE,
                "'path' has %zu bytes: CUDA takes %d at most", strlen(path),
                ACU_COREDUMP_PATH_SIZE - 1);
    return set(__func__, device, (int)which, copy, (size_t)length + 1);
}

acu_result acu_coredump_get_flags(acu_device device, unsigned *flags) {
    ACU_SCOPE();
    ACU_NEED_POINTER(flags);
    *flags = 0;
    return get(__func__, device, CU_COREDUMP_GENERATION_FLAGS, flags, sizeof *flags);
}

acu_result acu_coredump_set_flags(acu_device device, unsigned flags) {
    ACU_SCOPE();
    return set(__func__, device, CU_COREDUMP_GENERATION_FLAGS, &flags, sizeof flags);
}

/* ---- listeners ---- */

static void hear(void *number, int process, CUdevice device) {
    acu_listener *l = acu_listener_begin_call(number);
    if (!l)
        return;
    l->call.coredump(process, device, l->data);
    acu_listener_end_call(l);
}

static int begin(acu_listener *made, void *number) {
    CUcoredumpCallbackHandle *raw = (CUcoredumpCallbackHandle *)(void *)&made->raw;
    return acu_translate_driver(made->subject == ACU_LISTENER_COREDUMP_START
                                    ? cuCoredumpRegisterStartCallback(hear, number, raw)
                                    : cuCoredumpRegisterCompleteCallback(hear, number, raw));
}

int acu_coredump_end_listening(const acu_listener *listener) {
    const CUcoredumpCallbackHandle raw = (CUcoredumpCallbackHandle)listener->raw;
    return acu_translate_driver(listener->subject == ACU_LISTENER_COREDUMP_START
                                    ? cuCoredumpDeregisterStartCallback(raw)
                                    : cuCoredumpDeregisterCompleteCallback(raw));
}

acu_result acu_coredump_listen(bool written, acu_coredump_function function, void *data,
                               acu_listener **listener) {
    ACU_SCOPE();
    ACU_NEED_POINTER(listener);
    *listener = NULL;
    ACU_NEED_POINTER(function);
    acu_destroy_deferred();
    acu_listener *made = acu_listener_new(
        __func__, written ? ACU_LISTENER_COREDUMP_END : ACU_LISTENER_COREDUMP_START,
        ACU_DEVICE_CURRENT);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->call.coredump = function;
    made->data = data;
    made->unregister = acu_coredump_end_listening;
    return acu_listener_register(__func__, made, begin, listener);
}
