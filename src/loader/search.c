/*
 * One search: the candidates of a place, what is noted of them, and which is opened.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include "loader/search.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the trace ------------------------------------------------------------------------------- */

/* A path may hold anything. Returns the end. */
static char *append_printable(char *at, const char *text) {
    for (; *text; text++)
        *at++ = (unsigned char)*text < ' ' || *text == 127 ? '?' : *text;
    return at;
}

/* Adds a line to the trace. */
static void note_text(const acu_search *s, const char *text) {
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

void acu_search_note(const acu_search *s, const char *format, ...) {
    char line[ACU_PATH_SIZE + 2 * ACU_WHY_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    note_text(s, line);
}

bool acu_search_refuse(const acu_search *s, const char *path, int code, const char *format, ...) {
    char why[ACU_WHY_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    acu_search_note(s, "%s: refused: %s", path, why);
    acu_library *l = s->library;
    if (!l->code) {
        l->code = code;
        snprintf(l->why, sizeof l->why, "%.200s: %.300s", path, why);
    }
    return false;
}

int acu_search_driver(acu_search *s) {
    if (acu_search_allows(s, ACU_LOAD_SKIP_DRIVER))
        return ACU_DRIVER_SILENT;
    bool first = !acu_driver_was_asked();
    int version = acu_driver_version(s->library);
    const char *place = s->place;
    s->place = "driver";
    if (first && version > 0)
        acu_search_note(s, "supports CUDA %d.%d", ACU_MAJOR(version), ACU_MINOR(version));
    else if (first)
        note_text(s, version ? "does not say its version" : "none is installed (no libcuda.so.1)");
    s->place = place;
    return version;
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* A place for one more; NULL without memory. */
static acu_candidate *make_room(acu_search *s) {
    if (s->count == s->room) {
        size_t room = s->room * 2 + 4;
        acu_candidate *grown = realloc(s->candidates, room * sizeof *grown);
        if (!grown)
            return NULL;
        s->candidates = grown;
        s->room = room;
    }
    return &s->candidates[s->count];
}

static void consider_file(acu_search *s, const char *path, void *handle, acu_elf *elf,
                          const char *wrong) {
    const acu_file_id id = elf->id;
    if (!id.inode && s->optional)
        return;
    for (size_t i = 0; id.inode && i < s->count; i++)
        if (s->candidates[i].id.device == id.device && s->candidates[i].id.inode == id.inode)
            return;
    acu_candidate *c = make_room(s);
    if (!c)
        return;
    s->seen++;
    *c = (acu_candidate){.id = id, .handle = handle};
    c->path = strlen(path) < ACU_PATH_SIZE ? strdup(path) : NULL;
    if (c->path && acu_validate_file(s, c, elf, wrong))
        s->count++;
    else
        free(c->path);
}

void acu_search_consider(acu_search *s, const char *path, void *handle) {
    char why[128];
    acu_elf elf;
    bool readable = acu_elf_open(&elf, path, why, sizeof why);
    consider_file(s, path, handle, &elf, readable ? NULL : why);
    acu_elf_close(&elf);
}

/* ---- opening ----------------------------------------------------------------------------------
 */

/* 0: it is not the simulator. */
static int ask_sim_abi(const acu_library *library) {
    acu_fn abi = acu_platform_symbol(library->handle, "acu_sim_abi");
    return abi ? ((int (*)(void))abi)() : 0;
}

void acu_search_succeed(acu_search *s, const char *path, int version) {
    acu_library *library = s->library;
    library->loaded.path = path;
    library->loaded.soname = library->soname;
    library->loaded.found = s->place;
    library->loaded.version = version;
    library->abi = version;
    if (library->loaded.is_sim)
        library->abi = library->handle ? ask_sim_abi(library) : acu_sim_provider->abi;
    if (library->needs_driver && !library->resolve && !library->loaded.is_sim) {
        int supported = acu_search_driver(s);
        library->loaded.driver = supported > 0 ? supported : 0;
    } else if (library->id == ACU_CUDA) {
        library->loaded.driver = version;
    }
}

void acu_search_end_trace(acu_library *library) {
    const acu_load_info *loaded = &library->loaded;
    acu_search_note(&(acu_search){.library = library, .place = loaded->found},
                    "%s: taken: CUDA %d.%d%s", loaded->path, ACU_MAJOR(loaded->version),
                    ACU_MINOR(loaded->version),
                    loaded->version > library->info->newest
                        ? ", newer than all that are known; bound as the newest known"
                        : "");
    library->trace_ends = true;
}

static bool open_candidate(acu_search *s, acu_candidate *c) {
    char why[ACU_WHY_SIZE];
    acu_library *library = s->library;
    void *handle = c->handle ? c->handle : acu_platform_open(c->path, s->mapped, why, sizeof why);
    if (!handle)
        return acu_search_refuse(s, c->path, library->info->error_missing, "%s", why);
    library->handle = handle;
    if (!acu_validate_opened(s, c->path))
        return false;
    int version = acu_validate_ask_version(library, c->major);
    if (!acu_validate_version(s, c->path, version))
        return false;
    memcpy(library->soname, c->soname, sizeof library->soname);
    library->loaded.is_sim = ask_sim_abi(library) != 0;
    library->path = c->path;
    c->path = NULL;
    acu_search_succeed(s, library->path, version);
    return true;
}

void acu_search_sort(acu_search *s) {
    for (size_t i = 1; i < s->count; i++)
        for (size_t j = i; j > 0 && s->candidates[j].rank > s->candidates[j - 1].rank; j--) {
            acu_candidate swap = s->candidates[j];
            s->candidates[j] = s->candidates[j - 1];
            s->candidates[j - 1] = swap;
        }
}

void acu_search_drop(acu_search *s) {
    while (s->count > 0)
        free(s->candidates[--s->count].path);
}

bool acu_search_take_best(acu_search *s) {
    acu_search_sort(s);
    for (size_t i = 0; i < s->count; i++) {
        acu_candidate *c = &s->candidates[i];
        if (s->mapped && i > 0 && c->major != s->candidates[0].major)
            acu_search_note(s, "two major versions are in this process, %d and %d",
                            s->candidates[0].major, c->major);
        if (s->taken)
            acu_search_note(s, "%s: good, but %s was taken", c->path, s->library->loaded.path);
        else
            s->taken = open_candidate(s, c);
    }
    acu_search_drop(s);
    return s->taken;
}
