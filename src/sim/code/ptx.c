/*
 * Reads the declarations of PTX: kernels with their parameters and limits, variables, and the
 * shared memory that bodies declare. Instructions are skipped.
 */
#include "sim/code/image.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

/* A shared variable of the module. A kernel whose body names the variable has the memory for it. */
typedef struct shared_variable {
    const char *name;
    size_t length; /* of the name */
    size_t size;   /* bytes; 0: dynamic */
    size_t align;
} shared_variable;

typedef struct parser {
    const char *at, *end;
    const char *word; /* the current word: a name, a number, a text, or one character */
    size_t length;    /* of the word; 0: no word is left */
    unsigned line;
    acu_sim_code_image *image;
    enum { LOCAL, VISIBLE, WEAK, EXTERN } linkage; /* of the current statement */
    int newest;                                    /* PTX version that is accepted */
    shared_variable *shared;
    size_t shared_count;
    char *why;   /* a line for the compiler's log */
    size_t room; /* bytes of `why` */
    cudaError_t result;
} parser;

/* Records the first error. Returns false. */
static bool fail_as(parser *p, cudaError_t code, const char *format, ...) {
    if (p->result)
        return false;
    char what[200];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    snprintf(p->why, p->room, "ptxas application ptx input, line %u; error   : %s", p->line, what);
    p->result = code;
    return false;
}

static bool fail_without_memory(parser *p) {
    return fail_as(p, cudaErrorMemoryAllocation, "out of memory");
}

