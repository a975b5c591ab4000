/* Closures that graphs keep. */
#include "safe/base/closure.h"

#include <stdlib.h>
#include <string.h>

static int destroy_closure(acu_object *object) {
    const acu_closure *closure = &((acu_kept_closure *)object)->closure;
    if (closure->destroy)
        closure->destroy(closure->data);
    return 0;
}

static const acu_class closure_class = {"closure", destroy_closure, NULL, NULL};

acu_kept_closure *acu_closure_new(const char *call, const acu_closure *closure) {
    acu_kept_closure *kept = acu_object_new(call, &closure_class, sizeof *kept, -1);
    if (kept)
        kept->closure = *closure;
    return kept;
}

acu_kept_closure *acu_closure_of_bytes(const char *call, const void *bytes, size_t size) {
    const acu_closure closure = {.data = malloc(size), .destroy = free};
    acu_kept_closure *kept = closure.data ? acu_closure_new(call, &closure) : NULL;
    if (kept) {
        memcpy(closure.data, bytes, size);
        return kept;
    }
    free(closure.data);
    (void)acu_fail(call, "", ACU_ERROR_HOST_MEMORY,
                   "the host has no memory for %zu bytes that a graph keeps", size);
    return NULL;
}

void acu_closure_run(void *kept) {
    const acu_closure *closure = &((acu_kept_closure *)kept)->closure;
    acu_callback_begin();
    closure->call(closure->data);
    acu_callback_end();
}
