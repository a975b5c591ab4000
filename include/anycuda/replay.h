/*
 * Replays: work that is recorded once and run many times.
 *
 * A function gives work to a client, which records the work instead of doing it. Where the place
 * can capture (ACU_CAN_CAPTURE), a replay is then one piece of work for the device; elsewhere the
 * recorded calls are made again, one after the other, with the same result.
 *
 * A replay keeps what it needs: blocks, programs, and copies of what was written from the host. The
 * memory of blocks that are made and released inside of the function is the replay's own. All may
 * be released in any order. One run of a replay follows the other.
 */
#ifndef ACU_REPLAY_H
#define ACU_REPLAY_H

#include <anycuda/program.h>

ACU_BEGIN_C

/** Recorded work. */
typedef struct acu_replay acu_replay;

/** A block that a replay is asked for by name, because its contents come or go each time. */
typedef struct acu_named_block {
    const char *name; /* copied */
    acu_block *block;
} acu_named_block;

/**
 * Records the work that `function` gives to the client on this thread; the caller owns the replay.
 *
 * Nothing is done yet. `named` are its inputs and outputs, which need not be used. While a client
 * records, other threads that use it wait. Errors: what `function` returns, or the first call in it
 * that failed, also where it returns 0: there is no replay then; ACU_ERROR_CAPTURE in the function
 * for what waits or reads to the host, for marks, and for copies to another place; ACU_ERROR_STATE
 * where this thread records with the client already; ACU_ERROR_ARGUMENT where two blocks have one
 * name; ACU_ERROR_DEVICE where a named block is of another place.
 */
ACU_CHECKED acu_result acu_replay_record(acu_client *client,
                                         acu_result (*function)(acu_client *client, void *data),
                                         void *data, const acu_named_block *named, size_t count,
                                         acu_replay **replay);

/** Does the recorded work once more, after what its client was given before; does not wait. */
ACU_CHECKED acu_result acu_replay_run(acu_replay *replay);

/** Returns whether a run is one piece of work for the device; false: the calls are made again. */
bool acu_replay_is_real(const acu_replay *replay);

/** Returns why acu_replay_is_real() is false, in one sentence; "" where it is true. */
const char *acu_replay_why(const acu_replay *replay);

/** Asks for a named block, which stays the replay's. Errors: ACU_ERROR_ARGUMENT: no such name. */
ACU_CHECKED acu_result acu_replay_get_block(acu_replay *replay, const char *name,
                                            acu_block **block);

/** Adds an owner and returns the replay; NULL where the handle is not a replay. */
acu_replay *acu_replay_retain(acu_replay *replay);

/** Takes an owner away; runs that are under way go on. Everything else is as for
 * acu_client_release(). */
acu_result acu_replay_release(acu_replay *replay);

void acu_replay_cleanup(acu_replay **replay);

/** Writes one line that names the replay, as errors do; acu_stream_describe() has the rules. */
size_t acu_replay_describe(const acu_replay *replay, char *text, size_t size);

ACU_END_C

#endif
