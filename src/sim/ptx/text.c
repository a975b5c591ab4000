#include "sim/ptx/text.h"

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

/* A percent sign begins a word, and is never inside of one: mov.u32%r1 is two words. */
static bool begins_name(char c) {
    return is_letter(c) || c == '%';
}

void acu_ptx_text_begin(ptx_text *t, const char *at, size_t size) {
    const char *zero = size ? memchr(at, '\0', size) : NULL;
    *t = (ptx_text){.at = at, .end = zero ? zero : at + size, .line_begin = at, .line = 1};
    acu_ptx_text_next(t);
}

static void step(ptx_text *t) {
    if (*t->at++ != '\n')
        return;
    t->line++;
    t->line_begin = t->at;
}

static bool starts(const ptx_text *t, const char *with) {
    size_t length = strlen(with);
    return (size_t)(t->end - t->at) >= length && memcmp(t->at, with, length) == 0;
}

static void skip_blank(ptx_text *t) {
    for (;;) {
        if (t->at < t->end && is_space(*t->at)) {
            step(t);
        } else if (starts(t, "//")) {
            while (t->at < t->end && *t->at != '\n')
                t->at++;
        } else if (starts(t, "/*")) {
            t->at += 2;
            while (t->at < t->end && !starts(t, "*/"))
                step(t);
            if (t->at == t->end)
                t->is_open = true;
            else
                t->at += 2;
        } else {
            return;
        }
    }
}

/* Whether the name goes on with the next character. Two colons belong to it, one ends a label. A
 * dot ends a directive: .reg.b16 is two words. */
static bool goes_on(const ptx_text *t) {
    char c = *t->at;
    if (is_letter(c) || is_digit(c))
        return true;
    if (c == '.')
        return *t->word != '.' && t->at + 1 < t->end && (is_letter(t->at[1]) || is_digit(t->at[1]));
    return c == ':' && t->at + 2 < t->end && t->at[1] == ':' &&
           (is_letter(t->at[2]) || is_digit(t->at[2]));
}

static void take_name(ptx_text *t) {
    while (t->at < t->end && goes_on(t))
        t->at += *t->at == ':' ? 2 : 1;
}

static void take_number(ptx_text *t) {
    bool hexadecimal = *t->at == '0' && t->at + 1 < t->end && strchr("xXfFdDbB", t->at[1]) != NULL;
    while (t->at < t->end &&
           (is_digit(*t->at) || is_letter(*t->at) || *t->at == '.' ||
            ((*t->at == '-' || *t->at == '+') && !hexadecimal && strchr("eE", t->at[-1]))))
        t->at++;
}

static void take_string(ptx_text *t) {
    for (t->at++; t->at < t->end && *t->at != '"' && *t->at != '\n'; t->at++)
        if (*t->at == '\\' && t->at + 1 < t->end && t->at[1] != '\n')
            t->at++;
    t->at += t->at < t->end && *t->at == '"';
}

/* Takes one character, or two: && || == != <= >= << >> @@ */
static void take_mark(ptx_text *t) {
    const char first = *t->at, second = t->at + 1 < t->end ? t->at[1] : '\0';
    const bool is_doubled = second == first && strchr("&|=<>@", first);
    const bool is_compared = second == '=' && strchr("!<>", first);
    t->at += is_doubled || is_compared ? 2 : 1;
}

void acu_ptx_text_next(ptx_text *t) {
    t->before = (ptx_place){t->line, (unsigned)(t->at - t->line_begin) + 1};
    t->end_before = t->at;
    skip_blank(t);
    t->word = t->at;
    t->place = (ptx_place){t->line, (unsigned)(t->at - t->line_begin) + 1};
    if (t->at == t->end) {
        t->length = 0;
        return;
    }
    char c = *t->at;
    if (begins_name(c) || (c == '.' && t->at + 1 < t->end && is_letter(t->at[1]))) {
        t->at++;
        take_name(t);
    } else if (is_digit(c)) {
        take_number(t);
    } else if (c == '"') {
        take_string(t);
    } else {
        take_mark(t);
    }
    t->length = (size_t)(t->at - t->word);
}

void acu_ptx_text_skip_line(ptx_text *t) {
    t->at = t->word;
    while (t->at < t->end && *t->at != '\n')
        t->at++;
    acu_ptx_text_next(t);
}

bool acu_ptx_text_is_name(const ptx_text *t) {
    return t->length && begins_name(*t->word);
}

bool acu_ptx_text_is_number(const ptx_text *t) {
    return t->length && is_digit(*t->word);
}
