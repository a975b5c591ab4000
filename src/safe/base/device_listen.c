/* Listeners that hear of devices, by the driver: any runtime may be there. */
#include "safe/base/device.h"
#include "safe/base/listener.h"

#include <anycuda/cuda.h>

#include "core/translate.h"

static void notify(CUasyncNotificationInfo *info, void *number, CUasyncCallbackHandle raw) {
    (void)raw;
    acu_listener *l = acu_listener_begin_call(number);
    if (!l)
        return;
    acu_notification heard = {.type = (acu_notification_type)info->type,
                              .device = l->object.device};
    if (info->type == CU_ASYNC_NOTIFICATION_TYPE_OVER_BUDGET)
        heard.bytes = info->info.overBudget.bytesOverBudget;
    l->call.device(&heard, l->data);
    acu_listener_end_call(l);
}

static int begin(acu_listener *made, void *number) {
    CUdevice device = 0;
    int code = acu_translate_driver(cuDeviceGet(&device, made->object.device));
    return code ? code
                : acu_translate_driver(cuDeviceRegisterAsyncNotification(
                      device, notify, number, (CUasyncCallbackHandle *)(void *)&made->raw));
}

int acu_device_end_listening(const acu_listener *listener) {
    CUdevice device = 0;
    int code = acu_translate_driver(cuDeviceGet(&device, listener->object.device));
    return code ? code
                : acu_translate_driver(cuDeviceUnregisterAsyncNotification(
                      device, (CUasyncCallbackHandle)listener->raw));
}

acu_result acu_device_listen(acu_device device, acu_notification_function function, void *data,
                             acu_listener **listener) {
    ACU_SCOPE();
    ACU_NEED_POINTER(listener);
    *listener = NULL;
    ACU_NEED_POINTER(function);
    acu_destroy_deferred();
    ACU_TRY(acu_device_resolve(__func__, &device));
    acu_listener *made = acu_listener_new(__func__, ACU_LISTENER_DEVICE, device);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->call.device = function;
    made->data = data;
    made->unregister = acu_device_end_listening;
    return acu_listener_register(__func__, made, begin, listener);
}
