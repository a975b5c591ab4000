#define _POSIX_C_SOURCE 200809L /* strdup */
/* Types of a program's own, whose elements are stored in groups. */
#include "core/fail.h"
#include "types/dtype.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what is registered */

/* Returns whether a name is one word that a message can show. */
static bool is_word(const char *name) {
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    const size_t length = strlen(name);
    return length > 0 && length < 64 && strspn(name, allowed) == length;
}

static int check_options(const char *call, const acu_dtype_options *o) {
    if (!o || !o->name)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        o ? "options.name is NULL" : "'options' is NULL");
    if (!is_word(o->name))
        return acu_fail(
            call, "", ACU_ERROR_ARGUMENT,
            "options.name is \"%.80s\": a name has 1 to 63 letters, digits, '_', '-' and '.'",
            o->name);
    if (acu_dtype_is_taken(o->name))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "\"%s\" is the name of a built-in type",
                        o->name);
    if (o->elements == 0)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "options.elements is 0: a group of \"%s\" has at least one", o->name);
    if (o->bytes == 0 || o->bytes > 0xffffff)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "options.bytes is %u: a group of \"%s\" has 1 to 16777215 bytes", o->bytes,
                        o->name);
    return 0;
}

/* Finds the type with the name, or the place of the next one; the lock is held. Returns
 * ACU_REGISTERED_TYPES where there is neither. */
static unsigned find_place(const char *name) {
    unsigned i = 0;
    while (i < ACU_REGISTERED_TYPES && acu_registered_dtypes[i].dtype &&
           strcmp(acu_registered_dtypes[i].name, name) != 0)
        i++;
    return i;
}

/* Registers the type at a free place; the lock is held. */
static int add(const char *call, const acu_dtype_options *o, unsigned place) {
    acu_registered_dtype *one = &acu_registered_dtypes[place];
    one->name = strdup(o->name);
    if (!one->name)
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "the host has no memory for a name");
    one->elements = o->elements;
    one->dtype = (ACU_REGISTERED_KIND + (place << 24u)) | o->bytes; /* last: readers take no lock */
    return 0;
}

/* Does the work of acu_dtype_register(); the lock is held. */
static int find_or_add(const char *call, const acu_dtype_options *o, acu_dtype *dtype) {
    const unsigned place = find_place(o->name);
    if (place == ACU_REGISTERED_TYPES)
        return acu_fail(call, "", ACU_ERROR_LIMIT,
                        "\"%s\" would be type %d of this process, but %d can be registered",
                        o->name, ACU_REGISTERED_TYPES + 1, ACU_REGISTERED_TYPES);
    const acu_registered_dtype *one = &acu_registered_dtypes[place];
    if (!one->dtype)
        ACU_TRY(add(call, o, place));
    const uint32_t bytes = one->dtype & 0xffffffu;
    if (one->elements != o->elements || bytes != o->bytes)
        return acu_fail(
            call, "", ACU_ERROR_ARGUMENT,
            "\"%s\" is registered with groups of %u elements in %u bytes, not of %u in %u", o->name,
            one->elements, bytes, o->elements, o->bytes);
    *dtype = one->dtype;
    return 0;
}

acu_result acu_dtype_register(const acu_dtype_options *options, acu_dtype *dtype) {
    if (!dtype)
        return acu_fail(__func__, "", ACU_ERROR_ARGUMENT, "'dtype' is NULL");
    *dtype = ACU_ANY;
    ACU_TRY(check_options(__func__, options));
    pthread_mutex_lock(&lock);
    const int code = find_or_add(__func__, options, dtype);
    pthread_mutex_unlock(&lock);
    return code;
}
