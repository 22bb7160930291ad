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

/* They write to standard error and abort. */
LEVADA_NORETURN void levada_assert_failed(const char *file, int line, const char *cond);
LEVADA_NORETURN void levada_bug_found(const char *file, int line, const char *cond);

LEVADA_MUST_USE levada_status levada_require_failed(const char *argument, levada_error *err);

/* LEVADA_TRY(levada_require(queue != NULL, "queue", err)); */
LEVADA_MUST_USE static inline levada_status levada_require(bool given, const char *argument,
                                                           levada_error *err)
{
    return LEVADA_LIKELY(given) ? LEVADA_OK : levada_require_failed(argument, err);
}

#endif
