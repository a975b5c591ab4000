/*
 * Runs the cases on a place, one after the other, in one process: runtime_suite cuda 'copy[.]'.
 *
 * A case that crashes, or hangs, ends the program after its name was printed.
 */
#define _POSIX_C_SOURCE 200809L /* sigaction, alarm */
#include "kept.h"
#include "suite.h"

#include <anycuda/object.h>

#include <pthread.h>
#include <regex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

enum { USAGE = 2, SKIPPED = 77, PATIENCE = 120, MOST_CASES = 1000 };

typedef struct test_case {
    char name[120]; /* "copy.overlapping_ranges.up_by_one" */
    case_body *body;
    const void *row;
} test_case;

static test_case cases[MOST_CASES];
static size_t case_count;

/* The case that runs. */
static struct {
    const test_case *it;
    jmp_buf end;
    pthread_t thread;
    bool failed, skipped; /* atomic, as threads fail, too */
} now;

static unsigned passed, failed, skipped;

static int print_case(const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vprintf(format, list);
    va_end(list);
    fflush(stdout);
    return length;
}

/* ---- the list ---- */

/* "copy.overlapping_ranges", and ".up_by_one", or the number of a row without a name. */
void add_case(const char *file, const char *name, const char *row_name, case_body *body,
              const void *row) {
    const char *slash = strrchr(file, '/');
    slash = slash ? slash + 1 : file;
    if (case_count == MOST_CASES)
        abort();
    test_case *it = &cases[case_count++];
    int length =
        snprintf(it->name, sizeof it->name, "%.*s.%s", (int)strcspn(slash, "."), slash, name);
    char *end = it->name + length;
    size_t room = sizeof it->name - (size_t)length;
    if (row_name)
        snprintf(end, room, ".%s", row_name);
    else if (row)
        snprintf(end, room, ".%zu", *(const size_t *)row);
    it->body = body;
    it->row = row;
}

/* Cases in the order of their names, whatever order the linker gave them. */
static int compare_names(const void *a, const void *b) {
    return strcmp(((const test_case *)a)->name, ((const test_case *)b)->name);
}

/* Sorts the cases of a file by nothing but the file: inside they stay as they are written. */
static bool names_are_distinct(void) {
    static test_case sorted[MOST_CASES];
    memcpy(sorted, cases, sizeof cases);
    qsort(sorted, case_count, sizeof *sorted, compare_names);
    for (size_t i = 1; i < case_count; i++)
        if (strcmp(sorted[i - 1].name, sorted[i].name) == 0) {
            fprintf(stderr, "error: two cases have the name %s\n", sorted[i].name);
            return false;
        }
    return true;
}

/* ---- how a case ends ---- */

static _Noreturn void end_case(void) {
    if (pthread_equal(pthread_self(), now.thread))
        longjmp(now.end, 1);
    pthread_exit(NULL);
}

void fail_case(const char *file, int line, const char *format, ...) {
    char text[2000];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    const char *slash = strrchr(file, '/');
    if (!__atomic_exchange_n(&now.failed, true, __ATOMIC_RELAXED))
        failed++;
    print_case("FAIL %s: %s:%d: %s\n", now.it->name, slash ? slash + 1 : file, line, text);
    end_case();
}

void skip_case(const char *format, ...) {
    char text[1000];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    skipped++;
    now.skipped = true;
    print_case("skip %s: %s\n", now.it->name, text);
    end_case();
}

static void die(int signal) {
    static const char crash[] = ": the program crashed in this case\n";
    static const char hang[] = ": the case did not end\n";
    const char *text = signal == SIGALRM ? hang : crash, *name = now.it ? now.it->name : "";
    if (write(STDOUT_FILENO, "FAIL ", 5) < 0 || write(STDOUT_FILENO, name, strlen(name)) < 0 ||
        write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(3);
    if (signal == SIGALRM)
        abort(); /* a debugger, or a core, shows where */
    _exit(1);
}

/* A sanitizer has handlers of its own for crashes, which tell more. */
static void catch_signals(void) {
    const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    struct sigaction action = {.sa_handler = die}, before;
    sigaction(SIGALRM, &action, NULL);
    for (size_t i = 0; i < COUNT(crashes); i++)
        if (sigaction(crashes[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(crashes[i], &action, NULL);
}

/* ---- running ---- */

static void run_case(const test_case *it) {
    now.it = it;
    now.failed = now.skipped = false;
    now.thread = pthread_self();
    alarm(PATIENCE);
    if (setjmp(now.end) == 0) {
        begin_case();
        it->body(it->row);
        let_go();
        end_of_case();
    } else {
        let_go();
        if (setjmp(now.end) == 0)
            drop_kept();
    }
    alarm(0);
    if (now.failed || now.skipped)
        return;
    passed++;
    print_case("ok %s\n", it->name);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool case_has_failed(void) {
    return __atomic_load_n(&now.failed, __ATOMIC_RELAXED);
}

static int run_all(const regex_t *chosen, bool timed) {
    double begin = seconds();
    for (size_t i = 0; i < case_count; i++)
        if (regexec(chosen, cases[i].name, 0, NULL, 0) == 0) {
            double before = seconds();
            run_case(&cases[i]);
            if (timed)
                print_case("    %.3f s\n", seconds() - before);
        }
    now.it = NULL;
    release_programs();
    printf("%u ok, %u failed, %u skipped, in %.1f s\n", passed, failed, skipped, seconds() - begin);
    return failed || passed + skipped == 0;
}

static int list_all(const regex_t *chosen) {
    size_t count = 0;
    for (size_t i = 0; i < case_count; i++)
        if (regexec(chosen, cases[i].name, 0, NULL, 0) == 0) {
            puts(cases[i].name);
            count++;
        }
    printf("%zu cases\n", count);
    return 0;
}

static int print_usage(FILE *to) {
    fprintf(to, "usage: runtime_suite [-t] PLACE [REGEX]\n"
                "       runtime_suite -l [REGEX]\n"
                "  runs the cases of the runtime interface on a PLACE: cpu, cuda, webgpu,\n"
                "  madeup (a back end that does its work late), fake (one that has only\n"
                "  what each must have), or the path of a shared object;\n"
                "  REGEX chooses cases by their names (copy[.]), -l lists them, -t times them\n");
    return USAGE;
}

int main(int argc, char **argv) {
    regex_t chosen;
    bool list = argc > 1 && strcmp(argv[1], "-l") == 0;
    bool timed = argc > 1 && strcmp(argv[1], "-t") == 0;
    int at = 1 + (list || timed);
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return print_usage(stdout), 0;
    if (at < argc && argv[at][0] == '-')
        return fprintf(stderr, "error: there is no option '%s'\n", argv[at]), USAGE;
    const char *name = list ? NULL : at < argc ? argv[at++] : NULL;
    if ((!list && !name) || argc - at > 1)
        return print_usage(stderr);
    if (regcomp(&chosen, at < argc ? argv[at] : "", REG_EXTENDED | REG_NOSUB))
        return fprintf(stderr, "error: '%s' is no regular expression\n", argv[at]), USAGE;
    if (!names_are_distinct())
        return USAGE;
    if (list)
        return list_all(&chosen);
    const char *why = choose_place(name);
    if (why)
        return printf("skipped: %s\n", why), SKIPPED;
    acu_quarantine(64); /* cases use dead handles */
    catch_signals();
    int status = run_all(&chosen, timed);
    regfree(&chosen);
    return status;
}
