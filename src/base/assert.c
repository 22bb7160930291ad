/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes the message and aborts. Allocates nothing and takes no lock, because nothing may work any
 * more. */
static LEVADA_NORETURN void assert_die(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));

    (void)written;
    abort();
}

void levada_assert_failed(const char *file, int line, const char *cond)
{
    char text[512];

    (void)snprintf(text, sizeof text, "levada: %s:%d: does not hold: %s\n", file, line, cond);
    assert_die(text);
}

void levada_bug_found(const char *file, int line, const char *cond)
{
    char text[768];

    (void)snprintf(text, sizeof text,
                   "levada: %s:%d: this cannot be: %s\n"
                   "levada: a bug in levada, which stops here before it harms data. Please report "
                   "it to the project: these lines, a stack trace, `levada --version`.\n",
                   file, line, cond);
    assert_die(text);
}

levada_status levada_require_failed(const char *argument, levada_error *err)
{
    char text[128];

    if (!LEVADA_DEBUG) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s must not be NULL", argument);
    }
    (void)snprintf(text, sizeof text, "levada: misuse: %s must not be NULL\n", argument);
    assert_die(text);
}

levada_status levada_require_range_failed(int64_t value, int64_t least, int64_t most,
                                          const char *argument, levada_error *err)
{
    if (most < least) { /* of nothing */
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s=%lld does not exist", argument,
                           (long long)value);
    }
    if (most == INT64_MAX) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s=%lld must be at least %lld",
                           argument, (long long)value, (long long)least);
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s=%lld must be from %lld to %lld", argument,
                       (long long)value, (long long)least, (long long)most);
}

levada_status levada_require_size_failed(size_t size, const char *argument, levada_error *err)
{
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s=%zu is larger than memory can be",
                       argument, size);
}
