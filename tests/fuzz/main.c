/* Runs programs, each in a process of its own, and has the choices and objects of the one that
 * runs. */
#define _GNU_SOURCE
#include "arguments.h"
#include "fuzz.h"

#include <anycuda/sim.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

object objects[KINDS][SLOTS];

/* Textures ask how memory is aligned: here 32 bytes before 512, however the program is linked. */
enum { PAGEABLE_AT = 480, PAGEABLE_SIZE = 64 * KIB };
static _Alignas(512) char pageable_bytes[PAGEABLE_AT + 2 * PAGEABLE_SIZE];
object pageable[2] = {
    {.handle = pageable_bytes + PAGEABLE_AT, .size = PAGEABLE_SIZE, .memory = PAGEABLE},
    {.handle = pageable_bytes + PAGEABLE_AT + PAGEABLE_SIZE,
     .size = PAGEABLE_SIZE,
     .memory = PAGEABLE}};

static const operation *const tables[] = {
    device_operations,  stream_operations,    memory_operations,        copy_operations,
    capture_operations, graph_operations,     exec_operations,          kernel_operations,
    texture_operations, array_operations,     driver_memory_operations, driver_stream_operations,
    node_operations,    exec_node_operations, library_operations,       context_operations,
    range_operations,   virtual_operations};
enum { TABLES = sizeof tables / sizeof *tables };
enum { FIRST_CALLS = 40 };

/* ---- choices ---- */

static uint64_t state;

/* splitmix64 */
static uint64_t next_random(void) {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

unsigned below(unsigned limit) {
    return (unsigned)(next_random() >> 32) % limit;
}

bool one_in(unsigned count) {
    return below(count) == 0;
}

size_t any_size(size_t room) {
    switch (below(12)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return room + 1;
    case 3:
        return room;
    case 4:
        return room ? below((unsigned)room) | 1U : 7;
    default:
        return room / 4 * (1 + below(3)) & ~(size_t)15;
    }
}

int any_direction(void) {
    return one_in(2) ? cudaMemcpyDefault : ONE_OF(-1, 0, 1, 1, 2, 2, 3, 3, 4, 5);
}

int any_device(void) {
    return one_in(8) ? ONE_OF(-1, 1, -2, 100) : 0;
}

int runtime(void) {
    return acu_loaded(ACU_CUDART)->version;
}

/* ---- what is printed ---- */

static unsigned long call_number;

void call(const char *format, ...) {
    va_list arguments;
    printf("%4lu ", call_number);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    (void)fflush(stdout); /* if the call ends the process, its name is there */
}

/* A letter for each stream of the program: - no stream, 0 to 2 its status, else an error. */
static void print_captures(void) {
    for (const object *o = objects[STREAM]; o < objects[STREAM] + SLOTS; o++) {
        enum cudaStreamCaptureStatus status = (enum cudaStreamCaptureStatus)9;
        if (o->handle && cudaStreamIsCapturing(o->handle, &status))
            putchar('?');
        else
            putchar(o->handle ? '0' + (int)status : '-');
    }
}

void answer(long long code, const char *format, ...) {
    va_list arguments;
    printf(" = %lld %d ", code, (int)cudaPeekAtLastError());
    print_captures();
    if (*format)
        putchar(' ');
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

const char *handle_state(const void *handle) {
    return handle == UNWRITTEN ? "same" : handle ? "new" : "NULL";
}

/* ---- objects ---- */

object *empty(kind wanted) {
    const unsigned from = below(SLOTS);
    for (unsigned i = 0; i < SLOTS; i++) {
        object *o = &objects[wanted][(from + i) % SLOTS];
        if (!o->handle) {
            const unsigned number = o->number;
            *o = (object){.number = number + 1};
            return o;
        }
    }
    return NULL;
}

object *any(kind wanted) {
    static object nothing;
    const unsigned from = below(SLOTS);
    if (one_in(40))
        return &nothing;
    for (unsigned i = 0; i < SLOTS; i++) {
        object *o = &objects[wanted][(from + i) % SLOTS];
        if (o->handle)
            return o;
    }
    return &nothing;
}

object *unused(kind wanted) {
    object *o = any(wanted);
    return o->is_used ? NULL : o;
}

const char *name(const object *named) {
    static char texts[8][8];
    static unsigned last;
    char *text = texts[++last % 8];
    const ptrdiff_t index = named - objects[0];
    if (!named->handle || index < 0 || index >= KINDS * SLOTS)
        return "NULL";
    (void)snprintf(text, sizeof texts[0], "%c%d", "semapgxuitfrc"[index / SLOTS],
                   (int)(index % SLOTS));
    return text;
}

chosen_stream any_stream(void) {
    switch (below(24)) {
    case 0:
        return (chosen_stream){NULL, NULL, "NULL"};
    case 1:
        return (chosen_stream){cudaStreamLegacy, NULL, "legacy"};
    case 2:
        return (chosen_stream){cudaStreamPerThread, NULL, "per-thread"};
    default:
        break;
    }
    object *o = any(STREAM);
    return (chosen_stream){o->handle, o->handle ? o : NULL, name(o)};
}

chosen_stream any_captured_stream(void) {
    chosen_stream chosen = any_stream();
    for (int i = 0; i < 12 && !is_capturing(chosen); i++)
        chosen = any_stream();
    return chosen;
}

bool is_capturing(chosen_stream stream) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (!stream.object && stream.handle != cudaStreamPerThread)
        return false;
    return !cudaStreamIsCapturing(stream.handle, &status) && status;
}

bool any_capture(void) {
    bool found = is_capturing((chosen_stream){cudaStreamPerThread, NULL, ""});
    for (object *o = objects[STREAM]; o < objects[STREAM] + SLOTS && !found; o++)
        found = o->handle && is_capturing((chosen_stream){o->handle, o, ""});
    return found;
}

void settle(chosen_stream stream) {
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    if (is_capturing(stream))
        return;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    call("settle(%s)", stream.name);
    answer(cudaStreamSynchronize(stream.handle), "%s", "");
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
}

void settle_event(chosen_stream stream, const object *event) {
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    if (is_capturing(stream))
        return;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    (void)cudaEventSynchronize(event->handle);
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
}

/* ---- places in memory ---- */

place any_place(void) {
    const unsigned what = below(16);
    place p = {.object = what < 2 ? &pageable[what] : any(MEMORY)};
    p.address = p.object->handle;
    p.room = p.object->size;
    if (what < 2)
        (void)snprintf(p.name, sizeof p.name, "h%u", what);
    else
        (void)snprintf(p.name, sizeof p.name, "%s", name(p.object));
    if (p.address && p.room > 64 && one_in(4)) {
        const unsigned offset = (unsigned)ONE_OF(1, 3, 4, 16, 32, 60);
        const size_t end = strlen(p.name);
        p.address += offset;
        p.room -= offset;
        (void)snprintf(p.name + end, sizeof p.name - end, "+%u", offset);
    }
    if (!p.object->handle)
        p.object = NULL;
    return p;
}

place any_target(void) {
    place p = any_place();
    if (p.object && p.object->is_read_only) {
        p.object = &pageable[0];
        p.address = p.object->handle;
        p.room = p.object->size;
        (void)snprintf(p.name, sizeof p.name, "h0");
    }
    return p;
}

void uses(place *used, bool writes, bool in_graph) {
    if (!used->object || !in_graph)
        return;
    used->object->is_used = true;
    used->object->is_undefined |= writes;
}

/* ---- running ---- */

/* Names of operations, between commas; NULL: all. */
static const char *wanted_operations;

static bool is_wanted(const operation *o) {
    const size_t length = strlen(o->name);
    for (const char *at = wanted_operations; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, o->name, length) && (!at[length] || at[length] == ','))
            return true;
    return !wanted_operations;
}

