/* Reads PTX: functions, and the directives in them. */
#include "sim/ptx/parser.h"

#include <stdlib.h>
#include <string.h>

/* ---- parameters ---- */

ptx_variable *acu_ptx_parse_parameters(ptx_parser *p) {
    ptx_variable *first = NULL, **last = &first;
    acu_ptx_parse_expect(p, "(");
    while (!acu_ptx_text_is(&p->text, ")")) {
        *last = acu_ptx_parse_parameter(p);
        last = &(*last)->next;
        if (!acu_ptx_parse_accept(p, ","))
            break;
    }
    acu_ptx_parse_expect(p, ")");
    return first;
}

static void add_parameters(ptx_parser *p, ptx_variable *list) {
    for (ptx_variable *v = list; v; v = v->next) {
        v->owner = p->function;
        if (!v->name)
            continue;
        if (!v->in_register) {
            acu_ptx_parse_add_name(p,
                                   (ptx_name){.name = v->name, .kind = PTX_NAME_VARIABLE, .is = v});
            continue;
        }
        v->number = acu_ptx_parse_new_register(p, (ptx_register){.name = v->name,
                                                                 .number = -1,
                                                                 .type = v->type,
                                                                 .elements = 1,
                                                                 .is_vector = v->vector > 1});
        acu_ptx_parse_add_name(
            p, (ptx_name){.name = v->name, .kind = PTX_NAME_REGISTER, .number = v->number});
    }
}

/* ---- directives ---- */

static void read_dimensions(ptx_parser *p, unsigned *dimensions) {
    dimensions[0] = dimensions[1] = dimensions[2] = 1;
    for (unsigned n = 0; n < 3; n++) {
        dimensions[n] = (unsigned)acu_ptx_parse_integer(p);
        if (!acu_ptx_parse_accept(p, ","))
            return;
    }
}

/* Reads a directive about clusters, which devices have since 9.0. */
static bool read_cluster(ptx_parser *p, ptx_function *f) {
    static const char *const words[] = {".reqnctapercluster", ".maxclusterrank", ".explicitcluster",
                                        ".blocksareclusters"};
    enum { REQUIRED, MOST, EXPLICIT, BLOCKS, WORDS };
    const ptx_place place = p->text.place;
    int word = 0;
    while (word < WORDS && !acu_ptx_parse_accept(p, words[word]))
        word++;
    if (word == REQUIRED)
        read_dimensions(p, f->cluster);
    else if (word == MOST)
        f->max_cluster = (unsigned)acu_ptx_parse_integer(p);
    f->explicit_cluster |= word == EXPLICIT;
    f->blocks_are_clusters |= word == BLOCKS;
    if (word < WORDS)
        acu_ptx_parse_need(p, place, words[word], word == BLOCKS ? 90 : 78, 90);
    return word < WORDS;
}

/* Reads a directive between the parameters and the body. False: the current word is none. */
static bool read_performance(ptx_parser *p, ptx_function *f) {
    if (acu_ptx_parse_accept(p, ".maxntid"))
        read_dimensions(p, f->max_threads);
    else if (acu_ptx_parse_accept(p, ".reqntid"))
        read_dimensions(p, f->threads);
    else if (acu_ptx_parse_accept(p, ".maxnreg"))
        f->max_registers = (unsigned)acu_ptx_parse_integer(p);
    else if (acu_ptx_parse_accept(p, ".minnctapersm"))
        f->min_blocks = (unsigned)acu_ptx_parse_integer(p);
    else if (acu_ptx_parse_accept(p, ".noreturn")) {
        acu_ptx_parse_need(p, p->text.before, ".noreturn", 64, 0);
        f->no_return = true;
    } else if (acu_ptx_parse_accept(p, ".maxnctapersm") ||
               acu_ptx_parse_accept(p, ".abi_preserve") ||
               acu_ptx_parse_accept(p, ".abi_preserve_control"))
        acu_ptx_parse_integer(p);
    else if (!acu_ptx_parse_accept(p, ".noabi"))
        return read_cluster(p, f) || acu_ptx_parse_directive(p);
    return true;
}

