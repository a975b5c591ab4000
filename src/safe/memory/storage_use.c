/* Storage: which streams use it, and which uses wait for which. */
#include "safe/memory/storage.h"
#include "safe/memory/allocator.h"

/* ---- the table ---- */

static acu_timeline *sole_of(const acu_storage *storage) {
    return __atomic_load_n(&storage->sole, __ATOMIC_SEQ_CST);
}

/* Returns whether the timeline is the home stream's, which keeps it: the storage has no reference
 * to that one. */
static bool is_home_timeline(const acu_storage *storage, const acu_timeline *timeline) {
    return storage->home && storage->home->timeline == timeline;
}

static acu_timeline *retain(const acu_storage *storage, acu_timeline *timeline) {
    return is_home_timeline(storage, timeline) ? timeline : acu_timeline_retain(timeline);
}

static int release(const acu_storage *storage, acu_timeline *timeline) {
    return is_home_timeline(storage, timeline) ? 0 : acu_timeline_release(timeline);
}

static acu_use *find_use(acu_storage *storage, const acu_timeline *timeline) {
    for (unsigned i = 0; i < storage->use_count; i++)
        if (storage->uses[i].timeline == timeline)
            return &storage->uses[i];
    return NULL;
}

/* Makes the only user an entry of the table, with its reference. It counts as a writer, last just
 * now, because nothing else is known. */
static void open_table(acu_storage *storage) {
    acu_timeline *sole = sole_of(storage);
    if (!sole)
        return;
    __atomic_store_n(&storage->sole, NULL, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&sole->shared_count, 1, __ATOMIC_SEQ_CST); /* before asking for its number */
    storage->plain = false;
    uint64_t version = ++storage->version;
    storage->uses[0] = (acu_use){
        .timeline = sole,
        .number = acu_timeline_now(sole),
        .added = version,
        .written = version,
        .seen = version,
    };
    storage->use_count = 1;
}

static void remove_use(acu_storage *storage, unsigned index) {
    if (release(storage, storage->uses[index].timeline))
        acu_record_release_error();
    storage->uses[index] = storage->uses[--storage->use_count];
}

/* ---- the beginning ---- */

static int wait_for_uses(acu_storage *storage, acu_stream *stream, bool writes) {
    const acu_use *mine = find_use(storage, stream->timeline);
    for (unsigned i = 0; i < storage->use_count; i++) {
        const acu_use *use = &storage->uses[i];
        bool seen = mine && use->written && mine->seen >= use->added;
        if (use == mine || seen || (!writes && !use->written))
            continue;
        int code = acu_timeline_wait(use->timeline, use->number, stream);
        if (code)
            return code;
    }
    return 0;
}

/* Returns what a graph keeps for the memory: what was made in its capture may be released there,
 * and the memory be used again. */
static acu_object *kept_by(const acu_capture *capture, acu_storage *storage) {
    const acu_allocator *a = storage->allocator;
    return a && a->way->kept_by ? a->way->kept_by(capture, storage) : &storage->object;
}

int acu_storage_begin_use_slow(acu_storage *storage, acu_stream *stream, bool writes,
                               uint64_t *version) {
    acu_capture *capture = acu_capture_of(stream);
    int code = capture ? capture->use(capture, kept_by(capture, storage), writes) : 0;
    if (code || acu_has(storage->flags, ACU_BUFFER_UNORDERED))
        return code;
    if (capture)
        return acu_capture_order_use(&capture->order, stream, storage, writes);
    pthread_mutex_lock(&storage->lock);
    open_table(storage);
    code = wait_for_uses(storage, stream, writes);
    *version = storage->version;
    pthread_mutex_unlock(&storage->lock);
    return code;
}

/* ---- the end ---- */

/* Makes room in a full table: the stream waits for the oldest use of another one, and its own entry
 * then stands for both, also for what the other one wrote. Where nobody can wait, the use stays:
 * the table has some more room for that. */
static int merge_oldest_use(acu_storage *storage, acu_stream *stream, bool *writes) {
    unsigned oldest = 0;
    for (unsigned i = 1; i < storage->use_count; i++)
        if (storage->uses[i].added < storage->uses[oldest].added)
            oldest = i;
    const acu_use *use = &storage->uses[oldest];
    int code = acu_timeline_wait(use->timeline, use->number, stream);
    if (code) /* the use must not be forgotten before it is done, so the thread waits */
        code = acu_timeline_synchronize(use->timeline, use->number);
    if (!acu_timeline_was_finished(code) && storage->use_count < ACU_MOST_USES)
        return code;
    *writes = *writes || use->written != 0;
    remove_use(storage, oldest);
    return code;
}

/* Removes the uses that the write has waited for. A use that was added after the write began was
 * not waited for, and stays. */
