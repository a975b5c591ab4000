/*
 * The public interface over CUDA's back end: what a program sees of it, errors and leaks included.
 */
#include "../safe/safe.h"

#include <anycuda/runtime.h>

static acu_client *client_on(int device) {
    acu_client *client = NULL;
    OK(acu_client_create(acu_place_cuda(device), NULL, &client));
    return client;
}

static acu_block *block_of(acu_client *client, uint64_t bytes) {
    acu_block *block = NULL;
    OK(acu_block_create(client, bytes, &block));
    return block;
}

static void the_place_is_cuda(void **state) {
    (void)state;
    int runtime = -1, count = 0;
    acu_place_info info;
    OK(acu_runtime_find("cuda", &runtime));
    assert_int_equal(runtime, ACU_RUNTIME_CUDA);
    OK(acu_place_get_info(acu_place_cuda(0), &info));
    assert_true(info.can & ACU_CAN_CAPTURE);
    OK(acu_runtime_get_device_count(runtime, &count));
    assert_true(acu_place_is(acu_runtime_best(), acu_place_cuda(0)));
}

static void blocks_are_copied(void **state) {
    (void)state;
    float numbers[4] = {1, 2, 3, 4}, back[4] = {0};
    acu_client *client = client_on(0), *other = client_on(0);
    acu_block *a = block_of(client, 16), *b = block_of(other, 16);
    OK(acu_block_write(client, a, 0, numbers, 16));
    OK(acu_block_copy(other, b, 0, a, 0, 16));
    OK(acu_block_read(client, b, 0, back, 16));
    assert_memory_equal(numbers, back, 16);
    OK(acu_block_release(a));
    OK(acu_block_release(b));
    OK(acu_client_release(client));
    OK(acu_client_release(other));
}

/* The text names the call, the block, and what CUDA said, each once. */
static void errors_have_words_of_cuda(void **state) {
    (void)state;
    ONLY_SIMULATED("the blocks fill a device of 1 GiB");
    enum { MIB = 1 << 20 };
    acu_client *client = client_on(0);
    acu_block *half = block_of(client, (uint64_t)600 * MIB), *block = NULL;
    acu_client *none;
    FAILS(acu_block_create(client, (uint64_t)MIB * MIB, &block), ACU_ERROR_LIMIT, "cuda:0");
    FAILS(acu_block_create(client, (uint64_t)600 * MIB, &block), ACU_OUT_OF_MEMORY, "room");
    const char *text = acu_last_error_message();
    assert_ptr_equal(strstr(text, "acu_block_create"), text);
    assert_non_null(strstr(text, "cudaMallocAsync"));
    assert_null(strstr(strstr(text, "libcudart") + 1, "libcudart"));
    OK(acu_block_release(half));
    FAILS(acu_client_get_default(acu_place_cuda(99), &none), 101, "99");
    OK(acu_client_release(client));
}

static void without_a_driver(void **state) {
    (void)state;
    ONLY_SIMULATED("a machine has a driver, or none");
    int count = 1;
    acu_sim_reset("driver=none");
    FAILS(acu_runtime_get_device_count(ACU_RUNTIME_CUDA, &count), 35, "driver");
    assert_int_equal(count, 0);
    assert_true(acu_place_is(acu_runtime_best(), acu_place_cpu()));
    acu_sim_reset(NULL);
}

/* ---- programs and replays ---- */

static void add_on_cpu(const acu_part *part, void *const *args) {
    const float *a = args[0];
    float *b = args[1];
    const float by = *(const float *)args[2];
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        b[i] += a[i] + by;
}

static const acu_program_source add_source = {
    .size = sizeof add_source,
    .name = "add",
    .cpu = add_on_cpu,
    .cuda = "extern \"C\" __global__ void add(const float *a, float *b, float by, int n) {\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (i < n)\n"
            "        b[i] += a[i] + by;\n"
            "}\n",
};

enum { N = 1000 };

typedef struct task {
    acu_program *add;
    acu_block *a, *b;
    float numbers[N];
} task;

static acu_result do_task(acu_client *client, void *data) {
    task *t = data;
    const float zero = 0;
    ACU_AUTO(acu_block) *between = NULL;
    ACU_TRY(acu_block_create(client, sizeof t->numbers, &between));
    ACU_TRY(acu_block_write(client, t->a, 0, t->numbers, sizeof t->numbers));
    ACU_TRY(acu_block_fill(client, between, 0, sizeof t->numbers, &zero, sizeof zero));
    ACU_TRY(acu_run(client, t->add, acu_items(N), acu_in_block(t->a), acu_inout_block(between),
                    1.5F, N));
    return acu_run(client, t->add, acu_items(N), acu_in_block(between), t->b, 0.5F, N);
}

static void begin_task(task *t, acu_client *client) {
    OK(acu_program_create(&add_source, &t->add));
    OK(acu_block_create(client, sizeof t->numbers, &t->a));
    OK(acu_block_create(client, sizeof t->numbers, &t->b));
    for (int i = 0; i < N; i++)
        t->numbers[i] = (float)i;
    OK(acu_block_write(client, t->b, 0, t->numbers, sizeof t->numbers));
}

static void end_task(task *t) {
    OK(acu_program_release(t->add));
    OK(acu_block_release(t->a));
    OK(acu_block_release(t->b));
}

static void expect_numbers(acu_client *client, task *t, float factor, float plus) {
    static float back[N];
    OK(acu_block_read(client, t->b, 0, back, sizeof back));
    for (int i = 0; i < N; i++)
        assert_true(back[i] == (float)i * factor + plus);
}

static void a_program_runs(void **state) {
    (void)state;
    static task t;
    acu_client *client = client_on(0);
    begin_task(&t, client);
    OK(do_task(client, &t));
    expect_numbers(client, &t, 2, 2);
    end_task(&t);
    OK(acu_client_release(client));
}

static void a_replay_is_one_piece_of_work(void **state) {
    (void)state;
    static task t;
    acu_replay *replay = NULL;
    acu_client *client = client_on(0);
    begin_task(&t, client);
    OK(acu_replay_record(client, do_task, &t, NULL, 0, &replay));
    if (!acu_replay_is_real(replay))
        fail_msg("%s", acu_replay_why(replay));
    expect_numbers(client, &t, 1, 0);
    memset(t.numbers, 0, sizeof t.numbers); /* the replay has its own */
    OK(acu_replay_run(replay));
    OK(acu_replay_run(replay));
    OK(acu_replay_run(replay));
    expect_numbers(client, &t, 4, 6);
    end_task(&t);
    OK(acu_replay_release(replay));
    OK(acu_client_release(client));
}

static void bad_runs_are_refused(void **state) {
    (void)state;
    static task t;
    acu_client *client = client_on(0);
    begin_task(&t, client);
    FAILS(acu_run(client, t.add, acu_items(N), acu_in_block(t.a), t.b), ACU_ERROR_ARGUMENT,
          "\"add\"");
    FAILS(acu_run(client, t.add, acu_items((size_t)1 << 50u), acu_in_block(t.a), t.b, 1.0F, N),
          ACU_ERROR_LIMIT, "blocks in x");
    end_task(&t);
    OK(acu_client_release(client));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_place_is_cuda),    TEST(blocks_are_copied), TEST(errors_have_words_of_cuda),
        TEST(without_a_driver),     TEST(a_program_runs),    TEST(a_replay_is_one_piece_of_work),
        TEST(bad_runs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