/* What directives say together is right, as ptxas says at the end of the kernel. */
static void check_clusters(ptx_parser *p, const ptx_function *f) {
    if (f->max_cluster && f->cluster[0])
        acu_ptx_parse_fail(p, PTX_INVALID, p->text.place,
                           "Conflicting directives: .reqnctapercluster and .maxclusterrank cannot "
                           "both be specified");
    if (f->blocks_are_clusters && !(f->threads[0] && f->cluster[0]))
        acu_ptx_parse_fail(p, PTX_INVALID, p->text.place,
                           ".reqntid and .reqnctapercluster directive(s) required for directive "
                           "'.blocksareclusters'");
}

/* Reads the three numbers of a place. */
static ptx_source read_source(ptx_parser *p) {
    ptx_source s = {.file = (unsigned)acu_ptx_parse_integer(p)};
    s.line = (unsigned)acu_ptx_parse_integer(p);
    s.column = acu_ptx_text_is_number(&p->text) ? (unsigned)acu_ptx_parse_integer(p) : 0;
    return s;
}

/* What is read was inlined at a place, which may be in a function that was inlined, too: then a
 * .loc before this one said where. */
static void set_outer(ptx_parser *p, ptx_source at) {
    const unsigned room = sizeof p->inlined / sizeof *p->inlined;
    p->source.outer_file = at.file;
    p->source.outer_line = at.line;
    for (unsigned n = 1; n <= room && n <= p->inlined_count; n++) {
        const ptx_source *s = &p->inlined[(p->inlined_count - n) % room];
        if (s->file != at.file || s->line != at.line || s->column != at.column)
            continue;
        p->source.outer_file = s->outer_file;
        p->source.outer_line = s->outer_line;
        break;
    }
    p->inlined[p->inlined_count++ % room] = p->source;
}

/* Reads .loc file line column[, function_name label+4, inlined_at file line column]. */
static void read_location(ptx_parser *p) {
    p->source = read_source(p);
    unsigned line = p->text.before.line;
    while (p->text.length && p->text.place.line == line && !acu_ptx_text_is(&p->text, ";"))
        if (acu_ptx_parse_accept(p, "inlined_at"))
            set_outer(p, read_source(p));
        else
            acu_ptx_text_next(&p->text);
    acu_ptx_parse_accept(p, ";");
}

static void read_file(ptx_parser *p) {
    ptx_file *file = acu_ptx_parse_alloc(p, sizeof *file);
    file->number = (unsigned)acu_ptx_parse_integer(p);
    if (!p->text.length || *p->text.word != '"')
        acu_ptx_parse_refuse(p);
    size_t length = p->text.length > 1 ? p->text.length - 2 : 0;
    char *name = acu_ptx_parse_alloc(p, length + 1);
    memcpy(name, p->text.word + 1, length);
    file->name = name;
    file->next = p->module->files;
    p->module->files = file;
    acu_ptx_text_next(&p->text);
    while (acu_ptx_parse_accept(p, ","))
        acu_ptx_parse_integer(p);
    acu_ptx_parse_accept(p, ";");
}

static void skip_braces(ptx_parser *p) {
    unsigned depth = 0;
    do {
        if (!p->text.length)
            acu_ptx_parse_refuse(p);
        depth += acu_ptx_text_is(&p->text, "{");
        depth -= acu_ptx_text_is(&p->text, "}") && depth;
        acu_ptx_text_next(&p->text);
    } while (depth);
}

bool acu_ptx_parse_directive(ptx_parser *p) {
    if (acu_ptx_parse_accept(p, ".loc")) {
        read_location(p);
    } else if (acu_ptx_parse_accept(p, ".file")) {
        read_file(p);
    } else if (acu_ptx_parse_accept(p, ".section")) {
        acu_ptx_text_next(&p->text);
        if (acu_ptx_text_is(&p->text, "{"))
            skip_braces(p);
        acu_ptx_parse_accept(p, ";");
    } else if (acu_ptx_text_is(&p->text, "@@")) {
        acu_ptx_text_skip_line(&p->text);
    } else if (acu_ptx_parse_accept(p, ".pragma")) {
        do {
            if (p->function && acu_ptx_text_is(&p->text, PTX_DECLARED))
                p->function->declared_only = true;
            if (!p->function && acu_ptx_text_is(&p->text, PTX_WITH_LIBRARIES))
                p->module->with_libraries = true;
            acu_ptx_text_next(&p->text);
        } while (acu_ptx_parse_accept(p, ","));
        acu_ptx_parse_expect(p, ";");
    } else {
        return false;
    }
    return true;
}

