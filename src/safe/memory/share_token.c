/* Shares: the bytes of a token, and what machine and device they belong to. */
#define _DEFAULT_SOURCE /* getrandom */

#include "safe/memory/physical.h"
#include "safe/memory/share.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[] = "acushare"; /* without its end: 8 letters */

enum { MAGIC_SIZE = sizeof magic - 1 };

_Static_assert((int)MAGIC_SIZE == (int)sizeof((acu_share_body *)0)->magic, "it fits");

_Static_assert(offsetof(acu_share_body, pieces) == 192, "the layout of version 1");
_Static_assert(sizeof(acu_share_body) == 200, "the layout of version 2");
_Static_assert(sizeof(acu_share_body) <= ACU_SHARE_TOKEN_BYTES, "a token has room for the body");
_Static_assert(ACU_SHARE_TOKEN_BYTES <= 512, "a token is small");

/* ---- bytes ---- */

/* FNV-1a, which sees each change of one byte; of the body's own field it sees zeros. */
static uint64_t checksum_of(const unsigned char *bytes, size_t size) {
    const size_t at = offsetof(acu_share_body, checksum);
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < size; i++) {
        const bool own = i >= at && i < at + sizeof(uint64_t);
        sum = (sum ^ (own ? 0u : bytes[i])) * 1099511628211u;
    }
    return sum;
}

void acu_share_encode(const acu_share_body *body, acu_share_token *token) {
    acu_share_body written = *body;
    written.version = body->pieces > 1 ? ACU_TOKEN_VERSION : ACU_TOKEN_FIRST_VERSION;
    memset(token, 0, sizeof *token);
    memcpy(token->bytes, &written, sizeof written);
    const uint64_t sum = checksum_of(token->bytes, sizeof token->bytes);
    memcpy(token->bytes + offsetof(acu_share_body, checksum), &sum, sizeof sum);
}

/* ---- this machine ---- */

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads the system's random number of this boot, a UUID as text; leaves zeros where it has none. */
static void read_boot(unsigned char boot[16]) {
    char text[64];
    const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t size = file < 0 ? 0 : read(file, text, sizeof text);
    size_t digits = 0;
    for (ssize_t i = 0; i < size && digits < 32; i++)
        if (digit(text[i]) >= 0) {
            boot[digits / 2] = (unsigned char)(boot[digits / 2] * 16 + digit(text[i]));
            digits++;
        }
    acu_share_close(file);
}

/* What is known of this process, read once, and in a child of fork() again. */
typedef struct here {
    pid_t process;
    uint64_t numbering;
    unsigned char boot[16];
} here;

static here ask_here(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static here known;
    struct stat about;
    pthread_mutex_lock(&lock);
    if (known.process != getpid()) {
        known = (here){.process = getpid()};
        known.numbering = stat("/proc/self/ns/pid", &about) ? 0 : (uint64_t)about.st_ino;
        read_boot(known.boot);
    }
    const here copy = known;
    pthread_mutex_unlock(&lock);
    return copy;
}

uint64_t acu_share_numbering(void) {
    return ask_here().numbering;
}

int acu_share_stamp(const char *call, acu_share_body *body) {
    memcpy(body->magic, magic, MAGIC_SIZE);
    body->version = ACU_TOKEN_FIRST_VERSION;
    body->size = ACU_SHARE_TOKEN_BYTES;
    body->process = (int32_t)getpid();
    body->numbering = acu_share_numbering();
    body->lease = -1;
    memcpy(body->boot, ask_here().boot, sizeof body->boot);
    if (getrandom(&body->id, sizeof body->id, 0) != (ssize_t)sizeof body->id)
        return acu_fail(call, "", cudaErrorOperatingSystem, "no random number: %s",
                        strerror(errno));
    return 0;
}

/* ---- reading ---- */

/* Validates the beginning, which all versions have, and the checksum; returns 0 or a failure
 * recorded for `call`. */
