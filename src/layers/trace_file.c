/*
 * The trace as a file for Chrome's and Perfetto's viewers: one array of events in JSON. After each
 * event the file is a whole array, because an event is written over the array's end, and ends it
 * again.
 *
 * Several processes may write to one file, each under the file's lock. A child of a fork gets an
 * opened file of its own, because the lock belongs to that.
 */
#define _GNU_SOURCE /* syscall, program_invocation_short_name */
#include "layers/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/hooks.h"
#include "core/audience.h"
#include "core/thread_name.h"
#include "core/values.h"
#include "layers/trace.h"
#include "layers/trace_device.h"
#include "layers/trace_open.h"
#include "loader/platform.h"

/* ---- the file ---- */

enum { MOST = 256 * 1024 * 1024 }; /* bytes; viewers can open so much */

static const char array_end[] = "\n]\n";
enum { END = sizeof array_end - 1, PAGE = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* while a thread writes */
static int file = -1;       /* a descriptor; under the lock; -1: there is none */
static struct stat opened;  /* which file that is: the program may close the descriptor */
static atomic_bool is_open; /* whether there is one */
static atomic_uint files;   /* how many there were: in each the threads are named anew */

/* Returns whether the file is empty, or a trace that can go on. Writes the end of a trace that
 * lacks it, because its process was killed at the one moment when that can be. */
static bool can_go_on(int fd, const struct stat *about) {
    char text[2 * PAGE];
    const off_t from =
        about->st_size > (off_t)sizeof text ? about->st_size - (off_t)sizeof text : 0;
    ssize_t size = S_ISREG(about->st_mode) ? pread(fd, text, sizeof text, from) : -1;
    if (size <= 0)
        return size == 0;
    while (size > 0 && strchr(" \n", text[size - 1]))
        size--;
    const char last = size > 0 ? text[size - 1] : '\0';
    const off_t at = from + (off_t)size - (last != '}');
    if (from + (off_t)size < (off_t)END || !strchr("]},", last))
        return false;
    if (last == ']' && from + (off_t)size + 1 == about->st_size && text[size - 2] == '\n')
        return true;
    return last != ']' && ftruncate(fd, at) == 0 && pwrite(fd, array_end, END, at) == (ssize_t)END;
}

static bool is_same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/*
 * Writes the event over the array's end, and the end behind it. Returns false, and leaves the array
 * as it was, if that fails.
 *
 * A process that is killed ends a write between two pages of the file. An event that would not end
 * in the page begins in the next one, after blanks: then a write may leave an array without its
 * end, which viewers read, but no part of an event.
 */
static bool write_event(const char *event, size_t size, off_t file_size) {
    char text[PAGE + 2 + sizeof(acu_json)];
    const off_t at = file_size ? file_size - (off_t)END : 0;
    const size_t left = PAGE - (size_t)at % PAGE;
    size_t used = 2;
    text[0] = file_size ? ',' : '[';
    text[1] = '\n';
    if (used + size + END > left)
        for (; used < left || used == 2; used++)
            text[used] = ' ';
    memcpy(text + used, event, size);
    memcpy(text + used + size, array_end, END);
    used += size + END;
    if (pwrite(file, text, used, at) == (ssize_t)used)
        return true;
    if (ftruncate(file, at) == 0 && at)
        (void)!pwrite(file, array_end, END, at);
    return false;
}

/* Appends, under both locks; returns why the trace must end, NULL if it goes on. */
static const char *append(const acu_json *event) {
    struct stat about;
    if (fstat(file, &about) || !is_same_file(&about, &opened))
        return "the program closed its file";
    if (about.st_size > 0 && about.st_size <= (off_t)END)
        return "another program changed its file";
    if (about.st_size + (off_t)event->used > (off_t)MOST) {
        acu_json last;
        acu_json_begin(&last, 'i', "trace", "the trace ends here, because its file has 256 MiB",
                       acu_platform_now_ns(), (long)syscall(SYS_gettid));
        acu_json_end(&last);
        (void)write_event(last.text, last.used, about.st_size);
        return "its file has 256 MiB";
    }
    return write_event(event->text, event->used, about.st_size) ? NULL
                                                                : "its file cannot be written";
}

/* Forgets the file, under the lock, and closes its descriptor unless that is another file by now.
 */
static void forget_file(void) {
    struct stat about;
    if (file >= 0 && fstat(file, &about) == 0 && is_same_file(&about, &opened))
        close(file);
    file = -1;
    atomic_store(&is_open, false);
}

void acu_trace_append(acu_json *event) {
    const char *wrong = NULL;
    acu_json_end(event);
    pthread_mutex_lock(&lock);
    if (file >= 0) {
        (void)flock(file, LOCK_EX);
        wrong = append(event);
        (void)flock(file, LOCK_UN);
        if (wrong)
            forget_file();
    }
    pthread_mutex_unlock(&lock);
    if (wrong) {
        acu_line out = {.limit = ACU_LINE - ACU_LINE_TAIL};
        acu_line_put(&out, "anycuda: the trace ends, because ");
        acu_line_put(&out, wrong);
        acu_line_write(&out, STDERR_FILENO);
    }
}

/* ---- forks ---- */

static void before_fork(void) {
    pthread_mutex_lock(&lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&lock);
}

/* Opens the file anew, under the same number. Where that fails the child has no trace. */
static void in_child(void) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const int own = file >= 0 ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (own < 0 || dup3(own, file, O_CLOEXEC) < 0)
        forget_file();
    if (own >= 0)
        close(own);
    atomic_fetch_add(&files, 1);
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void) {
    (void)pthread_atfork(before_fork, after_fork, in_child);
}

