/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/image.h"

#include "tensor/tensor_priv.h"

levada_status levada_image_check(const levada_field *f, levada_error *err)
{
    char shown[LEVADA_FIELD_SHOWN];
    if (!levada_dtype_is_bytes(f->dtype) && f->depth <= 2 && f->depth + f->ndim >= 2 && !f->padded)
        return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "field '%s' must have images, numbers of shape [height, width, channels], "
                       "got %s", f->name, levada_field_shown(f, shown));
}

int64_t levada_image_channels(const levada_field *f)
{
    int64_t n = 1;

    for (int32_t i = 2 - f->depth; i < f->ndim; i++) {
        if (f->dims[i] < 0) return -1;
        n *= f->dims[i];
    }
    return n;
}

/* Sets the rows of an image whose rows are ragged. */
static levada_status image_of_lines(const levada_column *c, int64_t row, levada_image *out,
                                    levada_error *why)
{
    const levada_level *l = c->level;
    int64_t             begin = l[0].begin[row], end = l[0].end[row];

    out->lines = l[1].begin + begin;
    out->height = end - begin;
    out->width = end > begin ? l[1].end[begin] - l[1].begin[begin] : 0;
    for (int64_t y = begin; y < end; y++) {
        if (l[1].end[y] - l[1].begin[y] == out->width) continue;
        return levada_fail(
            why, LEVADA_EINVALID_ARGUMENT,
            "field '%s': the rows of an image must have the same length, got %lld and "
            "%lld",
            c->field->name, (long long)out->width, (long long)(l[1].end[y] - l[1].begin[y]));
    }
    return LEVADA_OK;
}

levada_status levada_image_of(const levada_column *c, int64_t row, levada_image *out,
                              levada_error *why)
{
    int32_t depth = c->field->depth;
    int64_t begin = row;

    *out = (levada_image){ .values = c->values, .pixel_bytes = levada_dtype_size(c->field->dtype) };
    for (int32_t i = 2 - depth; i < c->field->ndim; i++) out->pixel_bytes *= c->dims[i];
    if (depth == 2) return image_of_lines(c, row, out, why);
    out->height = depth ? c->level[0].end[row] - c->level[0].begin[row] : c->dims[0];
    out->stride = out->width = c->dims[depth ? 0 : 1];
    begin = depth ? c->level[0].begin[row] : row * out->height;
    out->values += begin * out->stride * out->pixel_bytes;
    return LEVADA_OK;
}
