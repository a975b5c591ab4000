/*
 * Runs the cases. CUDA is used in child processes only: one for all cases but those that want to be
 * alone, and a new one after each that took its process with it, or left the device unwell.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "conformance.h"

#include <anycuda/sim.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { USAGE = 2, SKIPPED = 77, UNWELL };

/* Seconds for one case, and for the end of a process, on a machine that is busy with other things.
 * A context, a reset and a fault take a GPU that others use, too, some of them. */
enum { PATIENCE = 100, PATIENCE_WITH_A_GPU = 40 };

static test_case *first, **end = &first;

/* Shared with the children. */
static struct shared {
    volatile int begun; /* cases: the newest of the child's, and when */
    volatile time_t since;
    int patience;
    int passed, failed, skipped, checks;
} *shared;

/* The case that runs. */
static struct {
    const test_case *it;
    const char *area;
    int checks, failures;
    bool skipped;
    char reason[512];
} now;

static FILE *record;

void add_case(test_case *added) {
    *end = added;
    end = &added->next;
}

/* "…/memory.c": memory */
static const char *area_of(const test_case *it) {
    static char area[32];
    const char *slash = strrchr(it->file, '/');
    snprintf(area, sizeof area, "%s", slash ? slash + 1 : it->file);
    area[strcspn(area, ".")] = '\0';
    return area;
}

/* ---- checks ---- */

const char *runtime_code(long long code) {
    return cudaGetErrorName((cudaError_t)code);
}

const char *driver_code(long long code) {
    const char *name = NULL;
    return cuGetErrorName((CUresult)code, &name) || !name ? "?" : name;
}

/* One line: check, area, case, which of the case's, line, verdict, what was got, what it is. */
static void note(int line, const char *verdict, long long got, const char *what) {
    now.checks++;
    if (record)
        fprintf(record, "check\t%s\t%s\t%d\t%d\t%s\t%lld\t%s\n", now.area, now.it->name, now.checks,
                line, verdict, got, what);
}

static bool judge(int line, bool good, long long got, const char *what) {
    note(line, good ? "pass" : "fail", got, what);
    now.failures += !good;
    if (!good)
        printf("%s:%d: %s: %s\n", now.it->file, line, now.it->name, what);
    return good;
}

void skip(const char *reason) {
    now.skipped = true;
    snprintf(now.reason, sizeof now.reason, "%s", reason);
    now.reason[strcspn(now.reason, "\t\n")] = '\0';
}

bool is_skipped(void) {
    return now.skipped;
}

/* What the core refused, since the loaded runtime lacks it: no word of CUDA's. */
static bool is_refusal(long long code) {
    const char *text = acu_last_error_message();
    return code == cudaErrorNotSupported && acu_last_error() == cudaErrorNotSupported &&
           (strstr(text, " needs CUDA ") || strstr(text, " was removed ") ||
            strstr(text, " does not have "));
}

bool check_code(int line, const char *call, name_of_code *name, long long got, long long expected) {
    if (is_refusal(got)) {
        skip(acu_last_error_message());
        (void)cudaGetLastError();
        acu_clear_error();
        return false;
    }
    if (judge(line, got == expected, got, call))
        return true;
    printf("    expected %s (%lld), got %s (%lld): %s\n", name(expected), expected, name(got), got,
           got ? acu_last_error_message() : "");
    return false;
}

void check_last(int line, const char *call, long long expected) {
    long long got = cudaGetLastError();
    if (!judge(line, got == expected, got, "cudaGetLastError() after it"))
        printf("    expected %s (%lld), got %s (%lld), after %s\n", runtime_code(expected),
               expected, runtime_code(got), got, call);
}

void check_either(int line, const char *call, long long a, long long b, long long got) {
    (void)judge(line, got == a || got == b, -1, call);
}

void check_number(int line, const char *what, long long got, long long expected) {
    if (!judge(line, got == expected, got, what))
        printf("    expected %lld, got %lld\n", expected, got);
}

void ask(int line, const char *what, long long got) {
    note(line, "asked", got, what);
    (void)cudaGetLastError();
}

/* ---- what there is ---- */

int runtime(void) {
    return acu_loaded(ACU_CUDART)->version;
}

