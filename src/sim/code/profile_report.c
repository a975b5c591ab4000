/* What is written of profiles at exit: a table, and JSON. */
#include "sim/code/profile.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

enum { SHORT = 16 };

/* Writes a number in at most seven columns. */
static const char *short_number(uint64_t number, char text[SHORT]) {
    static const char units[] = "KMGTPE";
    double value = (double)number;
    unsigned unit = 0;
    if (number < 100000) {
        snprintf(text, SHORT, "%llu", (unsigned long long)number);
        return text;
    }
    for (value /= 1000; value >= 1000 && units[unit + 1]; unit++)
        value /= 1000;
    snprintf(text, SHORT,
             value < 10    ? "%.2f%c"
             : value < 100 ? "%.1f%c"
                           : "%.0f%c",
             value, units[unit]);
    return text;
}

/* Writes a ratio; "-" where there is nothing to divide by. */
static const char *ratio(uint64_t part, uint64_t whole, double by, const char *unit,
                         char text[SHORT]) {
    if (whole)
        snprintf(text, SHORT, "%.1f%s", (double)part / (double)whole * by, unit);
    else
        snprintf(text, SHORT, "-");
    return text;
}

/* ---- the table ---- */

enum { NAME = 30, PLACE = 200 };

/* Writes a name in so many columns; of a long one its beginning and its end. */
static void shorten(const char *name, char text[NAME + 1]) {
    const size_t length = strlen(name), half = (NAME - 2) / 2;
    if (length <= NAME)
        snprintf(text, NAME + 1, "%s", name);
    else
        snprintf(text, NAME + 1, "%.*s..%s", (int)half, name, name + length - half);
}

static void write_row(FILE *file, const acu_sim_profiled *k) {
    char name[NAME + 1], threads[SHORT], divergent[SHORT], loads[SHORT], stores[SHORT],
        conflicts[SHORT], lanes[SHORT];
    const ptx_counts sum = acu_sim_profile_sum(k);
    const uint64_t *of = sum.of;
    shorten(k->kernel, name);
    fprintf(file, "%-30s %8llu %9s %9s %7s %7s %9s %7s %5.0f%%\n", name, k->launches,
            short_number(of[PTX_COUNT_THREADS], threads),
            ratio(of[PTX_COUNT_DIVERGENT], of[PTX_COUNT_BRANCHES], 100, "%", divergent),
            ratio(of[PTX_COUNT_LOAD_SECTORS], of[PTX_COUNT_LOADS], 1, "", loads),
            ratio(of[PTX_COUNT_STORE_SECTORS], of[PTX_COUNT_STORES], 1, "", stores),
            short_number(of[PTX_COUNT_SHARED_LOAD_CONFLICTS] + of[PTX_COUNT_SHARED_STORE_CONFLICTS],
                         conflicts),
            ratio(of[PTX_COUNT_ATOMIC_LANES], of[PTX_COUNT_ATOMIC_ADDRESSES], 1, "", lanes),
            100 * k->occupancy / (double)k->launches);
}

/* Writes "sum.cu:8", or "line 45 of the PTX". */
static void write_place(const acu_sim_profiled_line *line, char text[PLACE]) {
    const char *base = line->file ? strrchr(line->file, '/') : NULL;
    if (line->file)
        snprintf(text, PLACE, "%s:%u", base ? base + 1 : line->file, line->source);
    else
        snprintf(text, PLACE, "line %u of the PTX", line->line);
}

static bool is_same_place(const acu_sim_profiled_line *a, const acu_sim_profiled_line *b) {
    if (!a->file || !b->file)
        return !a->file && !b->file && a->line == b->line;
    return a->source == b->source && strcmp(a->file, b->file) == 0;
}

/* What a line of the source did, or of the PTX where the source is not known. */
typedef struct hot_place {
    const acu_sim_profiled_line *line; /* the first instruction */
    uint64_t threads;
} hot_place;

static int by_threads(const void *a, const void *b) {
    const hot_place *one = a, *other = b;
    if (one->threads != other->threads)
        return one->threads < other->threads ? 1 : -1;
    return one->line < other->line ? -1 : one->line > other->line;
}

