/* The places where a library may be, in the order in which they are searched. */
#include "loader/search.h"

#include "core/simulator.h"
#include "loader/candidate.h"
#include "loader/driver.h"
#include "loader/platform.h"
#include "loader/python.h"
#include "loader/soname.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether a file has the library's exact name; "libcudart_static.so" and "mylibcudart.so"
 * do not. */
static bool has_its_name(void *data, const char *path) {
    const acu_search *s = data;
    const acu_library_info *info = s->library->info;
    int numbers[3];
    return s->library->plain_names
               ? acu_soname_is_name(info, path)
               : acu_soname_parse(info->name, acu_soname_base(path), numbers) != NULL;
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
    if (s->count == 0 || s->afterwards)
        return false;
    const acu_candidate *last = &s->candidates[s->count - 1];
    return (s->library->plain_names || strcmp(last->soname, acu_soname_base(last->path)) == 0) &&
           acu_candidate_take_best(s);
}

/* Visits FOLDER/NAME; the file need not exist. */
static void visit_in(acu_search *s, const char *folder, size_t length, const char *name) {
    char path[ACU_PATH_SIZE];
    int used = snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, name);
    if (used > 0 && (size_t)used < sizeof path)
        visit(s, path);
}

/* Looks into one folder. The names that are known are tried one by one, because reading the folder
 * takes a millisecond where it has thousands of files, as a Conda environment's. */
static void look_in_folder(void *data, const char *folder) {
    acu_search *s = data;
    s->optional = true;
    for (const char *const *name = s->library->info->sonames; *name; name++)
        visit_in(s, folder, strlen(folder), *name);
}

/* Lets the system loader open a library, wherever it finds that. */
static void consider_opened(acu_search *s, const char *name) {
    void *handle = acu_platform_open(name, false, NULL, 0);
    const char *path = handle ? acu_platform_path_of(handle) : NULL;
    if (path)
        acu_candidate_consider(s, path, handle);
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
    if (!s->library->packages && s->seen == 0) /* only the driver has such libraries */
        look_in_folder(s, ACU_WSL_FOLDER);
    /*
     * The known folders have no file, but the system loader may search others (musl does not report
     * its folders; LD_AUDIT and hardware folders add more). These files can be validated only after
     * they are opened, and a refused one stays open.
     */
    s->optional = false;
    for (const char *const *name = info->sonames; *name && s->seen == 0 && !s->taken; name++)
        consider_opened(s, *name);
}

static void visit_other_name(void *data, const char *path) {
    const acu_search *s = data;
    if (!acu_soname_is_name(s->library->info, path))
        visit(data, path);
}

/* Looks into each folder that matches. */
static void look_in(acu_search *s, const char *root, const char *folder) {
    char pattern[256];
    if (!s->other_names) {
        acu_platform_match(root, folder, look_in_folder, s);
        return;
    }
    s->optional = false;
    snprintf(pattern, sizeof pattern, "%s/%s*.so*", folder, s->library->info->name);
    acu_platform_match(root, pattern, visit_other_name, s);
}

/* Adds why a place has no files, instead of that it has none; once. */
static void note_no_place(acu_search *s, const char *why) {
    if (!s->other_names)
        acu_search_note(s, "%s", why);
    s->seen++;
}

static const char *folder_of(acu_search *s, const char *variable) {
    const char *folder = acu_platform_env(variable);
    if (folder && *folder)
        return folder;
    note_no_place(s, "not set");
    return NULL;
}

/* The system loader would find the same files, but after a newer library of the machine's. An empty
 * name means the current folder, as it does there. */
static void look_at_library_path(acu_search *s, const char *variable) {
    const char *folders = folder_of(s, variable), *end;
    s->in_order = s->optional = true;
    for (const char *const *name = s->library->info->sonames; folders && *name; name++)
        for (const char *folder = folders;; folder = end + 1) {
            size_t length = strcspn(folder, ":;");
            end = folder + length;
            visit_in(s, length ? folder : ".", length ? length : 1, *name);
            if (take_now(s))
                return;
            if (!*end)
                break;
        }
}

static void look_at_packages(void *data, const char *site) {
    acu_search *s = data;
    for (const char *const *folder = s->library->packages; *folder; folder++)
        look_in(s, site, *folder);
}