int driver(void) {
    int version = 0;
    (void)cudaDriverGetVersion(&version);
    return version;
}

bool is_simulated(void) {
    return acu_loaded(ACU_CUDART)->is_sim != 0;
}

bool has_feature(acu_feature feature) {
    if (!acu_supports(feature, 0))
        return true;
    skip(acu_last_error_message());
    return false;
}

bool has_devices(int count) {
    int there = 0;
    if (cudaGetDeviceCount(&there) == cudaSuccess && there >= count)
        return true;
    skip("there are not so many devices");
    return false;
}

/* ---- holding and fault ---- */

static struct {
    int held, open, passed, timed;
    long patience; /* milliseconds */
} held_stream;

static pthread_t releaser;
static pthread_mutex_t hold_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t hold_called = PTHREAD_COND_INITIALIZER;
static int gone_on;

static void wait_until_released(void *unused) {
    const struct timespec moment = {.tv_nsec = 100000};
    (void)unused;
    while (!__atomic_load_n(&held_stream.open, __ATOMIC_ACQUIRE))
        nanosleep(&moment, NULL);
    __atomic_store_n(&held_stream.passed, 1, __ATOMIC_RELEASE);
}

void hold(cudaStream_t stream) {
    held_stream.open = held_stream.passed = 0;
    held_stream.held = cudaLaunchHostFunc(stream, wait_until_released, NULL) == cudaSuccess;
}

void let_go(void) {
    const struct timespec moment = {.tv_nsec = 100000};
    pthread_mutex_lock(&hold_lock);
    __atomic_store_n(&held_stream.open, 1, __ATOMIC_RELEASE);
    pthread_cond_signal(&hold_called);
    pthread_mutex_unlock(&hold_lock);
    while (held_stream.held && !__atomic_load_n(&held_stream.passed, __ATOMIC_ACQUIRE))
        nanosleep(&moment, NULL);
    if (held_stream.timed)
        (void)pthread_join(releaser, NULL);
    held_stream.held = held_stream.timed = 0;
}

static void *open_in_the_end(void *unused) {
    struct timespec then;
    (void)unused;
    clock_gettime(CLOCK_REALTIME, &then);
    then.tv_nsec += held_stream.patience % 1000 * 1000000;
    then.tv_sec += held_stream.patience / 1000 + then.tv_nsec / 1000000000;
    then.tv_nsec %= 1000000000;
    pthread_mutex_lock(&hold_lock);
    while (!held_stream.open && pthread_cond_timedwait(&hold_called, &hold_lock, &then) == 0)
        ;
    gone_on = !held_stream.open;
    __atomic_store_n(&held_stream.open, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&hold_lock);
    return NULL;
}

static void hold_for(cudaStream_t stream, long milliseconds) {
    gone_on = 0;
    held_stream.patience = milliseconds;
    hold(stream);
    held_stream.timed = pthread_create(&releaser, NULL, open_in_the_end, NULL) == 0;
}

/* Long enough for most calls that do not wait, also where a GPU is shared. */
void hold_briefly(cudaStream_t stream) {
    hold_for(stream, is_simulated() ? 20 : 100);
}

void hold_long(cudaStream_t stream) {
    hold_for(stream, shared->patience * 500L);
}

bool has_gone_on(void) {
    let_go(); /* which comes too late, or not */
    return gone_on != 0;
}

void wait_a_moment(void) {
    const struct timespec moment = {.tv_nsec = is_simulated() ? 1000000 : 300000000};
    nanosleep(&moment, NULL);
}

/* How many moments make a time after which nothing more is expected to happen. */
static int moments(void) {
    return is_simulated() ? 20000 : 30;
}

void wait_until_is(const int *value, int number) {
    for (int i = 0; i < moments() && __atomic_load_n(value, __ATOMIC_ACQUIRE) != number; i++)
        wait_a_moment();
}

CUresult end_of_work(CUstream stream) {
    CUresult result = cuStreamQuery(stream);
    for (int i = 0; i < moments() && result == CUDA_ERROR_NOT_READY; i++) {
        wait_a_moment();
        result = cuStreamQuery(stream);
    }
    return result;
}

