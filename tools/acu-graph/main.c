/* acu-graph: shows a graph that acu_graph_draw() has saved, on a terminal or as an SVG. */
#include "picture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: acu-graph [--top N] [FILE]\n"
    "       acu-graph --svg PICTURE [FILE]\n"
    "       acu-graph --timeline PICTURE [FILE]\n"
    "\n"
    "Shows a graph that acu_graph_draw() has saved: how many nodes of which type,\n"
    "how deep and wide it is, and where its time goes, if it was profiled.\n"
    "Without FILE, or with '-', the graph is read from standard input. CUDA's own\n"
    "files (cudaGraphDebugDotPrint) are read, too; they have no times.\n"
    "\n"
    "  --svg PICTURE  write a picture for a browser instead; '-' is standard output\n"
    "  --timeline PICTURE\n"
    "                 the same, of when each node of a profiled graph ran\n"
    "  --top N        print N nodes (15): the slowest ones, or the first ones\n"
    "  -h, --help     print this\n"
    "  --version      print the version\n"
    "\n"
    "Exit status:\n"
    "  0  done\n"
    "  1  the file cannot be read, is no graph, or the output cannot be written\n"
    "  2  wrong arguments\n";

enum { DONE, FAILED, USAGE, TOP = 15 };

typedef struct arguments {
    const char *file, *svg, *timeline;
    size_t top;
    bool help, version;
} arguments;

static int wrong(const char *what, const char *which) {
    fprintf(stderr, "acu-graph: %s%s; acu-graph --help lists what there is\n", what, which);
    return USAGE;
}

static int set_top(arguments *a, const char *text) {
    char *end;
    a->top = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end ? 0 : wrong("--top needs a number, not ", text);
}

/* Returns the value of an option that is given as "--name value" or "--name=value"; NULL if the
 * word is another one. */
static const char *value_of(const char *name, int *i, int count, char **words) {
    const size_t length = strlen(name);
    if (strncmp(words[*i], name, length) != 0)
        return NULL;
    if (words[*i][length] == '=')
        return words[*i] + length + 1;
    return words[*i][length] ? NULL : ++*i < count ? words[*i] : "";
}

static int parse(arguments *a, int count, char **words) {
    for (int i = 1; i < count; i++) {
        const char *word = words[i], *value;
        int bad = 0;
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
            a->help = true;
        else if (strcmp(word, "--version") == 0)
            a->version = true;
        else if ((value = value_of("--svg", &i, count, words)))
            bad = *(a->svg = value) ? 0 : wrong("--svg needs a file", "");
        else if ((value = value_of("--timeline", &i, count, words)))
            bad = *(a->timeline = value) ? 0 : wrong("--timeline needs a file", "");
        else if ((value = value_of("--top", &i, count, words)))
            bad = set_top(a, value);
        else if ((*word == '-' && word[1]) || a->file)
            bad = wrong(a->file ? "only one file can be shown, not also " : "unknown argument: ",
                        word);
        else
            a->file = word;
        if (bad)
            return bad;
    }
    return a->svg && a->timeline ? wrong("--svg and --timeline exclude each other", "") : 0;
}

/* ---- files ---- */

static int cannot(const char *what, const char *file) {
    fprintf(stderr, "acu-graph: cannot %s %s: %s\n", what, file, strerror(errno));
    return FAILED;
}

/* Reads all of a file, which may be a pipe; NULL if it cannot be read. */
static char *read_all(FILE *file) {
    size_t length = 0, room = 4096;
    char *text = need(room, 1);
    for (size_t got; (got = fread(text + length, 1, room - length - 1, file)) > 0;) {
        length += got;
        if (room - length < 2)
            text = need_more(text, room *= 2, 1);
    }
    text[length] = '\0';
    return ferror(file) ? NULL : text;
}

static int write_svg(picture *graph, const char *name, const char *path, bool timeline) {
    const bool standard = strcmp(path, "-") == 0;
    if (timeline && !picture_draw_timeline(graph, name, NULL)) {
        fprintf(stderr, "acu-graph: %s has no times: acu_graph_profile() measures them\n", name);
        return FAILED;
    }
    FILE *file = standard ? stdout : fopen(path, "w");
    if (!file)
        return cannot("write", path);
    if (timeline)
        (void)picture_draw_timeline(graph, name, file);
    else
        picture_draw(graph, name, file);
    const bool bad = ferror(file) != 0;
    if ((standard ? fflush(file) : fclose(file)) != 0 || bad)
        return cannot("write", path);
    return DONE;
}

static int show(const arguments *a) {
    char error[200];
    const bool standard = !a->file || strcmp(a->file, "-") == 0;
    const char *path = standard ? "standard input" : a->file;
    FILE *file = standard ? stdin : fopen(a->file, "r");
    const char *text = file ? read_all(file) : NULL;
    if (!text)
        return cannot("read", path);
    if (!standard)
        fclose(file);
    picture *graph = picture_read(text, error, sizeof error);
    if (!graph) {
        fprintf(stderr, "acu-graph: %s, %s\n", path, error);
        return FAILED;
    }
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (a->svg || a->timeline)
        return write_svg(graph, name, a->svg ? a->svg : a->timeline, a->timeline != NULL);
    picture_print(graph, name, a->top);
    return fflush(stdout) == 0 && !ferror(stdout) ? DONE : cannot("write", "standard output");
}

int main(int count, char **words) {
    arguments a = {.top = TOP};
    const int bad = parse(&a, count, words);
    if (bad)
        return bad;
    if (!a.help && !a.version)
        return show(&a);
    if (a.help)
        fputs(help, stdout);
    else
        printf("acu-graph %s\n", ANYCUDA_VERSION);
    return fflush(stdout) == 0 && !ferror(stdout) ? DONE : cannot("write", "standard output");
}
