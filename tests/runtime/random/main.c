/*
 * Runs random programs on a place: runtime_random 200 1 cpu.
 *
 * With -s the shortest part of a program that still differs is looked for; each try is a process of
 * its own, so that a part may crash or hang.
 */
#define _POSIX_C_SOURCE 200809L
#include "random.h"

#include "../made_up.h"
#include "../suite/kept.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USAGE = 2, SKIPPED = 77, STEPS = 120, MOST_THREADS = 8, PATIENCE = 60, TRY_PATIENCE = 20 };

static struct {
    unsigned count, threads;
    uint64_t first;
    const char *place;
    bool shrinks, is_second, fails;
} asked;

static unsigned differences;

/* ---- what the suite's files call ---- */

void fail_case(const char *file, int line, const char *format, ...) {
    va_list list;
    printf("error: %s:%d: ", file, line);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    puts("");
    exit(1);
}

void skip_case(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    exit(SKIPPED);
}

bool case_has_failed(void) {
    return false;
}

/* ---- running ---- */

static void make_clients(acu_client *clients[CLIENTS]) {
    acu_place other = asked.is_second ? second_device() : other_place();
    for (int i = 0; i < CLIENTS; i++)
        OK(acu_client_create(i == CLIENTS - 1 ? other : place, NULL, &clients[i]));
}

/* Returns whether nothing of the made-up back end is left. */
static bool is_all_gone(void) {
    unsigned left = made_up.queues + made_up.memories + made_up.marks + made_up.replays;
    if (left)
        printf("%u queues, %u memories, %u marks and %u replays are left\n", made_up.queues,
               made_up.memories, made_up.marks, made_up.replays);
    return left == 0;
}

/* Returns whether everything is as it should be in the end. */
static bool release_clients(acu_client *clients[CLIENTS]) {
    bool is_right = true;
    for (int i = 0; i < CLIENTS; i++) {
        acu_memory_stats stats = {.blocks = 0};
        if (acu_client_synchronize(clients[i]) || acu_client_get_memory(clients[i], &stats) ||
            stats.blocks || stats.used) {
            printf("client %d: %llu blocks are left, or %s\n", i, (unsigned long long)stats.blocks,
                   acu_last_error_message());
            is_right = false;
        }
        if (acu_client_release(clients[i]) && !asked.fails)
            is_right = false;
    }
    acu_error error;
    if (acu_release_error(&error) && !asked.fails) {
        printf("a release failed: %s\n", error.message);
        is_right = false;
    }
    if (is_late() && !is_all_gone())
        is_right = false;
    return is_right;
}

static void die(int signal) {
    static const char text[] = "the program does not end\n";
    (void)signal;
    if (write(STDOUT_FILENO, text, sizeof text - 1) < 0)
        _exit(3);
    abort();
}

/* Runs one program; returns whether nothing differed. */
static bool run_seed(uint64_t seed, const bool *left_out, bool is_told) {
    static world w; /* is large */
    acu_client *clients[CLIENTS];
    memset(&w, 0, sizeof w);
    make_clients(clients);
    w.seed = seed;
    w.clients = clients;
    w.alone = true;
    w.is_told = is_told;
    w.fails = asked.fails;
    alarm(left_out ? TRY_PATIENCE : PATIENCE);
    bool is_same = run_program(&w, STEPS, left_out);
    if (!is_same)
        printf("seed %llu: %s\n", (unsigned long long)seed, w.wrong);
    if (is_same && !release_clients(clients)) {
        printf("seed %llu: the end differs\n", (unsigned long long)seed);
        is_same = false;
    }
    alarm(0);
    fflush(stdout);
    return is_same;
}

/* ---- threads, which share the clients, but not their blocks ---- */