/* Any driver compiles it. */
static const char ptx[] = ".version 7.0\n"
                          ".target sm_52\n"
                          ".address_size 64\n"
                          ".visible .entry fault_700()\n"
                          "{\n"
                          "    .reg .b64 %rd<2>;\n"
                          "    mov.u64 %rd1, 0;\n"
                          "    st.global.u32 [%rd1], %rd1;\n"
                          "    ret;\n"
                          "}\n"
                          ".visible .entry fault_719()\n"
                          "{\n"
                          "    trap;\n"
                          "}\n";

static CUfunction faults[2];

bool prepare_fault(void) {
    CUmodule module;
    return is_simulated() || (!cudaFree(NULL) && !cuModuleLoadData(&module, ptx) &&
                              !cuModuleGetFunction(&faults[0], module, "fault_700") &&
                              !cuModuleGetFunction(&faults[1], module, "fault_719"));
}

void fault(cudaStream_t stream, int code) {
    CUfunction function = faults[code == 719];
    if (is_simulated())
        (void)acu_sim_fault((void *)stream, code);
    else if (cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, (CUstream)stream, NULL, NULL))
        printf("    the fault could not be made: %s\n", acu_last_error_message());
}

/* ---- one case, in the child ---- */

/* What it must have cleaned up, since others come after it; false: the device is not for them. */
static bool leave_nothing(int leaks) {
    let_go();
    (void)cudaGetLastError();
    if (now.it->alone)
        return true;
    cudaError_t result = cudaSetDevice(0);
    if (!result)
        result = cudaDeviceSynchronize();
    if (result)
        (void)judge(0, false, result, "afterwards the device is not well");
    if (acu_sim_leaks(0) > leaks && !now.failures && !now.skipped)
        (void)judge(0, false, acu_sim_leaks(1), "something is left");
    (void)cudaGetLastError();
    return !result;
}

static long long milliseconds(void) {
    struct timespec now_is;
    clock_gettime(CLOCK_MONOTONIC, &now_is);
    return now_is.tv_sec * 1000LL + now_is.tv_nsec / 1000000;
}

static bool run(const test_case *it) {
    const long long begun = milliseconds();
    memset(&now, 0, sizeof now);
    now.it = it;
    now.area = area_of(it);
    int leaks = acu_sim_leaks(0);
    acu_clear_error();
    it->body();
    const bool well = leave_nothing(leaks);
    shared->checks += now.checks;
    const char *verdict = "skip";
    if (now.failures)
        shared->failed++, verdict = "fail";
    else if (now.skipped)
        shared->skipped++;
    else
        shared->passed++, verdict = "pass";
    if (record)
        fprintf(record, "case\t%s\t%s\t%s\t%s\t%lld\n", now.area, it->name, verdict, now.reason,
                milliseconds() - begun);
    fflush(NULL);
    return well;
}

/* ---- children ---- */

static bool is_asked_for(const test_case *it, char **names) {
    const char *area = area_of(it);
    bool any = false;
    for (; *names; names++) {
        const char *dot = strchr(*names, '.');
        size_t length = dot ? (size_t)(dot - *names) : strlen(*names);
        any = true;
        if (strlen(area) == length && strncmp(area, *names, length) == 0 &&
            (!dot || strcmp(dot + 1, it->name) == 0))
            return true;
    }
    return !any;
}

/* Says which name means no case, and where the names are; true: each name means one. */
static bool names_are_known(char **names) {
    for (; *names; names++) {
        char *one[] = {*names, NULL};
        const test_case *it = first;
        while (it && !is_asked_for(it, one))
            it = it->next;
        if (!it) {
            fprintf(stderr,
                    "error: there is no area or case '%s'; an area is a file of tests/conformance/ "
                    "(event), a case is a CASE() in it (event.an_event)\n",
                    *names);
            return false;
        }
    }
    return true;
}

/* The cases after the first `done`; only one if that is alone. Does not return. */
static void work(char **names, bool alone, int done) {
    int i = 0;
    (void)acu_load(NULL);
    for (const test_case *it = first; it; it = it->next)
        if (it->alone == alone && is_asked_for(it, names) && i++ >= done) {
            shared->since = time(NULL);
            shared->begun = i;
            if (!run(it))
                _exit(UNWELL);
            if (alone)
                break;
        }
    fflush(NULL);
    shared->since = time(NULL);
    if (alone && !is_simulated()) /* CUDA tidies up for long, which is no case's subject */
        _exit(0);
    exit(0);
}

