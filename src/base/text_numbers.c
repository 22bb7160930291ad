/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of numbers in plain C. */
#include "base/kernels_priv.h"
#include "base/number_quick.h"

int32_t levada_text_i64_portable(const levada_text_fields *fields, int64_t n, int64_t *out,
                                 int32_t *odd)
{
    int32_t nodd = 0;

    for (int64_t i = 0; i < n; i++) {
        int32_t begin = fields->mark[i * fields->stride - 1] + 1;
        int32_t end = fields->mark[i * fields->stride];

        if (!levada_quick_int(fields->text + begin, (size_t)(end - begin), &out[i]))
            odd[nodd++] = (int32_t)i;
    }
    return nodd;
}

int32_t levada_text_f64_portable(const levada_text_fields *fields, int64_t n, double *out,
                                 int32_t *odd)
{
    int32_t nodd = 0;

    for (int64_t i = 0; i < n; i++) {
        int32_t        begin = fields->mark[i * fields->stride - 1] + 1;
        size_t         size = (size_t)(fields->mark[i * fields->stride] - begin);
        const uint8_t *text = fields->text + begin;

        if (!levada_quick_double(text, size, &out[i]) && !levada_quick_long(text, size, &out[i]))
            odd[nodd++] = (int32_t)i;
    }
    return nodd;
}