/* A program begins with calls that make objects, whichever operations are wanted. */
static unsigned weight_of(const operation *o, bool first) {
    return first ? o->first * o->weight : is_wanted(o) * o->weight;
}

static unsigned count_weights(bool first) {
    unsigned sum = 0;
    for (unsigned t = 0; t < TABLES; t++)
        for (const operation *o = tables[t]; o->run; o++)
            sum += weight_of(o, first);
    return sum;
}

static const operation *choose_operation(bool first) {
    unsigned chosen = below(count_weights(first));
    for (unsigned t = 0; t < TABLES; t++)
        for (const operation *o = tables[t]; o->run; o++) {
            const unsigned weight = weight_of(o, first);
            if (chosen < weight)
                return o;
            chosen -= weight;
        }
    return NULL; /* never */
}

static void run_call(uint64_t seed, unsigned long number) {
    call_number = number;
    state = seed * 1000003 + number;
    (void)next_random();
    choose_operation(number < FIRST_CALLS)->run();
}

static void run_program(uint64_t seed, unsigned long calls, const char *list) {
    cudaError_t result = cudaFree(NULL);
    if (result) {
        printf("no GPU: %s\n", acu_last_error_message());
        exit(77);
    }
    kernels_load();
    for (unsigned long i = 0; i < calls; i++)
        if (is_listed(list, i))
            run_call(seed, i);
    printf("end\n");
    (void)fflush(stdout);
    _exit(0); /* what the program leaves is not compared */
}

/* Returns 0, or 77 where there is no GPU. A program that dies is an answer, too. */
static int run_child(uint64_t seed, unsigned long calls, const char *list) {
    int status = 0;
    printf("program %llu\n", (unsigned long long)seed);
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm((unsigned)(60 + calls / 50));
        run_program(seed, calls, list);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    if (WIFSIGNALED(status))
        printf("\ndied of signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

int main(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        (void)fprintf(stderr,
                      "usage: fuzz SEED [CALLS [PROGRAMS [NUMBERS [OPERATIONS]]]]\n"
                      "  one program for each seed from SEED on, of 600 calls;\n"
                      "  NUMBERS, such as 3,17-20, leaves out the other calls (all: takes all);\n"
                      "  OPERATIONS, such as copy,copy_rows, leaves out the others\n");
        return 2;
    }
    const uint64_t seed = number_of(argc, argv, 1, 0);
    const unsigned long calls = number_of(argc, argv, 2, 600);
    const unsigned long programs = number_of(argc, argv, 3, 1);
    const char *numbers = numbers_of(argc, argv, 4);
    int result = 0;
    wanted_operations = argc > 5 ? argv[5] : NULL;
    if (!count_weights(false)) {
        (void)fprintf(stderr, "fuzz: no operation is called %s\n", wanted_operations);
        return 2;
    }
    for (unsigned long i = 0; i < programs && !result; i++)
        result = run_child(seed + i, calls, numbers);
    return result;
}
