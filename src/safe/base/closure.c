/* Closures that graphs keep. */
#include "safe/base/closure.h"

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

void acu_closure_run(void *kept) {
    const acu_closure *closure = &((acu_kept_closure *)kept)->closure;
    acu_callback_begin();
    closure->call(closure->data);
    acu_callback_end();
}
