/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/infer.h"

#include "description/dataset_priv.h"
#include "run/iter.h"

#include <levada/block.h>
#include <levada/iter.h>
#include <string.h>

enum { INFER_RECORDS = 1000, INFER_BYTES = 8 << 20, INFER_BLOCK = 64 };

typedef struct infer_job {
    const char       *field;
    levada_infer_look look;
    void             *user;
    int64_t           records, bytes; /* looked at */
    levada_error      bad; /* of the first bad record */
} infer_job;

bool levada_infer_is_auto(const levada_value *value)
{
    size_t      size = 0;
    const char *text = levada_value_kind_of(value) == LEVADA_VALUE_TEXT
                           ? levada_value_as_text(value, &size)
                           : NULL;

    return text && size == 4 && memcmp(text, "auto", 4) == 0;
}

levada_status levada_infer_set(levada_value *map, const char *key, levada_value *item,
                               levada_error *err)
{
    levada_status st = item ? levada_value_set(map, key, &item, err)
                            : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                          "out of memory while inferring a spec");

    levada_value_destroy(&item);
    return st;
}

static void infer_place(const levada_iter *it, const levada_block *block, int64_t row,
                        levada_error *err)
{
    levada_origin at = levada_block_origin(block, row);
    char         *path = NULL;

    if (levada_iter_origin_file(it, &at, &path, NULL) != LEVADA_OK) path = NULL;
    levada_error_place(err, NULL, path, at.record, at.offset);
    levada_string_free(&path);
}

static levada_status infer_block(infer_job *job, const levada_iter *it, const levada_block *block,
                                 levada_error *err)
{
    const levada_column *column = levada_block_column(block, job->field);

    if (!column || !levada_dtype_is_bytes(column->field->dtype) ||
        column->field->depth + column->field->ndim > 0)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "auto: field '%s' is not one byte string per record", job->field);
    for (int64_t row = 0; row < levada_block_rows(block) && job->records < INFER_RECORDS; row++) {
        int64_t        size = 0;
        const uint8_t *data = levada_column_bytes(column, row, &size);
        levada_status  st = job->look(job->user, data, size, err);

        job->bytes += size;
        job->records += st == LEVADA_OK;
        if (st == LEVADA_OK) continue;
        infer_place(it, block, row, err);
        if (st != LEVADA_EDATA_LOSS) return st;
        if (job->bad.code == LEVADA_OK) job->bad = *err;
    }
    return LEVADA_OK;
}

/* Returns the input without the stages that only change the order of records or emit one of several
 * parts of them. */
static const levada_dataset *infer_source(const levada_dataset *input)
{
    for (;; input = levada_dataset_input(input, 0)) {
        const levada_traits t = levada_traits_of(input);

        if (input->op->family != LEVADA_FAMILY_STAGE || t.reads != LEVADA_READS_NONE ||
            !levada_traits_unchanged(&t) || !(t.divides || t.shards)) {
            return input;
        }
    }
}

void levada_infer_name_file(const levada_dataset *input, levada_error *err)
{
    const levada_value *files;
    size_t              size = 0;

    while (input->ninputs > 0) input = input->inputs[0];
    files = levada_value_get(input->options, "files");
    if (levada_value_kind_of(files) == LEVADA_VALUE_LIST) files = levada_value_item(files, 0);
    if (levada_value_kind_of(files) == LEVADA_VALUE_TEXT) {
        levada_error_place(err, NULL, levada_value_as_text(files, &size), -1, -1);
    }
}

/* Looks at the first records under this error policy. */
static levada_status infer_pass(infer_job *job, const levada_dataset *source, const char *errors,
                                levada_error *why)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it = NULL;
    levada_status       st = LEVADA_OK;

    options.seed = 0;
    options.threads = 1;
    options.block_rows = INFER_BLOCK;
    options.errors = errors;
    LEVADA_TRY(levada_iter_open(source, &options, &it, why));
    it->quiet = true;
    while (st == LEVADA_OK && job->records < INFER_RECORDS && job->bytes < INFER_BYTES) {
        levada_block *block = NULL;

        st = levada_iter_next(it, &block, why);
        if (st == LEVADA_OK) st = infer_block(job, it, block, why);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    return st;
}

/* Passes over bad records and damage, because the run reports them, unless nothing else exists:
 * then they are the reason why nothing is known. */
levada_status levada_infer_records(const levada_dataset *input, const char *field,
                                   levada_infer_look look, void *user, int64_t *records,
                                   levada_error *err)
{
    const levada_dataset *source = infer_source(input);
    levada_error          why = LEVADA_ERROR_INIT;
    infer_job job = { .field = field, .look = look, .user = user, .bad = LEVADA_ERROR_INIT };
    levada_status st = infer_pass(&job, source, "skip", &why);

    if (st == LEVADA_END && job.records == 0) {
        if (job.bad.code == LEVADA_OK) st = infer_pass(&job, source, "fail", &why);
        else why = job.bad;
        if (job.bad.code != LEVADA_OK) st = job.bad.code;
        if (st == LEVADA_EINVALID_ARGUMENT) st = why.code = LEVADA_EDATA_LOSS; /* of a record */
    }
    *records = job.records;
    if (st == LEVADA_AGAIN) return levada_fail(err, LEVADA_ECANCELLED, "interrupted");
    if (st == LEVADA_END || (st == LEVADA_EDATA_LOSS && job.records > 0)) st = LEVADA_OK;
    else if (st != LEVADA_OK && err) *err = why;
    return st;
}
