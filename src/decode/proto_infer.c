/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/proto_infer.h"

#include "base/alloc.h"
#include "base/text.h"
#include "rows/infer.h"

#include <levada/example_view.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    int64_t              records; /* looked at */
    bool                 sequences;
} infer_job;

static levada_status infer_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while inferring a spec");
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

/* Implements levada_infer_look. */
static levada_status infer_record(void *user, const uint8_t *data, int64_t size, levada_error *err)
{
    infer_job          *job = user;
    levada_example_kind kind;

    LEVADA_TRY(levada_example_view_parse(job->view, data, (size_t)size, &kind, err));
    if (kind == LEVADA_EXAMPLE_OTHER)
        return levada_fail(err, LEVADA_EDATA_LOSS, "spec=auto: the record is not %s; pass a spec",
                           job->sequences ? "a SequenceExample" : "an Example");
    if (kind == LEVADA_EXAMPLE_SEQUENCE && !job->sequences)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "spec=auto: the record is a SequenceExample; use "
                           "parse_sequence_example:auto");
    for (int64_t i = 0; i < levada_example_view_count(job->view); i++)
        LEVADA_TRY(infer_note(job, levada_example_view_at(job->view, i), err));
    return LEVADA_OK;
}

/* -- the spec */

/* Compares by kind, then by name. */
static int infer_compare(const void *a, const void *b)
{
    const infer_seen *x = a, *y = b;

    if (x->sequence != y->sequence) return x->sequence ? 1 : -1;
    return strcmp(x->name, y->name);
}

static levada_value *infer_text(const char *text) { return levada_value_text(text, strlen(text)); }

/* Infers the shape of one step: [] or [n]. */
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

/* Fills {dtype, kind, ...} of a feature of which `all` is seen in `n` records. */
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

    LEVADA_TRY(levada_infer_set(map, "dtype", infer_text(dtype), err));
    LEVADA_TRY(levada_infer_set(map, "kind", infer_text(kind), err));
    if (key) LEVADA_TRY(levada_infer_set(map, "key", infer_text(key), err));
    if (scalar) return infer_shape(map, 1, err);
    if (!all->sequence || !even) return LEVADA_OK;
    LEVADA_TRY(infer_shape(map, all->most, err));
    return levada_infer_set(map, "allow_missing", levada_value_bool(true), err);
}

/* Merges what all records have of one feature: `n` entries from `first` on. */
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

/* Names a column; a feature list whose name a feature of the context has, too, becomes the column
 * sequence/name. */
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
    infer_job     job = { .sequences = sequences != NULL };
    levada_value *plain = levada_value_map(), *lists = levada_value_map();
    levada_status st = plain && lists ? levada_example_view_create(&job.view, err)
                                      : infer_short(err);

    if (st == LEVADA_OK)
        st = levada_infer_records(input, field, infer_record, &job, &job.records, err);
    if (st == LEVADA_OK) {
        st = infer_all(&job, plain, lists, err);
        if (st != LEVADA_OK) levada_infer_name_file(input, err);
    }
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
