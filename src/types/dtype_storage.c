/* Types of elements: where their elements are stored. */
#include "core/fail.h"
#include "types/dtype.h"

int acu_refuse_dtype(const char *call, acu_dtype dtype) {
    return acu_fail(call, "", ACU_ERROR_DTYPE, "0x%x is no type of elements", dtype);
}

/* Computes the bytes of so many elements; returns 0 or a failure recorded for `call`. */
static int find_bytes(const char *call, acu_dtype dtype, uint64_t count, uint64_t *bytes) {
    const uint64_t group = acu_dtype_group(dtype);
    if (group == 0)
        return acu_refuse_dtype(call, dtype);
    const uint64_t groups = count / group + (count % group != 0);
    if (!__builtin_mul_overflow(groups, (uint64_t)acu_dtype_size(dtype), bytes))
        return 0;
    *bytes = 0;
    return acu_fail(call, "", ACU_ERROR_OVERFLOW,
                    "%llu elements of %s are more than can be addressed", (unsigned long long)count,
                    acu_dtype_name(dtype));
}

acu_result acu_dtype_storage(acu_dtype dtype, uint64_t count, uint64_t *bytes) {
    if (!bytes)
        return acu_fail(__func__, "", ACU_ERROR_ARGUMENT, "'bytes' is NULL");
    *bytes = 0;
    return find_bytes(__func__, dtype, count, bytes);
}

/* Checks that a run lies in the elements, and cuts no group; returns 0 or a recorded failure. */
static int check_run(const char *call, acu_dtype dtype, uint64_t total, uint64_t at,
                     uint64_t count) {
    const uint64_t group = acu_dtype_group(dtype);
    const unsigned long long from = at, many = count, all = total;
    if (at > total || count > total - at)
        return acu_fail(call, "", ACU_ERROR_RANGE,
                        "%llu elements from %llu on lie outside of the %llu that there are", many,
                        from, all);
    const char *end = at % group != 0                                    ? "begin"
                      : (at + count) % group != 0 && at + count != total ? "end"
                                                                         : NULL;
    if (!end)
        return 0;
    acu_fail_hint("begin and end runs at multiples of acu_dtype_group(), or end with the elements");
    return acu_fail(
        call, "", ACU_ERROR_RANGE,
        "%llu elements from %llu on do not %s with a group of %s, which has %llu elements", many,
        from, end, acu_dtype_name(dtype), (unsigned long long)group);
}

acu_result acu_dtype_view(acu_dtype dtype, uint64_t total, uint64_t at, uint64_t count,
                          uint64_t *offset, uint64_t *bytes) {
    uint64_t all;
    if (!offset || !bytes)
        return acu_fail(__func__, "", ACU_ERROR_ARGUMENT, "'%s' is NULL",
                        offset ? "bytes" : "offset");
    *offset = *bytes = 0;
    ACU_TRY(find_bytes(__func__, dtype, total, &all));
    ACU_TRY(check_run(__func__, dtype, total, at, count));
    *offset = at / acu_dtype_group(dtype) * acu_dtype_size(dtype);
    return find_bytes(__func__, dtype, count, bytes);
}
