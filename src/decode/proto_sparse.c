/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sparse: indices and values as two ragged columns with the same offsets, <name>/indices [rank] and
 * <name>/values, sorted by index within each record unless the spec says that they are.
 */
#include "decode/proto.h"

/* The values of one feature: numbers, or ranges of strings. */
typedef struct sparse_values {
    uint8_t *at;
    int64_t size;
    int32_t *begin, *end;
} sparse_values;

static int sparse_compare(const int64_t *a, const int64_t *b, int32_t rank)
{
    for (int32_t d = 0; d < rank; d++) {
        if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
    }
    return 0;
}

/* Sorts order[0, n) by index with a stable merge sort; `order` has space for 2 n. */
static void sparse_sort(const int64_t *index, int32_t rank, int64_t *order, int64_t n)
{
    int64_t *from = order, *to = order + n;

    for (int64_t i = 0; i < n; i++) from[i] = i;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t start = 0; start < n; start += 2 * width) {
            int64_t middle = start + width < n ? start + width : n;
            int64_t end = start + 2 * width < n ? start + 2 * width : n;
            int64_t a = start, b = middle;

            for (int64_t i = start; i < end; i++) {
                bool first = b >= end ||
                             (a < middle && sparse_compare(index + from[a] * rank,
                                                           index + from[b] * rank, rank) <= 0);
                to[i] = first ? from[a++] : from[b++];
            }
        }
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order) memcpy(order, from, (size_t)n * sizeof *order);
}

/* Brings n elements of `size` bytes into an order, through scratch memory. */
static void sparse_permute(void *data, size_t size, const int64_t *order, int64_t n, uint8_t *spare)
{
    memcpy(spare, data, (size_t)n * size);
    for (int64_t i = 0; i < n; i++) {
        memcpy((uint8_t *)data + (size_t)i * size, spare + (size_t)order[i] * size, size);
    }
}

static levada_status sparse_sort_row(levada_proto *x, int64_t *index, int32_t rank,
                                     sparse_values *v, int64_t first, int64_t n, levada_error *err)
{
    int64_t wide = rank > 2 ? rank : 2;
    bool sorted = true;
    uint8_t *spare;

    for (int64_t i = 1; i < n && sorted; i++) {
        sorted = sparse_compare(index + (i - 1) * rank, index + i * rank, rank) <= 0;
    }
    if (sorted) return LEVADA_OK;
    LEVADA_TRY(levada_proto_reserve((void **)&x->order, &x->order_capacity, n * (2 + wide),
                                 sizeof *x->order, err));
    spare = (uint8_t *)(x->order + 2 * n);
    sparse_sort(index, rank, x->order, n);
    sparse_permute(index, (size_t)rank * sizeof *index, x->order, n, spare);
    if (v->at) {
        sparse_permute(v->at + first * v->size, (size_t)v->size, x->order, n, spare);
    } else {
        sparse_permute(v->begin + first, sizeof *v->begin, x->order, n, spare);
        sparse_permute(v->end + first, sizeof *v->end, x->order, n, spare);
    }
    return LEVADA_OK;
}

/* Reads dimension d of all indices of one record; the record must have as many as it has values. */
static levada_status sparse_index(levada_proto *x, const levada_feature *f, int32_t d, int64_t row,
                                  int64_t *index, int64_t n, levada_error *err)
{
    levada_items items = { .at = x->spans + f->index[d] * x->rows, .n = x->rows };
    const levada_span *span = &items.at[row];
    int64_t count = span->at ? levada_payload_count(x, LEVADA_LIST_INT64, span) : 0;

    if (count != n) {
        if (count < 0) return levada_proto_broken(x, row, err);
        return levada_proto_reject(x, row, err,
                                   "feature '%s': index key '%s' holds %lld indices for %lld "
                                   "values",
                                   f->name, x->plan->slots[f->index[d]].key,
                                   (long long)count, (long long)n);
    }
    LEVADA_TRY(levada_proto_reserve((void **)&x->number, &x->number_capacity, n + 8,
                                    sizeof *x->number,
                                 err));
    LEVADA_TRY(levada_numbers_decode(x, f, &items, row, LEVADA_INT64, n, x->number, err));
    for (int64_t i = 0; i < n; i++) index[i * f->nindex + d] = x->number[i];
    return LEVADA_OK;
}

static levada_status sparse_row(levada_proto *x, const levada_feature *f, int64_t row,
                                int64_t *index, sparse_values *v, const int32_t *offsets,
                                levada_error *err)
{
    int64_t first = offsets[row], n = offsets[row + 1] - first;

    index += first * f->nindex;
    memset(index, 0, (size_t)(n * f->nindex) * sizeof *index);
    for (int32_t d = 0; d < f->nindex; d++) {
        LEVADA_TRY(sparse_index(x, f, d, row, index, n, err));
    }
    if (f->sorted || x->rejected[row]) return LEVADA_OK;
    return sparse_sort_row(x, index, f->nindex, v, first, n, err);
}

levada_status levada_sparse_decode(levada_proto *x, const levada_feature *f, levada_error *err)
{
    int32_t values = f->column + 1;
    sparse_values v = { .size = levada_dtype_size(f->dtype) };
    levada_items items = { 0 };
    int32_t *offsets = NULL, *same = NULL;
    int64_t *index = NULL;

    LEVADA_TRY(levada_proto_items(x, f, f->slot, 0, &items, err));
    LEVADA_TRY(levada_builder_offsets(x->out, values, 0, x->rows, &offsets, err));
    if (f->list == LEVADA_LIST_BYTES) {
        LEVADA_TRY(levada_strings_count(x, f, &items, offsets, err));
        LEVADA_TRY(levada_strings_fill(x, values, 1, &items, offsets, 1, &v.begin, &v.end, err));
    } else {
        LEVADA_TRY(levada_numbers_count(x, f, &items, offsets, err));
        LEVADA_TRY(levada_numbers_fill(x, f, values, &items, offsets, (void **)&v.at, err));
    }
    LEVADA_TRY(levada_builder_offsets(x->out, f->column, 0, x->rows, &same, err));
    memcpy(same, offsets, (size_t)(x->rows + 1) * sizeof *same);
    LEVADA_TRY(levada_builder_values(x->out, f->column, (int64_t)offsets[x->rows] * f->nindex,
                                     (void **)&index, err));
    for (int64_t row = 0; row < x->rows; row++) {
        LEVADA_TRY(sparse_row(x, f, row, index, &v, offsets, err));
    }
    return LEVADA_OK;
}
