#include "misuse.h"

struct good good;

void *none[3];
static const char *const texts[] = {"is NULL", "was released already", "is given where"};

int begin_misuse(void **state) {
    acu_args *released = NULL;
    int code = begin_kernels(state);
    good.stream = stream_on(0);
    good.buffer = numbers_on(good.stream, 8);
    good.kernel = kernel_on(0, "nothing");
    good.module = acu_module_retain(acu_kernel_module(good.kernel));
    good.grid = acu_grid_1d(1, 1);
    OK(acu_event_create(0, NULL, &good.event));
    OK(acu_pool_create(0, NULL, &good.pool));
    OK(acu_args_create(&good.args));
    OK(acu_graph_create(&good.graph));
    OK(acu_graph_add_empty(good.graph, NULL, 0, &good.node));
    OK(acu_graph_instantiate(good.graph, NULL, &good.exec));
    OK(acu_args_create(&released));
    OK(acu_args_release(released));
    none[RELEASED] = released;
    none[OF_ANOTHER_KIND] = good.args;
    keep_reports();
    return code;
}

int end_misuse(void **state) {
    stop_reports();
    OK(acu_exec_release(good.exec));
    OK(acu_graph_release(good.graph));
    OK(acu_args_release(good.args));
    OK(acu_pool_release(good.pool));
    OK(acu_event_release(good.event));
    OK(acu_kernel_release(good.kernel));
    OK(acu_module_release(good.module));
    OK(acu_buffer_release(good.buffer));
    OK(acu_stream_release(good.stream));
    return nothing_left(state);
}

void expect_refusal(acu_result result, int how, const char *call) {
    acu_result expected = how == A_NULL ? ACU_ERROR_ARGUMENT : ACU_ERROR_HANDLE;
    const char *said = acu_last_error_message();
    bool told = strstr(said, texts[how]) || (how == A_NULL && strstr(said, "the node is invalid"));
    if (result != expected || acu_last_error() != expected || !told)
        fail_msg("%s, where it %s, is %d: %s", call, texts[how], result, said);
    if (!strstr(call, acu_last_error_details().call)) /* the function that the user called */
        fail_msg("%s says that %s failed", call, acu_last_error_details().call);
    expect_reported(call);
}

int destroyed;

static void destroy(void *data) {
    (void)data;
    destroyed++;
}

static void call(void *data) {
    (void)data;
}

const acu_closure good_closure = {call, NULL, destroy}, empty_closure = {NULL, NULL, destroy};
