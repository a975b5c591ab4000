/* Macros for all generated headers: how a wrapper is declared, and how it reaches its slot. */
#ifndef ACU_BASE_H
#define ACU_BASE_H

/* First of all, because the headers of a C library have less friendly sentences. */
#if !defined(__GNUC__)
#error "anycuda's headers need a compiler that supports GNU C's extensions, such as gcc or clang"
#elif !defined(__linux__)
#error "anycuda works on Linux only (docs/users/platforms.md); on Windows use WSL 2"
#elif !defined(__LP64__) || !(defined(__x86_64__) || defined(__aarch64__))
#error "anycuda works on 64-bit x86-64 and aarch64 only, for which NVIDIA has CUDA's libraries"
#elif __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "anycuda works on little-endian machines only, for which NVIDIA has CUDA's libraries"
#endif

#include <stddef.h>
#include <stdint.h>

/*
 * A wrapper has CUDA's name in the source and an own name in the object file, so it never collides
 * with a CUDA library that is linked, too. The compiler may inline a wrapper. All other uses, and
 * its address, refer to the one copy in the library, because of `gnu_inline`. The library's own
 * files define ACU_INLINE or ACU_INLINE_PTDS as nothing and so emit that copy.
 */
#define ACU_NAME(name) __asm__(#name)
#if !defined(ACU_INLINE)
#define ACU_INLINE extern inline __attribute__((gnu_inline))
#endif
#if !defined(ACU_INLINE_PTDS)
#define ACU_INLINE_PTDS extern inline __attribute__((gnu_inline))
#endif

/* With CUDA_API_PER_THREAD_DEFAULT_STREAM, a file uses other symbols, whose default stream is the
 * thread's own. */
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define ACU_PTDS(name)      name##_ptds
#define ACU_PTDS_NAME(name) __asm__(#name "_ptds")
#else
#define ACU_PTDS(name)      name
#define ACU_PTDS_NAME(name) __asm__(#name)
#endif

/* The acquire pairs with the release of the thread that writes the slot when it binds it. */
#define ACU_LOAD(slot)        __atomic_load_n(&(slot), __ATOMIC_ACQUIRE)
#define ACU_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define ACU_COLD              __attribute__((cold))

/* clang's -Weverything reports padding and names that ISO C reserves, both CUDA's choice, and a
 * comment's `@`. */
#if defined(__clang__)
#define ACU_BEGIN_QUIET                                                                            \
    _Pragma("clang diagnostic push") _Pragma(                                                      \
        "clang diagnostic ignored \"-Wunknown-warning-option\"") /* older ones know fewer */       \
        _Pragma("clang diagnostic ignored \"-Wpadded\"")                                           \
            _Pragma("clang diagnostic ignored \"-Wdocumentation-unknown-command\"")                \
                _Pragma("clang diagnostic ignored \"-Wreserved-identifier\"")                      \
                    _Pragma("clang diagnostic ignored \"-Wreserved-macro-identifier\"")
#define ACU_END_QUIET _Pragma("clang diagnostic pop")
#else
#define ACU_BEGIN_QUIET
#define ACU_END_QUIET
#endif

/* For headers whose bodies are the same in C and C++, and so cast as C does. */
#if !defined(__cplusplus)
#define ACU_BEGIN_CASTS ACU_BEGIN_QUIET
#define ACU_END_CASTS   ACU_END_QUIET
#elif defined(__clang__)
#define ACU_BEGIN_CASTS                                                                            \
    ACU_BEGIN_QUIET _Pragma("clang diagnostic ignored \"-Wold-style-cast\"")                       \
        _Pragma("clang diagnostic ignored \"-Wfloat-equal\"")
#define ACU_END_CASTS ACU_END_QUIET
#else
#define ACU_BEGIN_CASTS                                                                            \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wold-style-cast\"")          \
        _Pragma("GCC diagnostic ignored \"-Wuseless-cast\"")
#define ACU_END_CASTS _Pragma("GCC diagnostic pop")
#endif

#if defined(__cplusplus) && __cplusplus >= 201103L
#define ACU_CONSTEXPR constexpr
#else
#define ACU_CONSTEXPR
#endif

/* CUDA's default arguments, for C++. */
#if defined(__cplusplus)
#define ACU_DEFAULT(value)    = value
#define ACU_CAST(type, value) (static_cast<type>(value))
#define ACU_BEGIN_C           ACU_BEGIN_QUIET extern "C" {
#define ACU_END_C                                                                                  \
    }                                                                                              \
    ACU_END_QUIET
#else
#define ACU_DEFAULT(value)
#define ACU_CAST(type, value) ((type)(value))
#define ACU_BEGIN_C           ACU_BEGIN_QUIET
#define ACU_END_C             ACU_END_QUIET
#endif

/* A null pointer, by the dialect's own name for it. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define ACU_NULL nullptr
#else
#define ACU_NULL 0
#endif

#endif
