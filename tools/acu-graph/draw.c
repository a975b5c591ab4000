/* The SVG: one box for each node, with its name, type, time and heat; dependencies go down. */
#include "picture.h"

#include <string.h>

static const char *const font = "Helvetica, Arial, 'Liberation Sans', sans-serif";
enum { EDGE = 16, HEAD = 64, TITLE_LETTERS = 36, LINE = 16, HEADER = 22 };

/* Returns how many bytes the character has that begins here; 0 if there is none that XML, which is
 * in UTF-8, may have. */
static size_t character(const unsigned char *at) {
    const size_t length = at[0] < 0x80                     ? 1
                          : at[0] >= 0xc2 && at[0] <= 0xdf ? 2
                          : (at[0] & 0xf0u) == 0xe0        ? 3
                          : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                           : 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0u) != 0x80)
            return 0;
    const bool is_odd = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90) ||
                        (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf4 && at[1] > 0x8f) ||
                        (at[0] == 0xef && at[1] == 0xbf && at[2] > 0xbd);
    return is_odd ? 0 : length;
}

void picture_put_text(FILE *to, const char *text) {
    while (*text) {
        const size_t length = character((const unsigned char *)text);
        if (length == 0)
            fputs("\xef\xbf\xbd", to); /* stands for what is no character */
        else if (*text == '&')
            fputs("&amp;", to);
        else if (*text == '<')
            fputs("&lt;", to);
        else if (*text == '>')
            fputs("&gt;", to);
        else if ((unsigned char)*text < ' ')
            fputc(' ', to);
        else
            fwrite(text, 1, length, to);
        text += length ? length : 1;
    }
}

const char *picture_color(const char *text, const char *otherwise) {
    return strlen(text) == 7 && *text == '#' && strspn(text + 1, "0123456789abcdefABCDEF") == 6
               ? text
               : otherwise;
}

/* ---- edges ---- */

/* Writes a curve from one point to another that begins and ends straight down. */
static void curve(FILE *to, double x, double y, double next_x, double next_y) {
    const double middle = (y + next_y) / 2;
    if (x - next_x < 0.5 && next_x - x < 0.5)
        fprintf(to, " L%.1f %.1f", next_x, next_y);
    else
        fprintf(to, " C%.1f %.1f %.1f %.1f %.1f %.1f", x, middle, next_x, middle, next_x, next_y);
}

/* Draws an edge; one that goes back ends at the bottom of its node. */
static void draw_edge(FILE *to, const picture *graph, const edge *e) {
    const bool down = e->from->layer < e->to->layer;
    const double end_y = down ? e->to->y - 2 : e->to->y + e->to->height + 2;
    double x = e->from_x, y = down ? e->from->y + e->from->height : e->from->y;
    if (e->from->layer == e->to->layer)
        y = e->from->y + e->from->height;
    fprintf(to, "<path class='%s%s' d='M%.1f %.1f", e->on_chain ? "chain" : "edge",
            *e->label ? " early" : "", x, y);
    for (size_t i = 0; i < e->bend_count; i++) {
        const size_t at = down ? i : e->bend_count - 1 - i;
        const int layer = down ? e->from->layer + 1 + (int)i : e->from->layer - 1 - (int)i;
        const double top = graph->tops[layer], bottom = top + graph->heights[layer];
        curve(to, x, y, e->bends[at], down ? top : bottom);
        x = e->bends[at];
        y = down ? bottom : top;
        fprintf(to, " L%.1f %.1f", x, y);
    }
    curve(to, x, y, e->to_x, end_y);
    fputs("'>", to);
    if (*e->label) {
        fputs("<title>", to);
        picture_put_text(to, e->label);
        fputs("</title>", to);
    }
    fputs("</path>\n", to);
}

/* ---- nodes ---- */

static void put_line(FILE *to, const char *class, double x, double y, const char *text) {
    fprintf(to, "<text class='%s' x='%.1f' y='%.1f'>", class, x, y);
    picture_put_text(to, text);
    fputs("</text>\n", to);
}

