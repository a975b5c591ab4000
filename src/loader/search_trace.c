#include "loader/driver.h"
#include "loader/search.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Appends a text, in which a path may hold any byte; returns the end. */
static char *append_printable(char *at, const char *text) {
    for (; *text; text++)
        *at++ = (unsigned char)*text < ' ' || *text == 127 ? '?' : *text;
    return at;
}

static void note_text(const acu_search *s, const char *text) {
    acu_library *l = s->library;
    size_t length = strlen(s->place) + strlen(text) + sizeof ": \n";
    if (l->trace_room - l->trace_used < length) {
        size_t room = l->trace_room * 2 + length + 512;
        char *trace = realloc(l->trace, room);
        if (!trace)
            return;
        l->trace = trace;
        l->trace_room = room;
    }
    char *line = l->trace + l->trace_used, *at = append_printable(line, s->place);
    at = append_printable(append_printable(at, ": "), text);
    memcpy(at, "\n", 2);
    if (s->afterwards && strstr(l->trace, line) != line)
        *line = '\0'; /* the search itself wrote this line */
    else
        l->trace_used += length - 1;
}

void acu_search_note(const acu_search *s, const char *format, ...) {
    char line[ACU_PATH_SIZE + 2 * ACU_WHY_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    note_text(s, line);
}

bool acu_search_refuse(const acu_search *s, const char *path, int code, const char *format, ...) {
    char why[ACU_WHY_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    acu_search_note(s, "%s: refused: %s", path, why);
    acu_library *l = s->library;
    if (!l->code && !s->afterwards) {
        l->code = code;
        snprintf(l->why, sizeof l->why, "%.200s: %.300s", path, why);
    }
    return false;
}

int acu_search_driver(acu_search *s) {
    if (acu_search_allows(s, ACU_LOAD_SKIP_DRIVER))
        return ACU_DRIVER_SILENT;
    bool first = !acu_driver_was_asked();
    int version = acu_driver_version(s->library);
    const char *place = s->place;
    s->place = "driver";
    if (first && version > 0)
        acu_search_note(s, "supports CUDA %d.%d", ACU_MAJOR(version), ACU_MINOR(version));
    else if (first)
        note_text(s, version ? "does not report its version" : "not installed (no libcuda.so.1)");
    s->place = place;
    return version;
}

void acu_search_end_trace(acu_library *library) {
    const acu_load_info *loaded = &library->loaded;
    if (library->searched)
        acu_search_rest(library);
    acu_search_note(&(acu_search){.library = library, .place = loaded->found},
                    "%s: taken: %s %d.%d%s", loaded->path, library->info->product,
                    ACU_MAJOR(loaded->version), ACU_MINOR(loaded->version),
                    loaded->version > library->info->newest
                        ? ", newer than all that are known; bound as the newest known"
                        : "");
    library->trace_ends = true;
}
