/* What programs ask devices and drivers. */
#include "scenarios.h"

acu_result links_and_caches(void) {
    acu_peer_info info;
    acu_cache_config config;
    acu_loading_mode mode;
    unsigned can;
    if (elsewhere)
        ACU_TRY(acu_device_get_peer_info(0, elsewhere, &info));
    if (is_known_since(13000)) {
        ACU_TRY(acu_device_get_host_atomics(0, ACU_ATOMIC_CAS, &can));
        if (elsewhere)
            ACU_TRY(acu_device_get_peer_atomics(elsewhere, 0, ACU_ATOMIC_CAS, &can));
    }
    ACU_TRY(acu_device_get_cache_config(elsewhere, &config));
    ACU_TRY(acu_device_set_cache_config(elsewhere, config));
    ACU_TRY(acu_device_reset_persisting_l2(elsewhere));
    return acu_module_get_loading_mode(&mode);
}