void picture_put_tooltip(FILE *to, const node *n) {
    char time[32], least[32], most[32];
    fputs("<title>", to);
    picture_put_text(to, n->id);
    fputs(": ", to);
    picture_put_text(to, n->title);
    const char *const more[] = {n->kind, n->kernel, n->detail};
    for (size_t i = 0; i < 3; i++)
        if (*more[i]) {
            fputc('\n', to);
            picture_put_text(to, more[i]);
        }
    picture_time(n->us, time);
    picture_time(n->least, least);
    picture_time(n->most, most);
    if (*time && *least && *most)
        fprintf(to, "\n%s, from %s to %s", time, least, most);
    fputs("</title>\n", to);
}

static void draw_graph(FILE *to, const picture *graph);

/* Draws the graphs in a node side by side, below its text. */
static void draw_inner(FILE *to, const node *n) {
    double height = 0, width = 0, x;
    for (size_t i = 0; i < n->inner_count; i++) {
        height = n->inner[i]->height > height ? n->inner[i]->height : height;
        width += n->inner[i]->width + (i ? 11 : 0);
    }
    x = n->x + (n->width - width) / 2;
    for (size_t i = 0; i < n->inner_count; i++) {
        const picture *inner = n->inner[i];
        const double y = n->y + n->height - height - 7;
        fprintf(to, "<rect class='inner' x='%.1f' y='%.1f' width='%.1f' height='%.1f' rx='6'/>\n",
                x, y, inner->width, height);
        fprintf(to, "<g transform='translate(%.1f %.1f)'>\n", x, y);
        if (*inner->label)
            put_line(to, "kind", 10, 17, inner->label);
        draw_graph(to, inner);
        fputs("</g>\n", to);
        x += inner->width + 11;
    }
}

static void draw_lines(FILE *to, const node *n) {
    char title[256], time[32];
    const double x = n->x + 17;
    double y = n->y + 19;
    picture_name(n->title, TITLE_LETTERS, title, sizeof title);
    put_line(to, "name", x, y, title);
    const bool kind = *n->kind && strcmp(n->kind, n->title) != 0;
    if (kind || *n->detail) {
        y += LINE;
        fprintf(to, "<text class='kind' x='%.1f' y='%.1f'>", x, y);
        picture_put_text(to, kind ? n->kind : "");
        fputs(kind && *n->detail ? " &#183; " : "", to);
        picture_put_text(to, n->detail);
        fputs("</text>\n", to);
    }
    picture_time(n->us, time);
    if (*time)
        put_line(to, "time", x, y + LINE, time);
}

static void draw_node(FILE *to, const node *n) {
    if (*n->id) {
        const char *line = picture_color(n->line, "#6b7280"),
                   *fill = picture_color(n->fill, "#f3f4f6");
        fputs("<g>", to);
        picture_put_tooltip(to, n);
        fprintf(to,
                "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' rx='5' fill='%s' "
                "stroke='%s' stroke-width='%s'/>\n",
                n->x, n->y, n->width, n->height, fill, line, n->on_chain ? "2.2" : "1");
        fprintf(to, "<rect x='%.1f' y='%.1f' width='6' height='%.1f' rx='2' fill='%s'/>\n",
                n->x + 4, n->y + 6, n->height - 12, line);
        draw_lines(to, n);
        fputs("</g>\n", to);
    }
    if (n->inner_count)
        draw_inner(to, n);
}

static void draw_graph(FILE *to, const picture *graph) {
    for (size_t i = 0; i < graph->edge_count; i++)
        draw_edge(to, graph, &graph->edges[i]);
    for (size_t i = 0; i < graph->node_count; i++)
        draw_node(to, graph->nodes[i]);
}

/* ---- what stands above ---- */

