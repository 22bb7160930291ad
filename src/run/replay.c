/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receipts of batches, and single batches that are rebuilt.
 */
#include <levada/receipt.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/wire.h"
#include "run/iter.h"
#include "tensor/block_priv.h"
#include "tensor/record_hash.h"

#include <string.h>

#define REPLAY_PREFIX "lvb1_"

/* Hashes the columns and all values of a block. */
static levada_status replay_digest(const levada_block *block, uint8_t out[16], levada_error *err)
{
    uint64_t *hashes = levada_alloc(((size_t)block->n + 1) * sizeof *hashes);

    if (!hashes) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a receipt");
    hashes[0] = levada_columns_hash(block);
    for (int64_t i = 0; i < block->n; i++) hashes[i + 1] = levada_record_hash(block, i, true);
    levada_hash128(hashes, ((size_t)block->n + 1) * sizeof *hashes, 0, out);
    levada_free(hashes);
    return LEVADA_OK;
}

/* Hashes a dataset together with the seed. */
static levada_status replay_pipeline(const levada_iter *it, uint64_t *out, levada_error *err)
{
    uint8_t fingerprint[16];

    LEVADA_TRY(levada_dataset_fingerprint(it->run->dataset, fingerprint, err));
    *out = levada_hash64(fingerprint, sizeof fingerprint, (uint64_t)it->run->seed);
    return LEVADA_OK;
}

levada_status levada_batch_receipt_fill(levada_batch_receipt *receipt, const levada_block *batch,
                                        levada_error *err)
{
    LEVADA_TRY(levada_require(receipt != NULL, "receipt", err));
    LEVADA_TRY(levada_require(batch != NULL, "block", err));
    receipt->records = (uint32_t)batch->n;
    return replay_digest(batch, receipt->digest, err);
}

levada_status levada_iter_receipt(levada_iter *it, const levada_block *batch, int64_t step,
                                  levada_batch_receipt *out, levada_error *err)
{
    levada_batch_receipt made = { .step = step };
    levada_status        st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    if (step < 0) made.step = atomic_load(&it->blocks) - 1;
    made.epoch = (uint32_t)it->run->epoch;
    st = replay_pipeline(it, &made.pipeline, err);
    if (st == LEVADA_OK && batch) st = levada_batch_receipt_fill(&made, batch, err);
    if (st == LEVADA_OK) *out = made;
    return st;
}

/* -- as text: the fields in their order, in little endian */

levada_status levada_batch_receipt_print(const levada_batch_receipt *receipt, char **out,
                                         levada_error *err)
{
    uint8_t     bytes[40], *p = bytes;
    levada_text text = { 0 };

    LEVADA_TRY(levada_require(receipt != NULL, "receipt", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    p = levada_wire_put_fixed(p, receipt->pipeline, 8);
    p = levada_wire_put_fixed(p, (uint64_t)receipt->step, 8);
    p = levada_wire_put_fixed(p, receipt->epoch, 4);
    p = levada_wire_put_fixed(p, receipt->records, 4);
    memcpy(p, receipt->digest, sizeof receipt->digest);
    levada_receipt_encode(REPLAY_PREFIX, bytes, sizeof bytes, &text);
    return levada_text_steal(&text, out, err);
}

levada_status levada_batch_receipt_parse(const char *text, levada_batch_receipt *out,
                                         levada_error *err)
{
    uint8_t        bytes[40];
    const uint8_t *p = bytes;
    uint64_t       step, epoch, records;
    size_t         size = 0;

    LEVADA_TRY(levada_require(text != NULL, "text", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    if (!levada_receipt_decode(REPLAY_PREFIX, text, bytes, sizeof bytes, &size) ||
        size != sizeof bytes) {
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "'%.64s' is not a batch receipt: it must be the 59 characters that begin "
            "with " REPLAY_PREFIX,
            text);
    }
    p = levada_wire_get_fixed(p, 8, &out->pipeline);
    p = levada_wire_get_fixed(p, 8, &step);
    p = levada_wire_get_fixed(p, 4, &epoch);
    p = levada_wire_get_fixed(p, 4, &records);
    out->step = (int64_t)step;
    out->epoch = (uint32_t)epoch;
    out->records = (uint32_t)records;
    memcpy(out->digest, p, sizeof out->digest);
    return LEVADA_OK;
}

/* -- replay */

/* Refuses batches that only the consumer can rebuild, and those that were passed. */
static levada_status replay_check(const levada_iter *it, int64_t step, levada_error *err)
{
    const levada_spec *fed = levada_iter_feeds(it);

    if (step < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "step=%lld must be at least 0",
                           (long long)step);
    }
    if (fed) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the batches have states that the consumer returns, such as '%s', so "
                           "they cannot be rebuilt without it", levada_spec_field(fed, 0)->name);
    }
    if (levada_iter_batches(it) > step) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the checkpoint is later than batch %lld: it begins with batch %lld; "
                           "use an earlier one, or none",
                           (long long)step, (long long)levada_iter_batches(it));
    }
    return LEVADA_OK;
}

