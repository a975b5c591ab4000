/*
 * Compiles CUDA C++ source: reads the kernels and variables that it declares with C linkage, and
 * skips bodies, types and everything else. A kernel whose declaration needs macros, templates or a
 * mangled name is an error, because the simulator would have to guess its PTX.
 */
#include "sim/code/source.h"

#include "sim/ptx/parse.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void acu_sim_text_print(acu_sim_text *text, const char *format, ...) {
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    size_t needed = text->length + (size_t)length + 1;
    if (needed > text->room) {
        char *grown = realloc(text->bytes, needed * 2);
        text->full |= !grown;
        text->bytes = grown ? grown : text->bytes;
        text->room = grown ? needed * 2 : text->room;
    }
    if (needed <= text->room) {
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

/* ---- words ---- */

typedef struct reader {
    const char *at, *word; /* the rest of the source, and the current word */
    const char *name;      /* of the source, for the log */
    size_t length;         /* of the word; 0: no word is left */
    unsigned line;
    unsigned linkage; /* open blocks of extern "C" */
    acu_sim_text *ptx, *log;
    bool failed;
} reader;

/* Writes the first error to the log. Returns false. */
static bool fail(reader *r, const char *what) {
    if (!r->failed)
        acu_sim_text_print(r->log,
                           "%s(%u): error: the simulator reads only extern \"C\" kernels of plain "
                           "types: %s%s%.*s%s\n",
                           r->name, r->line, what, r->length ? ", at \"" : "",
                           (int)(r->length < 40 ? r->length : 40), r->word, r->length ? "\"" : "");
    r->failed = true;
    return false;
}

static bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Skips a comment or a line for the preprocessor; false if the source goes on with neither. */
static bool skip_comment(reader *r) {
    bool directive = *r->at == '#', line = strncmp(r->at, "//", 2) == 0;
    bool block = strncmp(r->at, "/*", 2) == 0;
    if (!directive && !line && !block)
        return false;
    while (*r->at && (block ? strncmp(r->at, "*/", 2) != 0 : *r->at != '\n')) {
        bool continues = r->at[0] == '\\' && r->at[1] == '\n';
        r->line += *r->at == '\n' || continues;
        r->at += continues ? 2 : 1;
    }
    if (block && *r->at)
        r->at += 2;
    return true;
}

static void skip_literal(reader *r) {
    char quote = *r->at++;
    while (*r->at && *r->at != quote) {
        if (*r->at == '\\' && r->at[1])
            r->at++;
        r->line += *r->at++ == '\n';
    }
    r->at += *r->at != '\0';
}

/* Goes to the next word: a name, a number, a literal, or one character. */
static void advance(reader *r) {
    for (;;) {
        if (*r->at == '\n')
            r->line++, r->at++;
        else if (*r->at == ' ' || (*r->at >= '\t' && *r->at <= '\r'))
            r->at++;
        else if (!skip_comment(r))
            break;
    }
    r->word = r->at;
    if (*r->at == '"' || *r->at == '\'')
        skip_literal(r);
    else if (is_name_character(*r->at))
        while (is_name_character(*r->at))
            r->at++;
    else if (*r->at)
        r->at++;
    r->length = (size_t)(r->at - r->word);
}

static bool is(const reader *r, const char *text) {
    return r->length == strlen(text) && memcmp(r->word, text, r->length) == 0;
}

static bool accept(reader *r, const char *text) {
    if (!is(r, text))
        return false;
    advance(r);
    return true;
}

static bool is_name(const reader *r) {
    return r->length && is_name_character(*r->word) && (*r->word < '0' || *r->word > '9');
}

/* Skips from an opening bracket to behind the one that closes it. */
static bool skip_nested(reader *r, const char *opens, const char *closes) {
    unsigned depth = 0;
    do {
        depth += is(r, opens);
        depth -= is(r, closes);
        if (!r->length)
            return fail(r, "the source ends within brackets");
        advance(r);
    } while (depth);
    return true;
}

/* ---- types ---- */

/* How PTX declares a parameter of a type. NVRTC writes whole numbers without a sign, and classes as
 * bytes: vectors and __half are classes, too. */
enum { WHOLE = 'u', FLOATING = 'f', RECORD = 'b' };

typedef struct type {
    size_t size, align; /* bytes; 0: not known */
    char kind;
    bool pointer;
    bool nothing; /* void */
} type;

static const struct {
    const char *name;
    size_t size;
    char kind;
} plain_types[] = {
    {"char", 1, WHOLE},      {"bool", 1, WHOLE},    {"short", 2, WHOLE},    {"float", 4, FLOATING},
    {"double", 8, FLOATING}, {"int8_t", 1, WHOLE},  {"uint8_t", 1, WHOLE},  {"int16_t", 2, WHOLE},
    {"uint16_t", 2, WHOLE},  {"int32_t", 4, WHOLE}, {"uint32_t", 4, WHOLE}, {"int64_t", 8, WHOLE},
    {"uint64_t", 8, WHOLE},  {"size_t", 8, WHOLE},  {"intptr_t", 8, WHOLE}, {"uintptr_t", 8, WHOLE},
    {"ptrdiff_t", 8, WHOLE}, {"__half", 2, RECORD}, {"half", 2, RECORD},    {"uchar", 1, WHOLE},
    {"ushort", 2, WHOLE},    {"uint", 4, WHOLE},    {"ulong", 8, WHOLE},    {"longlong", 8, WHOLE},
    {"ulonglong", 8, WHOLE}, {"int", 4, WHOLE},     {"long", 8, WHOLE},
};

/* Returns the plain type of the name; of size 0 if no type has the name. */
static type type_named(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof plain_types / sizeof *plain_types; i++)
        if (strlen(plain_types[i].name) == length && memcmp(plain_types[i].name, name, length) == 0)
            return (type){.size = plain_types[i].size,
                          .align = plain_types[i].size,
                          .kind = plain_types[i].kind};
    return (type){0};
}

