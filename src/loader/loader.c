/*
 * Finds, judges and opens a library, once per process.
 *
 * Nothing is ever closed: pointers into a library live in slots and in the program, and CUDA does
 * not survive it. So a file is judged by reading it, before it is opened.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include "loader/loader.h"
#include "error.h"
#include "layers.h"
#include "loader/elf.h"
#include "loader/platform.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the three libraries ----------------------------------------------------------------------
 */

static int ask_one(acu_fn version_symbol) {
    int version = 0;
    int result = ((int (*)(int *))version_symbol)(&version);
    return result == 0 && version > 0 ? version : 0;
}

static int ask_two(acu_fn version_symbol) {
    int major = 0, minor = 0;
    int result = ((int (*)(int *, int *))version_symbol)(&major, &minor);
    return result == 0 && major > 0 ? major * 1000 + minor * 10 : 0;
}

acu_library acu_cudart = {
    .info = &acu_cudart_info,
    .id = ACU_CUDART,
    .wheel = "cuda_runtime",
    .needs_driver = true,
    .ask = ask_one,
};

acu_library acu_cuda = {
    .info = &acu_cuda_info,
    .id = ACU_CUDA,
    .by_symbol = true,
    .ask = ask_one,
};

acu_library acu_nvrtc = {
    .info = &acu_nvrtc_info,
    .id = ACU_NVRTC,
    .wheel = "cuda_nvrtc",
    .follows = &acu_cudart,
    .by_symbol = true,
    .ask = ask_two,
};

/* Weak: the simulator's own, if that is linked, takes its place. */
__attribute__((weak)) const acu_sim *acu_sim_provider;

/* A call from inside a load (a library's constructor) or a resolver must not wait for itself. */
static _Thread_local bool loading, resolving;

static acu_load_state state_of(const acu_library *library) {
    return (acu_load_state)__atomic_load_n(&library->state, __ATOMIC_ACQUIRE);
}

int acu_library_version(const acu_library *library) {
    return state_of(library) == ACU_LOADED ? library->abi : 0;
}

const acu_library_info *acu_library_about(const acu_library *library) {
    return library->info;
}

static acu_fn as_function(void *address) {
    acu_fn fn = NULL;
    memcpy(&fn, &address, sizeof fn);
    return fn;
}

/* One thread at a time; NULL for a resolver that asks itself. */
static acu_fn resolve(const acu_library *library, const char *symbol) {
    if (resolving)
        return NULL;
    acu_platform_lock(ACU_LOCK_RESOLVE);
    resolving = true;
    acu_fn fn = library->loaded.is_sim ? acu_sim_provider->resolve(symbol)
                                       : as_function(library->resolve(symbol, library->data));
    resolving = false;
    acu_platform_unlock(ACU_LOCK_RESOLVE);
    return fn;
}

/* No file, but a resolver or the simulator. */
static bool is_played(const acu_library *library) {
    return library->resolve || library->loaded.is_sim;
}

/* Also while it is being loaded. */
static acu_fn symbol_of(const acu_library *library, const char *symbol) {
    return is_played(library) ? resolve(library, symbol)
                              : acu_platform_symbol(library->handle, symbol);
}

/* ---- the driver's version ---------------------------------------------------------------------
 */

enum { DRIVER_NOT_ASKED = -2, DRIVER_SILENT = -1, DRIVER_NONE = 0 };

static int driver = DRIVER_NOT_ASKED;

/* cuDriverGetVersion needs no cuInit, and a runtime opens libcuda.so.1 itself at its first call. */
static int ask_driver(acu_fn get_version) {
    int version = get_version ? ask_one(get_version) : 0;
    return version > 0 ? version : DRIVER_SILENT;
}

acu_library *acu_driver_of(acu_library *library) {
    bool plays = library->needs_driver && state_of(library) == ACU_LOADED && is_played(library);
    return plays ? library : &acu_cuda;
}

int acu_driver_version(const acu_library *library) {
    if (state_of(library) == ACU_LOADED && is_played(library)) {
        acu_fn get_version = symbol_of(library, "cuDriverGetVersion");
        return get_version ? ask_driver(get_version) : DRIVER_NONE;
    }
    int known = __atomic_load_n(&driver, __ATOMIC_RELAXED);
    if (known == DRIVER_NOT_ASKED) {
        void *handle = acu_platform_open("libcuda.so.1", false, NULL, 0);
        known =
            handle ? ask_driver(acu_platform_symbol(handle, "cuDriverGetVersion")) : DRIVER_NONE;
        __atomic_store_n(&driver, known, __ATOMIC_RELAXED);
    }
    return known;
}

