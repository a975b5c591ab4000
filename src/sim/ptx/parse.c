/* Reads PTX: what is outside of functions. */
#include "sim/ptx/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors and words ---- */

static _Noreturn void end_with(ptx_parser *p, ptx_result result, ptx_place place, bool is_fatal,
                               const char *format, va_list list) {
    int used = snprintf(p->error->text, sizeof p->error->text,
                        "ptxas application ptx input, line %u; %s   : ", place.line,
                        is_fatal ? "fatal" : "error");
    vsnprintf(p->error->text + used, sizeof p->error->text - (size_t)used, format, list);
    p->error->place = place;
    p->result = result;
    longjmp(p->end, 1);
}

void acu_ptx_parse_fail(ptx_parser *p, ptx_result result, ptx_place place, const char *format,
                        ...) {
    va_list list;
    va_start(list, format);
    end_with(p, result, place, false, format, list);
}

void acu_ptx_parse_end(ptx_parser *p, ptx_place place, const char *format, ...) {
    va_list list;
    va_start(list, format);
    end_with(p, PTX_INVALID, place, true, format, list);
}

void acu_ptx_parse_refuse(ptx_parser *p) {
    const ptx_text *t = &p->text;
    if (t->is_open)
        acu_ptx_parse_end(p, t->place, "Parsing error near '': unexpected EOF while scanning");
    acu_ptx_parse_end(p, t->place, "Parsing error near '%.*s': syntax error",
                      (int)(t->length > 60 ? 60 : t->length), t->word);
}

void acu_ptx_parse_expect(ptx_parser *p, const char *word) {
    if (!acu_ptx_parse_accept(p, word))
        acu_ptx_parse_refuse(p);
}

static _Noreturn void end_without_memory(ptx_parser *p) {
    acu_ptx_parse_fail(p, PTX_NO_MEMORY, p->text.place, "out of memory");
}

void *acu_ptx_parse_alloc(ptx_parser *p, size_t size) {
    void *at = acu_ptx_module_alloc(p->module, size);
    if (!at)
        end_without_memory(p);
    return at;
}

const char *acu_ptx_parse_name(ptx_parser *p) {
    if (!acu_ptx_text_is_name(&p->text))
        acu_ptx_parse_refuse(p);
    char *copy = acu_ptx_parse_alloc(p, p->text.length + 1);
    memcpy(copy, p->text.word, p->text.length);
    acu_ptx_text_next(&p->text);
    return copy;
}

void acu_ptx_parse_need(ptx_parser *p, ptx_place place, const char *word, int version, int target) {
    if (p->module->target < target)
        acu_ptx_parse_fail(p, PTX_INVALID, place, "Feature '%s' requires .target sm_%d or higher",
                           word, target);
    if (p->module->version < version)
        acu_ptx_parse_fail(p, PTX_INVALID, place,
                           "Feature '%s' requires PTX ISA .version %d.%d or later", word,
                           version / 10, version % 10);
}

void *acu_ptx_parse_grow(ptx_parser *p, void *array, unsigned count, unsigned *room, size_t size) {
    if (count < *room)
        return array;
    unsigned more = *room ? *room * 2 : 64;
    void *grown = more > UINT32_MAX / 4 ? NULL : realloc(array, more * size);
    if (!grown)
        end_without_memory(p);
    *room = more;
    return grown;
}

void acu_ptx_parse_add_name(ptx_parser *p, ptx_name name) {
    name.length = strlen(name.name);
    name.scope = acu_ptx_names_scope(p->names);
    if (acu_ptx_names_here(p->names, name.name, name.length, name.scope, name.kind))
        acu_ptx_parse_fail(p, PTX_INVALID, p->text.before, "Duplicate definition of %s '%s%s'",
                           name.kind == PTX_NAME_FUNCTION ? "function"
                           : name.kind == PTX_NAME_LABEL || name.kind == PTX_NAME_TABLE
                               ? "label"
                               : "variable",
                           name.name, name.kind == PTX_NAME_REGISTERS ? "<" : "");
    const ptx_name *twice = acu_ptx_names_clash(p->names, &name);
    if (twice)
        acu_ptx_parse_fail(p, PTX_INVALID, p->text.before, "Duplicate definition of variable '%s'",
                           twice->name);
    if (!acu_ptx_names_add(p->names, &name))
        end_without_memory(p);
}

