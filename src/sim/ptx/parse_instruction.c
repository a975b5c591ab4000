/* Reads PTX: instructions and their operands. */
#include "sim/ptx/parser.h"

#include <string.h>

enum { MOST_OPERANDS = 24, MOST_ELEMENTS = 256 };

static void read_operand(ptx_parser *p, ptx_operand *o);

/* ---- names ---- */

/* Returns the number of the component at the end of a name: .x .y .z .w, .r .g .b .a; -1: there is
 * none. */
static int component_of(const char *word, size_t length) {
    static const char letters[] = "xyzwrgba";
    if (length < 3 || word[length - 2] != '.')
        return -1;
    const char *found = strchr(letters, word[length - 1]);
    return found && *found ? (int)(found - letters) % 4 : -1;
}

/* Reads %tid.x and the like. False: the name is no special register. */
static bool read_special(ptx_operand *o, const char *word, size_t length) {
    if (!length || *word != '%')
        return false;
    word++;
    length--;
    int component = component_of(word, length);
    size_t stem = component < 0 ? length : length - 2;
    o->special = acu_ptx_special_of(word, stem);
    if (o->special == PTX_SPECIAL_COUNT) { /* %envreg3, %pm1, %pm1_64, %reserved_smem_offset_1 */
        size_t digits = stem;
        if (stem > 3 && memcmp(word + stem - 3, "_64", 3) == 0 && memcmp(word, "pm", 2) == 0)
            digits = stem -= 3;
        while (digits && word[digits - 1] >= '0' && word[digits - 1] <= '9')
            digits--;
        for (size_t n = digits; n < stem; n++)
            o->number = o->number * 10 + (unsigned)(word[n] - '0');
        if (digits && word[digits - 1] == '_')
            digits--;
        if (digits == stem)
            return false;
        o->special = acu_ptx_special_of(word, digits);
        if (o->special == PTX_PM && stem < length)
            o->special = PTX_PM64;
        if (o->special == PTX_SPECIAL_COUNT)
            return false;
    }
    o->kind = PTX_SPECIAL_REGISTER;
    o->has_component = component >= 0;
    o->component = (unsigned char)(component < 0 ? 0 : component);
    return true;
}

/* Returns how many digits are at the end of the word. */
static size_t digits_of(const char *word, size_t length) {
    size_t count = 0;
    while (count < length && word[length - 1 - count] >= '0' && word[length - 1 - count] <= '9')
        count++;
    return count;
}

/* Finds one of %r<count>. */
static bool find_numbered(const ptx_parser *p, ptx_operand *o, const char *word, size_t length,
                          size_t digits) {
    const size_t stem = length - digits;
    unsigned number = 0;
    if (!digits || digits > 8 || (word[stem] == '0' && digits > 1))
        return false;
    for (size_t n = stem; n < length; n++)
        number = number * 10 + (unsigned)(word[n] - '0');
    const ptx_name *known =
        acu_ptx_names_find_registers(p->names, word, stem, acu_ptx_names_scope(p->names));
    if (!known || number >= known->count)
        return false;
    o->number = known->number + number * p->registers[known->number].elements;
    return true;
}

static bool find_named(const ptx_parser *p, ptx_operand *o, const char *word, size_t length) {
    const ptx_name *known =
        acu_ptx_names_find(p->names, word, length, acu_ptx_names_scope(p->names));
    if (!known || known->kind != PTX_NAME_REGISTER)
        return false;
    o->number = known->number;
    return true;
}

static bool read_register_named(const ptx_parser *p, ptx_operand *o, const char *word,
                                size_t length) {
    const size_t digits = digits_of(word, length);
    const bool only_numbered = digits && *word == '%' && !acu_ptx_names_are_numbered(p->names);
    if ((only_numbered || !find_named(p, o, word, length)) &&
        !find_numbered(p, o, word, length, digits))
        return false;
    o->kind = PTX_REGISTER;
    o->type = p->registers[o->number].type;
    return true;
}

