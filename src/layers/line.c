#define _POSIX_C_SOURCE 200809L /* strnlen */
#include "layers/line.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void acu_line_put_bytes(acu_line *out, const char *piece, size_t size) {
    if (out->cut)
        return;
    if (size > out->limit - out->used) {
        out->cut = true;
        piece = ACU_ELLIPSIS;
        size = sizeof ACU_ELLIPSIS - 1; /* fits beyond the limit */
    }
    memcpy(out->text + out->used, piece, size);
    out->used += size;
}

void acu_line_put(acu_line *out, const char *piece) {
    acu_line_put_bytes(out, piece, strlen(piece));
}

void acu_line_print(acu_line *out, const char *format, ...) {
    char piece[64];
    va_list list;
    va_start(list, format);
    vsnprintf(piece, sizeof piece, format, list);
    va_end(list);
    acu_line_put(out, piece);
}

void acu_line_put_quoted(acu_line *out, const char *text, size_t size) {
    size_t length = strnlen(text, size);
    acu_line_put(out, "\"");
    for (size_t i = 0; i < length && i < ACU_TEXT_SHOWN; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n')
            acu_line_put(out, "\\n");
        else if (c < ' ' || c == 0x7f)
            acu_line_print(out, "\\x%02x", c);
        else if (c == '"' || c == '\\')
            acu_line_print(out, "\\%c", c);
        else
            acu_line_put_bytes(out, (const char *)&c, 1);
    }
    acu_line_put(out, length > ACU_TEXT_SHOWN ? ACU_ELLIPSIS "\"" : "\"");
}

void acu_line_put_complaint(acu_line *out, const char *about, const char *what, const char *item,
                            size_t size) {
    acu_line_put(out, "anycuda: ");
    acu_line_put(out, about);
    acu_line_put(out, what);
    acu_line_put_quoted(out, item, size);
}

void acu_line_write(acu_line *out, int fd) {
    sigset_t pipe, before;
    const struct timespec now = {0, 0};
    out->text[out->used++] = '\n';
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe, &before);
    ssize_t written = 0;
    do
        written = write(fd, out->text, out->used);
    while (written < 0 && errno == EINTR);
    if (written < 0 && errno == EPIPE && !sigismember(&before, SIGPIPE))
        (void)sigtimedwait(&pipe, NULL, &now); /* nobody reads the pipe: takes the signal back */
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}
