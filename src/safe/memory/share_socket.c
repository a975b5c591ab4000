/*
 * Shares: the way from one process to the other over a Unix socket.
 *
 * A message is a token, and what says which descriptors come with it: those of the memory, and last
 * that of a lease. The lease counts from the moment of sending, so that there is no moment in which
 * the exporting process could take the memory for unused.
 *
 * A message goes in one call of the system, as a whole or not at all, so that a socket which does
 * not block is left with nothing half sent. But one call passes at most 253 descriptors: more wait
 * in a socket of their own, whose other end is sent in their place.
 */
#define _GNU_SOURCE /* MSG_CMSG_CLOEXEC, POLLRDHUP */

#include "safe/memory/share.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

typedef struct message {
    acu_share_token token;
    unsigned char has_descriptor, has_lease;
    unsigned char packed; /* the descriptors are in a socket, which came */
    unsigned char reserved;
    uint32_t more; /* descriptors beyond the first */
} message;

enum {
    MOST = 250, /* descriptors that go at once */
    ALL = ACU_SHARE_DESCRIPTORS + 1
};

typedef union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(MOST * sizeof(int))];
} control;

/* Returns whether the call failed because the socket does not block, or not any longer. */
static bool would_block(void) {
    return errno == EAGAIN || errno == EWOULDBLOCK;
}

/* Returns whether the call is to be made again: after a signal, or, where a part of a message has
 * passed already, after the socket is ready. */
static bool again(int socket, short events, bool begun) {
    struct pollfd ready = {.fd = socket, .events = events};
    if (errno == EINTR)
        return true;
    if (!would_block() || !begun)
        return false;
    return poll(&ready, 1, -1) >= 0 || errno == EINTR;
}

static int fail_system(const char *call, const acu_share *share, const char *what) {
    return acu_fail_on(call, share, cudaErrorOperatingSystem, "%s: %s", what, strerror(errno));
}

/* ---- sending ---- */

/* Puts the descriptors beside the first byte. */
static void attach(struct msghdr *header, control *with, const int *descriptors, size_t count) {
    if (count == 0)
        return;
    memset(with, 0, sizeof *with);
    header->msg_control = with;
    header->msg_controllen = CMSG_SPACE(count * sizeof(int));
    struct cmsghdr *first = CMSG_FIRSTHDR(header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(first), descriptors, count * sizeof(int));
}

/* Sends bytes, the first of them with descriptors; returns 0, or -1 with errno. */
static int send_part(int socket, const void *bytes, size_t size, const int *descriptors,
                     size_t count) {
    size_t done = 0;
    while (done < size) {
        control with;
        struct iovec part = {.iov_base = (char *)(uintptr_t)bytes + done, .iov_len = size - done};
        struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
        attach(&header, &with, descriptors, done ? 0 : count);
        const ssize_t some = sendmsg(socket, &header, MSG_NOSIGNAL);
        if (some < 0 && !again(socket, POLLOUT, done > 0))
            return -1;
        done += some > 0 ? (size_t)some : 0;
    }
    return 0;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Puts the descriptors into a socket, from which they are received; returns it, or -1 with errno.
 */
static int pack(const int *descriptors, size_t count) {
    static const char some_byte = 0;
    int ends[2], failed = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
        return -1;
    for (size_t done = 0; done < count && !failed; done += MOST)
        failed = send_part(ends[0], &some_byte, sizeof some_byte, descriptors + done,
                           least(count - done, MOST));
    const int why = errno;
    acu_share_close(ends[0]);
    if (!failed)
        return ends[1];
    acu_share_close(ends[1]);
    errno = why;
    return -1;
}

/* Sends the message and all descriptors; returns 0, or -1 with errno. */
static int send_all(int socket, message *sent, const int *descriptors, size_t count) {
    if (count <= MOST)
        return send_part(socket, sent, sizeof *sent, descriptors, count);
    const int packed = pack(descriptors, count);
    if (packed < 0)
        return -1;
    sent->packed = true;
    const int failed = send_part(socket, sent, sizeof *sent, &packed, 1);
    const int why = errno;
    acu_share_close(packed);
    errno = why;
    return failed;
}

/* Makes the message, and lists its descriptors, which stay the share's and the caller's. */
static size_t prepare(const acu_share *share, int lease, message *sent, int *descriptors) {
    size_t count = share->descriptors.count;
    acu_share_encode(&share->body, &sent->token);
    sent->has_descriptor = count > 0;
    sent->has_lease = lease >= 0;
    sent->more = count > 0 ? (uint32_t)count - 1 : 0;
    for (size_t i = 0; i < count; i++)
        descriptors[i] = share->descriptors.of[i];
    if (lease >= 0)
        descriptors[count++] = lease;
    return count;
}

acu_result acu_share_send(acu_share *share, int socket) {
    ACU_SCOPE();
    message sent = {.has_lease = 0};
    int descriptors[ALL];
    acu_destroy_deferred();
    ACU_NEED(share, acu_share_class);
    ACU_REQUIRE_OF(share, share->exported, ACU_ERROR_STATE,
                   "only the process that exported it sends it");
    const int lease = acu_lease_lend(share->body.id);
    const size_t count = prepare(share, lease, &sent, descriptors);
    const int failed = send_all(socket, &sent, descriptors, count);
    const int why = errno;
    acu_share_close(lease);
    errno = why;
    if (failed && would_block())
        return ACU_NOT_READY;
    return failed ? fail_system(__func__, share, "the socket cannot send it") : 0;
}

/* ---- receiving ---- */

/* What came so far. */
typedef struct arrival {
    message got;
    size_t size; /* bytes of the message */
    int descriptors[ALL];
    size_t count;
} arrival;

/* Takes the descriptors out of what came; what is too many is closed. */
static void detach(struct msghdr *header, arrival *a) {
    for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at; at = CMSG_NXTHDR(header, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
            continue;
        const size_t given = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < given; i++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(at) + i * sizeof(int), sizeof descriptor);
            if (a->count < ALL)
                a->descriptors[a->count++] = descriptor;
            else
                acu_share_close(descriptor);
        }
    }
}