/* Makes a list of its elements of a vector's first register. */
static void list_elements(ptx_parser *p, ptx_operand *o) {
    const ptx_operand first = *o;
    o->kind = PTX_LIST;
    o->element_count = p->registers[first.number].elements;
    o->elements = acu_ptx_parse_alloc(p, o->element_count * sizeof *o->elements);
    for (unsigned n = 0; n < o->element_count; n++) {
        o->elements[n] = first;
        o->elements[n].number += n;
    }
}

/* Reads a register with what may be behind it: .x of a vector, .b0 or .h1 of a video instruction. A
 * whole vector becomes a list. */
static bool read_register(ptx_parser *p, ptx_operand *o, const char *word, size_t length) {
    if (read_register_named(p, o, word, length)) {
        if (p->registers[o->number].elements > 1)
            list_elements(p, o);
        return true;
    }
    const char *dot = memchr(word, '.', length);
    if (!dot || !read_register_named(p, o, word, (size_t)(dot - word)))
        return false;
    size_t rest = length - (size_t)(dot - word);
    int component = component_of(word, length);
    if (rest > 2 && (dot[1] == 'b' || dot[1] == 'h') && dot[2] >= '0' && dot[2] <= '9') {
        o->part = dot[1];
        for (size_t n = 2; n < rest; n++)
            o->part_order = o->part_order * 10 + (unsigned)(dot[n] - '0');
        return true;
    }
    const unsigned elements = p->registers[o->number].elements;
    if (component < 0 || elements == 1 || (unsigned)component >= elements)
        return false;
    o->number += (unsigned)component;
    return true;
}

static void add_use(ptx_parser *p, ptx_operand *o) {
    p->uses = acu_ptx_parse_grow(p, p->uses, p->use_count, &p->use_room, sizeof *p->uses);
    p->uses[p->use_count++] = (ptx_label_use){.operand = o,
                                              .name = p->text.word,
                                              .length = p->text.length,
                                              .scope = acu_ptx_names_scope(p->names),
                                              .place = p->text.place};
}

/* Reads a name: a register, a special register, a variable, a function, or a label, which may come
 * later. */
static void read_name(ptx_parser *p, ptx_operand *o, bool may_be_label) {
    const char *word = p->text.word;
    size_t length = p->text.length;
    if (length == 1 && *word == '_') {
        o->kind = PTX_SINK;
    } else if (length == 7 && memcmp(word, "WARP_SZ", 7) == 0) {
        o->kind = PTX_INTEGER;
        o->bits = 32;
    } else if (!read_register(p, o, word, length) && !read_special(o, word, length)) {
        const ptx_name *known =
            acu_ptx_names_find(p->names, word, length, acu_ptx_names_scope(p->names));
        if (known && known->kind == PTX_NAME_VARIABLE) {
            o->kind = PTX_VARIABLE;
            o->variable = known->is;
            acu_ptx_parse_use_variable(p, o->variable);
        } else if (known && known->kind == PTX_NAME_FUNCTION) {
            o->kind = PTX_FUNCTION;
            o->function = known->is;
            acu_ptx_parse_use_function(p, o->function);
        } else if (may_be_label) {
            add_use(p, o);
        } else {
            acu_ptx_parse_fail(p, PTX_INVALID, p->text.place, "Unknown symbol '%.*s'",
                               (int)(length > 100 ? 100 : length), word);
        }
    }
    acu_ptx_text_next(&p->text);
}

/* ---- operands ---- */

static void read_list(ptx_parser *p, ptx_operand *o, ptx_operand_kind kind, const char *end) {
    ptx_operand elements[16], *all = elements;
    unsigned count = 0, room = 16;
    if (++p->depth > PTX_MOST_DEPTH)
        acu_ptx_parse_refuse(p);
    o->kind = kind;
    acu_ptx_text_next(&p->text);
    while (!acu_ptx_text_is(&p->text, end)) {
        if (count == MOST_ELEMENTS)
            acu_ptx_parse_refuse(p);
        if (count == room) {
            ptx_operand *more = acu_ptx_parse_alloc(p, MOST_ELEMENTS * sizeof *more);
            memcpy(more, all, count * sizeof *more);
            all = more;
            room = MOST_ELEMENTS;
        }
        read_operand(p, &all[count]);
        if (all[count].has_index && all[count].element_count) /* an index that is a register */
            acu_ptx_parse_refuse(p);
        count++;
        if (!acu_ptx_parse_accept(p, ","))
            break;
    }
    acu_ptx_parse_expect(p, end);
    p->depth--;
    o->elements = acu_ptx_parse_alloc(p, count * sizeof *o->elements);
    memcpy(o->elements, all, count * sizeof *all);
    o->element_count = count;
}

