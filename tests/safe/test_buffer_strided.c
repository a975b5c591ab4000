/* Buffers: strided copies, by copies of rows and by kernels. */
#include "kernels.h"

#include "safe/kernel/strided.h"

#include <anycuda/cudart.h>

#include <pthread.h>

static acu_stream *stream;

/* ---- C functions in the place of the kernels: they look at how a copy is divided ---- */

static int kernels_run, packed_run;

/* Divides as the PTX does, and moves both addresses; returns the index in the dimension. */
static uint32_t take_dim(const acu_strided_dim *d, uint32_t *rest, int64_t *to, int64_t *from) {
    const uint32_t high = (uint32_t)(((uint64_t)*rest * d->magic) >> 32u);
    const uint32_t quotient = (high + *rest) >> d->shift, index = *rest - quotient * d->count;
    assert_int_equal(quotient, *rest / d->count);
    *to += (int64_t)index * d->to;
    *from += (int64_t)index * d->from;
    *rest = quotient;
    return index;
}

static void move_word(const acu_sim_launch *launch, void *const *args, int64_t to, int64_t from,
                      unsigned word) {
    char *target = *(char *const *)args[0], *source = *(char *const *)args[1];
    memcpy(acu_sim_at(launch, target + to, word), acu_sim_at(launch, source + from, word), word);
}

static void copy_each(const acu_sim_launch *launch, void *const *args, unsigned word) {
    const acu_strided_layout *l = args[2];
    const uint64_t threads = (uint64_t)launch->grid[0] * launch->block[0];
    assert_true(threads * acu_strided_words(word) >= l->total);
    for (uint32_t i = 0; i < l->total; i++) {
        uint32_t rest = i;
        int64_t to = l->to_at, from = l->from_at;
        for (uint32_t n = 0; n < l->rank; n++)
            (void)take_dim(&l->dims[n], &rest, &to, &from);
        assert_int_equal(rest, 0);
        move_word(launch, args, to, from, word);
    }
}

static void copy_tiles(const acu_sim_launch *launch, void *const *args, acu_strided_kind kind,
                       unsigned word) {
    const acu_strided_layout *l = args[2];
    const uint32_t side = acu_strided_side(kind, word);
    if (kind == ACU_STRIDED_PACKED) {
        assert_true(l->across_to == (int64_t)word && l->down_from == (int64_t)word);
        assert_int_equal((l->across * word) % 4 + (l->down * word) % 4, 0);
    }
    for (uint32_t tile = 0; tile < launch->grid[0]; tile++) {
        uint32_t rest = tile, first[2] = {0, 0};
        int64_t to = l->to_at, from = l->from_at;
        for (uint32_t n = 0; n < l->rank; n++) {
            const uint32_t index = take_dim(&l->dims[n], &rest, &to, &from);
            if (n < 2)
                first[n] = index * side;
        }
        for (uint32_t y = 0; y < side && first[1] + y < l->down; y++)
            for (uint32_t x = 0; x < side && first[0] + x < l->across; x++)
                move_word(launch, args, to + x * l->across_to + y * l->down_to,
                          from + x * l->across_from + y * l->down_from, word);
    }
}

static void copy_by_kernel(const acu_sim_launch *launch, void *const *args) {
    const unsigned word = (unsigned)strtoul(strrchr(launch->kernel, '_') + 1, NULL, 10);
    kernels_run++;
    packed_run += strstr(launch->kernel, "packed") != NULL;
    if (strstr(launch->kernel, "packed"))
        copy_tiles(launch, args, ACU_STRIDED_PACKED, word);
    else if (strstr(launch->kernel, "tile"))
        copy_tiles(launch, args, ACU_STRIDED_TILE, word);
    else
        copy_each(launch, args, word);
}

static void register_kernels(acu_sim_kernel function) {
    char name[32];
    for (unsigned word = 1; word <= 16; word *= 2)
        for (int kind = 0; kind < ACU_STRIDED_KINDS; kind++) {
            acu_strided_name((acu_strided_kind)kind, word, name);
            assert_int_equal(acu_sim_register(name, function), 0);
        }
}

static int start(void **state) {
    begin_kernels(state);
    register_kernels(NULL);
    acu_quarantine(100);
    return acu_stream_create(0, NULL, &stream);
}

/* A device that the kernels are too new for. */
static int start_without_kernels(void **state) {
    begin_kernels(state);
    begin_on("cc=5.0");
    register_kernels(copy_by_kernel);
    kernels_run = 0;
    return acu_stream_create(0, NULL, &stream);
}