static size_t size_of_name(const char *name, size_t length) {
    return type_named(name, length).size;
}

/* Returns the vector type of the name, such as float4 or uchar2, which is aligned to 16 bytes at
 * most; of size 0 if no type has the name. */
static type vector_type(const char *name, size_t length) {
    unsigned count = length > 1 ? (unsigned)(name[length - 1] - '0') : 0;
    size_t element = count >= 1 && count <= 4 ? size_of_name(name, length - 1) : 0;
    size_t size = element * count, align = count == 3 ? element : size;
    return (type){.size = size, .align = align > 16 ? 16 : align, .kind = RECORD};
}

static bool is_qualifier(const reader *r) {
    return is(r, "const") || is(r, "volatile") || is(r, "__restrict__") || is(r, "__restrict") ||
           is(r, "__grid_constant__") || is(r, "struct") || is(r, "enum") || is(r, "typename");
}

/* Reads everything before the declared name, such as "const unsigned long long *__restrict__". */
static type read_type(reader *r) {
    type t = {0};
    bool any = false, has_long = false, has_sign = false, has_int = false;
    for (;; advance(r)) {
        if (is_qualifier(r))
            continue;
        if (is(r, "*") || is(r, "&")) {
            t = (type){.size = 8, .align = 8, .kind = WHOLE, .pointer = true};
            continue;
        }
        if (t.pointer || !is_name(r))
            break;
        bool sign = is(r, "unsigned") || is(r, "signed");
        bool whole = is(r, "int") || is(r, "long");
        if (any && !sign && !whole && !(has_sign && size_of_name(r->word, r->length)) &&
            !(has_long && is(r, "double")))
            break; /* the declared name */
        if (any && !sign && !whole && !has_int && t.size && !has_sign)
            break;
        has_sign |= sign;
        has_long |= is(r, "long");
        has_int |= whole;
        const type plain =
            sign ? (type){.size = 4, .align = 4, .kind = WHOLE} : type_named(r->word, r->length);
        if (!(sign && any) && !(is(r, "int") && any && t.size))
            t = plain.size ? plain : vector_type(r->word, r->length);
        t.nothing = is(r, "void");
        any = true;
    }
    if (has_long && !t.pointer)
        t.size = t.align = 8;
    return t;
}

/* Reads the extents of an array behind the name. Returns the number of elements; 1 if there are no
 * extents, 0 if an extent is no number. */
