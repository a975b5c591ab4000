#include "sim/ptx/names.h"

#include <stdlib.h>
#include <string.h>

struct ptx_names {
    ptx_name *list;
    size_t count, room;
    uint32_t *table; /* numbers in the list, and 1; 0: empty */
    size_t table_size;
    unsigned *parents; /* of each scope */
    unsigned scope_count, scope_room, current;
};

static uint64_t hash_of(const char *name, size_t length, unsigned scope) {
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ scope * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t n = 0; n < length; n++)
        h = (h ^ (unsigned char)name[n]) * UINT64_C(0x100000001b3);
    return h ^ h >> 29;
}

ptx_names *acu_ptx_names_new(void) {
    ptx_names *names = calloc(1, sizeof *names);
    if (!names)
        return NULL;
    names->scope_room = 64;
    names->scope_count = 1;
    names->parents = calloc(names->scope_room, sizeof *names->parents);
    if (names->parents)
        return names;
    free(names);
    return NULL;
}

void acu_ptx_names_free(ptx_names *names) {
    if (!names)
        return;
    free(names->list);
    free(names->table);
    free(names->parents);
    free(names);
}

unsigned acu_ptx_names_enter(ptx_names *names) {
    if (names->scope_count == names->scope_room) {
        unsigned *grown = realloc(names->parents, (size_t)names->scope_room * 2 * sizeof *grown);
        if (!grown)
            return 0;
        names->parents = grown;
        names->scope_room *= 2;
    }
    names->parents[names->scope_count] = names->current;
    return names->current = names->scope_count++;
}

void acu_ptx_names_leave(ptx_names *names) {
    names->current = names->parents[names->current];
}

unsigned acu_ptx_names_scope(const ptx_names *names) {
    return names->current;
}

static bool grow(ptx_names *names) {
    size_t size = names->table_size ? names->table_size * 4 : 1024;
    uint32_t *table = calloc(size, sizeof *table);
    ptx_name *list = realloc(names->list, size / 2 * sizeof *list);
    names->list = list ? list : names->list;
    if (!table || !list) {
        free(table);
        return false;
    }
    for (size_t n = 0; n < names->count; n++) {
        size_t at = hash_of(list[n].name, list[n].length, list[n].scope) & (size - 1);
        while (table[at])
            at = (at + 1) & (size - 1);
        table[at] = (uint32_t)n + 1;
    }
    free(names->table);
    names->table = table;
    names->table_size = size;
    return true;
}

bool acu_ptx_names_add(ptx_names *names, const ptx_name *name) {
    if (names->count + 1 >= names->table_size / 2 && !grow(names))
        return false;
    size_t at = hash_of(name->name, name->length, name->scope) & (names->table_size - 1);
    while (names->table[at])
        at = (at + 1) & (names->table_size - 1);
    names->list[names->count] = *name;
    names->table[at] = (uint32_t)++names->count;
    return true;
}

const ptx_name *acu_ptx_names_here(const ptx_names *names, const char *name, size_t length,
                                   unsigned scope) {
    if (!names->table_size)
        return NULL;
    for (size_t at = hash_of(name, length, scope) & (names->table_size - 1); names->table[at];
         at = (at + 1) & (names->table_size - 1)) {
        const ptx_name *one = &names->list[names->table[at] - 1];
        if (one->scope == scope && one->length == length && memcmp(one->name, name, length) == 0)
            return one;
    }
    return NULL;
}

const ptx_name *acu_ptx_names_find(const ptx_names *names, const char *name, size_t length,
                                   unsigned scope) {
    for (;; scope = names->parents[scope]) {
        const ptx_name *one = acu_ptx_names_here(names, name, length, scope);
        if (one || !scope)
            return one;
    }
}
