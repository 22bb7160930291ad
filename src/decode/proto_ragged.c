/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VarLen, Ragged, and FixedLenSequence of an Example.
 *
 * Levels from the outside: steps (in feature lists), rows of each partition, values. Partitions are
 * always checked against the values, since one that does not fit would make a column that is not
 * well-formed; a record with such a one is rejected and its values become one row.
 */
#include "decode/proto.h"

#define RAGGED_ROWS                                                                   \
    (1 << 24) /* row ids of one item stay below: a few bytes cannot ask for memory */

/* The partitions of one feature while its items are walked. */
typedef struct ragged_walk {
    levada_proto *x;
    const levada_feature *f;
    levada_items values;
    levada_items part[LEVADA_MAX_DEPTH];
    int64_t used[LEVADA_MAX_DEPTH]; /* rows of each partition so far */
    int64_t row;
} ragged_walk;

/* Reads the numbers of a partition for one item into x->number. */
static levada_status ragged_numbers(ragged_walk *w, int32_t k, int64_t item, int64_t *count,
                                    levada_error *err)
{
    levada_proto *x = w->x;
    const levada_span *span;

    *count = 0;
    if (item >= w->part[k].n) return LEVADA_OK;
    span = &w->part[k].at[item];
    if (span->at) *count = levada_payload_count(x, LEVADA_LIST_INT64, span);
    if (*count <= 0) return LEVADA_OK;
    LEVADA_TRY(levada_proto_reserve((void **)&x->number, &x->number_capacity, *count + 8,
                                 sizeof *x->number, err));
    return levada_numbers_decode(x, w->f, &w->part[k], item, LEVADA_INT64, *count, x->number, err);
}

/* Turns n numbers of a partition of m elements into the ends of its rows, in place; returns the
 * rows, or -1 where the numbers do not fit. Rows of ValueRowIds are made by the caller. */
static int64_t ragged_ends(levada_partition_kind kind, int64_t *v, int64_t n, int64_t m)
{
    int64_t end = 0;

    if (kind == LEVADA_PARTITION_SPLITS) {
        if (n == 0) return m == 0 ? 0 : -1;
        if (v[0] != 0) return -1;
        n--;
        memmove(v, v + 1, (size_t)n * sizeof *v);
    } else if (kind == LEVADA_PARTITION_STARTS && n > 0) {
        if (v[0] != 0) return -1;
        memmove(v, v + 1, (size_t)(n - 1) * sizeof *v);
        v[n - 1] = m;
    }
    for (int64_t i = 0; i < n; i++) {
        if (kind == LEVADA_PARTITION_LENGTHS) {
            if (v[i] < 0 || v[i] > m - end) return -1;
            end = v[i] += end;
            continue;
        }
        if (v[i] < end || v[i] > m) return -1;
        end = v[i];
    }
    return end == m ? n : -1;
}

/* Reserves `more` rows of partition k. */
static levada_status ragged_reserve(ragged_walk *w, int32_t k, int64_t more, levada_error *err)
{
    levada_proto *x = w->x;

    if (w->used[k] + more > INT32_MAX / 8) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "feature '%s': more than 2^31 rows in one block; lower block_rows",
                           w->f->name);
    }
    return levada_proto_reserve((void **)&x->level[k], &x->level_capacity[k], w->used[k] + more + 1,
                             sizeof *x->level[k], err);
}

static void ragged_add(ragged_walk *w, int32_t k, int32_t base, int64_t end)
{
    w->x->level[k][++w->used[k]] = base + (int32_t)end;
}

/* Reads ValueRowIds: n numbers, one for each element, not decreasing; rows may be empty. */
static levada_status ragged_ids(ragged_walk *w, int32_t k, int32_t base, int64_t n, int64_t m,
                                int64_t *rows, levada_error *err)
{
    const int64_t *v = w->x->number;
    int64_t last = 0;

    *rows = -1;
    if (n != m) return LEVADA_OK;
    for (int64_t i = 0; i < n; i++) {
        if (v[i] < last || v[i] >= RAGGED_ROWS) return LEVADA_OK;
        last = v[i];
    }
    *rows = n > 0 ? last + 1 : 0;
    LEVADA_TRY(ragged_reserve(w, k, *rows, err));
    for (int64_t r = 0, i = 0; r < *rows; r++) {
        while (i < n && v[i] == r) i++;
        ragged_add(w, k, base, i);
    }
    return LEVADA_OK;
}