static int check_bytes(const char *call, const unsigned char *token, size_t bytes) {
    acu_share_body head;
    uint64_t sum = 0;
    const size_t least = offsetof(acu_share_body, boot);
    if (bytes < least)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "the token is cut short: it has %zu of %d bytes", bytes,
                        ACU_SHARE_TOKEN_BYTES);
    memcpy(&head, token, least);
    if (memcmp(head.magic, magic, MAGIC_SIZE) != 0)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "the bytes are no token of a share");
    if (head.size < least || bytes < head.size)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "the token is cut short: it has %zu of %u bytes", bytes,
                        (unsigned)head.size);
    if (bytes > head.size)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "the token has %u bytes, but %zu are given",
                        (unsigned)head.size, bytes);
    memcpy(&sum, token + offsetof(acu_share_body, checksum), sizeof sum);
    if (sum != checksum_of(token, head.size))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "the token was changed on its way: its checksum is wrong");
    if (head.version > ACU_TOKEN_VERSION) {
        acu_fail_hint("let all processes use the newer anycuda");
        return acu_fail(call, "", ACU_NOT_SUPPORTED,
                        "the token is of version %u, and this anycuda reads version %d",
                        (unsigned)head.version, ACU_TOKEN_VERSION);
    }
    if (head.version == 0 || head.size < sizeof(acu_share_body))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "the bytes are no token of a share");
    return 0;
}

bool acu_share_is_own(const acu_share_body *body) {
    return body->process == (int32_t)getpid() && body->numbering == acu_share_numbering();
}

bool acu_share_has_ended(const acu_share_body *body) {
    return body->numbering && body->numbering == acu_share_numbering() && kill(body->process, 0) &&
           errno == ESRCH;
}

static bool is_zero(const unsigned char bytes[16]) {
    static const unsigned char zeros[16];
    return memcmp(bytes, zeros, sizeof zeros) == 0;
}

/* Validates what a wrong program, or a hostile one, could have written with a right checksum. */
static bool is_sound(const acu_share_body *b) {
    const bool buffer = b->kind == ACU_SHARE_BUFFER;
    const size_t size = acu_dtype_size((acu_dtype)b->dtype);
    uint64_t bytes = 0;
    if (b->pieces > 1 && (b->pieces > ACU_SHARE_PIECES || !buffer ||
                          b->way != ACU_SHARE_BY_DESCRIPTOR || b->version < ACU_TOKEN_VERSION))
        return false;
    if (b->kind < ACU_SHARE_BUFFER || b->kind > ACU_SHARE_PHYSICAL || b->way < ACU_SHARE_BY_IPC ||
        b->way > ACU_SHARE_BY_DESCRIPTOR || (b->kind != ACU_SHARE_PHYSICAL && is_zero(b->uuid)))
        return false;
    return !buffer || (size > 0 && !__builtin_mul_overflow(b->count, size, &bytes) &&
                       bytes == b->bytes && bytes > 0 && b->offset <= PTRDIFF_MAX - bytes);
}

int acu_share_decode(const char *call, const void *token, size_t bytes, acu_share_body *body) {
    const here now = ask_here();
    int code = check_bytes(call, token, bytes);
    if (code)
        return code;
    memcpy(body, token, sizeof *body);
    if (!is_sound(body))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "the token says what no share can be: it was not made by anycuda");
    if (!is_zero(now.boot) && !is_zero(body->boot) &&
        memcmp(now.boot, body->boot, sizeof now.boot) != 0)
        return acu_fail(call, "", ACU_ERROR_STATE,
                        "the token is of another machine, or was made before this one was started");
    return 0;
}

/* ---- devices ---- */

/* The number of a device may differ from process to process (CUDA_VISIBLE_DEVICES), its UUID does
 * not. */
int acu_share_mark_device(const char *call, acu_device device, acu_share_body *body) {
    CUuuid uuid = {{0}};
    CUdevice raw = 0;
    if (device == ACU_DEVICE_HOST)
        return 0;
    int code = acu_translate_driver(cuDeviceGet(&raw, device));
    if (!code)
        code = acu_translate_driver(cuDeviceGetUuid(&uuid, raw));
    if (code)
        return acu_cuda_failed(call, "", code);
    memcpy(body->uuid, &uuid, sizeof body->uuid);
    return 0;
}

int acu_share_find_device(const char *call, const acu_share_body *body, acu_device *device) {
    acu_device any = ACU_DEVICE_CURRENT;
    *device = ACU_DEVICE_HOST;
    if (is_zero(body->uuid))
        return 0;
    ACU_TRY(acu_physical_begin(call, &any));
    for (acu_device i = 0; i < ACU_WATCHED(devices); i++) {
        acu_share_body it = {.version = 0};
        ACU_TRY(acu_share_mark_device(call, i, &it));
        if (memcmp(it.uuid, body->uuid, sizeof it.uuid) == 0) {
            *device = i;
            return 0;
        }
    }
    acu_fail_hint("CUDA_VISIBLE_DEVICES says which devices a process has");
    return acu_fail(call, "", ACU_ERROR_DEVICE,
                    "the share is of a device that this process does not have");
}