static void remove_older(acu_storage *storage, const acu_timeline *writer, uint64_t version) {
    for (unsigned i = storage->use_count; i-- > 0;)
        if (storage->uses[i].timeline != writer && storage->uses[i].added <= version)
            remove_use(storage, i);
}

static int add_use(acu_storage *storage, acu_stream *stream, bool writes, uint64_t seen) {
    int code = 0;
    if (writes)
        remove_older(storage, stream->timeline, seen);
    acu_use *mine = find_use(storage, stream->timeline);
    if (!mine) {
        if (storage->use_count >= ACU_USES)
            code = merge_oldest_use(storage, stream, &writes);
        mine = &storage->uses[storage->use_count++];
        *mine = (acu_use){.timeline = retain(storage, stream->timeline)};
    }
    mine->number = acu_timeline_issue(stream->timeline);
    mine->added = ++storage->version;
    mine->seen = seen;
    if (writes)
        mine->written = mine->added;
    return code;
}

int acu_storage_end_use_slow(acu_storage *storage, acu_stream *stream, bool writes,
                             uint64_t version) {
    if (acu_has(storage->flags, ACU_BUFFER_UNORDERED))
        return 0;
    pthread_mutex_lock(&storage->lock);
    open_table(storage);
    int code = add_use(storage, stream, writes, version);
    if (storage->use_count == 1 && storage->uses[0].timeline == stream->timeline) {
        storage->use_count = 0; /* the entry's reference becomes that of `sole` */
        __atomic_store_n(&storage->sole, stream->timeline, __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&storage->lock);
    return code;
}

/* ---- all uses ---- */

__attribute__((noinline)) int acu_storage_gather_uses(acu_storage *storage) {
    int code = 0;
    pthread_mutex_lock(&storage->lock);
    open_table(storage);
    for (unsigned i = 0; i < storage->use_count && !code; i++) {
        const acu_use *use = &storage->uses[i];
        code = acu_timeline_wait(use->timeline, use->number, storage->home);
        if (code)
            code = acu_timeline_synchronize(use->timeline, use->number);
    }
    pthread_mutex_unlock(&storage->lock);
    return code;
}

/* Lets the thread wait without the lock, because what it waits for may itself wait for another
 * thread that uses the memory. */
int acu_storage_synchronize(acu_storage *storage) {
    acu_use uses[ACU_MOST_USES];
    int code = 0;
    if (acu_has(storage->flags, ACU_BUFFER_UNORDERED))
        return 0;
    pthread_mutex_lock(&storage->lock);
    open_table(storage);
    const unsigned count = storage->use_count;
    for (unsigned i = 0; i < count; i++) {
        uses[i] = storage->uses[i];
        (void)acu_timeline_retain(uses[i].timeline);
    }
    pthread_mutex_unlock(&storage->lock);
    for (unsigned i = 0; i < count; i++) {
        if (!code)
            code = acu_timeline_synchronize(uses[i].timeline, uses[i].number);
        if (acu_timeline_release(uses[i].timeline))
            acu_record_release_error();
    }
    return code;
}

/* Where the home alone uses the memory, nothing is to be gained from a table. */
size_t acu_storage_forget_over(acu_storage *storage) {
    if (acu_has(storage->flags, ACU_BUFFER_UNORDERED))
        return 0;
    pthread_mutex_lock(&storage->lock);
    acu_timeline *sole = sole_of(storage);
    size_t left = sole ? 1 : storage->use_count;
    if (sole && is_home_timeline(storage, sole)) {
        left = !acu_timeline_is_over(sole, acu_timeline_now(sole));
    } else if (left > 0) {
        open_table(storage);
        for (unsigned i = storage->use_count; i-- > 0;)
            if (acu_timeline_is_over(storage->uses[i].timeline, storage->uses[i].number))
                remove_use(storage, i);
        left = storage->use_count;
    }
    pthread_mutex_unlock(&storage->lock);
    return left;
}

/* A reference is held to each timeline in the table but the home's, so that two of them change. */
int acu_storage_move(acu_storage *storage, acu_stream *to) {
    acu_stream *from = storage->home;
    int code = 0;
    pthread_mutex_lock(&storage->lock);
    open_table(storage);
    for (unsigned i = 0; i < storage->use_count && from->timeline != to->timeline; i++) {
        acu_timeline *timeline = storage->uses[i].timeline;
        if (timeline == from->timeline)
            (void)acu_timeline_retain(timeline);
        else if (timeline == to->timeline && acu_timeline_release(timeline))
            acu_record_release_error();
    }
    acu_object_add_owner(to);
    storage->home = to;
    storage->plain = false;
    storage->cache = NULL;
    pthread_mutex_unlock(&storage->lock);
    code = acu_object_release(NULL, from, &acu_stream_class);
    return code;
}

int acu_storage_forget_uses(acu_storage *storage) {
    int code = release(storage, sole_of(storage));
    while (storage->use_count > 0)
        remove_use(storage, storage->use_count - 1);
    return code;
}
