/* SPDX-License-Identifier: Apache-2.0 */
/* Checks UTF-8 on any machine: words of ASCII, and one character after the other elsewhere. */
#include "base/kernels_priv.h"
#include "base/text.h"

bool levada_utf8_valid_portable(const uint8_t *p, size_t n)
{
    return levada_utf8_check((const char *)p, n) == n;
}
