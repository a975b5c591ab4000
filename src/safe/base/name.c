/* Names of streams, events and devices, as the lines show them that describe these. */
#include "safe/base/name.h"

#include <string.h>

void acu_name_set(acu_name *name, const char *text) {
    union {
        char text[ACU_NAME_SIZE];
        uint64_t words[ACU_NAME_WORDS];
    } made;
    acu_name_copy(made.text, text);
    for (size_t i = 0; i < ACU_NAME_WORDS; i++)
        __atomic_store_n(&name->words[i], made.words[i], __ATOMIC_RELAXED);
}

bool acu_name_get(const acu_name *name, char text[ACU_NAME_SIZE]) {
    for (size_t i = 0; i < ACU_NAME_WORDS; i++) {
        const uint64_t word = __atomic_load_n(&name->words[i], __ATOMIC_RELAXED);
        memcpy(text + i * sizeof word, &word, sizeof word);
    }
    text[ACU_NAME_SIZE - 1] = '\0';
    return text[0] != '\0';
}

void acu_describe_name(acu_description *d, const acu_name *name) {
    char text[ACU_NAME_SIZE];
    if (acu_name_get(name, text))
        acu_describe(d, "\"%s\"", text);
}
