/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/proto_infer.h"

#include "base/alloc.h"
#include "base/text.h"

#include <levada/block.h>
#include <levada/example_view.h>
#include <levada/iter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INFER_RECORDS = 1000, INFER_BYTES = 8 << 20, INFER_BLOCK = 64 };

/* One feature of one record. */
typedef struct infer_seen {
    char    *name;
    size_t   size;
    bool     sequence;
    uint32_t kinds;      /* bits of levada_dtype, without LEVADA_NONE */
    int64_t  least, most; /* values of an item */
} infer_seen;

typedef struct infer_job {
    levada_example_view *view;
    infer_seen          *seen;
    int64_t              n, capacity;
    int64_t              records, bytes; /* looked at */
} infer_job;

bool levada_proto_is_auto(const levada_value *value)
{
    size_t      size = 0;
    const char *text = levada_value_kind_of(value) == LEVADA_VALUE_TEXT
                           ? levada_value_as_text(value, &size)
                           : NULL;

    return text && size == 4 && memcmp(text, "auto", 4) == 0;
}

static levada_status infer_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory to infer a spec");
}

/* -- records */

static levada_status infer_note(infer_job *job, const levada_example_feature *f, levada_error *err)
{
    infer_seen *seen;

    if (memchr(f->name, '\0', f->name_size) ||
        levada_utf8_check(f->name, f->name_size) != f->name_size)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "spec=auto: the name of a feature is not UTF-8 text; pass a spec");
    if (!levada_reserve(&job->seen, &job->capacity, job->n + 1, sizeof *job->seen))
        return infer_short(err);
    seen = &job->seen[job->n];
    *seen = (infer_seen){ .size = f->name_size, .sequence = f->sequence, .least = INT64_MAX };
    seen->name = levada_alloc(f->name_size + 1);
    if (!seen->name) return infer_short(err);
    memcpy(seen->name, f->name, f->name_size);
    seen->name[f->name_size] = '\0';
    for (int64_t i = 0; i < f->nitems; i++) {
        int64_t count = f->items[i].count;

        if (f->items[i].dtype != LEVADA_NONE) seen->kinds |= 1u << f->items[i].dtype;
        if (count < seen->least) seen->least = count;
        if (count > seen->most) seen->most = count;
    }
    job->n++;
    return LEVADA_OK;
}

static levada_status infer_record(infer_job *job, const uint8_t *data, int64_t size,
                                  bool sequences, levada_error *err)
{
    levada_example_kind kind;

    LEVADA_TRY(levada_example_view_parse(job->view, data, (size_t)size, &kind, err));
    if (kind == LEVADA_EXAMPLE_OTHER)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "spec=auto: not %s message",
                           sequences ? "a SequenceExample" : "an Example");
    if (kind == LEVADA_EXAMPLE_SEQUENCE && !sequences)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "spec=auto: a SequenceExample; use parse_sequence_example:auto");
    for (int64_t i = 0; i < levada_example_view_count(job->view); i++)
        LEVADA_TRY(infer_note(job, levada_example_view_at(job->view, i), err));
    job->records++;
    job->bytes += size;
    return LEVADA_OK;
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
                                 const char *field, bool sequences, levada_error *err)
{
    const levada_column *column = levada_block_column(block, field);

    if (!column || column->field->dtype != LEVADA_BYTES ||
        column->field->depth + column->field->ndim > 0)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "spec=auto: field '%s' is not one byte string per record", field);
    for (int64_t row = 0; row < levada_block_rows(block) && job->records < INFER_RECORDS; row++) {
        int64_t        size = 0;
        const uint8_t *data = levada_column_bytes(column, row, &size);
        levada_status  st = infer_record(job, data, size, sequences, err);

        if (st == LEVADA_OK) continue;
        infer_place(it, block, row, err);
        return st;
    }
    return LEVADA_OK;
}

/* The input without the stages that only change the order of records or choose a part of them. */
static const levada_dataset *infer_source(const levada_dataset *input)
{
    static const char *const passed[] = { "shuffle", "shard", "prefetch", "repeat" };
    size_t                   i = 0;

    while (i < sizeof passed / sizeof *passed) {
        if (strcmp(levada_dataset_name(input), passed[i++]) != 0) continue;
        input = levada_dataset_input(input, 0);
        i = 0;
    }
    return input;
}

/* Damage after a good record ends the search; the run reports it. */
static levada_status infer_read(infer_job *job, const levada_dataset *input, const char *field,
                                bool sequences, levada_error *err)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_error        why = LEVADA_ERROR_INIT;
    levada_iter        *it = NULL;
    levada_status       st = LEVADA_OK;

    options.seed = 0;
    options.threads = 1;
    options.block_rows = INFER_BLOCK;
    LEVADA_TRY(levada_iter_open(infer_source(input), &options, &it, err));
    while (st == LEVADA_OK && job->records < INFER_RECORDS && job->bytes < INFER_BYTES) {
        levada_block *block = NULL;

        st = levada_iter_next(it, &block, &why);
        if (st == LEVADA_OK) st = infer_block(job, it, block, field, sequences, &why);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    if (st == LEVADA_AGAIN) return levada_fail(err, LEVADA_ECANCELLED, "interrupted");
    if (st == LEVADA_END || (st == LEVADA_EDATA_LOSS && job->records > 0)) st = LEVADA_OK;
    else if (st != LEVADA_OK && err) *err = why;
    return st;
}

/* -- the spec */

/* By kind, then by name. */
static int infer_compare(const void *a, const void *b)
{
    const infer_seen *x = a, *y = b;

    if (x->sequence != y->sequence) return x->sequence ? 1 : -1;
    return strcmp(x->name, y->name);
}

