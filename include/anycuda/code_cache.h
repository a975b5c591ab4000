/*
 * A cache of compiled code: a folder, in which what was compiled once is found by later runs and
 * other processes.
 *
 * A file is found by all that decides what the compiler makes: the source, the headers that it may
 * include, the options, the architecture, and the compiler. Several threads and processes may use
 * one folder at once. A file that is not what was written is removed, and compiled again. Without a
 * cache, and without the variable ANYCUDA_CODE_CACHE, nothing is written.
 */
#ifndef ACU_CODE_CACHE_H
#define ACU_CODE_CACHE_H

#include <anycuda/code.h>

ACU_BEGIN_C

/** What a cache may hold; zero is the default. */
typedef struct acu_code_cache_options {
    uint64_t max_bytes; /* of all files; 0: 256 MiB. What was used last is kept. */
} acu_code_cache_options;

/**
 * Opens a cache in a folder, which is made if it does not exist; the caller owns the cache.
 *
 * `options` may be NULL. Errors: ACU_ERROR_ARGUMENT where there is no folder of that name and none
 * can be made, where it cannot be written to, or where everybody can write to it.
 */
ACU_CHECKED acu_result acu_code_cache_create(const char *folder,
                                             const acu_code_cache_options *options,
                                             acu_code_cache **cache);

/** What a folder holds, and what came of this handle's lookups. */
typedef struct acu_code_cache_info {
    size_t files;     /* of code, whoever wrote them */
    uint64_t bytes;   /* in these files */
    size_t hits;      /* code was found */
    size_t misses;    /* code was not found, and compiled or linked */
    size_t damaged;   /* those of the misses where a file was not what was written */
    size_t skipped;   /* not looked up, because something unknown decides what the compiler makes */
    size_t unwritten; /* those of the misses that could not be written, or are too large */
} acu_code_cache_info;

/**
 * Counts the files of the folder.
 *
 * Errors: ACU_ERROR_STATE where it cannot be read any more, ACU_ERROR_HOST_MEMORY.
 */
ACU_CHECKED acu_result acu_code_cache_get_info(acu_code_cache *cache, acu_code_cache_info *info);

/**
 * Removes all code from the folder; nothing else in it is touched.
 *
 * Errors: ACU_ERROR_STATE where a file cannot be removed, ACU_ERROR_HOST_MEMORY.
 */
ACU_CHECKED acu_result acu_code_cache_clear(acu_code_cache *cache);

/** Returns the folder, as it was given; "" where the handle is not a cache. */
const char *acu_code_cache_folder(const acu_code_cache *cache);

/** Adds an owner and returns the cache; NULL where the handle is not a cache. */
acu_code_cache *acu_code_cache_retain(acu_code_cache *cache);

/**
 * Takes an owner away; the last release closes the cache, whose files stay. Everything else is as
 * for acu_stream_release().
 */
acu_result acu_code_cache_release(acu_code_cache *cache);

void acu_code_cache_cleanup(acu_code_cache **cache);

/** Writes one line that names the cache, as errors do; acu_stream_describe() has the rules. */
size_t acu_code_cache_describe(const acu_code_cache *cache, char *text, size_t size);

ACU_END_C

#endif
