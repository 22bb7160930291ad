/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three ways to say what cannot be. None is for input: what data, files, options, plug-ins or the
 * system cause is an error (levada_fail), and so is a lack of memory.
 *
 *   LEVADA_ASSERT(cond)   an invariant of ours. Debug, test and fuzz builds abort; nothing is left
 *                         of it in a release, so it may be in hot code and may be expensive.
 *   LEVADA_BUG_ON(cond)   a cheap look at what is impossible, in every build: for places where
 *                         going on would destroy data or never end.
 *   levada_require        misuse at a public entry: EINVALID_ARGUMENT that names the argument;
 *                         debug builds abort there, where the culprit is still on the stack.
 *   levada_require_range  the same for a number, which may follow from input: never aborts.
 */
#ifndef LEVADA_BASE_ASSERT_H
#define LEVADA_BASE_ASSERT_H

#include "base/compiler.h"

#include <levada/error.h>

#define LEVADA_ASSERT(cond)                                  \
    do {                                                     \
        if (LEVADA_DEBUG && LEVADA_UNLIKELY(!(cond))) {      \
            levada_assert_failed(__FILE__, __LINE__, #cond); \
        }                                                    \
    } while (0)

#define LEVADA_BUG_ON(cond)                                                     \
    do {                                                                        \
        if (LEVADA_UNLIKELY(cond)) levada_bug_found(__FILE__, __LINE__, #cond); \
    } while (0)

/* Writes the message to standard error and aborts. */
LEVADA_NORETURN void levada_assert_failed(const char *file, int line, const char *cond);
LEVADA_NORETURN void levada_bug_found(const char *file, int line, const char *cond);

LEVADA_MUST_USE levada_status levada_require_failed(const char *argument, levada_error *err);

/* Returns an error if an argument is NULL: LEVADA_TRY(levada_require(queue != NULL, "queue",
 * err)); */
LEVADA_MUST_USE static inline levada_status levada_require(bool given, const char *argument,
                                                           levada_error *err)
{
    return LEVADA_LIKELY(given) ? LEVADA_OK : levada_require_failed(argument, err);
}

LEVADA_MUST_USE levada_status levada_require_range_failed(int64_t value, int64_t least,
                                                          int64_t most, const char *argument,
                                                          levada_error *err);

/* Checks a number from `least` to `most`: LEVADA_TRY(levada_require_range(i, 0, n - 1, "i",
 * err)); */
LEVADA_MUST_USE static inline levada_status levada_require_range(int64_t value, int64_t least,
                                                                 int64_t most,
                                                                 const char *argument,
                                                                 levada_error *err)
{
    return LEVADA_LIKELY(value >= least && value <= most)
               ? LEVADA_OK
               : levada_require_range_failed(value, least, most, argument, err);
}

LEVADA_MUST_USE levada_status levada_require_size_failed(size_t size, const char *argument,
                                                         levada_error *err);

/* Checks that memory can have this size, and that it is not -1 as a size_t. */
LEVADA_MUST_USE static inline levada_status levada_require_size(size_t size, const char *argument,
                                                                levada_error *err)
{
    return LEVADA_LIKELY(size <= PTRDIFF_MAX) ? LEVADA_OK
                                              : levada_require_size_failed(size, argument, err);
}

#endif
