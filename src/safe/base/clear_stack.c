/* The bytes below the caller's frame. */
#include "safe/base/clear_stack.h"

#include <string.h>

enum { DEPTH = 16384 }; /* bytes; more than the runtime's frames take */

/* Volatile, so that the compiler does not leave out what nobody reads. */
static void *(*const volatile set)(void *, int, size_t) = memset;

__attribute__((noinline)) void acu_clear_stack(void) {
    char below[DEPTH];
    (void)set(below, 0, sizeof below);
}
