/*
 * Runs the checks and prints a line for each, fields separated by tabs:
 *   start NAME | pass NAME SAID | fail NAME SAID | skip NAME REASON | value KEY VALUE
 * `smoke NAME` goes on after the check NAME: how report.py passes by one that crashed.
 * Exits with 77, after saying why, where there is no GPU.
 */
#define _GNU_SOURCE
#include "smoke.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SKIPPED = 77 };

static struct {
    bool failed, skipped;
    char text[4096];
} said;

static void PRINTF(1, 0) say(const char *format, va_list args) {
    size_t used = strlen(said.text);
    used += (size_t)snprintf(said.text + used, sizeof said.text - used, "%s", used ? "; " : "");
    vsnprintf(said.text + used, sizeof said.text - used, format, args);
}

#define SAY(format)                                                                                \
    do {                                                                                           \
        va_list args;                                                                              \
        va_start(args, format);                                                                    \
        say(format, args);                                                                         \
        va_end(args);                                                                              \
    } while (0)

void fail(const char *format, ...) {
    said.failed = true;
    SAY(format);
}

void skip(const char *format, ...) {
    said.skipped = true;
    SAY(format);
}

void tell(const char *format, ...) {
    SAY(format);
}

void value(const char *key, const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("value\t%s\t", key);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

bool failed(const char *call, int result) {
    if (result)
        fail("%s: %d (%s)", call, result, acu_last_error_message());
    return result != 0;
}

void expect_refusal(const char *call, cudaError_t result, int since) {
    char text[32];
    snprintf(text, sizeof text, "needs CUDA %d.%d", since / 1000, since % 1000 / 10);
    EXPECT(result == cudaErrorNotSupported, "%s: %d instead of a refusal", call, result);
    EXPECT(strstr(acu_last_error_message(), text), "\"%s\" lacks \"%s\"", acu_last_error_message(),
           text);
    tell("refused, as it %s", text);
}

int runtime(void) {
    return acu_loaded(ACU_CUDART)->version;
}

int driver(void) {
    return acu_loaded(ACU_CUDART)->driver;
}

void *raw(const char *symbol) {
    return dlsym(dlopen(acu_loaded(ACU_CUDART)->path, RTLD_NOW | RTLD_NOLOAD), symbol);
}

static void run(const check *c) {
    memset(&said, 0, sizeof said);
    printf("start\t%s\n", c->name);
    fflush(stdout);
    c->body();
    cudaError_t after = cudaDeviceSynchronize();
    if (after)
        fail("afterwards the device says %d (%s)", after, acu_last_error_message());
    (void)cudaGetLastError();
    acu_clear_error();
    for (char *at = said.text; *at; at++)
        if (*at == '\t' || *at == '\n')
            *at = ' ';
    printf("%s\t%s\t%s\n",
           said.failed    ? "fail"
           : said.skipped ? "skip"
                          : "pass",
           c->name, said.text);
    fflush(stdout);
}

int main(int argc, char **argv) {
    const check *const groups[] = {memory_checks, property_checks, graph_checks,
                                   kernel_checks, boundary_checks, ptds_checks};
    bool waiting = argc > 1;
    int count = 0;
    cudaError_t result = cudaGetDeviceCount(&count);
    if (result || count == 0) {
        printf("no GPU: %s\n", result ? acu_last_error_message() : "no device");
        return SKIPPED;
    }
    const acu_load_info *loaded = acu_loaded(ACU_CUDART);
    printf("about\t%s\t%d\t%d\n", loaded->path, loaded->version, loaded->driver);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (const check *c = groups[i]; c->name; c++)
            if (!waiting)
                run(c);
            else if (strcmp(c->name, argv[1]) == 0)
                waiting = false;
    return 0;
}
