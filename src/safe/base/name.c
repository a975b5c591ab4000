/* Names of streams, events and devices, as the lines show them that describe these. */
#include "safe/base/name.h"

#include <string.h>

/* Returns how many bytes of the text are kept: no part of a character of UTF-8. */
static size_t kept_length(const char *text) {
    size_t length = 0;
    while (length < ACU_NAME_SIZE - 1 && text[length])
        length++;
    while (length > 0 && ((unsigned char)text[length] & 0xc0u) == 0x80)
        length--;
    return length;
}

void acu_name_set(acu_name *name, const char *text) {
    union {
        char text[ACU_NAME_SIZE];
        uint64_t words[ACU_NAME_WORDS];
    } made = {{0}};
    const size_t length = kept_length(text);
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        made.text[i] = c < ' ' || c == 127 ? '?' : text[i];
    }
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