/* Receives bytes up to the size, or to the end of the socket, and their descriptors, and adds how
 * many came to `done`; returns 0, or -1 with errno. */
static int receive_part(int socket, void *bytes, size_t size, int flags, size_t *done, arrival *a) {
    while (*done < size) {
        control with;
        struct iovec part = {.iov_base = (char *)bytes + *done, .iov_len = size - *done};
        struct msghdr header = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = &with, .msg_controllen = sizeof with};
        const ssize_t some = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | flags);
        if (some < 0 && !again(socket, POLLIN, *done > 0))
            return -1;
        if (some >= 0)
            detach(&header, a);
        if (some == 0)
            break;
        *done += some > 0 ? (size_t)some : 0;
    }
    return 0;
}

/* Returns how many descriptors belong to a message that came as a whole; more than there can be
 * where it says so. */
static size_t expected(const message *got) {
    const size_t memory = got->has_descriptor ? 1 + (size_t)got->more : 0;
    return memory + (got->has_lease != 0);
}

/* Replaces the socket that came by the descriptors that wait in it; returns 0, or -1 with errno. */
static int unpack(arrival *a, size_t all) {
    const int packed = a->descriptors[0];
    int failed = 0;
    a->count = 0;
    for (size_t done = 0; done < all && !failed; done += MOST) {
        char some_byte;
        size_t size = 0;
        failed = receive_part(packed, &some_byte, sizeof some_byte, MSG_DONTWAIT, &size, a);
    }
    const int why = errno;
    acu_share_close(packed);
    errno = why;
    return failed && !would_block() ? -1 : 0; /* where some are missing, that is found later */
}

/* Returns whether a whole message is there, or what will never be one, so that receiving it does
 * not block. */
static bool is_there(int socket) {
    char seen[sizeof(message)];
    struct pollfd end = {.fd = socket, .events = POLLRDHUP};
    int type = SOCK_STREAM;
    socklen_t size = sizeof type;
    const ssize_t some = recv(socket, seen, sizeof seen, MSG_PEEK | MSG_DONTWAIT);
    if (some < 0)
        return !would_block();
    if (some == 0 || some == (ssize_t)sizeof seen)
        return true;
    return (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type != SOCK_STREAM) ||
           (poll(&end, 1, 0) > 0);
}

/* Receives a message and all its descriptors; returns 0, or -1 with errno. */
static int receive_all(int socket, arrival *a) {
    const int flags = fcntl(socket, F_GETFL);
    if (flags >= 0 && acu_has((unsigned)flags, O_NONBLOCK) && !is_there(socket)) {
        errno = EAGAIN;
        return -1;
    }
    int failed = receive_part(socket, &a->got, sizeof a->got, 0, &a->size, a);
    const size_t all = a->size == sizeof a->got ? expected(&a->got) : 0;
    if (!failed && a->got.packed && a->count == 1 && all > MOST && all <= ALL)
        failed = unpack(a, all);
    return failed;
}

static void close_all(const arrival *a) {
    for (size_t i = 0; i < a->count; i++)
        acu_share_close(a->descriptors[i]);
}

/* Makes a share of a message; takes the descriptors over, also where that fails. */
static int use(const char *call, const arrival *a, acu_share **share) {
    acu_descriptors memory = {NULL, 0};
    acu_share_body body;
    const bool whole = a->size == sizeof a->got;
    const size_t bytes = whole ? sizeof a->got.token : a->size;
    const size_t all = whole ? expected(&a->got) : 0;
    if (acu_share_decode(call, &a->got.token, bytes, &body)) {
        close_all(a);
        return acu_last_error();
    }
    if (a->count != all) {
        close_all(a);
        acu_fail_hint("a process can have as many descriptors as 'ulimit -n' says");
        return acu_fail(call, "", cudaErrorOperatingSystem,
                        "of %zu descriptors that belong to the token, %zu came", all, a->count);
    }
    const bool lease = whole && a->got.has_lease;
    int code = acu_share_make_room(call, all - lease, &memory);
    if (code) {
        close_all(a);
        return code;
    }
    memory.count = all - lease;
    if (memory.count > 0)
        memcpy(memory.of, a->descriptors, memory.count * sizeof *memory.of);
    return acu_share_new_of(call, &a->got.token, bytes, memory,
                            lease ? a->descriptors[all - 1] : -1, share);
}

acu_result acu_share_receive(int socket, acu_share **share) {
    ACU_SCOPE();
    arrival a = {.size = 0};
    ACU_NEED_POINTER(share);
    *share = NULL;
    acu_destroy_deferred();
    if (receive_all(socket, &a)) {
        const int why = errno;
        close_all(&a);
        errno = why;
        if (would_block())
            return ACU_NOT_READY;
        return fail_system(__func__, NULL, "the socket cannot receive a share");
    }
    ACU_REQUIRE(a.size > 0, cudaErrorOperatingSystem, "the other process has closed the socket");
    return use(__func__, &a, share);
}
