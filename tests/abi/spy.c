#include "spy.h"

#include <stdio.h>
#include <string.h>

static spy_log current;
spy_log *spy_now = &current;
unsigned spy_scenario;
int spy_returns, spy_keeps;

void spy_pattern(const char *path, int salt, void *bytes, size_t size) {
    uint64_t hash = 1469598103934665603u + (uint64_t)salt;

    for (const char *at = path; *at != '\0'; at++) {
        hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    }
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ i) * 1099511628211u;
        ((unsigned char *)bytes)[i] = (unsigned char)((hash >> 32) | 1); /* no byte is zero */
    }
}

const spy_alternative *spy_active(const spy_union *u, unsigned toolkit, unsigned scenario,
                                  int *index) {
    unsigned have = 0, seen = 0;

    for (int i = 0; i < u->count; i++) {
        have += (u->alternatives[i].present >> toolkit) & 1;
    }
    for (int i = 0; i < u->count && have > 0; i++) {
        if (((u->alternatives[i].present >> toolkit) & 1) && seen++ == scenario % have) {
            *index = i;
            return &u->alternatives[i];
        }
    }
    *index = -1;
    return NULL;
}

int spy_leaf_active(const spy_record *record, const spy_leaf *leaf, unsigned toolkit,
                    unsigned scenario) {
    for (int i = 0; i < 3 && leaf->unions[i].of >= 0; i++) {
        int at;

        spy_active(&record->unions[leaf->unions[i].of], toolkit, scenario, &at);
        if (at != leaf->unions[i].alternative) {
            return 0;
        }
    }
    return 1;
}

void spy_enter(const char *function, int ptds) {
    spy_now->function = function;
    spy_now->ptds = ptds;
    spy_now->calls++;
    spy_now->count = 0;
}

void spy_trap(const char *symbol) {
    spy_now->trap = symbol;
}

static void element_path(char *to, size_t room, const char *path, size_t index, int array,
                         const char *leaf) {
    if (array) {
        snprintf(to, room, "%s[%zu]%s%s", path, index, leaf != NULL ? "." : "",
                 leaf != NULL ? leaf : "");
    } else {
        snprintf(to, room, "%s%s%s", path, leaf != NULL ? "." : "", leaf != NULL ? leaf : "");
    }
}

static void see(const char *path, size_t index, int array, const char *leaf, const void *value,
                size_t size) {
    spy_value *slot = &spy_now->values[spy_now->count];

    if (spy_now->count == (int)(sizeof spy_now->values / sizeof spy_now->values[0]) ||
        size > sizeof slot->bytes) {
        spy_now->trap = "the log is full";
        return;
    }
    spy_now->count++;
    element_path(slot->path, sizeof slot->path, path, index, array, leaf);
    slot->size = (uint32_t)size;
    memcpy(slot->bytes, value, size);
}

void spy_see(const char *path, const void *value, size_t size, size_t count, int array) {
    for (size_t i = 0; value != NULL && i < count; i++) {
        see(path, i, array, NULL, (const unsigned char *)value + i * size, size);
    }
}

void spy_see_record(const char *path, const spy_record *record, const void *value, size_t count,
                    int array) {
    for (size_t i = 0; value != NULL && i < count; i++) {
        const unsigned char *base = (const unsigned char *)value + i * record->size;

        for (const spy_leaf *leaf = record->leaves; leaf < record->leaves + record->leaf_count;
             leaf++) {
            if (leaf->kind != SPY_RESERVED && spy_leaf_active(record, leaf, 0, spy_scenario)) {
                see(path, i, array, leaf->path, base + leaf->offset, leaf->size);
            }
        }
    }
}

void spy_give(const char *path, void *value, size_t size, size_t count, int array) {
    char name[120];

    for (size_t i = 0; value != NULL && !spy_keeps && i < count; i++) {
        element_path(name, sizeof name, path, i, array, NULL);
        spy_pattern(name, SPY_OUT, (unsigned char *)value + i * size, size);
    }
}

void spy_give_record(const char *path, const spy_record *record, void *value, size_t count,
                     int array) {
    char name[120];

    for (size_t i = 0; value != NULL && !spy_keeps && i < count; i++) {
        unsigned char *base = (unsigned char *)value + i * record->size;

        memset(base, 0, record->size);
        for (const spy_leaf *leaf = record->leaves; leaf < record->leaves + record->leaf_count;
             leaf++) {
            int at;

            if (leaf->kind == SPY_RESERVED || leaf->kind == SPY_TARGET ||
                !spy_leaf_active(record, leaf, 0, spy_scenario)) {
                continue;
            }
            if (leaf->tag_of >= 0) {
                const spy_alternative *active =
                    spy_active(&record->unions[leaf->tag_of], 0, spy_scenario, &at);
                memcpy(base + leaf->offset, &active->tag, leaf->size);
            } else {
                element_path(name, sizeof name, path, i, array, leaf->path);
                spy_pattern(name, SPY_OUT, base + leaf->offset, leaf->size);
            }
        }
    }
}

/* A capacity becomes a count: one less than there was room for. */
void spy_give_count(void *value, size_t size) {
    uint64_t count = 0;

    if (value != NULL && !spy_keeps) {
        memcpy(&count, value, size);
        count = count > 0 ? count - 1 : 0;
        memcpy(value, &count, size);
    }
}

void spy_give_attribute(int *value, int attribute) {
    if (value != NULL) {
        *value = 70000 + attribute;
    }
}
