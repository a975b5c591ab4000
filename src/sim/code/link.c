/*
 * A text is copied statement by statement. What changes: a static symbol whose name another text
 * has too gets a name of its own, and a definition that does not count, such as the second of two
 * weak ones, becomes a declaration.
 */
#include "sim/code/link.h"

#include "sim/code/grid_group.h"
#include "sim/ptx/device_call.h"
#include "sim/ptx/parse.h"
#include "sim/ptx/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A static symbol that has another name in the linked text. */
typedef struct renamed {
    const char *name;
    char *other;
} renamed;

typedef struct part {
    acu_sim_code_image *image;
    const ptx_module *module; /* the image's */
    char name[128];           /* the program's name of it */
    renamed *renames;
    size_t rename_count;
} part;

/* A symbol that all texts share. Names belong to the parts' modules. */
typedef struct symbol {
    const char *name;
    const ptx_function *function; /* as a text declares or defines it; NULL: a variable */
    const ptx_variable *variable;
    size_t first; /* the part that has it first */
    size_t from;  /* the part whose definition counts; SIZE_MAX: none */
    bool used;    /* a text refers to it */
} symbol;

struct acu_sim_link {
    void (*say)(void *data, const char *line);
    void *data;
    part *parts;
    size_t count;
    symbol *symbols;
    size_t symbol_count, symbol_room;
    uint32_t *table; /* by the names' hashes: numbers of symbols, and 1 */
    size_t table_size;
    char *text; /* the output */
    size_t size, room;
    unsigned most_registers; /* of a thread; 0: any number */
    cudaError_t failed;      /* why there is no output any more */
};

acu_sim_link *acu_sim_link_new(void (*say)(void *data, const char *line), void *data) {
    acu_sim_link *made = calloc(1, sizeof *made);
    if (made) {
        made->say = say;
        made->data = data;
    }
    return made;
}

void acu_sim_link_limit_registers(acu_sim_link *link, unsigned most) {
    link->most_registers = most;
}

static void clear_renames(part *p) {
    for (size_t n = 0; n < p->rename_count; n++)
        free(p->renames[n].other);
    free(p->renames);
    p->renames = NULL;
    p->rename_count = 0;
}

static void clear_part(part *p) {
    clear_renames(p);
    acu_sim_image_release(p->image);
}

void acu_sim_link_free(acu_sim_link *l) {
    if (!l)
        return;
    for (size_t n = 0; n < l->count; n++)
        clear_part(&l->parts[n]);
    free(l->parts);
    free(l->symbols);
    free(l->table);
    free(l->text);
    free(l);
}

/* ---- symbols ---- */

static uint64_t hash_of(const char *name, size_t length) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t n = 0; n < length; n++)
        h = (h ^ (unsigned char)name[n]) * UINT64_C(0x100000001b3);
    return h ^ h >> 29;
}

static symbol *find_symbol(const acu_sim_link *l, const char *name, size_t length) {
    for (size_t at = hash_of(name, length); l->table_size; at++) {
        const uint32_t number = l->table[at & (l->table_size - 1)];
        if (!number)
            return NULL;
        symbol *s = &l->symbols[number - 1];
        if (strlen(s->name) == length && memcmp(s->name, name, length) == 0)
            return s;
    }
    return NULL;
}

static void place_symbol(const acu_sim_link *l, uint32_t number) {
    const char *name = l->symbols[number - 1].name;
    size_t at = hash_of(name, strlen(name));
    while (l->table[at & (l->table_size - 1)])
        at++;
    l->table[at & (l->table_size - 1)] = number;
}

static bool grow_symbols(acu_sim_link *l) {
    const size_t room = l->symbol_room ? l->symbol_room * 2 : 256;
    symbol *symbols = realloc(l->symbols, room * sizeof *symbols);
    l->symbols = symbols ? symbols : l->symbols;
    uint32_t *table = calloc(room * 2, sizeof *table);
    if (!symbols || !table) {
        free(table);
        return false;
    }
    free(l->table);
    l->table = table;
    l->table_size = room * 2;
    l->symbol_room = room;
    for (size_t n = 0; n < l->symbol_count; n++)
        place_symbol(l, (uint32_t)n + 1);
    return true;
}

