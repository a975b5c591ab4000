/* Reads PTX: variables, parameters, registers, and initial values. */
#include "sim/ptx/parser.h"

#include <stdio.h>
#include <string.h>

/* ---- declarations ---- */

/* Reads the type that the current word is, with its dot. */
static bool read_type(ptx_parser *p, ptx_variable *v) {
    const ptx_text *t = &p->text;
    if (t->length < 2 || *t->word != '.')
        return false;
    ptx_type type = acu_ptx_type_of(t->word + 1, t->length - 1);
    if (!type)
        return false;
    v->type = type;
    acu_ptx_text_next(&p->text);
    return true;
}

static size_t read_alignment(ptx_parser *p) {
    uint64_t align = acu_ptx_parse_integer(p);
    if (!align || align & (align - 1) || align > 65536)
        acu_ptx_parse_fail(p, PTX_INVALID, p->text.before, "Alignment must be a power of two");
    return (size_t)align;
}

/* Reads .attribute(.managed) or .attribute(.unified(…)). */
static void read_attribute(ptx_parser *p, ptx_variable *v) {
    unsigned open = 0;
    do {
        if (!p->text.length)
            acu_ptx_parse_refuse(p);
        v->managed |= acu_ptx_text_is(&p->text, ".managed");
        open += acu_ptx_text_is(&p->text, "(");
        open -= acu_ptx_text_is(&p->text, ")") && open;
        acu_ptx_text_next(&p->text);
    } while (open);
}

/* Reads what .ptr says of the memory that a parameter points to. */
static void read_pointer(ptx_parser *p, ptx_variable *v) {
    static const char *const spaces[] = {".global", ".const", ".local", ".shared"};
    v->pointer = true;
    for (size_t n = 0; n < sizeof spaces / sizeof *spaces; n++)
        acu_ptx_parse_accept(p, spaces[n]);
    if (acu_ptx_parse_accept(p, ".align"))
        read_alignment(p);
}

/* Reads the words between the state space and the name. */
static void read_qualifiers(ptx_parser *p, ptx_variable *v) {
    v->vector = 1;
    while (p->text.length && *p->text.word == '.') {
        if (acu_ptx_parse_accept(p, ".align"))
            v->align = read_alignment(p);
        else if (acu_ptx_parse_accept(p, ".attribute"))
            read_attribute(p, v);
        else if (acu_ptx_parse_accept(p, ".ptr"))
            read_pointer(p, v);
        else if (acu_ptx_parse_accept(p, ".v2"))
            v->vector = 2;
        else if (acu_ptx_parse_accept(p, ".v4"))
            v->vector = 4;
        else if (acu_ptx_parse_accept(p, ".v8"))
            v->vector = 8;
        else if (!read_type(p, v))
            acu_ptx_parse_refuse(p);
    }
    if (!v->type)
        acu_ptx_parse_refuse(p);
    v->element = acu_ptx_type_size(v->type) * v->vector;
}

/* The extents of an array. */
typedef struct shape {
    unsigned extents; /* how many there are */
    size_t rows;      /* the first one; 0: it is missing */
    size_t row;       /* bytes of what the others are of */
} shape;

/* Reads a name with its extents. The first one may be missing. */
static shape read_declarator(ptx_parser *p, ptx_variable *v) {
    shape s = {.row = v->element};
    v->place = p->text.place;
    v->name = acu_ptx_parse_name(p);
    while (acu_ptx_parse_accept(p, "[")) {
        const bool is_missing = s.extents == 0 && acu_ptx_text_is(&p->text, "]");
        const uint64_t extent = is_missing ? 0 : acu_ptx_parse_integer(p);
        if (s.extents++ == 0)
            s.rows = extent;
        else if (__builtin_mul_overflow(s.row, (size_t)extent, &s.row))
            s.row = SIZE_MAX;
        acu_ptx_parse_expect(p, "]");
    }
    v->array = s.extents;
    if (__builtin_mul_overflow(s.row, s.extents ? s.rows : 1, &v->size) || v->size > SIZE_MAX / 2)
        acu_ptx_parse_fail(p, PTX_INVALID, v->place, "Size of '%s' is too large", v->name);
    if (!v->align)
        v->align = v->element;
    return s;
}