/* ---- tables ---- */

static void add_label_use(ptx_parser *p, unsigned *number) {
    p->uses = acu_ptx_parse_grow(p, p->uses, p->use_count, &p->use_room, sizeof *p->uses);
    const ptx_text *t = &p->text;
    if (!acu_ptx_text_is_name(t))
        acu_ptx_parse_refuse(p);
    p->uses[p->use_count++] = (ptx_label_use){.number = number,
                                              .name = t->word,
                                              .length = t->length,
                                              .scope = acu_ptx_names_scope(p->names),
                                              .place = t->place};
    acu_ptx_text_next(&p->text);
}

static unsigned count_list(const ptx_parser *p) {
    ptx_text ahead = p->text;
    unsigned count = 1;
    for (; ahead.length && !acu_ptx_text_is(&ahead, ";"); acu_ptx_text_next(&ahead))
        count += acu_ptx_text_is(&ahead, ",");
    return count;
}

static ptx_function *known_function(ptx_parser *p) {
    ptx_place place = p->text.place;
    const char *name = acu_ptx_parse_name(p);
    const ptx_name *known = acu_ptx_names_find(p->names, name, strlen(name), 0);
    if (!known || known->kind != PTX_NAME_FUNCTION)
        acu_ptx_parse_fail(p, PTX_INVALID, place, "Unknown symbol '%s'", name);
    acu_ptx_parse_use_function(p, known->is);
    return acu_ptx_parse_take_function(known->is);
}

/* Reads a prototype: .callprototype (results) _ (parameters); */
static void read_prototype(ptx_parser *p, ptx_table *table) {
    table->prototype = acu_ptx_parse_alloc(p, sizeof *table->prototype);
    if (acu_ptx_text_is(&p->text, "("))
        table->prototype->results = acu_ptx_parse_parameters(p);
    acu_ptx_parse_name(p);
    if (acu_ptx_text_is(&p->text, "("))
        table->prototype->params = acu_ptx_parse_parameters(p);
    while (read_performance(p, table->prototype)) {
    }
}

/* Reads .branchtargets, .calltargets or .callprototype behind its label. False: the current word is
 * none of them. */
static bool read_table(ptx_parser *p, const char *name) {
    ptx_table *table = acu_ptx_parse_alloc(p, sizeof *table);
    table->name = name;
    if (acu_ptx_parse_accept(p, ".branchtargets")) {
        unsigned count = count_list(p);
        table->labels = acu_ptx_parse_alloc(p, count * sizeof *table->labels);
        do
            add_label_use(p, &table->labels[table->count++]);
        while (table->count < count && acu_ptx_parse_accept(p, ","));
    } else if (acu_ptx_parse_accept(p, ".calltargets")) {
        unsigned count = count_list(p);
        table->functions = acu_ptx_parse_alloc(p, count * sizeof *table->functions);
        do
            table->functions[table->count++] = known_function(p);
        while (table->count < count && acu_ptx_parse_accept(p, ","));
    } else if (acu_ptx_parse_accept(p, ".callprototype")) {
        read_prototype(p, table);
    } else {
        return false;
    }
    acu_ptx_parse_expect(p, ";");
    table->next = p->function->tables;
    p->function->tables = table;
    acu_ptx_parse_add_name(p, (ptx_name){.name = name, .kind = PTX_NAME_TABLE, .is = table});
    return true;
}

/* ---- bodies ---- */

/* Whether the current word is a label: a colon is behind it. */
static bool is_label(const ptx_parser *p) {
    ptx_text ahead = p->text;
    if (!acu_ptx_text_is_name(&ahead))
        return false;
    acu_ptx_text_next(&ahead);
    return acu_ptx_text_is(&ahead, ":");
}

