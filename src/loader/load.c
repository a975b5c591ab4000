/*
 * Loads a library, once per process: the one that the caller or the environment chose, or the one
 * that a search finds.
 *
 * No library is ever closed, because slots and the program hold pointers into it, and because CUDA
 * does not support being closed.
 */
#include "loader/load.h"

#include "core/record.h"
#include "core/simulator.h"
#include "loader/candidate.h"
#include "loader/driver.h"
#include "loader/search.h"
#include "loader/slot.h"
#include "loader/soname.h"
#include "loader/validate.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Set while this thread loads. A call from inside a load (from a library's constructor) must not
 * wait for that load. */
static _Thread_local bool loading;
/* By any thread; under ACU_LOCK_LOAD, and beside its lock. */
ACU_WARM static acu_library *being_loaded;

/* ---- fork ---- */

/* Runs in a child process. The thread that loaded does not exist there and will not unlock: that
 * library counts as not loaded, and its trace, which may have been half written, is left behind. A
 * child of the loading thread itself goes on with the load. */
static void end_load_in_child(void) {
    if (loading || acu_library_is_resolving())
        return;
    acu_platform_forget_locks();
    acu_library *library = being_loaded;
    being_loaded = NULL;
    if (!library)
        return;
    library->resolve = NULL;
    library->data = NULL;
    library->trace = NULL;
    library->trace_used = library->trace_room = 0;
    library->code = library->info->error_missing;
    snprintf(library->why, sizeof library->why,
             "this process was forked while another thread of its parent loaded %s",
             library->info->name);
    __atomic_store_n(&library->state, ACU_FAILED, __ATOMIC_RELEASE);
}

/* This is a constructor because a fork runs only what was registered before it began, and the first
 * call of another thread may come while it is under way. */
static __attribute__((constructor)) void prepare_forks(void) {
    (void)pthread_atfork(NULL, NULL, end_load_in_child);
}

/* ---- one load ---- */

static bool load_sim(acu_search *s) {
    acu_library *library = s->library;
    if (library->not_simulated)
        return acu_search_refuse(s, "sim", library->info->error_missing, "%s",
                                 library->not_simulated);
    int version = acu_sim_provider ? acu_sim_provider->version(library->id) : 0;
    if (!version)
        return acu_search_refuse(s, "sim", library->info->error_missing, "%s",
                                 acu_sim_provider
                                     ? acu_sim_provider->without_driver + ACU_ENDING
                                     : "this build has no simulator: link anycuda::sim, or "
                                       "libanycuda_sim.a with -Wl,-u,acu_sim_abi");
    library->loaded.is_sim = 1;
    library->handle = NULL; /* may be of a file that was opened and refused */
    acu_search_succeed(s, "simulator", version);
    return true;
}

static bool load_resolver(acu_search *s) {
    acu_library *library = s->library;
    s->place = "custom resolver";
    library->handle = NULL;
    library->resolve = s->options->resolve;
    library->data = s->options->data;
    int version = s->options->version ? s->options->version : acu_validate_ask_version(library, 0);
    if (acu_validate_version(s, "resolver", version)) {
        acu_search_succeed(s, "resolver", version);
        return true;
    }
    library->resolve = NULL;
    library->data = NULL;
    return false;
}

/* Loads what the user chose, or fails; nothing else is tried. */
static bool load_only(acu_search *s, const char *place, const char *path) {
    s->place = place;
    if (strcmp(path, "sim") == 0 && load_sim(s))
        return true;
    if (strcmp(path, "sim") != 0) {
        acu_search_for(s, path);
        if (acu_candidate_take_best(s))
            return true;
        if (s->seen == 0)
            acu_search_refuse(s, path, s->library->info->error_missing,
                              "the system loader did not find it");
    }
    char why[ACU_WHY_SIZE];
    memcpy(why, s->library->why, sizeof why);
    snprintf(s->library->why, sizeof why, "%s=%.450s", place, why);
    return false;
}

