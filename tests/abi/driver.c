#include "driver.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <anycuda/cudart.h>

extern const call all_calls[], all_calls_ptds[];

spy_log *seen;                  /* the spy's own log */
int *seen_returns, *seen_keeps; /* and its switches */
unsigned *seen_scenario;
static int ptds_now, reported;

void fail(const char *where, const char *format, ...) {
    va_list args;

    if (reported++ < 2000) {
        printf("  FAILED %s: ", where);
        va_start(args, format);
        vprintf(format, args);
        va_end(args);
        printf("\n");
    }
}

static void check(run *r, int good, const char *format, ...) {
    char text[400];
    va_list args;

    r->checks++;
    if (!good) {
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        r->failures++;
        fail(r->call->name, "%s (%s%sscenario %u%s)", text, r->newer != NULL ? r->newer->path : "",
             r->newer != NULL ? ", " : "", r->scenario, ptds_now ? ", per-thread" : "");
    }
}

/* ---- which alternative of a union this run is at ---- */

static const spy_alternative *active(const run *r, const spy_record *record, int u, int *index) {
    if (r->newer != NULL && r->newer_in->record == record) {
        for (int i = 0; i < 3 && r->newer->unions[i].of >= 0; i++) {
            if (r->newer->unions[i].of == u) {
                *index = r->newer->unions[i].alternative;
                return &record->unions[u].alternatives[*index];
            }
        }
    }
    return spy_active(&record->unions[u], r->toolkit, r->scenario, index);
}

static int leaf_active(const run *r, const spy_record *record, const spy_leaf *leaf) {
    for (int i = 0; i < 3 && leaf->unions[i].of >= 0; i++) {
        int at;

        active(r, record, leaf->unions[i].of, &at);
        if (at != leaf->unions[i].alternative) {
            return 0;
        }
    }
    return 1;
}

/* ---- what goes in ---- */

static void expect(run *r, int index, size_t element, int array, const char *leaf,
                   const void *value, size_t size) {
    spy_value *slot = &r->expected.values[r->expected.count++];
    const char *name = r->target->names[index];

    if (array) {
        snprintf(slot->path, sizeof slot->path, "%s[%zu]%s%s", name, element, leaf ? "." : "",
                 leaf ? leaf : "");
    } else {
        snprintf(slot->path, sizeof slot->path, "%s%s%s", name, leaf ? "." : "", leaf ? leaf : "");
    }
    slot->size = (uint32_t)size;
    memcpy(slot->bytes, value, size);
}

int is_passed(const run *r, int index) {
    return r->target->name != NULL && r->target->names[index] != NULL;
}

void in_value(run *r, int index, void *value, size_t size) {
    in_values(r, index, value, size, 1, 0);
}

void in_fixed(run *r, int index, const void *value, size_t size) {
    if (is_passed(r, index)) {
        expect(r, index, 0, 0, NULL, value, size);
    }
}

void in_values(run *r, int index, void *values, size_t size, size_t count, int array) {
    char name[64];

    memset(values, 0, size * count);
    for (size_t i = 0; is_passed(r, index) && i < count; i++) {
        unsigned char *at = (unsigned char *)values + i * size;

        snprintf(name, sizeof name, "parameter %d[%zu]", index, i);
        spy_pattern(name, SPY_IN, at, size);
        expect(r, index, i, array, NULL, at, size);
    }
}

static void in_leaf(run *r, int index, const spy_record *record, const spy_leaf *leaf,
                    unsigned char *base, size_t i, int array) {
    unsigned char *at = base + leaf->offset;
    int known = (int)(leaf->present >> r->toolkit) & 1, alternative;
    char name[160];

    if (leaf == r->newer && r->newer_in->index == index) {
        spy_pattern(leaf->path, SPY_IN, at, leaf->size);
        return;
    }
    if (leaf->tag_of >= 0) {
        const spy_alternative *it = active(r, record, leaf->tag_of, &alternative);
        if (it != NULL) {
            memcpy(at, &it->tag, leaf->size);
        }
    } else if (known && leaf->kind == SPY_TARGET) {
        static unsigned char zeros[4096];
        unsigned char *target = zeros;
        memcpy(at, &target, sizeof target);
    } else if (known && leaf->kind == SPY_COUNT) {
        at[0] = 2;
    } else if (known && leaf->kind != SPY_RESERVED) {
        snprintf(name, sizeof name, "%d.%zu.%s", index, i, leaf->path);
        spy_pattern(name, SPY_IN, at, leaf->size);
    }
    if (known && leaf->kind != SPY_RESERVED) {
        expect(r, index, i, array, leaf->path, at, leaf->size);
    }
}

