/*
 * Types of elements, as numbers: what a buffer holds, and what a pointer points at.
 */
#ifndef ACU_DTYPE_H
#define ACU_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <anycuda/status.h>

ACU_BEGIN_C

/** The type of an element; the lower 24 bits are its size in bytes. */
typedef uint32_t acu_dtype;

enum {
    ACU_ANY = 0, /* for a host pointer: what the buffer holds, unchecked */
    ACU_F64 = 0x01000008,
    ACU_F32 = 0x02000004,
    ACU_F16 = 0x03000002,
    ACU_BF16 = 0x04000002,
    ACU_F8_E4M3 = 0x05000001,
    ACU_F8_E5M2 = 0x06000001,
    ACU_I8 = 0x07000001,
    ACU_I16 = 0x08000002,
    ACU_I32 = 0x09000004,
    ACU_I64 = 0x0a000008,
    ACU_U8 = 0x0b000001,
    ACU_U16 = 0x0c000002,
    ACU_U32 = 0x0d000004,
    ACU_U64 = 0x0e000008,
    ACU_BOOL = 0x0f000001,
    ACU_C64 = 0x10000008,  /* two floats */
    ACU_C128 = 0x11000010, /* two doubles */
    ACU_BYTES_KIND = 0x7f000000
};

/**
 * The type of elements of `n` raw bytes each, up to 16 MiB - 1: a struct, or a row. It fits every
 * type of that size.
 */
#define ACU_BYTES(n)                                                                               \
    (ACU_CAST(acu_dtype, ACU_BYTES_KIND) |                                                         \
     (ACU_CAST(unsigned long long, n) < 0x1000000u ? ACU_CAST(acu_dtype, n) : 0u))

/** Returns the bytes of an element; 0 where the number is not a type. */
size_t acu_dtype_size(acu_dtype dtype);

/**
 * Returns "f32" or "bytes(12)"; "unknown" where the number is not a type.
 *
 * The text stays valid until the thread asks twice more.
 */
const char *acu_dtype_name(acu_dtype dtype);

/**
 * Returns whether memory of one type may be read and written as the other.
 *
 * That is so for the same type, for raw bytes of the same size, for an unsigned integer in place of
 * a type that C lacks (f16, bf16, fp8), and for ACU_ANY.
 */
bool acu_dtype_fits(acu_dtype dtype, acu_dtype other);

/* ---- types of a program's own ---- */

/**
 * A type whose elements are stored in groups: of 32 elements of 4 bits and a scale of 2 bytes,
 * `elements` is 32, and `bytes` is 18.
 */
typedef struct acu_dtype_options {
    const char *name;  /* "q4_0", copied; no other type may have it. Up to 63 letters, digits, '_',
                          '-' and '.' */
    uint32_t elements; /* of a group; at least 1 */
    uint32_t bytes;    /* of a group; at least 1, up to 16 MiB - 1 */
} acu_dtype_options;

/**
 * Registers a type, which stays registered; acu_dtype_size() of it is the size of a group, and the
 * elements of a buffer (<anycuda/buffer.h>) of such a type are groups.
 *
 * The same name with the same numbers gives the same type again. Errors: ACU_ERROR_ARGUMENT where
 * the name is another type's or a number is invalid; ACU_ERROR_LIMIT beyond 64 types.
 */
ACU_CHECKED acu_result acu_dtype_register(const acu_dtype_options *options, acu_dtype *dtype);

/** Returns how many elements a group has, 1 of the built-in types; 0 where there is no such type.
 */
size_t acu_dtype_group(acu_dtype dtype);

/**
 * Asks for the bytes that elements of a type are stored in; the last group is whole.
 *
 * Errors: ACU_ERROR_DTYPE where there is no such type, or for ACU_ANY; ACU_ERROR_OVERFLOW.
 */
ACU_CHECKED acu_result acu_dtype_storage(acu_dtype dtype, uint64_t count, uint64_t *bytes);

/**
 * Asks where a run of elements lies in the storage of its type.
 *
 * Errors: ACU_ERROR_RANGE where the run does not begin with a group, or does not end with one and
 * `at + count` is not `total`, or lies outside; those of acu_dtype_storage().
 */
ACU_CHECKED acu_result acu_dtype_view(acu_dtype dtype, uint64_t total, uint64_t at, uint64_t count,
                                      uint64_t *offset, uint64_t *bytes);

ACU_END_C

#if !defined(__cplusplus)
#define ACU_DTYPE_CASE(type, dtype) type * : (acu_dtype)(dtype), const type * : (acu_dtype)(dtype)
/**
 * The type that a pointer points at; ACU_ANY for `void *`. A type that is not listed does not
 * compile.
 */
#define ACU_DTYPE_OF(pointer)                                                                      \
    _Generic((pointer),                                                                            \
        ACU_DTYPE_CASE(void, ACU_ANY),                                                             \
        ACU_DTYPE_CASE(double, ACU_F64),                                                           \
        ACU_DTYPE_CASE(float, ACU_F32),                                                            \
        ACU_DTYPE_CASE(char, ACU_BYTES(1)),                                                        \
        ACU_DTYPE_CASE(signed char, ACU_I8),                                                       \
        ACU_DTYPE_CASE(short, ACU_I16),                                                            \
        ACU_DTYPE_CASE(int, ACU_I32),                                                              \
        ACU_DTYPE_CASE(long, ACU_I64),                                                             \
        ACU_DTYPE_CASE(long long, ACU_I64),                                                        \
        ACU_DTYPE_CASE(unsigned char, ACU_U8),                                                     \
        ACU_DTYPE_CASE(unsigned short, ACU_U16),                                                   \
        ACU_DTYPE_CASE(unsigned int, ACU_U32),                                                     \
        ACU_DTYPE_CASE(unsigned long, ACU_U64),                                                    \
        ACU_DTYPE_CASE(unsigned long long, ACU_U64),                                               \
        ACU_DTYPE_CASE(_Bool, ACU_BOOL),                                                           \
        ACU_DTYPE_CASE(float _Complex, ACU_C64),                                                   \
        ACU_DTYPE_CASE(double _Complex, ACU_C128))
#else
#define ACU_DTYPE_OF(pointer) acu_dtype_of(pointer)
#define ACU_DTYPE_CASE(type, dtype)                                                                \
    inline acu_dtype acu_dtype_of(const type *) {                                                  \
        return dtype;                                                                              \
    }
ACU_DTYPE_CASE(void, ACU_ANY)
ACU_DTYPE_CASE(double, ACU_F64)
ACU_DTYPE_CASE(float, ACU_F32)
ACU_DTYPE_CASE(char, ACU_BYTES(1))
ACU_DTYPE_CASE(signed char, ACU_I8)
ACU_DTYPE_CASE(short, ACU_I16)
ACU_DTYPE_CASE(int, ACU_I32)
ACU_DTYPE_CASE(long, ACU_I64)
ACU_DTYPE_CASE(long long, ACU_I64)
ACU_DTYPE_CASE(unsigned char, ACU_U8)
ACU_DTYPE_CASE(unsigned short, ACU_U16)
ACU_DTYPE_CASE(unsigned int, ACU_U32)
ACU_DTYPE_CASE(unsigned long, ACU_U64)
ACU_DTYPE_CASE(unsigned long long, ACU_U64)
ACU_DTYPE_CASE(bool, ACU_BOOL)
#undef ACU_DTYPE_CASE
/* A type that only C++ knows, such as std::complex<float>, must be named by the caller. */
template <typename T> acu_dtype acu_dtype_of(const T *) = delete;
#endif

#endif
