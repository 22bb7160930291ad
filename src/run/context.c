/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stages ask of their context.
 */
#include "run/context.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "run/fused.h"
#include "run/plan.h"
#include "run/workers.h"
#include "tensor/block_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

levada_status levada_context_gather(const levada_context *context, const levada_block *block,
                                    levada_block **out, levada_error *err)
{
    LEVADA_TRY(levada_require(context != NULL, "context", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    return levada_block_gather(levada_env_pool(context->env), block, out, err);
}

void levada_context_place(const levada_context *context, const levada_block *block, int64_t row,
                          levada_error *err)
{
    levada_run_place(context->run, NULL, block, row, err);
}

levada_status levada_context_file(const levada_context *context, const levada_origin *of,
                                  char **out, levada_error *err)
{
    return levada_run_origin_file(context->run, of, out, err);
}

bool levada_context_cancelled(const levada_context *context)
{
    if (!context) return false;
    return context->run && levada_run_is_cancelled(context->run);
}

void levada_context_log(const levada_context *context, levada_log_level level, const char *fmt,
                        ...)
{
    char    line[LEVADA_ERROR_TEXT];
    va_list args;

    if (!context || !levada_env_logs(context->env, level)) return;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    levada_env_log(context->env, level, "%s", line);
}

/* Rejects a record. Stages that call this run one block after the other, in order. Without a skip
 * policy the first bad record is the end at once. */
levada_status levada_context_reject(const levada_context *context, const levada_block *record,
                                    int64_t unread, const levada_error *why, levada_error *err)
{
    LEVADA_TRY(levada_require(context != NULL, "context", err));
    LEVADA_TRY(levada_require(record != NULL, "record", err));
    LEVADA_TRY(levada_require(why != NULL, "why", err));
    LEVADA_TRY(levada_require_range(unread, 0, INT64_MAX, "unread", err));
    levada_run   *run = context->run;
    levada_node  *node = context->node;
    levada_reject reject = { .why = *why };

    levada_run_place(run, node ? node->path : "", record, 0, &reject.why);
    if (!run->skips.policy.skip) {
        if (err) *err = reject.why;
        return reject.why.code;
    }
    if (node) return levada_node_reject(node, &reject.why, unread, err);
    reject.loss = levada_skip_loss(&(levada_skip_place){ .counts = &run->unplaced },
                                   &run->skips.policy, 1);
    reject.loss.lost = reject.loss.total = 1 + atomic_load(&run->unplaced.bad);
    return levada_skip_commit(&run->skips, run->env, &reject, err);
}

/* Counts at once where there is no node, or no memory to let it travel. */
void levada_context_dropped(const levada_context *context, int64_t records)
{
    levada_skip_counts *counts;

    if (!context || records <= 0 || records > LEVADA_COUNT_LIMIT) return;
    if (context->node && levada_node_dropped(context->node, records, NULL) == LEVADA_OK) return;
    counts = context->node ? context->node->place.counts : &context->run->unplaced;
    atomic_fetch_add_explicit(&counts->dropped, records, memory_order_relaxed);
}

const levada_dataset *levada_context_input(const levada_context *context)
{
    const levada_dataset *at = context->node ? context->node->at : NULL;

    return at && at->ninputs == 1 ? at->inputs[0] : NULL;
}

void levada_context_hint_batch_size(const levada_context *context, int64_t rows)
{
    const levada_node *node = context->node, *in = node ? node->inputs[0] : NULL;
    levada_fused      *fused = in ? levada_node_is_fused(in) : NULL;

    if (fused && levada_node_can_coalesce(in->inputs[0])) levada_fused_set_batch(fused, rows);
}

void levada_context_set_explain_note(const levada_context *context, const char *text)
{
    size_t size = strlen(text) + 1;
    char  *copy = context->node ? levada_alloc(size) : NULL, *old;

    if (!copy) return;
    memcpy(copy, text, size);
    levada_mutex_lock(&context->run->noting);
    old = context->node->shown.chosen;
    context->node->shown.chosen = copy;
    levada_mutex_unlock(&context->run->noting);
    levada_free(old);
}

void levada_context_set_gauge(const levada_context *context, int which, const char *name,
                              int64_t value, bool age)
{
    levada_gauge *g =
        context->node && which < LEVADA_GAUGES ? &context->node->shown.gauges[which] : NULL;

    if (!g) return;
    if (age && value >= 0) value = levada_now() - value;
    atomic_store_explicit(&g->since, age, memory_order_relaxed);
    atomic_store_explicit(&g->value, value, memory_order_relaxed);
    atomic_store_explicit(&g->name, name, memory_order_release);
}
