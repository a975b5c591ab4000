/* Runs programs, each in a process of its own, and has the phases, the turns and the output. */
#define _GNU_SOURCE
#include "../fuzz/arguments.h"
#include "threads.h"

#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PHASES = 8, ROOM = 1 << 22, SECONDS = 300 };

_Thread_local worker *me;
worker workers[THREADS];
unsigned worker_count;
phase now;

static const operation *const tables[] = {stream_operations, memory_operations, capture_operations,
                                          graph_operations};
enum { TABLES = sizeof tables / sizeof *tables };

static struct {
    uint64_t seed;
    unsigned long calls;
    const char *numbers, *meetings;
    unsigned limit; /* seconds, for what may hang; 0: none */
} program;

/* ---- choices ---- */

/* splitmix64 */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

unsigned below(unsigned limit) {
    return (unsigned)(next_random(&me->state) >> 32) % limit;
}

bool one_in(unsigned count) {
    return below(count) == 0;
}

unsigned value_below(unsigned limit) {
    return (unsigned)(next_random(&me->values) >> 32) % limit;
}

void seed_choices(uint64_t seed, uint64_t number) {
    me->state = seed * 1000003 + number;
    me->values = me->state ^ 0xabcdef;
    (void)next_random(&me->state);
}

/* ---- what is printed ---- */

/* What the threads print is kept in memory that the parent shares, and is not lost in a crash. */
static struct output {
    size_t used;
    char text[ROOM];
} *outputs;

static void print(const char *format, va_list arguments) {
    struct output *to = &outputs[me->index];
    const size_t room = sizeof to->text - to->used;
    const int length = vsnprintf(to->text + to->used, room, format, arguments);
    if (length > 0 && (size_t)length < room)
        to->used += (size_t)length;
}

void wrote(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print(format, arguments);
    va_end(arguments);
}

void call(const char *format, ...) {
    va_list arguments;
    wrote("\n%4u ", me->number);
    va_start(arguments, format);
    print(format, arguments);
    va_end(arguments);
}

/* A letter for a stream: - no stream, 0 to 2 its status, else an error. */
static char letter_of(cudaStream_t handle) {
    enum cudaStreamCaptureStatus status = (enum cudaStreamCaptureStatus)9;
    if (!handle)
        return '-';
    return cudaStreamIsCapturing(handle, &status) ? '?' : "0123456789"[status];
}

cudaError_t answer(long long code) {
    char states[STREAMS + 1] = {0};
    for (unsigned i = 0; i < STREAMS; i++)
        states[i] = letter_of(me->streams[i].handle);
    wrote(" = %lld %d %s", code, (int)cudaPeekAtLastError(), states);
    return (cudaError_t)code;
}

/* ---- turns ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static unsigned long turns_over;
_Thread_local unsigned long next_turn;

void begin_turn(unsigned long number) {
    (void)pthread_mutex_lock(&lock);
    while (turns_over != number)
        (void)pthread_cond_wait(&turned, &lock);
    (void)pthread_mutex_unlock(&lock);
}

void end_turn(void) {
    (void)pthread_mutex_lock(&lock);
    turns_over++;
    (void)pthread_cond_broadcast(&turned);
    (void)pthread_mutex_unlock(&lock);
}

static pthread_barrier_t barrier;

void meet_all(void) {
    (void)pthread_barrier_wait(&barrier);
}

/* ---- steps ---- */

static const operation *choose_operation(void) {
    unsigned sum = 0;
    for (unsigned t = 0; t < TABLES; t++)
        for (const operation *o = tables[t]; o->run; o++)
            sum += o->weight;
    unsigned chosen = below(sum);
    for (unsigned t = 0; t < TABLES; t++)
        for (const operation *o = tables[t]; o->run; o++) {
            if (chosen < o->weight)
                return o;
            chosen -= o->weight;
        }
    return NULL; /* never */
}

/* An unsafe operation is left out where it is forbidden, or the thread's mode makes it safe. */
static void run_step(unsigned long number) {
    me->number = (unsigned)number;
    seed_choices(program.seed, number);
    const operation *o = choose_operation();
    const int mode = me->mode;
    if (o->when == LEGACY && !now.is_legacy)
        return;
    if (o->when != UNSAFE || (!is_forbidden() && !is_endangered())) {
        o->run();
        return;
    }
    if (one_in(2))
        return;
    (void)exchange_mode(cudaStreamCaptureModeRelaxed);
    o->run();
    (void)exchange_mode(mode);
}

/* ---- phases ---- */

/* Returns the kind of meeting that a list begins with, MEETINGS if none is called that, and moves
 * the list on, to NULL at the end. */
static meeting next_meeting(const char **list) {
    const size_t length = strcspn(*list, ",");
    int kind = 0;
    while (kind < MEETINGS && (strlen(meeting_names[kind]) != length ||
                               strncmp(meeting_names[kind], *list, length) != 0))
        kind++;
    *list = (*list)[length] ? *list + length + 1 : NULL;
    return (meeting)kind;
}

