/* The configuration, the process, and which versions know what. */
#include "loader/platform.h"
#include "sim/caller.h"
#include "sim/noun.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    acu_sim_config config;
    bool configured;
    bool initialized;
    /* Atomic: since the process began, CUDA was called by a function that initialises it; and by
     * one of the runtime. */
    bool in_use, runtime_in_use;
    bool forked; /* by a process that used CUDA: CUDA does not work in the child */
    bool unloading;
    uint64_t era; /* changes when streams of threads become invalid */
    pthread_key_t thread_ends;
} sim = {.era = 1};

/* ---- configuration ---- */

static bool read_size(const char *text, uint64_t *size) {
    static const struct {
        const char *name;
        unsigned shift;
    } units[] = {{"", 0},   {"B", 0},    {"K", 10},   {"M", 20},   {"G", 30},
                 {"T", 40}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    if (end == text || *text == '-' || number == 0)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0 &&
            number << units[i].shift >> units[i].shift == number &&
            number << units[i].shift <= (uint64_t)1 << 44) {
            *size = (uint64_t)number << units[i].shift;
            return true;
        }
    return false;
}

/* Reads "12.4" into major and minor; returns false if it is something else. */
static bool read_version(const char *text, int *major, int *minor) {
    char *end, *rest;
    unsigned long first = strtoul(text, &end, 10);
    if (end == text || *end != '.' || *text == '-')
        return false;
    unsigned long second = strtoul(end + 1, &rest, 10);
    if (rest == end + 1 || *rest || first > 99 || second > 99)
        return false;
    *major = (int)first;
    *minor = (int)second;
    return true;
}

static const char *read_switch(const char *value, bool *on) {
    if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
        return "0 or 1";
    *on = *value == '1';
    return NULL;
}

/* Reads when kernels become machine code. */
static const char *read_jit(const char *value, unsigned *jit) {
    static const char *const names[] = {"0", "1", "always", "avx2"}; /* as ptx_jit_use has them */
    for (unsigned n = 0; n < sizeof names / sizeof *names; n++)
        if (strcmp(value, names[n]) == 0) {
            *jit = n;
            return NULL;
        }
    return "0, 1, always or avx2";
}

/* Reads which level of the processor kernels are executed with. */
static const char *read_level(const char *value, unsigned *level) {
    static const char *const names[] = {"baseline", "avx2", "avx512"}; /* as ptx_level has them */
    for (unsigned n = 0; n < sizeof names / sizeof *names; n++)
        if (strcmp(value, names[n]) == 0) {
            *level = n + 1;
            return NULL;
        }
    return "baseline, avx2 or avx512";
}

/* Adds a check of kernels, or all of them. */
static const char *read_check(const char *value, unsigned *checks) {
    static const char *const names[] = {"memory", "race", "init", "sync"};
    for (unsigned n = 0; n < sizeof names / sizeof *names; n++)
        if (strcmp(value, names[n]) == 0) {
            *checks |= 1u << n;
            return NULL;
        }
    if (strcmp(value, "all") != 0)
        return "memory, race, init and sync, or some of them, or all";
    *checks = (1u << sizeof names / sizeof *names) - 1;
    return NULL;
}

/* Takes where a profile goes: "1" is a table, a name is a file. */
static const char *read_profile(acu_sim_config *config, const char *value) {
    const size_t length = strlen(value), ending = strlen(".json");
    const bool is_file = length > ending && strcmp(value + length - ending, ".json") == 0;
    if (is_file)
        memcpy(config->profile_file, value, length + 1);
    else if (read_switch(value, &config->profile_table))
        return "0, 1, or the name of a file that ends with .json";
    config->profile = config->profile_table || *config->profile_file;
    return NULL;
}

