/*
 * One search for a library, as its parts share it: the names (names.c), what makes a file good
 * (judge.c), the candidates and their trace (search.c), the places (places.c).
 */
#ifndef ACU_LOADER_SEARCH_H
#define ACU_LOADER_SEARCH_H

#include "loader/elf.h"
#include "loader/loader.h"
#include "loader/platform.h"

typedef struct acu_candidate {
    char *path;
    char soname[128];
    acu_file_id id;
    int major;    /* of the soname */
    int rank;     /* within its place the highest is taken, then the first */
    bool unread;  /* mapped, but its file is gone: judged once it is opened */
    void *handle; /* opened already */
} acu_candidate;

typedef struct acu_search {
    acu_library *library;
    const acu_load_options *options;
    const char *place;
    bool mapped;   /* the place is the process itself */
    bool chosen;   /* by path: not searched for */
    bool optional; /* a path of this place need not exist */
    bool in_order; /* in this place the order of the system loader decides, not the minor version */
    int want_major; /* only this one; 0: any */
    acu_candidate *candidates;
    size_t count, room;
    unsigned seen; /* files looked at in this place */
    bool taken;
} acu_search;

static inline bool acu_search_allows(const acu_search *s, unsigned flag) {
    return (s->options->flags & flag) != 0;
}

/* ---- names --------------------------------------------------------------------------------- */

const char *acu_soname_base(const char *path);
/*
 * Takes apart "libcudart.so", "libcudart.so.12", "libcudart.so.12.4.127" and what wheels make of
 * it, "libcudart-d0da41ae.so.11.0": returns the part from ".so" on, or NULL for any other name.
 */
const char *acu_soname_parse(const char *stem, const char *name, int numbers[3]);
/* "libcudart.so.13, libcudart.so.12 or libcudart.so.11.0" */
void acu_soname_list(const acu_library_info *info, char *list, size_t size);
bool acu_soname_is_known(const acu_library_info *info, const char *from_so);

/* ---- what is good; each notes why something is not ------------------------------------------- */

/* All that can be said of a file without executing it; `wrong`: it cannot be read. */
bool acu_validate_file(acu_search *s, acu_candidate *c, acu_elf *elf, const char *wrong);
/* What can be said of it again once it is opened. */
bool acu_validate_opened(acu_search *s, const char *path);
bool acu_validate_version(acu_search *s, const char *path, int version);
/* What an opened library, or one that is played, says of itself; else what its symbols say. */
int acu_validate_ask_version(const acu_library *library, int major);

/* ---- the trace; without memory it ends early and the search goes on ---------------------------
 */

void acu_search_note(const acu_search *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Notes why a file is not taken; the first one refused is what the error tells. Returns false. */
bool acu_search_refuse(const acu_search *s, const char *path, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The driver's version, noted when it is asked for the first time. */
int acu_search_driver(acu_search *s);
/* Says what was taken. Only when somebody asks: most never do, and it takes longer than to read a
 * file. */
void acu_search_end_trace(acu_library *library);

/* ---- candidates ---------------------------------------------------------------------------- */

/* Judges a file and keeps it if it is good; the same file under another name is not looked at.
 * `handle`: it is open already. */
void acu_search_consider(acu_search *s, const char *path, void *handle);
void acu_search_sort(acu_search *s);
/* Opens the best candidate, or the next best where that fails. */
bool acu_search_take_best(acu_search *s);
void acu_search_drop(acu_search *s);
/* What is loaded now, and from where. */
void acu_search_succeed(acu_search *s, const char *path, int version);

/* ---- places -------------------------------------------------------------------------------- */

/* One file. As dlopen() understands it: a name without a folder is not in the current one. */
void acu_search_for(acu_search *s, const char *path);
bool acu_search_places(acu_search *s);

#endif