/* ---- the head of the text ---- */

static void read_version(ptx_parser *p) {
    unsigned major = 0, minor = 0;
    ptx_place place = p->text.place;
    if (!acu_ptx_text_is(&p->text, ".version"))
        acu_ptx_parse_end(p, place, "Missing .version directive at start of file '(null)'");
    acu_ptx_text_next(&p->text);
    char text[16] = "", *point, *end;
    if (!acu_ptx_text_is_number(&p->text) || p->text.length >= sizeof text)
        acu_ptx_parse_refuse(p);
    memcpy(text, p->text.word, p->text.length);
    major = (unsigned)strtoul(text, &point, 10);
    if (*point != '.')
        acu_ptx_parse_refuse(p);
    minor = (unsigned)strtoul(point + 1, &end, 10);
    if (end == point + 1 || *end || major > 99 || minor > 9)
        acu_ptx_parse_refuse(p);
    p->module->version = (int)(major * 10 + minor);
    if (p->module->version > p->newest)
        acu_ptx_parse_fail(p, PTX_UNSUPPORTED, place,
                           "Unsupported .version %u.%u; current version is '%d.%d'", major, minor,
                           p->newest / 10, p->newest % 10);
    acu_ptx_text_next(&p->text);
}

/* Refuses a target that PTX of the module's version does not have yet. */
static void check_version_of_target(ptx_parser *p, ptx_place place) {
    static const struct {
        int target, version;
        char variant; /* 'a': of sm_90a */
    } first[] = {{30, 30, 0},    {35, 31, 0},  {37, 41, 0},  {50, 40, 0},   {52, 41, 0},
                 {53, 42, 0},    {60, 50, 0},  {61, 50, 0},  {62, 50, 0},   {70, 60, 0},
                 {72, 61, 0},    {75, 63, 0},  {80, 70, 0},  {86, 71, 0},   {87, 74, 0},
                 {88, 73, 0},    {89, 78, 0},  {90, 78, 0},  {90, 80, 'a'}, {100, 86, 0},
                 {100, 88, 'f'}, {103, 88, 0}, {110, 90, 0}, {120, 87, 0},  {120, 88, 'f'},
                 {121, 88, 0}};
    const ptx_module *m = p->module;
    int needed = 0;
    for (size_t n = 0; n < sizeof first / sizeof *first; n++)
        if (first[n].target == m->target && (!first[n].variant || first[n].variant == m->variant))
            needed = first[n].version;
    if (m->version < needed)
        acu_ptx_parse_fail(p, PTX_INVALID, place,
                           "PTX .version %d.%d does not support .target sm_%d%.1s", m->version / 10,
                           m->version % 10, m->target, &m->variant);
}

/* Reads sm_90a and what else is in .target. */
static void read_target(ptx_parser *p) {
    const ptx_place place = p->text.place;
    if (!acu_ptx_parse_accept(p, ".target"))
        acu_ptx_parse_end(p, p->text.place, "Missing .target directive at start of file '(null)'");
    do {
        const char *name = acu_ptx_parse_name(p);
        if (strncmp(name, "sm_", 3) == 0) {
            char *end;
            p->module->target = (int)strtol(name + 3, &end, 10);
            p->module->variant = *end;
            if (end == name + 3 || (*end && (end[1] || !strchr("af", *end))))
                acu_ptx_parse_fail(p, PTX_INVALID, p->text.before, "Unknown .target '%s'", name);
        } else if (strcmp(name, "debug") == 0) {
            p->module->debug = true;
        }
    } while (acu_ptx_parse_accept(p, ","));
    if (!p->module->target)
        acu_ptx_parse_end(p, p->text.before,
                          "Target architecture not defined at start of file '(null)'");
    check_version_of_target(p, place);
}

/* ---- statements ---- */

static bool read_linkage(ptx_parser *p) {
    static const struct {
        const char *word;
        ptx_linkage linkage;
    } words[] = {{".visible", PTX_VISIBLE},
                 {".extern", PTX_EXTERN},
                 {".weak", PTX_WEAK},
                 {".common", PTX_COMMON}};
    for (size_t n = 0; n < sizeof words / sizeof *words; n++)
        if (acu_ptx_parse_accept(p, words[n].word)) {
            if (words[n].linkage == PTX_COMMON)
                acu_ptx_parse_need(p, p->text.before, ".common directive", 50, 0);
            p->linkage = words[n].linkage;
            return true;
        }
    return false;
}