static void put_head(FILE *to, const picture *graph, const char *file) {
    char text[256], whole[32], sum[32], chain[32], between[32];
    const size_t count = picture_count(graph);
    snprintf(text, sizeof text, "%zu node%s, %zu dependenc%s, %d step%s deep", count,
             count == 1 ? "" : "s", graph->edge_count, graph->edge_count == 1 ? "y" : "ies",
             graph->layer_count, graph->layer_count == 1 ? "" : "s");
    put_line(to, "head", EDGE, 24, file);
    put_line(to, "kind", EDGE, 42, text);
    if (picture_longest(graph) <= 0)
        return;
    picture_time(graph->whole, whole);
    picture_time(picture_sum(graph), sum);
    picture_time(picture_chain(graph), chain);
    picture_time(graph->between, between);
    if (graph->replays)
        snprintf(text, sizeof text,
                 "a launch %s; sum of nodes %s; longest chain (thick) %s; two events %s", whole,
                 sum, chain, between);
    else
        snprintf(text, sizeof text, "sum of nodes %s; longest chain (thick) %s", sum, chain);
    put_line(to, "kind", EDGE, 58, text);
}

/* Draws the scale of the heat: acu_graph_draw() colors the nodes by it. */
static void put_scale(FILE *to, const picture *graph, double y) {
    char most[32];
    picture_time(picture_longest(graph), most);
    fprintf(to,
            "<linearGradient id='heat'><stop offset='0' stop-color='#ffffff'/>"
            "<stop offset='.5' stop-color='#ffd764'/><stop offset='1' stop-color='#ff7864'/>"
            "</linearGradient>\n"
            "<rect x='%d' y='%.1f' width='120' height='8' rx='2' fill='url(#heat)' "
            "stroke='#9ca3af' stroke-width='.6'/>\n",
            EDGE, y);
    put_line(to, "kind", EDGE + 128, y + 8, most);
}

void picture_begin_svg(FILE *to, double width, double height) {
    fprintf(to,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' "
            "viewBox='0 0 %.0f %.0f' font-family=\"%s\">\n",
            width, height, width, height, font);
    fputs("<style>.name{font-size:13px;font-weight:600;fill:#111827}"
          ".kind{font-size:11px;fill:#4b5563}.time{font-size:12px;font-weight:600;fill:#111827}"
          ".head{font-size:15px;font-weight:600;fill:#111827}"
          ".small,.bar{font-size:11px;fill:#4b5563}.bar{fill:#111827}"
          ".grid{stroke:#e5e7eb;stroke-width:1}"
          ".edge,.chain{fill:none;stroke:#8b93a1;stroke-width:1.2;marker-end:url(#tip)}"
          ".chain{stroke:#1f2937;stroke-width:2.2}.early{stroke-dasharray:5 3}"
          ".inner{fill:#ffffff;stroke:#7a4fc0;stroke-width:1;stroke-dasharray:5 3}</style>\n"
          "<marker id='tip' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='8' markerHeight='8' "
          "markerUnits='userSpaceOnUse' orient='auto'><path d='M0 1L8 4L0 7z' fill='#4b5563'/>"
          "</marker>\n",
          to);
    fprintf(to, "<rect width='%.0f' height='%.0f' fill='#ffffff'/>\n", width, height);
}

void picture_draw(picture *graph, const char *file, FILE *to) {
    picture_place(graph);
    const bool timed = picture_longest(graph) > 0;
    const double head = HEAD + (timed ? 24 : -8);
    const double least = timed ? 470 : 300;
    const double inner = graph->width + 2.0 * EDGE, width = inner < least ? least : inner;
    const double height = graph->height + head + EDGE;
    picture_begin_svg(to, width, height);
    put_head(to, graph, file);
    if (timed)
        put_scale(to, graph, 68);
    fprintf(to, "<g transform='translate(%.1f %.1f)'>\n", (width - graph->width) / 2, head);
    draw_graph(to, graph);
    fputs("</g>\n</svg>\n", to);
}
