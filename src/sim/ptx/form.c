#include "sim/ptx/form.h"

#include <stdlib.h>
#include <string.h>

extern ptx_handler *const acu_ptx_lane_handlers_v1[];
extern ptx_handler *const acu_ptx_lane_handlers_v3[];
extern ptx_handler *const acu_ptx_lane_handlers_v4[];

static int compare(const void *opcode, const void *form) {
    return strcmp(opcode, ((const ptx_form *)form)->opcode);
}

typedef struct first_word {
    const char *at;
    size_t length;
} first_word;

static int compare_first(const void *word, const void *form) {
    const first_word *w = word;
    const char *opcode = ((const ptx_form *)form)->opcode;
    const int order = strncmp(w->at, opcode, w->length);
    return order ? order : opcode[w->length] && opcode[w->length] != '.' ? -1 : 0;
}

/* Returns a form that begins with the word; NULL: none does. Those that do are in a row. */
static const ptx_form *find_first(const char *opcode, size_t length) {
    const first_word word = {opcode, length};
    return bsearch(&word, acu_ptx_forms, acu_ptx_form_count, sizeof *acu_ptx_forms, compare_first);
}

bool acu_ptx_form_begins(const char *opcode, size_t length) {
    return find_first(opcode, length) != NULL;
}

/* ---- modifiers in another order ---- */

enum { MOST_WORDS = 16 };

typedef struct opcode_words {
    const char *at[MOST_WORDS];
    size_t length[MOST_WORDS];
    unsigned count;
} opcode_words;

static opcode_words split(const char *opcode) {
    opcode_words w = {.count = 0};
    for (const char *at = opcode; *at && w.count < MOST_WORDS; w.count++) {
        w.at[w.count] = at;
        w.length[w.count] = strcspn(at, ".");
        at += w.length[w.count];
        at += *at == '.';
    }
    return w;
}

static bool same(const opcode_words *a, unsigned n, const opcode_words *b, unsigned m) {
    return a->length[n] == b->length[m] && memcmp(a->at[n], b->at[m], a->length[n]) == 0;
}

/* Types keep their order; they have digits. */
static bool is_type(const opcode_words *w, unsigned n) {
    for (size_t i = 0; i < w->length[n]; i++)
        if (w->at[n][i] >= '0' && w->at[n][i] <= '9')
            return true;
    return false;
}

/* Whether the second word belongs to the first one, as in mul.lo; that of setp is a comparison. */
static bool is_of_name(const opcode_words *w) {
    static const char *const words[] = {"lo", "hi", "wide", "full", "l", "r", "pack"};
    if (w->length[0] == 4 && memcmp(w->at[0], "setp", 4) == 0)
        return false;
    for (size_t n = 0; n < sizeof words / sizeof *words; n++)
        if (w->count > 1 && w->length[1] == strlen(words[n]) &&
            memcmp(w->at[1], words[n], w->length[1]) == 0)
            return true;
    return false;
}

/* Whether ptxas takes one spelling for the other: they have the same words. */
static bool agree(const opcode_words *form, const opcode_words *given) {
    bool taken[MOST_WORDS] = {false};
    unsigned type = 0; /* the next word of the given ones that may be the next type */
    if (form->count != given->count || (is_of_name(form) && !same(form, 1, given, 1)))
        return false;
    for (unsigned n = 0; n < form->count; n++) {
        unsigned m = is_type(form, n) ? type : 0;
        while (m < given->count && (taken[m] || !same(form, n, given, m)))
            m++;
        if (m == given->count)
            return false;
        taken[m] = true;
        type = is_type(form, n) ? m + 1 : type;
    }
    return true;
}

static const ptx_form *find_in_any_order(const char *opcode) {
    const size_t length = strcspn(opcode, ".");
    const ptx_form *first = find_first(opcode, length), *last = first;
    const opcode_words given = split(opcode);
    const first_word word = {opcode, length};
    const ptx_form *const end = acu_ptx_forms + acu_ptx_form_count;
    while (first && first > acu_ptx_forms && compare_first(&word, first - 1) == 0)
        first--;
    while (last && last < end && compare_first(&word, last) == 0)
        last++;
    for (const ptx_form *form = first; form && form < last; form++) {
        const opcode_words words = split(form->opcode);
        if (agree(&words, &given))
            return form;
    }
    return NULL;
}

const ptx_form *acu_ptx_form_find(const char *opcode) {
    const ptx_form *form =
        bsearch(opcode, acu_ptx_forms, acu_ptx_form_count, sizeof *acu_ptx_forms, compare);
    return form ? form : find_in_any_order(opcode);
}

ptx_handler *const *acu_ptx_lane_handlers(ptx_level level) {
    return PTX_OF_LEVEL(level, acu_ptx_lane_handlers_v1, acu_ptx_lane_handlers_v3,
                        acu_ptx_lane_handlers_v4);
}
