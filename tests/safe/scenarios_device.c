/* What programs ask devices and drivers. */
#include "scenarios.h"

static void notified(const acu_notification *notification, void *data) {
    (void)notification, (void)data;
}

static void logged(acu_log_level level, const char *line, size_t length, void *data) {
    (void)level, (void)line, (void)length, (void)data;
}

static void dumped(int process, acu_device device, void *data) {
    (void)process, (void)device, (void)data;
}

static acu_result read_log(void) {
    acu_log_position at;
    char text[256];
    size_t length;
    ACU_AUTO(acu_listener) *listener = NULL;
    ACU_TRY(acu_log_listen(logged, NULL, &listener));
    ACU_TRY(acu_log_get_end(&at));
    ACU_TRY(acu_log_read(&at, text, sizeof text, &length));
    return acu_log_print(&at, "/dev/null");
}

static acu_result set_coredumps(void) {
    char path[ACU_COREDUMP_PATH_SIZE];
    bool on;
    ACU_TRY(acu_coredump_get_switch(elsewhere, ACU_COREDUMP_ON_EXCEPTION, &on));
    ACU_TRY(acu_coredump_set_switch(elsewhere, ACU_COREDUMP_ON_EXCEPTION, on));
    return acu_coredump_get_path(ACU_COREDUMP_PROCESS, ACU_COREDUMP_FILE, path);
}

acu_result listeners(void) {
    ACU_AUTO(acu_listener) *of_device = NULL;
    ACU_AUTO(acu_listener) *begins = NULL;
    ACU_AUTO(acu_listener) *ends = NULL;
    if (known_driver >= 12010)
        ACU_TRY(set_coredumps());
    if (known_driver >= 12040)
        ACU_TRY(acu_device_listen(elsewhere, notified, NULL, &of_device));
    if (known_driver >= 12090)
        ACU_TRY(read_log());
    if (known_driver >= 13020) {
        ACU_TRY(acu_coredump_listen(false, dumped, NULL, &begins));
        ACU_TRY(acu_coredump_listen(true, dumped, NULL, &ends));
    }
    return acu_device_synchronize(0);
}

acu_result links_and_caches(void) {
    acu_peer_info info;
    acu_rdma_info rdma;
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
    ACU_TRY(acu_device_get_rdma_info(elsewhere, &rdma));
    if (rdma.flush_by_host)
        ACU_TRY(acu_device_flush_rdma_writes(elsewhere, ACU_RDMA_OWNER));
    ACU_TRY(acu_device_get_cache_config(elsewhere, &config));
    ACU_TRY(acu_device_set_cache_config(elsewhere, config));
    ACU_TRY(acu_device_reset_persisting_l2(elsewhere));
    return acu_module_get_loading_mode(&mode);
}
