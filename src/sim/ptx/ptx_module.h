/*
 * What a PTX file says: its variables, its functions and their instructions. Everything of a module
 * is in its arena and is freed with it. Nothing here needs the rest of the simulator.
 */
#ifndef ACU_SIM_PTX_PTX_MODULE_H
#define ACU_SIM_PTX_PTX_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ptx_space {
    PTX_GENERIC, /* no state space is named */
    PTX_CONST,
    PTX_GLOBAL,
    PTX_LOCAL,
    PTX_PARAM,
    PTX_SHARED,
    PTX_SHARED_CLUSTER, /* shared::cluster, of instructions only */
} ptx_space;

typedef enum ptx_type {
    PTX_NONE,
    PTX_PRED,
    PTX_B8,
    PTX_U8,
    PTX_S8,
    PTX_B16,
    PTX_U16,
    PTX_S16,
    PTX_F16,
    PTX_BF16,
    PTX_B32,
    PTX_U32,
    PTX_S32,
    PTX_F32,
    PTX_F16X2,
    PTX_BF16X2,
    PTX_TF32,
    PTX_U16X2,
    PTX_S16X2,
    PTX_B64,
    PTX_U64,
    PTX_S64,
    PTX_F64,
    PTX_B128,
    PTX_TEXREF,
    PTX_SAMPLERREF,
    PTX_SURFREF, /* opaque: 8 bytes */
} ptx_type;

/* Returns the bytes of the type; 1 for a predicate, 0 for PTX_NONE. */
size_t acu_ptx_type_size(ptx_type type);
/* Returns the type with the name, which has no dot: "u32"; PTX_NONE if there is none. */
ptx_type acu_ptx_type_of(const char *name, size_t length);

struct ptx_variable;
/* Returns whether the variable is a texture or surface reference. */
bool acu_ptx_is_reference(const struct ptx_variable *variable);

/* Returns the name of the type: "u32"; "" of PTX_NONE. */
const char *acu_ptx_type_name(ptx_type type);

typedef enum ptx_linkage { PTX_STATIC, PTX_VISIBLE, PTX_WEAK, PTX_EXTERN, PTX_COMMON } ptx_linkage;

/* A place in the PTX text, counted from 1. */
typedef struct ptx_place {
    unsigned line, column;
} ptx_place;

/* A place in the source that the PTX was compiled from (.loc); line 0: not known. `outer`: where
 * the function that is read calls what was inlined, perhaps by others; line 0: this is no part of
 * that. */
typedef struct ptx_source {
    unsigned file, line, column; /* the number of a .file */
    unsigned outer_file, outer_line;
} ptx_source;

typedef struct ptx_function ptx_function;
typedef struct ptx_variable ptx_variable;

/* An address in the initial value of a variable. */
typedef struct ptx_relocation {
    size_t offset;          /* where in the variable, in bytes */
    size_t size;            /* bytes of the address that are stored */
    unsigned shift;         /* mask(): which byte of the address comes first, times 8 */
    ptx_variable *variable; /* whose address it is; NULL: `function`'s */
    ptx_function *function;
    int64_t addend;
    bool generic; /* generic(x): the generic address */
} ptx_relocation;

/* A variable, or a parameter of a function. */
struct ptx_variable {
    const char *name;
    ptx_space space; /* never PTX_GENERIC */
    ptx_type type;
    unsigned vector; /* elements of .v2, .v4, .v8; else 1 */
    ptx_linkage linkage;
    size_t align;   /* bytes */
    size_t element; /* bytes of one element, a whole vector */
    size_t size;    /* bytes of all elements; 0: of an extern array without an extent */
    bool managed;
    bool array;       /* it has extents */
    bool pointer;     /* a parameter with .ptr */
    bool in_register; /* a parameter of a .func in the register space */
    unsigned number;  /* with `in_register`: the number of the register */
    char *bytes;      /* the initial value; NULL: zeros */
    ptx_relocation *relocations;
    size_t relocation_count;
    ptx_function *owner; /* the function that declares it; NULL: the module does */
    bool used;           /* something names it */
    ptx_function *user;  /* the last function that was read and names it */
    unsigned mark;       /* of acu_ptx_module_reach() */
    ptx_place place;
    uint64_t at; /* for who lays the variables out: an offset or an address */
    ptx_variable *next;
};

