/* Times of calls: each alone, or two ways to do the same in pairs within one process. */
#ifndef PAIRS_H
#define PAIRS_H

/* Does it so many times. */
typedef void loop(long calls);

/* After each half of a pair, outside the time taken: what a loop left in a queue is not its own. */
typedef void settle(void);

double now_ns(void);
/* Sorts them. */
double median_of(double *values, int count);
/* How many calls in a row last about so long; `most` at most, 0: any number. */
long calls_for(double ns, loop *fn, long most, settle *after);
/* Nanoseconds for one of so many calls. */
double measure(loop *fn, long calls, settle *after);

/* A row of a table in Markdown for each pair. */
void print_header(const char *first, const char *second);
/* `most` calls in a row at most, so many as a queue takes without waiting; 0: any number. Returns
 * the median ratio. */
double compare(const char *name, loop *first, loop *second, long most, settle *after);

#endif