/* ---- initial values ---- */

typedef struct filling {
    ptx_variable *variable;
    size_t used; /* bytes */
    unsigned room;
    unsigned braces; /* around each value */
    unsigned open;   /* of them */
} filling;

static bool is_floating(ptx_type type) {
    return type == PTX_F32 || type == PTX_F64;
}

static bool is_bits(ptx_type type) {
    return type == PTX_B8 || type == PTX_B16 || type == PTX_B32 || type == PTX_B64;
}

/* Refuses a value where the variable has none, or one of another type. */
static void check_place(ptx_parser *p, const filling *f, size_t size, bool agrees) {
    if (!agrees || f->open != f->braces)
        acu_ptx_parse_end(p, p->text.before, "Initial value type mismatch");
    if (f->used + size > f->variable->size)
        acu_ptx_parse_end(p, p->text.before, "Greater number of elements in array initializer");
}

static void put_value(ptx_parser *p, filling *f, ptx_value value) {
    const ptx_variable *v = f->variable;
    size_t size = acu_ptx_type_size(v->type);
    check_place(p, f, size, is_bits(v->type) || is_floating(v->type) == value.is_float);
    uint64_t bits = value.bits;
    if (value.is_float && value.type == PTX_F64 && size == 4) {
        double wide;
        memcpy(&wide, &bits, sizeof wide);
        float single = (float)wide;
        uint32_t narrow;
        memcpy(&narrow, &single, sizeof narrow);
        bits = narrow;
    }
    memcpy(v->bytes + f->used, &bits, size > 8 ? 8 : size);
    f->used += size;
}

/* Reads an address: x, x+4, generic(x), generic(x)+4; behind a mask, 0xFF00(x). */
static void read_address(ptx_parser *p, filling *f, uint64_t mask) {
    ptx_variable *v = f->variable;
    size_t size = mask ? 1 : acu_ptx_type_size(v->type);
    ptx_relocation r = {.offset = f->used, .size = size};
    for (; mask && !(mask & 0xff); mask >>= 8)
        r.shift += 8;
    if (acu_ptx_parse_accept(p, "generic")) {
        r.generic = true;
        acu_ptx_parse_expect(p, "(");
    }
    ptx_place place = p->text.place;
    const char *name = acu_ptx_parse_name(p);
    const ptx_name *known =
        acu_ptx_names_find(p->names, name, strlen(name), acu_ptx_names_scope(p->names));
    if (!known || (known->kind != PTX_NAME_VARIABLE && known->kind != PTX_NAME_FUNCTION))
        acu_ptx_parse_end(p, place, "Invalid initial value symbol '%s'", name);
    if (known->kind == PTX_NAME_VARIABLE) {
        r.variable = known->is;
        acu_ptx_parse_use_variable(p, r.variable);
    } else {
        r.function = acu_ptx_parse_take_function(known->is);
        acu_ptx_parse_use_function(p, r.function);
    }
    if (r.generic)
        acu_ptx_parse_expect(p, ")");
    if (acu_ptx_text_is(&p->text, "+") || acu_ptx_text_is(&p->text, "-"))
        r.addend = (int64_t)acu_ptx_parse_integer(p);
    check_place(p, f, size, true);
    if (v->relocation_count == f->room) {
        unsigned room = f->room ? f->room * 2 : 8;
        ptx_relocation *more = acu_ptx_parse_alloc(p, room * sizeof *more);
        if (f->room)
            memcpy(more, v->relocations, f->room * sizeof *more);
        v->relocations = more;
        f->room = room;
    }
    v->relocations[v->relocation_count++] = r;
    f->used += acu_ptx_type_size(v->type);
}

