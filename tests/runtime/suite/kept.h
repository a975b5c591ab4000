/* What surrounds a case: the client that it begins with, and what is released after it. */
#ifndef KEPT_H
#define KEPT_H

#include <stdbool.h>

void begin_case(void);
/* Releases what the case made, and checks that nothing is left. */
void end_of_case(void);
/* Releases what the case made, after a failure. */
void drop_kept(void);
/* A check failed, on any thread. */
bool case_has_failed(void);

#endif