static bool add_symbol(acu_sim_link *l, symbol added) {
    if (l->symbol_count == l->symbol_room && !grow_symbols(l))
        return false;
    l->symbols[l->symbol_count++] = added;
    place_symbol(l, (uint32_t)l->symbol_count);
    return true;
}

static ptx_linkage linkage_of(const symbol *s) {
    return s->function ? s->function->linkage : s->variable->linkage;
}

static bool is_definition(const symbol *s) {
    return s->function ? s->function->has_body || s->function->alias
                       : s->variable->linkage != PTX_EXTERN;
}

/* Dynamic shared memory is extern in each text, and nothing defines it. */
static bool is_shared_by_texts(const ptx_variable *v) {
    return v->linkage != PTX_STATIC && !(v->space == PTX_SHARED && v->linkage == PTX_EXTERN);
}

/* ---- what fits ---- */

static cudaError_t refuse(const acu_sim_link *l, const char *what, const char *name,
                          const part *in) {
    char line[400];
    snprintf(line, sizeof line, "error   : %s '%.200s' in '%s'\n", what, name, in->name);
    l->say(l->data, line);
    return cudaErrorInvalidSource;
}

static bool are_alike(const ptx_variable *a, const ptx_variable *b) {
    for (; a && b; a = a->next, b = b->next)
        if (a->size != b->size)
            return false;
    return !a && !b;
}

/* Returns why the two cannot be one symbol, as the log says it; NULL: they can. */
static const char *difference(const symbol *a, const symbol *b) {
    if (!a->function != !b->function)
        return "Memory space doesn't match for";
    if (a->function)
        return a->function->is_entry == b->function->is_entry &&
                       are_alike(a->function->params, b->function->params) &&
                       are_alike(a->function->results, b->function->results)
                   ? NULL
                   : "Prototype doesn't match for";
    if (a->variable->space != b->variable->space)
        return "Memory space doesn't match for";
    const size_t size = a->variable->size, other = b->variable->size;
    const bool both_common =
        a->variable->linkage == PTX_COMMON && b->variable->linkage == PTX_COMMON;
    return !both_common && size && other && size != other ? "Size doesn't match for" : NULL;
}

static bool is_strong(const symbol *s) {
    return is_definition(s) && linkage_of(s) == PTX_VISIBLE;
}

/* Returns whether the definition `b` counts in place of `a`. */
static bool replaces(const symbol *a, const symbol *b) {
    if (!is_definition(b))
        return false;
    if (!is_definition(a) || is_strong(b))
        return true;
    return !a->function && linkage_of(a) == PTX_COMMON &&
           (linkage_of(b) == PTX_WEAK || b->variable->size > a->variable->size);
}

/* Compares a symbol of the new part, which is the last one, with what is known by its name. */
static cudaError_t merge(acu_sim_link *l, const symbol *mine) {
    const part *added = &l->parts[l->count - 1];
    symbol *known = find_symbol(l, mine->name, strlen(mine->name));
    if (!known)
        return add_symbol(l, *mine) ? cudaSuccess : cudaErrorMemoryAllocation;
    if (is_strong(known) && is_strong(mine))
        return refuse(l, "Multiple definition of", mine->name, added);
    const char *why = difference(known, mine);
    if (why)
        return refuse(l, why, mine->name, added);
    if (replaces(known, mine)) {
        known->function = mine->function;
        known->variable = mine->variable;
        known->from = mine->from;
    }
    known->used |= mine->used;
    return cudaSuccess;
}