static void write_hottest(FILE *file, const acu_sim_profiled *k) {
    enum { SHOWN = 3 };
    hot_place *places = calloc(k->line_count + 1, sizeof *places);
    size_t count = 0;
    uint64_t all = acu_sim_profile_sum(k).of[PTX_COUNT_THREADS];
    for (size_t n = 0; places && n < k->line_count; n++) {
        size_t at = 0;
        while (at < count && !is_same_place(places[at].line, &k->lines[n]))
            at++;
        if (at == count)
            places[count++] = (hot_place){&k->lines[n], 0};
        places[at].threads += k->lines[n].counts.of[PTX_COUNT_THREADS];
    }
    if (count)
        qsort(places, count, sizeof *places, by_threads);
    for (size_t n = 0; n < count && n < SHOWN && places[n].threads; n++) {
        char place[PLACE], share[SHORT];
        write_place(places[n].line, place);
        fprintf(file, "%s%s %s", n ? ", " : "  hottest: ", place,
                ratio(places[n].threads, all, 100, "%", share));
    }
    fprintf(file, "\n");
    free(places);
}

/* What may be wrong with an instruction: `much` per `each`, of which `enough` would do. */
typedef struct complaint {
    const char *what, *format;
    ptx_counter much[2], enough[2], each[2];
    bool conflicts; /* `enough` is what could be spared */
    double by;
} complaint;

static const complaint complaints[] = {
    {"loads",
     "%.1f sectors per request, %.1f would do",
     {PTX_COUNT_LOAD_SECTORS, PTX_COUNTERS},
     {PTX_COUNT_LOAD_IDEAL, PTX_COUNTERS},
     {PTX_COUNT_LOADS, PTX_COUNTERS},
     false,
     1},
    {"stores",
     "%.1f sectors per request, %.1f would do",
     {PTX_COUNT_STORE_SECTORS, PTX_COUNTERS},
     {PTX_COUNT_STORE_IDEAL, PTX_COUNTERS},
     {PTX_COUNT_STORES, PTX_COUNTERS},
     false,
     1},
    {"conflicts",
     "%.1f wavefronts per request, %.1f would do",
     {PTX_COUNT_SHARED_LOAD_WAVEFRONTS, PTX_COUNT_SHARED_STORE_WAVEFRONTS},
     {PTX_COUNT_SHARED_LOAD_CONFLICTS, PTX_COUNT_SHARED_STORE_CONFLICTS},
     {PTX_COUNT_SHARED_LOADS, PTX_COUNT_SHARED_STORES},
     true,
     1},
    {"divergence",
     "%.1f%% of the branches part lanes",
     {PTX_COUNT_DIVERGENT, PTX_COUNTERS},
     {PTX_COUNTERS, PTX_COUNTERS},
     {PTX_COUNT_BRANCHES, PTX_COUNTERS},
     false,
     100},
    {"atomics",
     "%.1f lanes of a request hit one address",
     {PTX_COUNT_ATOMIC_LANES, PTX_COUNTERS},
     {PTX_COUNT_ATOMIC_ADDRESSES, PTX_COUNTERS},
     {PTX_COUNT_ATOMIC_ADDRESSES, PTX_COUNTERS},
     false,
     1},
};

static uint64_t sum_of(const ptx_counts *counts, const ptx_counter which[2]) {
    uint64_t sum = 0;
    for (unsigned n = 0; n < 2; n++)
        sum += which[n] < PTX_COUNTERS ? counts->of[which[n]] : 0;
    return sum;
}

/* Returns what could be spared at most. */
static uint64_t waste(const complaint *c, const ptx_counts *counts) {
    uint64_t much = sum_of(counts, c->much), enough = sum_of(counts, c->enough);
    return c->conflicts ? enough : much > enough ? much - enough : 0;
}

/* Names the instruction that wastes most. */
static void complain(FILE *file, const acu_sim_profiled *k, const complaint *c) {
    const acu_sim_profiled_line *worst = NULL;
    char place[PLACE];
    for (size_t n = 0; n < k->line_count; n++)
        if (waste(c, &k->lines[n].counts) > (worst ? waste(c, &worst->counts) : 0))
            worst = &k->lines[n];
    if (!worst)
        return;
    const ptx_counts *counts = &worst->counts;
    double much = (double)sum_of(counts, c->much), each = (double)sum_of(counts, c->each);
    double enough =
        c->conflicts ? much - (double)waste(c, counts) : (double)sum_of(counts, c->enough);
    write_place(worst, place);
    fprintf(file, "  %s: %s, %s: ", c->what, place, worst->opcode);
    /* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): of the table above */
    fprintf(file, c->format, much / each * c->by, enough / each * c->by);
    fprintf(file, "\n");
}

