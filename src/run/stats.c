/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an iterator counted.
 */
#include "base/text.h"
#include "run/iter.h"
#include "run/plan.h"
#include "run/workers.h"
#include "state/damaged.h"
#include "tensor/block_priv.h"

#include <string.h>

#define STATS_LINE LEVADA_ERROR_TEXT
#define STATS_RECEIVED "received" /* in states */

/* Adds the losses of `it` and everything upstream. */
static void stats_losses(const levada_node *it, levada_losses *sum)
{
    levada_losses_count(sum, &it->skips);
    for (int32_t i = 0; i < it->ninputs; i++) stats_losses(it->inputs[i], sum);
}

/* -- counts of what the consumer received; records and blocks are counted as in all nodes */

/* Adds (1) or subtracts (-1) the padding of a block; levada_input_next counts the rest. */
static void stats_padding(levada_run *run, const levada_block *block, int64_t times)
{
    int64_t all = 0, payload = 0;

    if (!(levada_spec_flags_of(block->spec) & LEVADA_SPEC_BATCHED)) return;
    for (int32_t i = 0; i < levada_spec_count(block->spec); i++) {
        const levada_column *c = &block->columns[i];

        if (!c->lengths || c->field->ndim == 0) continue;
        all += block->n * c->dims[0];
        for (int64_t r = 0; r < block->n; r++) payload += c->lengths[r];
    }
    atomic_fetch_add_explicit(&run->padded, all * times, memory_order_relaxed);
    atomic_fetch_add_explicit(&run->payload, payload * times, memory_order_relaxed);
}

void levada_stats_recount(levada_iter *it, const levada_block *block, int64_t from, int64_t times)
{
    levada_mutex_lock(&it->lock);
    (times > 0 ? levada_delivery_add : levada_delivery_take)(&it->delivery, it->run, block, from);
    levada_mutex_unlock(&it->lock);
    atomic_fetch_add_explicit(&it->records, (block->n - from) * times, memory_order_relaxed);
    if (from > 0) return;
    atomic_fetch_add_explicit(&it->blocks, times, memory_order_relaxed);
    stats_padding(it->run, block, times);
}

void levada_stats_waited(levada_run *run, int64_t began, int64_t rows)
{
    int64_t took = levada_meter_end(&run->meter, "next", began, rows);

    if (!atomic_load_explicit(&run->called, memory_order_relaxed)) {
        atomic_store_explicit(&run->called, began, memory_order_relaxed);
    }
    atomic_store_explicit(&run->returned, began + took, memory_order_relaxed);
    atomic_fetch_add_explicit(&run->waited, took, memory_order_relaxed);
}

/* Returns the receipt with what was skipped. With the lock of the iterator. */
static void stats_receipt(const levada_iter *it, levada_receipt *out)
{
    levada_losses sum = { 0 };

    stats_losses(it->root, &sum);
    levada_losses_count(&sum, &it->run->unplaced);
    *out = it->delivery.receipt;
    out->skipped = (uint64_t)sum.skipped;
}

void levada_stats_get(levada_iter *it, levada_received *out)
{
    out->counts[0] = atomic_load(&it->records);
    out->counts[1] = atomic_load(&it->blocks);
    out->counts[2] = atomic_load(&it->run->padded);
    out->counts[3] = atomic_load(&it->run->payload);
    levada_mutex_lock(&it->lock);
    stats_receipt(it, &out->receipt);
    levada_mutex_unlock(&it->lock);
}

levada_status levada_stats_put(const levada_received *received, levada_state_writer *to,
                               levada_error *err)
{
    LEVADA_TRY(levada_state_put_i64s(to, STATS_RECEIVED, received->counts, LEVADA_RECEIVED_COUNTS,
                                     err));
    return levada_receipt_put(&received->receipt, to, err);
}

levada_status levada_stats_load(levada_state_reader *from, levada_received *out,
                                levada_error *err)
{
    const int64_t *saved = NULL;
    int64_t        n = 0;
    bool           whole;

    memset(out, 0, sizeof *out);
    if (!levada_state_has(from, STATS_RECEIVED)) return LEVADA_OK;
    LEVADA_TRY(levada_state_get_i64s(from, STATS_RECEIVED, &saved, &n, err));
    whole = n == LEVADA_RECEIVED_COUNTS;
    for (int64_t i = 0; whole && i < n; i++) {
        whole = saved[i] >= 0 && saved[i] <= LEVADA_COUNT_LIMIT;
        out->counts[i] = saved[i];
    }
    if (whole) return levada_receipt_load(from, out->counts[0], &out->receipt, err);
    return levada_state_damaged(from, STATS_RECEIVED, err, "not %d counts",
                                LEVADA_RECEIVED_COUNTS);
}

