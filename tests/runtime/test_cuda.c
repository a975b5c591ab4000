/*
 * CUDA's back end by its table: devices, queues, memory, copies, marks. Programs and replays are in
 * test_cuda_program.c, calls of CUDA that fail in scenarios_cuda.c.
 */
#include "cuda_device.h"

#include <anycuda/cudart.h>
#include <pthread.h>

#define MACHINE(m, device)                                                                         \
    __attribute__((cleanup(machine_cleanup))) machine m = {NULL, NULL};                            \
    DONE(open_machine(device, &(m)))

static acu_backend_memory *memory_of(const machine *m, uint64_t bytes) {
    acu_backend_memory *memory = NULL;
    DONE(table->memory_allocate(m->queue, bytes, &memory));
    assert_non_null(memory);
    return memory;
}

static void expect_bytes(const machine *m, acu_backend_memory *memory, const unsigned char *bytes,
                         size_t size) {
    unsigned char *there = malloc(size);
    DONE(table->read(m->queue, memory, 0, there, size));
    for (size_t i = 0; i < size; i++)
        if (there[i] != bytes[i])
            fail_msg("byte %zu of %zu is %u, not %u", i, size, there[i], bytes[i]);
    free(there);
}

static void count_up(unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 7 + 1);
}

/* ---- devices ---- */

static void devices_are_described(void **state) {
    (void)state;
    int count = 0;
    acu_place_info info;
    DONE(table->count_devices(&count));
    assert_true(count >= 1);
    MACHINE(m, count - 1);
    DONE(table->device_get_info(m.device, &info));
    assert_true(info.memory > 0 && info.largest_block > 0 && info.max_group_items >= 512);
    assert_true(*info.name && info.alignment >= 16 && info.max_group[0] >= info.max_group[2]);
    assert_true((info.can & ACU_CAN_CAPTURE) && (info.can & ACU_CAN_WRAP));
    assert_true(table->computes(m.device, ACU_F32) && table->computes(m.device, ACU_BF16));
    assert_false(table->computes(m.device, ACU_BYTES(4)));
    assert_false(table->computes(m.device, 0x20000012));
}

static void no_such_device(void **state) {
    (void)state;
    acu_backend_device *device;
    REFUSED(table->device_open(99, &device), 101, "99");
    assert_null(device);
}

static void without_a_driver(void **state) {
    (void)state;
    ONLY_SIMULATED("a machine has a driver, or none");
    int count = 7;
    acu_sim_reset("driver=none");
    REFUSED(table->count_devices(&count), 35, "driver");
    assert_int_equal(count, 0);
    acu_sim_reset(NULL);
}

/* ---- memory ---- */

static void any_position_is_written_and_read(void **state) {
    (void)state;
    enum { SIZE = 300 };
    unsigned char bytes[SIZE], back[SIZE];
    MACHINE(m, 0);
    acu_backend_memory *memory = memory_of(&m, SIZE);
    count_up(bytes, SIZE);
    DONE(table->write(m.queue, memory, 0, bytes, SIZE));
    DONE(table->write(m.queue, memory, 3, bytes, 5));
    memmove(bytes + 3, bytes, 5);
    expect_bytes(&m, memory, bytes, SIZE);
    DONE(table->read(m.queue, memory, 299, back, 1));
    assert_int_equal(back[0], bytes[299]);
    table->memory_free(m.queue, memory, SIZE);
}

/* Large writes go another way than small ones. */
static void the_host_may_change_what_it_wrote(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 4096, (1u << 20u) + 1, 20u << 20u};
    MACHINE(m, 0);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        unsigned char *bytes = malloc(sizes[i]), *copy = malloc(sizes[i]);
        acu_backend_memory *memory = memory_of(&m, sizes[i]);
        count_up(bytes, sizes[i]);
        memcpy(copy, bytes, sizes[i]);
        DONE(table->write(m.queue, memory, 0, bytes, sizes[i]));
        memset(bytes, 0, sizes[i]);
        expect_bytes(&m, memory, copy, sizes[i]);
        table->memory_free(m.queue, memory, sizes[i]);
        free(bytes);
        free(copy);
    }
}

/* The device copies from pinned memory by itself, also from amid of it, and has done so when the
 * write returns. */
