/* Virtual memory: multicast objects that are mapped to a range. */
#include "safe/memory/multicast.h"
#include "safe/memory/virtual.h"

/* Checks that every device with access to the range was added to the object, without which CUDA
 * refuses the access. */
static int check_access(const char *call, acu_virtual *v, acu_multicast *m) {
    for (acu_device device = 0; device < ACU_COUNTED_DEVICES; device++) {
        pthread_mutex_lock(&v->lock);
        const bool has_access = v->access[device] != ACU_ACCESS_NONE;
        pthread_mutex_unlock(&v->lock);
        if (!has_access || acu_multicast_may_have(m, device))
            continue;
        acu_fail_hint("a range is made for a device, which has access from the start; "
                      "acu_virtual_set_access() takes it away");
        return acu_fail_on(call, v, ACU_ERROR_DEVICE,
                           "device %d has access to the range, but was not added to the object",
                           device);
    }
    return 0;
}

acu_result acu_virtual_map_multicast(acu_virtual *addresses, size_t at, acu_multicast *multicast,
                                     size_t multicast_at, size_t bytes) {
    ACU_SCOPE();
    ACU_NEED(addresses, acu_virtual_class);
    ACU_NEED(multicast, acu_multicast_class);
    acu_multicast *m = multicast;
    ACU_REQUIRE_OF(m, multicast_at <= m->bytes && bytes <= m->bytes - multicast_at, ACU_ERROR_RANGE,
                   "%zu bytes from byte %zu on are outside of the object", bytes, multicast_at);
    ACU_REQUIRE_OF(m, bytes > 0 && (bytes | multicast_at | at) % m->step == 0, ACU_ERROR_RANGE,
                   "%zu bytes from byte %zu on, mapped from byte %zu of the range on: all must be "
                   "multiples of %zu, the granularity",
                   bytes, multicast_at, at, m->step);
    ACU_TRY(acu_multicast_check_devices(__func__, m));
    ACU_TRY(check_access(__func__, addresses, m));
    const acu_mapping mapping = {
        .at = at, .bytes = bytes, .multicast = m, .multicast_at = multicast_at};
    return acu_virtual_add(__func__, addresses, &mapping, m->raw);
}