/* The special registers, in the order of their names in acu_ptx_special_of(). */
typedef enum ptx_special {
    PTX_TID,
    PTX_NTID,
    PTX_CTAID,
    PTX_NCTAID, /* x, y, z */
    PTX_CLUSTERID,
    PTX_NCLUSTERID,
    PTX_CLUSTER_CTAID,
    PTX_CLUSTER_NCTAID,
    PTX_CLUSTER_CTARANK,
    PTX_CLUSTER_NCTARANK,
    PTX_IS_EXPLICIT_CLUSTER,
    PTX_LANEID,
    PTX_WARPID,
    PTX_NWARPID,
    PTX_SMID,
    PTX_NSMID,
    PTX_GRIDID,
    PTX_LANEMASK_EQ,
    PTX_LANEMASK_LE,
    PTX_LANEMASK_LT,
    PTX_LANEMASK_GE,
    PTX_LANEMASK_GT,
    PTX_CLOCK,
    PTX_CLOCK_HI,
    PTX_CLOCK64,
    PTX_GLOBALTIMER,
    PTX_GLOBALTIMER_LO,
    PTX_GLOBALTIMER_HI,
    PTX_PM,
    PTX_PM64,
    PTX_ENVREG, /* with a number */
    PTX_RESERVED_SMEM_BEGIN,
    PTX_RESERVED_SMEM_END,
    PTX_RESERVED_SMEM_CAP,
    PTX_RESERVED_SMEM_OFFSET,
    PTX_TOTAL_SMEM_SIZE,
    PTX_AGGR_SMEM_SIZE,
    PTX_DYNAMIC_SMEM_SIZE,
    PTX_CURRENT_GRAPH_EXEC,
    PTX_WARP_SIZE, /* the constant WARP_SZ */
    PTX_SPECIAL_COUNT
} ptx_special;

typedef enum ptx_operand_kind {
    PTX_REGISTER,         /* a register of the function: `number` */
    PTX_SPECIAL_REGISTER, /* `special`, and `component`; of %pm, %envreg and %reserved_smem_offset:
                             `number` */
    PTX_INTEGER,          /* `bits`: a constant of 64 bits */
    PTX_FLOAT,            /* `bits`: of a double, or of a float if `type` is PTX_F32 (0f…) */
    PTX_ADDRESS,  /* [base + offset]: a register (`is_register`), a variable, or neither; [tex, {x,
                     y}] has elements */
    PTX_VARIABLE, /* the address of `variable`, + offset; or, in call, the parameter itself */
    PTX_LABEL,    /* `number`: the index of the instruction behind the label */
    PTX_FUNCTION, /* `function` */
    PTX_TABLE,    /* `table`: a .branchtargets, .calltargets or .callprototype */
    PTX_LIST,     /* {a, b}: elements */
    PTX_GROUP,    /* (a, b) of call: elements */
    PTX_SINK,     /* _ */
} ptx_operand_kind;

/* Labels or functions that an indirect branch or call may go to, or how a called function is
 * declared. */
typedef struct ptx_table {
    const char *name;
    unsigned *labels; /* indexes of instructions */
    ptx_function **functions;
    size_t count;            /* of either */
    ptx_function *prototype; /* has parameters and results only; NULL: not a .callprototype */
    struct ptx_table *next;
} ptx_table;

typedef struct ptx_operand {
    ptx_operand_kind kind;
    ptx_type type;    /* of a register: its declared type; of PTX_FLOAT: PTX_F32 or PTX_F64 */
    bool negated;     /* !p; of a register or an address, -x */
    bool is_register; /* of PTX_ADDRESS: the base is the register `number` */
    bool is_unified;  /* of PTX_VARIABLE and PTX_ADDRESS: generic(x) was written */
    unsigned char component; /* of special registers: 0 to 3 for .x .y .z .w or .r .g .b .a */
    bool has_component;
    bool has_offset;     /* of PTX_VARIABLE: something is added to it */
    bool has_index;      /* of PTX_VARIABLE: an element of an array was written, a[4] */
    char part;           /* of video instructions: 'b' or 'h', with `part_order`; else 0 */
    unsigned part_order; /* the digits of .b0, .h10 as a decimal number */
    unsigned number;     /* of a register or label */
    ptx_special special;
    uint64_t bits;
    int64_t offset; /* of an address or a variable */
    ptx_variable *variable;
    ptx_function *function;
    ptx_table *table;
    struct ptx_operand *elements;
    unsigned element_count;
    ptx_place place;
} ptx_operand;