static void pinned_memory_is_written_from(void **state) {
    (void)state;
    static const size_t sizes[] = {4096, 256u << 10u, (1u << 20u) + 1, 20u << 20u};
    const size_t ahead = 3;
    MACHINE(m, 0);
    acu_raw raw;
    DONE(table->queue_get_raw(m.queue, &raw));
    for (size_t i = 0; i < COUNT(sizes); i++) {
        void *pinned = NULL;
        unsigned char *copy = malloc(sizes[i]);
        acu_backend_memory *memory = memory_of(&m, sizes[i]);
        assert_int_equal(cudaHostAlloc(&pinned, sizes[i] + ahead, cudaHostAllocDefault), 0);
        unsigned char *bytes = (unsigned char *)pinned + ahead;
        count_up(bytes, sizes[i]);
        memcpy(copy, bytes, sizes[i]);
        DONE(table->write(m.queue, memory, 0, bytes, sizes[i]));
        if (sizes[i] >= 256u << 10u)
            assert_int_equal(cudaStreamQuery(raw.handle), 0);
        memset(bytes, 0, sizes[i]);
        expect_bytes(&m, memory, copy, sizes[i]);
        table->memory_free(m.queue, memory, sizes[i]);
        assert_int_equal(cudaFreeHost(pinned), 0);
        free(copy);
    }
}

static void too_much_memory_is_refused(void **state) {
    (void)state;
    acu_place_info info;
    acu_backend_memory *memory = NULL;
    MACHINE(m, 0);
    DONE(table->device_get_info(m.device, &info));
    REFUSED(table->memory_allocate(m.queue, info.memory + 1, &memory), ACU_OUT_OF_MEMORY, "room");
    REFUSED(table->memory_allocate(m.queue, UINT64_MAX, &memory), ACU_OUT_OF_MEMORY, "room");
    assert_null(memory);
    memory = memory_of(&m, 16); /* and the queue still works */
    table->memory_free(m.queue, memory, 16);
}

/* What another queue gave back has room for this one, at the latest after a trim. */
static void freed_memory_serves_another_queue(void **state) {
    (void)state;
    ONLY_SIMULATED("others may use a GPU's memory");
    acu_place_info info;
    acu_backend_queue *other;
    acu_backend_memory *memory;
    MACHINE(m, 0);
    DONE(table->device_get_info(m.device, &info));
    DONE(make_queue(&m, &other));
    const uint64_t most = info.memory / 4 * 3;
    memory = memory_of(&m, most);
    table->memory_free(m.queue, memory, most);
    table->device_trim(m.device);
    DONE(table->memory_allocate(other, most, &memory));
    table->memory_free(other, memory, most);
    table->queue_destroy(other);
}

static void a_chosen_allocator_has_the_memory(void **state) {
    (void)state;
    acu_allocator *allocator;
    acu_allocator_info info;
    OK(acu_allocator_create(0, NULL, &allocator));
    OK(acu_allocator_set_current(allocator));
    {
        MACHINE(m, 0);
        acu_backend_memory *memory = memory_of(&m, 1000);
        OK(acu_allocator_get_info(allocator, &info));
        assert_true(info.used >= 1000);
        table->memory_free(m.queue, memory, 1000);
        DONE(table->queue_synchronize(m.queue));
        table->device_trim(m.device);
        OK(acu_allocator_get_info(allocator, &info));
        assert_true(info.used == 0 && info.reserved == 0);
    }
    OK(acu_allocator_clear_current(0));
    OK(acu_allocator_release(allocator));
}

static void existing_memory_is_wrapped(void **state) {
    (void)state;
    acu_buffer *buffer;
    acu_raw raw;
    void *address = NULL, *mine = malloc(64);
    unsigned char bytes[64];
    acu_backend_memory *memory = NULL, *second = NULL;
    MACHINE(m, 0);
    OK(acu_buffer_create_with(stream_of(m.queue), ACU_U8, 64,
                              &(acu_buffer_options){.memory = ACU_MEMORY_DEVICE}, &buffer));
    char *there = acu_buffer_raw(buffer);
    DONE(table->memory_wrap(m.device, there, 64, &memory));
    DONE(table->memory_wrap(m.device, there + 32, 16, &second));
    DONE(table->memory_get_address(m.device, second, &address));
    DONE(table->memory_get_raw(m.device, second, &raw));
    assert_ptr_equal(address, there + 32);
    assert_true(raw.kind == ACU_RAW_POINTER && raw.handle == address);
    count_up(bytes, 64);
    DONE(table->write(m.queue, memory, 0, bytes, 64));
    expect_bytes(&m, second, bytes + 32, 16);
    table->memory_unwrap(m.device, second);
    table->memory_unwrap(m.device, memory);
    REFUSED(table->memory_wrap(m.device, mine, 64, &memory), ACU_ERROR_ARGUMENT, "no memory that");
    REFUSED(table->memory_wrap(m.device, NULL, 64, &memory), ACU_ERROR_ARGUMENT, "no memory that");
    assert_null(memory);
    OK(acu_buffer_release(buffer));
    free(mine);
}

