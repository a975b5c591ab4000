/*
 * Marks: a point in a client's queue, which a thread or another client waits for.
 *
 * A mark that nobody waits for costs nothing more, and may be released at any time. Several threads
 * may use a mark at once, and retain and release it.
 */
#ifndef ACU_MARK_H
#define ACU_MARK_H

#include <anycuda/client.h>

ACU_BEGIN_C

/**
 * Makes a mark for all work that the client was given so far; the caller owns it. Errors:
 * ACU_ERROR_CAPTURE while this thread records with the client.
 */
ACU_CHECKED acu_result acu_mark_create(acu_client *client, acu_mark **mark);

/** Returns ACU_SUCCESS if the work is done, ACU_NOT_READY if not, or the error of the work. */
ACU_CHECKED acu_result acu_mark_query(acu_mark *mark);

/** Waits until the work is done; returns its error. */
ACU_CHECKED acu_result acu_mark_synchronize(acu_mark *mark);

/** Adds an owner and returns the mark; NULL where the handle is not a mark. */
acu_mark *acu_mark_retain(acu_mark *mark);

/** Takes an owner away; the work goes on. Everything else is as for acu_client_release(). */
acu_result acu_mark_release(acu_mark *mark);

void acu_mark_cleanup(acu_mark **mark);

/** Writes one line that names the mark, as errors do; acu_stream_describe() has the rules. */
size_t acu_mark_describe(const acu_mark *mark, char *text, size_t size);

/** Returns the client, which stays the mark's; NULL where the handle is not a mark. */
acu_client *acu_mark_client(const acu_mark *mark);

ACU_END_C

#endif