void in_record(run *r, int index, const spy_record *record, void *value, size_t count, int array) {
    memset(value, 0, record->size * count);
    for (size_t i = 0; is_passed(r, index) && i < count; i++) {
        for (const spy_leaf *leaf = record->leaves; leaf < record->leaves + record->leaf_count;
             leaf++) {
            if (leaf_active(r, record, leaf)) {
                in_leaf(r, index, record, leaf, (unsigned char *)value + i * record->size, i,
                        array);
            }
        }
    }
}

int in_tag(run *r, const spy_record *record) {
    int index;

    for (int u = 0; u < record->union_count; u++) {
        const spy_alternative *it =
            record->unions[u].by_argument ? active(r, record, u, &index) : NULL;
        if (it != NULL) {
            return (int)it->tag;
        }
    }
    return 0;
}

/* ---- what comes out ---- */

void poison(void *value, size_t size) {
    memset(value, 0xEE, size);
}

static void path_of(const run *r, char *to, size_t room, int index, size_t i, int array,
                    const char *leaf) {
    const char *name = r->target->names[index];

    if (array) {
        snprintf(to, room, "%s[%zu]%s%s", name, i, leaf ? "." : "", leaf ? leaf : "");
    } else {
        snprintf(to, room, "%s%s%s", name, leaf ? "." : "", leaf ? leaf : "");
    }
}

void out_values(run *r, int index, const void *values, size_t size, size_t count, int array) {
    char name[160];
    unsigned char pattern[256];

    for (size_t i = 0; is_passed(r, index) && r->newer == NULL && i < count; i++) {
        path_of(r, name, sizeof name, index, i, array, NULL);
        spy_pattern(name, SPY_OUT, pattern, size);
        check(r, memcmp(pattern, (const unsigned char *)values + i * size, size) == 0,
              "%s did not come back", name);
    }
}

static void out_leaf(run *r, const char *name, const spy_record *record, const spy_leaf *leaf,
                     const unsigned char *base) {
    unsigned char want[256] = {0};
    int index;

    if (leaf->kind == SPY_RESERVED || leaf->kind == SPY_TARGET) {
        return; /* the spy leaves these alone */
    }
    if (leaf->tag_of >= 0) {
        const spy_alternative *it = active(r, record, leaf->tag_of, &index);
        if (it == NULL) {
            return;
        }
        memcpy(want, &it->tag, leaf->size);
    } else if ((leaf->present >> r->toolkit) & 1) {
        spy_pattern(name, SPY_OUT, want, leaf->size);
    } else if (leaf->kind == SPY_OPAQUE) {
        return;
    } else if (leaf->attribute >= 0 && r->version >= leaf->attribute_since) {
        int64_t answer = 70000 + leaf->attribute; /* spy_give_attribute */
        memcpy(want, &answer, leaf->size < 8 ? leaf->size : 8);
    } else {
        memcpy(want, &leaf->absent, leaf->size < 8 ? leaf->size : 8);
    }
    check(r, memcmp(want, base + leaf->offset, leaf->size) == 0,
          "%s did not come back right (%02x %02x… not %02x %02x…)", name, base[leaf->offset],
          base[leaf->offset + (leaf->size > 1)], want[0], want[1]);
}

void out_record(run *r, int index, const spy_record *record, const void *value, size_t count,
                int array) {
    char name[160];

    for (size_t i = 0; is_passed(r, index) && r->newer == NULL && i < count; i++) {
        for (const spy_leaf *leaf = record->leaves; leaf < record->leaves + record->leaf_count;
             leaf++) {
            if (leaf_active(r, record, leaf)) {
                path_of(r, name, sizeof name, index, i, array, leaf->path);
                out_leaf(r, name, record, leaf, (const unsigned char *)value + i * record->size);
            }
        }
    }
}