static bool are_meetings(const char *list) {
    do
        if (next_meeting(&list) == MEETINGS)
            return false;
    while (list);
    return true;
}

static bool is_wanted(meeting kind) {
    const char *list = program.meetings;
    while (list)
        if (next_meeting(&list) == kind)
            return true;
    return !program.meetings;
}

static void meet_if_wanted(meeting kind, uint64_t number) {
    if (is_wanted(kind))
        meet(kind, program.seed, number);
}

/* One thread decides, and the others wait. */
static void choose_phase(unsigned number) {
    const uint64_t kept = me->state;
    seed_choices(program.seed, 1000000 + number);
    now.is_legacy = number > 0 && one_in(4);
    now.may_global = now.is_legacy || one_in(4) ? 0 : below(1U << worker_count);
    me->state = kept;
}

/* All threads meet after the same of their steps. */
static void run_steps(unsigned number, unsigned steps) {
    const unsigned meetings = 3;
    for (unsigned i = 0; i < steps; i++) {
        const unsigned long step = (number * steps + i) * worker_count + me->index;
        if (is_listed(program.numbers, step))
            run_step(step);
        if (i % (steps / meetings + 1) != steps / meetings)
            continue;
        seed_choices(program.seed, 2000000 + number * steps + i);
        meet_if_wanted(now.is_legacy || one_in(2) ? RELAY : TOGETHER, number * steps + i);
    }
}

static void run_phase(unsigned number, unsigned steps) {
    meet_all();
    if (me->index == 0)
        choose_phase(number);
    meet_all();
    seed_choices(program.seed, 3000000 + number);
    if (one_in(2))
        meet_if_wanted(one_in(12) ? HOLD : FORBID, 4000000 + number);
    meet_all();
    seed_choices(program.seed, (5000000 + number) * THREADS + me->index);
    (void)exchange_mode(ONE_OF(0, 0, 1, 1, 2));
    run_steps(number, steps);
    finish_capture();
    if (!now.is_legacy)
        return;
    (void)CALL(cudaStreamSynchronize(cudaStreamLegacy), "cudaStreamSynchronize(legacy)");
    for (memory *m = me->memories; m < me->memories + MEMORIES; m++)
        if (m->home[0] == legacy_stream())
            m->home[0] = NULL;
}

/* ---- threads ---- */

static memory_kind kind_of_base(unsigned index) {
    static const memory_kind kinds[BASES] = {DEVICE, DEVICE, ASYNC, PINNED, PINNED, MANAGED};
    return kinds[index];
}

static void allocate_base(memory *m, memory_kind kind, cudaStream_t on) {
    const size_t size = WORDS * sizeof *m->at;
    cudaError_t result = cudaSuccess;
    m->kind = kind;
    if (kind == DEVICE)
        result = cudaMalloc((void **)&m->at, size);
    else if (kind == ASYNC)
        result = cudaMallocAsync((void **)&m->at, size, on);
    else if (kind == PINNED)
        result = cudaMallocHost((void **)&m->at, size);
    else
        result = cudaMallocManaged((void **)&m->at, size, cudaMemAttachGlobal);
    if (!result)
        result = cudaMemsetAsync(m->at, (int)(m->name[1] + me->index), size, on);
    if (!result)
        result = cudaStreamSynchronize(on);
    if (result)
        wrote("\nno memory: %d", (int)result);
}

static void begin_thread(void) {
    (void)cudaSetDevice(0);
    (void)cudaFree(NULL);
    me->streams[0] = (stream){.handle = cudaStreamPerThread, .capture = NONE, .name = "s0"};
    (void)cudaEventCreateWithFlags(&me->streams[0].before, cudaEventDisableTiming);
    (void)cudaEventCreateWithFlags(&me->streams[0].last, cudaEventDisableTiming);
    for (unsigned i = 1; i < STREAMS; i++)
        (void)snprintf(me->streams[i].name, sizeof me->streams[i].name, "s%u", i);
    for (unsigned i = 1; i < 4; i++)
        create_stream(&me->streams[i], i % 2, -(int)i);
    (void)snprintf(me->lent.name, sizeof me->lent.name, "lent%u", me->index);
    create_stream(&me->lent, me->index % 2, 0);
    for (unsigned i = 0; i < EVENTS; i++)
        (void)snprintf(me->events[i].name, sizeof me->events[i].name, "e%u", i);
    for (unsigned i = 0; i < GRAPHS; i++)
        (void)snprintf(me->graphs[i].name, sizeof me->graphs[i].name, "g%u", i);
    for (unsigned i = 0; i < EXECS; i++)
        (void)snprintf(me->execs[i].name, sizeof me->execs[i].name, "x%u", i);
    for (unsigned i = 0; i < MEMORIES; i++)
        (void)snprintf(me->memories[i].name, sizeof me->memories[i].name, "m%u", i);
    for (unsigned i = 0; i < BASES; i++)
        allocate_base(&me->memories[i], kind_of_base(i), me->streams[1].handle);
}

