/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/buckets.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "run/iter_priv.h"

#include <stdio.h>
#include <string.h>

static levada_status buckets_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for buckets");
}

static bool buckets_integer(const levada_field *f)
{
    return f->dtype >= LEVADA_INT8 && f->dtype <= LEVADA_UINT64 && f->depth == 0 && f->ndim == 0;
}

/* "a, b, c", cut where it is too long. */
static const char *buckets_names(const levada_spec *spec, char *text, size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (int32_t i = 0; i < levada_spec_count(spec) && at < size; i++) {
        int n = snprintf(text + at, size - at, "%s%s", i ? ", " : "",
                         levada_spec_field(spec, i)->name);

        at += n > 0 ? (size_t)n : 0;
    }
    return text;
}

levada_status levada_buckets_check_length(const char *length, const levada_spec *in,
                                          levada_error *err)
{
    int32_t             i = levada_spec_find(in, length);
    const levada_field *f = levada_spec_field(in, i);

    if (i < 0 && (levada_spec_flags_of(in) & LEVADA_SPEC_OPEN)) return LEVADA_OK;
    if (i < 0) {
        char names[200];

        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "length='%s' is no field; there are %s",
                           length, buckets_names(in, names, sizeof names));
    }
    if (f->depth > 0 || f->ndim > 0 || f->dtype == LEVADA_BYTES || buckets_integer(f)) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "length='%s' is %s without a dimension",
                       length, levada_dtype_name(f->dtype));
}

/* -- lengths */

static int64_t buckets_number(const levada_column *c, int64_t row)
{
    const void *at = c->values + row * levada_dtype_size(c->field->dtype);
    uint64_t    u64;

    switch (c->field->dtype) {
    case LEVADA_INT8: return *(const int8_t *)at;
    case LEVADA_INT16: return *(const int16_t *)at;
    case LEVADA_INT32: return *(const int32_t *)at;
    case LEVADA_INT64: return *(const int64_t *)at;
    case LEVADA_UINT8: return *(const uint8_t *)at;
    case LEVADA_UINT16: return *(const uint16_t *)at;
    case LEVADA_UINT32: return *(const uint32_t *)at;
    default: memcpy(&u64, at, sizeof u64); return u64 > INT64_MAX ? INT64_MAX : (int64_t)u64;
    }
}

static int64_t buckets_length(const levada_column *c, int64_t row)
{
    if (buckets_integer(c->field)) return buckets_number(c, row);
    if (c->field->dtype == LEVADA_BYTES && c->field->depth == 0 && c->field->ndim == 0) {
        return (int64_t)c->level[0].end[row] - c->level[0].begin[row];
    }
    return levada_column_length(c, row);
}

static levada_status buckets_measure(const levada_buckets *b, const levada_block *block,
                                     int64_t *lengths, levada_error *err)
{
    int32_t field = levada_spec_find(block->spec, b->config.length);

    if (field < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "length='%s' is no field",
                           b->config.length);
    }
    LEVADA_TRY(levada_buckets_check_length(b->config.length, block->spec, err));
    for (int64_t i = 0; i < block->n; i++) {
        int64_t              row;
        const levada_column *c = &levada_block_row(block, i, &row)->columns[field];

        lengths[i] = buckets_length(c, row);
    }
    return LEVADA_OK;
}

