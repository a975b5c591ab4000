/*
 * Trains a small network to read drawn digits, on the CPU, CUDA and WebGPU, and compares the places
 * by the loss of each step.
 *
 * tensor.h has the operations, network.h the network, and trainer.c shows how a replay and marks
 * keep a place busy. This file is the command line.
 */
#include "curve.h"
#include "trainer.h"

#include <anycuda/load.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How far the loss of a step may be from the CPU's. README.md says where the number is from. */
static const double ALLOWED = 1e-4;

static const char usage[] =
    "usage: tensor_train [PLACE…] [OPTION…]\n"
    "\n"
    "Trains a network to read drawn digits, and compares the places by the loss of each step.\n"
    "\n"
    "  PLACE           cpu, cuda, webgpu, cuda:1 …; all, which is said by no place, are those\n"
    "                  that can be used\n"
    "  --steps N       steps of training, 400 if nothing is said\n"
    "  --every N       print the loss after so many steps, 50\n"
    "  --seed N        of the digits and of the first weights, 1\n"
    "  --curve FILE    write the losses as a table (CSV)\n"
    "  --drawing FILE  draw the losses (SVG)\n"
    "\n"
    "Returns 0; 1 where a place fails, or its loss is more than 0.0001 from the CPU's; 2 for "
    "wrong\n"
    "arguments; 77 where a place that was named cannot be used.\n";

enum { MOST_PLACES = 16, CANNOT_BE_USED = 77 };

typedef struct arguments {
    trainer_settings training;
    const char *table, *drawing; /* NULL: not wanted */
    acu_place places[MOST_PLACES];
    size_t place_count; /* 0: all */
} arguments;

/* ---- the command line ---- */

/* Ends the program because of an argument. */
__attribute__((format(printf, 1, 2))) static _Noreturn void refuse(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("error: ", stderr);
    (void)vfprintf(stderr, format, args);
    fputs("; tensor_train --help has the list\n", stderr);
    va_end(args);
    exit(2);
}

static uint64_t number(const char *option, const char *text, uint64_t low) {
    char *end = NULL;
    errno = 0;
    const uint64_t value = text ? strtoull(text, &end, 10) : 0;
    if (!text || end == text || *end || errno || *text == '-' || value < low || value > 1000000)
        refuse("a number from %d to 1000000 must follow '%s'", (int)low, option);
    return value;
}

static const char *file(const char *option, const char *text) {
    if (!text)
        refuse("a file must follow '%s'", option);
    return text;
}

/* Takes an option with its value, and returns whether it was one. */
static bool take_option(arguments *a, const char *option, const char *value) {
    if (strcmp(option, "--steps") == 0)
        a->training.steps = (size_t)number(option, value, 1);
    else if (strcmp(option, "--every") == 0)
        a->training.every = (size_t)number(option, value, 1);
    else if (strcmp(option, "--seed") == 0)
        a->training.seed = number(option, value, 0);
    else if (strcmp(option, "--curve") == 0)
        a->table = file(option, value);
    else if (strcmp(option, "--drawing") == 0)
        a->drawing = file(option, value);
    else
        return false;
    return true;
}

static void take_place(arguments *a, const char *text) {
    if (strcmp(text, "all") == 0)
        return;
    if (*text == '-')
        refuse("there is no option '%s'", text);
    if (a->place_count == MOST_PLACES)
        refuse("'%s' is one place too many", text);
    if (acu_place_parse(text, &a->places[a->place_count]))
        refuse("%s", acu_last_error_message());
    a->place_count++;
}

static arguments parse(char **texts) {
    arguments a = {.training = {.steps = 400, .every = 50, .seed = 1}};
    for (; *texts; texts++) {
        if (strcmp(*texts, "--help") == 0) {
            fputs(usage, stdout);
            exit(0);
        }
        if (take_option(&a, texts[0], texts[1]))
            texts++;
        else
            take_place(&a, *texts);
    }
    return a;
}

/* ---- places ---- */

/* Names the first device of each runtime, the CPU's before all others. */
static void name_all(arguments *a) {
    for (int i = 0; i < acu_runtime_count() && i < MOST_PLACES; i++)
        a->places[a->place_count++] = (acu_place){i, 0};
}

