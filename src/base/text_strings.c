/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of strings without their quotes in plain C: from one quote inside to the next. */
#include <string.h>

#include "base/kernels_priv.h"

int64_t levada_text_strings_portable(const levada_text_fields *fields, int64_t n, uint8_t *out,
                                     int32_t *begin, int32_t *end)
{
    const int32_t *mark = fields->mark;
    uint8_t       *to = out;

    for (int64_t i = 0; i < n; i++, mark += fields->stride) {
        const uint8_t *at = fields->text + mark[-1] + 1, *stop = fields->text + mark[0];
        bool           quoted = at < stop && *at == '"';

        begin[i] = (int32_t)(to - out);
        at += quoted;
        stop -= quoted;
        while (at < stop) {
            const uint8_t *quote = memchr(at, '"', (size_t)(stop - at));
            size_t         size = (size_t)((quote ? quote + 1 : stop) - at);

            memcpy(to, at, size);
            to += size;
            at += size + (quote != NULL); /* a quote stands for two */
        }
        end[i] = (int32_t)(to - out);
    }
    return to - out;
}