static int start_with_functions(void **state) {
    begin_kernels(state);
    register_kernels(copy_by_kernel);
    kernels_run = packed_run = 0;
    acu_quarantine(100);
    return acu_stream_create(0, NULL, &stream);
}

static int stop(void **state) {
    int code = acu_stream_release(stream);
    acu_quarantine(0);
    return nothing_left(state) || code;
}

/* ---- small copies ---- */

enum { ROWS = 5, COLUMNS = 7, PLANES = 3, ALL = PLANES * ROWS * COLUMNS };

/* Copies on the device, and on the host by the definition of strides; the results must be equal. */
static void check_strided(acu_stream *to, const acu_strides *s) {
    int32_t from[ALL], expected[ALL], back[ALL];
    acu_buffer *a = NULL, *b = NULL;
    int64_t dense[ACU_MAX_RANK], step = 1;
    size_t total = 1;
    for (unsigned i = s->rank; i-- > 0; step *= (int64_t)s->shape[i])
        dense[i] = step;
    for (unsigned i = 0; i < s->rank; i++)
        total *= s->shape[i];
    for (int i = 0; i < ALL; i++) {
        from[i] = i + 1;
        expected[i] = -1;
    }
    for (size_t n = 0; n < total; n++) {
        size_t rest = n;
        int64_t to_at = (int64_t)s->to_at, from_at = (int64_t)s->from_at;
        for (unsigned i = s->rank; i-- > 0; rest /= s->shape[i]) {
            to_at += (s->to ? s->to : dense)[i] * (int64_t)(rest % s->shape[i]);
            from_at += (s->from ? s->from : dense)[i] * (int64_t)(rest % s->shape[i]);
        }
        expected[to_at] = from[from_at];
    }
    OK(acu_buffer_create(stream, ACU_I32, ALL, &a));
    OK(acu_buffer_create(to, ACU_I32, ALL, &b));
    OK(acu_buffer_write(a, from, ALL));
    OK(acu_buffer_fill(b, &(int32_t){-1}));
    OK(acu_buffer_copy_strided(b, a, s, NULL));
    OK(acu_buffer_read(b, back, ALL));
    assert_memory_equal(back, expected, sizeof back);
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(b));
}

static void copy_all_ways(acu_stream *to) {
    const size_t cube[] = {PLANES, ROWS, COLUMNS}, swapped[] = {COLUMNS, ROWS, PLANES};
    const int64_t row_step = COLUMNS, plane = ROWS * row_step;
    const int64_t transposed[] = {1, row_step, plane};
    const int64_t backwards[] = {-plane, -row_step, -1}, repeat[] = {0, row_step, 1};
    const size_t part[] = {2, 3, 4}, none[] = {3, 0, 2}, row[] = {COLUMNS};
    const int64_t whole[] = {plane, row_step, 1}, mirrored[] = {-1};
    check_strided(to, &(acu_strides){.rank = 0, .to_at = 4, .from_at = 9});
    check_strided(to, &(acu_strides){.rank = 3, .shape = cube});
    check_strided(to, &(acu_strides){.rank = 3, .shape = swapped, .from = transposed});
    check_strided(to, &(acu_strides){.rank = 3, .shape = swapped, .to = transposed});
    check_strided(to,
                  &(acu_strides){.rank = 3, .shape = cube, .from = backwards, .from_at = ALL - 1});
    check_strided(to, &(acu_strides){.rank = 3, .shape = cube, .to = backwards, .to_at = ALL - 1});
    check_strided(to, &(acu_strides){.rank = 3, .shape = cube, .from = repeat});
    check_strided(to, &(acu_strides){.rank = 3, .shape = part, .from = whole, .from_at = 10});
    check_strided(
        to, &(acu_strides){
                .rank = 3, .shape = part, .from = whole, .to = whole, .from_at = 10, .to_at = 1});
    check_strided(to, &(acu_strides){.rank = 1, .shape = row, .from = mirrored, .from_at = 6});
    check_strided(to, &(acu_strides){.rank = 3, .shape = none});
}

static void strided_copies(void **state) {
    (void)state;
    copy_all_ways(stream);
}

static void strided_copies_between_devices(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    acu_stream *far = NULL;
    OK(acu_stream_create(1, NULL, &far));
    copy_all_ways(far);
    OK(acu_stream_release(far));
}