static levada_status infer_set(levada_value *map, const char *key, levada_value *item,
                               levada_error *err)
{
    levada_status st = item ? levada_value_set(map, key, &item, err) : infer_short(err);

    levada_value_destroy(&item);
    return st;
}

static levada_value *infer_text(const char *text) { return levada_value_text(text, strlen(text)); }

/* The shape of one step: [] or [n]. */
static levada_status infer_shape(levada_value *map, int64_t n, levada_error *err)
{
    levada_value *shape = levada_value_list(), *dim = levada_value_int(n);
    levada_status st = shape && dim ? LEVADA_OK : infer_short(err);

    if (st == LEVADA_OK && n != 1) st = levada_value_push(shape, &dim, err);
    if (st == LEVADA_OK) st = levada_value_set(map, "shape", &shape, err);
    levada_value_destroy(&dim);
    levada_value_destroy(&shape);
    return st;
}

/* {dtype, kind, ...} of a feature of which `all` is seen in `n` records. */
static levada_status infer_fill(const infer_job *job, const infer_seen *all, int64_t n,
                                const char *key, levada_value *map, levada_error *err)
{
    const char *dtype = all->kinds & 1u << LEVADA_BYTES     ? "string"
                        : all->kinds & 1u << LEVADA_FLOAT32 ? "float32"
                                                            : "int64";
    bool        even = all->least == all->most && all->most > 0;
    bool        scalar = !all->sequence && even && all->most == 1 && n == job->records;
    const char *kind = scalar                  ? "FixedLen"
                       : all->sequence && even ? "FixedLenSequence"
                                               : "VarLen";

    LEVADA_TRY(infer_set(map, "dtype", infer_text(dtype), err));
    LEVADA_TRY(infer_set(map, "kind", infer_text(kind), err));
    if (key) LEVADA_TRY(infer_set(map, "key", infer_text(key), err));
    if (scalar) return infer_shape(map, 1, err);
    if (!all->sequence || !even) return LEVADA_OK;
    LEVADA_TRY(infer_shape(map, all->most, err));
    return infer_set(map, "allow_missing", levada_value_bool(true), err);
}

/* What all records have of one feature: `n` entries from `first` on. */
static levada_status infer_merge(const infer_seen *first, int64_t n, infer_seen *all,
                                 levada_error *err)
{
    *all = *first;
    for (int64_t i = 1; i < n; i++) {
        all->kinds |= first[i].kinds;
        if (first[i].least < all->least) all->least = first[i].least;
        if (first[i].most > all->most) all->most = first[i].most;
    }
    if ((all->kinds & (all->kinds - 1)) == 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "spec=auto: feature '%s' has %s and %s values; pass a spec", all->name,
                       all->kinds & 1u << LEVADA_FLOAT32 ? "float32" : "int64",
                       all->kinds & 1u << LEVADA_BYTES ? "string" : "int64");
}

/* A feature list whose name a feature of the context has, too, becomes the column sequence/name. */
static levada_status infer_one(const infer_job *job, int64_t from, int64_t n,
                               levada_value *features, levada_value *sequences, levada_error *err)
{
    const infer_seen *first = job->seen + from;
    infer_seen        all = { 0 };
    levada_value     *map = levada_value_map();
    levada_text       column = { 0 };
    bool              twice = first->sequence && levada_value_get(features, first->name);
    levada_status     st = map ? infer_merge(first, n, &all, err) : infer_short(err);

    if (st == LEVADA_OK) st = infer_fill(job, &all, n, twice ? first->name : NULL, map, err);
    if (st == LEVADA_OK && twice) {
        char *name = NULL;

        levada_text_format(&column, "sequence/%s", first->name);
        st = levada_text_steal(&column, &name, err);
        if (st == LEVADA_OK) st = levada_value_set(sequences, name, &map, err);
        levada_free(name);
    } else if (st == LEVADA_OK) {
        st = levada_value_set(first->sequence ? sequences : features, first->name, &map, err);
    }
    levada_value_destroy(&map);
    return st;
}

static levada_status infer_all(infer_job *job, levada_value *features, levada_value *sequences,
                               levada_error *err)
{
    if (job->records == 0)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "spec=auto: the input has no records; pass a spec");
    if (job->n == 0)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "spec=auto: the first %lld records have no features; pass a spec",
                           (long long)job->records);
    qsort(job->seen, (size_t)job->n, sizeof *job->seen, infer_compare);
    for (int64_t from = 0, to; from < job->n; from = to) {
        to = from + 1;
        while (to < job->n && infer_compare(job->seen + from, job->seen + to) == 0) to++;
        LEVADA_TRY(infer_one(job, from, to - from, features, sequences, err));
    }
    return LEVADA_OK;
}

static void infer_clear(infer_job *job)
{
    for (int64_t i = 0; i < job->n; i++) levada_free(job->seen[i].name);
    levada_free(job->seen);
    levada_example_view_destroy(&job->view);
}

levada_status levada_proto_infer(const levada_dataset *input, const char *field,
                                 levada_value **features, levada_value **sequences,
                                 levada_error *err)
{
    infer_job     job = { 0 };
    levada_value *plain = levada_value_map(), *lists = levada_value_map();
    levada_status st = plain && lists ? levada_example_view_create(&job.view, err)
                                      : infer_short(err);

    if (st == LEVADA_OK) st = infer_read(&job, input, field, sequences != NULL, err);
    if (st == LEVADA_OK) st = infer_all(&job, plain, lists, err);
    if (st == LEVADA_OK) {
        *features = plain;
        plain = NULL;
    }
    if (st == LEVADA_OK && sequences) {
        *sequences = lists;
        lists = NULL;
    }
    infer_clear(&job);
    levada_value_destroy(&lists);
    levada_value_destroy(&plain);
    return st;
}
