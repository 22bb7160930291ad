/* SPDX-License-Identifier: Apache-2.0 */
/* Lines in plain C: memchr, which the C library has made fast for long lines. */
#include <string.h>

#include "base/kernels_priv.h"

int64_t levada_line_index_portable(const uint8_t *p, size_t n, int32_t *begin, int32_t *end,
                                   int64_t max)
{
    int64_t count = 0;

    begin[0] = 0;
    while (count < max && (size_t)begin[count] < n) {
        const uint8_t *from = p + begin[count];
        const uint8_t *hit = memchr(from, '\n', n - (size_t)begin[count]);

        if (hit == NULL) break;
        levada_line_put(p, (int32_t)(hit - p), begin, end, count++);
    }
    return count;
}
