/* The system loader's cache of names and files. Reading stays inside the file, even if the file is
 * damaged. */
#ifndef ACU_LOADER_LDCACHE_H
#define ACU_LOADER_LDCACHE_H

#include "loader/platform.h"

typedef struct acu_ldcache {
    char *file;        /* mapped, owned; NULL if there is none */
    const char *start; /* of the cache in the file */
    size_t file_size;  /* bytes */
    size_t count;      /* entries; 0 if the file is no cache */
    size_t end;        /* of the strings, from `start` */
} acu_ldcache;

/* Opens a cache; a file that is no cache has no entries. Must be closed in either case. */
acu_ldcache acu_ldcache_open(const char *path);
void acu_ldcache_close(const acu_ldcache *c);
/* Visits each file that the cache has for a name; returns whether the visitor had enough. */
bool acu_ldcache_visit(const acu_ldcache *c, const char *name, const acu_visitor *v);

#endif
