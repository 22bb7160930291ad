/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strerror_r of POSIX. The one of GNU returns a text where this returns a status, and only
 * glibc has it: other C libraries have this one whatever is defined.
 */
#undef _GNU_SOURCE
#define _POSIX_C_SOURCE 200809L
#include "base/text.h"

#include <stdio.h>
#include <string.h>

const char *levada_text_errno(int code, char *text, size_t size)
{
    int failed = strerror_r(code, text, size);

    if (failed) (void)snprintf(text, size, "error %d of the system", code);
    return text;
}
