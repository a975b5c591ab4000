/*
 * Executes each spelling of an instruction that works lane by lane, and compares the results with
 * those of a GPU, of which answers.txt has a number for each spelling (how they were got:
 * README.md).
 *
 *     ptx_form_answers ANSWERS WAY           compare: with the interpreter, or machine code, of a
 *                                            level of the processor (`ways`)
 *     ptx_form_answers write FOLDER          write the PTX files, operands, a list for form_gpu.c
 *     ptx_form_answers run FILE              write the simulator's results
 *     ptx_form_answers number FILE           write the lines of answers.txt for a GPU's results
 * With a fourth argument, newer: the forms that a GPU of compute capability 9.0 lacks.
 */
#include "form_cases.h"

#include "sim/ptx/grid.h"
#include "sim/ptx/lower.h"

#include <stdlib.h>
#include <string.h>

enum { CASES_PER_FILE = 300 };

typedef struct memory {
    unsigned char *input, *output;
    size_t input_bytes, output_bytes;
} memory;

/* How cases are executed. */
typedef struct execution {
    const char *name;
    ptx_jit_use jit;
    ptx_level level;
} execution;

static const execution ways[] = {
    {"interpreter", PTX_JIT_NEVER, PTX_BEST},
    {"baseline", PTX_JIT_NEVER, PTX_BASELINE},
    {"interpreter_avx2", PTX_JIT_NEVER, PTX_AVX2},
    {"jit", PTX_JIT_ALWAYS, PTX_BEST},
    {"avx2", PTX_JIT_AVX2, PTX_BEST},
    {"jit_avx2", PTX_JIT_ALWAYS, PTX_AVX2},
};
static bool newer; /* the cases are those of compute capability 10.0 */

static bool find(void *data, uint64_t address, ptx_range *range) {
    const memory *m = data;
    const bool reads = address - (uintptr_t)m->input < m->input_bytes;
    if (!reads && address - (uintptr_t)m->output >= m->output_bytes)
        return false;
    char *bytes = (char *)(reads ? m->input : m->output);
    const size_t size = reads ? m->input_bytes : m->output_bytes;
    *range = (ptx_range){.base = (uintptr_t)bytes, .bytes = bytes, .writable = !reads};
    range->last = range->end = range->base + size - 1;
    return true;
}

static uint64_t no_variable(void *data, const ptx_variable *variable) {
    (void)data;
    (void)variable;
    return 0;
}

/* Executes a case with so many threads; false: it could not, which is said. */
static bool execute(const form_case *one, memory *m, const execution *way, unsigned threads) {
    acu_ptx_level_use(way->level);
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    form_cases_write_header(newer, file);
    form_case_write(one, file);
    fclose(file);
    ptx_module *module = NULL;
    ptx_code *code = NULL;
    ptx_error error = {.text = ""};
    ptx_fault fault = {.code = 0};
    bool good = !acu_ptx_parse(text, size, PTX_NEWEST, &module, &error) &&
                !acu_ptx_code_make(module, acu_ptx_module_function(module, one->entry), NULL, &code,
                                   &error);
    if (!good)
        printf("%s: %s\n", one->name, error.text);
    if (good) {
        ptx_machine machine = {.find = find, .variable = no_variable, .data = m};
        uint64_t params[] = {(uintptr_t)m->input, (uintptr_t)(m->output + one->at)};
        ptx_launch launch = {.code = code,
                             .machine = &machine,
                             .grid = {1, 1, 1},
                             .block = {threads, 1, 1},
                             .cluster = {1, 1, 1},
                             .params = params,
                             .multiprocessors = 1,
                             .workers = 1,
                             .jit = way->jit,
                             .grid_id = 1};
        good = acu_ptx_grid_run(&launch, &fault) == 0;
        if (!good)
            printf("%s: %d %s\n", one->name, fault.code, fault.what);
    }
    acu_ptx_code_free(code);
    acu_ptx_module_free(module);
    free(text);
    return good;
}

static uint64_t number_of(const unsigned char *bytes, size_t size) {
    uint64_t number = UINT64_C(0xcbf29ce484222325);
    for (size_t n = 0; n < size; n++)
        number = (number ^ bytes[n]) * UINT64_C(0x100000001b3);
    return number;
}

static int write_files(const form_case *cases, size_t count, const memory *m, const char *folder) {
    char path[512];
    FILE *file = NULL;
    snprintf(path, sizeof path, "%s/list.txt", folder);
    FILE *list = fopen(path, "w");
    for (size_t n = 0; list && n < count; n++) {
        if (n % CASES_PER_FILE == 0) {
            if (file)
                fclose(file);
            snprintf(path, sizeof path, "%s/forms%zu.ptx", folder, n / CASES_PER_FILE);
            file = fopen(path, "w");
            if (!file)
                return 1;
            form_cases_write_header(newer, file);
        }
        form_case_write(&cases[n], file);
        fprintf(list, "forms%zu %s %zu %zu %s\n", n / CASES_PER_FILE, cases[n].entry, cases[n].at,
                cases[n].bytes, cases[n].name);
    }
    if (file)
        fclose(file);
    if (!list)
        return 1;
    fclose(list);
    snprintf(path, sizeof path, "%s/input.bin", folder);
    file = fopen(path, "wb");
    return !file || fwrite(m->input, 1, m->input_bytes, file) != m->input_bytes || fclose(file);
}