static bool load_any(acu_search *s) {
    const acu_library_info *info = s->library->info;
    bool sim = acu_search_allows(s, ACU_LOAD_ALLOW_SIM) && acu_sim_provider != NULL &&
               !s->library->not_simulated;
    s->place = "ACU_LOAD_ALLOW_SIM";
    /* The simulator is taken before a search, because a runtime without a driver can only fail. */
    if (sim && s->library->needs_driver && acu_search_driver(s) == ACU_DRIVER_NONE && load_sim(s))
        return true;
    /* An older driver may not load what a newer compiler emits, nor an older linker read it. */
    const acu_library *followed = acu_library_followed(s->library);
    if (followed)
        s->want_major = ACU_MAJOR(acu_library_version(followed));
    if (acu_search_places(s))
        return true;
    if (s->want_major) {
        s->want_major = 0;
        if (acu_search_places(s))
            return true;
    }
    s->place = "ACU_LOAD_ALLOW_SIM";
    if (sim && load_sim(s))
        return true;
    acu_library *l = s->library;
    if (!l->code) {
        char names[128], where[256];
        acu_soname_list(info, names, sizeof names);
        acu_search_list_places(l, where, sizeof where);
        l->code = info->error_missing;
        snprintf(l->why, sizeof l->why,
                 "found no %s in the process, or by %s; %s=/path/to/it chooses a file", names,
                 where, info->env);
    }
    return false;
}

/* Returns whether the simulator is, or will be, the runtime; it is then the driver, too. */
static bool is_simulated(void) {
    const char *env = acu_platform_env(acu_cudart.info->env);
    return acu_library_state(&acu_cudart) == ACU_LOADED ? acu_cudart.loaded.is_sim
                                                        : env && strcmp(env, "sim") == 0;
}

static bool load_simulated(acu_search *s) {
    s->place = "the runtime's simulator";
    return load_sim(s);
}

/* A library that follows another one makes code, a compiler or a linker: the simulator's is taken
 * where no real one is found. */
static bool load_real_or_simulated(acu_search *s) {
    return load_any(s) || (s->library->follows && is_simulated() && load_simulated(s));
}

/* Loads a library, or records why it cannot be loaded. The caller holds ACU_LOCK_LOAD. */
static bool load(acu_library *library, const acu_load_options *options) {
    acu_search s = {.library = library, .options = options, .place = "acu_load"};
    const char *env = acu_platform_env(library->info->env);
    bool loaded = false;
    being_loaded = library;
    loading = true;
    free(library->trace);
    library->trace = NULL;
    library->trace_used = library->trace_room = 0;
    library->code = 0;
    library->why[0] = '\0';
    library->searched = false;
    if (options->resolve)
        loaded = load_resolver(&s);
    else if (options->path)
        loaded = load_only(&s, "path", options->path);
    else if (env && *env)
        loaded = load_only(&s, library->info->env, env);
    else if (library->id == ACU_CUDA && is_simulated())
        loaded = load_simulated(&s);
    else
        loaded = load_real_or_simulated(&s);
    loading = false;
    being_loaded = NULL;
    free(s.candidates);
    if (loaded)
        library->code = 0;
    else if (!library->code)
        library->code = library->info->error_missing;
    __atomic_store_n(&library->state, loaded ? ACU_LOADED : ACU_FAILED, __ATOMIC_RELEASE);
    return loaded;
}

bool acu_load_once(acu_library *library) {
    static const acu_load_options defaults;
    acu_load_state state = acu_library_state(library);
    if (state == ACU_UNTRIED && !loading && !acu_library_is_resolving()) {
        acu_platform_lock(ACU_LOCK_LOAD);
        if (acu_library_state(library) == ACU_UNTRIED)
            load(library, &defaults);
        acu_platform_unlock(ACU_LOCK_LOAD);
        state = acu_library_state(library);
    }
    return state == ACU_LOADED;
}

acu_fn acu_load_symbol(acu_library *library, const char *symbol) {
    return acu_load_once(library) ? acu_library_find(library, symbol) : NULL;
}

/* Returns whether the library is missing because the machine has no GPU, as far as that was asked.
 */