static void read_initial(ptx_parser *p, filling *f) {
    if (++p->depth > PTX_MOST_DEPTH)
        acu_ptx_parse_refuse(p);
    if (acu_ptx_parse_accept(p, "{")) {
        f->open++;
        if (!acu_ptx_text_is(&p->text, "}"))
            do
                read_initial(p, f);
            while (acu_ptx_parse_accept(p, ","));
        acu_ptx_parse_expect(p, "}");
        f->open--;
    } else if (acu_ptx_parse_is_constant(p)) {
        ptx_text before = p->text;
        uint64_t mask = 0;
        if (acu_ptx_text_is_number(&p->text)) { /* 0xFF(x) looks like a number first */
            acu_ptx_text_next(&p->text);
            bool masks = acu_ptx_text_is(&p->text, "(");
            p->text = before;
            mask = masks ? acu_ptx_parse_integer(p) : 0;
        }
        if (mask) {
            acu_ptx_parse_expect(p, "(");
            read_address(p, f, mask);
            acu_ptx_parse_expect(p, ")");
        } else {
            put_value(p, f, acu_ptx_parse_constant(p));
        }
    } else {
        read_address(p, f, 0);
    }
    p->depth--;
}

/* Returns how many values or lists the list has that begins with the current word. */
static size_t count_rows(const ptx_parser *p) {
    ptx_text ahead = p->text;
    size_t count = 0;
    unsigned open = 0;
    bool begins = true; /* the current word begins a value of the list */
    do {
        const bool opens = acu_ptx_text_is(&ahead, "{"), closes = acu_ptx_text_is(&ahead, "}");
        count += open == 1 && begins && !closes;
        open += opens;
        open -= closes;
        begins = (opens && open == 1) || (open == 1 && acu_ptx_text_is(&ahead, ","));
        acu_ptx_text_next(&ahead);
    } while (open && ahead.length);
    return count;
}

/* Reads { filter_mode = nearest, … } of a reference to a sampler, a texture or a surface, which the
 * simulator does not execute. */
static void read_attributes(ptx_parser *p) {
    acu_ptx_parse_expect(p, "{");
    do {
        acu_ptx_parse_name(p);
        acu_ptx_parse_expect(p, "=");
        if (acu_ptx_text_is_name(&p->text))
            acu_ptx_parse_name(p);
        else
            acu_ptx_parse_integer(p);
    } while (acu_ptx_parse_accept(p, ","));
    acu_ptx_parse_expect(p, "}");
}

/* Reads the initial value of a variable. Each list fills what follows the one before it, whatever
 * the extents are: so does ptxas. */
static void read_initializer(ptx_parser *p, ptx_variable *v, shape s) {
    filling f = {.variable = v, .braces = s.extents + (v->vector > 1)};
    if (v->linkage == PTX_EXTERN)
        acu_ptx_parse_fail(p, PTX_INVALID, v->place,
                           "No initial value is allowed for external symbol '%s'", v->name);
    if (v->space != PTX_GLOBAL && v->space != PTX_CONST)
        acu_ptx_parse_fail(p, PTX_INVALID, v->place,
                           "No initial value is allowed for '%s' in this state space", v->name);
    if (v->type == PTX_F16 || v->type == PTX_BF16)
        acu_ptx_parse_end(p, v->place, "No initial value is allowed for .%s type",
                          v->type == PTX_F16 ? "f16" : "bf16");
    if (v->type == PTX_TEXREF || v->type == PTX_SAMPLERREF || v->type == PTX_SURFREF) {
        read_attributes(p);
        return;
    }
    if (!v->size && s.row < SIZE_MAX / 2 && __builtin_mul_overflow(count_rows(p), s.row, &v->size))
        v->size = SIZE_MAX;
    if (v->size > SIZE_MAX / 4)
        acu_ptx_parse_fail(p, PTX_INVALID, v->place, "Size of '%s' is too large", v->name);
    v->bytes = acu_ptx_parse_alloc(p, v->size + 8);
    read_initial(p, &f);
}

/* ---- statements ---- */

/* Adds a variable to the module or the function. One that is declared extern first is the same when
 * it is defined. */
static void add_variable(ptx_parser *p, ptx_variable *v) {
    const ptx_name *known = acu_ptx_names_here(p->names, v->name, strlen(v->name),
                                               acu_ptx_names_scope(p->names), PTX_NAME_VARIABLE);
    if (known && !p->function && known->kind == PTX_NAME_VARIABLE) {
        ptx_variable *old = known->is;
        bool declares = v->linkage == PTX_EXTERN;
        if (declares || old->linkage == PTX_EXTERN) {
            if (!declares) {
                v->next = old->next;
                v->used = old->used;
                v->user = old->user;
                *old = *v;
            }
            return;
        }
    }
    v->owner = p->function;
    acu_ptx_parse_add_name(p, (ptx_name){.name = v->name, .kind = PTX_NAME_VARIABLE, .is = v});
    ptx_variable ***last = p->function ? &p->last_of_function : &p->last_variable;
    **last = v;
    *last = &v->next;
}