/* Reads what may be added to an address: +4, +-4. */
static int64_t read_offset(ptx_parser *p) {
    return acu_ptx_text_is(&p->text, "+") ? (int64_t)acu_ptx_parse_integer(p) : 0;
}

/* Reads generic(variable) + offset. */
static void read_generic(ptx_parser *p, ptx_operand *o) {
    acu_ptx_parse_expect(p, "generic");
    acu_ptx_parse_expect(p, "(");
    read_name(p, o, false);
    acu_ptx_parse_expect(p, ")");
    o->is_unified = true;
    o->offset = read_offset(p);
}

/* What makes 32 bits of an index of the type; NULL: no register of the type is an index. */
static const char *const index_opcodes[PTX_SURFREF + 1] = {
    [PTX_U8] = "cvt.u32.u8",   [PTX_S8] = "cvt.s32.s8",   [PTX_B8] = "cvt.u32.u8",
    [PTX_U16] = "cvt.u32.u16", [PTX_S16] = "cvt.s32.s16", [PTX_B16] = "cvt.u32.u16",
    [PTX_U32] = "mov.b32",     [PTX_S32] = "mov.b32",     [PTX_B32] = "mov.b32",
    [PTX_U64] = "cvt.u32.u64", [PTX_S64] = "cvt.u32.u64", [PTX_B64] = "cvt.u32.u64",
};

/* Reads a register that is an index, and what is added to it. The operand has it as an element. */
static void read_register_index(ptx_parser *p, ptx_operand *o) {
    ptx_operand *index = acu_ptx_parse_alloc(p, sizeof *index);
    *index = (ptx_operand){.kind = PTX_SINK, .place = p->text.place};
    read_name(p, index, false);
    if (index->kind != PTX_REGISTER)
        acu_ptx_parse_fail(p, PTX_NOT_SIMULATED, index->place,
                           "the simulator executes no index but a constant and a plain register");
    if (!index_opcodes[index->type])
        acu_ptx_parse_fail(p, PTX_INVALID, index->place,
                           "An index must be an integer or bits, not of type %s",
                           acu_ptx_type_name(index->type));
    index->offset = read_offset(p);
    o->elements = index;
    o->element_count = 1;
}

/* Returns how many bytes ptxas counts for an element: a vector has several, and the bytes of an
 * array without an extent are elements. */
static uint64_t element_of(const ptx_variable *v) {
    return v->size ? acu_ptx_type_size(v->type) : 1;
}

/* Reads the index behind an array's name: [4], [%r1 + 4]. Elements are counted over all extents. */
static void read_index(ptx_parser *p, ptx_operand *o) {
    if (!o->variable->array)
        acu_ptx_parse_fail(p, PTX_INVALID, p->text.place, "Array indexing on non-array");
    acu_ptx_parse_expect(p, "[");
    if (acu_ptx_parse_is_constant(p))
        o->offset = (int64_t)(acu_ptx_parse_integer(p) * element_of(o->variable));
    else
        read_register_index(p, o);
    o->has_offset = o->has_index = true;
    acu_ptx_parse_expect(p, "]");
}