levada_status levada_iter_seek(levada_iter *it, int64_t step, levada_block **out,
                               levada_error *err)
{
    levada_block *found = NULL;
    levada_status st = LEVADA_OK;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(replay_check(it, step, err));
    while (st == LEVADA_OK && levada_iter_batches(it) <= step) {
        levada_block_unref(&found);
        st = levada_iter_next(it, &found, err);
    }
    if (st == LEVADA_OK) *out = found;
    else levada_block_unref(&found);
    if (st != LEVADA_END) return st;
    return levada_fail(err, LEVADA_EOUT_OF_RANGE,
                       "batch %lld does not exist: the epoch has %lld batches", (long long)step,
                       (long long)levada_iter_batches(it));
}

levada_status levada_iter_replay(levada_iter *it, const void *state, size_t size, int64_t step,
                                 levada_block **out, levada_error *err)
{
    levada_iter_options options;
    levada_iter        *again = NULL;
    levada_status       st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    options = it->options;
    options.seed = it->run->seed;
    options.epoch = it->run->epoch;
    LEVADA_TRY(levada_iter_open(it->run->dataset, &options, &again, err));
    again->quiet = true;
    st = state ? levada_iter_restore(again, state, size, err) : LEVADA_OK;
    if (st == LEVADA_OK) st = levada_iter_seek(again, step, out, err);
    levada_iter_close(&again);
    return st;
}

int64_t levada_iter_batches(const levada_iter *it)
{
    return LEVADA_OURS(it) ? atomic_load(&it->self->blocks) : 0;
}

levada_status levada_iter_delivered(levada_iter *it, char **out, levada_error *err)
{
    levada_received received;
    levada_text     text = { 0 };

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_iter_enter(it);
    levada_stats_get(it, &received);
    levada_iter_leave(it);
    levada_receipt_print(&received.receipt, &text);
    return levada_text_steal(&text, out, err);
}

static levada_status replay_load(const levada_env *env, const void *state, size_t size,
                                 levada_received *out, levada_error *err)
{
    levada_state_reader from;
    levada_status       st;

    LEVADA_TRY(levada_state_decode(state, size, env, &from, err));
    from.scope = (levada_state_scope)LEVADA_STATE_DATASET;
    st = levada_stats_load(&from, out, err);
    levada_state_reader_clear(&from);
    return st;
}

levada_status levada_state_delivered(levada_env *env, const void *state, size_t size, char **out,
                                     levada_error *err)
{
    levada_received received;
    levada_text     text = { 0 };
    levada_env     *own;
    levada_status   st;

    LEVADA_TRY(levada_require(state != NULL, "state", err));
    LEVADA_TRY(levada_require_size(size, "size", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    own = levada_env_ref(env);
    if (!own) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a receipt");
    st = replay_load(own, state, size, &received, err);
    levada_env_unref(&own);
    if (st != LEVADA_OK) return st;
    levada_receipt_print(&received.receipt, &text);
    return levada_text_steal(&text, out, err);
}
