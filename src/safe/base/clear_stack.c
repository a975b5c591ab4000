/* The bytes below the caller's frame. */
#include "safe/base/clear_stack.h"

#include <string.h>

enum { DEPTH = 16 << 10 }; /* bytes; more than the runtime's frames take */

__attribute__((noinline)) void acu_clear_stack(void) {
    char below[DEPTH];
    memset(below, 0, sizeof below);
    __asm__ volatile("" : : "r"(below) : "memory"); /* so that the compiler leaves the memset */
}
