/*
 * Reads each form of each instruction of the PTX manual with each of its types, as cells.txt has
 * them: what is said to be executed is lowered, and what is said to be refused is refused by its
 * name. Each instruction of targets.txt is refused for the first .version and .target, and is not
 * for the second.
 * ptx_cells CELLS TARGETS
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/ptx/lower.h"
#include "sim/ptx/validate.h"

enum { FIELDS = 5, LINE = 1024 };

static int failures;

static void fail(const char *const *cell, const char *what, const char *why) {
    fprintf(stderr, "%s (%s): %s: %s\n", cell[4], cell[3], what, why);
    failures++;
}

/* The text is that of tools/ptx_coverage.py, which ptxas reads. */
static void write_text(char *text, size_t room, const char *version, const char *const *cell) {
    const bool has_b128 = strcmp(version, "8.3") >= 0;
    snprintf(text, room,
             ".version %s\n.target %s\n.address_size 64\n.shared .align 128 .b8 s[1024];\n"
             ".global .align 128 .b8 m[1024];\n.func function() { ret; }\n"
             ".visible .entry k(.param .b64 param) {\n.reg .pred %%p<9>; .reg .b8 %%b<9>; .reg "
             ".b16 %%h<9>; "
             ".reg .b32 %%r<40>; .reg .b64 %%d<9>;%s\n%s\nLABEL:\nret;\n}\n",
             version, cell[3], has_b128 ? " .reg .b128 %q<5>;" : "", cell[4]);
}

/* Validates and lowers the kernel. Returns NULL, or why it is not executed, in `error`. */
static const char *find_why(ptx_module *module, ptx_error *error) {
    const ptx_function *kernel = acu_ptx_module_function(module, "k");
    ptx_code *code = NULL;
    if (acu_ptx_validate(module, error))
        return error->text;
    const char *left_out = acu_ptx_left_out(module, kernel);
    const ptx_result result = acu_ptx_code_make(module, kernel, 0, &code, error);
    acu_ptx_code_free(code);
    if ((left_out != NULL) != (result == PTX_NOT_SIMULATED) || (!left_out && result))
        snprintf(error->text, sizeof error->text, "validated and lowered are not the same: %d",
                 (int)result);
    return left_out || result ? error->text : NULL;
}

static void read_cell(const char *const *cell) {
    char text[2 * LINE];
    ptx_module *module = NULL;
    ptx_error error = {.text = ""};
    write_text(text, sizeof text, strcmp(cell[3], "sm_60") == 0 ? "6.0" : "9.0", cell);
    if (acu_ptx_parse(text, strlen(text), PTX_NEWEST, &module, &error)) {
        fail(cell, "cannot be read", error.text);
        return;
    }
    const char *why = find_why(module, &error);
    const char *word = cell[4] + strspn(cell[4], "@!%p1 ");
    char named[64];
    snprintf(named, sizeof named, "'%.*s", (int)strcspn(word, ". ;"), word);
    if (strcmp(cell[0], "executed") == 0 && why)
        fail(cell, "is not executed", why);
    if (strcmp(cell[0], "refused") == 0 && !why)
        fail(cell, "is said to be refused", "it is executed");
    if (strcmp(cell[0], "refused") == 0 && why &&
        (!strstr(why, "the simulator") || !strstr(why, named)))
        fail(cell, "is refused without its name", why);
    acu_ptx_module_free(module);
}

/* Reads the instruction in a text with the head, as 9.0 sm_60. Returns whether that is refused as
 * too old. */
static bool is_too_old(const char *head, const char *instruction) {
    const char version[] = {head[0], head[1], head[2], '\0'};
    const char *const cell[FIELDS] = {"", "", "", head + 4, instruction};
    char text[2 * LINE];
    ptx_module *module = NULL;
    ptx_error error = {.text = ""};
    write_text(text, sizeof text, version, cell);
    ptx_result result = acu_ptx_parse(text, strlen(text), PTX_NEWEST, &module, &error);
    if (!result)
        result = acu_ptx_validate(module, &error);
    const bool is_old = strstr(error.text, "requires .target") ||
                        strstr(error.text, "requires PTX ISA .version") ||
                        strstr(error.text, "not supported on .target");
    if (result && !is_old)
        fail(cell, "is refused otherwise", error.text);
    acu_ptx_module_free(module);
    return result && is_old;
}

static void read_head(const char *const *row) {
    const char *const cell[FIELDS] = {"", "", "", row[0], row[2]};
    if (!is_too_old(row[0], row[2]))
        fail(cell, "is not refused", "the head is too old");
    if (is_too_old(row[1], row[2]))
        fail(cell, "is refused for a later head", row[1]);
}

/* Splits a line at its tabulators, into so many fields. */
static int split(char *line, const char **cell, int fields) {
    int count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at && count < fields; count++) {
        cell[count] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = '\0';
    }
    return count == fields;
}

/* Gives each row of the file to the function. Returns how many there were; -1: there is no such
 * file, or a line is no row. */
static int read_rows(const char *name, int fields, void (*read)(const char *const *)) {
    char line[LINE];
    const char *cell[FIELDS];
    int count = 0;
    FILE *file = fopen(name, "r");
    while (file && count >= 0 && fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        count = split(line, cell, fields) ? count + 1 : -1;
        if (count > 0)
            read(cell);
    }
    if (file)
        fclose(file);
    return file ? count : -1;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "ptx_cells CELLS TARGETS\n");
        return 2;
    }
    const int cells = read_rows(argv[1], FIELDS, read_cell),
              targets = read_rows(argv[2], 3, read_head);
    printf("%d cells, %d targets, %d wrong\n", cells, targets, failures);
    return cells > 0 && targets > 0 && !failures ? 0 : 1;
}
