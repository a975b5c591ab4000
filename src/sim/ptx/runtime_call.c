/* Calls of CUDA's device runtime: their arguments are read, and the machine does them. */
#include "sim/ptx/runtime_call.h"

#include "sim/ptx/access.h"
#include "sim/ptx/device_call.h"
#include "sim/ptx/grid.h"

#include <string.h>

/* The functions by the names that nvcc has for them since CUDA 12, without what those begin with
 * that are not of graphs. */
static const struct {
    const char *name;
    ptx_runtime_function function;
    unsigned char out_size; /* bytes that it writes where its first argument points to */
} functions[] = {
    {"GetLastError", PTX_RUNTIME_GET_LAST_ERROR, 0},
    {"PeekAtLastError", PTX_RUNTIME_PEEK_AT_LAST_ERROR, 0},
    {"GetErrorName", PTX_RUNTIME_GET_ERROR_NAME, 0},
    {"GetErrorString", PTX_RUNTIME_GET_ERROR_STRING, 0},
    {"GetDevice", PTX_RUNTIME_GET_DEVICE, 4},
    {"GetDeviceCount", PTX_RUNTIME_GET_DEVICE_COUNT, 4},
    {"DeviceGetAttribute", PTX_RUNTIME_GET_ATTRIBUTE, 4},
    {"DeviceGetLimit", PTX_RUNTIME_GET_LIMIT, 8},
    {"DeviceGetCacheConfig", PTX_RUNTIME_GET_CACHE_CONFIG, 4},
    {"DeviceGetSharedMemConfig", PTX_RUNTIME_GET_BANKS, 4},
    {"RuntimeGetVersion", PTX_RUNTIME_GET_VERSION, 4},
    {"FuncGetAttributes", PTX_RUNTIME_FUNCTION_ATTRIBUTES, PTX_RUNTIME_FUNCTION_BYTES},
    {"OccupancyMaxActiveBlocksPerMultiprocessor", PTX_RUNTIME_OCCUPANCY, 4},
    {"OccupancyMaxActiveBlocksPerMultiprocessorWithFlags", PTX_RUNTIME_OCCUPANCY, 4},
    {"Malloc", PTX_RUNTIME_MALLOC, 8},
    {"Free", PTX_RUNTIME_FREE, 0},
    {"MemcpyAsync", PTX_RUNTIME_COPY, 0},
    {"Memcpy2DAsync", PTX_RUNTIME_COPY_ROWS, 0},
    {"Memcpy3DAsync", PTX_RUNTIME_COPY_BOX, 0},
    {"MemsetAsync", PTX_RUNTIME_SET, 0},
    {"Memset2DAsync", PTX_RUNTIME_SET_ROWS, 0},
    {"Memset3DAsync", PTX_RUNTIME_SET_BOX, 0},
    {"StreamCreateWithFlags", PTX_RUNTIME_STREAM_CREATE, 8},
    {"StreamDestroy", PTX_RUNTIME_STREAM_DESTROY, 0},
    {"StreamWaitEvent", PTX_RUNTIME_STREAM_WAIT, 0},
    {"EventCreateWithFlags", PTX_RUNTIME_EVENT_CREATE, 8},
    {"EventRecord", PTX_RUNTIME_EVENT_RECORD, 0},
    {"EventRecordWithFlags", PTX_RUNTIME_EVENT_RECORD, 0},
    {"EventDestroy", PTX_RUNTIME_EVENT_DESTROY, 0},
    {"GetParameterBuffer", PTX_RUNTIME_PARAMETER_BUFFER, 0},
    {"GetParameterBufferV2", PTX_RUNTIME_LAUNCH_BUFFER, 0},
    {"LaunchDevice", PTX_RUNTIME_LAUNCH_KERNEL, 0},
    {"LaunchDeviceV2", PTX_RUNTIME_LAUNCH, 0},
    {"cudaGraphLaunch", PTX_RUNTIME_GRAPH_LAUNCH, 0},
    {"cudaGraphKernelNodeSetParam", PTX_RUNTIME_NODE_SET_PARAM, 0},
    {"cudaGraphKernelNodeSetEnabled", PTX_RUNTIME_NODE_SET_ENABLED, 0},
    {"cudaGraphKernelNodeSetGridDim", PTX_RUNTIME_NODE_SET_GRID, 0},
    {"cudaGraphKernelNodeUpdatesApply", PTX_RUNTIME_NODE_UPDATES, 0},
};

/* A function with a stream has two names; one is for the default stream of a thread, which is the
 * block's as well. */
int acu_ptx_runtime_find(const char *name) {
    static const char begin[] = "__cudaCDP2", of_graphs[] = "cudaGraph", end[] = "_ptsz";
    if (strncmp(name, begin, strlen(begin)) == 0)
        name += strlen(begin);
    else if (strncmp(name, of_graphs, strlen(of_graphs)) != 0)
        return -1;
    for (size_t n = 0; n < sizeof functions / sizeof *functions; n++) {
        const size_t length = strlen(functions[n].name);
        if (strncmp(name, functions[n].name, length) == 0 &&
            (!name[length] || strcmp(name + length, end) == 0))
            return (int)n;
    }
    return -1;
}

