/* The system loader's cache of names and files; whatever is in it, reading stays inside. */
#ifndef ACU_LOADER_LDCACHE_H
#define ACU_LOADER_LDCACHE_H

#include "loader/platform.h"

typedef struct acu_ldcache {
    char *file; /* to be unmapped */
    const char *start;
    size_t file_size, count, end; /* entries; end of the strings, from the start */
} acu_ldcache;

/* Of a file that is none: a cache of nothing. To be closed either way. */
acu_ldcache acu_ldcache_open(const char *path);
void acu_ldcache_close(const acu_ldcache *c);
/* Each file that it has for a name; returns whether that was enough. */
bool acu_ldcache_visit(const acu_ldcache *c, const char *name, const acu_visitor *v);

#endif
