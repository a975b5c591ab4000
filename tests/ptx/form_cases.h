/* A kernel for each spelling of an instruction that works lane by lane: loads operands, executes it
 * once, stores results. */
#ifndef TESTS_PTX_FORM_CASES_H
#define TESTS_PTX_FORM_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    CASE_THREADS = 768, /* of the one block: 24 x 24 pairs of edge values, and random ones */
    CASE_SOURCES = 5,
};

typedef struct form_case {
    char name[96]; /* the opcode, and what is special: " p|q" */
    char opcode[80];
    char entry[96]; /* the kernel's name */
    uint8_t results, sources;
    uint8_t types[8];    /* ptx_type: the results, then the sources */
    int carries;         /* 1: the carry goes in; 2: out; 3: both */
    int paired;          /* the results are written d|e */
    bool changes_memory; /* the last result is what memory has, of which the first source is */
    char parts[3][8];    /* of video instructions: what is behind each operand's name */
    const char *last;    /* the text of the last source if that is a constant; else NULL */
    size_t at, bytes;    /* where the results are in the output */
} form_case;

/* Returns all cases, with `*count` of them and the bytes of all results; the caller frees the
 * array. `newer`: those that a GPU of compute capability 9.0 lacks, instead of the others. */
form_case *form_cases_make(bool newer, size_t *count, size_t *bytes);
/* Returns the operands' bytes, of which `*bytes` is the size: for each kind and each source, an
 * element for each thread. */
unsigned char *form_cases_input(size_t *bytes);
/* Writes the PTX of a case; the parameters of the kernel are the addresses of the input and of the
 * case's results. */
void form_case_write(const form_case *one, FILE *file);
void form_cases_write_header(bool newer, FILE *file);

#endif
