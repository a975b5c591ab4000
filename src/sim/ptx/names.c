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
    bool numbered;
};

static uint64_t hash_of(const char *name, size_t length) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t n = 0; n < length; n++)
        h = (h ^ (unsigned char)name[n]) * UINT64_C(0x100000001b3);
    return h ^ h >> 29;
}

/* Returns where the search for a name of the scope begins in the table. */
static size_t first_of(const ptx_names *names, uint64_t hash, unsigned scope) {
    const uint64_t mixed = (hash ^ (uint64_t)scope << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed >> 29) & (names->table_size - 1);
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

/* Puts a name of the list into the table. */
static void place(const ptx_names *names, uint32_t number) {
    const ptx_name *name = &names->list[number];
    size_t at = first_of(names, hash_of(name->name, name->length), name->scope);
    while (names->table[at])
        at = (at + 1) & (names->table_size - 1);
    names->table[at] = number + 1;
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
    free(names->table);
    names->table = table;
    names->table_size = size;
    for (size_t n = 0; n < names->count; n++)
        place(names, (uint32_t)n);
    return true;
}

bool acu_ptx_names_add(ptx_names *names, const ptx_name *name) {
    if (names->count + 1 >= names->table_size / 2 && !grow(names))
        return false;
    const char last = name->length ? name->name[name->length - 1] : '\0';
    names->numbered |= name->name[0] == '%' && last >= '0' && last <= '9';
    names->list[names->count] = *name;
    place(names, (uint32_t)names->count++);
    return true;
}

bool acu_ptx_names_are_numbered(const ptx_names *names) {
    return names->numbered;
}

/* Registers %r<count> are not in the way of another %r: they are called %r0, %r1 and so on. */
static const ptx_name *find(const ptx_names *names, const char *name, size_t length, uint64_t hash,
                            unsigned scope, bool are_registers) {
    for (size_t at = first_of(names, hash, scope); names->table[at];
         at = (at + 1) & (names->table_size - 1)) {
        const ptx_name *one = &names->list[names->table[at] - 1];
        if (one->scope == scope && one->length == length &&
            (one->kind == PTX_NAME_REGISTERS) == are_registers &&
            memcmp(one->name, name, length) == 0)
            return one;
    }
    return NULL;
}

const ptx_name *acu_ptx_names_here(const ptx_names *names, const char *name, size_t length,
                                   unsigned scope, ptx_name_kind kind) {
    return names->table_size
               ? find(names, name, length, hash_of(name, length), scope, kind == PTX_NAME_REGISTERS)
               : NULL;
}

static const ptx_name *find_around(const ptx_names *names, const char *name, size_t length,
                                   unsigned scope, bool are_registers) {
    const uint64_t hash = hash_of(name, length);
    for (; names->table_size; scope = names->parents[scope]) {
        const ptx_name *one = find(names, name, length, hash, scope, are_registers);
        if (one || !scope)
            return one;
    }
    return NULL;
}

const ptx_name *acu_ptx_names_find(const ptx_names *names, const char *name, size_t length,
                                   unsigned scope) {
    return find_around(names, name, length, scope, false);
}

const ptx_name *acu_ptx_names_find_registers(const ptx_names *names, const char *name,
                                             size_t length, unsigned scope) {
    return find_around(names, name, length, scope, true);
}

/* Returns the length of the name without the digits at its end. */
static size_t stem_of(const ptx_name *name) {
    size_t length = name->length;
    while (length && name->name[length - 1] >= '0' && name->name[length - 1] <= '9')
        length--;
    return length;
}

/* Whether the name is that of one of the registers %r<count>: of a<3>, a1 and a01 are. */
static bool is_numbered_by(const ptx_name *registers, const ptx_name *name) {
    const size_t stem = stem_of(name);
    return (name->kind == PTX_NAME_VARIABLE || name->kind == PTX_NAME_REGISTER) &&
           stem < name->length && stem == registers->length &&
           memcmp(registers->name, name->name, stem) == 0 &&
           strtoull(name->name + stem, NULL, 10) < registers->count;
}

const ptx_name *acu_ptx_names_clash(const ptx_names *names, const ptx_name *name) {
    if (name->kind != PTX_NAME_REGISTERS) {
        const ptx_name *registers =
            acu_ptx_names_here(names, name->name, stem_of(name), name->scope, PTX_NAME_REGISTERS);
        return registers && is_numbered_by(registers, name) ? name : NULL;
    }
    for (size_t n = names->count; n; n--) {
        const ptx_name *one = &names->list[n - 1];
        if (one->scope < name->scope) /* the scope began behind it */
            break;
        if (one->scope == name->scope && is_numbered_by(name, one))
            return one;
    }
    return NULL;
}
