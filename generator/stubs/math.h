/* Stands in for <math.h>: the parser is given no system headers. */
#ifndef ANYCUDA_STUB_MATH_H
#define ANYCUDA_STUB_MATH_H
#define NAN __builtin_nanf("")
#endif