static void strided_copies_are_checked(void **state) {
    (void)state;
    const size_t shape[] = {3, 4}, huge[] = {SIZE_MAX / 2, SIZE_MAX / 2};
    const int64_t steps[] = {4, 1}, zero[] = {0, 1}, negative[] = {-4, 1};
    const size_t one_row[] = {1, 1}, none[] = {0};
    const int64_t far[] = {INT64_MAX, INT64_MAX};
    acu_buffer *a = NULL, *b = NULL;
    OK(acu_buffer_create(stream, ACU_I32, 12, &a));
    OK(acu_buffer_create(stream, ACU_I32, 12, &b));
    acu_strides s = {.rank = 2, .shape = shape, .to = steps, .from = steps};
    OK(acu_buffer_copy_strided(a, b, &s, NULL));
    s.to_at = 1;
    FAILS(acu_buffer_copy_strided(a, b, &s, NULL), ACU_ERROR_RANGE, "outside of the destination");
    s.to_at = 0;
    s.from = negative;
    FAILS(acu_buffer_copy_strided(a, b, &s, NULL), ACU_ERROR_RANGE, "outside of the source");
    s.from = far;
    FAILS(acu_buffer_copy_strided(a, b, &s, NULL), ACU_ERROR_RANGE, "outside of the source");
    s.from = steps;
    s.to = zero;
    FAILS(acu_buffer_copy_strided(a, b, &s, NULL), ACU_ERROR_ARGUMENT, "a step of 0");
    /* Where there is one element, or none, the steps do not matter. */
    OK(acu_buffer_copy_strided(
        a, b, &(acu_strides){.rank = 2, .shape = one_row, .to = far, .from = far}, NULL));
    OK(acu_buffer_copy_strided(
        a, b, &(acu_strides){.rank = 1, .shape = none, .to_at = SIZE_MAX, .from_at = 3}, NULL));
    s = (acu_strides){.rank = 2, .shape = huge};
    FAILS(acu_buffer_copy_strided(a, b, &s, NULL), ACU_ERROR_OVERFLOW, "too many");
    s.rank = 17;
    FAILS(acu_buffer_copy_strided(a, b, &s, NULL), ACU_ERROR_ARGUMENT,
          "strides.rank is 17, but there are at most 16");
    s = (acu_strides){.rank = 2};
    FAILS(acu_buffer_copy_strided(a, b, &s, NULL), ACU_ERROR_ARGUMENT, "strides.shape is NULL");
    FAILS(acu_buffer_copy_strided(a, b, NULL, NULL), ACU_ERROR_ARGUMENT, "'strides' is NULL");
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(b));
}

/* ---- any shape ---- */

enum { MOST = 1 << 16 }; /* bytes */

typedef struct shape {
    size_t shape[ACU_MAX_RANK];
    int64_t to[ACU_MAX_RANK], from[ACU_MAX_RANK];
    size_t size, total; /* bytes of an element, elements */
    acu_strides strides;
} shape;

/* Returns steps that nest in the order of a random permutation, with gaps and signs, and moves the
 * first element so that none lies before the beginning; returns the elements in between. */