static void *run_in_thread(void *data) {
    world *w = data;
    if (!run_program(w, STEPS, NULL)) {
        printf("seed %llu in a thread: %s\n", (unsigned long long)w->seed, w->wrong);
        __atomic_add_fetch(&differences, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

enum { PART = 61 };

/* Gives a program a part of a block that all of them use. */
static void add_part(world *w, acu_block *shared, unsigned number) {
    memory *part = calloc(1, sizeof *part);
    uint8_t *zeros = calloc(1, PART);
    if (!part || !zeros)
        abort();
    *part = (memory){.owners = 1,
                     .block = shared,
                     .size = PART,
                     .bytes = zeros,
                     .is_part = true,
                     .base = (uint64_t)number * PART};
    w->blocks[0] = part;
}

static void run_threads_from(uint64_t seed) {
    static world worlds[MOST_THREADS];
    acu_client *clients[CLIENTS];
    pthread_t threads[MOST_THREADS];
    acu_block *shared = NULL;
    make_clients(clients);
    OK(acu_block_create(clients[0], PART * MOST_THREADS, &shared));
    OK(acu_block_fill(clients[0], shared, 0, PART * MOST_THREADS, "\0", 1));
    alarm(PATIENCE);
    for (unsigned i = 0; i < asked.threads; i++) {
        memset(&worlds[i], 0, sizeof worlds[i]);
        worlds[i].seed = seed * MOST_THREADS + i;
        worlds[i].clients = clients;
        add_part(&worlds[i], shared, i);
        if (pthread_create(&threads[i], NULL, run_in_thread, &worlds[i]))
            abort();
    }
    for (unsigned i = 0; i < asked.threads; i++)
        pthread_join(threads[i], NULL);
    OK(acu_block_release(shared));
    if (!release_clients(clients)) {
        printf("seed %llu: the end differs\n", (unsigned long long)seed);
        differences++;
    }
    alarm(0);
}

/* ---- shrinking ---- */

/* Chooses the place in a process of its own, and runs the program there. Returns whether it
 * differs, crashes, or does not end. */
static bool still_differs(uint64_t seed, const bool *left_out, bool is_told) {
    fflush(NULL);
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        if (!is_told && !freopen("/dev/null", "w", stdout))
            _exit(0);
        if (choose_place(asked.place))
            _exit(0);
        signal(SIGALRM, die);
        bool is_same = run_seed(seed, left_out, is_told);
        fflush(NULL);
        _exit(!is_same);
    }
    waitpid(child, &status, 0);
    return status != 0;
}

static unsigned count_left(const bool *left_out) {
    unsigned left = 0;
    for (unsigned i = 0; i < STEPS; i++)
        left += !left_out[i];
    return left;
}

/* Leaves out so many steps at once as long as the difference stays; then fewer. */
static void shrink(uint64_t seed) {
    bool left_out[STEPS] = {false}, tried[STEPS];
    if (!still_differs(seed, left_out, false)) {
        printf("seed %llu does not differ\n", (unsigned long long)seed);
        return;
    }
    for (unsigned size = STEPS / 2; size > 0; size /= 2)
        for (unsigned at = 0; at < STEPS; at += size) {
            memcpy(tried, left_out, sizeof tried);
            for (unsigned i = at; i < at + size && i < STEPS; i++)
                tried[i] = true;
            if (count_left(tried) < count_left(left_out) && still_differs(seed, tried, false))
                memcpy(left_out, tried, sizeof tried);
        }
    printf("seed %llu, %u steps are left:\n", (unsigned long long)seed, count_left(left_out));
    (void)still_differs(seed, left_out, true);
}

/* ---- the command ---- */

static int print_usage(FILE *to) {
    fprintf(to, "usage: runtime_random [-2 | -f] [-s | -t THREADS | -v] COUNT FIRST PLACE\n"
                "  runs COUNT random programs, whose seeds begin with FIRST, on a PLACE: cpu,\n"
                "  cuda, webgpu, fake or madeup, and compares all that they read with a model;\n"
                "  -2 uses the place's second device as well, and not the CPU;\n"
                "  -f lets functions of the place fail, which must be madeup, and only looks for\n"
                "  what is lost then;\n"
                "  -s looks for the shortest part of each that still differs;\n"
                "  -t runs one program in each thread, on the same clients;\n"
                "  -v prints every step\n");
    return USAGE;
}

static bool read_number(const char *text, unsigned most, unsigned *number) {
    char *end = NULL;
    unsigned long read = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    if (!end || *end || read > most)
        return false;
    *number = (unsigned)read;
    return true;
}

int main(int argc, char **argv) {
    unsigned first = 0;
    bool is_told = false;
    int at = 1;
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return print_usage(stdout), 0;
    if (argc > at && strcmp(argv[at], "-2") == 0)
        asked.is_second = at++;
    if (argc > at && strcmp(argv[at], "-f") == 0)
        asked.fails = at++;
    if (argc > at && strcmp(argv[at], "-s") == 0)
        asked.shrinks = at++;
    else if (argc > at && strcmp(argv[at], "-v") == 0)
        is_told = at++;
    else if (argc > at + 1 && strcmp(argv[at], "-t") == 0) {
        if (!read_number(argv[at + 1], MOST_THREADS, &asked.threads) || asked.threads == 0)
            return fprintf(stderr, "error: there can be 1 to %d threads\n", MOST_THREADS), USAGE;
        at += 2;
    }
    if (argc - at != 3)
        return print_usage(stderr);
    if (!read_number(argv[at], UINT32_MAX, &asked.count) ||
        !read_number(argv[at + 1], UINT32_MAX, &first))
        return fprintf(stderr, "error: COUNT and FIRST are numbers\n"), USAGE;
    asked.first = first;
    asked.place = argv[at + 2];
    signal(SIGALRM, die);
    if (asked.shrinks) {
        for (unsigned i = 0; i < asked.count; i++)
            shrink(asked.first + i);
        return 0;
    }
    if (asked.fails && (asked.threads || strncmp(asked.place, "madeup", 6) != 0))
        return fprintf(stderr, "error: only madeup fails, and in one thread\n"), USAGE;
    const char *why = choose_place(asked.place);
    if (why)
        return printf("skipped: %s\n", why), SKIPPED;
    for (unsigned i = 0; i < asked.count; i++)
        if (asked.threads)
            run_threads_from(asked.first + i);
        else
            differences += !run_seed(asked.first + i, NULL, is_told);
    release_programs();
    printf("%u seeds from %u on %s: %u differ\n", asked.count, first, asked.place, differences);
    return differences != 0;
}