struct ptx_form;

typedef struct ptx_instruction {
    const char *opcode; /* all of it: "ld.global.v2.f32" */
    int guard;          /* the number of the predicate; -1: none */
    bool guard_negated;
    ptx_operand *operands; /* d|p is two operands; a call has its groups and names in the order of
                              the text */
    unsigned operand_count;
    bool paired;   /* the first two operands were written d|p */
    bool absorbed; /* others do what it says: contract.h */
    ptx_place place;
    ptx_source source;
    const struct ptx_form *form; /* what acu_ptx_form_find() found; NULL: not looked for */
    unsigned variant;            /* of the form */
} ptx_instruction;

/* A register. The registers of all scopes of a function are numbered together; those of a vector
 * are in a row. */
typedef struct ptx_register {
    const char *name; /* without its number: "%r" of "%r12" */
    int number;       /* -1: none */
    ptx_type type;
    unsigned elements; /* of the first register of a vector: how many there are; else 1 */
    bool is_vector;    /* a parameter with the elements of a vector */
} ptx_register;

/* A variable or a function of the module that a function names. */
typedef struct ptx_reference {
    ptx_variable *variable; /* NULL: `function` */
    ptx_function *function;
    struct ptx_reference *next;
} ptx_reference;

struct ptx_function {
    const char *name;
    bool is_entry; /* .entry; else .func */
    ptx_linkage linkage;
    bool has_body;
    bool no_return;
    bool declared_only; /* the body is not what the source says: PTX_DECLARED */
    bool address_taken; /* something has its address: an instruction, or an initial value */
    bool used;          /* something names it */
    ptx_function *user; /* the last function that was read and names it */
    ptx_reference
        *references; /* what of the module it names, each once, in the order of the text */
    unsigned mark;   /* of acu_ptx_module_reach(), as the next one */
    ptx_function *reached;
    ptx_variable *results, *params; /* linked by `next` */
    ptx_register *registers;
    unsigned register_count;
    ptx_variable *variables; /* that it declares in any scope */
    ptx_table *tables;
    ptx_instruction *instructions;
    unsigned instruction_count;
    /* Performance directives; 0: not given. */
    unsigned max_threads[3], threads[3], cluster[3];
    unsigned max_registers, min_blocks, max_cluster;
    bool explicit_cluster, blocks_are_clusters;
    ptx_function *alias; /* of .alias: the function that it stands for */
    const char
        *left_out; /* why the simulator does not execute it; NULL: it does, or nobody looked */
    ptx_place place;
    void *code; /* for who executes it */
    ptx_function *next;
};

typedef struct ptx_file {
    unsigned number;
    const char *name;
    struct ptx_file *next;
} ptx_file;

typedef struct ptx_module {
    int version;  /* 80 is 8.0 */
    int target;   /* 90 is sm_90 */
    char variant; /* 'a' of sm_90a, 'f' of sm_100f; '\0': none */
    bool debug;
    bool with_libraries;     /* linked with libraries of CUDA's, too: PTX_WITH_LIBRARIES */
    ptx_variable *variables; /* of the module, in the order of the text */
    ptx_function
        *functions; /* in the order of the text; a declared and a defined one are the same */
    ptx_file *files;
    unsigned mark; /* of the last acu_ptx_module_reach() */
    struct ptx_arena *arena;
} ptx_module;

/* Returns zeroed memory that lives as long as the module; NULL without memory. */
void *acu_ptx_module_alloc(ptx_module *module, size_t size);
/* Frees the module with all that is in it; NULL is fine. */
void acu_ptx_module_free(ptx_module *module);
/* Return what has the name in the module; NULL: there is none. */
ptx_function *acu_ptx_module_function(const ptx_module *module, const char *name);
ptx_variable *acu_ptx_module_variable(const ptx_module *module, const char *name);
/* Calls `found` once for each variable and function, but kernels, that the function names, or one
 * that it may call. Not for several threads at a time. */
void acu_ptx_module_reach(ptx_module *module, const ptx_function *function,
                          void (*found)(void *data, const ptx_reference *reference), void *data);
/* Returns the special register with the name, which has no "%" and no component; PTX_SPECIAL_COUNT
 * if there is none. */
ptx_special acu_ptx_special_of(const char *name, size_t length);
/* Returns the name of a special register, without "%". */
const char *acu_ptx_special_name(ptx_special special);

#endif
