/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only place that knows compiler extensions. levada needs gcc or clang; both understand
 * everything in this file. Code outside this file is plain C17 plus the intrinsics of the CPU
 * levels.
 */
#ifndef LEVADA_BASE_COMPILER_H
#define LEVADA_BASE_COMPILER_H

#if !defined(__GNUC__)
#error "levada needs gcc or clang"
#endif
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "levada needs a little-endian machine: words of files are loaded as they are"
#endif

/* A function that may use these instructions although the rest of the library may not. */
#define LEVADA_TARGET(isa) __attribute__((target(isa)))

#define LEVADA_ALWAYS_INLINE inline __attribute__((always_inline))
#define LEVADA_NOINLINE __attribute__((noinline))
#define LEVADA_NORETURN __attribute__((noreturn, cold, noinline))
#define LEVADA_UNUSED __attribute__((unused))
#define LEVADA_HIDDEN __attribute__((visibility("hidden")))
#define LEVADA_CONSTRUCTOR __attribute__((constructor))
/* The type of an expression, or of a function. */
#define LEVADA_TYPE_OF(expression) __typeof__(expression)
#define LEVADA_ALIGNED(bytes) __attribute__((aligned(bytes)))

#define LEVADA_LIKELY(cond) __builtin_expect(!!(cond), 1)
#define LEVADA_UNLIKELY(cond) __builtin_expect(!!(cond), 0)

/* Starts to fetch the line at p for reading, into the second cache or the first one; harmless with
 * any address. The first cache can wait for a few lines only, so rows are fetched into the second.
 * The hardware prefetcher continues where lines go to the first. */
#define LEVADA_PREFETCH(p)       __builtin_prefetch((p), 0, 2)
#define LEVADA_PREFETCH_FIRST(p) __builtin_prefetch((p), 0, 3)

/* Index of the lowest bit that is set, number of leading zeros (both: v != 0), number of bits. */
#define LEVADA_CTZ64(v) ((unsigned)__builtin_ctzll(v))
#define LEVADA_CLZ64(v) ((unsigned)__builtin_clzll(v))
#define LEVADA_POPCOUNT64(v) ((unsigned)__builtin_popcountll(v))

/* Store a * b or a + b in *out; true if the result does not fit its type. */
#define LEVADA_MUL_OVERFLOW(a, b, out) __builtin_mul_overflow((a), (b), (out))
#define LEVADA_ADD_OVERFLOW(a, b, out) __builtin_add_overflow((a), (b), (out))

/* The 128 bits of a * b, of two uint64_t. */
__extension__ typedef unsigned __int128 levada_uint128;
#define LEVADA_MUL_WIDE(a, b, high, low)               \
    do {                                               \
        levada_uint128 wide_ = (levada_uint128)(a) * (b); \
        *(high) = (uint64_t)(wide_ >> 64);             \
        *(low) = (uint64_t)wide_;                      \
    } while (0)

/* x86 only: does this CPU have the instructions, and does the system save their registers? */
#define LEVADA_CPU_HAS(name) (__builtin_cpu_supports(name) != 0)
#define LEVADA_CPU_IS(name) (__builtin_cpu_is(name) != 0)

/* Tells the CPU that this thread polls one word. */
#if defined(__x86_64__)
#define LEVADA_PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define LEVADA_PAUSE() __asm__ volatile("yield")
#else
#define LEVADA_PAUSE() ((void)0)
#endif

#endif
