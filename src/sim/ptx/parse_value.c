/* Reads PTX: constants. */
#include "sim/ptx/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ptx_value integer(uint64_t bits) {
    return (ptx_value){.bits = bits};
}

static ptx_value real(double value) {
    ptx_value v = {.is_float = true, .type = PTX_F64};
    memcpy(&v.bits, &value, sizeof value);
    return v;
}

static double as_double(ptx_value v) {
    double wide;
    float single;
    uint32_t bits = (uint32_t)v.bits;
    if (!v.is_float)
        return (double)(int64_t)v.bits;
    memcpy(&wide, &v.bits, sizeof wide);
    memcpy(&single, &bits, sizeof single);
    return v.type == PTX_F32 ? (double)single : wide;
}

/* Returns whether the text, which strtoull() read up to `end`, has as many digits as the bits of a
 * number of floating point have. */
static bool is_whole(const char *digits, const char *end, bool single) {
    return end - digits == (single ? 8 : 16);
}

/* Reads 12, 0x1F, 017, 0b101, 12U, 1.5, 0f3F800000 or 0d3FF0000000000000. */
static ptx_value read_number(ptx_parser *p) {
    const ptx_text *t = &p->text;
    char text[80], *end;
    if (t->length >= sizeof text)
        acu_ptx_parse_refuse(p);
    memcpy(text, t->word, t->length);
    text[t->length] = '\0';
    ptx_value value;
    char second = text[1];
    if (text[0] == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
        bool single = second == 'f' || second == 'F';
        value = (ptx_value){.is_float = true, .type = single ? PTX_F32 : PTX_F64};
        value.bits = strtoull(text + 2, &end, 16);
        if (!is_whole(text + 2, end, single))
            acu_ptx_parse_refuse(p);
    } else if (text[0] == '0' && (second == 'b' || second == 'B')) {
        value = integer(strtoull(text + 2, &end, 2));
        if (end == text + 2)
            acu_ptx_parse_refuse(p);
    } else if (strpbrk(text, ".eE") && second != 'x' && second != 'X') {
        value = real(strtod(text, &end));
    } else {
        value = integer(strtoull(text, &end, 0));
    }
    if (*end == 'U' || *end == 'u')
        end++;
    if (*end)
        acu_ptx_parse_refuse(p);
    acu_ptx_text_next(&p->text);
    return value;
}

/* How tightly each operator binds. */
static int binding_of(const ptx_text *t) {
    static const struct {
        const char *word;
        int binding;
    } operators[] = {{"||", 2}, {"&&", 3}, {"|", 4},  {"^", 5},  {"&", 6},  {"==", 7},
                     {"!=", 7}, {"<", 8},  {"<=", 8}, {">", 8},  {">=", 8}, {"<<", 9},
                     {">>", 9}, {"+", 10}, {"-", 10}, {"*", 11}, {"/", 11}, {"%", 11}};
    for (size_t n = 0; n < sizeof operators / sizeof *operators; n++)
        if (acu_ptx_text_is(t, operators[n].word))
            return operators[n].binding;
    return 0;
}

static ptx_value compute_reals(ptx_parser *p, char a, char b, double x, double y) {
    switch (a) {
    case '+':
        return real(x + y);
    case '-':
        return real(x - y);
    case '*':
        return real(x * y);
    case '/':
        return real(x / y);
    case '<':
        return integer(b ? x <= y : x < y);
    case '>':
        return integer(b ? x >= y : x > y);
    case '=':
        return integer(x == y);
    case '!':
        return integer(x != y);
    default:
        acu_ptx_parse_refuse(p);
    }
}

static uint64_t divide(ptx_parser *p, int64_t x, int64_t y, bool rest) {
    if (!y || (x == INT64_MIN && y == -1))
        acu_ptx_parse_fail(p, PTX_INVALID, p->text.before,
                           "Division by zero in a constant expression");
    return (uint64_t)(rest ? x % y : x / y);
}

static uint64_t compute(ptx_parser *p, char a, char b, uint64_t x, uint64_t y) {
    int64_t sx = (int64_t)x, sy = (int64_t)y;
    switch (a) {
    case '+':
        return x + y;
    case '-':
        return x - y;
    case '*':
        return x * y;
    case '/':
        return divide(p, sx, sy, false);
    case '%':
        return divide(p, sx, sy, true);
    case '&':
        return b ? x && y : x & y;
    case '|':
        return b ? x || y : x | y;
    case '^':
        return x ^ y;
    case '=':
        return x == y;
    case '!':
        return x != y;
    case '<':
        return b == '<' ? y < 64 ? x << y : 0 : b ? sx <= sy : sx < sy;
    default:
        return b == '>' ? (uint64_t)(sx >> (y < 64 ? y : 63)) : b ? sx >= sy : sx > sy;
    }
}

