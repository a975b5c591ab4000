/* Two ways to do the same, in pairs within one process, and a row of a table in Markdown. */
#ifndef PAIRS_H
#define PAIRS_H

/* Does it so many times. */
typedef void loop(long calls);

/* After each half of a pair, outside the time taken: what a loop left in a queue is not its own. */
typedef void settle(void);

void print_header(const char *first, const char *second);
/* `most` calls in a row at most, so many as a queue takes without waiting; 0: any number. */
void compare(const char *name, loop *first, loop *second, long most, settle *after);

#endif