/* A capacity went in, and a count came back: the spy's is one less. */
void out_count(run *r, int index, long count) {
    if (is_passed(r, index) && r->newer == NULL) {
        check(r, count == ELEMENTS - 1, "%s holds %ld, not one less than passed",
              r->target->names[index], count);
    }
}

/* ---- what must hold of the whole call ---- */

const spy_value *find(const spy_log *log, const char *path) {
    for (int i = 0; i < log->count; i++) {
        if (strcmp(log->values[i].path, path) == 0) {
            return &log->values[i];
        }
    }
    return NULL;
}

static int is_ours(const run *r, const char *path) {
    for (int i = 0; i < MOST_PARAMS; i++) {
        const char *name = r->target->names[i];
        size_t length = name != NULL ? strlen(name) : 0;

        if (length > 0 && strncmp(path, name, length) == 0 && strchr(".[", path[length]) != NULL) {
            return 1;
        }
    }
    return 0;
}

static void check_arrival(run *r) {
    static const unsigned char zero[256];

    for (int i = 0; i < r->expected.count; i++) {
        const spy_value *want = &r->expected.values[i], *got = find(seen, want->path);

        check(r,
              got != NULL && got->size == want->size &&
                  memcmp(got->bytes, want->bytes, want->size) == 0,
              "%s did not arrive%s", want->path, got != NULL ? " as it was" : "");
    }
    for (int i = 0; i < seen->count; i++) { /* what only this version has must be zero */
        const spy_value *got = &seen->values[i];

        if (is_ours(r, got->path) && find(&r->expected, got->path) == NULL) {
            check(r, memcmp(got->bytes, zero, got->size) == 0, "%s holds something nobody passed",
                  got->path);
        }
    }
}

static void check_refused(run *r, const char *what, int since, int until) {
    char version[64];
    const char *message = acu_last_error_message();

    check(r, seen->function == NULL, "the library was called (%s)", seen->function);
    check(r, r->result == 801, "returned %d, not 801", r->result);
    check(r, strstr(message, r->call->name) != NULL && strstr(message, what) != NULL,
          "the message is: %s", message);
    if (since != 0 || until != 0) {
        int shown = since != 0 ? since : until;
        snprintf(version, sizeof version, "%d.%d", shown / 1000, shown % 1000 / 10);
        check(r, strstr(message, version) != NULL, "the message does not say %s: %s", version,
              message);
    }
}

static void check_called(run *r) {
    const call_target *target = r->target;

    check(r, seen->trap == NULL, "%s was called, which no header declares", seen->trap);
    check(r, seen->function != NULL && strcmp(seen->function, target->name) == 0,
          "%s was called, not %s", seen->function ? seen->function : "nothing", target->name);
    check(r, seen->ptds == (ptds_now && target->ptds),
          "the other default stream's variant was called");
    check_arrival(r);
}

/* The message names the field, or a record around it. */
static const char *named_part(const char *path) {
    static char part[64];

    for (const char *at = path; at != NULL;
         at = strchr(at, '.') != NULL ? strchr(at, '.') + 1 : NULL) {
        snprintf(part, sizeof part, "%.*s", (int)strcspn(at, "."), at);
        if (strstr(acu_last_error_message(), part) != NULL) {
            break;
        }
    }
    return part;
}

int finish(run *r, int result) {
    r->result = result;
    if (r->target->name == NULL) {
        int too_new = r->version < r->call->since;
        check_refused(r, too_new ? "needs CUDA" : "was removed", too_new ? r->call->since : 0,
                      too_new ? 0 : r->call->until);
    } else if (r->newer != NULL) {
        const char *part = named_part(r->newer->path);
        const char *last = strrchr(r->newer->path, '.');
        int itself = strcmp(part, last != NULL ? last + 1 : r->newer->path) ==
                     0; /* not a record around it, which is older */

        check_refused(r, part, itself ? r->newer->since : 0, 0);
    } else {
        check(r, result == 0, "returned %d: %s", result, acu_last_error_message());
        check_called(r);
    }
    return r->failures;
}

