/* Sums, times and names, for both outputs. */
#include "picture.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

size_t picture_count(const picture *graph) {
    size_t count = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        count += *graph->nodes[i]->id != 0;
        for (size_t k = 0; k < graph->nodes[i]->inner_count; k++)
            count += picture_count(graph->nodes[i]->inner[k]);
    }
    return count;
}

double picture_longest(const picture *graph) {
    double longest = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i]->us > longest)
            longest = graph->nodes[i]->us;
        for (size_t k = 0; k < graph->nodes[i]->inner_count; k++) {
            const double inside = picture_longest(graph->nodes[i]->inner[k]);
            longest = inside > longest ? inside : longest;
        }
    }
    return longest;
}

double picture_sum(const picture *graph) {
    double sum = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        sum += graph->nodes[i]->us > 0 ? graph->nodes[i]->us : 0;
    return sum;
}

double picture_chain(const picture *graph) {
    double sum = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        sum += graph->nodes[i]->on_chain && graph->nodes[i]->us > 0 ? graph->nodes[i]->us : 0;
    return sum;
}

void picture_time(double us, char text[32]) {
    if (us < 0)
        *text = '\0';
    else if (us < 999.5)
        snprintf(text, 32, us < 9.995 ? "%.2f us" : us < 99.95 ? "%.1f us" : "%.0f us", us);
    else if (us < 999.5e3)
        snprintf(text, 32, us < 9995 ? "%.2f ms" : us < 99950 ? "%.1f ms" : "%.0f ms", us / 1e3);
    else
        snprintf(text, 32, "%.2f s", us / 1e6);
}

double picture_width(const char *text, double size) {
    double width = 0;
    for (const char *c = text; *c; c++)
        if (!is_later_byte(*c))
            width += strchr("iIljt.,:;'|!()[]{}f ", *c) ? 0.33
                     : strchr("mwMW@%", *c)             ? 0.92
                     : *c >= 'A' && *c <= 'Z'           ? 0.7
                                                        : 0.57;
    return width * size;
}

/* ---- names ---- */

/* Adds a part of a name of `length` letters; "::" stands between two. */
static void add_part(char *text, size_t size, const char *part, size_t length) {
    const size_t used = strlen(text);
    if (length >= 10 && strncmp(part, "_GLOBAL__N", 10) == 0)
        return;
    snprintf(text + used, size - used, "%s%.*s", used ? "::" : "", (int)length, part);
}

/* Writes the name in a mangled C++ name without its arguments; false if it is no such name. */
static bool unmangle(const char *name, char *text, size_t size) {
    if (strncmp(name, "_Z", 2) != 0)
        return false;
    const char *c = name + 2;
    const bool nested = *c == 'N';
    c += nested;
    while (*c && strchr(nested ? "KVRO" : "L", *c))
        c++;
    *text = '\0';
    for (;;) {
        c += *c == 'L' && isdigit((unsigned char)c[1]);
        if (!isdigit((unsigned char)*c))
            return *text != '\0';
        char *end;
        const unsigned long length = strtoul(c, &end, 10);
        if (length == 0 || length > strlen(end))
            return false;
        add_part(text, size, end, length);
        c = end + length;
        if (!nested)
            return *text != '\0';
    }
}

/* Cuts a C++ function's result and arguments off: "void scale<float>(float *)" is "scale". */
static void cut_signature(char *text) {
    char *end = strpbrk(text, "<(");
    if (!end || end == text)
        return;
    *end = '\0';
    const char *begin = strrchr(text, ' ');
    if (begin && begin[1])
        memmove(text, begin + 1, strlen(begin + 1) + 1);
}

/* Leaves bytes out in the middle, but no part of a letter; of a C++ name from the beginning. */
static void shorten(char *text, size_t letters) {
    const size_t length = strlen(text);
    if (length <= letters)
        return;
    size_t head = strstr(text, "::") ? 0 : letters / 3, tail = length - (letters - head - 2);
    while (head > 0 && is_later_byte(text[head]))
        head--;
    while (tail < length && is_later_byte(text[tail]))
        tail++;
    text[head] = text[head + 1] = '.';
    memmove(text + head + 2, text + tail, length - tail + 1);
}

void picture_name(const char *name, size_t letters, char *text, size_t size) {
    if (!unmangle(name, text, size)) {
        snprintf(text, size, "%s", name);
        if (strstr(name, "(") && strstr(name, "::"))
            cut_signature(text);
    }
    shorten(text, letters);
}