/* CUDA knows how long an allocation is, but not that a pool has given out only a part of it. */
static void wrapped_memory_ends_with_its_allocation(void **state) {
    (void)state;
    acu_buffer *buffer;
    acu_backend_memory *memory;
    MACHINE(m, 0);
    OK(acu_buffer_create_with(stream_of(m.queue), ACU_U8, 4096,
                              &(acu_buffer_options){.memory = ACU_MEMORY_DEVICE}, &buffer));
    REFUSED(table->memory_wrap(m.device, acu_buffer_raw(buffer), 1u << 30u, &memory),
            ACU_ERROR_RANGE, "allocation");
    OK(acu_buffer_release(buffer));
}

/* ---- copies ---- */

static void ranges_may_overlap(void **state) {
    (void)state;
    enum { SIZE = 1000 };
    static const size_t ranges[][3] = {{0, 1, 999}, {1, 0, 999},   {100, 400, 500}, {400, 100, 500},
                                       {5, 5, 100}, {0, 500, 500}, {500, 0, 500},   {3, 2, 1}};
    unsigned char bytes[SIZE];
    MACHINE(m, 0);
    acu_backend_memory *memory = memory_of(&m, SIZE);
    count_up(bytes, SIZE);
    DONE(table->write(m.queue, memory, 0, bytes, SIZE));
    for (size_t i = 0; i < COUNT(ranges); i++) {
        const size_t to = ranges[i][0], from = ranges[i][1], size = ranges[i][2];
        memmove(bytes + to, bytes + from, size);
        DONE(table->copy(m.queue, memory, to, memory, from, size));
    }
    expect_bytes(&m, memory, bytes, SIZE);
    table->memory_free(m.queue, memory, SIZE);
}

static void memories_are_copied(void **state) {
    (void)state;
    unsigned char bytes[100];
    MACHINE(m, 0);
    acu_backend_memory *a = memory_of(&m, 100), *b = memory_of(&m, 100);
    count_up(bytes, 100);
    DONE(table->write(m.queue, a, 0, bytes, 100));
    DONE(table->copy(m.queue, b, 0, a, 0, 100));
    DONE(table->copy(m.queue, b, 7, a, 50, 33));
    memmove(bytes + 7, bytes + 50, 33);
    expect_bytes(&m, b, bytes, 100);
    table->memory_free(m.queue, a, 100);
    table->memory_free(m.queue, b, 100);
}

static void devices_copy_to_each_other(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    unsigned char bytes[100], more[100] = {0};
    MACHINE(m, 0);
    MACHINE(n, 1);
    acu_backend_memory *a = memory_of(&m, 100), *b = memory_of(&n, 100);
    count_up(bytes, 100);
    DONE(table->write(m.queue, a, 0, bytes, 100));
    DONE(table->write(n.queue, b, 0, more, 100));
    DONE(table->queue_synchronize(n.queue));
    DONE(table->copy_peer(m.queue, n.queue, b, 10, a, 20, 50));
    DONE(table->queue_synchronize(m.queue));
    memcpy(more + 10, bytes + 20, 50);
    expect_bytes(&n, b, more, 100);
    table->memory_free(m.queue, a, 100);
    table->memory_free(n.queue, b, 100);
}

/* ---- fills ---- */

static void fill_and_compare(const machine *m, acu_backend_memory *memory, unsigned char *bytes,
                             size_t at, size_t count, size_t size) {
    unsigned char element[16];
    for (size_t i = 0; i < size; i++)
        element[i] = (unsigned char)(any(3) ? any(256) : 0x55);
    DONE(table->fill(m->queue, memory, at, count, element, size));
    for (size_t i = 0; i < count; i++)
        bytes[at + i] = element[i % size];
}