static uint64_t threads_of(const acu_sim_profiled *k) {
    return acu_sim_profile_sum(k).of[PTX_COUNT_THREADS];
}

static int by_work(const void *a, const void *b) {
    const acu_sim_profiled *const *one = a, *const *other = b;
    uint64_t x = threads_of(*one), y = threads_of(*other);
    return x != y ? (x < y ? 1 : -1) : strcmp((*one)->kernel, (*other)->kernel);
}

void acu_sim_profile_write_table(FILE *file, const acu_sim_profiled *kernels) {
    size_t count = 0;
    for (const acu_sim_profiled *k = kernels; k; k = k->next)
        count++;
    const acu_sim_profiled **list = calloc(count + 1, sizeof *list);
    if (!count || !list) {
        fprintf(file, "anycuda: simulator: profile: %s\n",
                list ? "no kernel was executed" : "there is no memory for the table");
        free(list);
        return;
    }
    for (const acu_sim_profiled *k = kernels; k; k = k->next)
        list[--count] = k;
    while (list[count])
        count++;
    qsort(list, count, sizeof *list, by_work);
    fprintf(file, "anycuda: simulator: profile: docs/users/profiles.md says what the columns are\n"
                  "kernel                         launches   threads divergent  ld s/r  st s/r "
                  "conflicts atomics occup.\n");
    for (size_t n = 0; n < count; n++) {
        write_row(file, list[n]);
        write_hottest(file, list[n]);
        for (size_t c = 0; c < sizeof complaints / sizeof *complaints; c++)
            complain(file, list[n], &complaints[c]);
    }
    free(list);
}

/* ---- JSON ---- */

static void write_string(FILE *file, const char *text) {
    fputc('"', file);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20)
            fprintf(file, "\\u%04x", c);
        else
            fprintf(file, "%s%c", c == '"' || c == '\\' ? "\\" : "", c);
    }
    fputc('"', file);
}

/* Writes counters behind what the object has; with `all` also those that are 0. */
static void write_counts(FILE *file, const ptx_counts *counts, bool all) {
    for (unsigned n = 0; n < PTX_COUNTERS; n++)
        if (all || counts->of[n])
            fprintf(file, ", \"%s\": %llu", acu_sim_profile_name((ptx_counter)n),
                    (unsigned long long)counts->of[n]);
}

static void write_line(FILE *file, const acu_sim_profiled_line *line) {
    fprintf(file, "      {\"ptx_line\": %u, \"opcode\": ", line->line);
    write_string(file, line->opcode);
    if (line->file) {
        fprintf(file, ", \"file\": ");
        write_string(file, line->file);
        fprintf(file, ", \"line\": %u", line->source);
    }
    write_counts(file, &line->counts, false);
    fprintf(file, "}");
}

static void write_kernel(FILE *file, const acu_sim_profiled *k) {
    const ptx_counts sum = acu_sim_profile_sum(k);
    fprintf(file, "    {\"kernel\": ");
    write_string(file, k->kernel);
    fprintf(file, ", \"launches\": %llu, \"occupancy\": %.4f", k->launches,
            k->occupancy / (double)k->launches);
    write_counts(file, &sum, true);
    fprintf(file, ", \"lines\": [");
    for (size_t n = 0; n < k->line_count; n++) {
        fprintf(file, n ? ",\n" : "\n");
        write_line(file, &k->lines[n]);
    }
    fprintf(file, "]}");
}

void acu_sim_profile_write_json(FILE *file, const acu_sim_profiled *kernels) {
    fprintf(file, "{\"version\": 1, \"kernels\": [");
    for (const acu_sim_profiled *k = kernels; k; k = k->next) {
        fprintf(file, k == kernels ? "\n" : ",\n");
        write_kernel(file, k);
    }
    fprintf(file, "\n]}\n");
}