/* Reads [base + offset], or [base, {coordinates}] of textures and tensor maps. */
static void read_address(ptx_parser *p, ptx_operand *o) {
    acu_ptx_parse_expect(p, "[");
    ptx_operand base = {.kind = PTX_INTEGER, .place = p->text.place};
    if (acu_ptx_text_is(&p->text, "generic"))
        read_generic(p, &base);
    else if (acu_ptx_parse_is_constant(p))
        base.bits = acu_ptx_parse_integer(p);
    else
        read_name(p, &base, false);
    o->kind = PTX_ADDRESS;
    o->is_register = base.kind == PTX_REGISTER;
    o->is_unified = base.is_unified;
    o->number = base.number;
    o->variable = base.variable;
    o->type = base.type;
    o->bits = base.bits;
    o->offset = base.offset + read_offset(p);
    ptx_operand elements[8];
    unsigned count = 0;
    while (acu_ptx_parse_accept(p, ",")) {
        if (count == sizeof elements / sizeof *elements)
            acu_ptx_parse_refuse(p);
        read_operand(p, &elements[count++]);
    }
    acu_ptx_parse_expect(p, "]");
    if (!count)
        return;
    o->elements = acu_ptx_parse_alloc(p, count * sizeof *o->elements);
    memcpy(o->elements, elements, count * sizeof *elements);
    o->element_count = count;
}

static void read_constant(ptx_parser *p, ptx_operand *o) {
    ptx_value v = acu_ptx_parse_constant(p);
    o->kind = v.is_float ? PTX_FLOAT : PTX_INTEGER;
    o->type = v.type;
    o->bits = v.bits;
}

static void read_operand(ptx_parser *p, ptx_operand *o) {
    *o = (ptx_operand){.kind = PTX_SINK, .place = p->text.place};
    if (acu_ptx_text_is(&p->text, "!")) {
        ptx_text ahead = p->text;
        acu_ptx_text_next(&ahead);
        if (!acu_ptx_text_is_name(&ahead)) {
            read_constant(p, o);
            return;
        }
        p->text = ahead;
        read_operand(p, o);
        o->negated = true;
    } else if (acu_ptx_text_is(&p->text, "{")) {
        read_list(p, o, PTX_LIST, "}");
    } else if (acu_ptx_text_is(&p->text, "[")) {
        read_address(p, o);
    } else if (acu_ptx_text_is(&p->text, "generic")) {
        read_generic(p, o);
    } else if (acu_ptx_parse_is_constant(p)) {
        ptx_text before = p->text;
        if (acu_ptx_parse_accept(p, "-") && acu_ptx_text_is_name(&p->text) &&
            !acu_ptx_text_is(&p->text, "WARP_SZ")) {
            read_name(p, o, false);
            o->negated = true;
            return;
        }
        p->text = before;
        read_constant(p, o);
    } else if (acu_ptx_text_is_name(&p->text)) {
        read_name(p, o, true);
        if (o->kind == PTX_VARIABLE && acu_ptx_text_is(&p->text, "[")) {
            read_index(p, o);
        } else if (o->kind == PTX_VARIABLE) {
            o->has_offset = acu_ptx_text_is(&p->text, "+");
            o->offset = read_offset(p);
        }
    } else {
        acu_ptx_parse_refuse(p);
    }
}

/* ---- instructions ---- */

static void read_guard(ptx_parser *p, ptx_instruction *i) {
    i->guard = -1;
    if (!acu_ptx_parse_accept(p, "@"))
        return;
    i->guard_negated = acu_ptx_parse_accept(p, "!");
    ptx_operand guard = {.kind = PTX_SINK, .place = p->text.place};
    if (!acu_ptx_text_is_name(&p->text))
        acu_ptx_parse_refuse(p);
    read_name(p, &guard, false);
    if (guard.kind != PTX_REGISTER || guard.type != PTX_PRED)
        acu_ptx_parse_fail(p, PTX_INVALID, guard.place, "Predicate expression expected");
    i->guard = (int)guard.number;
}

/* Reads the operands; in call, parentheses are groups. */
static unsigned read_operands(ptx_parser *p, ptx_instruction *i, ptx_operand *operands,
                              bool calls) {
    unsigned count = 0;
    while (!acu_ptx_text_is(&p->text, ";")) {
        if (count == MOST_OPERANDS)
            acu_ptx_parse_refuse(p);
        if (calls && acu_ptx_text_is(&p->text, "(")) {
            operands[count] = (ptx_operand){.kind = PTX_SINK, .place = p->text.place};
            read_list(p, &operands[count++], PTX_GROUP, ")");
        } else {
            read_operand(p, &operands[count++]);
        }
        if (acu_ptx_parse_accept(p, "|")) {
            if (count != 1)
                acu_ptx_parse_refuse(p);
            i->paired = true;
            continue;
        }
        if (!acu_ptx_parse_accept(p, ","))
            break;
    }
    acu_ptx_parse_expect(p, ";");
    return count;
}