/* Reads a number that is not 0, up to what ends it, or the end of the text. */
static bool read_count(const char **text, char ends, unsigned *count) {
    char *end;
    unsigned long number = strtoul(*text, &end, 10);
    if (end == *text || **text == '-' || **text == '+' || !number || number > UINT_MAX ||
        (*end && *end != ends))
        return false;
    *count = (unsigned)number;
    *text = *end ? end + 1 : end;
    return true;
}

/* Returns the first colon that is not one of the two in "ns::sum"; NULL: there is none. */
static const char *find_single_colon(const char *text) {
    const char *colon = strchr(text, ':');
    while (colon && colon[1] == ':')
        colon = strchr(colon + 2, ':');
    return colon;
}

/* Reads KERNEL:LINE or KERNEL:FILE:LINE, maybe with xTIMES behind it. */
static const char *read_trap(acu_sim_trap *trap, const char *value) {
    const char *colon = find_single_colon(value), *last = strrchr(value, ':');
    acu_sim_trap read = {.times = 1};
    const char *number = last ? last + 1 : "";
    if (!colon || colon == value || last == colon + 1 || !read_count(&number, 'x', &read.line) ||
        (number[-1] == 'x' && !read_count(&number, '\0', &read.times)))
        return "KERNEL:LINE of the PTX or KERNEL:FILE:LINE, with xTIMES or without, like sum:12 or "
               "sum:sum.cu:8x4";
    memcpy(read.kernel, value, (size_t)(colon - value));
    if (colon < last)
        memcpy(read.file, colon + 1, (size_t)(last - colon - 1));
    *trap = read;
    return NULL;
}

/* Returns which versions the runtime can be; the text is valid until the next call. */
static const char *known_versions(const acu_library_info *info) {
    static char text[64];
    snprintf(text, sizeof text, "a CUDA version from %d.%d to %d.%d, like 12.4",
             info->oldest / 1000, info->oldest % 1000 / 10, info->newest / 1000,
             info->newest % 1000 / 10);
    return text;
}

/* Reads an option into the configuration; returns NULL, or what was expected instead. */
static const char *read_option(acu_sim_config *config, const char *key, const char *value) {
    static const acu_library_info *const info = &acu_cudart_info;
    int major, minor;
    if (strcmp(key, "devices") == 0) {
        char *end;
        long count = strtol(value, &end, 10);
        if (end == value || *end || count < 0 || count > SIM_DEVICES)
            return "a number from 0 to 64";
        config->devices = (int)count;
    } else if (strcmp(key, "memory") == 0) {
        if (!read_size(value, &config->memory))
            return "a size up to 16TiB, like 8GiB";
    } else if (strcmp(key, "budget") == 0) {
        if (!read_size(value, &config->budget))
            return "a size up to 16TiB, like 1GiB";
    } else if (strcmp(key, "cc") == 0) {
        if (!read_version(value, &major, &minor) || major < 5 || major > 12 || minor > 9)
            return "a compute capability from 5.0 to 12.9, like 9.0";
        config->cc = major * 10 + minor;
    } else if (strcmp(key, "runtime") == 0) {
        int version = read_version(value, &major, &minor) ? major * 1000 + minor * 10 : 0;
        if (version < info->oldest || version > info->newest)
            return known_versions(info);
        config->runtime = version;
    } else if (strcmp(key, "driver") == 0) {
        if (strcmp(value, "none") == 0)
            config->driver = 0;
        else if (read_version(value, &major, &minor))
            config->driver = major * 1000 + minor * 10;
        else
            return "a CUDA version, like 12.4, or none";
    } else if (strcmp(key, "leaks") == 0) {
        return read_switch(value, &config->leaks);
    } else if (strcmp(key, "guard") == 0) {
        return read_switch(value, &config->guard);
    } else if (strcmp(key, "check") == 0) {
        return read_check(value, &config->checks);
    } else if (strcmp(key, "trap") == 0) {
        return read_trap(&config->trap, value);
    } else if (strcmp(key, "profile") == 0) {
        return read_profile(config, value);
    } else if (strcmp(key, "jit") == 0) {
        return read_jit(value, &config->jit);
    } else if (strcmp(key, "level") == 0) {
        return read_level(value, &config->level);
    } else if (strcmp(key, "threads") == 0) {
        char *end;
        const long count = strtol(value, &end, 10);
        if (end == value || *end || count < 1 || count > 1024)
            return "a number from 1 to 1024";
        config->threads = (unsigned)count;
    } else if (strcmp(key, "timeout") == 0) {
        char *end;
        config->timeout = strtod(value, &end);
        if (end == value || *end || !(config->timeout >= 0 && config->timeout <= 1e6)) {
            config->timeout = 0;
            return "a number of seconds up to 1e6, like 2.5";
        }
    } else if (strcmp(key, "seed") == 0) {
        char *end;
        errno = 0;
        const uint64_t seed = strtoull(value, &end, 10);
        if (end == value || *end || *value == '-' || errno)
            return "a number below 2^64";
        config->seed = seed;
        config->seeded = true;
    } else {
        return "one of devices, memory, budget, cc, runtime, driver, leaks, guard, seed, check, "
               "profile, trap, jit, level, threads, timeout";
    }
    return NULL;
}