/* ---- a search and its trace --------------------------------------------------------------------
 */

typedef struct candidate {
    char *path;
    char soname[128];
    acu_file_id id;
    int major;    /* of the soname */
    int rank;     /* within its place the highest is taken, then the first */
    bool unread;  /* mapped, but its file is gone: judged once it is opened */
    void *handle; /* opened already */
} candidate;

typedef struct search {
    acu_library *library;
    const acu_load_options *options;
    const char *place;
    bool mapped;   /* the place is the process itself */
    bool optional; /* a path of this place need not exist */
    bool in_order; /* in this place the order of the system loader decides, not the minor version */
    int want_major; /* only this one; 0: any */
    candidate *candidates;
    size_t count, room;
    unsigned seen; /* files looked at in this place */
    bool taken;
} search;

/* A path may hold anything. Returns the end. */
static char *append_printable(char *at, const char *text) {
    for (; *text; text++)
        *at++ = (unsigned char)*text < ' ' || *text == 127 ? '?' : *text;
    return at;
}

/* Adds a line to the trace; without memory the trace ends early and the search goes on. */
static void note_text(const search *s, const char *text) {
    acu_library *l = s->library;
    size_t length = strlen(s->place) + strlen(text) + sizeof ": \n";
    if (l->trace_room - l->trace_used < length) {
        size_t room = l->trace_room * 2 + length + 512;
        char *trace = realloc(l->trace, room);
        if (!trace)
            return;
        l->trace = trace;
        l->trace_room = room;
    }
    char *at = append_printable(l->trace + l->trace_used, s->place);
    at = append_printable(append_printable(at, ": "), text);
    memcpy(at, "\n", 2);
    l->trace_used += length - 1;
}