void levada_stats_set(levada_iter *it, const levada_received *received)
{
    atomic_store(&it->records, received->counts[0]);
    atomic_store(&it->blocks, received->counts[1]);
    atomic_store(&it->run->padded, received->counts[2]);
    atomic_store(&it->run->payload, received->counts[3]);
    memset(&it->delivery, 0, sizeof it->delivery);
    it->delivery.receipt = received->receipt;
}

/* Reports what was skipped and why: the first records of it. */
static void stats_notes(levada_text *text, levada_run *run)
{
    levada_mutex_lock(&run->noting);
    for (int64_t i = 0; i < run->skips.nnotes; i++) {
        const levada_error *e = &run->skips.notes[i].why;

        levada_text_put(text, i ? ",{\"stage\":" : "{\"stage\":");
        levada_text_json(text, e->stage, strlen(e->stage));
        levada_text_put(text, ",\"file\":");
        levada_text_json(text, e->file, strlen(e->file));
        levada_text_format(text, ",\"record\":%lld,\"offset\":%lld,\"lost\":%s,\"message\":",
                           (long long)e->record, (long long)e->offset,
                           run->skips.notes[i].lost ? "true" : "false");
        levada_text_json(text, e->message, strlen(e->message));
        levada_text_char(text, '}');
    }
    levada_mutex_unlock(&run->noting);
}

void levada_stats_gauges(const levada_node *it, levada_text *text)
{
    for (int i = 0; i < LEVADA_GAUGES; i++) {
        const levada_gauge *g = &it->shown.gauges[i];
        const char         *name = atomic_load_explicit(&g->name, memory_order_acquire);
        int64_t             value = atomic_load_explicit(&g->value, memory_order_relaxed);

        if (!name) break;
        levada_text_char(text, ',');
        levada_text_json(text, name, strlen(name));
        levada_text_char(text, ':');
        if (!atomic_load_explicit(&g->since, memory_order_relaxed)) {
            levada_text_format(text, "%lld", (long long)value);
        } else if (value < 0) {
            levada_text_put(text, "null");
        } else {
            levada_text_format(text, "%.3f", (double)(levada_now() - value) * 1e-9);
        }
    }
}

/* Begins the row of a stage. */
static void stats_stage(levada_text *text, const char *path, int64_t records, int64_t blocks,
                        int64_t nanoseconds)
{
    if (text->at && text->at[text->size - 1] != '[') levada_text_char(text, ',');
    levada_text_put(text, "{\"path\":");
    levada_text_json(text, path, strlen(path));
    levada_text_format(text, ",\"records\":%lld,\"blocks\":%lld,\"seconds\":%.6f",
                       (long long)records, (long long)blocks, (double)nanoseconds * 1e-9);
}

/* Adds the results that wait downstream of a node, to the row of its last stage. */
static void stats_ready(levada_text *text, const levada_node *it)
{
    int64_t ready = 0, window = 0;

    if (!levada_node_is_fused(it) || !it->run->workers) return;
    levada_workers_ready(it->run->workers, it->self, &ready, &window);
    levada_text_format(text, ",\"ready\":%lld,\"window\":%lld", (long long)ready,
                       (long long)window);
}

static int64_t stats_below(const levada_node *it)
{
    int64_t sum = 0;

    for (int32_t i = 0; i < it->ninputs; i++) sum += atomic_load(&it->inputs[i]->shown.nanoseconds);
    return sum;
}

/* Inputs first. A node's clock includes its inputs', which are taken off. */
static void stats_node(levada_text *text, const levada_node *it)
{
    const levada_fused *fused = levada_node_is_fused(it);
    int64_t             own = atomic_load(&it->shown.nanoseconds) - stats_below(it);
    int32_t             n = fused ? levada_fused_count(fused) : 0;

    for (int32_t i = 0; i < it->ninputs; i++) stats_node(text, it->inputs[i]);
    if (!fused) {
        stats_stage(text, it->path, atomic_load(&it->shown.records),
                    atomic_load(&it->shown.blocks), own > 0 ? own : 0);
        levada_stats_gauges(it, text);
        levada_text_char(text, '}');
    }
    for (int32_t i = 0; i < n; i++) {
        const char *path;
        int64_t     nanoseconds, records, blocks;

        levada_fused_counts(fused, i, &path, &nanoseconds, &records, &blocks);
        stats_stage(text, path, records, blocks, nanoseconds);
        if (i == n - 1) stats_ready(text, it);
        levada_text_char(text, '}');
    }
}

