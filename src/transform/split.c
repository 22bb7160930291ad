/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split - the records of one part of a dataset, such as those for validation.
 *
 * A hash of the seed and of the origin of a record (or of a field) decides about its part. So a
 * record is in the same part in each epoch, downstream of any shuffle, and on each rank. The hash
 * has the base name of the file, since numbers of files depend on which ones a rank reads.
 */

#include "base/alloc.h"
#include "base/hash.h"
#include "base/random.h"
#include "description/columns.h"
#include "option/value_priv.h"
#include "registry/env_priv.h"
#include "registry/stage_core.h"
#include "run/context.h"
#include "run/file_hash.h"
#include "tensor/convert.h"

#include <string.h>

typedef struct split_args {
    const levada_value *fractions;
    const char         *by;
    int64_t             part, seed;
} split_args;

typedef struct split_state {
    const levada_context *context;
    double                begin, end; /* the numbers of [0, 1) that are in the part */
    levada_file_hashes    files;
} split_state;

static const levada_arg split_options[] = {
    LEVADA_ARG(VALUE, split_args, fractions, .required = true, .positional = true,
               .doc = "one number for each part, at least 0 and in sum at most 1; the rest of the "
                      "records is in no part"),
    LEVADA_ARG(INT, split_args, part, .otherwise = "0", .min = 0, .max = INT32_MAX,
               .doc = "number of the part to return, from 0"),
    LEVADA_ARG(TEXT, split_args, by, .otherwise = "record",
               .doc = "record = each record by itself; or a field of integers or byte strings: "
                      "records with equal values are in the same part"),
    LEVADA_ARG(INT, split_args, seed, .otherwise = "0", .min = 0, .max = INT64_MAX,
               .doc = "seed of the division; equal in all parts"),
    LEVADA_ARG_END
};

/* -- which numbers are in the part */

/* Returns the sum of the fractions before number n; a sum of about 1 is 1. */
static double split_bound(const levada_value *fractions, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++) sum += levada_value_as_float(levada_value_item(fractions, i));
    return sum > 1 - 1e-9 && sum < 1 + 1e-9 ? 1 : sum;
}

static levada_status split_check_fractions(const split_args *a, levada_error *err)
{
    char    shown[LEVADA_VALUE_SHOWN];
    int64_t n = levada_value_count(a->fractions);

    for (int64_t i = 0; i < n; i++) {
        const levada_value *v = levada_value_item(a->fractions, i);
        levada_value_kind   kind = levada_value_kind_of(v);
        double              fraction = levada_value_as_float(v);

        if ((kind == LEVADA_VALUE_INT || kind == LEVADA_VALUE_FLOAT) && fraction >= 0) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "fractions[%lld] must be a number of at least 0, got %s",
                           (long long)i, levada_value_shown(v, LEVADA_PRINT_TEXT, shown));
    }
    if (levada_value_kind_of(a->fractions) != LEVADA_VALUE_LIST || n == 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "fractions must be a list of one number for each part, got %s",
                           levada_value_shown(a->fractions, LEVADA_PRINT_TEXT, shown));
    }
    if (!(split_bound(a->fractions, n) <= 1)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the sum of fractions must be at most 1, got %g",
                           split_bound(a->fractions, n));
    }
    if (a->part < n) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "part=%lld must be less than the number of fractions, %lld",
                       (long long)a->part, (long long)n);
}

static bool split_by_record(const split_args *a) { return strcmp(a->by, "record") == 0; }

static levada_status split_check_field(const char *name, const levada_spec *in, levada_error *err)
{
    const levada_field *f;
    int32_t             i = -1;

    LEVADA_TRY(levada_spec_require(in, name, &i, err));
    f = levada_spec_field(in, i);
    if (!f) return LEVADA_OK;
    if (!f->depth && !f->ndim && (levada_dtype_is_bytes(f->dtype) || f->dtype <= LEVADA_UINT64)) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "by='%s' must be a field of one integer or byte string for each record; it "
                       "is %s%s",
                       name, f->depth || f->ndim ? "several values of " : "",
                       levada_dtype_name(f->dtype));
}

static levada_status split_check(const void *args, const levada_spec *in, levada_spec **out,
                                 levada_error *err)
{
    const split_args *a = args;

    (void)out;
    LEVADA_TRY(levada_spec_want_records(in, err));
    LEVADA_TRY(split_check_fractions(a, err));
    return split_by_record(a) ? LEVADA_OK : split_check_field(a->by, in, err);
}

