/* What a WGSL text says of its work groups, without compiling it: WebGPU does not tell. */
#include "runtime/webgpu/webgpu.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { CONSTANTS = 8 /* that lead from one to the next */ };

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static const char *line_end(const char *at) {
    return at + strcspn(at, "\n");
}

/* Returns what is behind a comment; comments of several lines may be nested. */
static const char *behind_comment(const char *at) {
    int depth = 0;
    if (at[1] == '/')
        return line_end(at);
    do {
        const int opens = strncmp(at, "/*", 2) == 0, closes = strncmp(at, "*/", 2) == 0;
        depth += opens - closes;
        at += opens || closes ? 2 : 1;
    } while (depth && *at);
    return at;
}

/* Returns the beginning of the next token. */
static const char *skip(const char *at) {
    for (;;) {
        at += strspn(at, " \t\r\n\v\f");
        if (at[0] != '/' || (at[1] != '/' && at[1] != '*'))
            return at;
        at = behind_comment(at);
    }
}

/* Returns what is behind a token: a name, a number, or one other character. */
static const char *behind(const char *token) {
    if (!is_name(*token))
        return *token ? token + 1 : token;
    while (is_name(*token))
        token++;
    return token;
}

static bool is(const char *token, const char *word) {
    const size_t length = strlen(word);
    return (size_t)(behind(token) - token) == length && strncmp(token, word, length) == 0;
}

static const char *next(const char *token) {
    return skip(behind(token));
}

static bool same(const char *a, const char *b) {
    const size_t length = (size_t)(behind(a) - a);
    return (size_t)(behind(b) - b) == length && strncmp(a, b, length) == 0;
}

/* Returns a literal's number; 0 where the token is none. */
static uint32_t literal(const char *token) {
    char *end = NULL;
    if (!isdigit((unsigned char)*token))
        return 0;
    const unsigned long value = strtoul(token, &end, 0);
    if (*end == 'u' || *end == 'i')
        end++;
    return end == behind(token) && *end != '.' && value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* Returns the first token of what a constant is made of; NULL where the text has no such constant.
 */
static const char *constant(const char *text, const char *name) {
    for (const char *token = skip(text); *token; token = next(token)) {
        if (!is(token, "const") && !is(token, "override"))
            continue;
        if (!same(next(token), name))
            continue;
        while (*token && *token != '=' && *token != ';')
            token = next(token);
        return *token == '=' ? next(token) : NULL;
    }
    return NULL;
}

/* Returns the number that one expression is, as far as it is that simple; else 0. */
static uint32_t value_of(const char *text, const char *token) {
    for (int i = 0; i < CONSTANTS && token; i++) {
        const char after = *next(token);
        if (after != ',' && after != ')' && after != ';')
            return 0;
        if (!is_name(*token) || isdigit((unsigned char)*token))
            return literal(token);
        token = constant(text, token);
    }
    return 0;
}

/* Reads "(64, 1)"; returns what is behind it. */
static const char *read_size(const char *text, const char *token, uint32_t size[3]) {
    int depth = 0, dim = 0;
    size[0] = size[1] = size[2] = 1;
    for (; *token; token = next(token)) {
        const char before = *token;
        depth += (before == '(') - (before == ')');
        if (depth == 0)
            return next(token);
        if (depth == 1 && (before == '(' || before == ',') && dim < 3 && *next(token) != ')')
            size[dim++] = value_of(text, next(token));
    }
    return token;
}

bool acu_webgpu_group_size(const char *text, const char *entry, uint32_t size[3]) {
    uint32_t said[3] = {0, 0, 0};
    for (const char *token = skip(text); *token;) {
        if (is(token, "workgroup_size")) {
            token = read_size(text, next(token), said);
            continue;
        }
        if (is(token, "fn") && is(next(token), entry)) {
            memcpy(size, said, sizeof said);
            return true;
        }
        if (is(token, "fn")) /* the next function has a size of its own */
            memset(said, 0, sizeof said);
        token = next(token);
    }
    return false;
}
