/* Shares: their life, and what they are. */
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */

#include "safe/memory/share.h"

#include "safe/memory/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- life ---- */

void acu_share_close(int descriptor) {
    if (descriptor >= 0)
        close(descriptor);
}

void acu_share_close_all(acu_descriptors *descriptors) {
    for (size_t i = 0; i < descriptors->count; i++)
        acu_share_close(descriptors->of[i]);
    free(descriptors->of);
    *descriptors = (acu_descriptors){NULL, 0};
}

int acu_share_make_room(const char *call, size_t room, acu_descriptors *descriptors) {
    *descriptors = (acu_descriptors){room ? malloc(room * sizeof(int)) : NULL, 0};
    if (room == 0 || descriptors->of)
        return 0;
    return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "the host has no memory for %zu descriptors",
                    room);
}

size_t acu_share_count_descriptors(const acu_share_body *body) {
    if (body->way == ACU_SHARE_BY_IPC)
        return 0;
    return body->pieces > 1 ? (size_t)body->pieces + 1 : 1;
}

int acu_share_need_descriptors(const char *call, const acu_share *share) {
    if (share->descriptors.count > 0)
        return 0;
    acu_fail_hint("acu_share_send() sends the descriptors with the token");
    return acu_fail_on(call, share, ACU_ERROR_STATE,
                       "the token came without the descriptors that belong to it, of which there "
                       "are %zu",
                       acu_share_count_descriptors(&share->body));
}

/* What another process uses is destroyed later, and is offered until then. */
static int destroy_share(acu_object *object) {
    acu_share *share = (acu_share *)object;
    if (share->exported && !acu_lease_withdraw(share->body.id))
        return ACU_LATER;
    acu_share_close_all(&share->descriptors);
    acu_share_close(share->lease);
    int opened = acu_object_release(NULL, share->opened, &acu_buffer_class);
    int kept = share->kept ? acu_object_release(NULL, share->kept, share->kept->was) : 0;
    if (share->pool)
        (void)acu_object_release(NULL, share->pool, share->pool->was);
    pthread_mutex_destroy(&share->lock);
    return opened ? opened : kept;
}

static const char *kind_name(uint32_t kind) {
    static const char *const names[] = {"nothing", "a buffer", "a pool", "an event",
                                        "physical memory"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : "something unknown";
}

static void describe_share(const acu_object *object, acu_description *d) {
    const acu_share *share = (const acu_share *)object;
    acu_describe(d, "%s of process %d", kind_name(share->body.kind), (int)share->body.process);
}

const acu_class acu_share_class = {"share", destroy_share, describe_share, acu_breaks_no_capture};

acu_share *acu_share_new(const char *call) {
    acu_share *share = acu_object_new(call, &acu_share_class, sizeof *share, ACU_DEVICE_CURRENT);
    if (!share)
        return NULL;
    share->lease = -1;
    share->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    return share;
}

/* Refuses what the exporting process has taken back. Where nothing is known, CUDA decides. */
static int check_offer(const char *call, const acu_share *share) {
    if (share->lease >= 0 ? acu_lease_is_offered(share->lease, share->body.id)
                          : !acu_share_has_ended(&share->body))
        return 0;
    acu_fail_hint("the exporting process keeps its share until the others have made theirs");
    return acu_fail_on(call, share, ACU_ERROR_STATE,
                       "the process that exported it has released its share, or has ended");
}

static int check_count(const char *call, const acu_share_body *body, size_t count) {
    const size_t needed = acu_share_count_descriptors(body);
    if (count == 0 || count == needed)
        return 0;
    return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                    "%zu descriptors came with the token, to which %zu belong", count, needed);
}

int acu_share_new_of(const char *call, const void *token, size_t bytes, acu_descriptors descriptors,
                     int lease, acu_share **share) {
    acu_share_body body;
    acu_share *made = NULL;
    acu_device device;
    int code = acu_share_decode(call, token, bytes, &body);
    if (!code)
        code = check_count(call, &body, descriptors.count);
    if (!code)
        code = acu_share_find_device(call, &body, &device);
    if (!code) {
        made = acu_share_new(call);
        code = made ? 0 : ACU_ERROR_HOST_MEMORY;
    }
    if (code) {
        acu_share_close_all(&descriptors);
        acu_share_close(lease);
        return code;
    }
    made->body = body;
    made->descriptors = descriptors;
    made->lease = lease >= 0 ? lease : acu_lease_take(&body);
    code = check_offer(call, made);
    if (code)
        acu_share_cleanup(&made);
    else
        *share = made;
    return code;
}

/* Copies descriptors that stay the caller's; returns 0 or a failure recorded for `call`. */
static int copy_descriptors(const char *call, const int *of, size_t count,
                            acu_descriptors *copies) {
    ACU_TRY(acu_share_make_room(call, count, copies));
    while (copies->count < count) {
        const int copy = fcntl(of[copies->count], F_DUPFD_CLOEXEC, 0);
        if (copy < 0) {
            const int why = errno, descriptor = of[copies->count];
            acu_share_close_all(copies);
            return acu_fail(call, "", ACU_ERROR_ARGUMENT, "descriptor %d cannot be kept: %s",
                            descriptor, strerror(why));
        }
        copies->of[copies->count++] = copy;
    }
    return 0;
}

