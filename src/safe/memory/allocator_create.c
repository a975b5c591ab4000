/* The caching allocator: how it is made, and its limits. */
#include "safe/memory/allocator_cache.h"
#include "safe/base/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTCOME(allocator, code) acu_outcome(__func__, (allocator), (code))

/* ---- making ---- */

static const char *source_name(acu_allocator_source source) {
    static const char *const names[] = {
        [ACU_ALLOCATOR_ANY] = "ACU_ALLOCATOR_ANY",
        [ACU_ALLOCATOR_VIRTUAL] = "ACU_ALLOCATOR_VIRTUAL",
        [ACU_ALLOCATOR_POOL] = "ACU_ALLOCATOR_POOL",
        [ACU_ALLOCATOR_DEVICE] = "ACU_ALLOCATOR_DEVICE",
        [ACU_ALLOCATOR_PINNED] = "ACU_ALLOCATOR_PINNED",
    };
    return names[source];
}

static int check_options(const char *call, acu_device device, const acu_allocator_options *o) {
    if ((unsigned)o->source > ACU_ALLOCATOR_PINNED)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "options.source is %d, which is no source",
                        (int)o->source);
    if (!(o->fraction >= 0 && o->fraction <= 1))
        return acu_fail(call, "", ACU_ERROR_RANGE,
                        "options.fraction is %g, and must be between 0 and 1", o->fraction);
    if (!o->pool)
        return 0;
    if (o->source != ACU_ALLOCATOR_POOL)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "options.pool is set, but %s does not come from pools",
                        source_name(o->source));
    if (!acu_is(o->pool, &acu_pool_class))
        return acu_object_refuse(call, o->pool, &acu_pool_class);
    return acu_pool_check_access(call, o->pool, device);
}

/* A part that is less than a byte is one, because 0 means no limit. */
static size_t part_of(const acu_caching *a, double fraction) {
    const size_t part = (size_t)((double)a->total * fraction);
    return fraction > 0 && part == 0 ? 1 : part;
}

acu_result acu_allocator_create(acu_device device, const acu_allocator_options *options,
                                acu_allocator **allocator) {
    ACU_SCOPE();
    static const acu_allocator_options none;
    const acu_allocator_options *o = options ? options : &none;
    acu_allocator *made = NULL;
    ACU_NEED_POINTER(allocator);
    *allocator = NULL;
    acu_destroy_deferred();
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_TRY(check_options(__func__, device, o));
    const acu_memory memory =
        o->source == ACU_ALLOCATOR_PINNED ? ACU_MEMORY_PINNED : ACU_MEMORY_POOL;
    ACU_TRY(OUTCOME(
        NULL, acu_allocator_make(device, sizeof(acu_caching), &acu_caching_way, memory, &made)));
    acu_caching *a = (acu_caching *)made;
    made->captures = true;
    const int code = acu_source_open(a, o->source);
    if (code) {
        pthread_mutex_destroy(&made->lock);
        acu_object_discard(&made->object);
        return OUTCOME(NULL, code);
    }
    acu_object_add_owner(o->pool);
    a->pool = o->pool;
    const size_t part = part_of(a, o->fraction);
    made->info.limit = o->limit && (!part || o->limit < part) ? o->limit : part;
    *allocator = made;
    return 0;
}

/* ---- the environment ---- */

/* Reads a number of bytes, such as 512MiB; returns false where the text is none. */
static bool read_bytes(const char *text, size_t *bytes) {
    static const char units[] = "KMGT";
    char *end = NULL;
    const unsigned long long number = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    const unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (end == text || *text == '-' || (unit && strcmp(end + 1, "iB") != 0) || (!unit && *end) ||
        number > (unsigned long long)PTRDIFF_MAX >> shift)
        return false;
    *bytes = (size_t)number << shift;
    return true;
}

static bool read_fraction(const char *text, double *fraction) {
    char *end = NULL;
    *fraction = strtod(text, &end);
    return end != text && !*end && *fraction >= 0 && *fraction <= 1;
}

/* Returns the word before the next comma, and moves behind it; NULL after the last one. */
static char *next_word(char **rest) {
    char *word = *rest, *comma = word ? strchr(word, ',') : NULL;
    if (comma)
        *comma = '\0';
    *rest = comma ? comma + 1 : NULL;
    return word;
}

/* Reads one word of ANYCUDA_ALLOCATOR; returns false where it is none. */
static bool read_word(const char *word, acu_allocator_options *o) {
    static const char *const sources[] = {[ACU_ALLOCATOR_ANY] = "caching",
                                          [ACU_ALLOCATOR_VIRTUAL] = "virtual",
                                          [ACU_ALLOCATOR_POOL] = "pool",
                                          [ACU_ALLOCATOR_DEVICE] = "device"};
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        if (strcmp(word, sources[i]) == 0) {
            o->source = (acu_allocator_source)i;
            return true;
        }
    if (strncmp(word, "limit=", 6) == 0)
        return read_bytes(word + 6, &o->limit);
    return strncmp(word, "fraction=", 9) == 0 && read_fraction(word + 9, &o->fraction);
}

int acu_allocator_from_text(acu_device device, const char *text, acu_allocator **allocator) {
    acu_allocator_options options = {0};
    char copy[256], *rest = copy;
    int used = snprintf(copy, sizeof copy, "%s", text);
    bool known = used > 0 && (size_t)used < sizeof copy;
    for (char *word; known && (word = next_word(&rest));)
        known = read_word(word, &options);
    if (!known) {
        acu_fail_hint("it is caching, virtual, pool or device, then limit=BYTES or fraction=PART, "
                      "as in ANYCUDA_ALLOCATOR=caching,limit=4GiB");
        return acu_record(ACU_ERROR_ARGUMENT, "ANYCUDA_ALLOCATOR is \"%s\", which has no meaning",
                          text);
    }
    return acu_allocator_create(device, &options, allocator);
}

/* ---- limits ---- */

static int set_limit(acu_allocator *a, size_t limit) {
    pthread_mutex_lock(&a->lock);
    a->info.limit = limit;
    pthread_mutex_unlock(&a->lock);
    return 0;
}

acu_result acu_allocator_set_limit(acu_allocator *allocator, size_t limit) {
    ACU_SCOPE();
    ACU_NEED(allocator, acu_allocator_class);
    ACU_REQUIRE_OF(allocator, allocator->way == &acu_caching_way, ACU_ERROR_STATE,
                   "the allocator is the program's own, which has no limit");
    return set_limit(allocator, limit);
}

acu_result acu_allocator_set_fraction(acu_allocator *allocator, double fraction) {
    ACU_SCOPE();
    ACU_NEED(allocator, acu_allocator_class);
    ACU_REQUIRE_OF(allocator, allocator->way == &acu_caching_way, ACU_ERROR_STATE,
                   "the allocator is the program's own, which has no limit");
    ACU_REQUIRE_OF(allocator, fraction >= 0 && fraction <= 1, ACU_ERROR_RANGE,
                   "%g is not between 0 and 1", fraction);
    return set_limit(allocator, part_of((acu_caching *)allocator, fraction));
}