/* ---- the target ---- */

static bool is_for_viewers(const char *target) {
    static const char end[] = ".json";
    const size_t length = target ? strlen(target) : 0;
    return length >= sizeof end && strcmp(target + length - (sizeof end - 1), end) == 0;
}

/* Opens the file; returns 0 or an errno. */
static int open_file(const char *target) {
    const int fd = open(target, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    struct stat about;
    if (fd < 0 || fstat(fd, &about))
        return errno;
    if (!can_go_on(fd, &about)) {
        close(fd);
        return EEXIST;
    }
    pthread_mutex_lock(&lock);
    file = fd;
    opened = about;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&files, 1);
    atomic_store(&is_open, true);
    return 0;
}

static void complain(const char *about, const char *target, int error) {
    acu_line out = {.limit = ACU_LINE - ACU_LINE_TAIL};
    acu_line_put_complaint(&out, about, " cannot open ", target, strlen(target));
    acu_line_put(&out, ": ");
    acu_line_put(&out, error == EEXIST ? "it is not a trace for viewers, and is left as it is"
                                       : strerror(error));
    acu_line_write(&out, STDERR_FILENO);
}

bool acu_trace_file_set(const char *target, const char *about, int *error) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const bool for_viewers = is_for_viewers(target);
    pthread_once(&once, watch_forks);
    if (atomic_load(&is_open))
        acu_measure_give_up(); /* what is done by now belongs to the old file */
    pthread_mutex_lock(&lock);
    forget_file();
    pthread_mutex_unlock(&lock);
    *error = for_viewers ? open_file(target) : 0;
    if (*error)
        complain(about, target, *error);
    if (target && *target && !*error)
        __atomic_or_fetch(&acu_audience, ACU_AUDIENCE_TRACE, __ATOMIC_RELEASE);
    else
        __atomic_and_fetch(&acu_audience, ~(unsigned)ACU_AUDIENCE_TRACE, __ATOMIC_RELEASE);
    return for_viewers;
}

static bool is_on(void) {
    return atomic_load(&is_open);
}

/* ---- rows ---- */

void acu_trace_name_row(long thread, const char *name) {
    acu_json event;
    acu_json_begin(&event, 'M', "trace", "thread_name", 0, thread);
    acu_json_put_arg(&event, "name", 4, name, SIZE_MAX);
    acu_trace_append(&event);
}

/* Names the process by its program; `now` is the file that this is for. */
static void name_process(unsigned now, long thread) {
    static atomic_uint named; /* the file that has the process's name */
    if (atomic_exchange(&named, now) == now)
        return;
    acu_json event;
    acu_json_begin(&event, 'M', "trace", "process_name", 0, thread);
    acu_json_put_arg(&event, "name", 4, program_invocation_short_name, SIZE_MAX);
    acu_trace_append(&event);
}

/* Puts the number of the calling thread, and its name if it has one: "[17 "uploads"] ". */
static void put_thread(acu_line *out) {
    acu_line_print(out, "[%ld", (long)syscall(SYS_gettid));
    if (*acu_thread_name) {
        acu_line_put(out, " ");
        acu_line_put_quoted(out, acu_thread_name, ACU_NAME_SIZE);
    }
    acu_line_put(out, "] ");
}

