/*
 * A line of text that a layer says: on the stack, of bounded length, and written in one piece.
 *
 * A layer is for a program that misbehaves, so it must not depend on its health: no heap per call.
 */
#ifndef ACU_SRC_LINE_H
#define ACU_SRC_LINE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    ACU_LINE = 4096,     /* PIPE_BUF: what a pipe takes in one piece */
    ACU_LINE_TAIL = 256, /* kept free at first, for what ends it */
    ACU_TEXT_SHOWN = 64, /* characters of a text */
};

#define ACU_ELLIPSIS "\xe2\x80\xa6"

/* Starts as {.limit = ACU_LINE - ACU_LINE_TAIL}; what goes beyond the limit is cut, visibly. */
typedef struct acu_line {
    char text[ACU_LINE];
    size_t used, limit;
    bool cut;
} acu_line;

void acu_line_put(acu_line *out, const char *piece);
void acu_line_put_bytes(acu_line *out, const char *piece, size_t size);
/* Up to 63 characters. */
__attribute__((format(printf, 2, 3))) void acu_line_print(acu_line *out, const char *format, ...);
/* At most `size` characters, which need not end with a zero; unprintable ones escaped. */
void acu_line_put_quoted(acu_line *out, const char *text, size_t size);
/* anycuda: ABOUT WHAT "ITEM"; `what` brings its blanks. */
void acu_line_put_complaint(acu_line *out, const char *about, const char *what, const char *item,
                            size_t size);
/* Ends the line. What cannot be written is lost: a layer stops no program. */
void acu_line_write(acu_line *out, int fd);

#endif
