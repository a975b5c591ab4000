/*
 * The driver's log: what it says of calls that failed, besides their codes. Needs a driver of CUDA
 * 12.9 or later, with any runtime; an older one is refused (801).
 *
 * The driver keeps the newest lines, at most 25,600 bytes.
 */
#ifndef ACU_LOG_H
#define ACU_LOG_H

#include <stddef.h>

#include <anycuda/listener.h>

ACU_BEGIN_C

/** How bad a line is, with CUDA's numbers (CUlogLevel). */
typedef enum acu_log_level { ACU_LOG_ERROR = 0, ACU_LOG_WARNING = 1 } acu_log_level;

/**
 * Hears a line of the log: `length` bytes, which need not end with a zero and are valid during the
 * call.
 */
typedef void (*acu_log_function)(acu_log_level level, const char *line, size_t length, void *data);

/**
 * Lets a function hear each new line of the log; the caller owns the listener.
 *
 * CUDA may call the function inside of the call that fails, on its thread. `data` is passed on, and
 * must live as long as the listener.
 */
ACU_CHECKED acu_result acu_log_listen(acu_log_function function, void *data,
                                      acu_listener **listener);

/** A place in the log, which only CUDA can compare (CUlogIterator). */
typedef unsigned acu_log_position;

/** Asks for the end of the log, where the next line will be. */
ACU_CHECKED acu_result acu_log_get_end(acu_log_position *end);

/**
 * Copies lines of the log, each ended by '\n', and a zero behind them; `*length` becomes their
 * bytes without the zero.
 *
 * The lines from `*from` on are copied, and `*from` becomes the end; where it is NULL, all lines.
 * Where `size` is too small for all, CUDA leaves out the oldest, and says so in the first line.
 * Errors: ACU_ERROR_RANGE where `size` is 0; 1 where not even one line has room.
 */
ACU_CHECKED acu_result acu_log_read(acu_log_position *from, char *text, size_t size,
                                    size_t *length);

/**
 * Writes lines of the log into a file, which is made or emptied. `from` is as for acu_log_read().
 * Errors: 1 where the file cannot be written.
 */
ACU_CHECKED acu_result acu_log_print(acu_log_position *from, const char *path);

ACU_END_C

#endif
