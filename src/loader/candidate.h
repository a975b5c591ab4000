/* Candidates: the acceptable files of one place. */
#ifndef ACU_LOADER_CANDIDATE_H
#define ACU_LOADER_CANDIDATE_H

#include "loader/platform.h"
#include "loader/search.h"

typedef struct acu_candidate {
    char *path; /* owned */
    char soname[128];
    acu_file_id id;
    int major;    /* of the soname; 0 if it has none */
    int rank;     /* the highest rank of a place is opened first; of equals, the first found */
    bool unread;  /* mapped, but its file could not be read: validated once it is opened */
    void *handle; /* open already; or NULL */
} acu_candidate;

/* Keeps a file as a candidate if it is acceptable, unless the same file is one under another name.
 * `handle`: the file is open already; or NULL. */
void acu_candidate_consider(acu_search *s, const char *path, void *handle);
void acu_candidate_sort(acu_search *s); /* by rank */
/* Opens the best candidate, or the next best where that fails; returns whether one is loaded. Drops
 * all candidates. */
bool acu_candidate_take_best(acu_search *s);
void acu_candidate_drop_all(acu_search *s);

#endif