static levada_status split_open(void *state, const void *args, const levada_context *context,
                                levada_error *err)
{
    split_state      *s = state;
    const split_args *a = args;

    (void)err;
    s->context = context;
    s->begin = split_bound(a->fractions, a->part);
    s->end = split_bound(a->fractions, a->part + 1);
    return LEVADA_OK;
}

/* -- the hash of a record */

/* Hashes all origin parts, because a record that a zip joined has several. */
static levada_status split_hash_origins(split_state *s, const levada_block *in, uint64_t *hashes,
                                        levada_error *err)
{
    int32_t nparts = levada_block_origin_parts(in);

    for (int64_t r = 0; r < in->n; r++) {
        for (int32_t part = 0; part < nparts; part++) {
            levada_origin of = levada_block_origin_part(in, r, part);
            uint64_t      file = 0;

            if (of.source < 0 && part > 0) continue;
            if (of.source < 0) {
                return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                                   "records have no origin here; split upstream, or by a field");
            }
            LEVADA_TRY(levada_file_hash_of(&s->files, s->context->run, &of, &file, err));
            hashes[r] = levada_random_key(hashes[r], file);
            hashes[r] = levada_random_at(hashes[r], (uint64_t)of.record);
            if (of.sub) hashes[r] = levada_random_at(hashes[r], (uint64_t)of.sub);
        }
    }
    return LEVADA_OK;
}

static levada_status split_hash_field(const char *name, const levada_block *in, uint64_t *hashes,
                                      int64_t *scratch, levada_error *err)
{
    const levada_column *c = levada_block_column(in, name);

    LEVADA_TRY(split_check_field(name, in->spec, err));
    if (!levada_dtype_is_bytes(c->field->dtype)) {
        (void)levada_convert(c->field->dtype, c->values,
                             c->field->dtype == LEVADA_UINT64 ? LEVADA_UINT64 : LEVADA_INT64,
                             scratch, in->n);
        for (int64_t r = 0; r < in->n; r++) {
            hashes[r] = levada_random_at(hashes[r], (uint64_t)scratch[r]);
        }
        return LEVADA_OK;
    }
    for (int64_t r = 0; r < in->n; r++) {
        int64_t        size = 0;
        const uint8_t *data = levada_column_bytes(c, r, &size);

        hashes[r] = levada_hash64(data, (size_t)size, hashes[r]);
    }
    return LEVADA_OK;
}

static levada_status split_apply(void *state, const void *args, const levada_block *in,
                                 levada_block **out, levada_error *err)
{
    split_state      *s = state;
    const split_args *a = args;
    uint64_t         *hashes = levada_alloc((size_t)in->n * (2 * sizeof *hashes + sizeof(int32_t)));
    int64_t          *scratch, n = 0;
    int32_t          *rows;
    levada_status     st;

    if (!hashes) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a split");
    scratch = (int64_t *)(void *)(hashes + in->n);
    rows = (int32_t *)(void *)(scratch + in->n);
    for (int64_t r = 0; r < in->n; r++) hashes[r] = (uint64_t)a->seed;
    st = split_by_record(a) ? split_hash_origins(s, in, hashes, err)
                            : split_hash_field(a->by, in, hashes, scratch, err);
    for (int64_t r = 0; st == LEVADA_OK && r < in->n; r++) {
        double at = levada_random_unit(levada_random_at(hashes[r], 0));

        rows[n] = (int32_t)r;
        n += at >= s->begin && at < s->end;
    }
    if (st == LEVADA_OK) st = levada_block_select(in, rows, n, out, err);
    levada_free(hashes);
    return st;
}

const levada_stage_def levada_stage_split = {
    .struct_size = sizeof(levada_stage_def),
    .name = "split",
    .doc = "returns the records of one of several disjoint parts, the same in each epoch",
    .example = "range:10 | split:[0.8, 0.2],part=1",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_SUBSET, .reads = LEVADA_READS_COLUMNS,
                            .never_rejects = true),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_PASS),
    .args = split_options,
    .args_size = sizeof(split_args),
    .state_size = sizeof(split_state),
    .check = split_check,
    .open = split_open,
    .apply = split_apply,
};