/* First i with length < boundaries[i]; the last bucket is open. */
static int64_t buckets_search(const levada_buckets_config *c, int64_t length)
{
    int64_t low = 0, high = c->nboundaries;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (length < c->boundaries[middle]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static int64_t buckets_of(const levada_buckets *b, int64_t length)
{
    if (length >= 0 && length < LEVADA_BUCKETS_TABLE) return b->table[length];
    return buckets_search(&b->config, length);
}

/* -- opening and closing */

levada_status levada_buckets_open(levada_buckets *b, const levada_buckets_config *config,
                                  const levada_context *context, levada_error *err)
{
    int64_t n = config->nboundaries + 1;

    b->config = *config;
    b->context = context;
    if (n > UINT16_MAX) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "more than 65534 boundaries");
    }
    b->buckets = levada_alloc_zero((size_t)n * sizeof *b->buckets);
    b->table = levada_alloc(LEVADA_BUCKETS_TABLE * sizeof *b->table);
    if (!b->buckets || !b->table) return buckets_memory(err);
    for (int64_t i = 0; i < n && config->nsizes; i++) {
        b->buckets[i].size = config->sizes[config->nsizes == 1 ? 0 : i];
    }
    for (int64_t i = 0; config->bounded && i < n - 1; i++) {
        LEVADA_TRY(levada_layout_create(config->boundaries[i] - 1, &b->buckets[i].layout, err));
    }
    for (int64_t l = 0; l < LEVADA_BUCKETS_TABLE; l++) {
        b->table[l] = (uint16_t)buckets_search(config, l);
    }
    return levada_rowstore_create(context, &b->store, err);
}

void levada_buckets_close(levada_buckets *b)
{
    for (int64_t i = 0; b->buckets && i <= b->config.nboundaries; i++) {
        levada_layout_unref(&b->buckets[i].layout);
        levada_free(b->buckets[i].slots);
    }
    levada_free(b->buckets);
    levada_free(b->table);
    levada_free(b->dealt);
    levada_free(b->lengths);
    levada_rowstore_destroy(&b->store);
    memset(b, 0, sizeof *b);
}

/* -- dealing out */

static levada_status buckets_reserve(levada_buckets *b, int64_t rows, levada_error *err)
{
    if (rows <= b->capacity) return LEVADA_OK;
    levada_free(b->dealt);
    levada_free(b->lengths);
    b->capacity = 0;
    b->dealt = levada_alloc((size_t)rows * sizeof *b->dealt);
    b->lengths = levada_alloc((size_t)rows * sizeof *b->lengths);
    if (!b->dealt || !b->lengths) return buckets_memory(err);
    b->capacity = rows;
    return LEVADA_OK;
}

static levada_status buckets_add(levada_buckets *b, const levada_block *block, levada_error *err)
{
    LEVADA_TRY(buckets_reserve(b, block->n, err));
    LEVADA_TRY(buckets_measure(b, block, b->lengths, err));
    LEVADA_TRY(levada_rowstore_add(b->store, block, 0, block->n, b->dealt, err));
    b->at = 0;
    b->n = block->n;
    return LEVADA_OK;
}

static levada_status buckets_push(levada_bucket *k, uint32_t slot, int64_t length,
                                  levada_error *err)
{
    if (k->n == k->capacity) {
        int64_t   room = k->capacity ? 2 * k->capacity : 64;
        uint32_t *more = levada_realloc(k->slots, (size_t)room * sizeof *more);

        if (!more) return buckets_memory(err);
        k->slots = more;
        k->capacity = room;
    }
    k->slots[k->n++] = slot;
    if (length > k->longest) k->longest = length;
    return LEVADA_OK;
}

/* A record of the last bucket, which has no boundary to be padded to. */
static levada_status buckets_beyond(levada_buckets *b, const levada_bucket *k, levada_error *err)
{
    levada_block *record = NULL;
    int64_t       length = 0;
    levada_status st = levada_rowstore_take(b->store, k->slots, 1, &record, err);

    if (st == LEVADA_OK) st = buckets_measure(b, record, &length, err);
    if (st == LEVADA_OK) {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "when pad_to_bucket_boundary=True, elements must have length < "
                         "max(bucket_boundaries): one has %lld",
                         (long long)length);
        levada_run_place(b->context->run, NULL, record, 0, err);
    }
    levada_block_unref(&record);
    return st;
}

static levada_status buckets_emit(levada_buckets *b, levada_bucket *k, levada_block **out,
                                  levada_error *err)
{
    int64_t i = k - b->buckets;

    LEVADA_ASSERT(k->n > 0 && i <= b->config.nboundaries);
    if (b->config.bounded && i == b->config.nboundaries) return buckets_beyond(b, k, err);
    LEVADA_TRY(levada_rowstore_take(b->store, k->slots, k->n, out, err));
    levada_block_set_layout(*out, k->layout);
    k->n = 0;
    k->longest = 0;
    return LEVADA_OK;
}

