/*
 * Profiling: what a program tells tools, such as Nsight Systems, and when they shall look.
 *
 * A range is what a program does from one moment to another, a mark is one moment, and a domain
 * keeps those of one library apart from those of others. A tool attaches by NVTX's protocol,
 * version 3; the program needs no library for that. While nobody listens, a call looks at nothing,
 * not even at its arguments, and returns; only acu_thread_set_name() keeps the name.
 *
 * Several threads may use all of this at once, and retain and release a domain. No call of this
 * header but those of the profiler calls CUDA.
 */
#ifndef ACU_PROFILE_H
#define ACU_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <anycuda/status.h>

struct nvtxDomainRegistration_st; /* what NVTX calls nvtxDomainHandle_t */

ACU_BEGIN_C

/* ---- the profiler ---- */

/**
 * Lets profilers that were told to wait for this begin to record: cudaProfilerStart().
 *
 * Nothing happens where no profiler waits. Errors: ACU_ERROR_CAPTURE while a stream is being
 * captured that forbids it.
 */
ACU_CHECKED acu_result acu_profiler_start(void);

/** Ends what acu_profiler_start() began, with the same errors: cudaProfilerStop(). */
ACU_CHECKED acu_result acu_profiler_stop(void);

/* ---- domains ---- */

/** A domain of ranges and marks. Where a domain is asked for, NULL is the global one. */
typedef struct acu_domain acu_domain;

/** Makes a domain, which the caller owns; tools show its name, such as "org.example.solver". */
ACU_CHECKED acu_result acu_domain_create(const char *name, acu_domain **domain);

/**
 * Makes a handle for a domain of NVTX that stays someone else's; the caller owns the handle.
 *
 * NULL is the global domain, and what NVTX returns where no tool is attached.
 */
ACU_CHECKED acu_result acu_domain_wrap(struct nvtxDomainRegistration_st *raw, acu_domain **domain);

/** Makes a handle that owns a domain of NVTX: the last release destroys both. */
ACU_CHECKED acu_result acu_domain_adopt(struct nvtxDomainRegistration_st *raw, acu_domain **domain);

/**
 * Returns NVTX's handle, which stays the domain's; NULL where the handle is not a domain, or no
 * tool is attached.
 */
struct nvtxDomainRegistration_st *acu_domain_raw(const acu_domain *domain);

/** Adds an owner and returns the domain; NULL where the handle is not a domain. */
acu_domain *acu_domain_retain(acu_domain *domain);

/**
 * Takes an owner away; the last release destroys the domain. Everything else is as for
 * acu_stream_release().
 */
acu_result acu_domain_release(acu_domain *domain);

void acu_domain_cleanup(acu_domain **domain);

/** Writes one line that names the domain, as errors do; acu_stream_describe() has the rules. */
size_t acu_domain_describe(const acu_domain *domain, char *text, size_t size);

/**
 * Returns the name, which lives as long as the domain; "" where the domain was wrapped or adopted,
 * and NULL where the handle is not a domain.
 */
const char *acu_domain_name(const acu_domain *domain);

/** Names a category of the domain's ranges and marks (acu_range_options.category). */
acu_result acu_domain_set_category_name(acu_domain *domain, uint32_t category, const char *name);

/**
 * Names the calling thread: lines of the trace have the name beside the thread's number, at most 47
 * bytes of it, and so have tools that listen. "" takes it away, but not from tools.
 *
 * The name is copied, and ends with the thread; a trace that begins later knows it, too. The
 * system's name of the thread stays. acu_stream_set_name(), acu_event_set_name() and
 * acu_device_set_name() name other things.
 */
acu_result acu_thread_set_name(const char *name);

/* ---- ranges and marks ---- */

/** What the payload of a range or mark is, with NVTX's numbers. */
typedef enum acu_payload {
    ACU_PAYLOAD_NONE = 0,
    ACU_PAYLOAD_U64 = 1,
    ACU_PAYLOAD_I64 = 2,
    ACU_PAYLOAD_F64 = 3
} acu_payload;

/** What tools show of a range or mark beside its name; all zero is nothing. */
typedef struct acu_range_options {
    uint32_t color;      /* 0xAARRGGBB; 0: the tool chooses */
    uint32_t category;   /* a number of the program's; 0: none */
    acu_payload payload; /* which of the numbers is shown */
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
    } number;
} acu_range_options;

/** Returns whether a tool or a trace listens: a program may then take the time to make names. */
bool acu_range_heard(void);

/**
 * Begins a range within the thread's last one of the domain; `options` may be NULL.
 *
 * The name is read before the call returns. Errors are reported only where somebody listens.
 */
acu_result acu_range_push(acu_domain *domain, const char *name, const acu_range_options *options);

/** Ends the thread's last range of the domain that was pushed; nothing happens where there is none.
 */
acu_result acu_range_pop(acu_domain *domain);

/**
 * Begins a range that may end on another thread, and overlap others; `options` may be NULL.
 *
 * `*range` becomes its number, 0 where nobody listens.
 */
acu_result acu_range_start(acu_domain *domain, const char *name, const acu_range_options *options,
                           uint64_t *range);

/** Ends a range of acu_range_start() on the same domain; 0 is fine. */
acu_result acu_range_end(acu_domain *domain, uint64_t range);

/** Marks this moment; `options` may be NULL. */
acu_result acu_range_mark(acu_domain *domain, const char *name, const acu_range_options *options);

/** What ACU_RANGE() keeps until the scope ends: the domain. */
typedef acu_domain *acu_range_scope;

/** Begins a range as acu_range_push() does, and returns `domain`: for ACU_RANGE(). */
acu_range_scope acu_range_enter(acu_domain *domain, const char *name);

void acu_range_cleanup(acu_range_scope *scope);

#define ACU_RANGE_JOIN(name, number)     name##number
#define ACU_RANGE_VARIABLE(name, number) ACU_RANGE_JOIN(name, number)

/** Begins a range that ends when the scope does: `ACU_RANGE(NULL, "solve");` */
#define ACU_RANGE(domain, name)                                                                    \
    __attribute__((cleanup(acu_range_cleanup), unused)) acu_range_scope ACU_RANGE_VARIABLE(        \
        acu_range_, __LINE__) = acu_range_enter((domain), (name))

ACU_END_C

#endif
