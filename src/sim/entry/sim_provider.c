/* The provider, by which the loader finds the simulator, and what tests ask of all of it. */
#define _GNU_SOURCE /* dladdr1 */

#include "core/caches.h"
#include "core/simulator.h"
#include "sim/code/nvjitlink.h"
#include "sim/code/nvrtc.h"
#include "sim/device/device.h"
#include "sim/driver/driver.h"
#include "sim/entry/entries.h"
#include "sim/noun.h"
#include "sim/stream/stream.h"

#include <dlfcn.h>
#include <link.h>

/* ---- the provider ---- */

static acu_fn resolve(const char *symbol) {
    acu_fn fn = acu_sim_driver_symbol(symbol);
    if (!fn)
        fn = acu_sim_nvrtc_symbol(symbol);
    if (!fn)
        fn = acu_sim_nvjitlink_symbol(symbol);
    return fn ? fn
              : acu_sim_entries_find(acu_sim_cudart_entries, acu_sim_cudart_entry_count, symbol);
}

static int version_of(acu_library_id library) {
    pthread_mutex_lock(&acu_sim_lock);
    const acu_sim_config *config = acu_sim_configuration();
    int version = library == ACU_CUDA ? config->driver : config->runtime;
    pthread_mutex_unlock(&acu_sim_lock);
    return version;
}

int acu_sim_abi(void) {
    return CUDART_VERSION;
}

static const acu_sim provider = {
    .resolve = resolve,
    .version = version_of,
    .abi = CUDART_VERSION,
    .instead = "; install an NVIDIA driver, or set ANYCUDA_CUDART=sim: this program has the "
               "simulator",
    .without_driver = "; the simulator is configured without a driver: leave out driver=none",
};
/* The loader's own is weak, and NULL. */
const acu_sim *acu_sim_provider = &provider;

#ifdef __GLIBC__ /* musl keeps what is closed */
/*
 * A plugin with the simulator in it stays in the process when it is closed, because the
 * simulator's threads go on, and functions of it are called when a thread of the program ends. This
 * is a constructor because the calling thread has the system loader's lock here, for which a thread
 * with the simulator's lock must not wait.
 */
static __attribute__((constructor)) void stay(void) {
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1(&provider, &info, (void **)&map, RTLD_DL_LINKMAP) && map && *map->l_name)
        (void)dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
#endif

/* ---- for tests ---- */

int acu_sim_leaks(int print) {
    acu_caches_give_back();
    pthread_mutex_lock(&acu_sim_lock);
    int count = acu_sim_nouns_leaks(print);
    pthread_mutex_unlock(&acu_sim_lock);
    return count;
}

void acu_sim_reset(const char *configuration) {
    pthread_mutex_lock(&acu_sim_lock);
    const int devices = acu_sim_configuration()->devices;
    /* All work ends first, because streams of one device may free what is on another. */
    acu_sim_stream_wait_device(NULL);
    for (int i = 0; i < devices; i++)
        acu_sim_device_clear(acu_sim_device_at(i), true);
    acu_sim_nouns_reset();
    acu_sim_begin_again(configuration);
    pthread_mutex_unlock(&acu_sim_lock);
}