static void any_range_is_filled(void **state) {
    (void)state;
    enum { SIZE = 4096 };
    unsigned char bytes[SIZE];
    MACHINE(m, 0);
    acu_backend_memory *memory = memory_of(&m, SIZE);
    count_up(bytes, SIZE);
    DONE(table->write(m.queue, memory, 0, bytes, SIZE));
    chance_begins(17);
    for (size_t size = 1; size <= 16; size++) {
        fill_and_compare(&m, memory, bytes, 0, SIZE, size);
        for (int i = 0; i < 20; i++) {
            const size_t at = any(SIZE), rest = SIZE - at;
            const size_t most = i % 2 || rest < 40 ? rest : 40;
            fill_and_compare(&m, memory, bytes, at, 1 + any((unsigned)most), size);
        }
        expect_bytes(&m, memory, bytes, SIZE);
    }
    table->memory_free(m.queue, memory, SIZE);
}

/* ---- strided copies ---- */

enum { ROOM = 1 << 14 };

/* Chooses steps in one memory so that no two elements overlap: the dimensions are laid out one
 * within the other, in any order, with gaps, and some of them backwards. */
static void choose_steps(unsigned rank, const uint64_t *shape, size_t element, bool repeats,
                         int64_t *steps, uint64_t *at) {
    int64_t within = (int64_t)element, low = 0;
    unsigned order[4];
    for (unsigned i = 0; i < rank; i++)
        order[i] = i;
    for (unsigned i = rank; i > 1; i--) {
        const unsigned j = any(i), swap = order[j];
        order[j] = order[i - 1];
        order[i - 1] = swap;
    }
    for (unsigned i = 0; i < rank; i++) {
        const unsigned d = order[i];
        int64_t step = within + (any(2) ? (int64_t)(any(3) * element) : 0);
        within = step * (int64_t)shape[d];
        if (any(3) == 0) {
            low += step * (int64_t)(shape[d] - 1);
            step = -step;
        }
        steps[d] = repeats && any(4) == 0 ? 0 : step;
    }
    *at = (uint64_t)low + any(9);
}

static void copy_as_the_host(const acu_backend_strided *s, unsigned char *to,
                             const unsigned char *from, unsigned rank, int64_t to_at,
                             int64_t from_at) {
    if (rank == s->rank) {
        memcpy(to + to_at, from + from_at, s->element_bytes);
        return;
    }
    for (uint64_t i = 0; i < s->shape[rank]; i++)
        copy_as_the_host(s, to, from, rank + 1, to_at + (int64_t)i * s->to[rank],
                         from_at + (int64_t)i * s->from[rank]);
}

static void copy_strided_once(const machine *m, acu_backend_memory *to, acu_backend_memory *from,
                              unsigned char *mine, const unsigned char *source) {
    static const size_t elements[] = {1, 2, 3, 4, 5, 8, 12, 16, 17};
    uint64_t shape[4];
    int64_t to_steps[4], from_steps[4];
    acu_backend_strided s = {.element_bytes = elements[any(COUNT(elements))],
                             .rank = 1 + any(4),
                             .shape = shape,
                             .to = to_steps,
                             .from = from_steps,
                             .to_size = ROOM,
                             .from_size = ROOM};
    for (unsigned i = 0; i < s.rank; i++)
        shape[i] = 1 + any(4);
    choose_steps(s.rank, shape, s.element_bytes, false, to_steps, &s.to_at);
    choose_steps(s.rank, shape, s.element_bytes, true, from_steps, &s.from_at);
    /* a step of 0 may leave the first element too high, but never too low */
    int64_t to_end = (int64_t)s.to_at, from_end = (int64_t)s.from_at;
    for (unsigned i = 0; i < s.rank; i++) {
        to_end += to_steps[i] > 0 ? to_steps[i] * (int64_t)(shape[i] - 1) : 0;
        from_end += from_steps[i] > 0 ? from_steps[i] * (int64_t)(shape[i] - 1) : 0;
    }
    if (to_end + (int64_t)s.element_bytes > ROOM || from_end + (int64_t)s.element_bytes > ROOM)
        return;
    DONE(table->copy_strided(m->queue, to, from, &s));
    copy_as_the_host(&s, mine, source, 0, (int64_t)s.to_at, (int64_t)s.from_at);
}