/* Returns how the child ended, as waitpid() says; -1: it was not heard of for too long. */
static int await(pid_t child) {
    const struct timespec moment = {.tv_nsec = 2000000};
    int status;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (time(NULL) - shared->since > shared->patience) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return -1;
        }
        nanosleep(&moment, NULL);
    }
    return status;
}

static const test_case *nth(char **names, bool alone, int n) {
    for (const test_case *it = first; it; it = it->next)
        if (it->alone == alone && is_asked_for(it, names) && --n == 0)
            return it;
    return NULL;
}

static void note_death(const test_case *it, int status) {
    const char *how = status == -1 ? "hang" : "crash";
    shared->failed++;
    printf("%s: %s: %s (status %d)\n", it->file, it->name, how, status);
    if (record)
        fprintf(record, "case\t%s\t%s\t%s\tstatus %d\n", area_of(it), it->name, how, status);
}

static void run_all(char **names, bool alone) {
    shared->begun = 0;
    while (nth(names, alone, shared->begun + 1)) {
        int before = shared->begun;
        shared->since = time(NULL);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0)
            work(names, alone, before);
        int status = await(child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == UNWELL)
            continue;
        if (status && shared->begun == before) /* it died before its first case began */
            shared->begun++;
        if (status)
            note_death(nth(names, alone, shared->begun), status);
        else if (!alone)
            break;
    }
}

/* A line for the record: which runtime, and how to configure a simulator like this machine. */
static void tell_machine(int devices) {
    static struct cudaDeviceProp prop;
    (void)cudaGetDeviceProperties(&prop, 0);
    if (record)
        fprintf(record, "about\t%s\t%d\t%d\t%d\t%zu\n", acu_loaded(ACU_CUDART)->path, runtime(),
                driver(), devices, prop.totalGlobalMem);
}

/* In a child, too: whether there is something to run on. */
static int look(void) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int count = 0;
        cudaError_t result = cudaGetDeviceCount(&count);
        bool nothing = result || count == 0;
        if (!nothing && is_simulated())
            shared->patience = PATIENCE;
        if (nothing)
            printf("skipped: %s\n", result ? acu_last_error_message() : "there is no device");
        else
            tell_machine(count);
        fflush(NULL);
        _exit(nothing ? SKIPPED : 0);
    }
    shared->since = time(NULL);
    int status = await(child);
    return status > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : status;
}

static int print_usage(void) {
    fprintf(stderr, "usage: conformance [-r RECORD] [AREA[.CASE]...]\n"
                    "  runs all cases, or those that are named, and prints what failed;\n"
                    "  an AREA is a file of tests/conformance/ (event), a CASE is in it;\n"
                    "  RECORD is a file, which gets a line for each check and each case\n");
    return USAGE;
}

/* Opens the record, where one is asked for, and moves the arguments on to the names; returns 0, or
 * with what the program exits. */
static int read_options(char ***arguments) {
    const char *option = **arguments, *file = option ? (*arguments)[1] : NULL;
    if (!option || *option != '-')
        return 0;
    if (strcmp(option, "--help") == 0)
        return print_usage();
    if (strcmp(option, "-r") != 0)
        return fprintf(stderr, "error: there is no option '%s'\n", option), USAGE;
    if (!file)
        return fprintf(stderr, "error: -r needs a file, to which the record is added\n"), USAGE;
    if (!(record = fopen(file, "a")))
        return perror(file), 1;
    (void)setvbuf(record, NULL, _IOLBF, 0); /* what a crash leaves is the most interesting */
    *arguments += 2;
    return 0;
}

int main(int argc, char **argv) {
    (void)argc;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    shared->patience = PATIENCE_WITH_A_GPU;
    argv++;
    int status = read_options(&argv);
    if (status)
        return status;
    if (!names_are_known(argv))
        return USAGE;
    status = look();
    if (status)
        return status;
    run_all(argv, false);
    run_all(argv, true);
    printf("%d %s, %d fail, %d are skipped; %d checks\n", shared->passed,
           shared->passed == 1 ? "case passes" : "cases pass", shared->failed, shared->skipped,
           shared->checks);
    return shared->failed || !shared->passed;
}