/* Only predicates are negated, and the products of vmad. */
static void check_negations(ptx_parser *p, const ptx_instruction *i) {
    for (unsigned n = 0; n < i->operand_count; n++) {
        const ptx_operand *o = &i->operands[n];
        if (o->negated && o->kind == PTX_REGISTER && o->type != PTX_PRED &&
            strncmp(i->opcode, "vmad.", 5) != 0)
            acu_ptx_parse_fail(p, PTX_INVALID, o->place,
                               "Operand negation not allowed for instruction '%.*s'",
                               (int)strcspn(i->opcode, "."), i->opcode);
    }
}

/* Loads and stores take an element, ld.global.u32 r, a[4], for its address. */
static void address_elements(ptx_instruction *i) {
    static const char *const words[] = {"ld.", "ldu.", "st."};
    for (unsigned n = 0; n < sizeof words / sizeof *words; n++)
        for (unsigned m = 0; m < i->operand_count; m++)
            if (strncmp(i->opcode, words[n], strlen(words[n])) == 0 && i->operands[m].has_index)
                i->operands[m].kind = PTX_ADDRESS;
}

/* Reads the opcode, of which the module has one copy, however often it is there. */
static const char *read_opcode(ptx_parser *p) {
    const ptx_text *t = &p->text;
    const ptx_name *known =
        acu_ptx_names_here(p->opcodes, t->word, t->length, 0, PTX_NAME_VARIABLE);
    if (known) {
        acu_ptx_text_next(&p->text);
        return known->name;
    }
    ptx_name added = {.length = t->length};
    added.name = acu_ptx_parse_name(p);
    if (!acu_ptx_names_add(p->opcodes, &added))
        acu_ptx_parse_fail(p, PTX_NO_MEMORY, p->text.place, "out of memory");
    return added.name;
}

static void add_instruction(ptx_parser *p, const ptx_instruction *i) {
    ptx_function *f = p->function;
    p->instructions = acu_ptx_parse_grow(p, p->instructions, f->instruction_count,
                                         &p->instruction_room, sizeof *p->instructions);
    p->instructions[f->instruction_count++] = *i;
}

static ptx_operand integer_operand(uint64_t value) {
    return (ptx_operand){.kind = PTX_INTEGER, .bits = value};
}

/* Adds an instruction that the text does not have, with a result of the type, and returns that. */
static ptx_operand compute(ptx_parser *p, const ptx_instruction *i, const char *opcode,
                           ptx_type type, const ptx_operand *from, unsigned count) {
    const ptx_register made = {.name = "index", .number = -1, .type = type, .elements = 1};
    ptx_instruction added = {.opcode = opcode, .guard = -1, .place = i->place, .source = i->source};
    const ptx_operand result = {.kind = PTX_REGISTER,
                                .type = type,
                                .number = acu_ptx_parse_new_register(p, made),
                                .place = i->place};
    added.operand_count = 1 + count;
    added.operands = acu_ptx_parse_alloc(p, added.operand_count * sizeof *added.operands);
    added.operands[0] = result;
    for (unsigned n = 0; n < count; n++) {
        added.operands[1 + n] = from[n];
        added.operands[1 + n].place = i->place;
    }
    add_instruction(p, &added);
    return result;
}

/* Computes the address of an element whose index is in a register, as ptxas does: index + offset,
 * times the bytes of an element, are 32 bits, which are added to the array's address, whose sum is
 * 32 bits in shared and local memory. */