static void layouts_are_changed(void **state) {
    (void)state;
    static unsigned char mine[ROOM], source[ROOM];
    MACHINE(m, 0);
    acu_backend_memory *to = memory_of(&m, ROOM), *from = memory_of(&m, ROOM);
    count_up(source, ROOM);
    memset(mine, 0, ROOM);
    DONE(table->write(m.queue, from, 0, source, ROOM));
    DONE(table->write(m.queue, to, 0, mine, ROOM));
    chance_begins(5);
    for (int i = 0; i < 300; i++) {
        copy_strided_once(&m, to, from, mine, source);
        if (i % 20 == 0)
            expect_bytes(&m, to, mine, ROOM);
    }
    expect_bytes(&m, to, mine, ROOM);
    table->memory_free(m.queue, to, ROOM);
    table->memory_free(m.queue, from, ROOM);
}

/* The bytes of an element are a dimension, unless the innermost one follows without a gap. */
static void many_dimensions(void **state) {
    (void)state;
    uint64_t shape[ACU_MAX_RANK];
    int64_t steps[ACU_MAX_RANK];
    unsigned char bytes[ROOM], zeros[ROOM] = {0};
    MACHINE(m, 0);
    acu_backend_memory *to = memory_of(&m, ROOM), *from = memory_of(&m, ROOM);
    for (unsigned i = 0; i < ACU_MAX_RANK; i++) {
        shape[i] = i < 10 ? 2 : 1;
        steps[i] = i < 10 ? (int64_t)4 << (9 - i) : 4;
    }
    acu_backend_strided s = {.element_bytes = 4,
                             .rank = ACU_MAX_RANK,
                             .shape = shape,
                             .to = steps,
                             .from = steps,
                             .to_size = ROOM,
                             .from_size = ROOM};
    count_up(bytes, ROOM);
    DONE(table->write(m.queue, from, 0, bytes, ROOM));
    DONE(table->write(m.queue, to, 0, zeros, ROOM));
    DONE(table->copy_strided(m.queue, to, from, &s));
    memset(bytes + 4096, 0, ROOM - 4096);
    expect_bytes(&m, to, bytes, ROOM);
    for (unsigned i = 0; i < ACU_MAX_RANK; i++)
        shape[i] = 2, steps[i] = 0;
    REFUSED(table->copy_strided(m.queue, to, from, &s), ACU_NOT_SUPPORTED, "16 dimensions");
    table->memory_free(m.queue, to, ROOM);
    table->memory_free(m.queue, from, ROOM);
}

/* ---- marks ---- */

static void marks_are_reached_in_order(void **state) {
    (void)state;
    blocker here;
    acu_backend_queue *other;
    acu_backend_mark *before, *after, *waited;
    MACHINE(m, 0);
    DONE(make_queue(&m, &other));
    DONE(table->mark_create(m.queue, &before));
    block_stream(&here, stream_of(m.queue));
    DONE(table->mark_create(m.queue, &after));
    DONE(table->mark_synchronize(before));
    assert_int_equal(table->mark_query(before), 0);
    assert_int_equal(table->mark_query(after), ACU_NOT_READY);
    DONE(table->queue_wait(other, after));
    DONE(table->mark_create(other, &waited));
    assert_int_equal(table->mark_query(waited), ACU_NOT_READY);
    table->mark_destroy(after); /* while it is waited for */
    unblock_stream(&here);
    DONE(table->mark_synchronize(waited));
    table->mark_destroy(before);
    table->queue_destroy(other);
    table->mark_destroy(waited);
    DONE(table->queue_synchronize(m.queue));
}

static void a_mark_is_used_again(void **state) {
    (void)state;
    acu_backend_mark *first, *second;
    MACHINE(m, 0);
    DONE(table->mark_create(m.queue, &first));
    table->mark_destroy(first);
    DONE(table->mark_create(m.queue, &second));
    assert_ptr_equal(first, second);
    table->mark_destroy(second);
}

static void a_mark_outlives_its_queue(void **state) {
    (void)state;
    acu_backend_mark *mark;
    acu_backend_device *device;
    MACHINE(m, 0);
    DONE(table->mark_create(m.queue, &mark));
    DONE(table->queue_synchronize(m.queue));
    table->queue_destroy(m.queue);
    m.queue = NULL;
    assert_int_equal(table->mark_query(mark), 0);
    table->mark_destroy(mark);
    device = m.device;
    assert_non_null(device);
}

