/* SPDX-License-Identifier: Apache-2.0 */
/* Records of TFRecord files: the bytes of the column `record` if there is no other, else a
 * tf.train.Example of all columns. */
#include "base/alloc.h"
#include "sink/row_text.h"

#include <string.h>

static bool tfrecord_is_raw(const levada_spec *spec)
{
    const levada_field *field = levada_spec_field(spec, 0);

    return levada_spec_count(spec) == 1 && strcmp(field->name, "record") == 0 &&
           levada_dtype_is_bytes(field->dtype) && field->depth == 0 && field->ndim == 0;
}

static levada_status tfrecord_check(const levada_spec *spec, levada_error *err)
{
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        const levada_field *field = levada_spec_field(spec, i);

        if (field->depth > 1 || (field->depth == 1 && field->ndim > 0))
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "tfrecord: column '%s' has lists of lists", field->name);
        /* A batch has lengths of the outer lists alone. */
        if (field->padded && field->ndim > 1)
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "tfrecord: column '%s' has padded lists of lists; flatten them, or "
                               "select other columns", field->name);
        if (field->dtype == LEVADA_FLOAT64)
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "tfrecord: an Example has no float64: cast column '%s' to float32",
                               field->name);
    }
    return LEVADA_OK;
}

static levada_status tfrecord_strings(levada_example *e, const levada_column *c,
                                      levada_row_range range, levada_error *err)
{
    int64_t       n = range.end - range.begin;
    const void  **texts = levada_alloc((size_t)(n + 1) * sizeof *texts);
    size_t       *sizes = levada_alloc((size_t)(n + 1) * sizeof *sizes);
    levada_status st = LEVADA_OK;

    if (!texts || !sizes) st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++)
        texts[i] = levada_row_string(c, range.begin + i, &sizes[i]);
    if (st == LEVADA_OK) st = levada_example_add_bytes(e, c->field->name, texts, sizes, n, err);
    levada_free(sizes);
    levada_free(texts);
    return st;
}

static levada_status tfrecord_integers(levada_example *e, const levada_column *c,
                                       levada_row_range range, levada_error *err)
{
    int64_t       n = range.end - range.begin;
    int64_t      *values = levada_alloc((size_t)(n + 1) * sizeof *values);
    levada_status st;

    if (!values) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (int64_t i = 0; i < n; i++) values[i] = levada_row_integer(c, range.begin + i);
    st = levada_example_add_i64(e, c->field->name, values, n, err);
    levada_free(values);
    return st;
}

static levada_status tfrecord_column(levada_example *e, const levada_column *c, int64_t row,
                                     levada_error *err)
{
    levada_row_range range = levada_row_range_of(c, row);

    if (levada_dtype_is_bytes(c->field->dtype)) return tfrecord_strings(e, c, range, err);
    if (c->field->dtype != LEVADA_FLOAT32) return tfrecord_integers(e, c, range, err);
    return levada_example_add_f32(e, c->field->name,
                                  (const float *)(const void *)c->values + range.begin,
                                  range.end - range.begin, err);
}

static levada_status tfrecord_row(levada_row_writer *w, const levada_block *block, int64_t row,
                                  levada_text *out, levada_error *err)
{
    const levada_spec *spec = levada_block_spec(block);
    const uint8_t     *data;
    size_t             size;

    if (tfrecord_is_raw(spec)) {
        data = (const uint8_t *)levada_row_string(levada_block_at(block, 0), row, &size);
        levada_text_add(out, data, size);
        return LEVADA_OK;
    }
    if (!w->example) LEVADA_TRY(levada_example_create(&w->example, err));
    levada_example_reset(w->example);
    for (int32_t i = 0; i < levada_spec_count(spec); i++)
        LEVADA_TRY(tfrecord_column(w->example, levada_block_at(block, i), row, err));
    LEVADA_TRY(levada_example_finish(w->example, &data, &size, err));
    levada_text_add(out, data, size);
    return LEVADA_OK;
}

const levada_row_format levada_row_tfrecord = {
    .name = "tfrecord",
    .framed = true,
    .check = tfrecord_check,
    .row = tfrecord_row,
};