static ptx_operand address_of_element(ptx_parser *p, const ptx_instruction *i, const ptx_operand *o,
                                      bool narrow) {
    const ptx_operand *index = o->elements;
    const uint64_t element = element_of(o->variable);
    ptx_operand plain = *index;
    plain.offset = 0;
    const ptx_operand scaled[] = {compute(p, i, index_opcodes[index->type], PTX_B32, &plain, 1),
                                  integer_operand(element),
                                  integer_operand((uint32_t)((uint64_t)index->offset * element))};
    const ptx_operand bytes = compute(p, i, "mad.lo.u32", PTX_B32, scaled, 3);
    const ptx_operand array = {.kind = PTX_VARIABLE, .variable = o->variable};
    const bool is_near = o->variable->space == PTX_SHARED || o->variable->space == PTX_LOCAL;
    const ptx_type type = narrow || is_near ? PTX_B32 : PTX_B64;
    const bool wide = type == PTX_B64;
    const ptx_operand sum[] = {compute(p, i, wide ? "mov.u64" : "mov.u32", type, &array, 1),
                               wide ? compute(p, i, "cvt.u64.u32", type, &bytes, 1) : bytes};
    const ptx_operand at = compute(p, i, wide ? "add.u64" : "add.u32", type, sum, 2);
    return wide || narrow ? at : compute(p, i, "cvt.u64.u32", PTX_B64, &at, 1);
}

static bool begins_with(const ptx_instruction *i, const char *word) {
    return strncmp(i->opcode, word, strlen(word)) == 0;
}

/* Lets the instruction have a register in place of an element whose index is in a register. Where
 * no element may be, it stays, and is refused as others are. */
static void compute_elements(ptx_parser *p, ptx_instruction *i) {
    const bool stores = begins_with(i, "st.");
    const bool accesses = stores || begins_with(i, "ld.") || begins_with(i, "ldu.");
    ptx_operand *o = i->operand_count > !stores ? &i->operands[!stores] : NULL;
    if (!o || !o->has_index || !o->element_count)
        return;
    if (begins_with(i, "mapa.") || begins_with(i, "getctarank."))
        acu_ptx_parse_fail(p, PTX_NOT_SIMULATED, o->place,
                           "the simulator does not execute an index that is a register here");
    if (!accesses && !begins_with(i, "mov.") &&
        (!begins_with(i, "cvta.") || begins_with(i, "cvta.to.")))
        return;
    const size_t length = strlen(i->opcode);
    const bool narrow = !accesses && strcmp(i->opcode + length - 2, "32") == 0;
    const ptx_operand at = address_of_element(p, i, o, narrow);
    *o = (ptx_operand){.kind = accesses ? PTX_ADDRESS : PTX_REGISTER,
                       .is_register = accesses,
                       .number = at.number,
                       .type = at.type,
                       .place = o->place};
}

void acu_ptx_parse_instruction(ptx_parser *p) {
    ptx_instruction i = {.place = p->text.place, .source = p->source};
    ptx_operand operands[MOST_OPERANDS];
    unsigned uses = p->use_count;
    read_guard(p, &i);
    i.place = p->text.place;
    if (!acu_ptx_text_is_name(&p->text) || *p->text.word == '.')
        acu_ptx_parse_refuse(p);
    i.opcode = read_opcode(p);
    bool calls = strncmp(i.opcode, "call", 4) == 0;
    i.operand_count = read_operands(p, &i, operands, calls);
    i.operands = acu_ptx_parse_alloc(p, i.operand_count * sizeof *i.operands);
    memcpy(i.operands, operands, i.operand_count * sizeof *operands);
    for (unsigned n = uses; n < p->use_count; n++)
        if (p->uses[n].operand) {
            if (p->uses[n].operand < operands || p->uses[n].operand >= operands + MOST_OPERANDS)
                acu_ptx_parse_fail(p, PTX_INVALID, p->uses[n].place, "Unknown symbol '%.*s'",
                                   (int)p->uses[n].length, p->uses[n].name);
            p->uses[n].operand = i.operands + (p->uses[n].operand - operands);
        }
    check_negations(p, &i);
    compute_elements(p, &i);
    address_elements(&i);
    for (unsigned n = 0; n < i.operand_count; n++)
        if (operands[n].kind == PTX_FUNCTION && !calls)
            acu_ptx_parse_take_function(operands[n].function);
    add_instruction(p, &i);
}