static bool lacks_driver(const acu_library *library) {
    const char *chosen = acu_platform_env(library->info->env);
    if (library->id == ACU_CUDA)
        return !chosen || !*chosen;
    return library->id == ACU_CUDART && acu_driver_was_asked() &&
           acu_driver_version(library) == ACU_DRIVER_NONE;
}

/* Writes why the last load failed, and returns the code. The caller holds ACU_LOCK_LOAD. */
static int copy_why(const acu_library *library, char *why, size_t size) {
    snprintf(why, size, "no usable %s: %s; acu_load_trace() has the whole search%s",
             library->info->name, library->why, acu_load_driver_ending(lacks_driver(library)));
    return library->code;
}

int acu_load_why(acu_library *library, char *why, size_t size) {
    if (loading || acu_library_is_resolving()) {
        snprintf(why, size, "called while a CUDA library is being loaded");
        return library->info->error_missing;
    }
    acu_platform_lock(ACU_LOCK_LOAD);
    int code = copy_why(library, why, size);
    acu_platform_unlock(ACU_LOCK_LOAD);
    return code;
}

int acu_load_code(const acu_library *library, int code) {
    const bool is_cudas = library->id == ACU_CUDART || library->id == ACU_CUDA;
    return is_cudas ? code : acu_cudart.info->error_missing;
}

const char *acu_load_driver_ending(bool missing) {
    const acu_sim *sim = acu_sim_provider;
    if (!missing)
        return "";
    if (!sim)
        return "; install an NVIDIA driver, or link anycuda::sim, the simulator, and set "
               "ANYCUDA_CUDART=sim";
    return is_simulated() && !sim->version(ACU_CUDA) ? sim->without_driver : sim->instead;
}

const char *acu_load_driver_hint(void) {
    return acu_load_driver_ending(true) + ACU_ENDING;
}

const char *acu_load_hint(const acu_library *library) {
    const char *env = acu_platform_env(library->info->env);
    if (library->id == ACU_NVRTC)
        return "acu-info prints the search; ANYCUDA_NVRTC=path chooses a library";
    if (library->hint)
        return library->hint;
    if (library->id != ACU_CUDA)
        return NULL;
    return env && *env ? "ANYCUDA_CUDA names the only libcuda that is tried: correct or unset it"
                       : acu_load_driver_hint();
}

/* ---- the public functions ---- */

/* Records that acu_load() failed with an error in the library's numbers; returns it. */
static int refuse(const acu_library *library, int code, acu_failure_facts facts, const char *format,
                  ...) __attribute__((format(printf, 4, 5), cold));

static int refuse(const acu_library *library, int code, acu_failure_facts facts, const char *format,
                  ...) {
    va_list args;
    va_start(args, format);
    acu_record_call("acu_load", code, format, args);
    va_end(args);
    acu_record_facts(acu_load_code(library, code), &facts);
    acu_record_complete();
    return code;
}

/* Finds the file that a load with this path would take, without opening any library. */
static bool find_choice(const acu_library *library, const acu_load_options *options,
                        acu_file_id *id) {
    if (strchr(options->path, '/'))
        return acu_platform_file_id(options->path, id);
    acu_library probe = {.info = library->info, /* a copy, which has a trace of its own */
                         .id = library->id,
                         .packages = library->packages,
                         .plain_names = library->plain_names,
                         .by_symbol = library->by_symbol};
    acu_search s = {.library = &probe, .options = options, .place = "path"};
    acu_search_for(&s, options->path);
    acu_candidate_sort(&s);
    bool found = s.count > 0;
    if (found)
        *id = s.candidates[0].id;
    acu_candidate_drop_all(&s);
    free(s.candidates);
    free(probe.trace);
    return found;
}

static bool is_same_choice(const acu_library *library, const acu_load_options *options) {
    acu_file_id a;
    if (options->resolve)
        return library->resolve == options->resolve && library->data == options->data;
    if (!options->path)
        return true;
    if (acu_library_is_replaced(library) && !library->handle)
        return library->loaded.is_sim && strcmp(options->path, "sim") == 0;
    return find_choice(library, options, &a) && a.device == library->file.device &&
           a.inode == library->file.inode;
}