static size_t read_extents(reader *r) {
    size_t count = 1;
    while (accept(r, "[")) {
        count *= is(r, "]") ? 0 : strtoull(r->word, NULL, 0);
        while (r->length && !accept(r, "]"))
            advance(r);
    }
    return count;
}

/* ---- kernels ---- */

/* The specifiers of a declaration. */
typedef struct specifiers {
    bool c; /* extern "C" */
    bool kernel, device, constant, managed, is_template, external;
    unsigned threads, blocks; /* __launch_bounds__; 0: not given */
    unsigned cluster[3];      /* __cluster_dims__; 0: not given */
} specifiers;

static bool write_param(reader *r, const char *kernel, size_t length, unsigned index) {
    type t = read_type(r);
    if (!t.size)
        return fail(r, "the size of a parameter's type is not known");
    if (is_name(r))
        advance(r);
    if (is(r, "[")) {
        (void)read_extents(r);
        t = (type){.size = 8, .align = 8, .kind = WHOLE};
    }
    if (t.kind != RECORD)
        acu_sim_text_print(r->ptx, "%s\t.param .%c%zu %.*s_param_%u", index ? ",\n" : "\n", t.kind,
                           t.size * 8, (int)length, kernel, index);
    else
        acu_sim_text_print(r->ptx, "%s\t.param .align %zu .b8 %.*s_param_%u[%zu]",
                           index ? ",\n" : "\n", t.align, (int)length, kernel, index, t.size);
    return true;
}

static bool write_params(reader *r, const char *kernel, size_t length) {
    advance(r); /* the parenthesis */
    if (is(r, "void")) {
        reader ahead = *r;
        advance(&ahead);
        if (is(&ahead, ")"))
            advance(r);
    }
    for (unsigned i = 0; !is(r, ")"); i++) {
        if (!write_param(r, kernel, length, i))
            return false;
        if (!accept(r, ",") && !is(r, ")"))
            return fail(r, "this parameter is not understood");
    }
    advance(r);
    return true;
}

static bool read_kernel(reader *r, const specifiers *s) {
    if (s->is_template)
        return fail(r, "this kernel is a template");
    if (!s->c)
        return fail(r, "this kernel has no extern \"C\"");
    if (!is_name(r))
        return fail(r, "this kernel has no name");
    const char *kernel = r->word;
    size_t length = r->length, before = r->ptx->length;
    advance(r);
    acu_sim_text_print(r->ptx, "\n.visible .entry %.*s(", (int)length, kernel);
    if (!is(r, "(") || !write_params(r, kernel, length))
        return fail(r, "this is not a kernel's declaration");
    acu_sim_text_print(r->ptx, "\n)\n");
    if (s->threads)
        acu_sim_text_print(r->ptx, ".maxntid %u, 1, 1\n", s->threads);
    if (s->blocks)
        acu_sim_text_print(r->ptx, ".minnctapersm %u\n", s->blocks);
    if (s->cluster[0])
        acu_sim_text_print(r->ptx, ".explicitcluster\n.reqnctapercluster %u, %u, %u\n",
                           s->cluster[0], s->cluster[1], s->cluster[2]);
    acu_sim_text_print(r->ptx, "{\n\t.pragma " PTX_DECLARED ";\n\tret;\n}\n");
    if (accept(r, ";")) { /* a declaration only; another file may define the kernel */
        r->ptx->length = before;
        return true;
    }
    return is(r, "{") ? skip_nested(r, "{", "}") : fail(r, "this kernel has no body");
}

/* ---- other declarations ---- */

static bool skip_declaration(reader *r) {
    while (r->length && !is(r, ";") && !is(r, "}")) {
        bool nested = is(r, "{"), parameters = is(r, "(");
        if (nested || parameters) {
            if (!skip_nested(r, nested ? "{" : "(", nested ? "}" : ")"))
                return false;
            if (nested && !is(r, ";") && !is(r, ",") && !is_name(r))
                return true; /* the braces were a function's body */
            if (nested && is_name(r) && !is(r, "__attribute__"))
                return true;
            continue;
        }
        advance(r);
    }
    return accept(r, ";") || true;
}

