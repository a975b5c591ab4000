/* A reader of the kernels that PTX declares. */
#include "safe/kernel/ptx.h"

#include <stdlib.h>
#include <string.h>

/* Larger numbers are errors: all sizes of parameters are much smaller, and products of two numbers
 * up to this one do not overflow. */
enum { LARGEST = 1048576 };

/* ---- words ---- */

typedef struct reader {
    const char *at, *end;
    const char *word; /* a name, a directive such as ".param", a number, or one character */
    size_t length;    /* 0 at the end */
    bool no_memory;
} reader;

static bool is_of_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '$' || c == '%' || c == '.';
}

/* Advances behind the next mark, or to the end of the text. */
static void skip_past(reader *r, const char *mark) {
    size_t length = strlen(mark);
    while ((size_t)(r->end - r->at) >= length && memcmp(r->at, mark, length) != 0)
        r->at++;
    r->at = (size_t)(r->end - r->at) >= length ? r->at + length : r->end;
}

static void skip_blanks(reader *r) {
    for (;;) {
        char c = r->at < r->end ? *r->at : 'x', next = r->end - r->at > 1 ? r->at[1] : 'x';
        if (c == '/' && next == '/') {
            skip_past(r, "\n");
        } else if (c == '/' && next == '*') {
            r->at += 2;
            skip_past(r, "*/");
        } else if (c == '"') {
            r->at++;
            skip_past(r, "\"");
        } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
            r->at++;
        } else {
            return;
        }
    }
}

static void advance(reader *r) {
    skip_blanks(r);
    r->word = r->at;
    while (r->at < r->end && is_of_word(*r->at))
        r->at++;
    if (r->at == r->word && r->at < r->end)
        r->at++;
    r->length = (size_t)(r->at - r->word);
}

static bool is(const reader *r, const char *text) {
    return r->length == strlen(text) && memcmp(r->word, text, r->length) == 0;
}

/* Returns the word's value; 0 if it is not a number, or is larger than LARGEST. */
static size_t number(const reader *r) {
    size_t value = 0;
    for (size_t i = 0; i < r->length; i++) {
        if (r->word[i] < '0' || r->word[i] > '9' || value > LARGEST)
            return 0;
        value = 10 * value + (size_t)(r->word[i] - '0');
    }
    return value;
}

/* Returns the array with room for one more element, whose bytes are zero. */
static void *append(reader *r, void *array, size_t *count, size_t size) {
    void *grown = array;
    if ((*count & (*count - 1)) == 0) /* a power of two, or 0: the array is full */
        grown = realloc(array, (*count ? 2 * *count : 1) * size);
    if (!grown) {
        r->no_memory = true;
        return array;
    }
    memset((char *)grown + (*count)++ * size, 0, size);
    return grown;
}

/* ---- parameters ---- */

/* The declaration of a parameter. */
typedef struct declared {
    size_t element, align, extent;
    acu_parameter_type type;
    bool after_ptr; /* an alignment that follows is that of the memory it points to */
    bool good;
} declared;

/* Reads a type: ".u64", ".f32", ".b8" are a kind and a number of bits. False if the word is none.
 */
static bool take_type(declared *d, const reader *r) {
    static const struct {
        const char *prefix;
        acu_parameter_type type;
    } kinds[] = {{".u", ACU_PARAMETER_INTEGER},
                 {".s", ACU_PARAMETER_INTEGER},
                 {".f", ACU_PARAMETER_FLOAT},
                 {".b", ACU_PARAMETER_ANY}};
    if (is(r, ".texref") || is(r, ".surfref") || is(r, ".samplerref")) {
        d->element = 8;
        return true;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && r->length > 2; i++) {
        reader bits = {.word = r->word + 2, .length = r->length - 2};
        size_t size = number(&bits) / 8;
        if (memcmp(r->word, kinds[i].prefix, 2) == 0 && size) {
            d->element = size;
            d->type = kinds[i].type;
            return true;
        }
    }
    return false;
}

static void take_word(declared *d, reader *r) {
    if (is(r, ".align")) {
        advance(r);
        size_t align = number(r);
        if (!d->after_ptr)
            d->align = align;
        d->good = d->good && align != 0 && (align & (align - 1)) == 0;
    } else if (is(r, ".ptr")) {
        d->after_ptr = true;
        d->type = ACU_PARAMETER_POINTER;
    } else if (is(r, "[")) {
        advance(r);
        d->extent *= number(r);
        d->type = ACU_PARAMETER_RECORD;
        d->good = d->good && d->extent != 0 && d->extent <= LARGEST;
    } else if (!take_type(d, r) && *r->word == '.') {
        /* Behind .ptr this is a state space; any other word is not understood. */
        d->good = d->good && (d->after_ptr || is(r, ".param"));
    }
}

/* Reads up to a comma or the closing parenthesis, and stops there. */
static declared read_declaration(reader *r) {
    declared d = {.extent = 1, .good = true};
    for (; r->length && !is(r, ",") && !is(r, ")"); advance(r))
        take_word(&d, r);
    d.good = d.good && d.element != 0;
    if (!d.align)
        d.align = d.element;
    return d;
}

static void read_parameters(reader *r, acu_ptx_entry *entry) {
    size_t end = 0;
    entry->known = true;
    if (!is(r, "(")) /* an entry without parameters needs no parentheses */
        return;
    advance(r);
    while (r->length && !is(r, ")") && !r->no_memory) {
        declared d = read_declaration(r);
        entry->known = entry->known && d.good;
        size_t offset = d.good ? (end + d.align - 1) & ~(d.align - 1) : 0;
        size_t size = d.element * d.extent;
        entry->parameters = append(r, entry->parameters, &entry->count, sizeof *entry->parameters);
        if (r->no_memory)
            return;
        entry->parameters[entry->count - 1] =
            (acu_parameter){.offset = offset, .size = size, .type = d.type};
        end = offset + size;
        if (is(r, ","))
            advance(r);
    }
    entry->known = entry->known && is(r, ")");
}

/* ---- kernels ---- */

static void read_entry(reader *r, acu_ptx *ptx) {
    char *name = malloc(r->length + 1);
    r->no_memory = !name;
    if (!name)
        return;
    memcpy(name, r->word, r->length);
    name[r->length] = '\0';
    ptx->entries = append(r, ptx->entries, &ptx->count, sizeof *ptx->entries);
    if (r->no_memory) {
        free(name);
        return;
    }
    ptx->entries[ptx->count - 1].name = name;
    advance(r);
    read_parameters(r, &ptx->entries[ptx->count - 1]);
}

bool acu_ptx_read(acu_ptx *ptx, const char *text, size_t size) {
    reader r = {.at = text, .end = text + size};
    *ptx = (acu_ptx){0};
    for (advance(&r); r.length && !r.no_memory; advance(&r)) {
        if (!is(&r, ".entry"))
            continue;
        advance(&r);
        if (r.length && is_of_word(*r.word))
            read_entry(&r, ptx);
    }
    if (r.no_memory)
        acu_ptx_clear(ptx);
    return !r.no_memory;
}

void acu_ptx_clear(acu_ptx *ptx) {
    for (size_t i = 0; i < ptx->count; i++) {
        free(ptx->entries[i].name);
        free(ptx->entries[i].parameters);
    }
    free(ptx->entries);
    *ptx = (acu_ptx){0};
}

const acu_ptx_entry *acu_ptx_find(const acu_ptx *ptx, const char *name) {
    for (size_t i = 0; i < ptx->count; i++)
        if (strcmp(ptx->entries[i].name, name) == 0)
            return &ptx->entries[i];
    return NULL;
}