static void read_label(ptx_parser *p) {
    const char *name = acu_ptx_parse_name(p);
    acu_ptx_parse_expect(p, ":");
    if (!read_table(p, name))
        acu_ptx_parse_add_name(p, (ptx_name){.name = name,
                                             .kind = PTX_NAME_LABEL,
                                             .number = p->function->instruction_count});
}

static void read_body_statement(ptx_parser *p) {
    const ptx_text *t = &p->text;
    if (*t->word == '.') {
        p->linkage = PTX_STATIC;
        if (acu_ptx_parse_accept(p, ".reg"))
            acu_ptx_parse_registers(p);
        else if (acu_ptx_parse_accept(p, ".param"))
            acu_ptx_parse_variables(p, PTX_PARAM);
        else if (acu_ptx_parse_accept(p, ".local"))
            acu_ptx_parse_variables(p, PTX_LOCAL);
        else if (acu_ptx_parse_accept(p, ".shared"))
            acu_ptx_parse_variables(p, PTX_SHARED);
        else if (acu_ptx_parse_accept(p, ".global"))
            acu_ptx_parse_variables(p, PTX_GLOBAL);
        else if (acu_ptx_parse_accept(p, ".const"))
            acu_ptx_parse_variables(p, PTX_CONST);
        else if (!acu_ptx_parse_directive(p))
            acu_ptx_parse_refuse(p);
        return;
    }
    if (acu_ptx_text_is(t, "@@"))
        acu_ptx_parse_directive(p);
    else if (is_label(p))
        read_label(p);
    else
        acu_ptx_parse_instruction(p);
}

/* Reads { … }, with scopes in it. */
static void read_body(ptx_parser *p) {
    unsigned depth = 0;
    do {
        if (!p->text.length)
            acu_ptx_parse_refuse(p);
        if (acu_ptx_parse_accept(p, "{")) {
            if (++depth > PTX_MOST_DEPTH || !acu_ptx_names_enter(p->names))
                acu_ptx_parse_refuse(p);
        } else if (acu_ptx_parse_accept(p, "}")) {
            depth--;
            acu_ptx_names_leave(p->names);
        } else {
            read_body_statement(p);
        }
    } while (depth);
}

static void resolve_labels(ptx_parser *p) {
    for (unsigned n = 0; n < p->use_count; n++) {
        const ptx_label_use *use = &p->uses[n];
        const ptx_name *known = acu_ptx_names_find(p->names, use->name, use->length, use->scope);
        if (!known ||
            (known->kind != PTX_NAME_LABEL && !(use->operand && known->kind == PTX_NAME_TABLE)))
            acu_ptx_parse_fail(p, PTX_INVALID, use->place, "Unknown symbol '%.*s'",
                               (int)use->length, use->name);
        if (!use->operand) {
            *use->number = known->number;
        } else if (known->kind == PTX_NAME_TABLE) {
            use->operand->kind = PTX_TABLE;
            use->operand->table = known->is;
        } else {
            use->operand->kind = PTX_LABEL;
            use->operand->number = known->number;
        }
    }
}

static void keep_body(ptx_parser *p, ptx_function *f) {
    f->registers = acu_ptx_parse_alloc(p, (f->register_count + 1) * sizeof *f->registers);
    if (f->register_count)
        memcpy(f->registers, p->registers, f->register_count * sizeof *f->registers);
    f->instructions = acu_ptx_parse_alloc(p, (f->instruction_count + 1) * sizeof *f->instructions);
    if (f->instruction_count)
        memcpy(f->instructions, p->instructions, f->instruction_count * sizeof *f->instructions);
}

static ptx_function *find_or_add(ptx_parser *p, ptx_function *f) {
    const ptx_name *known =
        acu_ptx_names_here(p->names, f->name, strlen(f->name), 0, PTX_NAME_FUNCTION);
    if (known && known->kind == PTX_NAME_FUNCTION)
        return known->is;
    acu_ptx_parse_add_name(p, (ptx_name){.name = f->name, .kind = PTX_NAME_FUNCTION, .is = f});
    *p->last_function = f;
    p->last_function = &f->next;
    return f;
}

