/* Stands in for <stdlib.h>: the parser is given no system headers. */
#ifndef ANYCUDA_STUB_STDLIB_H
#define ANYCUDA_STUB_STDLIB_H
#include <stddef.h>
#endif
