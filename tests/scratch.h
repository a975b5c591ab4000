/* Files that tests write: in TMPDIR, or in /tmp. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stdio.h>
#include <stdlib.h>

enum { SCRATCH_SIZE = 4096 };

/* A path for mkstemp() or mkdtemp(), written to `path`, which is returned. */
static inline char *scratch_path(char path[SCRATCH_SIZE]) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, SCRATCH_SIZE, "%s/anycuda-XXXXXX", folder && *folder ? folder : "/tmp");
    return path;
}

#endif
