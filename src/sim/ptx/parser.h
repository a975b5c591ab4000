/* The state of a reader of PTX, which only parse*.c know. Errors jump out of the reading. */
#ifndef ACU_SIM_PTX_PARSER_H
#define ACU_SIM_PTX_PARSER_H

#include "sim/ptx/names.h"
#include "sim/ptx/parse.h"
#include "sim/ptx/text.h"

#include <setjmp.h>

/* An operand that names a label, which may come later. */
typedef struct ptx_label_use {
    ptx_operand *operand; /* NULL: a label of a table */
    unsigned *number;     /* of the table */
    const char *name;
    size_t length;
    unsigned scope;
    ptx_place place;
} ptx_label_use;

typedef struct ptx_parser {
    ptx_text text;
    ptx_module *module;
    ptx_names *names, *opcodes;
    ptx_variable **last_variable;
    ptx_function **last_function;
    ptx_linkage linkage;
    int newest;
    /* The function that is read. */
    ptx_function *function;
    ptx_variable **last_of_function;
    ptx_reference **last_reference;
    ptx_register *registers;
    unsigned register_room;
    ptx_instruction *instructions;
    unsigned instruction_room;
    ptx_label_use *uses;
    unsigned use_count, use_room;
    ptx_source source;
    ptx_source inlined[32]; /* the last places in functions that were inlined */
    unsigned inlined_count; /* of the function that is read */
    unsigned depth;         /* of nested lists, scopes and parentheses */
    ptx_error *error;
    ptx_result result;
    jmp_buf end;
} ptx_parser;

enum { PTX_MOST_DEPTH = 200 };

/* ---- errors ---- */
_Noreturn void acu_ptx_parse_fail(ptx_parser *parser, ptx_result result, ptx_place place,
                                  const char *format, ...) __attribute__((format(printf, 4, 5)));
/* As above, where ptxas reads no further. */
_Noreturn void acu_ptx_parse_end(ptx_parser *parser, ptx_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Fails where the module's .target or .version has no such word. */
void acu_ptx_parse_need(ptx_parser *parser, ptx_place place, const char *word, int version,
                        int target);
/* The current word is not what can be here. */
_Noreturn void acu_ptx_parse_refuse(ptx_parser *parser);

/* ---- words ---- */
static inline bool acu_ptx_parse_accept(ptx_parser *p, const char *word) {
    if (!acu_ptx_text_is(&p->text, word))
        return false;
    acu_ptx_text_next(&p->text);
    return true;
}
void acu_ptx_parse_expect(ptx_parser *parser, const char *word);
/* Returns a copy, in the module, of the current name, and goes on. */
const char *acu_ptx_parse_name(ptx_parser *parser);
void *acu_ptx_parse_alloc(ptx_parser *parser, size_t size);
/* Makes room for one more element of an array outside of the arena. */
void *acu_ptx_parse_grow(ptx_parser *parser, void *array, unsigned count, unsigned *room,
                         size_t size);
void acu_ptx_parse_add_name(ptx_parser *parser, ptx_name name);

/* ---- constants ---- */
typedef struct ptx_value {
    bool is_float;
    ptx_type type; /* of a float: PTX_F32 or PTX_F64 */
    uint64_t bits; /* of the float, or the integer */
} ptx_value;
/* Reads a constant expression. */
ptx_value acu_ptx_parse_constant(ptx_parser *parser);
uint64_t acu_ptx_parse_integer(ptx_parser *parser);
/* Reads the count of %r<count>. */
uint64_t acu_ptx_parse_count(ptx_parser *parser);
/* Returns whether the current word begins a constant. */
bool acu_ptx_parse_is_constant(const ptx_parser *parser);

/* ---- declarations ---- */
/* Reads a variable behind its state space, with what is initial, and all others of the statement.
 */
void acu_ptx_parse_variables(ptx_parser *parser, ptx_space space);
/* Reads one parameter in parentheses, whose space is the current word. */
ptx_variable *acu_ptx_parse_parameter(ptx_parser *parser);
/* Reads registers behind .reg. */
void acu_ptx_parse_registers(ptx_parser *parser);
/* Returns the number of a new register. */
unsigned acu_ptx_parse_new_register(ptx_parser *parser, ptx_register what);

/* ---- functions ---- */
void acu_ptx_parse_function(ptx_parser *parser, bool is_entry);
/* Reads (parameters) of a function or a prototype. */
ptx_variable *acu_ptx_parse_parameters(ptx_parser *parser);
/* Reads a directive that stands in functions and in modules: .loc, .file, .section, .pragma. False:
 * it is none. */
bool acu_ptx_parse_directive(ptx_parser *parser);
/* Reads an instruction, whose guard or opcode is the current word. */
void acu_ptx_parse_instruction(ptx_parser *parser);
/* Note that what is read names the variable or the function. */
void acu_ptx_parse_use_variable(ptx_parser *parser, ptx_variable *variable);
void acu_ptx_parse_use_function(ptx_parser *parser, ptx_function *function);
/* Notes that the address of the function is taken. */
ptx_function *acu_ptx_parse_take_function(ptx_function *function);

#endif