/* Names the row of the calling thread: as the program does, else as the system does. */
static void name_thread(long number) {
    char name[32] = "";
    (void)prctl(PR_GET_NAME, name);
    acu_trace_name_row(number, *acu_thread_name ? acu_thread_name : name);
}

long acu_trace_thread(void) {
    static _Thread_local unsigned named; /* the file that has the thread's name */
    static _Thread_local long number;
    const unsigned now = atomic_load(&files);
    if (named != now) {
        named = now;
        number = (long)syscall(SYS_gettid);
        acu_trace_open_forget();
        name_process(now, number);
        name_thread(number);
    }
    return number;
}

/* ---- calls ---- */

/* Adds "dst=0x7f00" as a member, and "*" before a name is left out. */
static void put_argument(acu_json *out, const acu_call *call, unsigned i, bool written) {
    acu_line line = {.limit = ACU_LINE - ACU_LINE_TAIL};
    acu_trace_put_argument(&line, call, i, written);
    const char *name = line.text + (line.text[0] == '*');
    const char *value = memchr(name, '=', line.used);
    if (value)
        acu_json_put_arg(out, name, (size_t)(value - name), value + 1,
                         (size_t)(line.text + line.used - value - 1));
}

static void write_call(const acu_call *call, uint64_t duration_ns) {
    const acu_function *function = call->function;
    const bool succeeded = function->returns != ACU_RETURNS_STATUS || call->result == 0;
    const long thread = acu_trace_thread();
    acu_json event;
    acu_line result = {.limit = ACU_LINE - ACU_LINE_TAIL};
    acu_json_begin(&event, 'X', "cuda", function->name, call->start_ns, thread);
    acu_json_put_time(&event, "dur", duration_ns);
    acu_trace_put_result(&result, call);
    if (result.used > 3) /* " = cudaSuccess" */
        acu_json_put_arg(&event, "result", 6, result.text + 3, result.used - 3);
    for (unsigned i = 0; i < function->param_count; i++)
        put_argument(&event, call, i, succeeded && !call->made_here);
    acu_trace_append(&event);
    acu_measure_end(call, succeeded, thread);
}

/* ---- ranges ---- */

/* The ranges of any thread that have begun: viewers want the name again where a range ends. */
static struct started {
    uint64_t id;
    char name[64];
} started[64]; /* under the lock; those that have no place have no name at their end */

static void remember(uint64_t id, const char *name) {
    pthread_mutex_lock(&lock);
    struct started *at = &started[id % 64];
    at->id = id;
    snprintf(at->name, sizeof at->name, "%s", name);
    pthread_mutex_unlock(&lock);
}

static void recall(uint64_t id, char name[64]) {
    pthread_mutex_lock(&lock);
    const struct started *at = &started[id % 64];
    snprintf(name, 64, "%s", at->id == id ? at->name : "");
    pthread_mutex_unlock(&lock);
}

static void put_payload(acu_json *out, const acu_range_event *range) {
    char text[40] = "";
    double number;
    memcpy(&number, &range->payload, sizeof number);
    if (range->payload_kind == 1)
        snprintf(text, sizeof text, "%llu", (unsigned long long)range->payload);
    else if (range->payload_kind == 2)
        snprintf(text, sizeof text, "%lld", (long long)range->payload);
    else if (range->payload_kind == 3)
        snprintf(text, sizeof text, "%.17g", number);
    if (*text)
        acu_json_put_arg(out, "payload", 7, text, sizeof text);
    if (range->category) {
        snprintf(text, sizeof text, "%u", (unsigned)range->category);
        acu_json_put_arg(out, "category", 8, text, sizeof text);
    }
}

static void write_range_event(const acu_range_event *range, uint64_t id, uint64_t now) {
    static const char phases[] = {[ACU_RANGE_PUSH] = 'B',
                                  [ACU_RANGE_START] = 'b',
                                  [ACU_RANGE_END] = 'e',
                                  [ACU_RANGE_MARK] = 'i'};
    const long thread = acu_trace_thread();
    const bool any_thread = range->step == ACU_RANGE_START || range->step == ACU_RANGE_END;
    char name[64] = "";
    acu_json event;
    if (range->step == ACU_RANGE_PUSH)
        acu_trace_open_push(range);
    else if (range->step == ACU_RANGE_START)
        remember(id, range->name);
    else if (range->step == ACU_RANGE_END)
        recall(id, name);
    acu_json_begin(&event, phases[range->step], acu_trace_category(range),
                   range->step == ACU_RANGE_END ? name : range->name, now, thread);
    if (any_thread)
        acu_json_put_number(&event, "id", id);
    if (range->step == ACU_RANGE_MARK)
        acu_json_put_text(&event, "s", "t");
    if (*range->domain_name && !range->is_call)
        acu_json_put_arg(&event, "domain", 6, range->domain_name, SIZE_MAX);
    put_payload(&event, range);
    acu_trace_append(&event);
}