/* Length that a record has in a padded batch whose longest is this; at least 1, so that records
 * without elements do not gather without end. */
static int64_t buckets_padded(const levada_buckets *b, const levada_bucket *k, int64_t longest)
{
    int64_t i = k - b->buckets, m = b->config.multiple, width = longest;

    if (b->config.width >= 0) {
        width = b->config.width;
    } else if (b->config.bounded && i < b->config.nboundaries) {
        width = b->config.boundaries[i] - 1;
    } else if (longest <= INT64_MAX - m) {
        width = (longest + m - 1) / m * m;
    }
    return width > 1 ? width : 1;
}

/* Whether one more record would make the padded batch larger than the budget. */
static bool buckets_over(const levada_buckets *b, const levada_bucket *k, int64_t length)
{
    int64_t longest = length > k->longest ? length : k->longest;

    return k->n > 0 && buckets_padded(b, k, longest) > b->config.max_tokens / (k->n + 1);
}

/* Longer than the budget by itself: no batch can hold it. */
static levada_status buckets_too_long(levada_buckets *b, uint32_t slot, int64_t length,
                                      int64_t padded, levada_error *err)
{
    levada_block *record = NULL;
    levada_error  why = LEVADA_ERROR_INIT;
    levada_status st;

    (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT,
                      "a record of length %lld (padded %lld) is larger than max_tokens=%lld by "
                      "itself",
                      (long long)length, (long long)padded, (long long)b->config.max_tokens);
    LEVADA_TRY(levada_rowstore_take(b->store, &slot, 1, &record, err));
    st = levada_context_reject(b->context, record, b->n - b->at, &why, err);
    levada_block_unref(&record);
    return st;
}

/* Deals rows out until a batch is full (*out) or the block is used up. */
static levada_status buckets_deal(levada_buckets *b, levada_block **out, levada_error *err)
{
    while (b->at < b->n) {
        int64_t        length = b->lengths[b->at];
        levada_bucket *k = &b->buckets[buckets_of(b, length)];

        if (b->config.max_tokens) {
            int64_t padded = buckets_padded(b, k, length);

            if (padded > b->config.max_tokens) {
                LEVADA_TRY(buckets_too_long(b, b->dealt[b->at++], length, padded, err));
                continue;
            }
            if (buckets_over(b, k, length)) return buckets_emit(b, k, out, err);
        } else if (k->size <= 0) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "window size must be greater than zero, but got %lld",
                               (long long)k->size);
        }
        LEVADA_TRY(buckets_push(k, b->dealt[b->at], length, err));
        b->at++;
        if (!b->config.max_tokens && k->n == k->size) return buckets_emit(b, k, out, err);
    }
    return LEVADA_OK;
}

/* At the end of the input: what is left, in ascending order of buckets. */
static levada_status buckets_flush(levada_buckets *b, levada_block **out, levada_error *err)
{
    for (int64_t i = 0; i <= b->config.nboundaries; i++) {
        levada_bucket *k = &b->buckets[i];
        levada_block  *rest = NULL;
        int64_t        n = k->n;

        if (n == 0) continue;
        LEVADA_TRY(buckets_emit(b, k, &rest, err));
        if (!b->config.drop_remainder || b->config.max_tokens) {
            *out = rest;
            return LEVADA_OK;
        }
        levada_block_unref(&rest);
        levada_context_dropped(b->context, n);
    }
    return LEVADA_END;
}

static int64_t buckets_total(const levada_buckets *b)
{
    int64_t total = b->n - b->at;

    for (int64_t i = 0; i <= b->config.nboundaries; i++) total += b->buckets[i].n;
    return total;
}

levada_status levada_buckets_next(levada_buckets *b, levada_input *in, levada_block **out,
                                  levada_error *err)
{
    *out = NULL;
    for (;;) {
        levada_block *block = NULL;
        levada_status st;

        LEVADA_ASSERT(buckets_total(b) == levada_rowstore_count(b->store)); /* none is lost */
        LEVADA_TRY(buckets_deal(b, out, err));
        if (*out) return LEVADA_OK;
        st = levada_input_next(in, &block, err);
        if (st == LEVADA_END) return buckets_flush(b, out, err);
        if (st == LEVADA_OK) st = buckets_add(b, block, err);
        levada_block_unref(&block);
        if (st != LEVADA_OK) return st;
    }
}

