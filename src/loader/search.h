/*
 * One search for a library. The search goes through the places (search.c); in each place it
 * collects candidates (candidate.c), and keeps those that are acceptable (validate.c). What
 * happened is recorded in the library's trace (search_trace.c).
 */
#ifndef ACU_LOADER_SEARCH_H
#define ACU_LOADER_SEARCH_H

#include "loader/library.h"

struct acu_candidate;

typedef struct acu_search {
    acu_library *library;
    const acu_load_options *options;
    const char *place; /* for the trace */
    bool mapped;       /* the place is the process itself */
    bool chosen;       /* the caller or the environment chose the path */
    bool optional;     /* a path of this place need not exist */
    bool in_order;     /* the system loader's order decides in this place, not the minor version */
    bool other_names;  /* files with other names than the known sonames are looked for */
    bool afterwards;   /* only the trace is completed: a library is loaded already */
    int want_major;    /* only this major version is taken; 0: any */
    struct acu_candidate *candidates;
    size_t count, room;
    unsigned seen; /* number of files found in this place, acceptable or not */
    bool taken;    /* a candidate was opened and is loaded */
} acu_search;

static inline bool acu_search_allows(const acu_search *s, unsigned flag) {
    return (s->options->flags & flag) != 0;
}

/* Considers one file. A name without a folder is looked up as dlopen() does, not in the current
 * folder. */
void acu_search_for(acu_search *s, const char *path);
/* Goes through all places; returns whether a library was loaded. */
bool acu_search_places(acu_search *s);
/* Adds to the trace what a search passed over: in its last place, and in those it did not reach.
 * Opens nothing. */
void acu_search_rest(acu_library *library);
/* Writes the names of the places where this library is searched, but for the process itself:
 * "LD_LIBRARY_PATH, …". */
void acu_search_list_places(const acu_library *library, char *list, size_t size);
/* Fills in what is loaded now, and from where. */
void acu_search_succeed(acu_search *s, const char *path, int version);
/* Returns the driver's version. Adds a line to the trace when the driver is asked for the first
 * time. */
int acu_search_driver(acu_search *s);

/* ---- the trace ---- */

/* Adds a line to the trace. Without memory the trace ends early and the search goes on. */
void acu_search_note(const acu_search *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds why a file is not taken; the first refusal is the reason in the error. Returns false. */
bool acu_search_refuse(const acu_search *s, const char *path, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds what was passed over and what was taken. Called only when the trace is read, because that is
 * rare, and these lines take longer than reading a file. */
void acu_search_end_trace(acu_library *library);

#endif