/* ---- reading beside later work ---- */

static void reads_beside_later_work(void **state) {
    (void)state;
    blocker here;
    unsigned char bytes[100], back[100] = {0};
    acu_backend_mark *mark;
    MACHINE(m, 0);
    acu_backend_memory *memory = memory_of(&m, 100);
    count_up(bytes, 100);
    DONE(table->write(m.queue, memory, 0, bytes, 100));
    DONE(table->mark_create(m.queue, &mark));
    block_stream(&here, stream_of(m.queue));
    DONE(table->read_after(m.queue, mark, memory, 10, back, 90));
    assert_memory_equal(back, bytes + 10, 90);
    assert_int_equal(here.passed, 0);
    unblock_stream(&here);
    /* The stream keeps its pinned memory until its function has returned. */
    DONE(table->queue_synchronize(m.queue));
    table->mark_destroy(mark);
    table->memory_free(m.queue, memory, 100);
}

enum { READERS = 4, READS = 20 };

typedef struct reader {
    const machine *m;
    acu_backend_memory *memory;
    acu_backend_mark *mark;
    int failed;
} reader;

static void *read_often(void *data) {
    reader *r = data;
    for (int i = 0; i < READS && !r->failed; i++) {
        unsigned char back[100];
        acu_backend_mark *mark = r->mark;
        if (table->read_after(r->m->queue, mark, r->memory, 0, back, 100) || back[99] != 9 ||
            table->mark_query(mark) || table->queue_synchronize(r->m->queue))
            r->failed = 1;
    }
    return NULL;
}

static void threads_read_at_once(void **state) {
    (void)state;
    unsigned char nines[100];
    pthread_t threads[READERS];
    reader readers[READERS];
    MACHINE(m, 0);
    acu_backend_memory *memory = memory_of(&m, 100);
    acu_backend_mark *mark;
    memset(nines, 9, 100);
    DONE(table->write(m.queue, memory, 0, nines, 100));
    DONE(table->mark_create(m.queue, &mark));
    for (int i = 0; i < READERS; i++) {
        readers[i] = (reader){&m, memory, mark, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, read_often, &readers[i]), 0);
    }
    for (int i = 0; i < 50; i++) {
        acu_backend_mark *own;
        DONE(table->mark_create(m.queue, &own));
        table->mark_destroy(own);
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].failed, 0);
    }
    table->mark_destroy(mark);
    table->memory_free(m.queue, memory, 100);
}

/* ---- failures ---- */

static void failed_work_is_reported(void **state) {
    (void)state;
    ONLY_SIMULATED("a GPU that failed does not recover within a process");
    acu_backend_mark *mark;
    MACHINE(m, 0);
    assert_int_equal(acu_sim_fault(acu_stream_raw(stream_of(m.queue)), 719), 0);
    REFUSED(table->queue_synchronize(m.queue), 719, "cudaErrorLaunchFailure");
    REFUSED(table->mark_create(m.queue, &mark), 719, "acu_event");
    assert_null(mark);
    machine_cleanup(&m);
    acu_sim_reset(NULL);
    (void)acu_release_error(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(devices_are_described),
        TEST(no_such_device),
        TEST(without_a_driver),
        TEST(any_position_is_written_and_read),
        TEST(the_host_may_change_what_it_wrote),
        TEST(pinned_memory_is_written_from),
        TEST(too_much_memory_is_refused),
        TEST(freed_memory_serves_another_queue),
        TEST(a_chosen_allocator_has_the_memory),
        TEST(existing_memory_is_wrapped),
        TEST(wrapped_memory_ends_with_its_allocation),
        TEST(ranges_may_overlap),
        TEST(memories_are_copied),
        TEST(devices_copy_to_each_other),
        TEST(any_range_is_filled),
        TEST(layouts_are_changed),
        TEST(many_dimensions),
        TEST(marks_are_reached_in_order),
        TEST(a_mark_is_used_again),
        TEST(a_mark_outlives_its_queue),
        TEST(reads_beside_later_work),
        TEST(threads_read_at_once),
        TEST(failed_work_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
