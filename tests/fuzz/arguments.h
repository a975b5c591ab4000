/* The arguments of fuzz and of threads: numbers, and lists of them. */
#ifndef FUZZ_ARGUMENTS_H
#define FUZZ_ARGUMENTS_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a number, which begins with a digit; returns what follows it, or NULL where there is none
 * or it is too large. */
static inline const char *read_number(const char *text, unsigned long long *number) {
    char *end = NULL;
    if (text[0] < '0' || text[0] > '9')
        return NULL;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno ? NULL : end;
}

/* Reads a number or a range such as 17-20, which does not descend; returns what follows it, or NULL
 * where there is none. */
static inline const char *read_range(const char *text, unsigned long long *from,
                                     unsigned long long *to) {
    const char *end = read_number(text, from);
    *to = *from;
    if (end && *end == '-')
        end = read_number(end + 1, to);
    return end && *from <= *to ? end : NULL;
}

/* Returns whether a text is a list such as 3,17-20. */
static inline bool is_list(const char *text) {
    unsigned long long from = 0, to = 0;
    const char *end = read_range(text, &from, &to);
    while (end && *end == ',')
        end = read_range(end + 1, &from, &to);
    return end && !*end;
}

/* Returns whether a list has the number; a list that is NULL has all. */
static inline bool is_listed(const char *list, unsigned long number) {
    unsigned long long from = 0, to = 0;
    for (const char *end = list; end; end = *end ? end + 1 : NULL) {
        end = read_range(end, &from, &to);
        if (!end)
            return false;
        if (number >= from && number <= to)
            return true;
    }
    return !list;
}

/* Returns whether a text is a number, which is then written. */
static inline bool is_number(const char *text, unsigned long long *number) {
    unsigned long long read = 0;
    const char *end = read_number(text, &read);
    if (!end || *end)
        return false;
    *number = read;
    return true;
}

/* Returns the number that an argument is, or what it is without one; ends the program, saying so,
 * where it is no number. */
static inline unsigned long long number_of(int argc, char **argv, int i,
                                           unsigned long long without) {
    unsigned long long number = without;
    if (i >= argc || is_number(argv[i], &number))
        return number;
    (void)fprintf(stderr, "%s: %s is not a number\n", argv[0], argv[i]);
    exit(2);
}

/* Returns the list of numbers that an argument is, or NULL: all; ends the program, saying so, where
 * it is no such list. */
static inline const char *numbers_of(int argc, char **argv, int i) {
    const char *list = i < argc ? argv[i] : "all";
    if (strcmp(list, "all") == 0)
        return NULL;
    if (is_list(list))
        return list;
    (void)fprintf(stderr, "%s: '%s' is not a list of numbers, such as 3,17-20\n", argv[0], list);
    exit(2);
}

#endif