/* "[thread] push "step" of "solver"". */
static void write_range_line(const acu_range_event *range, uint64_t id) {
    static const char *const steps[] = {"push", "pop", "start", "end", "mark"};
    acu_line out = {.limit = ACU_LINE - ACU_LINE_TAIL};
    put_thread(&out);
    acu_line_put(&out, steps[range->step]);
    if (range->name) {
        acu_line_put(&out, " ");
        acu_line_put_quoted(&out, range->name, SIZE_MAX);
    }
    if (range->step == ACU_RANGE_START || range->step == ACU_RANGE_END)
        acu_line_print(&out, " %llu", (unsigned long long)id);
    if (*range->domain_name) {
        acu_line_put(&out, " of ");
        acu_line_put_quoted(&out, range->domain_name, SIZE_MAX);
    }
    acu_trace_line(&out);
}

static void write_range(const acu_range_event *range, uint64_t id) {
    const uint64_t now = acu_platform_now_ns();
    const int kept = errno;
    if (is_on() && range->step == ACU_RANGE_POP)
        acu_trace_open_pop(range, now, acu_trace_thread());
    else if (is_on())
        write_range_event(range, id, now);
    else if (acu_trace_on())
        write_range_line(range, id);
    errno = kept;
}

/* ---- names ---- */

/* "[thread] name stream 0x7f00 "upload"". */
static void write_name_line(unsigned kind, uint64_t what, const char *name) {
    static const char *const formats[] = {[ACU_NAMED_THREAD] = "thread %llu ",
                                          [ACU_NAMED_DEVICE] = "device %llu ",
                                          [ACU_NAMED_STREAM] = "stream 0x%llx ",
                                          [ACU_NAMED_EVENT] = "event 0x%llx "};
    acu_line out = {.limit = ACU_LINE - ACU_LINE_TAIL};
    put_thread(&out);
    acu_line_put(&out, "name ");
    acu_line_print(&out, formats[kind], (unsigned long long)what);
    acu_line_put_quoted(&out, name, SIZE_MAX);
    acu_trace_line(&out);
}

/* Viewers have rows of threads and streams. */
static void write_name(unsigned kind, uint64_t what, const char *name) {
    const int kept = errno;
    if (kind == ACU_NAMED_STREAM)
        acu_measure_name((void *)(uintptr_t)what, name);
    if (is_on() && kind == ACU_NAMED_THREAD)
        name_thread(acu_trace_thread());
    else if (!is_on() && acu_trace_on() && name)
        write_name_line(kind, what, name);
    errno = kept;
}

const acu_trace_file_hooks acu_trace_file = {.range = write_range, .name = write_name};

/* ---- the hooks ---- */

static acu_hooks below; /* of the other layers */

/* The trace of lines has opened the file already, if that can be opened, and has written nothing.
 */
static void read_environment(void) {
    static const char about[] = "ANYCUDA_TRACE";
    const char *target = acu_platform_env(about);
    int error = 0;
    (void)below.on();
    if (acu_trace_on() && acu_trace_file_set(target, about, &error))
        (void)acu_trace_set(NULL, about);
}

static bool on(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    return is_on() || below.on();
}

static void begin(acu_call *call) {
    const int kept = errno;
    below.begin(call);
    if (is_on()) {
        call->measured = acu_measure_begin(call);
        call->start_ns = acu_platform_now_ns();
    }
    errno = kept;
}

static void end(acu_call *call) {
    const int kept = errno;
    const uint64_t now = acu_platform_now_ns();
    if (is_on())
        write_call(call, now - call->start_ns);
    below.end(call);
    errno = kept;
}

__attribute__((constructor)) static void join(void) {
    below = acu_layer_hooks;
    acu_trace_put_thread = put_thread;
    acu_layer_hooks = (acu_hooks){.on = on, .begin = begin, .end = end};
}
