#include "curve.h"

#include <math.h>
#include <stdio.h>

double curve_difference(const curve *a, const curve *b) {
    double largest = 0;
    for (size_t i = 0; i < a->steps; i++) {
        const double difference = fabs((double)a->loss[i] - (double)b->loss[i]);
        if (isnan(difference))
            return difference;
        largest = fmax(largest, difference);
    }
    return largest;
}

/* Closes a file, and returns whether all of it was written. */
static bool finish(FILE *file) {
    const bool failed = ferror(file);
    return fclose(file) == 0 && !failed;
}

bool curve_write_table(const char *path, const curve *curves, size_t count) {
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fprintf(file, "step");
    for (size_t c = 0; c < count; c++)
        fprintf(file, ",\"%s\"", curves[c].name);
    for (size_t i = 0; i < curves[0].steps; i++) {
        fprintf(file, "\n%zu", i);
        for (size_t c = 0; c < count; c++)
            fprintf(file, ",%.9g", (double)curves[c].loss[i]);
    }
    fprintf(file, "\n");
    return finish(file);
}

/* ---- drawing ---- */

enum { WIDTH = 760, LEFT = 70, RIGHT = 740, HEIGHT = 560 };

/* A rectangle of the drawing in which values from `low` at the bottom to `high` are drawn. */
typedef struct panel {
    double top, bottom, low, high;
    size_t steps;
} panel;

/* Wide and pale below narrow and dark, so that curves on top of each other are seen. */
static const struct style {
    const char *colour;
    double width;
} styles[] = {{"#9ecae1", 7}, {"#fd8d3c", 3.5}, {"#1b1b1b", 1.2}, {"#31a354", 1}};

static const struct style *style_of(size_t number) {
    return &styles[number % (sizeof styles / sizeof *styles)];
}

static double x_of(const panel *p, size_t step) {
    return LEFT + (RIGHT - LEFT) * (double)step / (double)(p->steps > 1 ? p->steps - 1 : 1);
}

static double y_of(const panel *p, double value) {
    const double part = (value - p->low) / (p->high - p->low);
    return p->bottom + (p->top - p->bottom) * fmin(fmax(part, 0), 1);
}

static void write_text(FILE *file, double x, double y, const char *anchor, const char *text) {
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, text);
}

/* Draws a horizontal line at a value, with its label on the left. */
static void draw_level(FILE *file, const panel *p, double value, const char *label) {
    const double y = y_of(p, value);
    fprintf(file, "<path d=\"M%d %.1fH%d\" stroke=\"#dddddd\"/>\n", LEFT, y, RIGHT);
    write_text(file, LEFT - 8, y + 4, "end", label);
}

/* Draws a curve; with `from` the decimal logarithm of how far it is from that one, so that equal
 * losses are below the panel and drawn at its bottom. */
static void draw_line(FILE *file, const panel *p, const curve *c, const curve *from,
                      const struct style *style) {
    fprintf(file, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\" d=\"", style->colour,
            style->width);
    for (size_t i = 0; i < c->steps; i++) {
        double value = (double)c->loss[i];
        if (from)
            value = log10(fmax(fabs(value - (double)from->loss[i]), 1e-30));
        fprintf(file, "%s%.1f %.1f", i ? "L" : "M", x_of(p, i), y_of(p, value));
    }
    fprintf(file, "\"/>\n");
}

static void draw_losses(FILE *file, const curve *curves, size_t count) {
    panel p = {50, 330, 0, 0, curves[0].steps};
    char label[CURVE_NAME + 16];
    for (size_t i = 0; i < curves[0].steps; i++)
        p.high = fmax(p.high, (double)curves[0].loss[i]);
    p.high = p.high > 0 ? ceil(p.high * 2) / 2 : 1;
    for (int half = 0; half <= 2 * p.high; half++) {
        (void)snprintf(label, sizeof label, "%.1f", half / 2.0);
        draw_level(file, &p, half / 2.0, label);
    }
    for (size_t c = 0; c < count; c++) {
        draw_line(file, &p, &curves[c], NULL, style_of(c));
        const double y = 70 + 20 * (double)c;
        fprintf(file, "<path d=\"M330 %.1fh40\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n", y - 4,
                style_of(c)->colour, style_of(c)->width);
        write_text(file, 380, y, "start", curves[c].name);
    }
    write_text(file, LEFT, 32, "start", "loss of each step of training");
}

static void draw_differences(FILE *file, const curve *curves, size_t count, double bound) {
    const panel p = {400, 520, -9, -3, curves[0].steps};
    char label[CURVE_NAME + 40];
    draw_level(file, &p, p.low, "0");
    for (int power = -8; power <= -4; power += 2) {
        (void)snprintf(label, sizeof label, "1e%d", power);
        draw_level(file, &p, power, label);
    }
    fprintf(file, "<path d=\"M%d %.1fH%d\" stroke=\"#d62728\" stroke-dasharray=\"6 4\"/>\n", LEFT,
            y_of(&p, log10(bound)), RIGHT);
    write_text(file, RIGHT, y_of(&p, log10(bound)) - 5, "end", "allowed");
    for (size_t c = 1; c < count; c++)
        draw_line(file, &p, &curves[c], &curves[0], style_of(c));
    (void)snprintf(label, sizeof label, "difference from %s", curves[0].name);
    write_text(file, LEFT, 382, "start", label);
    (void)snprintf(label, sizeof label, "step %zu", curves[0].steps - 1);
    write_text(file, LEFT, 540, "start", "step 0");
    write_text(file, RIGHT, 540, "end", label);
}

bool curve_draw(const char *path, const curve *curves, size_t count, double bound) {
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"13\" stroke-linejoin=\"round\">\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
            WIDTH, HEIGHT, WIDTH, WIDTH, HEIGHT);
    draw_losses(file, curves, count);
    draw_differences(file, curves, count, bound);
    fprintf(file, "</svg>\n");
    return finish(file);
}
