/* The places where a library may be, in the order in which they are searched. */
#include "loader/search.h"

#include "core/simulator.h"
#include "loader/candidate.h"
#include "loader/driver.h"
#include "loader/platform.h"
#include "loader/soname.h"

#include <stdio.h>
#include <string.h>

/* Returns whether a file has the library's exact name; "libcudart_static.so" and "mylibcudart.so"
 * do not. */
static bool has_its_name(void *data, const char *path) {
    const acu_search *s = data;
    int numbers[3];
    return acu_soname_parse(s->library->info->name, acu_soname_base(path), numbers) != NULL;
}

static void visit_any_name(void *data, const char *path) {
    acu_candidate_consider(data, path, NULL);
}

static void visit(void *data, const char *path) {
    if (has_its_name(data, path))
        visit_any_name(data, path);
}

/* A library that is in the process is used by the process's other parts, whose streams a second
 * runtime would not know. */
static void look_at_process(acu_search *s, const char *unused) {
    (void)unused;
    s->mapped = true;
    acu_platform_mapped(has_its_name, visit_any_name, s);
}

/* Takes the file just found if it is acceptable and its soname is its name, because the system
 * loader would take it, too, and the names are tried from the newest on. */
static bool take_now(void *data) {
    acu_search *s = data;
    if (s->count == 0)
        return false;
    const acu_candidate *last = &s->candidates[s->count - 1];
    return strcmp(last->soname, acu_soname_base(last->path)) == 0 && acu_candidate_take_best(s);
}

static void look_at_system(acu_search *s, const char *unused) {
    (void)unused;
    const acu_library_info *info = s->library->info;
    s->in_order = s->optional = true;
    acu_platform_system(info->sonames, visit, take_now, s);
    if (!acu_candidate_take_best(s) && acu_search_allows(s, ACU_LOAD_ALLOW_UNKNOWN)) {
        char bare[64];
        snprintf(bare, sizeof bare, "%s.so", info->name);
        acu_platform_system((const char *const[]){bare, NULL}, visit, NULL, s);
    }
    /*
     * The known folders have no file, but the system loader may search others (musl does not report
     * its folders; LD_AUDIT and hardware folders add more). These files can be validated only after
     * they are opened, and a refused one stays open.
     */
    s->optional = false;
    for (const char *const *name = info->sonames; *name && s->seen == 0; name++) {
        void *handle = acu_platform_open(*name, false, NULL, 0);
        const char *path = handle ? acu_platform_path_of(handle) : NULL;
        if (path)
            acu_candidate_consider(s, path, handle);
    }
}

static void look_in(acu_search *s, const char *root, const char *folder) {
    char pattern[256];
    snprintf(pattern, sizeof pattern, "%s/%s*.so*", folder, s->library->info->name);
    acu_platform_match(root, pattern, visit, s);
}

static const char *folder_of(acu_search *s, const char *variable) {
    const char *folder = acu_platform_env(variable);
    if (folder && *folder)
        return folder;
    acu_search_note(s, "not set");
    s->seen++; /* so that no second line is added for this place */
    return NULL;
}

static void look_at_python(acu_search *s, const char *variable) {
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

static void look_at_toolkit(acu_search *s, const char *variable) {
    const char *root = folder_of(s, variable);
    if (!root)
        return;
    look_in(s, root, "lib64");
    look_in(s, root, "lib");
    look_in(s, root, "targets/*/lib");
}

static void look_at_usr_local(acu_search *s, const char *unused) {
    (void)unused;
    look_in(s, "", "usr/local/cuda*/lib64");
    look_in(s, "", "usr/local/cuda*/lib");
    look_in(s, "", "usr/local/cuda*/targets/*/lib");
}

static const struct {
    const char *name;
    void (*look)(acu_search *s, const char *name);
    bool installed; /* a place of toolkits and packages, which contain no driver */
} places[] = {
    {"already in the process", look_at_process, false},
    {"system loader", look_at_system, false},
    {"VIRTUAL_ENV", look_at_python, true},
    {"CONDA_PREFIX", look_at_python, true},
    {"CUDA_PATH", look_at_toolkit, true},
    {"CUDA_HOME", look_at_toolkit, true},
    {"/usr/local/cuda*", look_at_usr_local, true},
};

void acu_search_for(acu_search *s, const char *path) {
    s->chosen = s->in_order = true;
    s->optional = !strchr(path, '/');
    if (s->optional)
        acu_platform_system((const char *const[]){path, NULL}, visit_any_name, NULL, s);
    else
        acu_candidate_consider(s, path, NULL);
}

bool acu_search_places(acu_search *s) {
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i].installed && !s->library->wheel)
            continue;
        s->place = places[i].name;
        s->mapped = s->in_order = s->optional = false;
        s->count = s->seen = 0;
        places[i].look(s, places[i].name);
        if (s->seen == 0)
            acu_search_note(s, "no library found");
        if (acu_candidate_take_best(s))
            return true;
    }
    return false;
}

void acu_search_succeed(acu_search *s, const char *path, int version) {
    acu_library *library = s->library;
    library->loaded.path = path;
    library->loaded.soname = library->soname;
    library->loaded.found = s->place;
    library->loaded.version = version;
    library->abi = version;
    if (library->loaded.is_sim)
        library->abi = library->handle ? acu_library_sim_abi(library) : acu_sim_provider->abi;
    if (library->needs_driver && !library->resolve && !library->loaded.is_sim) {
        int supported = acu_search_driver(s);
        library->loaded.driver = supported > 0 ? supported : 0;
    } else if (library->id == ACU_CUDA) {
        library->loaded.driver = version;
    }
}