static size_t any_steps(const shape *s, int64_t *steps, size_t *at, bool distinct) {
    unsigned order[ACU_MAX_RANK] = {0}, rank = s->strides.rank;
    int64_t within = 1;
    *at = any(3);
    size_t end = *at;
    for (unsigned i = 0; i < rank; i++) {
        const unsigned other = any(i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (unsigned i = 0; i < rank; i++) {
        const unsigned n = order[i];
        const int64_t reach = (int64_t)s->shape[n] - 1;
        int64_t step = within + (any(4) == 0 ? (int64_t)any(5) : 0);
        if (!distinct && any(6) == 0)
            step = any(2) ? 0 : (int64_t)any(9);
        const size_t length = (size_t)(step * reach);
        const bool backwards = any(4) == 0;
        steps[n] = backwards ? -step : step;
        *at += backwards ? length : 0;
        end += length;
        within = step * reach + within > within ? step * reach + within : within;
    }
    return end + 1;
}

/* Makes shapes until one fits. */
static void any_shape(shape *s, bool long_ones) {
    static const size_t sizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 20};
    for (;;) {
        memset(s, 0, sizeof *s);
        s->size = sizes[any(COUNT(sizes))];
        const unsigned rank = any(4) ? 1 + any(5) : any(ACU_MAX_RANK + 1);
        s->total = 1;
        for (unsigned i = 0; i < rank; i++) {
            s->shape[i] = rank > 6 ? 1 + any(3) : 1 + any(long_ones ? 150 : 12);
            s->total *= s->shape[i];
        }
        s->strides = (acu_strides){rank, s->shape, s->to, s->from, 0, 0};
        if (any_steps(s, s->to, &s->strides.to_at, true) * s->size <= MOST &&
            any_steps(s, s->from, &s->strides.from_at, false) * s->size <= MOST)
            return;
    }
}

/* Copies by the definition of strides. */
static void copy_on_host(const shape *s, unsigned char *to, const unsigned char *from) {
    for (size_t n = 0; n < s->total; n++) {
        size_t rest = n;
        int64_t t = (int64_t)s->strides.to_at, f = (int64_t)s->strides.from_at;
        for (unsigned i = s->strides.rank; i-- > 0; rest /= s->shape[i]) {
            t += s->to[i] * (int64_t)(rest % s->shape[i]);
            f += s->from[i] * (int64_t)(rest % s->shape[i]);
        }
        memcpy(to + t * (int64_t)s->size, from + f * (int64_t)s->size, s->size);
    }
}

/* Copies between buffers of MOST bytes, which are overwritten before, and on the host. */
static void copy_shape(const shape *s, acu_buffer *to_all, acu_buffer *from_all) {
    static unsigned char a[MOST], b[MOST], back[MOST];
    acu_buffer *to = NULL, *from = NULL, *to_elements = NULL, *from_elements = NULL;
    for (size_t n = 0; n < MOST; n++) {
        a[n] = (unsigned char)any(256);
        b[n] = (unsigned char)any(256);
    }
    OK(acu_buffer_write(to_all, a, MOST));
    OK(acu_buffer_write(from_all, b, MOST));
    OK(acu_buffer_slice(to_all, 0, MOST / s->size * s->size, &to));
    OK(acu_buffer_slice(from_all, 0, MOST / s->size * s->size, &from));
    OK(acu_buffer_reinterpret(to, ACU_BYTES(s->size), &to_elements));
    OK(acu_buffer_reinterpret(from, ACU_BYTES(s->size), &from_elements));
    OK(acu_buffer_copy_strided(to_elements, from_elements, &s->strides, NULL));
    copy_on_host(s, a, b);
    OK(acu_buffer_read(to_all, back, MOST));
    if (memcmp(back, a, MOST) != 0)
        fail_msg("rank %u, %zu elements of %zu bytes, the first %zu x %zu", s->strides.rank,
                 s->total, s->size, s->shape[0], s->shape[1]);
    OK(acu_buffer_release(to_elements));
    OK(acu_buffer_release(from_elements));
    OK(acu_buffer_release(to));
    OK(acu_buffer_release(from));
}

static void copy_any(acu_stream *to_stream, acu_memory to_memory, int times) {
    acu_buffer *to = NULL, *from = NULL;
    OK(acu_buffer_create_with(to_stream, ACU_U8, MOST, &(acu_buffer_options){.memory = to_memory},
                              &to));
    OK(acu_buffer_create(stream, ACU_U8, MOST, &from));
    for (int i = 0; i < times; i++) {
        shape s;
        any_shape(&s, i % 2);
        copy_shape(&s, to, from);
    }
    OK(acu_buffer_release(to));
    OK(acu_buffer_release(from));
}

/* Transpositions of bytes and of 2 bytes, most of which can be moved 4 bytes at a time. */
static void small_elements_are_transposed(void **state) {
    (void)state;
    static const size_t sides[][2] = {{8, 400},   {400, 8},   {128, 128}, {132, 124},
                                      {12, 1000}, {1000, 12}, {129, 140}, {260, 64}};
    acu_buffer *to = NULL, *from = NULL;
    OK(acu_buffer_create(stream, ACU_U8, MOST, &to));
    OK(acu_buffer_create(stream, ACU_U8, MOST, &from));
    for (int i = 0; i < 200; i++) {
        shape s = {.size = 1 + any(2)};
        const size_t *side = sides[any(COUNT(sides))], gap = 4 * any(3), row = side[1] + gap,
                     column = side[0] + 4 * any(2) + (any(5) == 0), slices = 3 - s.size;
        const size_t shape_here[] = {slices, side[0], side[1]};
        const int64_t to_steps[] = {(int64_t)(row * side[0]), (int64_t)row, 1};
        const int64_t from_steps[] = {-(int64_t)(column * side[1]), 1, (int64_t)column};
        memcpy(s.shape, shape_here, sizeof shape_here);
        memcpy(s.to, to_steps, sizeof to_steps);
        memcpy(s.from, from_steps, sizeof from_steps);
        s.total = slices * side[0] * side[1];
        s.strides = (acu_strides){3,      s.shape,    s.to,
                                  s.from, 4 * any(2), (slices - 1) * column * side[1] + 4 * any(2)};
        copy_shape(&s, to, from);
    }
    OK(acu_buffer_release(to));
    OK(acu_buffer_release(from));
}

static void small_elements_are_transposed_by_functions(void **state) {
    small_elements_are_transposed(state);
    if (is_simulated())
        assert_true(packed_run > 50 && kernels_run > packed_run);
}

static void any_shape_is_copied(void **state) {
    (void)state;
    copy_any(stream, ACU_MEMORY_POOL, 1000);
    copy_any(stream, ACU_MEMORY_PINNED, 50);
    copy_any(stream, ACU_MEMORY_MANAGED, 50);
    assert_int_equal(kernels_run, 0); /* the PTX was executed */
}

static void any_shape_is_copied_by_functions(void **state) {
    (void)state;
    copy_any(stream, ACU_MEMORY_POOL, 1000);
    copy_any(stream, ACU_MEMORY_MANAGED, 50);
    if (is_simulated())
        assert_true(kernels_run > 300);
}

static void any_shape_is_copied_between_devices(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    acu_stream *far = stream_on(1);
    copy_any(far, ACU_MEMORY_POOL, 100);
    OK(acu_stream_release(far));
}

/* ---- captures ---- */

enum { SIDE = 300 };

static const size_t square[] = {SIDE, SIDE};
static const int64_t transposed[] = {1, SIDE};
static const acu_strides transposition = {.rank = 2, .shape = square, .from = transposed};

static void expect_transposed(acu_buffer *buffer) {
    static float back[SIDE * SIDE];
    OK(acu_buffer_read(buffer, back, SIDE * SIDE));
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            assert_true(back[y * SIDE + x] == (float)(x * SIDE + y));
}

/* The kernel is loaded in the capture, and the graph keeps it when the stream that it was loaded
 * for is gone. */
static void a_captured_transposition_is_one_node(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    acu_node nodes[2];
    size_t count = COUNT(nodes);
    acu_node_type type;
    acu_stream *other = stream_on(0);
    acu_buffer *a = numbers_on(other, SIDE * SIDE), *b = numbers_on(other, SIDE * SIDE);
    OK(acu_stream_begin_capture(stream, NULL));
    OK(acu_buffer_copy_strided(b, a, &transposition, stream));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_get_nodes(graph, nodes, &count));
    assert_int_equal(count, 1);
    OK(acu_node_get_type(nodes[0], &type));
    assert_int_equal(type, ACU_NODE_KERNEL);
    OK(acu_buffer_release(a));
    OK(acu_stream_release(stream));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_release(graph));
    for (int i = 0; i < 2; i++) {
        OK(acu_buffer_zero(b, NULL));
        OK(acu_exec_launch(exec, other));
        expect_transposed(b);
    }
    OK(acu_exec_release(exec));
    OK(acu_buffer_release(b));
    stream = other;
}