acu_result acu_share_create(const void *token, size_t bytes, const int *descriptors, size_t count,
                            acu_share **share) {
    ACU_SCOPE();
    acu_descriptors copies;
    ACU_NEED_POINTER(share);
    *share = NULL;
    ACU_NEED_POINTER(token);
    ACU_REQUIRE(descriptors || count == 0, ACU_ERROR_ARGUMENT, "'descriptors' is NULL");
    ACU_REQUIRE(count <= ACU_SHARE_DESCRIPTORS, ACU_ERROR_ARGUMENT,
                "%zu descriptors are more than belong to any token", count);
    acu_destroy_deferred();
    ACU_TRY(copy_descriptors(__func__, descriptors, count, &copies));
    return acu_share_new_of(__func__, token, bytes, copies, -1, share);
}

acu_share *acu_share_retain(acu_share *share) {
    return acu_object_retain(__func__, share, &acu_share_class);
}

acu_result acu_share_release(acu_share *share) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, share, &acu_share_class);
}

void acu_share_cleanup(acu_share **share) {
    (void)acu_share_release(acu_take(share));
}

size_t acu_share_describe(const acu_share *share, char *text, size_t size) {
    return acu_object_describe_as(share, &acu_share_class, text, size);
}

/* ---- what a share is ---- */

acu_result acu_share_get_token(acu_share *share, acu_share_token *token) {
    ACU_SCOPE();
    ACU_NEED_POINTER(token);
    memset(token, 0, sizeof *token);
    ACU_NEED(share, acu_share_class);
    acu_share_encode(&share->body, token);
    return 0;
}

acu_result acu_share_get_descriptors(acu_share *share, int *descriptors, size_t *count) {
    ACU_SCOPE();
    ACU_NEED_POINTER(count);
    const size_t room = *count;
    *count = 0;
    ACU_NEED(share, acu_share_class);
    *count = share->descriptors.count;
    for (size_t i = 0; descriptors && i < share->descriptors.count && i < room; i++)
        descriptors[i] = share->descriptors.of[i];
    return 0;
}

static const char *reason_of(const acu_share_body *body) {
    if (body->kind == ACU_SHARE_EVENT)
        return "events are shared by IPC alone";
    if (body->kind == ACU_SHARE_POOL)
        return "a pool is shared by its descriptor";
    if (body->kind == ACU_SHARE_PHYSICAL)
        return "physical memory is shared by its descriptor";
    if (body->way == ACU_SHARE_BY_POOL)
        return "the memory is of a pool that can be shared, and is shared with that";
    if (body->way == ACU_SHARE_BY_DESCRIPTOR)
        return body->pieces > 1
                   ? "the memory is mapped, and is shared by the pieces of physical memory under it"
                   : "the memory is mapped, and is shared by the physical memory under it";
    return "the memory is cudaMalloc()'s, which needs no descriptor by IPC";
}

acu_result acu_share_get_info(acu_share *share, acu_share_info *info) {
    ACU_SCOPE();
    acu_device device = ACU_DEVICE_CURRENT;
    ACU_NEED_POINTER(info);
    memset(info, 0, sizeof *info);
    info->device = ACU_DEVICE_CURRENT;
    ACU_NEED(share, acu_share_class);
    const acu_share_body *body = &share->body;
    ACU_TRY(acu_share_find_device(__func__, body, &device));
    *info = (acu_share_info){
        .kind = (acu_share_kind)body->kind,
        .way = (acu_share_way)body->way,
        .reason = reason_of(body),
        .device = device,
        .dtype = (acu_dtype)body->dtype,
        .count = (size_t)body->count,
        .offset = (size_t)body->offset,
        .bytes = (size_t)body->bytes,
        .pieces = body->way != ACU_SHARE_BY_DESCRIPTOR ? 0
                  : body->pieces > 1                   ? (size_t)body->pieces
                                                       : 1,
        .process = (int)body->process,
        .exported = acu_share_is_own(body),
    };
    return 0;
}

static int check_exported(const char *call, const acu_share *share) {
    if (share->exported)
        return 0;
    return acu_fail_on(call, share, ACU_ERROR_STATE,
                       "only the process that exported it is told who uses it");
}

acu_result acu_share_is_used(acu_share *share, bool *used) {
    ACU_SCOPE();
    ACU_NEED_POINTER(used);
    *used = false;
    ACU_NEED(share, acu_share_class);
    ACU_TRY(check_exported(__func__, share));
    *used = acu_lease_is_used(share->body.id, false);
    return 0;
}

acu_result acu_share_wait(acu_share *share) {
    ACU_SCOPE();
    acu_destroy_deferred();
    ACU_NEED(share, acu_share_class);
    ACU_TRY(check_exported(__func__, share));
    (void)acu_lease_is_used(share->body.id, true);
    return 0;
}