static void end_thread(void) {
    me->number = (unsigned)program.calls;
    (void)exchange_mode(cudaStreamCaptureModeGlobal);
    for (unsigned i = 0; i < STREAMS; i++)
        if (me->streams[i].handle)
            (void)CALL(cudaStreamSynchronize(me->streams[i].handle), "cudaStreamSynchronize(%s)",
                       me->streams[i].name);
    for (memory *m = me->memories; m < me->memories + MEMORIES; m++)
        if (m->at)
            check(m);
}

static void *run_worker(void *data) {
    me = data;
    begin_thread();
    for (unsigned i = 0; i < PHASES; i++)
        run_phase(i, (unsigned)program.calls / PHASES / worker_count);
    meet_all();
    end_thread();
    return NULL;
}

/* ---- programs ---- */

static void begin_program(void) {
    static const memory_kind kinds[SHARED_MEMORIES] = {DEVICE, PINNED, DEVICE};
    const cudaError_t result = cudaFree(NULL);
    if (result) {
        printf("no GPU: %s\n", acu_last_error_message());
        (void)fflush(stdout);
        _exit(77);
    }
    me = &workers[0];
    seed_choices(program.seed, 0);
    worker_count = 2 + below(THREADS - 1);
    kernels_load();
    for (unsigned i = 0; i < SHARED_MEMORIES; i++) {
        memory *m = &shared[i].memory;
        (void)snprintf(m->name, sizeof m->name, "all%u", i);
        allocate_base(m, kinds[i], cudaStreamPerThread);
        (void)cudaEventCreateWithFlags(&shared[i].order, cudaEventDisableTiming);
        (void)cudaEventRecord(shared[i].order, cudaStreamPerThread);
    }
    (void)cudaDeviceSynchronize();
}

static void run_program(void) {
    pthread_t threads[THREADS];
    begin_program();
    if (pthread_barrier_init(&barrier, NULL, worker_count))
        _exit(1);
    for (unsigned i = 0; i < worker_count; i++) {
        workers[i].index = i;
        if (pthread_create(&threads[i], NULL, run_worker, &workers[i]))
            _exit(1);
    }
    for (unsigned i = 0; i < worker_count; i++)
        (void)pthread_join(threads[i], NULL);
    (void)CALL(cudaDeviceSynchronize(), "cudaDeviceSynchronize()");
    for (unsigned i = 0; i < SHARED_MEMORIES; i++)
        check_shared(&shared[i].memory);
    wrote("\nend");
    _exit(0); /* what the program leaves is not compared */
}

static void print_outputs(void) {
    for (unsigned i = 0; i < THREADS; i++)
        if (outputs[i].used)
            printf("thread %u%.*s\n", i, (int)outputs[i].used, outputs[i].text);
}

/* Returns 0, or 77 where there is no GPU. A program that dies is an answer, too. */
static int run_child(void) {
    int status = 0;
    printf("program %llu\n", (unsigned long long)program.seed);
    (void)fflush(stdout);
    outputs = mmap(NULL, THREADS * sizeof *outputs, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (outputs == MAP_FAILED)
        return 1;
    const pid_t child = fork();
    if (child == 0) {
        (void)alarm(program.limit);
        run_program();
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    print_outputs();
    (void)munmap(outputs, THREADS * sizeof *outputs);
    if (WIFSIGNALED(status))
        printf("died of signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* Ends the program, saying so, where the variable is no number of seconds. */
static unsigned read_limit(const char *name) {
    const char *text = getenv("THREADS_SECONDS");
    unsigned long long seconds = SECONDS;
    if (!text || (is_number(text, &seconds) && seconds <= UINT_MAX))
        return (unsigned)seconds;
    (void)fprintf(stderr, "%s: THREADS_SECONDS is '%s', which is not a number of seconds\n", name,
                  text);
    exit(2);
}

int main(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        (void)fprintf(stderr,
                      "usage: threads SEED [CALLS [PROGRAMS [NUMBERS [MEETINGS]]]]\n"
                      "  one program for each seed from SEED on, of 600 steps;\n"
                      "  NUMBERS, such as 3,17-20, leaves out the other steps (all: takes all);\n"
                      "  MEETINGS, such as relay,hold, leaves out the others\n");
        return 2;
    }
    const uint64_t seed = number_of(argc, argv, 1, 0);
    const unsigned long programs = number_of(argc, argv, 3, 1);
    int result = 0;
    program.calls = number_of(argc, argv, 2, 600);
    program.numbers = numbers_of(argc, argv, 4);
    program.meetings = argc > 5 ? argv[5] : NULL;
    program.limit = read_limit(argv[0]);
    if (program.meetings && !are_meetings(program.meetings)) {
        (void)fprintf(stderr,
                      "%s: '%s' is not a list of meetings, such as relay,together,forbid,hold\n",
                      argv[0], argv[5]);
        return 2;
    }
    for (unsigned long i = 0; i < programs && !result; i++) {
        program.seed = seed + i;
        result = run_child();
    }
    return result;
}