/* The kernel may still run when its last stream goes. */
static void a_stream_may_go_while_its_kernel_runs(void **state) {
    (void)state;
    acu_stream *other = stream_on(0);
    acu_buffer *a = numbers_on(other, SIDE * SIDE), *b = numbers_on(other, SIDE * SIDE);
    OK(acu_buffer_copy_strided(b, a, &transposition, stream));
    OK(acu_stream_release(stream));
    expect_transposed(b);
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(b));
    stream = other;
}

/* Where kernels cannot be launched, the copy is made without, and no error stays. */
static void without_kernels_no_error_stays(void **state) {
    (void)state;
    acu_buffer *a = numbers_on(stream, SIDE * SIDE), *b = numbers_on(stream, SIDE * SIDE);
    acu_clear_error();
    OK(acu_buffer_copy_strided(b, a, &transposition, NULL));
    assert_int_equal(acu_last_error(), 0);
    assert_int_equal(cudaPeekAtLastError(), 0);
    expect_transposed(b);
    assert_int_equal(kernels_run, 0);
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(b));
}

static void *transpose_alone(void *failures) {
    acu_stream *mine = stream_on(0);
    acu_buffer *a = numbers_on(mine, SIDE * SIDE), *b = numbers_on(mine, SIDE * SIDE);
    float *back = malloc(sizeof(float[SIDE * SIDE]));
    int wrong = acu_buffer_copy_strided(b, a, &transposition, NULL);
    wrong += acu_buffer_read(b, back, SIDE * SIDE);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            wrong += back[y * SIDE + x] != (float)(x * SIDE + y);
    free(back);
    wrong += acu_buffer_release(a) + acu_buffer_release(b) + acu_stream_release(mine);
    __atomic_add_fetch((int *)failures, wrong != 0, __ATOMIC_RELAXED);
    return NULL;
}