/* Refuses the current word. Returns false. */
static bool refuse_word(parser *p) {
    return p->length ? fail_as(p, cudaErrorInvalidPtx, "Parsing error near '%.*s': syntax error",
                               (int)(p->length > 60 ? 60 : p->length), p->word)
                     : fail_as(p, cudaErrorInvalidPtx, "Parsing error: unexpected end of file");
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word_character(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '$' || c == '%';
}

static bool starts_with(const parser *p, const char *text) {
    size_t length = strlen(text);
    return (size_t)(p->end - p->at) >= length && memcmp(p->at, text, length) == 0;
}

static void skip_to(parser *p, const char *mark) {
    while (p->at < p->end && !starts_with(p, mark))
        p->line += *p->at++ == '\n';
}

static void skip_space(parser *p) {
    for (;;) {
        if (p->at < p->end && is_space(*p->at)) {
            p->line += *p->at++ == '\n';
        } else if (starts_with(p, "//")) {
            skip_to(p, "\n");
        } else if (starts_with(p, "/*")) {
            skip_to(p, "*/");
            p->at += p->at < p->end ? 2 : 0;
        } else {
            return;
        }
    }
}

/* Goes to the next word: ".param", "ld.param.u64", "%r1", "0x1F", "3.5" and "text" are one each. */
static void advance(parser *p) {
    skip_space(p);
    p->word = p->at;
    if (p->at < p->end && *p->at == '"') {
        for (p->at++; p->at < p->end && *p->at != '"' && *p->at != '\n';)
            p->at++;
        p->at += p->at < p->end;
    } else if (p->at < p->end) {
        p->at++;
        if (is_word_character(*p->word) || *p->word == '.')
            while (p->at < p->end &&
                   (is_word_character(*p->at) || (*p->at == '.' && *p->word != '.')))
                p->at++;
    }
    p->length = (size_t)(p->at - p->word);
}

static bool is(const parser *p, const char *text) {
    return p->length == strlen(text) && memcmp(p->word, text, p->length) == 0;
}

static bool accept(parser *p, const char *text) {
    if (!is(p, text))
        return false;
    advance(p);
    return true;
}

static bool expect(parser *p, const char *text) {
    return accept(p, text) || refuse_word(p);
}

static bool is_name(const parser *p) {
    return p->length && is_word_character(*p->word) && !is_digit(*p->word);
}

/* Returns a copy of the current word that the caller frees; NULL without memory. */
static char *copy_word(parser *p) {
    char *copy = malloc(p->length + 1);
    if (!copy) {
        fail_without_memory(p);
        return NULL;
    }
    if (p->word)
        memcpy(copy, p->word, p->length);
    copy[p->length] = '\0';
    return copy;
}

/* Reads the current word as a number. */
static bool read_number(parser *p, uint64_t *value) {
    char text[32] = "", *end = text;
    if (p->length && p->length < sizeof text && is_digit(*p->word))
        memcpy(text, p->word, p->length);
    *value = strtoull(text, &end, 0);
    if (end == text || (*end && strcmp(end, "U") != 0))
        return refuse_word(p);
    advance(p);
    return true;
}

/* Skips the rest of a statement, which ends with a semicolon or a block. */
static bool skip_statement(parser *p) {
    unsigned depth = 0;
    while (p->length) {
        bool opens = is(p, "{"), closes = is(p, "}"), ends = is(p, ";");
        advance(p);
        depth += opens;
        depth -= closes && depth;
        if ((closes || ends) && depth == 0)
            return true;
    }
    return refuse_word(p);
}

/* Appends a zeroed element to an array, and returns the element; NULL without memory. */
static void *append(parser *p, void **array, size_t *count, size_t size) {
    char *grown = realloc(*array, (*count + 1) * size);
    if (!grown) {
        fail_without_memory(p);
        return NULL;
    }
    *array = grown;
    return memset(grown + (*count)++ * size, 0, size);
}

/* ---- symbols ---- */

/* Records a symbol that other PTX can see: one that the statement defines, or one that it declares
 * only and other PTX must define. */
static bool add_symbol(parser *p, const char *name, size_t length, bool defined) {
    acu_sim_code_image *image = p->image;
    if (p->linkage == LOCAL || !length)
        return true;
    acu_sim_symbol *symbol =
        defined ? append(p, (void **)&image->offers, &image->offer_count, sizeof *symbol)
                : append(p, (void **)&image->needs, &image->need_count, sizeof *symbol);
    if (!symbol)
        return false;
    parser named = {.word = name, .length = length, .why = p->why, .room = p->room};
    symbol->weak = p->linkage == WEAK;
    if ((symbol->name = copy_word(&named)) != NULL)
        return true;
    return fail_without_memory(p);
}

/* Records that a body or an initialiser has the current word, which may be a declared symbol. */
static void use_symbol(const parser *p) {
    for (size_t i = 0; i < p->image->need_count; i++)
        if (!p->image->needs[i].used && is(p, p->image->needs[i].name))
            p->image->needs[i].used = true;
}

/* ---- variables and parameters ---- */

typedef struct declaration {
    size_t element, align; /* bytes */
    size_t size; /* bytes of all elements; 0: not declared, of extern and dynamic variables */
    bool managed;
    const char *name;
    size_t length; /* of the name */
} declaration;

/* Returns the bytes of the type that the current word is; 0 if it is no type. */
static size_t size_of_type(const parser *p) {
    static const struct {
        const char *name;
        size_t size;
    } types[] = {{".b8", 1},      {".u8", 1},         {".s8", 1},    {".b16", 2},   {".u16", 2},
                 {".s16", 2},     {".f16", 2},        {".bf16", 2},  {".f16x2", 4}, {".b32", 4},
                 {".u32", 4},     {".s32", 4},        {".f32", 4},   {".b64", 8},   {".u64", 8},
                 {".s64", 8},     {".f64", 8},        {".b128", 16}, {".pred", 1},  {".texref", 8},
                 {".surfref", 8}, {".samplerref", 8}, {".bf16x2", 4}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is(p, types[i].name))
            return types[i].size;
    return 0;
}

/* Reads the parentheses of .attribute(.managed) or .attribute(.unified(…)). */
static bool read_attribute(parser *p, declaration *d) {
    if (!expect(p, "("))
        return false;
    while (p->length && !is(p, ")")) {
        d->managed |= is(p, ".managed");
        if (is(p, "("))
            while (p->length && !is(p, ")"))
                advance(p);
        advance(p);
    }
    return expect(p, ")");
}

/* Reads the words between the state space and the name: alignment, vector, type, .ptr and its
 * space. */
static bool read_qualifiers(parser *p, declaration *d) {
    uint64_t value;
    size_t vector = 1;
    while (p->length && *p->word == '.') {
        if (accept(p, ".align")) {
            if (!read_number(p, &value))
                return false;
            if (value == 0 || value & (value - 1) || value > 65536)
                return fail_as(p, cudaErrorInvalidPtx, "Alignment must be a power of two");
            if (!d->align) /* a second alignment is of the memory that a pointer points to */
                d->align = (size_t)value;
        } else if (accept(p, ".attribute")) {
            if (!read_attribute(p, d))
                return false;
        } else if (accept(p, ".ptr")) {
            d->align = d->align ? d->align : d->element;
        } else if (is(p, ".v2") || is(p, ".v4") || is(p, ".v8")) {
            vector = (size_t)(p->word[2] - '0');
            advance(p);
        } else if (is(p, ".global") || is(p, ".const") || is(p, ".local") || is(p, ".shared")) {
            advance(p);
        } else if (size_of_type(p)) {
            d->element = size_of_type(p);
            advance(p);
        } else {
            return refuse_word(p);
        }
    }
    d->element *= vector;
    return d->element || refuse_word(p);
}

/* Reads a name with its extents: name, name[4], name[2][3], name[]. */
static bool read_declarator(parser *p, declaration *d) {
    if (!is_name(p))
        return refuse_word(p);
    d->name = p->word;
    d->length = p->length;
    d->size = d->element;
    advance(p);
    while (accept(p, "[")) {
        uint64_t extent = 0;
        if (!is(p, "]") && !read_number(p, &extent))
            return false;
        if (__builtin_mul_overflow(d->size, (size_t)extent, &d->size) || d->size > SIZE_MAX / 2)
            return fail_as(p, cudaErrorInvalidPtx, "Size of '%.*s' is too large", (int)d->length,
                           d->name);
        if (!expect(p, "]"))
            return false;
    }
    if (!d->align)
        d->align = d->element;
    return true;
}

static bool read_declaration(parser *p, declaration *d) {
    *d = (declaration){0};
    return read_qualifiers(p, d) && read_declarator(p, d);
}

/* Returns the sign bit of a floating-point number of so many bytes. */
static uint64_t sign_bit(size_t size) {
    return (uint64_t)1 << (size == 2 ? 15 : size == 4 ? 31 : 63);
}

/* Reads a number of an initialiser and writes its bytes. 0f3F800000 and 0d… are the bits of a
 * floating-point number. */
static bool read_value(parser *p, const declaration *d, char *to) {
    bool negative = accept(p, "-");
    uint64_t bits = 0;
    char text[40] = "", *end;
    if (p->length == 0 || p->length >= sizeof text)
        return refuse_word(p);
    memcpy(text, p->word, p->length);
    bool raw = text[0] == '0' && strchr("fFdD", text[1]) && text[1];
    if (raw) {
        bits = strtoull(text + 2, &end, 16);
    } else if (strchr(text, '.')) {
        double wide = strtod(text, &end);
        float single = (float)wide;
        if (d->element == 4)
            memcpy(&bits, &single, sizeof single);
        else
            memcpy(&bits, &wide, sizeof wide);
    } else {
        bits = strtoull(text, &end, 0);
    }
    if (negative)
        bits = raw || strchr(text, '.') ? bits ^ sign_bit(d->element) : 0 - bits;
    advance(p);
    for (size_t i = 0; i < d->element && i < 8; i++)
        to[i] = (char)(bits >> (8 * i));
    return true;
}

/* Skips an address: x, x+4, generic(x), generic(x)+4. */
static void skip_address(parser *p) {
    advance(p);
    while (p->length && (is(p, "(") || is(p, ")") || is(p, "+") || is_name(p))) {
        bool adds = is(p, "+");
        advance(p);
        if (adds)
            advance(p);
    }
}

/* Reads the values behind "=": value, {a, b}, {{a, b}, {c, d}}. An address becomes zero. */
static bool read_initializer(parser *p, const declaration *d, acu_sim_variable *variable) {
    size_t used = 0, depth = 0;
    variable->bytes = calloc(1, d->size ? d->size : 1);
    if (!variable->bytes)
        return fail_without_memory(p);
    while (p->length && !is(p, ";") && !(depth == 0 && is(p, ","))) {
        if (accept(p, "{")) {
            depth++;
        } else if (accept(p, "}")) {
            if (depth-- == 0)
                return refuse_word(p);
        } else if (is_digit(*p->word) || is(p, "-")) {
            if (used + d->element > d->size)
                return fail_as(p, cudaErrorInvalidPtx, "Too many initializers for '%s'",
                               variable->name);
            if (!read_value(p, d, variable->bytes + used))
                return false;
            used += d->element;
        } else if (is_name(p)) {
            used += d->element;
            p->image->has_addresses = true;
            use_symbol(p);
            skip_address(p);
        } else if (!accept(p, ",")) {
            return refuse_word(p);
        }
    }
    return depth == 0 || refuse_word(p);
}

/* Returns whether a kernel or a variable has the current word as its name. */
static bool is_taken(const parser *p) {
    for (size_t i = 0; i < p->image->entry_count; i++)
        if (p->image->entries[i].name && is(p, p->image->entries[i].name))
            return true;
    for (size_t i = 0; i < p->image->variable_count; i++)
        if (p->image->variables[i].name && is(p, p->image->variables[i].name))
            return true;
    return false;
}

static bool refuse_duplicate(parser *p, const declaration *d) {
    return fail_as(p, cudaErrorInvalidPtx, "Duplicate definition of '%.*s'", (int)d->length,
                   d->name);
}

/* Reads the initial value of a variable, and keeps the variable. */
static bool add_variable(parser *p, const declaration *d, bool constant) {
    acu_sim_code_image *image = p->image;
    parser named = {
        .word = d->name, .length = d->length, .image = image, .why = p->why, .room = p->room};
    if (is_taken(&named))
        return refuse_duplicate(p, d);
    acu_sim_variable *variable =
        append(p, (void **)&image->variables, &image->variable_count, sizeof *image->variables);
    if (!variable)
        return false;
    variable->constant = constant;
    variable->managed = d->managed;
    variable->size = d->size;
    if (!(variable->name = copy_word(&named)))
        return fail_without_memory(p);
    image->constant_bytes += constant ? d->size : 0;
    return !accept(p, "=") || read_initializer(p, d, variable);
}

/* Reads the variables behind .global or .const. An extern one is defined by other PTX. */
static bool read_variables(parser *p, bool constant) {
    declaration all = {0};
    bool good = read_qualifiers(p, &all);
    do {
        declaration d = all;
        good = good && read_declarator(p, &d) &&
               add_symbol(p, d.name, d.length, p->linkage != EXTERN) &&
               (p->linkage == EXTERN || add_variable(p, &d, constant));
    } while (good && accept(p, ","));
    return good && expect(p, ";");
}

static bool read_shared(parser *p) {
    declaration d;
    if (!read_declaration(p, &d))
        return false;
    shared_variable *shared = append(p, (void **)&p->shared, &p->shared_count, sizeof *p->shared);
    if (!shared)
        return false;
    *shared = (shared_variable){d.name, d.length, p->linkage == EXTERN ? 0 : d.size, d.align};
    return expect(p, ";");
}

/* ---- kernels ---- */

static bool read_params(parser *p, acu_sim_entry *entry) {
    declaration d;
    if (!accept(p, "("))
        return true;
    while (!is(p, ")")) {
        if (!expect(p, ".param") || !read_declaration(p, &d))
            return false;
        acu_sim_param *param =
            append(p, (void **)&entry->params, &entry->param_count, sizeof *entry->params);
        if (!param)
            return false;
        param->offset = (entry->param_bytes + d.align - 1) & ~(d.align - 1);
        param->size = d.size;
        entry->param_bytes = param->offset + d.size;
        if (entry->param_bytes > 32764)
            return fail_as(p, cudaErrorInvalidPtx, "Formal parameter space overflowed in '%s'",
                           entry->name);
        if (!accept(p, ",") && !is(p, ")"))
            return refuse_word(p);
    }
    return expect(p, ")");
}

/* Reads up to three numbers. Missing ones are 1. */
static bool read_extents(parser *p, unsigned extents[3]) {
    for (int i = 0; i < 3; i++) {
        uint64_t value = 1;
        if ((i == 0 || accept(p, ",")) && !read_number(p, &value))
            return false;
        extents[i] = (unsigned)value;
    }
    return true;
}

/* Reads the directives between the parameters and the body, such as .maxntid. */
static bool read_limits(parser *p, acu_sim_entry *entry) {
    uint64_t value;
    while (p->length && *p->word == '.') {
        unsigned *extents = is(p, ".maxntid")             ? entry->max_threads
                            : is(p, ".reqntid")           ? entry->threads
                            : is(p, ".reqnctapercluster") ? entry->cluster
                                                          : NULL;
        bool registers = is(p, ".maxnreg"), blocks = is(p, ".minnctapersm");
        bool takes_one = registers || blocks || is(p, ".maxnctapersm") || is(p, ".maxclusterrank");
        entry->explicit_cluster |= is(p, ".explicitcluster");
        bool pragma = is(p, ".pragma");
        if (!extents && !takes_one && !pragma && !is(p, ".explicitcluster") &&
            !is(p, ".blocksareclusters") && !is(p, ".noreturn") && !is(p, ".abi_preserve") &&
            !is(p, ".language"))
            return refuse_word(p);
        advance(p);
        if (extents && !read_extents(p, extents))
            return false;
        if (takes_one && !read_number(p, &value))
            return false;
        if (registers)
            entry->max_registers = (unsigned)value;
        if (blocks)
            entry->min_blocks = (unsigned)value;
        if (pragma && !skip_statement(p))
            return false;
    }
    return true;
}

/* Adds the size of the shared variable that the current word names. `used`: those added already. */
static void use_shared(const parser *p, acu_sim_entry *entry, bool *used) {
    for (size_t i = 0; used && i < p->shared_count; i++)
        if (!used[i] && p->shared[i].length == p->length &&
            memcmp(p->shared[i].name, p->word, p->length) == 0) {
            used[i] = true;
            entry->shared += p->shared[i].size;
        }
}

/* Reads the declarations and used names of a body. `entry` is NULL for a device function. */
static bool read_block(parser *p, acu_sim_entry *entry, bool *used) {
    declaration d;
    unsigned depth = 0;
    bool begins = true; /* the current word is the first of a statement */
    do {
        bool opens = is(p, "{"), closes = is(p, "}");
        size_t *sum = !entry || !begins  ? NULL
                      : is(p, ".shared") ? &entry->shared
                      : is(p, ".local")  ? &entry->local
                                         : NULL;
        if (!p->length)
            return refuse_word(p);
        if (entry && is_name(p))
            use_shared(p, entry, used);
        if (is_name(p))
            use_symbol(p);
        depth = depth + opens - closes;
        begins = opens || closes || is(p, ";") || is(p, ":");
        advance(p);
        if (!sum)
            continue;
        if (!read_declaration(p, &d) || !is(p, ";"))
            return refuse_word(p);
        *sum = ((*sum + d.align - 1) & ~(d.align - 1)) + d.size;
    } while (depth);
    return true;
}

/* Dynamic shared memory follows the static memory, aligned as the module declares it. A GPU aligns
 * it in all kernels, also in those that do not use it. */
static void align_dynamic(const parser *p, acu_sim_entry *entry) {
    for (size_t i = 0; i < p->shared_count; i++) {
        size_t align = p->shared[i].align;
        if (p->shared[i].size == 0 && align)
            entry->shared = (entry->shared + align - 1) / align * align;
    }
}

static bool read_body(parser *p, acu_sim_entry *entry) {
    if (accept(p, ";"))
        return true;
    if (!is(p, "{"))
        return refuse_word(p);
    bool *used = p->shared_count ? calloc(p->shared_count, sizeof *used) : NULL;
    bool valid = read_block(p, entry, used);
    if (entry)
        align_dynamic(p, entry);
    free(used);
    return valid;
}

/* Takes the last entry back, which was declared only: other PTX, or the text below, defines it. */
static bool drop_entry(parser *p) {
    acu_sim_entry *entry = &p->image->entries[--p->image->entry_count];
    free(entry->name);
    free(entry->params);
    return skip_statement(p);
}

static bool read_entry(parser *p) {
    acu_sim_code_image *image = p->image;
    if (!is_name(p))
        return refuse_word(p);
    const bool taken = is_taken(p);
    acu_sim_entry *entry =
        append(p, (void **)&image->entries, &image->entry_count, sizeof *image->entries);
    if (!entry || !(entry->name = copy_word(p)))
        return false;
    const char *name = p->word;
    const size_t length = p->length;
    advance(p);
    if (!read_params(p, entry) || !read_limits(p, entry) ||
        !add_symbol(p, name, length, is(p, "{")))
        return false;
    if (!is(p, "{"))
        return drop_entry(p);
    return taken ? fail_as(p, cudaErrorInvalidPtx, "Duplicate definition of function '%.*s'",
                           (int)length, name)
                 : read_body(p, entry);
}

/* Reads a device function. Its name is the first one outside the parentheses of results, parameters
 * and attributes. */
static bool read_function(parser *p) {
    const char *name = NULL;
    size_t length = 0, depth = 0;
    while (p->length && !is(p, "{") && !is(p, ";")) {
        depth += is(p, "(");
        depth -= is(p, ")") && depth;
        if (!name && !depth && is_name(p)) {
            name = p->word;
            length = p->length;
        }
        advance(p);
    }
    return add_symbol(p, name, length, is(p, "{")) && read_body(p, NULL);
}

/* Reads ".alias a, b": b is defined, and a is another name of it. */
static bool read_alias(parser *p) {
    p->linkage = VISIBLE;
    return add_symbol(p, p->word, is_name(p) ? p->length : 0, true) && skip_statement(p);
}

/* ---- the module ---- */

/* Returns the newest version of PTX that a CUDA version reads. PTX 7 came with CUDA 11, 8 with 12
 * and 9 with 13, at the same minor version. 12.6 had still 8.5. */
int acu_sim_ptx_newest(int version) {
    int major = version / 1000, minor = version % 1000 / 10;
    return 10 * (major - 4) + minor - (major == 12 && minor >= 6);
}

/* Copies the current word; "" if it does not fit. */
static void copy_word_to(const parser *p, char *text, size_t room) {
    size_t length = p->word && p->length < room ? p->length : 0;
    if (length)
        memcpy(text, p->word, length);
    text[length] = '\0';
}

static bool read_version(parser *p) {
    char text[8], *point, *end;
    if (!is(p, ".version"))
        return fail_as(p, cudaErrorInvalidPtx, "Missing .version directive at start of file");
    advance(p);
    copy_word_to(p, text, sizeof text);
    unsigned long major = strtoul(text, &point, 10);
    unsigned long minor = *point == '.' ? strtoul(point + 1, &end, 10) : 0;
    if (point == text || *point != '.' || end == point + 1 || *end || major > 99 || minor > 9)
        return refuse_word(p);
    p->image->version = (int)(major * 10 + minor);
    if (p->image->version > p->newest)
        return fail_as(p, cudaErrorUnsupportedPtxVersion,
                       "Unsupported .version %lu.%lu; current version is '%d.%d'", major, minor,
                       p->newest / 10, p->newest % 10);
    advance(p);
    return true;
}

static bool read_target(parser *p) {
    char text[16] = "", *end = text;
    if (!is(p, ".target"))
        return fail_as(p, cudaErrorInvalidPtx, "Missing .target directive");
    advance(p);
    copy_word_to(p, text, sizeof text);
    unsigned long target = memcmp(text, "sm_", 3) == 0 ? strtoul(text + 3, &end, 10) : 0;
    if (!target || target > 9999 || (*end && strcmp(end, "a") != 0 && strcmp(end, "f") != 0))
        return refuse_word(p);
    p->image->target = (int)target;
    p->image->variant = *end;
    advance(p);
    while (accept(p, ",")) /* texmode_independent, debug, map_f64_to_f32 */
        advance(p);
    return true;
}

static bool read_statement(parser *p) {
    p->linkage = LOCAL;
    while (is(p, ".visible") || is(p, ".extern") || is(p, ".weak") || is(p, ".common")) {
        p->linkage = is(p, ".extern") ? EXTERN : is(p, ".visible") ? VISIBLE : WEAK;
        advance(p);
    }
    if (accept(p, ".entry"))
        return read_entry(p);
    if (accept(p, ".func"))
        return read_function(p);
    if (accept(p, ".global"))
        return read_variables(p, false);
    if (accept(p, ".const"))
        return read_variables(p, true);
    if (accept(p, ".shared"))
        return read_shared(p);
    if (accept(p, ".address_size")) {
        uint64_t size;
        return read_number(p, &size) &&
               (size == 64 ||
                fail_as(p, cudaErrorInvalidPtx, "Only 64-bit addresses are supported"));
    }
    if (accept(p, ".file") || accept(p, ".loc")) { /* these end with the line */
        unsigned line = p->line;
        while (p->length && p->line == line)
            advance(p);
        return true;
    }
    if (accept(p, ".alias"))
        return read_alias(p);
    if (is(p, ".section") || is(p, ".pragma") || is(p, ".tex")) {
        advance(p);
        return skip_statement(p);
    }
    return accept(p, ";") || refuse_word(p);
}

bool acu_sim_ptx_is_text(const char *text) {
    parser p = {.at = text, .end = text + strlen(text), .line = 1};
    advance(&p);
    return is(&p, ".version");
}

/* Keeps the text, of which a kernel's instructions are read when it is launched. */
static void keep_text(parser *p, const char *text, size_t size) {
    p->image->text = malloc(size + 1);
    if (!p->image->text) {
        fail_without_memory(p);
        return;
    }
    memcpy(p->image->text, text, size);
    p->image->text[size] = '\0';
    p->image->text_size = size;
}

cudaError_t acu_sim_ptx_read(const char *text, size_t size, int newest, acu_sim_code_image *image,
                             char *why, size_t room) {
    parser p = {.at = text,
                .end = text + size,
                .line = 1,
                .newest = newest,
                .image = image,
                .why = why,
                .room = room};
    advance(&p);
    if (read_version(&p) && read_target(&p))
        while (p.length && read_statement(&p)) {
        }
    free(p.shared);
    if (!p.result)
        keep_text(&p, text, size);
    return p.result;
}
