/* Writes beside allocations, and uses of freed ones. */
#include "sim_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int guarded(void **state) {
    (void)state;
    acu_sim_reset("devices=2,memory=1GiB,guard=1");
    return 0;
}

#define G(name) cmocka_unit_test_setup_teardown(name, guarded, end)

TEST(what_stays_inside_is_no_damage) {
    char *pinned, *managed, *device;
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaMallocHost((void **)&pinned, 1000));
    OK(cudaMallocManaged((void **)&managed, 1001, cudaMemAttachGlobal));
    OK(cudaMalloc((void **)&device, 777));
    memset(pinned, 1, 1000);
    memset(managed, 2, 1001);
    OK(cudaMemset(device, 3, 777));
    OK(cudaMemcpyAsync(device, pinned, 777, cudaMemcpyHostToDevice, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaFree(device));
    OK(cudaMallocAsync((void **)&device, 777, s));
    OK(cudaMemsetAsync(device, 3, 777, s));
    OK(cudaFreeAsync(device, s));
    OK(cudaDeviceSynchronize());
    OK(cudaFreeHost(pinned));
    OK(cudaFree(managed));
    OK(cudaStreamDestroy(s));
    assert_int_equal(acu_sim_damages(), 0);
}

TEST(a_write_behind_pinned_memory_is_found_at_the_next_synchronisation) {
    char *pinned;
    OK(cudaMallocHost((void **)&pinned, 1000));
    pinned[1000] = 1;
    OK(cudaDeviceSynchronize());
    assert_int_equal(acu_sim_damages(), 1);
    OK(cudaFreeHost(pinned)); /* told once */
    assert_int_equal(acu_sim_damages(), 1);
}

TEST(a_write_behind_managed_memory_is_found_when_it_is_freed) {
    char *managed;
    OK(cudaMallocManaged((void **)&managed, 10, cudaMemAttachGlobal));
    managed[11] = 1;
    OK(cudaFree(managed));
    assert_int_equal(acu_sim_damages(), 1);
}

static const char ptx[] = ".version 8.0\n.target sm_52\n.address_size 64\n"
                          ".visible .entry overrun(.param .u64 at, .param .u32 n) { ret; }";

static void overrun(const acu_sim_launch *launch, void *const *args) {
    unsigned n = *(const unsigned *)args[1];
    char *at = acu_sim_at(launch, *(void *const *)args[0], n);
    memset(at, 1, n + 1); /* one too many */
}

TEST(a_kernel_that_writes_behind_its_memory_is_found) {
    char *at, *next;
    unsigned n = 512;
    cudaLibrary_t library;
    cudaKernel_t kernel;
    assert_int_equal(acu_sim_register("overrun", overrun), 0);
    OK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&kernel, library, "overrun"));
    OK(cudaMalloc((void **)&at, n));
    OK(cudaMalloc((void **)&next, 16));
    OK(cudaMemset(next, 7, 16));
    void *args[] = {&at, &n};
    OK(cudaLaunchKernel((const void *)kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, NULL));
    OK(cudaDeviceSynchronize());
    assert_int_equal(acu_sim_damages(), 1);
    char out[16];
    OK(cudaMemcpy(out, next, 16, cudaMemcpyDeviceToHost));
    assert_int_equal(out[0], 7); /* it has what is its own */
    OK(cudaFree(at));
    OK(cudaFree(next));
    OK(cudaLibraryUnload(library));
}

TEST(uses_after_free_are_explained) {
    char *at, host[4] = "";
    OK(cudaMalloc((void **)&at, 64));
    OK(cudaFree(at));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(host, at + 8, 4, cudaMemcpyDeviceToHost));
    assert_int_equal(acu_sim_damages(), 1);
    FAILS(cudaErrorInvalidValue, cudaMemset(at, 0, 4));
    FAILS(cudaErrorInvalidValue, cudaFree(at));
    assert_int_equal(acu_sim_damages(), 3);
}

/* In a child: it ends it. */
static int signal_of(void (*what)(char *at), char *at) {
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        what(at);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void write_there(char *at) {
    *(volatile char *)at = 1;
}

TEST(the_hosts_own_use_of_freed_memory_faults) {
    char *pinned;
    OK(cudaMallocHost((void **)&pinned, 5000));
    assert_int_equal(signal_of(write_there, pinned + 4999), 0);
    assert_int_not_equal(signal_of(write_there, pinned + 2 * 4096), 0);
    assert_int_not_equal(signal_of(write_there, pinned - 1), 0);
    OK(cudaFreeHost(pinned));
    assert_int_not_equal(signal_of(write_there, pinned), 0);
}

TEST(many_are_freed) {
    void *at;
    for (int i = 0; i < 1000; i++) {
        OK(cudaMallocHost(&at, 100));
        OK(cudaFreeHost(at));
        OK(cudaMalloc(&at, 100));
        OK(cudaFree(at));
    }
    assert_int_equal(acu_sim_damages(), 0);
}

TEST(without_guard_nothing_is_counted) {
    char *pinned;
    acu_sim_reset(MACHINE);
    OK(cudaMallocHost((void **)&pinned, 10));
    pinned[10] = 1; /* within its page */
    OK(cudaFreeHost(pinned));
    assert_int_equal(acu_sim_damages(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        G(what_stays_inside_is_no_damage),
        G(a_write_behind_pinned_memory_is_found_at_the_next_synchronisation),
        G(a_write_behind_managed_memory_is_found_when_it_is_freed),
        G(a_kernel_that_writes_behind_its_memory_is_found),
        G(uses_after_free_are_explained),
        G(the_hosts_own_use_of_freed_memory_faults),
        G(many_are_freed),
        G(without_guard_nothing_is_counted),
    };
    return RUN(tests);
}