/* Divides m elements, the first of which is `base`; *rows = -1 where that is not possible. */
static levada_status ragged_divide(ragged_walk *w, int32_t k, int64_t item, int32_t base,
                                   int64_t m, int64_t *rows, levada_error *err)
{
    const levada_partition *part = &w->f->part[k];
    int64_t n = 0;

    *rows = -1;
    if (w->x->rejected[w->row]) return LEVADA_OK;
    if (part->kind == LEVADA_PARTITION_UNIFORM) {
        if (m % part->length != 0) return LEVADA_OK;
        *rows = m / part->length;
        LEVADA_TRY(ragged_reserve(w, k, *rows, err));
        for (int64_t r = 1; r <= *rows; r++) ragged_add(w, k, base, r * part->length);
        return LEVADA_OK;
    }
    LEVADA_TRY(ragged_numbers(w, k, item, &n, err));
    if (n < 0 || w->x->rejected[w->row]) return LEVADA_OK;
    if (part->kind == LEVADA_PARTITION_IDS) return ragged_ids(w, k, base, n, m, rows, err);
    *rows = n > 0 ? ragged_ends(part->kind, w->x->number, n, m) : (m == 0 ? 0 : -1);
    if (*rows <= 0) return LEVADA_OK;
    LEVADA_TRY(ragged_reserve(w, k, *rows, err));
    for (int64_t r = 0; r < *rows; r++) ragged_add(w, k, base, w->x->number[r]);
    return LEVADA_OK;
}

/* Reads all partitions of one item, from the inside; *rows is what the outermost one has. */
static levada_status ragged_item(ragged_walk *w, const int64_t *items, int32_t first, int64_t m,
                                 int64_t *rows, levada_error *err)
{
    int32_t base = first;

    *rows = m;
    for (int32_t k = w->f->nparts - 1; k >= 0; k--) {
        int64_t had = w->used[k];
        int64_t elements = *rows;

        LEVADA_TRY(ragged_divide(w, k, items[k], base, elements, rows, err));
        if (*rows < 0) {
            LEVADA_TRY(levada_proto_reject(w->x, w->row, err,
                                           "feature '%s': values and partitions are not aligned: "
                                           "partition %d does not divide %lld elements",
                                           w->f->name, k, (long long)elements));
            w->used[k] = had;
            *rows = elements > 0 ? 1 : 0;
            LEVADA_TRY(ragged_reserve(w, k, 1, err));
            if (*rows > 0) ragged_add(w, k, base, elements);
        }
        base = (int32_t)had;
    }
    return LEVADA_OK;
}

/* Partitions of feature lists need as many steps as the values have, in every record. */
static levada_status ragged_aligned(ragged_walk *w, levada_error *err)
{
    const int32_t *v = w->values.first;

    for (int32_t k = 0; v && k < w->f->nparts; k++) {
        const int32_t *p = w->part[k].first;

        for (int64_t row = 0; p && row < w->x->rows; row++) {
            if (v[row + 1] - v[row] == p[row + 1] - p[row]) continue;
            LEVADA_TRY(levada_proto_reject(w->x, row, err,
                                           "Feature %s: values and partitions are not aligned: "
                                           "%d steps and %d steps",
                                           w->f->name, v[row + 1] - v[row], p[row + 1] - p[row]));
        }
    }
    return LEVADA_OK;
}