/* Compares every case with the answers; a case that the file does not have is named. */
static int compare(const form_case *cases, size_t count, memory *m, const execution *way,
                   const char *path) {
    FILE *file = fopen(path, "r");
    char line[256], name[256];
    unsigned long long number;
    int wrong = 0, compared = 0;
    while (file && fgets(line, sizeof line, file)) {
        char *end;
        number = strtoull(line, &end, 16);
        if (end == line || *end != ' ')
            continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(end + 1, "\n"), end + 1);
        const form_case *one = NULL;
        for (size_t n = 0; n < count && !one; n++)
            one = strcmp(cases[n].name, name) == 0 ? &cases[n] : NULL;
        if (one && execute(one, m, way, CASE_THREADS) &&
            number_of(m->output + one->at, one->bytes) == number) {
            compared++;
            continue;
        }
        printf("%s differs\n", name);
        wrong++;
    }
    if (file)
        fclose(file);
    printf("%d forms agree with a GPU, %d differ\n", compared, wrong);
    return wrong || !compared;
}

/* Compares what every case does in this way with the interpreter's best: with all lanes of each
 * warp, and with some of the only warp. */
static int compare_ways(const form_case *cases, size_t count, memory *m, const execution *way) {
    static const unsigned threads[] = {CASE_THREADS, 21};
    int wrong = 0;
    for (size_t n = 0; n < count; n++)
        for (unsigned i = 0; i < 2; i++) {
            const form_case *one = &cases[n];
            uint64_t numbers[2];
            bool executed[2];
            for (unsigned other = 0; other < 2; other++) {
                memset(m->output + one->at, 0, one->bytes);
                executed[other] = execute(one, m, other ? way : &ways[0], threads[i]);
                numbers[other] = number_of(m->output + one->at, one->bytes);
            }
            if (executed[0] == executed[1] && numbers[0] == numbers[1])
                continue;
            printf("%s differs from the interpreter with %u threads\n", one->name, threads[i]);
            wrong++;
        }
    printf("%zu forms were compared with the interpreter, %d differ\n", count, wrong);
    if (way->jit && !acu_ptx_jit_count())
        printf("there was no machine code\n");
    return wrong;
}

static int write_results(const form_case *cases, size_t count, memory *m, const char *path) {
    int failed = 0;
    for (size_t n = 0; n < count; n++)
        failed += !execute(&cases[n], m, &ways[0], CASE_THREADS);
    FILE *file = fopen(path, "wb");
    printf("%zu forms, %d failed\n", count, failed);
    return !file || fwrite(m->output, 1, m->output_bytes, file) != m->output_bytes || fclose(file);
}

/* Whether an instruction may give something else than a GPU: one of two NaN. */
static bool is_open(const char *name) {
    return strstr(name, ".shared.add.f64");
}

static int write_numbers(const form_case *cases, size_t count, memory *m, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fread(m->output, 1, m->output_bytes, file) != m->output_bytes)
        return 1;
    fclose(file);
    for (size_t n = 0; n < count; n++)
        if (!is_open(cases[n].name))
            printf("%016llx %s\n",
                   (unsigned long long)number_of(m->output + cases[n].at, cases[n].bytes),
                   cases[n].name);
    return 0;
}

/* Returns the way with the name; NULL: none has it. */
static const execution *way_of(const char *name) {
    for (size_t n = 0; n < sizeof ways / sizeof *ways; n++)
        if (strcmp(ways[n].name, name) == 0)
            return &ways[n];
    return NULL;
}

int main(int argc, char **argv) {
    memory m = {.input = NULL};
    size_t count;
    newer = argc == 4 && strcmp(argv[3], "newer") == 0;
    argc -= newer;
    form_case *cases = form_cases_make(newer, &count, &m.output_bytes);
    m.input = form_cases_input(&m.input_bytes);
    m.output = calloc(1, m.output_bytes);
    int result = 2;
    const execution *way = argc == 3 ? way_of(argv[2]) : NULL;
    const char *lack = way ? acu_ptx_level_lack(way->level, acu_ptx_processor_level()) : NULL;
    if (lack)
        result = printf("skipped: %s\n", lack) < 0;
    else if (way && newer)
        result = compare_ways(cases, count, &m, way);
    else if (way)
        result = compare(cases, count, &m, way, argv[1]) |
                 (way == &ways[0] ? 0 : compare_ways(cases, count, &m, way));
    else if (argc == 3 && strcmp(argv[1], "write") == 0)
        result = write_files(cases, count, &m, argv[2]);
    else if (argc == 3 && strcmp(argv[1], "run") == 0)
        result = write_results(cases, count, &m, argv[2]);
    else if (argc == 3 && strcmp(argv[1], "number") == 0)
        result = write_numbers(cases, count, &m, argv[2]);
    free(m.output);
    free(m.input);
    free(cases);
    return result;
}