static void threads_may_need_a_kernel_at_the_same_time(void **state) {
    (void)state;
    pthread_t threads[4];
    int failures = 0;
    for (size_t round = 0; round < 5; round++) {
        for (size_t i = 0; i < COUNT(threads); i++)
            assert_int_equal(pthread_create(&threads[i], NULL, transpose_alone, &failures), 0);
        for (size_t i = 0; i < COUNT(threads); i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(failures, 0);
}

/* The kernels are the library's: only the stream is the program's. */
static void kernels_are_no_objects_of_the_program(void **state) {
    (void)state;
    acu_buffer *a = numbers_on(stream, SIDE * SIDE), *b = numbers_on(stream, SIDE * SIDE);
    OK(acu_buffer_copy_strided(b, a, &transposition, NULL));
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(b));
    FAILS(acu_device_reset(0), ACU_ERROR_STATE, "1 object of device 0 is still alive");
}

/* ---- more words than a kernel can count ---- */

static uint64_t words_seen;
static int parts_seen;

static void see_part(const acu_sim_launch *launch, void *const *args) {
    const acu_strided_layout *l = args[2];
    uint64_t words = 1;
    (void)launch;
    for (uint32_t n = 0; n < l->rank; n++)
        words *= l->dims[n].count;
    assert_true(words == l->total && l->total <= INT32_MAX);
    assert_int_equal(l->to_at, words_seen); /* one after the other, since all is dense */
    assert_int_equal(l->from_at, 4 * ((int64_t)1 << 30) - (int64_t)words_seen);
    words_seen += words;
    parts_seen++;
}

static void long_copies_are_several_kernels(void **state) {
    (void)state;
    ONLY_SIMULATED("nothing is copied, because the memory is not there");
    const size_t all = 5 * ((size_t)1 << 30), count[] = {all - ((size_t)1 << 30) + 1};
    const int64_t backwards[] = {-1};
    acu_buffer *a = NULL, *b = NULL;
    OK(acu_sim_register("acu_strided_each_1", see_part));
    OK(acu_buffer_wrap(stream, ACU_U8, (void *)(uintptr_t)0x100000000, all, ACU_MEMORY_DEVICE, &a));
    OK(acu_buffer_wrap(stream, ACU_U8, (void *)(uintptr_t)0x700000000, all, ACU_MEMORY_DEVICE, &b));
    words_seen = 0;
    parts_seen = 0;
    OK(acu_buffer_copy_strided(
        b, a, &(acu_strides){.rank = 1, .shape = count, .from = backwards, .from_at = count[0] - 1},
        NULL));
    OK(acu_stream_synchronize(stream));
    assert_true(words_seen == count[0]);
    assert_int_equal(parts_seen, 4);
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(b));
}

#undef TEST
#define TEST(function)           SAFE_TEST(function, start, stop)
#define WITH_FUNCTIONS(function) SAFE_TEST(function, start_with_functions, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(strided_copies),
        TEST(strided_copies_between_devices),
        TEST(strided_copies_are_checked),
        TEST(any_shape_is_copied),
        TEST(any_shape_is_copied_between_devices),
        TEST(small_elements_are_transposed),
        TEST(a_captured_transposition_is_one_node),
        TEST(a_stream_may_go_while_its_kernel_runs),
        TEST(threads_may_need_a_kernel_at_the_same_time),
        TEST(kernels_are_no_objects_of_the_program),
        SAFE_TEST(without_kernels_no_error_stays, start_without_kernels, stop),
        WITH_FUNCTIONS(any_shape_is_copied_by_functions),
        WITH_FUNCTIONS(small_elements_are_transposed_by_functions),
        WITH_FUNCTIONS(long_copies_are_several_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
