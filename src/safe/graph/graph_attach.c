/* Data that raw graphs own: CUDA's user objects. */
#include "safe/graph/graph.h"

#include <anycuda/stream.h>

#include <stdlib.h>

/* Is called once, on a thread of CUDA, when no raw graph has the data any more. */
static void destroy_data(void *data) {
    acu_closure *closure = data;
    acu_callback_begin();
    if (closure->destroy)
        closure->destroy(closure->data);
    acu_callback_end();
    free(closure);
}

/* Gives the graph the closure, which CUDA has from then on. *taken: CUDA destroys the data, also
 * where this fails. Returns CUDA's code. */
static int attach(acu_graph *graph, acu_closure *closure, bool *taken) {
    cudaUserObject_t object = NULL;
    int code = (int)cudaUserObjectCreate(&object, closure, destroy_data, 1,
                                         cudaUserObjectNoDestructorSync);
    *taken = !code;
    if (code)
        return code;
    acu_graph_lock();
    code = (int)cudaGraphRetainUserObject(graph->raw, object, 1, cudaGraphUserObjectMove);
    acu_graph_unlock();
    if (code) {
        acu_saved_record before;
        acu_record_save(&before);
        if (cudaUserObjectRelease(object, 1) != cudaSuccess)
            acu_record_release_error();
        acu_record_restore(&before);
    }
    return code;
}

static int attach_data(const char *call, acu_graph *graph, const acu_closure *closure,
                       bool *taken) {
    if (!acu_is(graph, &acu_graph_class))
        return acu_object_refuse(call, graph, &acu_graph_class);
    acu_closure *copy = malloc(sizeof *copy);
    if (!copy)
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for what the graph owns");
    *copy = *closure;
    const int code = attach(graph, copy, taken);
    if (!*taken)
        free(copy);
    return acu_outcome(call, graph, code);
}

acu_result acu_graph_attach_data(acu_graph *graph, acu_closure closure) {
    ACU_SCOPE();
    bool taken = false;
    const int code = attach_data(__func__, graph, &closure, &taken);
    if (code && !taken && closure.destroy)
        closure.destroy(closure.data);
    return code;
}
