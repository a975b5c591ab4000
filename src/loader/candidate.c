#define _POSIX_C_SOURCE 200809L /* strdup */
#include "loader/candidate.h"

#include "loader/elf.h"
#include "loader/platform.h"
#include "loader/validate.h"

#include <stdlib.h>
#include <string.h>

/* Returns room for one more candidate; NULL if there is no memory. */
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
    if (s->afterwards && id.device == s->library->file.device &&
        id.inode == s->library->file.inode) {
        s->seen++;
        return;
    }
    for (size_t i = 0; id.inode && i < s->count; i++)
        if (s->candidates[i].id.device == id.device && s->candidates[i].id.inode == id.inode)
            return;
    acu_candidate *c = make_room(s);
    if (!c)
        return;
    s->seen++;
    *c = (acu_candidate){.id = id, .handle = handle};
    if (strlen(path) >= ACU_PATH_SIZE) {
        (void)acu_search_refuse(s, path, s->library->info->error_missing,
                                "its path has %zu characters, and the system takes at most %d",
                                strlen(path), ACU_PATH_SIZE - 1);
        return;
    }
    c->path = strdup(path);
    if (c->path && acu_validate_file(s, c, elf, wrong))
        s->count++;
    else
        free(c->path);
}

void acu_candidate_consider(acu_search *s, const char *path, void *handle) {
    char why[128];
    acu_elf elf;
    bool readable = acu_elf_open(&elf, path, why, sizeof why);
    consider_file(s, path, handle, &elf, readable ? NULL : why);
    acu_elf_close(&elf);
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
    library->loaded.is_sim = acu_library_sim_abi(library) != 0;
    library->path = c->path;
    library->file = c->id;
    c->path = NULL;
    acu_search_succeed(s, library->path, version);
    return true;
}

void acu_candidate_sort(acu_search *s) {
    for (size_t i = 1; i < s->count; i++)
        for (size_t j = i; j > 0 && s->candidates[j].rank > s->candidates[j - 1].rank; j--) {
            acu_candidate swap = s->candidates[j];
            s->candidates[j] = s->candidates[j - 1];
            s->candidates[j - 1] = swap;
        }
}

void acu_candidate_drop_all(acu_search *s) {
    while (s->count > 0)
        free(s->candidates[--s->count].path);
}

bool acu_candidate_take_best(acu_search *s) {
    acu_candidate_sort(s);
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
    acu_candidate_drop_all(s);
    return s->taken;
}
