/* Memory: what comes and goes, the order of its uses, and its sums. */
#include "threads.h"

shared_memory shared[SHARED_MEMORIES];

memory *any_memory(const stream *on) {
    const unsigned count = on->capture == NONE ? MEMORIES : BASES;
    memory *m = &me->memories[below(count)];
    while (!m->at)
        m = &me->memories[below(count)];
    return m;
}

memory *any_host_memory(void) {
    return &me->memories[3 + below(2)];
}

/* ---- order ---- */

void leave(stream *left) {
    (void)CALL(cudaEventRecord(left->before, left->handle), "cudaEventRecord(%s.before, %s)",
               left->name, left->name);
}

/* A stream that was captured since is waited for by what was recorded before. */
void bring(memory *used, stream *to) {
    stream **home = &used->home[to->capture + 1], *from = *home;
    *home = to;
    if (!from || from == to)
        return;
    if (to->capture == NONE && from->capture != NONE) {
        (void)CALL(cudaStreamWaitEvent(to->handle, from->before, 0),
                   "cudaStreamWaitEvent(%s, %s.before)", to->name, from->name);
        return;
    }
    join(to, from);
}

void bring_all(unsigned uses, stream *to) {
    for (unsigned i = 0; i < BASES; i++)
        if (uses & 1U << i)
            bring(&me->memories[i], to);
}

void wait_for(memory *used) {
    const stream *home = used->home[0];
    if (!home)
        return;
    if (home->capture == NONE)
        (void)CALL(cudaStreamSynchronize(home->handle), "cudaStreamSynchronize(%s)", home->name);
    else
        (void)CALL(cudaEventSynchronize(home->before), "cudaEventSynchronize(%s.before)",
                   home->name);
}

/* ---- sums ---- */

static void print_sum(void) {
    uint64_t sum = 14695981039346656037U; /* FNV-1a */
    for (unsigned i = 0; i < WORDS; i++)
        sum = (sum ^ me->bytes[i]) * 1099511628211U;
    wrote(" %08x", (unsigned)(sum >> 32 ^ sum));
}

static void check_on(const memory *checked, cudaStream_t on) {
    if (CALL(cudaMemcpyAsync(me->bytes, checked->at, sizeof me->bytes, cudaMemcpyDefault, on),
             "cudaMemcpyAsync(bytes, %s)", checked->name))
        return;
    if (!CALL(cudaStreamSynchronize(on), "cudaStreamSynchronize()"))
        print_sum();
}

void check(memory *checked) {
    stream *on = any_free_stream();
    if (!on)
        return;
    bring(checked, on);
    check_on(checked, on->handle);
}

void check_shared(memory *checked) {
    check_on(checked, cudaStreamPerThread);
}

static void check_any(void) {
    memory *m = &me->memories[below(MEMORIES)];
    if (m->at)
        check(m);
}

/* ---- memory that comes and goes ---- */

static memory *empty_memory(void) {
    for (memory *m = me->memories + BASES; m < me->memories + MEMORIES; m++)
        if (!m->at)
            return m;
    return NULL;
}

static cudaError_t allocate_as(memory *m, memory_kind kind, const stream *on) {
    const size_t size = WORDS * sizeof *m->at;
    void **at = (void **)&m->at;
    switch (kind) {
    case DEVICE:
        return CALL(cudaMalloc(at, size), "cudaMalloc(%s)", m->name);
    case ASYNC:
        return CALL(cudaMallocAsync(at, size, on->handle), "cudaMallocAsync(%s, %s)", m->name,
                    on->name);
    case POOLED:
        return CALL(cudaMallocFromPoolAsync(at, size, me->pool, on->handle),
                    "cudaMallocFromPoolAsync(%s, %s)", m->name, on->name);
    default:
        return CALL(cudaHostAlloc(at, size, cudaHostAllocDefault), "cudaHostAlloc(%s)", m->name);
    }
}

static void allocate(void) {
    memory *m = empty_memory();
    stream *on = any_free_stream();
    const memory_kind kind = (memory_kind)ONE_OF(DEVICE, ASYNC, ASYNC, POOLED, POOLED, PINNED);
    if (!m || !on || (kind == POOLED && !me->pool))
        return;
    if (allocate_as(m, kind, on)) {
        m->at = NULL;
        return;
    }
    m->kind = kind;
    memset(m->home, 0, sizeof m->home);
    m->home[0] = on;
    (void)CALL(cudaMemsetAsync(m->at, 7, WORDS * sizeof *m->at, on->handle),
               "cudaMemsetAsync(%s, %s)", m->name, on->name);
}

