/* With a seed: the order of work is decided by it, and by nothing else. */
#include "sim_test.h"

#include <stdio.h>
#include <stdlib.h>

enum { STREAMS = 4, EACH = 6 };

typedef struct journal {
    char text[STREAMS * EACH + 1];
    unsigned length;
} journal;

typedef struct note {
    journal *to;
    char letter;
} note;

static void write_note(void *data) {
    const note *n = data;
    n->to->text[n->to->length++] = n->letter;
}

static void run(unsigned seed, journal *j) {
    char configuration[64];
    cudaStream_t streams[STREAMS];
    note notes[STREAMS][EACH];
    snprintf(configuration, sizeof configuration, "%s,seed=%u", MACHINE, seed);
    acu_sim_reset(configuration);
    memset(j, 0, sizeof *j);
    for (int s = 0; s < STREAMS; s++)
        OK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
    for (int i = 0; i < EACH; i++)
        for (int s = 0; s < STREAMS; s++) {
            notes[s][i] = (note){j, (char)('a' + s)};
            OK(cudaLaunchHostFunc(streams[s], write_note, &notes[s][i]));
            if (i == 2)
                (void)cudaStreamQuery(streams[s]);
        }
    OK(cudaStreamSynchronize(streams[1]));
    OK(cudaDeviceSynchronize());
    for (int s = 0; s < STREAMS; s++)
        OK(cudaStreamDestroy(streams[s]));
    (void)cudaGetLastError();
}

TEST(a_seed_repeats_its_order) {
    journal first, again;
    for (unsigned seed = 0; seed < 20; seed++) {
        run(seed, &first);
        assert_int_equal(first.length, STREAMS * EACH);
        for (int i = 0; i < 3; i++) {
            run(seed, &again);
            assert_string_equal(first.text, again.text);
        }
    }
}

TEST(seeds_differ) {
    journal j, others[20];
    int different = 0;
    for (unsigned seed = 0; seed < 20; seed++) {
        run(seed, &others[seed]);
        different += seed && strcmp(others[0].text, others[seed].text) != 0;
    }
    assert_true(different >= 18);
    run(7, &j);
    for (int s = 0; s < STREAMS; s++) { /* each stream's own order is kept: all are there */
        int count = 0;
        for (unsigned i = 0; i < j.length; i++)
            count += j.text[i] == 'a' + s;
        assert_int_equal(count, EACH);
    }
}

/* Without waiting, so that every seed finds it. */
TEST(a_source_that_is_overwritten_too_early_is_always_found) {
    for (unsigned seed = 1; seed < 10; seed++) {
        char configuration[64];
        int *pinned, out = 0;
        void *at;
        cudaStream_t s;
        snprintf(configuration, sizeof configuration, "seed=%u", seed);
        acu_sim_reset(configuration);
        OK(cudaStreamCreate(&s));
        OK(cudaMallocHost((void **)&pinned, sizeof *pinned));
        OK(cudaMalloc(&at, sizeof *pinned));
        *pinned = 1;
        OK(cudaMemcpyAsync(at, pinned, sizeof *pinned, cudaMemcpyHostToDevice, s));
        *pinned = 2; /* the mistake */
        OK(cudaMemcpy(&out, at, sizeof out, cudaMemcpyDeviceToHost));
        assert_int_equal(out, 2);
        OK(cudaFreeHost(pinned));
        OK(cudaFree(at));
        OK(cudaStreamDestroy(s));
    }
}

TEST(order_is_kept) {
    for (unsigned seed = 0; seed < 20; seed++) {
        char configuration[64];
        unsigned char out = 0;
        void *at;
        cudaStream_t a, b;
        cudaEvent_t e;
        snprintf(configuration, sizeof configuration, "seed=%u", seed);
        acu_sim_reset(configuration);
        OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
        OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
        OK(cudaEventCreate(&e));
        OK(cudaMallocAsync(&at, 1, a));
        OK(cudaMemsetAsync(at, 1, 1, a));
        OK(cudaEventRecord(e, a));
        OK(cudaStreamWaitEvent(b, e, 0));
        OK(cudaMemsetAsync(at, 2, 1, b));
        OK(cudaMemcpyAsync(&out, at, 1, cudaMemcpyDeviceToHost, b));
        assert_int_equal(out, 2);
        OK(cudaEventSynchronize(e));
        OK(cudaFreeAsync(at, b));
        OK(cudaDeviceSynchronize());
        OK(cudaEventDestroy(e));
        OK(cudaStreamDestroy(a));
        OK(cudaStreamDestroy(b));
    }
}

TEST(asking_goes_on) {
    unsigned asked = 0;
    void *at;
    cudaStream_t s;
    acu_sim_reset("seed=3");
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc(&at, 64));
    for (int i = 0; i < 10; i++)
        OK(cudaMemsetAsync(at, i, 64, s));
    while (cudaStreamQuery(s) == cudaErrorNotReady)
        asked++;
    assert_true(asked > 0);
    (void)cudaGetLastError();
    OK(cudaFree(at));
    OK(cudaStreamDestroy(s));
}

/* The program waits for what a host function does, and calls nothing meanwhile. */
TEST(a_program_that_spins_goes_on) {
    blocker g = {.is_open = 1};
    cudaStream_t s;
    acu_sim_reset("seed=3");
    OK(cudaStreamCreate(&s));
    OK(cudaLaunchHostFunc(s, wait_until_unblocked, &g));
    while (!atomic_load(&g.reached))
        pause_briefly();
    OK(cudaStreamSynchronize(s));
    OK(cudaStreamDestroy(s));
}

TEST(a_held_up_operation_does_not_hold_up_questions) {
    blocker g = {0};
    cudaStream_t s;
    acu_sim_reset("seed=1");
    OK(cudaStreamCreate(&s));
    OK(cudaLaunchHostFunc(s, wait_until_unblocked, &g));
    for (int i = 0; i < 20; i++)
        SAYS(cudaErrorNotReady, cudaStreamQuery(s));
    atomic_store(&g.is_open, 1);
    OK(cudaStreamSynchronize(s));
    (void)cudaGetLastError();
    OK(cudaStreamDestroy(s));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(a_seed_repeats_its_order),
        T(seeds_differ),
        T(a_source_that_is_overwritten_too_early_is_always_found),
        T(order_is_kept),
        T(asking_goes_on),
        T(a_program_that_spins_goes_on),
        T(a_held_up_operation_does_not_hold_up_questions),
    };
    return RUN(tests);
}
