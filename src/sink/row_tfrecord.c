/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of TFRecord files: the bytes of the column `record` if there is no other, else a message
 * of all columns. It is a tf.train.Example, unless a column has steps of several values.
 *
 * In a tf.train.SequenceExample, columns whose rows differ in length are feature lists. Values and
 * arrays of a fixed shape are features of the context.
 */
#include "base/alloc.h"
#include "sink/row_text.h"

#include <string.h>

enum { TFRECORD_BYTES = 1, TFRECORD_EXAMPLE, TFRECORD_SEQUENCE };

/* Returns true if rows of the column differ in length, so that it can be a feature list. */
static bool tfrecord_is_list(const levada_field *field)
{
    return field->depth > 0 || (field->padded && field->ndim > 0);
}

/* Returns the kind of message for these columns. */
static int32_t tfrecord_kind(const levada_spec *spec, bool sequence)
{
    const levada_field *field = levada_spec_field(spec, 0);

    if (levada_spec_count(spec) == 1 && strcmp(field->name, "record") == 0 &&
        levada_dtype_is_bytes(field->dtype) && field->depth == 0 && field->ndim == 0)
        return TFRECORD_BYTES;
    for (int32_t i = 0; i < levada_spec_count(spec) && !sequence; i++) {
        field = levada_spec_field(spec, i);
        sequence = tfrecord_is_list(field) && field->depth + field->ndim > 1;
    }
    return sequence ? TFRECORD_SEQUENCE : TFRECORD_EXAMPLE;
}

static levada_status tfrecord_check(const levada_spec *spec, levada_error *err)
{
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        const levada_field *field = levada_spec_field(spec, i);

        if (field->depth > 2 || (field->depth == 2 && field->ndim > 0))
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "tfrecord: column '%s' has lists in the lists of a step; a "
                               "SequenceExample has steps of values alone", field->name);
        if (levada_row_inner_padding(field))
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "tfrecord: column '%s' has padded lists of lists, and a batch does "
                               "not have the lengths of the inner ones; write batches of batch()",
                               field->name);
        if (field->dtype == LEVADA_FLOAT64)
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "tfrecord: an Example has no float64: cast column '%s' to float32",
                               field->name);
    }
    return LEVADA_OK;
}

/* Reserves memory for n items of a feature. */
static levada_status tfrecord_reserve(levada_row_writer *w, int64_t n, size_t size,
                                      levada_error *err)
{
    if (levada_reserve(&w->values, &w->capacity, n * (int64_t)size, 1)) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                       "out of memory for the values of a feature");
}

static levada_status tfrecord_strings(levada_row_writer *w, const char *key,
                                      const levada_column *c, int64_t begin, int64_t n,
                                      levada_error *err)
{
    const void **texts;
    size_t      *sizes;

    LEVADA_TRY(tfrecord_reserve(w, n, sizeof *texts + sizeof *sizes, err));
    texts = w->values;
    sizes = (size_t *)(void *)(texts + n);
    for (int64_t i = 0; i < n; i++) texts[i] = levada_row_string(c, begin + i, &sizes[i]);
    return levada_example_add_bytes(w->example, key, texts, sizes, n, err);
}

/* Adds n values as a feature of the name `key`, or as a step if it is NULL. */
static levada_status tfrecord_feature(levada_row_writer *w, const char *key,
                                      const levada_column *c, int64_t begin, int64_t n,
                                      levada_error *err)
{
    int64_t *values;

    if (levada_dtype_is_bytes(c->field->dtype)) return tfrecord_strings(w, key, c, begin, n, err);
    if (c->field->dtype == LEVADA_FLOAT32)
        return levada_example_add_f32(w->example, key,
                                      (const float *)(const void *)c->values + begin, n, err);
    LEVADA_TRY(tfrecord_reserve(w, n, sizeof *values, err));
    values = w->values;
    for (int64_t i = 0; i < n; i++) values[i] = levada_row_integer(c, begin + i);
    return levada_example_add_i64(w->example, key, values, n, err);
}

/* Adds a feature list with a step for each item of the row. */
static levada_status tfrecord_list(levada_row_writer *w, const levada_column *c, int64_t row,
                                   levada_error *err)
{
    levada_row_range items = levada_row_range_of(c, row);
    int64_t          step = levada_row_step(c);

    LEVADA_TRY(levada_example_begin_list(w->example, c->field->name, err));
    for (int64_t at = items.begin; at < items.end; at++) {
        int64_t begin = at * step, n = step;

        if (c->field->depth > 1) {
            begin = c->level[1].begin[at];
            n = c->level[1].end[at] - begin;
        }
        LEVADA_TRY(tfrecord_feature(w, NULL, c, begin, n, err));
    }
    return levada_example_end_list(w->example, err);
}

static levada_status tfrecord_message(levada_row_writer *w, const levada_block *block, int64_t row,
                                      int32_t kind, levada_text *out, levada_error *err)
{
    const uint8_t *data;
    size_t         size;

    if (!w->example) LEVADA_TRY(levada_example_create(&w->example, err));
    levada_example_reset(w->example);
    for (int32_t i = 0; i < levada_spec_count(levada_block_spec(block)); i++) {
        const levada_column *c = levada_block_at(block, i);
        levada_row_range     items = levada_row_range_of(c, row);
        int64_t              step = levada_row_step(c);

        if (kind == TFRECORD_SEQUENCE && tfrecord_is_list(c->field))
            LEVADA_TRY(tfrecord_list(w, c, row, err));
        else
            LEVADA_TRY(tfrecord_feature(w, c->field->name, c, items.begin * step,
                                        (items.end - items.begin) * step, err));
    }
    LEVADA_TRY(levada_example_finish(w->example, &data, &size, err));
    levada_text_add(out, data, size);
    return LEVADA_OK;
}

static const char *tfrecord_kind_name(int32_t kind)
{
    static const char *const names[] = { "bytes", "an Example", "a SequenceExample" };

    return names[kind - TFRECORD_BYTES];
}

static levada_status tfrecord_add(levada_row_writer *w, const levada_block *block, int64_t row,
                                  bool sequence, levada_text *out, levada_error *err)
{
    int32_t     kind = tfrecord_kind(levada_block_spec(block), sequence);
    const char *data;
    size_t      size;

    if (w->record == 0) w->message = kind;
    if (kind != w->message)
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "tfrecord: all records must be the same kind of message, but record 0 is "
            "%s and this record is %s; pad all records alike",
            tfrecord_kind_name(w->message), tfrecord_kind_name(kind));
    if (kind != TFRECORD_BYTES) return tfrecord_message(w, block, row, kind, out, err);
    data = levada_row_string(levada_block_at(block, 0), row, &size);
    levada_text_add(out, data, size);
    return LEVADA_OK;
}

static levada_status tfrecord_row(levada_row_writer *w, const levada_block *block, int64_t row,
                                  levada_text *out, levada_error *err)
{
    return tfrecord_add(w, block, row, false, out, err);
}

static levada_status tfrecord_sequence_row(levada_row_writer *w, const levada_block *block,
                                           int64_t row, levada_text *out, levada_error *err)
{
    return tfrecord_add(w, block, row, true, out, err);
}

const levada_row_format levada_row_tfrecord = {
    .name = "tfrecord",
    .framed = true,
    .check = tfrecord_check,
    .row = tfrecord_row,
};

const levada_row_format levada_row_sequence_example = {
    .name = "sequence_example",
    .framed = true,
    .check = tfrecord_check,
    .row = tfrecord_sequence_row,
};