/* A function that was declared before keeps its place; what the definition says counts. */
static void define(ptx_function *known, const ptx_function *f) {
    ptx_function *next = known->next;
    ptx_function *alias = known->alias, *user = known->user;
    bool taken = known->address_taken, used = known->used;
    ptx_linkage linkage = f->linkage == PTX_STATIC ? known->linkage : f->linkage;
    *known = *f;
    known->next = next;
    known->address_taken = taken;
    known->used = used;
    known->user = user;
    known->alias = alias;
    known->linkage = linkage;
}

/* Refuses parameters that a kernel cannot have. */
static void check_kernel_params(ptx_parser *p, const ptx_function *f) {
    const size_t most = p->module->version >= 81 && p->module->target >= 70 ? 32764 : 4352;
    size_t bytes = 0;
    for (const ptx_variable *v = f->params; v; v = v->next) {
        if (!v->size)
            acu_ptx_parse_fail(p, PTX_INVALID, v->place,
                               "Parameter to entry function cannot be an incomplete array.");
        bytes = (bytes + v->align - 1) / v->align * v->align;
        if (__builtin_add_overflow(bytes, v->size, &bytes) || bytes > most)
            acu_ptx_parse_fail(p, PTX_INVALID, f->place,
                               "Entry function '%s' uses too much parameter space (0x%zx bytes, "
                               "0x%zx max).",
                               f->name, bytes, most);
    }
}

void acu_ptx_parse_function(ptx_parser *p, bool is_entry) {
    ptx_function *f = acu_ptx_parse_alloc(p, sizeof *f);
    f->is_entry = is_entry;
    f->linkage = p->linkage;
    if (acu_ptx_text_is(&p->text, ".attribute"))
        while (p->text.length && !acu_ptx_parse_accept(p, ")"))
            acu_ptx_text_next(&p->text);
    if (!is_entry && acu_ptx_text_is(&p->text, "("))
        f->results = acu_ptx_parse_parameters(p);
    f->place = p->text.place;
    f->name = acu_ptx_parse_name(p);
    if (acu_ptx_text_is(&p->text, "("))
        f->params = acu_ptx_parse_parameters(p);
    while (read_performance(p, f)) {
    }
    check_clusters(p, f);
    if (is_entry)
        check_kernel_params(p, f);
    ptx_function *known = find_or_add(p, f);
    f->has_body = acu_ptx_text_is(&p->text, "{");
    if (!f->has_body) {
        acu_ptx_parse_expect(p, ";");
        return;
    }
    if (known != f && known->has_body)
        acu_ptx_parse_fail(p, PTX_INVALID, f->place, "Duplicate definition of function '%s'",
                           f->name);
    if (known != f)
        define(known, f);
    p->function = known;
    p->last_of_function = &known->variables;
    p->last_reference = &known->references;
    p->use_count = 0;
    p->source = (ptx_source){.line = 0};
    p->inlined_count = 0;
    acu_ptx_names_enter(p->names);
    add_parameters(p, known->results);
    add_parameters(p, known->params);
    read_body(p);
    resolve_labels(p);
    acu_ptx_names_leave(p->names);
    keep_body(p, known);
    p->function = NULL;
}

static void add_reference(ptx_parser *p, ptx_reference reference) {
    *p->last_reference = acu_ptx_parse_alloc(p, sizeof reference);
    **p->last_reference = reference;
    p->last_reference = &(*p->last_reference)->next;
}

void acu_ptx_parse_use_variable(ptx_parser *p, ptx_variable *v) {
    v->used = true;
    if (v->owner || !p->function || v->user == p->function)
        return;
    v->user = p->function;
    add_reference(p, (ptx_reference){.variable = v});
}

void acu_ptx_parse_use_function(ptx_parser *p, ptx_function *f) {
    f->used = true;
    if (!p->function || f->user == p->function)
        return;
    f->user = p->function;
    add_reference(p, (ptx_reference){.function = f});
}

ptx_function *acu_ptx_parse_take_function(ptx_function *f) {
    f->address_taken = true;
    return f;
}
