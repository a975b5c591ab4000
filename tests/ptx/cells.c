/*
 * Reads each form of each instruction of the PTX manual with each of its types, as cells.txt has
 * them: what is said to be executed is lowered, and what is said to be refused is refused by its
 * name. ptx_cells FILE
 */
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
static void write_text(char *text, size_t room, const char *const *cell) {
    const int is_old = strcmp(cell[3], "sm_60") == 0;
    snprintf(text, room,
             ".version %s\n.target %s\n.address_size 64\n.shared .align 128 .b8 s[1024];\n"
             ".global .align 128 .b8 m[1024];\n.func function() { ret; }\n"
             ".visible .entry k(.param .b64 param) {\n.reg .pred %%p<9>; .reg .b8 %%b<9>; .reg "
             ".b16 %%h<9>; "
             ".reg .b32 %%r<40>; .reg .b64 %%d<9>;%s\n%s\nLABEL:\nret;\n}\n",
             is_old ? "6.0" : "9.0", cell[3], is_old ? "" : " .reg .b128 %q<5>;", cell[4]);
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
    write_text(text, sizeof text, cell);
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

/* Splits a line at its tabulators. */
static int split(char *line, const char **cell) {
    int count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at && count < FIELDS; count++) {
        cell[count] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = '\0';
    }
    return count == FIELDS;
}

int main(int argc, char **argv) {
    char line[LINE];
    const char *cell[FIELDS];
    int count = 0;
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!file) {
        fprintf(stderr, "ptx_cells FILE\n");
        return 2;
    }
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        if (!split(line, cell)) {
            fprintf(stderr, "not a cell: %s\n", line);
            return 2;
        }
        read_cell(cell);
        count++;
    }
    fclose(file);
    printf("%d cells, %d wrong\n", count, failures);
    return count && !failures ? 0 : 1;
}
