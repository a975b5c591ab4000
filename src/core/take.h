/* Giving a variable's pointer away. */
#ifndef ACU_TAKE_H
#define ACU_TAKE_H

#include <string.h>

/* Returns the pointer that a variable has, and sets the variable to NULL: what is released by two
 * cleanups is released once. Returns NULL where there is no variable. */
static inline void *acu_take(void *variable) {
    void *const none = NULL;
    void *had = NULL;
    if (variable) {
        memcpy(&had, variable, sizeof had);
        memcpy(variable, &none, sizeof none);
    }
    return had;
}

#endif