static ptx_value read_expression(ptx_parser *p, int binding);

static ptx_value read_inner(ptx_parser *p);

static ptx_value read_deeper(ptx_parser *p) {
    if (++p->depth > PTX_MOST_DEPTH)
        acu_ptx_parse_refuse(p);
    ptx_value v = read_inner(p);
    p->depth--;
    return v;
}

static ptx_value read_inner(ptx_parser *p) {
    ptx_text *t = &p->text;
    if (acu_ptx_parse_accept(p, "-")) {
        if (t->length > 2 && *t->word == '0' && strchr("fFdD", t->word[1]))
            acu_ptx_parse_refuse(p); /* the bits have a sign */
        ptx_value v = read_deeper(p);
        if (v.is_float)
            v.bits ^= v.type == PTX_F32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
        else
            v.bits = -v.bits;
        return v;
    }
    if (acu_ptx_parse_accept(p, "+"))
        return read_deeper(p);
    if (acu_ptx_parse_accept(p, "~"))
        return integer(~read_deeper(p).bits);
    if (acu_ptx_parse_accept(p, "!"))
        return integer(!read_deeper(p).bits);
    if (acu_ptx_parse_accept(p, "WARP_SZ"))
        return integer(32);
    if (acu_ptx_parse_accept(p, "(")) {
        if (acu_ptx_text_is(t, ".s64") || acu_ptx_text_is(t, ".u64")) {
            acu_ptx_text_next(t);
            acu_ptx_parse_expect(p, ")");
            ptx_value v = read_deeper(p);
            return integer(v.is_float ? (uint64_t)(int64_t)as_double(v) : v.bits);
        }
        ptx_value v = read_expression(p, 1);
        acu_ptx_parse_expect(p, ")");
        return v;
    }
    if (!acu_ptx_text_is_number(t))
        acu_ptx_parse_refuse(p);
    return read_number(p);
}

static ptx_value read_expression(ptx_parser *p, int binding) {
    if (++p->depth > PTX_MOST_DEPTH)
        acu_ptx_parse_refuse(p);
    ptx_value left = read_inner(p);
    for (;;) {
        int next = binding_of(&p->text);
        if (!next || next < binding)
            break;
        char a = p->text.word[0], b = p->text.length > 1 ? p->text.word[1] : '\0';
        acu_ptx_text_next(&p->text);
        ptx_value right = read_expression(p, next + 1);
        left = left.is_float || right.is_float
                   ? compute_reals(p, a, b, as_double(left), as_double(right))
                   : integer(compute(p, a, b, left.bits, right.bits));
    }
    if (binding <= 1 && acu_ptx_parse_accept(p, "?")) {
        ptx_value yes = read_expression(p, 1);
        acu_ptx_parse_expect(p, ":");
        ptx_value no = read_expression(p, 1);
        left = as_double(left) != 0 ? yes : no;
    }
    p->depth--;
    return left;
}

ptx_value acu_ptx_parse_constant(ptx_parser *p) {
    return read_expression(p, 1);
}

uint64_t acu_ptx_parse_integer(ptx_parser *p) {
    ptx_value v = acu_ptx_parse_constant(p);
    if (v.is_float)
        acu_ptx_parse_fail(p, PTX_INVALID, p->text.before, "Integer constant expected");
    return v.bits;
}

uint64_t acu_ptx_parse_count(ptx_parser *p) {
    acu_ptx_parse_expect(p, "<");
    ptx_value v = read_expression(p, 9); /* > ends it */
    acu_ptx_parse_expect(p, ">");
    if (v.is_float)
        acu_ptx_parse_refuse(p);
    return v.bits;
}

bool acu_ptx_parse_is_constant(const ptx_parser *p) {
    const ptx_text *t = &p->text;
    return acu_ptx_text_is_number(t) || acu_ptx_text_is(t, "-") || acu_ptx_text_is(t, "~") ||
           acu_ptx_text_is(t, "(") || acu_ptx_text_is(t, "+") || acu_ptx_text_is(t, "WARP_SZ");
}