static void read_configuration(acu_sim_config *config, const char *text) {
    bool in_checks = false;
    while (text && *text) {
        char key[32] = "", value[SIM_OPTION] = "";
        size_t length = strcspn(text, ",");
        if (sscanf(text, "%31[^=,]=%511[^,]", key, value) < 1 && length == 0) {
            text++;
            continue;
        }
        /* What follows "check=memory" without a key of its own are more checks. */
        in_checks = strcmp(key, "check") == 0 || (in_checks && !memchr(text, '=', length));
        if (in_checks && !*value) {
            memcpy(value, key, sizeof key);
            memcpy(key, "check", sizeof "check");
        }
        const bool whole = strlen(value) < sizeof value - 1; /* what is cut off would be lost */
        const char *expected = whole ? read_option(config, key, value) : "something shorter";
        if (expected)
            fprintf(stderr, "anycuda: ANYCUDA_SIM: \"%.*s\" is ignored: expected %s%s\n",
                    (int)length, text, expected, *value ? "" : ", as key=value");
        text += length + (text[length] == ',');
    }
}

static void at_exit(void) {
    pthread_mutex_lock(&acu_sim_lock);
    bool report = sim.config.leaks && !sim.forked; /* what a child inherits is its parent's */
    sim.unloading = true;
    pthread_mutex_unlock(&acu_sim_lock);
    if (report)
        (void)acu_sim_leaks(1);
}

static void before_fork(void) {
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_caller_lock();
}

static void after_fork(void) {
    acu_sim_caller_unlock();
    pthread_mutex_unlock(&acu_sim_lock);
}

/* Threads do not come along, so what is queued will never be done. Nobody's calls are looked for:
 * that takes a lock of the system's, which another thread may have had. */
static void in_child(void) {
    sim.forked = __atomic_load_n(&sim.in_use, __ATOMIC_RELAXED);
    if (sim.forked)
        acu_sim_caller_reset(false);
    after_fork();
}

static void thread_ends(void *thread) {
    pthread_mutex_lock(&acu_sim_lock);
    const acu_sim_thread *ended = thread;
    if (ended->era == sim.era && !sim.forked)
        acu_sim_nouns_thread_ended(ended);
    pthread_mutex_unlock(&acu_sim_lock);
}

/* This is a constructor because a fork runs only what was registered before it began, and the first
 * call of another thread may come while it is under way. */
static __attribute__((constructor)) void prepare_forks(void) {
    (void)pthread_atfork(before_fork, after_fork, in_child);
}

static void prepare_process(void) {
    static bool prepared;
    if (prepared)
        return;
    prepared = true;
    (void)pthread_key_create(&sim.thread_ends, thread_ends);
    (void)atexit(at_exit);
}