static void read_arguments(const ptx_warp *w, const ptx_device_call *from, unsigned lane,
                           ptx_runtime_call *call) {
    for (unsigned n = 0; n < PTX_RUNTIME_ARGUMENTS; n++)
        if (from->sizes[n] > 8 && from->sizes[n] <= sizeof call->large[n])
            memcpy(call->large[n], acu_ptx_call_place(w, from, n, lane), from->sizes[n]);
        else if (from->sizes[n])
            call->arguments[n] = acu_ptx_call_argument(w, from, n, lane);
}

bool acu_ptx_runtime_of_graphs(int number) {
    return functions[number].function >= PTX_RUNTIME_GRAPH_LAUNCH;
}

bool acu_ptx_runtime_launches_graphs(int number) {
    return functions[number].function == PTX_RUNTIME_GRAPH_LAUNCH;
}

/* ---- calls ---- */

/* Lets the machine do the call. */
static void do_call(ptx_warp *w, const ptx_op *op, unsigned lane, ptx_runtime_call *call) {
    const ptx_machine *machine = w->worker->launch->machine;
    machine->runtime(machine->data, call);
    if (call->fault)
        acu_ptx_fail(w, lane, op, call->fault, 0, "%s", call->what);
}

/* Sets bytes of a node's parameters, which the thread has anywhere. */
static void set_param(ptx_warp *w, const ptx_op *op, unsigned lane, ptx_runtime_call *call) {
    const uint64_t value = call->arguments[2], size = call->arguments[3];
    if (value)
        call->in = size ? acu_ptx_memory_at(w, op, lane, PTX_GENERIC, value, size, 1, false) : "";
    do_call(w, op, lane, call);
}

/* cudaGraphKernelNodeUpdate, as it is in memory. */
typedef struct node_update {
    uint64_t node;
    uint32_t field, unused;
    union {
        uint32_t grid[3];
        struct {
            uint64_t value, offset, size;
        } param;
        uint32_t enabled;
    } to;
} node_update;

/* Does one update as the function for it does; an unknown one has no function. */
static void apply(ptx_warp *w, const ptx_op *op, unsigned lane, const node_update *update,
                  ptx_runtime_call *call) {
    enum { GRID = 1, PARAM, ENABLED };
    call->arguments[0] = update->node;
    if (update->field == PARAM) {
        call->function = PTX_RUNTIME_NODE_SET_PARAM;
        call->arguments[1] = update->to.param.offset;
        call->arguments[2] = update->to.param.value;
        call->arguments[3] = update->to.param.size;
        set_param(w, op, lane, call);
        return;
    }
    if (update->field == GRID) {
        call->function = PTX_RUNTIME_NODE_SET_GRID;
        memcpy(call->large[1], update->to.grid, sizeof update->to.grid);
    } else if (update->field == ENABLED) {
        call->function = PTX_RUNTIME_NODE_SET_ENABLED;
        call->arguments[1] = update->to.enabled;
    }
    do_call(w, op, lane, call);
}

/* Applies all updates, or only asks whether each can be applied; the first one that cannot be ends
 * that. */
static void apply_each(ptx_warp *w, const ptx_op *op, unsigned lane, ptx_runtime_call *call,
                       bool only_asks) {
    const uint64_t at = call->arguments[0], count = call->arguments[1];
    for (uint64_t n = 0; n < count && !call->result; n++) {
        node_update update;
        ptx_runtime_call one = {
            .function = call->function, .thread = call->thread, .only_asks = only_asks};
        memcpy(&update,
               acu_ptx_memory_at(w, op, lane, PTX_GENERIC, at + n * sizeof update, sizeof update, 8,
                                 false),
               sizeof update);
        apply(w, op, lane, &update, &one);
        call->result = one.result;
    }
}

/* Where one update is refused, none is applied. */
static void apply_all(ptx_warp *w, const ptx_op *op, unsigned lane, ptx_runtime_call *call) {
    call->result = call->arguments[0] ? 0 : 1; /* cudaErrorInvalidValue */
    apply_each(w, op, lane, call, true);
    apply_each(w, op, lane, call, false);
}

void acu_ptx_runtime_call(ptx_warp *w, const ptx_op *op) {
    const ptx_machine *machine = w->worker->launch->machine;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left), size = functions[op->value].out_size;
        ptx_runtime_call call = {.function = functions[op->value].function};
        call.thread = w->block->number * w->block->threads + (uint64_t)w->number * PTX_LANES + lane;
        if (!machine->runtime)
            acu_ptx_fail(w, lane, op, 801, 0, "there is no device runtime");
        read_arguments(w, op->more, lane, &call);
        if (size)
            call.out = acu_ptx_memory_at(w, op, lane, PTX_GENERIC, call.arguments[0], size,
                                         size > 8 ? 8 : size, true);
        if (call.function == PTX_RUNTIME_COPY_BOX)
            call.in = acu_ptx_memory_at(w, op, lane, PTX_GENERIC, call.arguments[0],
                                        PTX_RUNTIME_BOX_BYTES, 8, false);
        if (call.function == PTX_RUNTIME_NODE_UPDATES)
            apply_all(w, op, lane, &call);
        else if (call.function == PTX_RUNTIME_NODE_SET_PARAM)
            set_param(w, op, lane, &call);
        else
            do_call(w, op, lane, &call);
        acu_ptx_call_return(w, op->more, lane, call.result);
    }
}
