// Graphs that kernels launch, and nodes that kernels change.
// options: -rdc=true -arch=compute_80 -code=compute_80 -lcudadevrt
#include "check.h"
#include <cstring>

static long wrong;

static void check(bool right, int line) {
    wrong += !right;
    if (!right)
        std::fprintf(stderr, "line %d\n", line);
}

#define CHECK(condition) check(condition, __LINE__)

__global__ void note(int *list, int what) {
    if (threadIdx.x == 0 && blockIdx.x == 0)
        list[atomicAdd(list, 1) + 1] = what * gridDim.x;
}

// What each launch answers, in the threads of one block, one after the other.
__global__ void launch(cudaGraphExec_t exec, cudaStream_t stream, int times, int *answers) {
    for (int thread = 0; thread < times; thread++) {
        if (threadIdx.x == thread)
            answers[thread] = cudaGraphLaunch(exec, stream);
        __syncthreads();
    }
}

// Runs its own graph until the list has so many marks.
__global__ void again(int *list, int count, int *answer) {
    list[++list[0]] = 5;
    if (list[0] < count)
        *answer = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
}

__global__ void change(cudaGraphDeviceNode_t node, int what, int value, int *answer) {
    if (what == 0)
        *answer = cudaGraphKernelNodeSetEnabled(node, value);
    else if (what == 1)
        *answer = cudaGraphKernelNodeSetGridDim(node, dim3(value));
    else if (what == 2)
        *answer = cudaGraphKernelNodeSetParam(node, 8, value);
    else {
        __align__(8) char space[2 * sizeof(cudaGraphKernelNodeUpdate)];
        auto *updates = (cudaGraphKernelNodeUpdate *)space;
        updates[0].node = updates[1].node = node;
        updates[0].field = cudaGraphKernelNodeFieldGridDim;
        updates[0].updateData.gridDim = dim3(2);
        updates[1].field = cudaGraphKernelNodeFieldParam;
        updates[1].updateData.param.pValue = &value;
        updates[1].updateData.param.offset = 8;
        updates[1].updateData.param.size = sizeof value;
        *answer = cudaGraphKernelNodeUpdatesApply(updates, 2);
    }
}

__global__ void current(unsigned long long *exec) {
    *exec = (unsigned long long)cudaGetCurrentGraphExec();
}

template <typename... P>
static cudaGraphNode_t add(cudaGraph_t graph, cudaGraphNode_t after, int threads,
                           void (*kernel)(P...), P... arguments) {
    void *args[] = {&arguments...};
    cudaKernelNodeParams params = {};
    params.func = (void *)kernel;
    params.gridDim = 1;
    params.blockDim = threads;
    params.kernelParams = args;
    cudaGraphNode_t node;
    CALL(cudaGraphAddKernelNode(&node, graph, after ? &after : nullptr, after ? 1 : 0, &params));
    return node;
}

static cudaGraphExec_t instantiate(cudaGraph_t graph, bool for_kernels) {
    cudaGraphExec_t exec;
    CALL(
        cudaGraphInstantiate(&exec, graph, for_kernels ? cudaGraphInstantiateFlagDeviceLaunch : 0));
    CALL(cudaGraphUpload(exec, 0));
    CALL(cudaDeviceSynchronize());
    return exec;
}

static cudaGraphExec_t marking(int *list, int what) {
    cudaGraph_t graph;
    CALL(cudaGraphCreate(&graph, 0));
    add(graph, nullptr, 1, note, list, what);
    return instantiate(graph, true);
}

static void run(cudaGraph_t graph, bool for_kernels = false) {
    CALL(cudaGraphLaunch(instantiate(graph, for_kernels), 0));
    CALL(cudaDeviceSynchronize());
}

// Launches the graph so often from a kernel, and returns how often that was no error.
static int count_good(cudaGraphExec_t exec, cudaStream_t stream, int times, int *answers,
                      int error) {
    cudaGraph_t graph;
    CALL(cudaGraphCreate(&graph, 0));
    add(graph, nullptr, 32, launch, exec, stream, times, answers);
    run(graph);
    int good = 0;
    for (int n = 0; n < times; n++) {
        good += answers[n] == 0;
        CHECK(answers[n] == 0 || answers[n] == error);
    }
    return good;
}