static bool read_variable(reader *r, const specifiers *s) {
    reader start = *r;
    type t = read_type(r);
    const char *name = r->word;
    size_t length = r->length;
    bool named = is_name(r);
    if (named)
        advance(r);
    size_t count = read_extents(r);
    if (!named || is(r, "(") || is(r, ":") || is(r, "<")) { /* a function, or another declaration */
        *r = start;
        return skip_declaration(r);
    }
    if (s->external)
        return skip_declaration(r);
    if (!t.size || !count)
        return fail(r, "the size of a variable is not known");
    if (!is(r, ";"))
        return fail(r, "the initial value of a variable is not known");
    advance(r);
    acu_sim_text_print(
        r->ptx, "\n.visible %s %s.align %zu .b8 %.*s[%zu];\n", s->constant ? ".const" : ".global",
        s->managed ? ".attribute(.managed) " : "", t.align, (int)length, name, t.size * count);
    return true;
}

/* Reads numbers in parentheses, such as (256, 2). */
static bool read_numbers(reader *r, unsigned *numbers, int room) {
    advance(r);
    if (!accept(r, "("))
        return fail(r, "numbers in parentheses are missing");
    for (int i = 0; i < room && !is(r, ")"); i++) {
        char *end;
        numbers[i] = (unsigned)strtoul(r->word, &end, 0);
        if (end != r->word + r->length)
            return fail(r, "a number is missing");
        advance(r);
        if (!accept(r, ",") && !is(r, ")"))
            return fail(r, "a number is missing");
    }
    return accept(r, ")") || fail(r, "too many numbers");
}

/* Reads a specifier; false if the current word is not one, or after an error. */
static bool read_specifier(reader *r, specifiers *s) {
    if (accept(r, "__global__"))
        return s->kernel = true;
    if (accept(r, "__device__"))
        return s->device = true;
    if (accept(r, "__constant__"))
        return s->constant = s->device = true;
    if (accept(r, "__managed__"))
        return s->managed = s->device = true;
    if (is(r, "__launch_bounds__")) {
        unsigned bounds[3] = {0};
        bool good = read_numbers(r, bounds, 3);
        s->threads = bounds[0];
        s->blocks = bounds[1];
        return good;
    }
    if (is(r, "__cluster_dims__")) {
        s->cluster[1] = s->cluster[2] = 1;
        return read_numbers(r, s->cluster, 3);
    }
    if (accept(r, "template"))
        return s->is_template = is(r, "<") && skip_nested(r, "<", ">");
    if (is(r, "__attribute__")) {
        advance(r);
        return is(r, "(") && skip_nested(r, "(", ")");
    }
    return accept(r, "static") || accept(r, "inline") || accept(r, "__inline__") ||
           accept(r, "__forceinline__") || accept(r, "__noinline__") || accept(r, "__host__") ||
           (s->kernel && accept(r, "void"));
}

static bool read_statement(reader *r) {
    specifiers s = {.c = r->linkage > 0};
    if (accept(r, "extern")) {
        s.external = !is(r, "\"C\"");
        if (accept(r, "\"C\""))
            s.c = true;
        if (s.c && accept(r, "{")) {
            r->linkage++;
            return true;
        }
    }
    if (r->linkage && accept(r, "}")) {
        r->linkage--;
        return true;
    }
    for (bool more = true; more && !r->failed;) {
        if (!s.kernel && is(r, "void")) { /* void __global__ f() */
            reader ahead = *r;
            advance(&ahead);
            if (is(&ahead, "__global__") || is(&ahead, "__launch_bounds__"))
                advance(r);
        }
        more = read_specifier(r, &s);
    }
    if (r->failed)
        return false;
    if (s.kernel)
        return read_kernel(r, &s);
    if (s.device && !s.is_template)
        return read_variable(r, &s);
    if (accept(r, "namespace")) {
        while (r->length && !is(r, "{") && !is(r, ";"))
            advance(r);
        return accept(r, "{") || accept(r, ";");
    }
    return accept(r, "}") || skip_declaration(r);
}

bool acu_sim_source_compile(const char *source, const char *name, acu_sim_text *ptx,
                            acu_sim_text *log) {
    reader r = {.at = source, .name = name, .line = 1, .ptx = ptx, .log = log};
    advance(&r);
    while (r.length && !r.failed && read_statement(&r)) {
    }
    return !r.failed && !ptx->full;
}