int finish_text(run *r, const char *text) {
    check(r, text != NULL && strcmp(text, "an answer of the spy") == 0, "returned %s",
          text ? text : "NULL");
    check_called(r);
    return r->failures;
}

int finish_other(run *r) {
    return r->failures;
}

/* ---- all calls of one variant ---- */

static void one(const call *c, const call_target *target, unsigned toolkit, int version,
                unsigned scenario, const call_struct *in, const spy_leaf *newer, int *checks,
                int *failures) {
    static run r;

    memset(&r, 0, sizeof r);
    r.call = c;
    r.target = target;
    r.toolkit = toolkit;
    r.version = version;
    r.scenario = scenario;
    r.newer_in = in;
    r.newer = newer;
    (void)cudaGetLastError(); /* a refusal of the call before is returned once */
    memset(seen, 0, offsetof(spy_log, values));
    *seen_scenario = scenario;
    acu_clear_error();
    c->run(&r);
    *checks += r.checks;
    *failures += r.failures;
}

/* Each field of each struct that goes in and that this version lacks must be refused, by name. */
static void newer_fields(const call *c, const call_target *target, unsigned toolkit, int version,
                         int *checks, int *failures) {
    for (const call_struct *s = c->structs; s->param != NULL; s++) {
        if (!s->goes_in || s->drops || target->names[s->index] == NULL) {
            continue;
        }
        for (const spy_leaf *leaf = s->record->leaves;
             leaf < s->record->leaves + s->record->leaf_count; leaf++) {
            if (!((leaf->present >> toolkit) & 1) && leaf->kind == SPY_PLAIN && leaf->tag_of < 0 &&
                leaf->since != 0) {
                one(c, target, toolkit, version, 0, s, leaf, checks, failures);
            }
        }
    }
}

static void all(const call *calls, int version, unsigned toolkit, int *checks, int *failures) {
    for (const call *c = calls; c->name != NULL; c++) {
        const call_target *target = c->targets;

        while (target[1].since != 0 && target[1].since <= version) {
            target++;
        }
        if (target->decided == 2) {
            continue; /* decisions.c */
        }
        for (unsigned s = 0; s < (target->name != NULL ? c->scenarios : 1); s++) {
            one(c, target, toolkit, version, s, NULL, NULL, checks, failures);
        }
        if (target->name != NULL) {
            newer_fields(c, target, toolkit, version, checks, failures);
        }
    }
}

static void *from_spy(const char *symbol, void *library) {
    return dlsym(library, symbol);
}

/* driver SPY VERSION TOOLKIT: the spy's file, 12040, and its number among all toolkits */
int main(int argc, char **argv) {
    int checks = 0, failures = 0, version = argc == 4 ? (int)strtol(argv[2], NULL, 10) : 0;
    unsigned toolkit = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    /* Whoever starts this chooses the file. NOLINTNEXTLINE(clang-analyzer-optin.taint.*) */
    void *library = argc == 4 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;

    if (library == NULL) {
        fprintf(stderr, "usage: driver SPY VERSION TOOLKIT (%s)\n",
                argc == 4 ? dlerror() : "3 arguments");
        return 2;
    }
    seen = *(spy_log **)dlsym(library, "spy_now");
    seen_scenario = dlsym(library, "spy_scenario");
    seen_returns = dlsym(library, "spy_returns");
    seen_keeps = dlsym(library, "spy_keeps");
    if (acu_load(&(acu_load_options){.resolve = from_spy, .data = library, .version = version}) !=
        0) {
        fprintf(stderr, "%s\n", acu_last_error_message());
        return 2;
    }
    all(all_calls, version, toolkit, &checks, &failures);
    ptds_now = 1;
    all(all_calls_ptds, version, toolkit, &checks, &failures);
    ptds_now = 0;
    failures += check_decisions(version, &checks);
    printf("%d.%d: %d checks, %d failed\n", version / 1000, version % 1000 / 10, checks, failures);
    return failures != 0;
}