static void free_memory(void) {
    memory *m = &me->memories[BASES + below(MEMORIES - BASES)];
    stream *on = any_free_stream();
    void *at = m->at;
    if (!at || !on)
        return;
    if (m->kind == ASYNC || m->kind == POOLED)
        bring(m, on);
    else
        wait_for(m);
    m->at = NULL;
    if (m->kind == DEVICE)
        (void)CALL(cudaFree(at), "cudaFree(%s)", m->name);
    else if (m->kind == PINNED)
        (void)CALL(cudaFreeHost(at), "cudaFreeHost(%s)", m->name);
    else
        (void)CALL(cudaFreeAsync(at, on->handle), "cudaFreeAsync(%s, %s)", m->name, on->name);
}

static void allocate_wrongly(void) {
    void *made = NULL;
    const stream *on = any_free_stream();
    switch (below(4)) {
    case 0:
        (void)CALL(cudaMalloc(NULL, 8), "cudaMalloc(NULL)");
        break;
    case 1:
        (void)CALL(cudaMalloc(&made, (size_t)1 << 50), "cudaMalloc(1 PiB)");
        break;
    case 2:
        (void)CALL(cudaHostAlloc(&made, 8, 99), "cudaHostAlloc(flags 99)");
        break;
    default:
        if (on)
            (void)CALL(cudaFreeAsync(me->bytes, on->handle), "cudaFreeAsync(bytes, %s)", on->name);
    }
}

/* ---- a pool of the thread's own ---- */

static void create_pool(void) {
    const struct cudaMemPoolProps properties = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice, .id = 0}};
    if (!me->pool && CALL(cudaMemPoolCreate(&me->pool, &properties), "cudaMemPoolCreate()"))
        me->pool = NULL;
}

static void use_pool(void) {
    uint64_t value = below(2) << 22;
    if (!me->pool)
        return;
    switch (below(3)) {
    case 0:
        (void)CALL(cudaMemPoolSetAttribute(me->pool, cudaMemPoolAttrReleaseThreshold, &value),
                   "cudaMemPoolSetAttribute(threshold, %u)", (unsigned)value);
        break;
    case 1:
        (void)CALL(cudaMemPoolGetAttribute(me->pool, cudaMemPoolAttrUsedMemCurrent, &value),
                   "cudaMemPoolGetAttribute(used)");
        wrote(" %u", (unsigned)value);
        break;
    default:
        (void)CALL(cudaMemPoolTrimTo(me->pool, value), "cudaMemPoolTrimTo(%u)", (unsigned)value);
    }
}

/* ---- the legacy stream ---- */

static void copy_and_wait(void) {
    memory *to = any_memory(legacy_stream()), *from = any_memory(legacy_stream());
    if (to == from)
        return;
    bring(to, legacy_stream());
    bring(from, legacy_stream());
    (void)CALL(cudaMemcpy(to->at, from->at, WORDS * sizeof *to->at, cudaMemcpyDefault),
               "cudaMemcpy(%s, %s)", to->name, from->name);
}

static void fill_and_wait(void) {
    memory *to = any_memory(legacy_stream());
    const unsigned byte = below(256);
    bring(to, legacy_stream());
    (void)CALL(cudaMemset(to->at, (int)byte, WORDS), "cudaMemset(%s, %u)", to->name, byte);
}

static void wait_for_device(void) {
    (void)CALL(cudaDeviceSynchronize(), "cudaDeviceSynchronize()");
}

const operation memory_operations[] = {
    OPERATION(check_any, 6, UNSAFE),       OPERATION(allocate, 6, UNSAFE),
    OPERATION(free_memory, 5, UNSAFE),     OPERATION(allocate_wrongly, 1, UNSAFE),
    OPERATION(create_pool, 2, UNSAFE),     OPERATION(use_pool, 3, UNSAFE),
    OPERATION(copy_and_wait, 4, LEGACY),   OPERATION(fill_and_wait, 3, LEGACY),
    OPERATION(wait_for_device, 2, LEGACY), OPERATION(NULL, 0, SAFE),
};
