/* The arguments of fuzz and of threads: numbers, and lists of them. */
#ifndef FUZZ_ARGUMENTS_H
#define FUZZ_ARGUMENTS_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether a list such as 3,17-20 has the number; a list that is NULL has all. */
static inline bool is_listed(const char *list, unsigned long number) {
    while (list && *list) {
        char *end;
        const unsigned long from = strtoul(list, &end, 10);
        const unsigned long to = *end == '-' ? strtoul(end + 1, &end, 10) : from;
        if (number >= from && number <= to)
            return true;
        if (*end != ',')
            return false;
        list = end + 1;
    }
    return !list;
}

/* Returns whether a text is a number, which is then written. */
static inline bool is_number(const char *text, unsigned long long *number) {
    char *end = NULL;
    errno = 0;
    const unsigned long long read = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno)
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

/* Returns the list of numbers that an argument is; NULL: all. */
static inline const char *numbers_of(int argc, char **argv, int i) {
    const char *list = i < argc ? argv[i] : "all";
    if (strcmp(list, "all") == 0)
        return NULL;
    if (*list && !list[strspn(list, "0123456789,-")])
        return list;
    (void)fprintf(stderr, "%s: %s is not a list such as 3,17-20\n", argv[0], list);
    exit(2);
}

#endif