/* -- states: counts, then all rows: bucket by bucket, then those not dealt out */

levada_status levada_buckets_save(const levada_buckets *b, levada_state_writer *to,
                                  levada_error *err)
{
    int64_t       n = b->config.nboundaries + 1, total = buckets_total(b), k = 0;
    int64_t      *counts = levada_alloc((size_t)n * sizeof *counts);
    uint32_t     *slots = levada_alloc((size_t)total * sizeof *slots + 1);
    levada_status st = counts && slots ? LEVADA_OK : buckets_memory(err);

    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        counts[i] = b->buckets[i].n;
        if (counts[i]) memcpy(slots + k, b->buckets[i].slots, (size_t)counts[i] * sizeof *slots);
        k += counts[i];
    }
    if (st == LEVADA_OK && b->n > b->at) {
        memcpy(slots + k, b->dealt + b->at, (size_t)(b->n - b->at) * sizeof *slots);
    }
    if (st == LEVADA_OK) st = levada_state_put_i64s(to, "counts", counts, n, err);
    if (st == LEVADA_OK) st = levada_state_put_i64(to, "total", total, err);
    if (st == LEVADA_OK) st = levada_rowstore_save(b->store, slots, total, to, "rows", err);
    levada_free(counts);
    levada_free(slots);
    return st;
}

static levada_status buckets_refill(levada_buckets *b, const uint32_t *slots, int64_t total,
                                    const int64_t *counts, levada_error *err)
{
    levada_block *rows = NULL;
    int64_t      *lengths = levada_alloc((size_t)total * sizeof *lengths + 1), k = 0;
    levada_status st = lengths ? LEVADA_OK : buckets_memory(err);

    if (st == LEVADA_OK && total) st = levada_rowstore_peek(b->store, slots, total, &rows, err);
    if (st == LEVADA_OK && total) st = buckets_measure(b, rows, lengths, err);
    for (int64_t i = 0; st == LEVADA_OK && i <= b->config.nboundaries; i++) {
        b->buckets[i].n = b->buckets[i].longest = 0;
        for (int64_t c = 0; st == LEVADA_OK && c < counts[i]; c++, k++) {
            st = buckets_push(&b->buckets[i], slots[k], lengths[k], err);
        }
    }
    b->at = b->n = 0;
    if (st == LEVADA_OK) st = buckets_reserve(b, total - k, err);
    if (st == LEVADA_OK) {
        b->n = total - k;
        if (b->n) memcpy(b->dealt, slots + k, (size_t)b->n * sizeof *slots);
        if (b->n) memcpy(b->lengths, lengths + k, (size_t)b->n * sizeof *lengths);
    }
    levada_block_unref(&rows);
    levada_free(lengths);
    return st;
}

levada_status levada_buckets_restore(levada_buckets *b, levada_state_reader *from,
                                     levada_error *err)
{
    const int64_t *counts = NULL;
    uint32_t      *slots = NULL;
    int64_t        n = 0, total = 0, sum = 0;
    levada_status  st;

    LEVADA_TRY(levada_state_get_i64s(from, "counts", &counts, &n, err));
    LEVADA_TRY(levada_state_get_count(from, "total", INT32_MAX, &total, err));
    for (int64_t i = 0; i < n; i++) {
        if (counts[i] < 0 || counts[i] > total - sum) sum = INT64_MAX;
        if (sum == INT64_MAX) break;
        sum += counts[i];
    }
    if (n != b->config.nboundaries + 1 || sum > total) {
        return levada_fail(err, LEVADA_EDATA_LOSS, "the saved state is damaged");
    }
    LEVADA_TRY(levada_rowstore_restore(b->store, from, "rows", total, &slots, err));
    st = buckets_refill(b, slots, total, counts, err);
    levada_slots_free(&slots);
    return st;
}