static cudaError_t merge_symbols(acu_sim_link *l) {
    const size_t index = l->count - 1;
    const part *added = &l->parts[index];
    cudaError_t result = cudaSuccess;
    for (const ptx_function *f = added->module->functions; f; f = f->next) {
        symbol mine = {.name = f->name, .function = f, .first = index, .used = f->used};
        mine.from = is_definition(&mine) ? index : SIZE_MAX;
        const cudaError_t one = f->linkage == PTX_STATIC ? cudaSuccess : merge(l, &mine);
        result = one ? one : result;
    }
    for (const ptx_variable *v = added->module->variables; v; v = v->next) {
        symbol mine = {.name = v->name, .variable = v, .first = index, .used = v->used};
        mine.from = is_definition(&mine) ? index : SIZE_MAX;
        const cudaError_t one = is_shared_by_texts(v) ? merge(l, &mine) : cudaSuccess;
        result = one ? one : result;
    }
    return result;
}

cudaError_t acu_sim_link_add(acu_sim_link *l, acu_sim_code_image *image, const char *name) {
    part *grown = realloc(l->parts, (l->count + 1) * sizeof *grown);
    if (!grown)
        return cudaErrorMemoryAllocation;
    l->parts = grown;
    part added = {.image = image, .module = image->ptx};
    snprintf(added.name, sizeof added.name, "%s", name);
    image->refs++;
    l->parts[l->count++] = added;
    cudaError_t result = merge_symbols(l);
    if (result)
        l->failed = result;
    return result;
}

/* Adds the functions for groups of a grid, if the program has the library and needs one of them. */
static cudaError_t add_grid_group(acu_sim_link *l) {
    acu_sim_code_image *image;
    bool is_needed = false;
    for (size_t n = 0; n < l->symbol_count; n++)
        is_needed |= l->symbols[n].from == SIZE_MAX && l->symbols[n].used &&
                     strncmp(l->symbols[n].name, "cudaCG", 6) == 0;
    if (!is_needed)
        return cudaSuccess;
    SIM_TRY(acu_sim_image_load(acu_sim_grid_group_ptx, SIZE_MAX, &(acu_sim_options){.links = true},
                               &image));
    const cudaError_t result = acu_sim_link_add(l, image, "libcudadevrt");
    acu_sim_image_release(image);
    return result;
}

/* Returns whether every device has that function; or, with libraries of NVIDIA's, the program. */
static bool is_built_in(const char *name, bool with_libraries) {
    return acu_ptx_is_device_function(name) ||
           (with_libraries && (strncmp(name, "cuda", 4) == 0 || strncmp(name, "__cuda", 6) == 0));
}

/* Refuses to link while a symbol that is used is undefined; one that is only declared may be. */
static cudaError_t validate_needs(const acu_sim_link *l, bool with_libraries) {
    cudaError_t result = cudaSuccess;
    for (size_t n = 0; n < l->symbol_count; n++) {
        const symbol *s = &l->symbols[n];
        if (s->from == SIZE_MAX && s->used &&
            !(s->function && is_built_in(s->name, with_libraries)))
            result = refuse(l, "Undefined reference to", s->name, &l->parts[s->first]);
    }
    return result;
}

/* ---- names of static symbols ---- */

static bool has_static(const part *p, const char *name) {
    const ptx_function *f = acu_ptx_module_function(p->module, name);
    const ptx_variable *v = acu_ptx_module_variable(p->module, name);
    return (f && f->linkage == PTX_STATIC) || (v && v->linkage == PTX_STATIC);
}

/* Returns whether the name of the part's static symbol is another one in the linked text. */
static bool is_ambiguous(const acu_sim_link *l, size_t index, const char *name) {
    bool found = find_symbol(l, name, strlen(name)) != NULL;
    for (size_t n = 0; n < index && !found; n++)
        found = has_static(&l->parts[n], name);
    return found;
}

/* Returns a name that is nowhere in the texts; NULL without memory. */
static char *new_name(const acu_sim_link *l, const char *name) {
    const size_t room = strlen(name) + 24;
    char *made = malloc(room);
    bool taken = made != NULL;
    for (unsigned n = 1; taken; n++) {
        snprintf(made, room, "%s$in$%u", name, n);
        taken = false;
        for (size_t k = 0; k < l->count && !taken; k++) {
            const part *p = &l->parts[k];
            taken = strstr(p->image->text, made) != NULL;
            for (size_t i = 0; i < p->rename_count && !taken; i++)
                taken = strcmp(p->renames[i].other, made) == 0;
        }
    }
    return made;
}