int main() {
    int *list, *answers;
    CALL(cudaMallocManaged(&list, 64 * sizeof *list));
    CALL(cudaMallocManaged(&answers, 64 * sizeof *answers));
    memset(list, 0, 64 * sizeof *list);

    // Three named streams; the marks of 10 and 30 come in any order, beside 1 and 2.
    cudaGraph_t graph;
    CALL(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t at = add(graph, nullptr, 1, note, list, 1);
    at = add(graph, at, 32, launch, marking(list, 20), cudaStreamGraphTailLaunch, 1, answers);
    at =
        add(graph, at, 32, launch, marking(list, 10), cudaStreamGraphFireAndForget, 1, answers + 1);
    at = add(graph, at, 32, launch, marking(list, 30), cudaStreamGraphFireAndForgetAsSibling, 1,
             answers + 2);
    add(graph, at, 1, note, list, 2);
    run(graph);
    CHECK(answers[0] == 0 && answers[1] == 0 && answers[2] == 0);
    CHECK(list[0] == 5 && list[1] == 1);
    int sum = 0, tail = 0, beside = 0;
    for (int n = 1; n <= 5; n++) {
        sum += list[n];
        tail = list[n] == 20 ? n : tail;
        beside = list[n] == 10 || list[n] == 2 ? n : beside;
    }
    CHECK(sum == 63 && tail > beside);

    list[0] = 0;
    CALL(cudaGraphCreate(&graph, 0));
    add(graph, nullptr, 1, again, list, 7, answers);
    run(graph, true);
    CHECK(answers[0] == 0 && list[0] == 7);

    // What CUDA refuses: streams that are not of graphs, a second launch, a graph that was not
    // uploaded. One that is not for kernels would end the context (700).
    list[0] = 0;
    cudaGraphExec_t exec = marking(list, 1);
    CHECK(count_good(exec, cudaStreamGraphTailLaunch, 3, answers, cudaErrorInvalidValue) == 1);
    CHECK(count_good(exec, 0, 2, answers, cudaErrorInvalidValue) == 0);
    CHECK(list[0] == 1);
    CALL(cudaGraphCreate(&graph, 0));
    add(graph, nullptr, 1, note, list, 1);
    CALL(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch));
    CHECK(count_good(exec, cudaStreamGraphTailLaunch, 1, answers, cudaErrorInvalidValue) == 0);

    const int marks[] = {0, 15, 8, 16}, values[] = {0, 5, 8, 8};
    for (int what = 0; what < 4; what++) {
        list[0] = 0;
        CALL(cudaGraphCreate(&graph, 0));
        cudaGraphNode_t second = add(graph, nullptr, 1, note, list, 3);
        cudaKernelNodeAttrValue value = {};
        value.deviceUpdatableKernelNode.deviceUpdatable = 1;
        CALL(cudaGraphKernelNodeSetAttribute(second, cudaLaunchAttributeDeviceUpdatableKernelNode,
                                             &value));
        cudaGraphNode_t first =
            add(graph, nullptr, 1, change, value.deviceUpdatableKernelNode.devNode, what,
                values[what], answers);
        CALL(cudaGraphAddDependencies(graph, &first, &second, nullptr, 1));
        run(graph);
        CHECK(answers[0] == 0);
        CHECK(list[0] == (marks[what] != 0) && (!list[0] || list[1] == marks[what]));
    }

    // Kernels know the executable graph only if kernels may launch it.
    unsigned long long *known;
    CALL(cudaMallocManaged(&known, 3 * sizeof *known));
    current<<<1, 1>>>(known);
    CALL(cudaDeviceSynchronize());
    for (int for_kernels = 0; for_kernels < 2; for_kernels++) {
        CALL(cudaGraphCreate(&graph, 0));
        add(graph, nullptr, 1, current, known + 1 + for_kernels);
        run(graph, for_kernels);
    }
    CHECK(known[0] == 0 && known[1] == 0 && known[2] != 0);
    return finish("graphs", wrong);
}