void acu_ptx_parse_variables(ptx_parser *p, ptx_space space) {
    ptx_variable first = {.space = space, .linkage = p->linkage};
    read_qualifiers(p, &first);
    do {
        if (acu_ptx_text_is(&p->text, "."))
            acu_ptx_parse_refuse(p);
        ptx_variable *v = acu_ptx_parse_alloc(p, sizeof *v);
        *v = first;
        const shape extents = read_declarator(p, v);
        if (acu_ptx_text_is(&p->text, "<")) { /* name<4> declares name0 to name3 */
            uint64_t count = acu_ptx_parse_count(p);
            const char *prefix = v->name;
            if (count > 100000)
                acu_ptx_parse_refuse(p);
            for (uint64_t n = 0; n < count; n++) {
                ptx_variable *one = acu_ptx_parse_alloc(p, sizeof *one);
                size_t length = strlen(prefix) + 12;
                char *name = acu_ptx_parse_alloc(p, length);
                snprintf(name, length, "%s%u", prefix, (unsigned)n);
                *one = *v;
                one->name = name;
                add_variable(p, one);
            }
            continue;
        }
        if (acu_ptx_parse_accept(p, "="))
            read_initializer(p, v, extents);
        if (!v->size && v->linkage != PTX_EXTERN)
            acu_ptx_parse_fail(p, PTX_INVALID, v->place,
                               "Non-external variable '%s' has incomplete type", v->name);
        add_variable(p, v);
    } while (acu_ptx_parse_accept(p, ","));
    acu_ptx_parse_expect(p, ";");
}

ptx_variable *acu_ptx_parse_parameter(ptx_parser *p) {
    ptx_variable *v = acu_ptx_parse_alloc(p, sizeof *v);
    v->in_register = acu_ptx_parse_accept(p, ".reg");
    if (!v->in_register)
        acu_ptx_parse_expect(p, ".param");
    v->space = PTX_PARAM;
    read_qualifiers(p, v);
    read_declarator(p, v);
    return v;
}

unsigned acu_ptx_parse_new_register(ptx_parser *p, ptx_register what) {
    ptx_function *f = p->function;
    p->registers = acu_ptx_parse_grow(p, p->registers, f->register_count, &p->register_room,
                                      sizeof *p->registers);
    p->registers[f->register_count] = what;
    return f->register_count++;
}

/* Adds the registers of a vector; `elements` is 1 for one that is none. */
static void add_registers(ptx_parser *p, ptx_register r, unsigned elements) {
    for (unsigned n = 0; n < elements; n++) {
        r.elements = n ? 1 : elements;
        acu_ptx_parse_new_register(p, r);
    }
}

void acu_ptx_parse_registers(ptx_parser *p) {
    ptx_variable v = {0};
    read_qualifiers(p, &v);
    do {
        ptx_register r = {.name = acu_ptx_parse_name(p), .number = -1, .type = v.type};
        ptx_name name = {
            .name = r.name, .kind = PTX_NAME_REGISTER, .number = p->function->register_count};
        if (acu_ptx_text_is(&p->text, "<")) {
            uint64_t count = acu_ptx_parse_count(p);
            if (count > 10000000 / v.vector)
                acu_ptx_parse_fail(p, PTX_INVALID, p->text.before, "Too many registers '%s'",
                                   r.name);
            name.kind = PTX_NAME_REGISTERS;
            name.count = (unsigned)count;
            for (r.number = 0; r.number < (int)count; r.number++)
                add_registers(p, r, v.vector);
        } else {
            add_registers(p, r, v.vector);
        }
        acu_ptx_parse_add_name(p, name);
    } while (acu_ptx_parse_accept(p, ","));
    acu_ptx_parse_expect(p, ";");
}