static bool rename_static(acu_sim_link *l, size_t index, const char *name) {
    part *p = &l->parts[index];
    if (!is_ambiguous(l, index, name))
        return true;
    renamed *grown = realloc(p->renames, (p->rename_count + 1) * sizeof *grown);
    if (!grown)
        return false;
    p->renames = grown;
    char *other = new_name(l, name);
    if (other)
        p->renames[p->rename_count++] = (renamed){name, other};
    return other != NULL;
}

static bool rename_all(acu_sim_link *l) {
    bool good = true;
    for (size_t n = 0; n < l->count; n++) {
        const ptx_module *m = l->parts[n].module;
        clear_renames(&l->parts[n]);
        for (const ptx_function *f = m->functions; f && good; f = f->next)
            good = f->linkage != PTX_STATIC || rename_static(l, n, f->name);
        for (const ptx_variable *v = m->variables; v && good; v = v->next)
            good = v->linkage != PTX_STATIC || rename_static(l, n, v->name);
    }
    return good;
}

/* ---- the linked text ---- */

/* Appends bytes; without memory, there is no output any more. */
static void put(acu_sim_link *l, const char *from, size_t size) {
    if (l->room <= size + l->size) {
        const size_t room = l->room * 2 + size + 4096;
        char *grown = realloc(l->text, room);
        if (!grown) {
            l->failed = cudaErrorMemoryAllocation;
            return;
        }
        l->text = grown;
        l->room = room;
    }
    memcpy(l->text + l->size, from, size);
    l->size += size;
    l->text[l->size] = '\0';
}

static void put_text(acu_sim_link *l, const char *text) {
    put(l, text, strlen(text));
}

static bool is(const ptx_text *t, const char *word) {
    return acu_ptx_text_is(t, word);
}

/* Returns what the current word is called in the linked text; NULL: as it is. */
static const char *other_name(const part *p, const ptx_text *t) {
    for (size_t n = 0; n < p->rename_count; n++)
        if (is(t, p->renames[n].name))
            return p->renames[n].other;
    return NULL;
}

/* Copies the words from one place of the part's text to another. An opcode may look like a symbol's
 * name; it is the first word of a statement, behind the guard if there is one. */
static void copy(acu_sim_link *l, const part *p, const char *from, const char *to) {
    enum { INSIDE, GUARD, BEGINS } at = INSIDE;
    ptx_text t;
    const char *done = from;
    acu_ptx_text_begin(&t, from, p->rename_count ? (size_t)(to - from) : 0);
    while (t.length) {
        const ptx_text word = t;
        const char *other = other_name(p, &word);
        acu_ptx_text_next(&t);
        if (other && (at != BEGINS || is(&t, ":"))) {
            put(l, done, (size_t)(word.word - done));
            put_text(l, other);
            done = word.word + word.length;
        }
        if (is(&word, ";") || is(&word, "{") || is(&word, "}") || is(&word, ":"))
            at = BEGINS;
        else if (is(&word, "@"))
            at = GUARD;
        else if (!is(&word, "!"))
            at = at == GUARD ? BEGINS : INSIDE;
    }
    put(l, done, (size_t)(to - done));
}

static void skip_group(ptx_text *t, const char *open, const char *close) {
    unsigned depth = 0;
    do {
        depth += is(t, open);
        depth -= is(t, close);
        acu_ptx_text_next(t);
    } while (depth && t->length);
}

/* Goes behind the next word of this kind that is not in braces. */
static void skip_to(ptx_text *t, const char *mark) {
    while (t->length && !is(t, mark))
        if (is(t, "{"))
            skip_group(t, "{", "}");
        else
            acu_ptx_text_next(t);
    acu_ptx_text_next(t);
}

/* Returns whether the part's definition of the current word does not count. */
static bool is_dropped(const acu_sim_link *l, const part *p, const ptx_text *t) {
    const symbol *s = find_symbol(l, t->word, t->length);
    return s && !other_name(p, t) && s->from != SIZE_MAX && &l->parts[s->from] != p;
}