static bool read_space(ptx_parser *p, ptx_space *space) {
    static const struct {
        const char *word;
        ptx_space space;
    } words[] = {{".global", PTX_GLOBAL},
                 {".const", PTX_CONST},
                 {".shared", PTX_SHARED},
                 {".local", PTX_LOCAL}};
    for (size_t n = 0; n < sizeof words / sizeof *words; n++)
        if (acu_ptx_parse_accept(p, words[n].word)) {
            *space = words[n].space;
            return true;
        }
    return false;
}

/* Reads .alias name, function; */
static void read_alias(ptx_parser *p) {
    ptx_function *found[2];
    acu_ptx_parse_need(p, p->text.before, ".alias", 63, 0);
    for (unsigned n = 0; n < 2; n++) {
        ptx_place place = p->text.place;
        const char *name = acu_ptx_parse_name(p);
        const ptx_name *known = acu_ptx_names_find(p->names, name, strlen(name), 0);
        if (!known || known->kind != PTX_NAME_FUNCTION)
            acu_ptx_parse_fail(p, PTX_INVALID, place, "Unknown symbol '%s'", name);
        found[n] = known->is;
        acu_ptx_parse_expect(p, n ? ";" : ",");
    }
    found[0]->alias = found[1]->alias ? found[1]->alias : found[1];
}

static void read_statement(ptx_parser *p) {
    ptx_space space;
    p->linkage = PTX_STATIC;
    while (read_linkage(p)) {
    }
    if (acu_ptx_parse_accept(p, ".entry"))
        acu_ptx_parse_function(p, true);
    else if (acu_ptx_parse_accept(p, ".func"))
        acu_ptx_parse_function(p, false);
    else if (read_space(p, &space))
        acu_ptx_parse_variables(p, space);
    else if (acu_ptx_parse_accept(p, ".alias"))
        read_alias(p);
    else if (acu_ptx_text_is(&p->text, ".tex"))
        acu_ptx_parse_fail(p, PTX_INVALID, p->text.place,
                           "Deprecated feature: '.tex' not supported as of PTX version 1.5");
    else if (!acu_ptx_parse_directive(p))
        acu_ptx_parse_refuse(p);
}

/* ptxas takes no other characters, also within comments and names of files. */
static void check_characters(ptx_parser *p, const char *text, size_t size) {
    ptx_place place = {1, 1};
    for (size_t n = 0; n < size && text[n]; n++) {
        if ((unsigned char)text[n] > 127)
            acu_ptx_parse_end(p, place, "Unexpected non-ASCII character encountered on line %u",
                              place.line);
        place.line += text[n] == '\n';
    }
}

static void read_module(ptx_parser *p) {
    read_version(p);
    read_target(p);
    if (acu_ptx_parse_accept(p, ".address_size") && acu_ptx_parse_integer(p) != 64)
        acu_ptx_parse_end(p, p->text.before, "32-Bit compilation is no longer supported");
    while (p->text.length)
        read_statement(p);
    if (p->text.is_open)
        acu_ptx_parse_refuse(p);
}

/* ---- the whole ---- */

ptx_result acu_ptx_parse(const char *text, size_t size, int newest, ptx_module **module,
                         ptx_error *error) {
    ptx_parser *p = calloc(1, sizeof *p);
    ptx_result result = PTX_NO_MEMORY;
    *module = NULL;
    error->text[0] = '\0';
    if (!p)
        return result;
    p->error = error;
    p->newest = newest;
    p->module = calloc(1, sizeof *p->module);
    p->names = acu_ptx_names_new();
    p->opcodes = acu_ptx_names_new();
    if (p->module)
        p->module->arena = acu_ptx_arena_new();
    if (p->module && p->names && p->opcodes && p->module->arena) {
        p->last_variable = &p->module->variables;
        p->last_function = &p->module->functions;
        acu_ptx_text_begin(&p->text, text, size);
        if (!setjmp(p->end)) {
            check_characters(p, text, size);
            read_module(p);
        }
        result = p->result;
    }
    if (result)
        acu_ptx_module_free(p->module);
    else
        *module = p->module;
    acu_ptx_names_free(p->names);
    acu_ptx_names_free(p->opcodes);
    free(p->registers);
    free(p->instructions);
    free(p->uses);
    free(p);
    return result;
}
