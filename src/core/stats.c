/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an iterator counted.
 */
#include "base/assert.h"
#include "base/text.h"
#include "core/iter_priv.h"

#include <string.h>

typedef struct stats_sum {
    int64_t damaged_bytes, skipped, missing, empty;
} stats_sum;

static void stats_tally(levada_iter *it, stats_sum *sum)
{
    sum->skipped += atomic_load(&it->tally.bad);
    sum->damaged_bytes += atomic_load(&it->tally.damaged);
    sum->missing += atomic_load(&it->tally.missing);
    sum->empty += atomic_load(&it->tally.empty);
    if (levada_node_is_format(it)) {
        levada_file_reader_counts counts = levada_node_damage(it);

        sum->damaged_bytes += counts.damaged_bytes;
        sum->skipped += counts.skipped_records;
        sum->missing += counts.missing;
        sum->empty += counts.empty;
    }
}

/* What was left out and why, the first of it. */
static void stats_notes(levada_text *text, levada_run *run)
{
    levada_mutex_lock(&run->noting);
    for (int64_t i = 0; i < run->noted; i++) {
        const levada_error *e = &run->notes[i].why;

        levada_text_put(text, i ? ",{\"stage\":" : "{\"stage\":");
        levada_text_json(text, e->stage, strlen(e->stage));
        levada_text_put(text, ",\"file\":");
        levada_text_json(text, e->file, strlen(e->file));
        levada_text_format(text, ",\"record\":%lld,\"offset\":%lld,\"message\":",
                           (long long)e->record, (long long)e->offset);
        levada_text_json(text, e->message, strlen(e->message));
        levada_text_char(text, '}');
    }
    levada_mutex_unlock(&run->noting);
}

static void stats_stage(levada_text *text, const char *path, int64_t records, int64_t blocks,
                        int64_t nanoseconds)
{
    if (text->at && text->at[text->size - 1] != '[') levada_text_char(text, ',');
    levada_text_put(text, "{\"path\":");
    levada_text_json(text, path, strlen(path));
    levada_text_format(text, ",\"records\":%lld,\"blocks\":%lld,\"seconds\":%.6f}",
                       (long long)records, (long long)blocks, (double)nanoseconds * 1e-9);
}

static int64_t stats_below(const levada_iter *it)
{
    int64_t sum = 0;

    for (int32_t i = 0; i < it->ninputs; i++) sum += atomic_load(&it->inputs[i]->nanoseconds);
    return sum;
}

/* Inputs first. A node's clock includes its inputs', which are taken off. */
static void stats_node(levada_text *text, const levada_iter *it, stats_sum *sum)
{
    const levada_chain *chain = levada_node_is_chain(it);
    int64_t             own = atomic_load(&it->nanoseconds) - stats_below(it);

    for (int32_t i = 0; i < it->ninputs; i++) stats_node(text, it->inputs[i], sum);
    stats_tally((levada_iter *)(uintptr_t)it, sum);
    if (!chain) {
        stats_stage(text, it->path, atomic_load(&it->records), atomic_load(&it->blocks),
                    own > 0 ? own : 0);
    }
    for (int32_t i = 0; chain && i < levada_chain_count(chain); i++) {
        const char *path;
        int64_t     nanoseconds, records, blocks;

        levada_chain_counts(chain, i, &path, &nanoseconds, &records, &blocks);
        stats_stage(text, path, records, blocks, nanoseconds);
    }
}

levada_status levada_iter_stats(levada_iter *it, char **out, levada_error *err)
{
    levada_run *run;
    levada_text text = { 0 }, stages = { 0 };
    stats_sum   sum = { 0, 0, 0, 0 };
    int64_t     done, total, padded;

    LEVADA_TRY(levada_require(it != NULL, "it", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    run = it->run;
    padded = atomic_load(&run->padded);
    levada_handle_enter(it);
    levada_text_char(&stages, '[');
    stats_node(&stages, it->inputs[0], &sum);
    levada_text_char(&stages, ']');
    levada_iter_progress(it, &done, &total);
    levada_text_format(&text,
                       "{\"records\":%lld,\"batches\":%lld,\"bytes\":%lld,\"skipped_records\":%lld,"
                       "\"damaged_bytes\":%lld,\"missing_files\":%lld,\"empty_files\":%lld,"
                       "\"dropped_records\":%lld,\"padding_fraction\":%.6f,\"seed\":%lld,\"epoch\":"
                       "%lld,\"threads\":%d,\"stages\":",
                       (long long)atomic_load(&it->records), (long long)atomic_load(&it->blocks),
                       (long long)done, (long long)(sum.skipped + atomic_load(&run->tally.bad)),
                       (long long)sum.damaged_bytes, (long long)sum.missing, (long long)sum.empty,
                       (long long)atomic_load(&run->dropped),
                       padded ? 1.0 - (double)atomic_load(&run->payload) / (double)padded : 0.0,
                       (long long)run->seed, (long long)run->epoch, run->threads);
    levada_text_add(&text, stages.at, stages.size);
    levada_text_put(&text, ",\"problems\":[");
    stats_notes(&text, run);
    levada_text_put(&text, "]}");
    levada_handle_leave(it);
    text.failed = text.failed || stages.failed;
    levada_text_clear(&stages);
    return levada_text_steal(&text, out, err);
}