/* Returns whether a place can be used; prints why it cannot. */
static bool can_use(acu_place place, const char *name) {
    int count = 0;
    const acu_result result = acu_runtime_get_device_count(place.runtime, &count);
    if (result)
        printf("%s cannot be used: %s\n", name, acu_last_error_message());
    else if (place.device >= count)
        printf("%s cannot be used: there are %d devices\n", name, count);
    return !result && place.device < count;
}

/* Writes what a curve is called: "cuda:0, anycuda simulator"; what a drawing cannot have becomes a
 * space. */
static void name_curve(acu_place place, char name[CURVE_NAME]) {
    acu_place_info info;
    const size_t length = acu_place_describe(place, name, CURVE_NAME);
    if (length < CURVE_NAME && acu_place_get_info(place, &info) == ACU_SUCCESS)
        (void)snprintf(name + length, CURVE_NAME - length, ", %s", info.name);
    for (char *c = name; (c = strpbrk(c, "\"<>&"));)
        *c = ' ';
}

/* ---- training and comparing ---- */

typedef struct curves {
    curve list[MOST_PLACES];
    size_t count;
    const curve *cpu; /* NULL: none */
} curves;

/* Trains on a place; returns what the program returns. */
static int train(const arguments *a, acu_place place, curves *all) {
    curve *c = &all->list[all->count];
    name_curve(place, c->name);
    c->steps = a->training.steps;
    c->loss = calloc(c->steps, sizeof *c->loss);
    if (!c->loss) {
        fprintf(stderr, "error: the host has no memory for %zu losses\n", c->steps);
        return 1;
    }
    all->count++;
    printf("%s\n", c->name);
    if (trainer_run(place, &a->training, c->loss)) {
        fprintf(stderr, "error: on %s: %s\n", c->name, tensor_error());
        return 1;
    }
    if (place.runtime == ACU_RUNTIME_CPU)
        all->cpu = c;
    return 0;
}

static int train_everywhere(const arguments *a, bool named, curves *all) {
    for (size_t i = 0; i < a->place_count; i++) {
        char name[64];
        (void)acu_place_describe(a->places[i], name, sizeof name);
        const bool usable = can_use(a->places[i], name);
        if (!usable && named)
            return CANNOT_BE_USED;
        if (usable && train(a, a->places[i], all))
            return 1;
    }
    return 0;
}

/* Compares the curves with the CPU's; returns 1 where one is too far from it. */
static int compare(const curves *all) {
    int result = 0;
    for (size_t i = 0; i < all->count && all->cpu; i++) {
        const curve *c = &all->list[i];
        if (c == all->cpu)
            continue;
        const double difference = curve_difference(c, all->cpu);
        const bool good = difference <= ALLOWED; /* false also where it is no number */
        printf("%s: the loss differs by %.2g at most from the CPU's; %s %g\n", c->name, difference,
               good ? "allowed is" : "that is more than", ALLOWED);
        if (!good)
            result = 1;
    }
    return result;
}

static int write_files(const arguments *a, const curves *all) {
    if (a->table && !curve_write_table(a->table, all->list, all->count)) {
        fprintf(stderr, "error: %s: %s\n", a->table, strerror(errno));
        return 1;
    }
    if (a->drawing && !curve_draw(a->drawing, all->list, all->count, ALLOWED)) {
        fprintf(stderr, "error: %s: %s\n", a->drawing, strerror(errno));
        return 1;
    }
    return 0;
}

/* Returns 1 where something was released wrongly, or the last of its work failed. */
static int check_releases(void) {
    acu_error error;
    if (acu_release_error(&error) == 0)
        return 0;
    fprintf(stderr, "error: %s\n", error.message);
    return 1;
}

int main(int count, char **texts) {
    static curves all;
    acu_runtime_add_all();
    arguments a = parse(texts + (count > 0));
    const bool named = a.place_count > 0;
    if (!named)
        name_all(&a);
    /* Without a driver CUDA is the simulator. Where that fails, too, the place says why. */
    (void)acu_load(&(acu_load_options){.flags = ACU_LOAD_ALLOW_SIM});
    int result = train_everywhere(&a, named, &all);
    if (!result)
        result = write_files(&a, &all);
    if (!result)
        result = compare(&all);
    if (!result)
        result = check_releases();
    for (size_t i = 0; i < all.count; i++)
        free(all.list[i].loss);
    return result;
}