void levada_stats_conclude(levada_iter *it)
{
    levada_run *run = it->run;
    levada_losses sum = { 0 };
    char text[STATS_LINE] = "not noted";
    int32_t first = 0;

    stats_losses(it->root, &sum);
    levada_losses_count(&sum, &run->unplaced);
    if (sum.skipped == 0) return;
    levada_mutex_lock(&run->noting);
    while (first < run->skips.nnotes && !run->skips.notes[first].lost) first++;
    if (first < run->skips.nnotes) {
        (void)levada_error_text(&run->skips.notes[first].why, text, sizeof text);
    }
    levada_mutex_unlock(&run->noting);
    if (atomic_load(&it->records) > 0) {
        levada_env_log(run->env, LEVADA_LOG_WARNING, "%lld %s skipped, the first one for: %s",
                       (long long)sum.skipped,
                       sum.skipped == 1 ? "record or file was" : "records or files were", text);
        return;
    }
    levada_env_log(run->env, LEVADA_LOG_WARNING,
                   "no record was delivered: %lld %s skipped, the first one for: %s",
                   (long long)sum.skipped, sum.skipped == 1 ? "was" : "were", text);
}

void levada_stats_describe(const levada_iter *it, int64_t bytes, levada_text *text)
{
    levada_run   *run = it->run;
    levada_text   stages = { 0 };
    levada_losses sum = { 0 };
    int64_t       padded = atomic_load(&run->padded), payload = atomic_load(&run->payload);
    int64_t       ready = 0, window = 0;
    levada_receipt receipt;

    if (run->workers && levada_node_is_fused(it->root)) {
        levada_workers_ready(run->workers, it->root->self, &ready, &window);
    }
    levada_text_char(&stages, '[');
    stats_node(&stages, it->root);
    stats_losses(it->root, &sum);
    levada_losses_count(&sum, &run->unplaced);
    levada_text_char(&stages, ']');
    levada_text_format(text,
                       "{\"records\":%lld,\"batches\":%lld,\"bytes\":%lld,\"skipped_records\":%lld,"
                       "\"damaged_bytes\":%lld,\"missing_files\":%lld,\"empty_files\":%lld,"
                       "\"dropped_records\":%lld,\"padding_fraction\":%.6f,\"elements\":%lld,"
                       "\"padding\":%lld,\"seed\":%lld,\"epoch\":%lld,\"threads\":%d,"
                       "\"wait_seconds\":%.6f,\"seconds\":%.6f,\"ready\":%lld,"
                       "\"requests\":%lld,\"retries\":%lld,\"received_bytes\":%lld,"
                       "\"stages\":",
                       (long long)atomic_load(&it->records), (long long)atomic_load(&it->blocks),
                       (long long)bytes, (long long)sum.skipped,
                       (long long)sum.damaged_bytes, (long long)sum.missing, (long long)sum.empty,
                       (long long)sum.dropped,
                       padded ? (double)(padded - payload) / (double)padded : 0.0,
                       (long long)padded, (long long)(padded - payload),
                       (long long)run->seed, (long long)run->epoch, run->threads,
                       (double)atomic_load(&run->waited) * 1e-9,
                       (double)(atomic_load(&run->returned) - atomic_load(&run->called)) * 1e-9,
                       (long long)ready, (long long)atomic_load(&run->meter.requests),
                       (long long)atomic_load(&run->meter.retries),
                       (long long)atomic_load(&run->meter.received));
    levada_text_add(text, stages.at, stages.size);
    levada_text_put(text, ",\"receipt\":\"");
    stats_receipt(it, &receipt);
    levada_receipt_print(&receipt, text);
    levada_text_put(text, "\",\"problems\":[");
    stats_notes(text, run);
    levada_text_put(text, "]}");
    text->failed = text->failed || stages.failed;
    levada_text_clear(&stages);
}