static void put_declaration(acu_sim_link *l, const part *p, const char *from, const char *to) {
    put_text(l, ".extern ");
    copy(l, p, from, to);
    put_text(l, ";\n");
}

/* Returns whether a kernel declares by this how many registers it leaves room for. */
static bool is_register_limit(const ptx_text *t) {
    return is(t, ".maxnreg") || is(t, ".maxntid") || is(t, ".reqntid") || is(t, ".minnctapersm");
}

static void put_limit(acu_sim_link *l) {
    char text[32];
    snprintf(text, sizeof text, ".maxnreg %u\n", l->most_registers);
    put_text(l, text);
}

/* Copies a function, whose linkage begins at `begin`. */
static void copy_function(acu_sim_link *l, const part *p, ptx_text *t, const char *begin) {
    const char *kind = t->word;
    bool limited = !l->most_registers || !is(t, ".entry");
    acu_ptx_text_next(t);
    if (is(t, ".attribute")) {
        acu_ptx_text_next(t);
        skip_group(t, "(", ")");
    }
    if (is(t, "("))
        skip_group(t, "(", ")");
    const bool dropped = is_dropped(l, p, t);
    const char *head = t->word + t->length;
    acu_ptx_text_next(t);
    if (is(t, "(")) {
        skip_group(t, "(", ")");
        head = t->end_before;
    }
    while (t->length && !is(t, "{") && !is(t, ";"))
        if (is(t, ".pragma")) {
            skip_to(t, ";");
        } else {
            limited = limited || is_register_limit(t);
            acu_ptx_text_next(t);
        }
    const char *body = is(t, "{") ? t->word : NULL;
    if (body)
        skip_group(t, "{", "}");
    else
        acu_ptx_text_next(t);
    if (dropped) {
        put_declaration(l, p, kind, head);
    } else if (limited || !body) {
        copy(l, p, begin, t->end_before);
    } else {
        copy(l, p, begin, body);
        put_limit(l);
        copy(l, p, body, t->end_before);
    }
}

/* Copies one variable of a statement, of which `head` is the text from the state space to the first
 * name. */
static void copy_variable(acu_sim_link *l, const part *p, ptx_text *t, const ptx_text *linkage,
                          const ptx_text *space, const char *head) {
    const bool dropped = is_dropped(l, p, t);
    const char *name = t->word, *declared = NULL;
    while (t->length && !is(t, ";") && !is(t, ",")) {
        if (is(t, "="))
            declared = t->end_before;
        if (is(t, "{"))
            skip_group(t, "{", "}");
        else
            acu_ptx_text_next(t);
    }
    const char *end = dropped && declared ? declared : t->end_before;
    put_text(l, dropped ? ".extern " : "");
    if (!dropped)
        put(l, linkage->word, (size_t)(space->word - linkage->word));
    put(l, space->word, (size_t)(head - space->word));
    copy(l, p, name, end);
    put_text(l, ";\n");
}

/* Copies the variables of a statement, whose linkage begins at `begin`: each as a statement. */
static void copy_variables(acu_sim_link *l, const part *p, ptx_text *t, const ptx_text *begin) {
    const ptx_text space = *t;
    while (t->length && !acu_ptx_text_is_name(t))
        if (is(t, ".attribute")) {
            acu_ptx_text_next(t);
            skip_group(t, "(", ")");
        } else {
            acu_ptx_text_next(t);
        }
    const char *head = t->word;
    do {
        if (is(t, ","))
            acu_ptx_text_next(t);
        copy_variable(l, p, t, begin, &space, head);
    } while (is(t, ","));
    acu_ptx_text_next(t);
}

/* Copies .alias name, function; */
static void copy_alias(acu_sim_link *l, const part *p, ptx_text *t) {
    const char *begin = t->word;
    acu_ptx_text_next(t);
    const bool dropped = is_dropped(l, p, t);
    skip_to(t, ";");
    if (!dropped)
        copy(l, p, begin, t->end_before);
}

