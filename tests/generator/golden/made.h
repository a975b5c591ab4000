/* A made-up library in three versions (10, 11, 20), with one of each change that bindings must get
 * across. */
#ifndef MADE_H
#define MADE_H

#include <stddef.h>

#if defined(__cplusplus)
/* CUDA's own name for a default argument, which the extractor knows. */
#define __dv(value) = value
extern "C" {
#else
#define __dv(value)
#endif

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define madeFill madeFill_ptsz
#endif

#define madeShareRead  0x1
#define madeShareWrite 0x2

typedef enum made_error {
    madeSuccess = 0,
    madeErrorInvalid = 1,
    madeErrorUnavailable = 2,
    madeErrorNotReady = 3
} made_error_t;

/* A new enumerator. */
enum madeKind {
    madeKindHost = 0,
#if MADE_VERSION >= 11
    madeKindManaged = 2,
#endif
    madeKindDevice = 1
};

typedef struct made_stream *made_stream_t;

/* An appended field: the older layout is the first part of the newer one. */
struct madeProps {
    int count;
    enum madeKind kind;
#if MADE_VERSION >= 11
    size_t limit;
#endif
};

/* Moved fields: another layout. */
struct madeInfo {
#if MADE_VERSION >= 20
    size_t size;
    int device;
#else
    int device;
    size_t size;
#endif
};

struct madePlace {
    enum madeKind kind;
    int id;
};

made_error_t madeVersion(int *version);
made_error_t madeCreate(made_stream_t *stream, const struct madeProps *props);
made_error_t madeQuery(made_stream_t stream);
made_error_t madeFill(void *to, int value, size_t count, made_stream_t stream __dv(0));
made_error_t madeGetProps(struct madeProps *props, made_stream_t stream);
made_error_t madeGetInfo(struct madeInfo *info, const void *of);

/* A new function, and one that goes. */
#if MADE_VERSION >= 11
made_error_t madeShare(made_stream_t stream, unsigned int flags);
#endif
#if MADE_VERSION < 20
made_error_t madeFlush(void);
#endif

/* Another signature under the same name: a person must decide. */
#if MADE_VERSION >= 20
made_error_t madeMove(void *what, struct madePlace place);
#else
made_error_t madeMove(void *what, int device);
#endif

/* What _v2 meant becomes the meaning of the bare name. */
#if MADE_VERSION >= 20
made_error_t madeCopy(void *to, const void *from, size_t count);
#elif MADE_VERSION >= 11
made_error_t madeCopy(void *to, const void *from);
made_error_t madeCopy_v2(void *to, const void *from, size_t count);
#else
made_error_t madeCopy(void *to, const void *from);
#endif

#if defined(__cplusplus)
}
#endif

#endif