int acu_load(const acu_load_options *options) {
    static const acu_load_options defaults;
    if (!options)
        options = &defaults;
    acu_library *library = acu_library_of(options->library);
    if (!library && options->library >= ACU_WEBGPU && options->library <= ACU_NVJITLINK)
        return refuse(&acu_cudart, acu_cudart.info->error_missing,
                      (acu_failure_facts){.kind = ACU_ERROR_KIND_LIBRARY, .hint = ""},
                      "acu_load: this program calls no function of %s, so it has no loader for it",
                      options->library == ACU_NVML     ? "NVML"
                      : options->library == ACU_WEBGPU ? "WebGPU"
                                                       : "nvJitLink");
    if (!library)
        return refuse(&acu_cudart, acu_cudart.info->error_invalid, (acu_failure_facts){0},
                      "acu_load: there is no library %d", (int)options->library);
    const acu_library_info *info = library->info;
    if (loading || acu_library_is_resolving())
        return refuse(library, info->error_missing,
                      (acu_failure_facts){.kind = ACU_ERROR_KIND_STATE, .hint = ""},
                      "acu_load: called while a CUDA library is being loaded");
    acu_platform_lock(ACU_LOCK_LOAD);
    bool before = acu_library_state(library) == ACU_LOADED;
    bool good = before ? is_same_choice(library, options) : load(library, options);
    char why[2 * ACU_WHY_SIZE];
    int code = good ? 0 : copy_why(library, why, sizeof why);
    acu_platform_unlock(ACU_LOCK_LOAD);
    if (good)
        return 0;
    if (before)
        return refuse(library, info->error_missing,
                      (acu_failure_facts){.kind = ACU_ERROR_KIND_STATE,
                                          .hint = "call acu_load() before all calls of CUDA"},
                      "acu_load: %s %d.%d is loaded already (%s, found: %s)", info->name,
                      ACU_MAJOR(library->loaded.version), ACU_MINOR(library->loaded.version),
                      library->loaded.path, library->loaded.found);
    bool driver = library->id == ACU_CUDA || code == acu_cudart.info->error_no_driver;
    return refuse(
        library, code,
        (acu_failure_facts){.kind = driver ? ACU_ERROR_KIND_DRIVER : ACU_ERROR_KIND_LIBRARY,
                            .hint = acu_load_hint(library)},
        "acu_load: %s", why);
}

const acu_load_info *acu_loaded(acu_library_id library) {
    const acu_library *l = acu_library_of(library);
    return l && acu_library_state(l) == ACU_LOADED ? &l->loaded : NULL;
}

const char *acu_load_trace(acu_library_id library) {
    acu_library *l = acu_library_of(library);
    if (loading || acu_library_is_resolving())
        return "";
    acu_platform_lock(ACU_LOCK_LOAD);
    if (l && !l->trace_ends && acu_library_state(l) == ACU_LOADED)
        acu_search_end_trace(l);
    const char *trace = l && l->trace ? l->trace : "";
    acu_platform_unlock(ACU_LOCK_LOAD);
    return trace;
}

static void forget(acu_library *library) {
    acu_slot_unpublish(library);
    free(library->published);
    free(library->trace);
    free(library->path);
    library->published = NULL;
    library->published_room = 0;
    library->trace = library->path = NULL;
    library->trace_used = library->trace_room = 0;
    library->trace_ends = library->searched = false;
    library->loaded = (acu_load_info){0};
    library->handle = library->data = NULL;
    library->resolve = NULL;
    library->abi = 0;
    library->soname[0] = library->why[0] = '\0';
    __atomic_store_n(&library->state, ACU_UNTRIED, __ATOMIC_RELEASE);
}

void acu_load_reset_for_tests(void) {
    for (int id = 0; id < ACU_LIBRARIES; id++)
        if (acu_library_of((acu_library_id)id))
            forget(acu_library_of((acu_library_id)id));
    acu_driver_forget();
    acu_record_clear();
    (void)acu_record_own_error(true);
}
