/*
 * Shares: the way from one process to the other over a Unix socket.
 *
 * A message is a token and two bytes that say which descriptors come with it: that of the memory,
 * and that of a lease. The lease counts from the moment of sending, so that there is no moment in
 * which the exporting process could take the memory for unused.
 */
#define _GNU_SOURCE /* MSG_CMSG_CLOEXEC */

#include "safe/memory/share.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

typedef struct message {
    acu_share_token token;
    unsigned char has_descriptor, has_lease, reserved[6];
} message;

enum { MOST = 2 /* descriptors of a message */ };

typedef union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(MOST * sizeof(int))];
} control;

/* Returns whether the call is to be made again: after a signal, or, for a socket that does not
 * block, after it is ready. */
static bool again(int socket, short events) {
    struct pollfd ready = {.fd = socket, .events = events};
    if (errno == EINTR)
        return true;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
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

/* Returns 0, or -1 with errno. */
static int send_all(int socket, const message *sent, const int *descriptors, size_t count) {
    size_t done = 0;
    while (done < sizeof *sent) {
        control with;
        struct iovec part = {.iov_base = (char *)(uintptr_t)sent + done,
                             .iov_len = sizeof *sent - done};
        struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
        attach(&header, &with, descriptors, done ? 0 : count);
        const ssize_t size = sendmsg(socket, &header, MSG_NOSIGNAL);
        if (size < 0 && !again(socket, POLLOUT))
            return -1;
        done += size > 0 ? (size_t)size : 0;
    }
    return 0;
}

acu_result acu_share_send(acu_share *share, int socket) {
    message sent = {.has_lease = 0};
    int descriptors[MOST];
    size_t count = 0;
    acu_destroy_deferred();
    ACU_NEED(share, acu_share_class);
    ACU_REQUIRE_OF(share, share->exported, ACU_ERROR_STATE,
                   "only the process that exported it sends it");
    const int lease = acu_lease_lend(share->body.id);
    acu_share_encode(&share->body, &sent.token);
    sent.has_descriptor = share->descriptor >= 0;
    sent.has_lease = lease >= 0;
    if (sent.has_descriptor)
        descriptors[count++] = share->descriptor;
    if (sent.has_lease)
        descriptors[count++] = lease;
    const int failed = send_all(socket, &sent, descriptors, count);
    const int why = errno;
    acu_share_close(lease);
    errno = why;
    return failed ? fail_system(__func__, share, "the socket cannot send it") : 0;
}

/* ---- receiving ---- */

/* Takes the descriptors out of a message; what is too many is closed. */
static void detach(struct msghdr *header, int *descriptors, size_t *count) {
    for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at; at = CMSG_NXTHDR(header, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
            continue;
        const size_t given = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < given; i++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(at) + i * sizeof(int), sizeof descriptor);
            if (*count < MOST)
                descriptors[(*count)++] = descriptor;
            else
                acu_share_close(descriptor);
        }
    }
}

/* Receives a message up to its end, or to the end of the socket, and sets its size; returns 0, or
 * -1 with errno. */
static int receive_all(int socket, message *got, size_t *size, int *descriptors, size_t *count) {
    while (*size < sizeof *got) {
        control with;
        struct iovec part = {.iov_base = (char *)got + *size, .iov_len = sizeof *got - *size};
        struct msghdr header = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = &with, .msg_controllen = sizeof with};
        const ssize_t some = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
        if (some < 0 && !again(socket, POLLIN))
            return -1;
        if (some >= 0)
            detach(&header, descriptors, count);
        if (some == 0)
            break;
        *size += some > 0 ? (size_t)some : 0;
    }
    return 0;
}

/* Makes a share of a message; takes the descriptors over, also where that fails. */
static int use(const char *call, const message *got, size_t size, int *descriptors, size_t count,
               acu_share **share) {
    const bool memory = size == sizeof *got && got->has_descriptor;
    const bool lease = size == sizeof *got && got->has_lease;
    if (count == (size_t)memory + (size_t)lease)
        return acu_share_new_of(call, &got->token, size < sizeof *got ? size : sizeof got->token,
                                memory ? descriptors[0] : -1, lease ? descriptors[count - 1] : -1,
                                share);
    for (size_t i = 0; i < count; i++)
        acu_share_close(descriptors[i]);
    acu_fail_hint("a process can have as many descriptors as 'ulimit -n' says");
    return acu_fail(call, "", cudaErrorOperatingSystem,
                    "of %d descriptors that belong to the token, %zu came", memory + lease, count);
}

acu_result acu_share_receive(int socket, acu_share **share) {
    message got = {.has_lease = 0};
    size_t size = 0, count = 0;
    int descriptors[MOST];
    ACU_NEED_POINTER(share);
    *share = NULL;
    acu_destroy_deferred();
    if (receive_all(socket, &got, &size, descriptors, &count)) {
        const int why = errno;
        for (size_t i = 0; i < count; i++)
            acu_share_close(descriptors[i]);
        errno = why;
        return fail_system(__func__, NULL, "the socket cannot receive a share");
    }
    ACU_REQUIRE(size > 0, cudaErrorOperatingSystem, "the other process has closed the socket");
    return use(__func__, &got, size, descriptors, count, share);
}