static levada_status ragged_walk_items(ragged_walk *w, const int32_t *counts, int32_t *outer,
                                       levada_error *err)
{
    int64_t total = 0;

    outer[0] = 0;
    LEVADA_TRY(ragged_aligned(w, err));
    for (int64_t i = 0; i < w->values.n; i++) {
        const int32_t *first = w->values.first;
        int64_t items[LEVADA_MAX_DEPTH];
        int64_t rows;

        while (first && first[w->row + 1] <= i) w->row++;
        if (!first) w->row = i;
        for (int32_t k = 0; k < w->f->nparts; k++) {
            const int32_t *p = w->part[k].first;

            items[k] = first && p ? p[w->row] + (i - first[w->row]) : i;
        }
        LEVADA_TRY(ragged_item(w, items, counts[i], counts[i + 1] - counts[i], &rows, err));
        total += rows;
        outer[i + 1] = (int32_t)total;
    }
    return LEVADA_OK;
}

/* Makes the levels of the partitions: `level` is the one that divides items. */
static levada_status ragged_partitions(ragged_walk *w, int32_t level, const int32_t *counts,
                                       levada_error *err)
{
    levada_proto *x = w->x;
    int32_t *outer = NULL, *to = NULL;

    for (int32_t k = 0; k < w->f->nparts; k++) {
        if (w->f->part[k].kind != LEVADA_PARTITION_UNIFORM) {
            LEVADA_TRY(levada_proto_items(x, w->f, w->f->part[k].slot, k + 1, &w->part[k], err));
        }
        LEVADA_TRY(ragged_reserve(w, k, 0, err));
        x->level[k][0] = 0;
    }
    LEVADA_TRY(levada_builder_offsets(x->out, w->f->column, level, w->values.n, &outer, err));
    LEVADA_TRY(ragged_walk_items(w, counts, outer, err));
    for (int32_t k = 0; k < w->f->nparts; k++) {
        LEVADA_TRY(levada_builder_offsets(x->out, w->f->column, level + 1 + k, w->used[k], &to,
                                          err));
        memcpy(to, x->level[k], (size_t)(w->used[k] + 1) * sizeof *to);
    }
    return LEVADA_OK;
}

static levada_status ragged_fill(ragged_walk *w, const int32_t *counts, levada_error *err)
{
    const levada_feature *f = w->f;
    bool done = false;

    if (f->list == LEVADA_LIST_BYTES) {
        int32_t level = 1 + f->nparts + (f->steps ? 1 : 0);

        return levada_strings_fill(w->x, f->column, level, &w->values, counts, f->per, NULL, NULL,
                                   err);
    }
    if (w->x->late) LEVADA_TRY(levada_late_encode(w->x, f, &w->values, counts, &done, err));
    if (done) return LEVADA_OK;
    return levada_numbers_fill(w->x, f, f->column, &w->values, counts, NULL, err);
}

levada_status levada_ragged_decode(levada_proto *x, const levada_feature *f, levada_error *err)
{
    ragged_walk w = { .x = x, .f = f };
    int32_t *counts = NULL, *time = NULL;
    int32_t level = f->steps ? 1 : 0;

    LEVADA_TRY(levada_proto_items(x, f, f->slot, 0, &w.values, err));
    x->late = x->late && levada_late_promises(x, f, &w.values);
    if (f->steps) {
        LEVADA_TRY(levada_builder_offsets(x->out, f->column, 0, x->rows, &time, err));
        memcpy(time, w.values.first, (size_t)(x->rows + 1) * sizeof *time);
    }
    if (f->nparts == 0) {
        LEVADA_TRY(levada_builder_offsets(x->out, f->column, level, w.values.n, &counts, err));
    } else {
        LEVADA_TRY(levada_proto_reserve((void **)&x->counts, &x->counts_capacity, w.values.n + 1,
                                     sizeof *counts, err));
        counts = x->counts;
    }
    if (f->list == LEVADA_LIST_BYTES) {
        LEVADA_TRY(levada_strings_count(x, f, &w.values, counts, err));
    } else {
        LEVADA_TRY(levada_numbers_count(x, f, &w.values, counts, err));
    }
    if (f->nparts > 0) LEVADA_TRY(ragged_partitions(&w, level, counts, err));
    return ragged_fill(&w, counts, err);
}
