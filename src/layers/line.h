/*
 * A line of text that a layer writes. The line is on the stack, because layers are used in programs
 * whose heap may be damaged. Its length is bounded, and it is written in one piece.
 */
#ifndef ACU_LAYERS_LINE_H
#define ACU_LAYERS_LINE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    ACU_LINE = 4096,     /* bytes; PIPE_BUF, the most that a pipe takes in one piece */
    ACU_LINE_TAIL = 256, /* bytes kept free for the end of the line */
    ACU_TEXT_SHOWN = 64, /* characters of a quoted text */
};

#define ACU_ELLIPSIS "\xe2\x80\xa6"

/* Starts as {.limit = ACU_LINE - ACU_LINE_TAIL}. Text beyond the limit is replaced by an ellipsis.
 */
typedef struct acu_line {
    char text[ACU_LINE];
    size_t used, limit; /* bytes */
    bool cut;           /* text was replaced */
} acu_line;

void acu_line_put(acu_line *out, const char *piece);
void acu_line_put_bytes(acu_line *out, const char *piece, size_t size);
/* Formats at most 63 characters. */
__attribute__((format(printf, 2, 3))) void acu_line_print(acu_line *out, const char *format, ...);
/* Quotes at most `size` characters, which need not end with a zero; unprintable ones are escaped.
 */
void acu_line_put_quoted(acu_line *out, const char *text, size_t size);
/* Puts a complaint about an item: "anycuda: ", then `about`, then `what`, which contains its own
 * blanks, then the item in quotes. */
void acu_line_put_complaint(acu_line *out, const char *about, const char *what, const char *item,
                            size_t size);
/* Ends the line and writes it. An error of the write is ignored, also that nobody reads a pipe,
 * because a layer must not stop the program. */
void acu_line_write(acu_line *out, int fd);

#endif