/* Skips what is not in the linked text: the head, and what is for debuggers. False: the current
 * word begins something else. */
static bool skip_statement(ptx_text *t) {
    if (is(t, ".section")) {
        while (t->length && !is(t, "{"))
            acu_ptx_text_next(t);
        skip_group(t, "{", "}");
    } else if (is(t, ".pragma")) {
        skip_to(t, ";");
    } else if (is(t, "@@")) {
        acu_ptx_text_skip_line(t);
    } else if (is(t, ".version") || is(t, ".target") || is(t, ".address_size") || is(t, ".file") ||
               is(t, ".loc")) {
        do
            acu_ptx_text_next(t);
        while (t->length && *t->word != '.' && !is(t, ";"));
    } else {
        return false;
    }
    return true;
}

static void copy_statement(acu_sim_link *l, const part *p, ptx_text *t) {
    const ptx_text begin = *t;
    while (is(t, ".visible") || is(t, ".extern") || is(t, ".weak") || is(t, ".common"))
        acu_ptx_text_next(t);
    if (is(t, ".entry") || is(t, ".func"))
        copy_function(l, p, t, begin.word);
    else if (is(t, ".global") || is(t, ".const") || is(t, ".shared") || is(t, ".local") ||
             is(t, ".tex"))
        copy_variables(l, p, t, &begin);
    else if (is(t, ".alias"))
        copy_alias(l, p, t);
    else if (!skip_statement(t))
        acu_ptx_text_next(t);
    put_text(l, "\n");
}

/* The linked text is for the newest of the targets, and the one with a letter, as sm_90a. */
static void put_head(acu_sim_link *l) {
    char head[100];
    int version = 0;
    const ptx_module *newest = l->parts[0].module;
    for (size_t n = 0; n < l->count; n++) {
        const ptx_module *m = l->parts[n].module;
        version = m->version > version ? m->version : version;
        if (m->target > newest->target || (m->target == newest->target && m->variant))
            newest = m;
    }
    const char letter[] = {newest->variant, '\0'};
    snprintf(head, sizeof head, ".version %d.%d\n.target sm_%d%s\n.address_size 64\n", version / 10,
             version % 10, newest->target, letter);
    put_text(l, head);
}

static cudaError_t write_all(acu_sim_link *l, bool with_libraries) {
    ptx_text t;
    l->size = 0;
    if (l->count == 1 && !with_libraries && !l->most_registers) {
        put(l, l->parts[0].image->text, l->parts[0].image->text_size);
        return l->failed;
    }
    put_head(l);
    put_text(l, with_libraries ? ".pragma " PTX_WITH_LIBRARIES ";\n" : "");
    if (!rename_all(l))
        return cudaErrorMemoryAllocation;
    for (size_t n = 0; n < l->count && !l->failed; n++) {
        const part *p = &l->parts[n];
        acu_ptx_text_begin(&t, p->image->text, p->image->text_size);
        while (t.length)
            copy_statement(l, p, &t);
    }
    return l->failed;
}

cudaError_t acu_sim_link_complete(acu_sim_link *l, bool with_libraries, char **text, size_t *size) {
    *text = NULL;
    *size = 0;
    if (l->failed)
        return l->failed;
    if (!l->count)
        return cudaSuccess;
    if (with_libraries)
        SIM_TRY(add_grid_group(l));
    SIM_TRY(validate_needs(l, with_libraries));
    SIM_TRY(write_all(l, with_libraries));
    *text = l->text;
    *size = l->size;
    return cudaSuccess;
}

bool acu_sim_link_is_device_runtime(const void *data, size_t size) {
    static const char begins[] = "!<arch>\n", member[] = "cuda_device_runtime";
    const size_t length = sizeof member - 1;
    const char *at = data, *end = at + size;
    if (size < length || memcmp(at, begins, sizeof begins - 1) != 0)
        return false;
    while ((size_t)(end - at) >= length && memcmp(at, member, length) != 0)
        at++;
    return (size_t)(end - at) >= length;
}
