/* SPDX-License-Identifier: Apache-2.0 */
/* Positions of newlines in plain C: memchr, which the C library has made fast for long lines. */
#include <string.h>

#include "base/kernels_priv.h"

int64_t levada_newline_index_portable(const uint8_t *p, size_t n, int32_t *pos, int64_t max,
                                      size_t *scanned)
{
    size_t  at = 0;
    int64_t count = 0;

    while (count < max && at < n) {
        const uint8_t *hit = memchr(p + at, '\n', n - at);

        at = hit == NULL ? n : (size_t)(hit - p) + 1;
        if (hit != NULL) pos[count++] = (int32_t)(at - 1);
    }
    *scanned = at;
    return count;
}