static void look_at_environment(acu_search *s, const char *variable) {
    const char *root = folder_of(s, variable);
    if (!root)
        return;
    look_in(s, root, "lib");
    look_in(s, root, "lib64");
    acu_platform_match(root, "lib/python3*/site-packages", look_at_packages, s);
}

static void look_at_python(acu_search *s, const char *unused) {
    (void)unused;
    if (!acu_python_packages(look_at_packages, s))
        note_no_place(s, "none runs in this process");
}

static void look_in_toolkit(void *s, const char *root) {
    look_in(s, root, "lib64");
    look_in(s, root, "lib");
    look_in(s, root, "targets/*/lib");
}

static void look_at_toolkit(acu_search *s, const char *variable) {
    const char *root = folder_of(s, variable);
    if (root)
        look_in_toolkit(s, root);
}

static void look_at_usr_local(acu_search *s, const char *unused) {
    (void)unused;
    acu_platform_match("", "usr/local/cuda*", look_in_toolkit, s);
}

/* What the process or its user chose comes before what the machine has: a framework in the same
 * process opens its library from there, and two runtimes in one process do not know each other. */
static const struct {
    const char *name;
    void (*look)(acu_search *s, const char *name);
    enum { ANY, PACKAGES, TOOLKITS } kind; /* packages and toolkits contain no driver */
} places[] = {
    {"already in the process", look_at_process, ANY},
    {"LD_LIBRARY_PATH", look_at_library_path, ANY},
    {"VIRTUAL_ENV", look_at_environment, PACKAGES},
    {"CONDA_PREFIX", look_at_environment, PACKAGES},
    {"Python interpreter", look_at_python, PACKAGES},
    {"system loader", look_at_system, ANY},
    {"CUDA_PATH", look_at_toolkit, TOOLKITS},
    {"CUDA_HOME", look_at_toolkit, TOOLKITS},
    {"/usr/local/cuda*", look_at_usr_local, TOOLKITS},
};

enum { PLACES = sizeof places / sizeof *places };

static bool is_searched(const acu_search *s, size_t place) {
    const acu_library *library = s->library;
    switch (places[place].kind) {
    case PACKAGES:
        return library->packages && !(s->other_names && library->plain_names);
    case TOOLKITS:
        return library->in_toolkits;
    default:
        return !s->other_names;
    }
}

/* Returns whether a library is loaded. */
static bool look_at_place(acu_search *s, size_t place) {
    s->place = places[place].name;
    s->mapped = s->in_order = s->optional = false;
    s->count = s->seen = 0;
    places[place].look(s, places[place].name);
    if (s->seen == 0)
        note_no_place(s, "no library found");
    return acu_candidate_take_best(s);
}

void acu_search_for(acu_search *s, const char *path) {
    s->chosen = s->in_order = true;
    s->optional = !strchr(path, '/');
    if (s->optional)
        acu_platform_system((const char *const[]){path, NULL}, visit_any_name, NULL, s);
#ifndef __GLIBC__
    if (s->optional && s->seen == 0)
        consider_opened(s, path);
#endif
    if (!s->optional)
        acu_candidate_consider(s, path, NULL);
}

static bool look_at_places(acu_search *s) {
    for (size_t place = 0; place < PLACES; place++)
        if (is_searched(s, place) && look_at_place(s, place)) {
            s->library->place = place;
            s->library->flags = s->options->flags;
            s->library->searched = true;
            return true;
        }
    return false;
}

bool acu_search_places(acu_search *s) {
    s->other_names = false;
    if (look_at_places(s))
        return true;
    s->other_names = true; /* such as an unknown version's, which the error then names */
    return look_at_places(s);
}

void acu_search_rest(acu_library *library) {
    acu_load_options options = {.flags = library->flags};
    acu_search s = {.library = library, .options = &options, .taken = true, .afterwards = true};
    for (size_t place = library->place; place < PLACES; place++)
        if (is_searched(&s, place))
            look_at_place(&s, place);
    free(s.candidates);
}

void acu_search_list_places(const acu_library *library, char *list, size_t size) {
    const acu_search s = {.library = (acu_library *)library};
    size_t used = 0;
    for (size_t place = 1; place < PLACES && used < size; place++)
        if (is_searched(&s, place))
            used += (size_t)snprintf(list + used, size - used, "%s%s", used ? ", " : "",
                                     places[place].name);
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