/*
 * Leaves as many devices as CUDA_VISIBLE_DEVICES lists. As on a GPU, what follows a number up to
 * the next comma does not matter, the first entry that names no device ends the list, and a device
 * that is listed twice is an error of every call.
 */
static void leave_visible(acu_sim_config *config) {
    const char *list = acu_platform_env("CUDA_VISIBLE_DEVICES");
    uint64_t seen = 0;
    int count = 0;
    if (!list)
        return;
    for (char *end; *list; list = end + (*end == ',')) {
        const long device = strtol(list, &end, 10);
        if (end == list || device < 0 || device >= config->devices)
            break;
        config->listed_twice = config->listed_twice || (seen >> device & 1);
        seen |= (uint64_t)1 << device;
        count++;
        end += strcspn(end, ",");
    }
    config->devices = config->listed_twice ? 0 : count;
}

static bool launches_block(void) {
    const char *blocking = acu_platform_env("CUDA_LAUNCH_BLOCKING");
    return blocking && strtol(blocking, NULL, 10) != 0;
}

static void configure(const char *text) {
    sim.config = (acu_sim_config){.devices = 1,
                                  .memory = (uint64_t)8 << 30,
                                  .cc = 90,
                                  .jit = 1,
                                  .runtime = CUDART_VERSION,
                                  .driver = CUDART_VERSION};
    read_configuration(&sim.config, text ? text : acu_platform_env("ANYCUDA_SIM"));
    leave_visible(&sim.config);
    sim.config.blocking = launches_block();
    acu_sim_nouns_configure(&sim.config);
    acu_sim_caller_reset(sim.config.leaks || sim.config.guard || sim.config.checks & 1);
    sim.configured = true;
}

void acu_sim_begin_again(const char *configuration) {
    sim.era++;
    sim.initialized = false;
    configure(configuration);
}

const acu_sim_config *acu_sim_configuration(void) {
    prepare_process();
    if (!sim.configured)
        configure(NULL);
    return &sim.config;
}

/* ---- the process ---- */

bool acu_sim_is_unloading(void) {
    return sim.unloading;
}

bool acu_sim_is_forked(void) {
    return sim.forked;
}

bool acu_sim_is_initialized(void) {
    return sim.initialized;
}

void acu_sim_init(void) {
    sim.initialized = true;
    __atomic_store_n(&sim.in_use, true, __ATOMIC_RELAXED);
}

void acu_sim_use_runtime(void) {
    if (sim.forked)
        return;
    __atomic_store_n(&sim.in_use, true, __ATOMIC_RELAXED);
    __atomic_store_n(&sim.runtime_in_use, true, __ATOMIC_RELAXED);
}

bool acu_sim_parent_knows_devices(void) {
    return sim.forked && __atomic_load_n(&sim.runtime_in_use, __ATOMIC_RELAXED);
}

uint64_t acu_sim_era(void) {
    return sim.era;
}

void acu_sim_watch_thread(const acu_sim_thread *self) {
    (void)pthread_setspecific(sim.thread_ends, self);
}

cudaError_t acu_sim_driver_has(const acu_function *function) {
    return function->since > acu_sim_configuration()->driver ? cudaErrorCallRequiresNewerDriver
                                                             : cudaSuccess;
}

bool acu_sim_driver_knows(const acu_type *type, int64_t value) {
    for (uint32_t i = 0; i < type->count; i++)
        if (type->values[i].value == value &&
            type->values[i].since <= acu_sim_configuration()->driver)
            return true;
    return false;
}

bool acu_sim_knows(const acu_type *type, int64_t value) {
    int version = acu_sim_self()->call.by_driver ? sim.config.driver : sim.config.runtime;
    for (uint32_t i = 0; i < type->count; i++)
        if (type->values[i].value == value && type->values[i].since <= version)
            return true;
    return false;
}
