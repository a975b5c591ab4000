/* The words of opcodes. */
#include "sim/ptx/lower_inside.h"

#include <string.h>

void acu_ptx_words(ptx_lowering *l, const ptx_instruction *i, ptx_words *words) {
    *words = (ptx_words){.count = 0};
    if (strlen(i->opcode) >= sizeof words->text)
        acu_ptx_invalid(l, "Parsing error near '%.40s': syntax error", acu_ptx_first_word(l));
    strcpy(words->text, i->opcode);
    for (char *at = words->text; at;) {
        if (words->count == sizeof words->word / sizeof *words->word)
            acu_ptx_invalid(l, "Unknown modifier of '%.40s'", acu_ptx_first_word(l));
        words->word[words->count++] = at;
        at = strchr(at, '.');
        if (at)
            *at++ = '\0';
    }
    words->taken[0] = true;
}

bool acu_ptx_take(ptx_words *words, const char *word) {
    for (unsigned n = 1; n < words->count; n++)
        if (!words->taken[n] && strcmp(words->word[n], word) == 0)
            return words->taken[n] = true;
    return false;
}

void acu_ptx_need(ptx_lowering *l, ptx_words *words, const char *word) {
    if (!acu_ptx_take(words, word))
        acu_ptx_invalid(l, ".%s modifier required for instruction '%s'", word,
                        acu_ptx_first_word(l));
}

int acu_ptx_take_one(ptx_words *words, const char *choices) {
    int number = 0;
    for (const char *at = choices; *at; number++) {
        size_t length = strcspn(at, " ");
        char word[32];
        memcpy(word, at, length);
        word[length] = '\0';
        if (acu_ptx_take(words, word))
            return number;
        at += length + (at[length] == ' ');
    }
    return -1;
}

ptx_type acu_ptx_take_type(ptx_words *words) {
    for (unsigned n = words->count; n-- > 1;) {
        ptx_type type =
            words->taken[n] ? PTX_NONE : acu_ptx_type_of(words->word[n], strlen(words->word[n]));
        if (!type)
            continue;
        words->taken[n] = true;
        return type;
    }
    return PTX_NONE;
}

ptx_space acu_ptx_take_space(ptx_words *words) {
    static const ptx_space spaces[] = {PTX_CONST,  PTX_GLOBAL, PTX_LOCAL,
                                       PTX_PARAM,  PTX_PARAM,  PTX_PARAM,
                                       PTX_SHARED, PTX_SHARED, PTX_SHARED_CLUSTER};
    int n = acu_ptx_take_one(
        words,
        "const global local param param::entry param::func shared shared::cta shared::cluster");
    return n < 0 ? PTX_GENERIC : spaces[n];
}

void acu_ptx_words_end(ptx_lowering *l, const ptx_words *words) {
    for (unsigned n = 1; n < words->count; n++)
        if (!words->taken[n])
            acu_ptx_not_simulated(l, "the simulator does not execute '%s': .%s is not known",
                                  l->instruction->opcode, words->word[n]);
}