static void note(const search *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(const search *s, const char *format, ...) {
    char line[ACU_PATH_SIZE + 2 * ACU_WHY_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    note_text(s, line);
}

/* Notes why a file is not taken; the first one refused is what the error tells. Returns false. */
static bool refuse(const search *s, const char *path, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static bool refuse(const search *s, const char *path, int code, const char *format, ...) {
    char why[ACU_WHY_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    note(s, "%s: refused: %s", path, why);
    acu_library *l = s->library;
    if (!l->code) {
        l->code = code;
        snprintf(l->why, sizeof l->why, "%.200s: %.300s", path, why);
    }
    return false;
}

static bool allows(const search *s, unsigned flag) {
    return (s->options->flags & flag) != 0;
}

static int ask_for_driver(search *s) {
    if (allows(s, ACU_LOAD_SKIP_DRIVER))
        return DRIVER_SILENT;
    bool first = __atomic_load_n(&driver, __ATOMIC_RELAXED) == DRIVER_NOT_ASKED;
    int version = acu_driver_version(s->library);
    const char *place = s->place;
    s->place = "driver";
    if (first && version > 0)
        note(s, "supports CUDA %d.%d", ACU_MAJOR(version), ACU_MINOR(version));
    else if (first)
        note_text(s, version ? "does not say its version" : "none is installed (no libcuda.so.1)");
    s->place = place;
    return version;
}

/* ---- names and versions -----------------------------------------------------------------------
 */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/*
 * Takes apart "libcudart.so", "libcudart.so.12", "libcudart.so.12.4.127" and what wheels make of
 * it, "libcudart-d0da41ae.so.11.0": returns the part from ".so" on, or NULL for any other name.
 */
static const char *parse_name(const char *stem, const char *name, int numbers[3]) {
    size_t length = strlen(stem);
    numbers[0] = numbers[1] = numbers[2] = -1;
    if (strncmp(name, stem, length) != 0)
        return NULL;
    name += length;
    if (*name == '-' && strspn(name + 1, "0123456789abcdef") == 8)
        name += 9;
    if (strncmp(name, ".so", 3) != 0)
        return NULL;
    const char *at = name + 3;
    for (int i = 0; i < 3 && *at == '.'; i++) {
        const char *first = ++at;
        for (numbers[i] = 0; *at >= '0' && *at <= '9' && numbers[i] <= 999999; at++)
            numbers[i] = numbers[i] * 10 + (*at - '0');
        if (at == first || numbers[i] > 999999)
            return NULL;
    }
    return *at ? NULL : name;
}

/* "libcudart.so.13, libcudart.so.12 or libcudart.so.11.0" */
static void list_sonames(const acu_library_info *info, char *list, size_t size) {
    size_t used = 0;
    for (const char *const *name = info->sonames; *name && used < size; name++)
        used += (size_t)snprintf(list + used, size - used, "%s%s",
                                 name == info->sonames ? ""
                                 : name[1]             ? ", "
                                                       : " or ",
                                 *name);
}

static bool is_known_soname(const acu_library_info *info, const char *from_so) {
    for (const char *const *name = info->sonames; *name; name++)
        if (strcmp(*name + strlen(info->name), from_so) == 0)
            return true;
    return false;
}

typedef bool has_symbol(void *where, const char *symbol);

static bool elf_has(void *where, const char *symbol) {
    return acu_elf_exports(where, symbol);
}

static bool library_has(void *where, const char *symbol) {
    return symbol_of(where, symbol) != NULL;
}

/* From 11.x without a driver (its version function fails) and from files that are not opened. */
static int version_by_markers(const acu_library_info *info, int major, has_symbol *has,
                              void *where) {
    int version = major && major != ACU_MAJOR(info->oldest) ? major * 1000 : info->oldest;
    for (const acu_marker *marker = info->markers; marker && marker->version; marker++)
        if ((major == 0 || ACU_MAJOR(marker->version) == major) && has(where, marker->symbol))
            version = marker->version;
    return version;
}

/* libcudart.so.12.4.127 says it; libcuda.so.580.65 says the driver's own number. */
static int version_by_name(const search *s, const char *real, int major) {
    int numbers[3];
    if (!s->library->wheel || !parse_name(s->library->info->name, base_name(real), numbers) ||
        numbers[0] != major || numbers[2] < 0)
        return 0;
    return numbers[0] * 1000 + numbers[1] * 10;
}

/* ---- judging ----------------------------------------------------------------------------------
 */

static bool is_in_stubs(const char *path) {
    const char *end = strrchr(path, '/');
    return end && end - path >= 5 && memcmp(end - 5, "stubs", 5) == 0 &&
           (end - path == 5 || end[-6] == '/');
}

static bool judge_version(search *s, const char *path, int version) {
    const acu_library_info *info = s->library->info;
    if (s->library->by_symbol || allows(s, ACU_LOAD_ALLOW_UNKNOWN))
        return true;
    if (version < info->oldest)
        return refuse(s, path, info->error_missing,
                      "it is CUDA %d.%d, older than the oldest known, %d.%d", ACU_MAJOR(version),
                      ACU_MINOR(version), ACU_MAJOR(info->oldest), ACU_MINOR(info->oldest));
    if (ACU_MAJOR(version) > ACU_MAJOR(info->newest))
        return refuse(s, path, info->error_missing,
                      "it is CUDA %d.%d, an unknown major version (the newest known is %d.%d)",
                      ACU_MAJOR(version), ACU_MINOR(version), ACU_MAJOR(info->newest),
                      ACU_MINOR(info->newest));
    return true;
}

static bool judge_soname(search *s, candidate *c) {
    const acu_library_info *info = s->library->info;
    int numbers[3];
    const char *from_so = parse_name(info->name, c->soname, numbers);
    if (!from_so)
        return refuse(s, c->path, info->error_missing, "its soname is \"%s\", not %s's", c->soname,
                      info->name);
    c->major = numbers[0] > 0 ? numbers[0] : 0;
    if (!is_known_soname(info, from_so) && !allows(s, ACU_LOAD_ALLOW_UNKNOWN))
        return refuse(
            s, c->path, info->error_missing, "its soname %s is of an %s version", c->soname,
            c->major && c->major < ACU_MAJOR(info->oldest) ? "old, unsupported" : "unknown");
    return true;
}

/* The stub libraries that NVIDIA ships to link against export names which do nothing. */
static bool judge_symbols(search *s, const char *path, has_symbol *has, void *where) {
    const acu_library_info *info = s->library->info;
    const char *missing = NULL;
    bool any = false;
    for (const char *const *name = info->sentinels; name && *name; name++) {
        if (has(where, *name))
            any = true;
        else if (!missing)
            missing = *name;
    }
    if (!missing || (any && allows(s, ACU_LOAD_ALLOW_UNKNOWN)))
        return true;
    return refuse(s, path, info->error_stub,
                  "it lacks %s, which every version since %d.%d exports: a stub, or too old",
                  missing, ACU_MAJOR(info->oldest), ACU_MINOR(info->oldest));
}

static bool judge_driver(search *s, const candidate *c) {
    if (!s->library->needs_driver || !c->major)
        return true;
    int version = ask_for_driver(s);
    if (version <= 0 || ACU_MAJOR(version) >= c->major)
        return true;
    return refuse(s, c->path, s->library->info->error_missing,
                  "it needs a driver for CUDA %d; the installed one supports %d.%d", c->major,
                  ACU_MAJOR(version), ACU_MINOR(version));
}

static bool judge_file(search *s, candidate *c, acu_elf *elf) {
    const acu_library_info *info = s->library->info;
    memcpy(c->soname, elf->soname, sizeof c->soname);
    if (!judge_soname(s, c) || !judge_symbols(s, c->path, elf_has, elf))
        return false;
    int version = version_by_name(s, elf->real ? elf->real : c->path, c->major);
    if (!version && !s->in_order)
        version = version_by_markers(info, s->library->wheel ? c->major : 0, elf_has, elf);
    c->rank = s->in_order ? c->major : version;
    return !version || judge_version(s, c->path, version); /* 0: some known one of its major */
}

/* All that can be said of a file without executing it; `wrong`: it cannot be read. */
static bool judge(search *s, candidate *c, acu_elf *elf, const char *wrong) {
    const acu_library_info *info = s->library->info;
    bool good = false;
    if (is_in_stubs(c->path) || (elf->real && is_in_stubs(elf->real)))
        return refuse(s, c->path, info->error_stub, "it is a stub to link against (folder stubs)");
    if (!wrong) {
        good = judge_file(s, c, elf);
    } else if (s->mapped) {
        /* Mapped, so it is a library; its file was replaced or lies in another file system. */
        c->unread = true;
        snprintf(c->soname, sizeof c->soname, "%.100s", base_name(c->path));
        good = judge_soname(s, c);
        c->rank = c->major * 1000;
    } else {
        refuse(s, c->path, info->error_missing, "%s", wrong);
    }
    if (good && s->want_major && c->major != s->want_major) {
        note(s, "%s: left for later: the loaded %s is %d", c->path, s->library->follows->info->name,
             s->want_major);
        return false;
    }
    return good && judge_driver(s, c);
}

/* A place for one more; NULL without memory. */
static candidate *make_room(search *s) {
    if (s->count == s->room) {
        size_t room = s->room * 2 + 4;
        candidate *grown = realloc(s->candidates, room * sizeof *grown);
        if (!grown)
            return NULL;
        s->candidates = grown;
        s->room = room;
    }
    return &s->candidates[s->count];
}

static void consider_file(search *s, const char *path, void *handle, acu_elf *elf,
                          const char *wrong) {
    const acu_file_id id = elf->id;
    if (!id.inode && s->optional)
        return;
    for (size_t i = 0; id.inode && i < s->count; i++)
        if (s->candidates[i].id.device == id.device && s->candidates[i].id.inode == id.inode)
            return;
    candidate *c = make_room(s);
    if (!c)
        return;
    s->seen++;
    *c = (candidate){.id = id, .handle = handle};
    c->path = strlen(path) < ACU_PATH_SIZE ? strdup(path) : NULL;
    if (c->path && judge(s, c, elf, wrong))
        s->count++;
    else
        free(c->path);
}

/* Judges a file and keeps it if it is good; the same file under another name is not looked at. */
static void consider(search *s, const char *path, void *handle) {
    char why[128];
    acu_elf elf;
    bool readable = acu_elf_open(&elf, path, why, sizeof why);
    consider_file(s, path, handle, &elf, readable ? NULL : why);
    acu_elf_close(&elf);
}

/* ---- opening ----------------------------------------------------------------------------------
 */

static void succeed(search *s, const char *path, int version) {
    acu_library *library = s->library;
    library->loaded.path = path;
    library->loaded.soname = library->soname;
    library->loaded.found = s->place;
    library->loaded.version = version;
    library->abi = library->loaded.is_sim ? acu_sim_provider->abi : version;
    if (library->needs_driver && !library->resolve && !library->loaded.is_sim) {
        int supported = ask_for_driver(s);
        library->loaded.driver = supported > 0 ? supported : 0;
    } else if (library->id == ACU_CUDA) {
        library->loaded.driver = version;
    }
}

/* Only when somebody asks: most never do, and it takes longer than to read a file. */
static void end_trace(acu_library *library) {
    const acu_load_info *loaded = &library->loaded;
    note(&(search){.library = library, .place = loaded->found}, "%s: taken: CUDA %d.%d%s",
         loaded->path, ACU_MAJOR(loaded->version), ACU_MINOR(loaded->version),
         loaded->version > library->info->newest
             ? ", newer than all that are known; bound as the newest known"
             : "");
    library->trace_ends = true;
}

static int ask_version(const acu_library *library, int major) {
    const acu_library_info *info = library->info;
    acu_fn symbol = info->version_symbol ? symbol_of(library, info->version_symbol) : NULL;
    int version = symbol ? library->ask(symbol) : 0;
    if (version)
        return version;
    return version_by_markers(info, library->wheel ? major : 0, library_has, (void *)library);
}

static bool open_candidate(search *s, candidate *c) {
    char why[ACU_WHY_SIZE];
    acu_library *library = s->library;
    void *handle = c->handle ? c->handle : acu_platform_open(c->path, s->mapped, why, sizeof why);
    if (!handle)
        return refuse(s, c->path, library->info->error_missing, "%s", why);
    library->handle = handle;
    if (!judge_symbols(s, c->path, library_has, library)) /* by name now, not by hash */
        return false;
    int version = ask_version(library, c->major);
    if (!judge_version(s, c->path, version))
        return false;
    memcpy(library->soname, c->soname, sizeof library->soname);
    library->path = c->path;
    c->path = NULL;
    succeed(s, library->path, version);
    return true;
}

static void sort_candidates(search *s) {
    for (size_t i = 1; i < s->count; i++)
        for (size_t j = i; j > 0 && s->candidates[j].rank > s->candidates[j - 1].rank; j--) {
            candidate swap = s->candidates[j];
            s->candidates[j] = s->candidates[j - 1];
            s->candidates[j - 1] = swap;
        }
}

static void drop_candidates(search *s) {
    while (s->count > 0)
        free(s->candidates[--s->count].path);
}

/* Opens the best candidate, or the next best where that fails. */
static bool take_best(search *s) {
    sort_candidates(s);
    for (size_t i = 0; i < s->count; i++) {
        candidate *c = &s->candidates[i];
        if (s->mapped && i > 0 && c->major != s->candidates[0].major)
            note(s, "two major versions are in this process, %d and %d", s->candidates[0].major,
                 c->major);
        if (s->taken)
            note(s, "%s: good, but %s was taken", c->path, s->library->loaded.path);
        else
            s->taken = open_candidate(s, c);
    }
    drop_candidates(s);
    return s->taken;
}

/* ---- places -----------------------------------------------------------------------------------
 */

/* The exact name: "libcudart_static.so" or "mylibcudart.so" is something else. */
static bool has_its_name(void *data, const char *path) {
    const search *s = data;
    int numbers[3];
    return parse_name(s->library->info->name, base_name(path), numbers) != NULL;
}

static void visit_any_name(void *data, const char *path) {
    consider(data, path, NULL);
}

static void visit(void *data, const char *path) {
    if (has_its_name(data, path))
        visit_any_name(data, path);
}

/* What is in the process already is what its other parts use: a second runtime would not know their
 * streams. */
static void look_at_process(search *s, const char *unused) {
    (void)unused;
    s->mapped = true;
    acu_platform_mapped(has_its_name, visit_any_name, s);
}

/* A good file that is what its name says is what the system loader takes; and the names are the
 * newest first. */
static bool take_now(void *data) {
    search *s = data;
    if (s->count == 0)
        return false;
    const candidate *last = &s->candidates[s->count - 1];
    return strcmp(last->soname, base_name(last->path)) == 0 && take_best(s);
}

static void look_at_system(search *s, const char *unused) {
    (void)unused;
    const acu_library_info *info = s->library->info;
    s->in_order = s->optional = true;
    acu_platform_system(info->sonames, visit, take_now, s);
    if (!take_best(s) && allows(s, ACU_LOAD_ALLOW_UNKNOWN)) {
        char bare[64];
        snprintf(bare, sizeof bare, "%s.so", info->name);
        acu_platform_system((const char *const[]){bare, NULL}, visit, NULL, s);
    }
    /*
     * No file in any of its folders that we know of: it may know more (musl tells none, LD_AUDIT
     * and hardware folders). Then nothing can be judged before it is opened, and what is refused
     * stays.
     */
    s->optional = false;
    for (const char *const *name = info->sonames; *name && s->seen == 0; name++) {
        void *handle = acu_platform_open(*name, false, NULL, 0);
        const char *path = handle ? acu_platform_path_of(handle) : NULL;
        if (path)
            consider(s, path, handle);
    }
}

static void look_in(search *s, const char *root, const char *folder) {
    char pattern[256];
    snprintf(pattern, sizeof pattern, "%s/%s*.so*", folder, s->library->info->name);
    acu_platform_match(root, pattern, visit, s);
}

static const char *folder_of(search *s, const char *variable) {
    const char *folder = acu_platform_env(variable);
    if (folder && *folder)
        return folder;
    note_text(s, "not set");
    s->seen++; /* said */
    return NULL;
}

static void look_at_python(search *s, const char *variable) {
    char folder[128];
    const char *root = folder_of(s, variable);
    if (!root)
        return;
    look_in(s, root, "lib");
    look_in(s, root, "lib64");
    snprintf(folder, sizeof folder, "lib/python3*/site-packages/nvidia/%s/lib", s->library->wheel);
    look_in(s, root, folder);
    look_in(s, root, "lib/python3*/site-packages/nvidia/cu[0-9]*/lib");
}

static void look_at_toolkit(search *s, const char *variable) {
    const char *root = folder_of(s, variable);
    if (!root)
        return;
    look_in(s, root, "lib64");
    look_in(s, root, "lib");
    look_in(s, root, "targets/*/lib");
}

static void look_at_usr_local(search *s, const char *unused) {
    (void)unused;
    look_in(s, "", "usr/local/cuda*/lib64");
    look_in(s, "", "usr/local/cuda*/lib");
    look_in(s, "", "usr/local/cuda*/targets/*/lib");
}

static const struct {
    const char *name;
    void (*look)(search *s, const char *name);
    bool installed; /* where toolkits and packages are, which have no driver */
} places[] = {
    {"already in the process", look_at_process, false},
    {"system loader", look_at_system, false},
    {"VIRTUAL_ENV", look_at_python, true},
    {"CONDA_PREFIX", look_at_python, true},
    {"CUDA_PATH", look_at_toolkit, true},
    {"CUDA_HOME", look_at_toolkit, true},
    {"/usr/local/cuda*", look_at_usr_local, true},
};

static bool search_places(search *s) {
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i].installed && !s->library->wheel)
            continue;
        s->place = places[i].name;
        s->mapped = s->in_order = s->optional = false;
        s->count = s->seen = 0;
        places[i].look(s, places[i].name);
        if (s->seen == 0)
            note_text(s, "nothing there");
        if (take_best(s))
            return true;
    }
    return false;
}

/* ---- one load ---------------------------------------------------------------------------------
 */

static bool load_sim(search *s) {
    acu_library *library = s->library;
    int version = acu_sim_provider ? acu_sim_provider->version(library->id) : 0;
    if (!version)
        return refuse(s, "sim", library->info->error_missing, "%s",
                      acu_sim_provider ? "the simulator does not play this library"
                                       : "this build has no simulator");
    library->loaded.is_sim = 1;
    succeed(s, "simulator", version);
    return true;
}

static bool load_resolver(search *s) {
    acu_library *library = s->library;
    s->place = "custom resolver";
    library->resolve = s->options->resolve;
    library->data = s->options->data;
    int version = s->options->version ? s->options->version : ask_version(library, 0);
    if (judge_version(s, "resolver", version)) {
        succeed(s, "resolver", version);
        return true;
    }
    library->resolve = NULL;
    library->data = NULL;
    return false;
}

/* As dlopen() understands it: a name without a folder is not in the current one. */
static void look_for(search *s, const char *path) {
    s->in_order = true;
    s->optional = !strchr(path, '/');
    if (s->optional)
        acu_platform_system((const char *const[]){path, NULL}, visit_any_name, NULL, s);
    else
        consider(s, path, NULL);
}

/* What the user chose is taken or fails: never something else in its place. */
static bool load_only(search *s, const char *place, const char *path) {
    s->place = place;
    if (strcmp(path, "sim") == 0 && load_sim(s))
        return true;
    if (strcmp(path, "sim") != 0) {
        look_for(s, path);
        if (take_best(s))
            return true;
        if (s->seen == 0)
            refuse(s, path, s->library->info->error_missing, "the system loader does not find it");
    }
    char why[ACU_WHY_SIZE];
    memcpy(why, s->library->why, sizeof why);
    snprintf(s->library->why, sizeof why, "%s=%.450s", place, why);
    return false;
}

static bool load_any(search *s) {
    const acu_library_info *info = s->library->info;
    bool sim = allows(s, ACU_LOAD_ALLOW_SIM) && acu_sim_provider != NULL;
    s->place = "ACU_LOAD_ALLOW_SIM";
    /* A runtime without a driver can only fail. */
    if (sim && s->library->needs_driver && ask_for_driver(s) == DRIVER_NONE && load_sim(s))
        return true;
    if (s->library->follows) /* what a newer compiler emits, an older driver may not take */
        s->want_major = ACU_MAJOR(acu_library_version(s->library->follows));
    if (search_places(s))
        return true;
    if (s->want_major) {
        s->want_major = 0;
        if (search_places(s))
            return true;
    }
    s->place = "ACU_LOAD_ALLOW_SIM";
    if (sim && load_sim(s))
        return true;
    acu_library *l = s->library;
    if (!l->code) {
        char names[256];
        list_sonames(info, names, sizeof names);
        l->code = info->error_missing;
        snprintf(l->why, sizeof l->why, "looked for %s in the process, through the system loader%s",
                 names,
                 s->library->wheel ? ", in VIRTUAL_ENV, CONDA_PREFIX, CUDA_PATH, CUDA_HOME and "
                                     "/usr/local/cuda*"
                                   : "");
    }
    return false;
}

/* Under the lock. */
static bool load(acu_library *library, const acu_load_options *options) {
    search s = {.library = library, .options = options, .place = "acu_load"};
    const char *env = acu_platform_env(library->info->env);
    bool loaded = false;
    free(library->trace);
    library->trace = NULL;
    library->trace_used = library->trace_room = 0;
    library->code = 0;
    library->why[0] = '\0';
    loading = true;
    if (options->resolve)
        loaded = load_resolver(&s);
    else if (options->path)
        loaded = load_only(&s, "path", options->path);
    else if (env && *env)
        loaded = load_only(&s, library->info->env, env);
    else
        loaded = load_any(&s);
    loading = false;
    free(s.candidates);
    if (loaded)
        library->code = 0;
    else if (!library->code)
        library->code = library->info->error_missing;
    __atomic_store_n(&library->state, loaded ? ACU_LOADED : ACU_FAILED, __ATOMIC_RELEASE);
    return loaded;
}

bool acu_library_ready(acu_library *library) {
    static const acu_load_options defaults;
    acu_load_state state = state_of(library);
    if (state == ACU_UNTRIED && !loading && !resolving) {
        acu_platform_lock(ACU_LOCK_LOAD);
        if (state_of(library) == ACU_UNTRIED)
            load(library, &defaults);
        acu_platform_unlock(ACU_LOCK_LOAD);
        state = state_of(library);
    }
    return state == ACU_LOADED;
}

acu_fn acu_library_symbol(acu_library *library, const char *symbol) {
    return acu_library_ready(library) ? symbol_of(library, symbol) : NULL;
}

/* Under the lock. */
static int tell_why(const acu_library *library, char *why, size_t size) {
    snprintf(why, size, "no usable %s: %s; acu_load_trace() has the whole search",
             library->info->name, library->why);
    return library->code;
}

int acu_library_why(acu_library *library, char *why, size_t size) {
    if (loading || resolving) {
        snprintf(why, size, "called while a CUDA library is being loaded");
        return library->info->error_missing;
    }
    acu_platform_lock(ACU_LOCK_LOAD);
    int code = tell_why(library, why, size);
    acu_platform_unlock(ACU_LOCK_LOAD);
    return code;
}

/* ---- slots ------------------------------------------------------------------------------------
 */

/* Under its lock. */
static void publish(acu_library *library, const acu_function *function, acu_fn fn) {
    acu_fn entry = *function->slot; /* written under the lock only */
    if (entry == fn)
        return;
    if (library->published_count == library->published_room) {
        size_t room = library->published_room * 2 + 32;
        acu_published *grown = realloc(library->published, room * sizeof *grown);
        if (!grown)
            return; /* the slow path goes on working */
        library->published = grown;
        library->published_room = room;
    }
    library->published[library->published_count++] = (acu_published){function, entry};
    __atomic_store_n(function->slot, fn, __ATOMIC_RELEASE);
}

void acu_publish(const acu_function *function, acu_fn symbol, acu_fn fn) {
    acu_platform_lock(ACU_LOCK_SLOTS);
    /* First what the adapter reads, then, by release, the slot that leads to it. Written once:
     * other threads' adapters may be reading it when a second thread comes here. */
    if (function->real && *function->real != symbol)
        *function->real = symbol;
    /* Asked under the lock: a layer is switched on first, and takes published slots back then. */
    if (!acu_layers_on())
        publish(function->library, function, fn);
    acu_platform_unlock(ACU_LOCK_SLOTS);
}

void acu_unpublish(acu_library *library) {
    acu_platform_lock(ACU_LOCK_SLOTS);
    for (size_t i = 0; i < library->published_count; i++) {
        const acu_published *p = &library->published[i];
        __atomic_store_n(p->function->slot, p->entry, __ATOMIC_RELEASE);
    }
    library->published_count = 0;
    acu_platform_unlock(ACU_LOCK_SLOTS);
}

/* ---- for everyone -----------------------------------------------------------------------------
 */

static acu_library *library_of(acu_library_id id) {
    switch (id) {
    case ACU_CUDART:
        return &acu_cudart;
    case ACU_CUDA:
        return &acu_cuda;
    case ACU_NVRTC:
        return &acu_nvrtc;
    }
    return NULL;
}

/* The file that would be taken. Judges a name like a load, and opens nothing. */
static bool find_choice(const acu_library *library, const acu_load_options *options,
                        acu_file_id *id) {
    if (strchr(options->path, '/'))
        return acu_platform_file_id(options->path, id);
    acu_library probe = {.info = library->info, /* with a trace of its own */
                         .id = library->id,
                         .wheel = library->wheel,
                         .by_symbol = library->by_symbol};
    search s = {.library = &probe, .options = options, .place = "path"};
    look_for(&s, options->path);
    sort_candidates(&s);
    bool found = s.count > 0;
    if (found)
        *id = s.candidates[0].id;
    drop_candidates(&s);
    free(s.candidates);
    free(probe.trace);
    return found;
}

static bool is_same_choice(const acu_library *library, const acu_load_options *options) {
    acu_file_id a, b;
    if (options->resolve)
        return library->resolve == options->resolve && library->data == options->data;
    if (!options->path)
        return true;
    if (library->loaded.is_sim || library->resolve)
        return library->loaded.is_sim && strcmp(options->path, "sim") == 0;
    return find_choice(library, options, &a) && acu_platform_file_id(library->path, &b) &&
           a.device == b.device && a.inode == b.inode;
}

int acu_load(const acu_load_options *options) {
    static const acu_load_options defaults;
    if (!options)
        options = &defaults;
    acu_library *library = library_of(options->library);
    if (!library)
        return acu_record(acu_cudart.info->error_invalid, "acu_load: there is no library %d",
                          (int)options->library);
    const acu_library_info *info = library->info;
    if (loading || resolving)
        return acu_record(info->error_missing,
                          "acu_load: called while a CUDA library is being loaded");
    acu_platform_lock(ACU_LOCK_LOAD);
    bool before = state_of(library) == ACU_LOADED;
    bool good = before ? is_same_choice(library, options) : load(library, options);
    char why[2 * ACU_WHY_SIZE];
    int code = good ? 0 : tell_why(library, why, sizeof why);
    acu_platform_unlock(ACU_LOCK_LOAD);
    if (good)
        return 0;
    if (before)
        return acu_record(info->error_missing,
                          "acu_load: %s %d.%d is loaded already (%s, found: %s)", info->name,
                          ACU_MAJOR(library->loaded.version), ACU_MINOR(library->loaded.version),
                          library->loaded.path, library->loaded.found);
    return acu_record(code, "acu_load: %s", why);
}

const acu_load_info *acu_loaded(acu_library_id library) {
    const acu_library *l = library_of(library);
    return l && state_of(l) == ACU_LOADED ? &l->loaded : NULL;
}

const char *acu_load_trace(acu_library_id library) {
    acu_library *l = library_of(library);
    if (loading || resolving)
        return "";
    acu_platform_lock(ACU_LOCK_LOAD);
    if (l && !l->trace_ends && state_of(l) == ACU_LOADED)
        end_trace(l);
    const char *trace = l && l->trace ? l->trace : "";
    acu_platform_unlock(ACU_LOCK_LOAD);
    return trace;
}

static void forget(acu_library *library) {
    acu_unpublish(library);
    free(library->published);
    free(library->trace);
    free(library->path);
    library->published = NULL;
    library->published_room = 0;
    library->trace = library->path = NULL;
    library->trace_used = library->trace_room = 0;
    library->trace_ends = false;
    library->loaded = (acu_load_info){0};
    library->handle = library->data = NULL;
    library->resolve = NULL;
    library->abi = 0;
    library->soname[0] = library->why[0] = '\0';
    __atomic_store_n(&library->state, ACU_UNTRIED, __ATOMIC_RELEASE);
}

void acu_unload_for_tests(void) {
    forget(&acu_cudart);
    forget(&acu_cuda);
    forget(&acu_nvrtc);
    __atomic_store_n(&driver, DRIVER_NOT_ASKED, __ATOMIC_RELAXED);
    acu_clear_error();
    acu_own_error(true);
}
