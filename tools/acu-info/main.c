/* acu-info: what CUDA this machine has, what a program gets of it, and why. */
#include "report.h"

#include <stdio.h>
#include <string.h>

#include <anycuda/cudart.h>

static const char help[] =
    "usage: acu-info [--json | --topology | --quiet] [--library PATH | --sim]\n"
    "\n"
    "Prints which CUDA libraries are found where and why, the driver, the devices\n"
    "and their state, and every feature with the reason where it cannot be used.\n"
    "\n"
    "  --json          print JSON instead, for programs\n"
    "  --topology      print a matrix: which device reaches which, and how fast\n"
    "  --quiet         print nothing; the exit status is the answer\n"
    "  --library PATH  take this CUDA runtime and no other\n"
    "  --sim           take the simulator\n"
    "  -h, --help      print this\n"
    "  --version       print the version\n"
    "\n"
    "Exit status:\n"
    "  0  a GPU can be used\n"
    "  1  CUDA failed in another way, or the output could not be written\n"
    "  2  wrong arguments\n"
    "  3  there is no usable CUDA runtime library\n"
    "  4  there is no driver, or none that the runtime can use\n"
    "  5  there is no device\n"
    "  6  the simulator runs, which is no GPU\n";

typedef struct arguments {
    const char *library;
    bool json, topology, quiet, help, version;
} arguments;

static int wrong(const char *what, const char *which) {
    fprintf(stderr, "acu-info: %s%s; acu-info --help lists what there is\n", what, which);
    return VERDICT_USAGE;
}

static int choose(arguments *a, const char *library) {
    if (a->library)
        return wrong("only one library can be chosen, not also ", library);
    a->library = library;
    return 0;
}

static int parse(arguments *a, int count, char **words) {
    static const char equals[] = "--library=";
    for (int i = 1; i < count; i++) {
        const char *word = words[i];
        int bad = 0;
        if (strcmp(word, "--json") == 0)
            a->json = true;
        else if (strcmp(word, "--topology") == 0)
            a->topology = true;
        else if (strcmp(word, "--quiet") == 0)
            a->quiet = true;
        else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
            a->help = true;
        else if (strcmp(word, "--version") == 0)
            a->version = true;
        else if (strcmp(word, "--sim") == 0)
            bad = choose(a, "sim");
        else if (strncmp(word, equals, sizeof equals - 1) == 0)
            bad = choose(a, word + sizeof equals - 1);
        else if (strcmp(word, "--library") == 0)
            bad = ++i < count ? choose(a, words[i]) : wrong("--library needs a path", "");
        else
            bad = wrong("unknown argument: ", word);
        if (bad)
            return bad;
    }
    return a->json + a->topology + a->quiet > 1
               ? wrong("--json, --topology and --quiet exclude each other", "")
               : 0;
}

/* A full disk or a closed pipe must not look like success. */
static int finish(verdict v) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return v;
    perror("acu-info: cannot write");
    return VERDICT_ERROR;
}

int main(int count, char **words) {
    arguments a = {0};
    report r;
    int bad = parse(&a, count, words);
    if (bad)
        return bad;
    if (a.help || a.version) {
        if (a.help)
            fputs(help, stdout);
        else
            printf("acu-info %s, CUDA %d.%d\n", ANYCUDA_VERSION, MAJOR(CUDART_VERSION),
                   MINOR(CUDART_VERSION));
        return finish(VERDICT_GPU);
    }
    report_gather(&r, a.library, !a.quiet);
    if (a.json)
        report_print_json(&r);
    else if (a.topology)
        report_print_topology(&r);
    else if (!a.quiet)
        report_print_text(&r);
    verdict v = r.verdict;
    report_free(&r);
    return finish(v);
}
