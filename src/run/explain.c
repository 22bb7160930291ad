/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a description means when it runs: for each stage where it runs, what is random in it, and
 * what a state holds of it.
 */
#include "base/assert.h"
#include "base/text.h"
#include "description/dataset_priv.h"
#include "base/process.h"
#include "run/iter.h"
#include "run/keyed.h"

#include <stdio.h>

#include <string.h>

static const char *explain_threads(const levada_op *op)
{
    const levada_stage_def *stage = &op->def.stage;

    if (op->family == LEVADA_FAMILY_DECODER) return "in parallel";
    if (op->family != LEVADA_FAMILY_STAGE) return "in order";
    if (levada_op_core(op)->read_ahead) return "reads ahead";
    if (stage->mode == LEVADA_MODE_PURE) return "in parallel";
    return stage->apply ? "in order, then in parallel" : "in order";
}

static const char *explain_saved(const levada_op *op)
{
    switch (op->family) {
    case LEVADA_FAMILY_FORMAT: return "position in its files";
    case LEVADA_FAMILY_SOURCE: return "its position";
    case LEVADA_FAMILY_COMBINER: return "positions of its inputs";
    case LEVADA_FAMILY_STAGE: break;
    case LEVADA_FAMILY_DECODER:
    case LEVADA_FAMILY_FILTER:
    case LEVADA_FAMILY_OPENER: return "nothing";
    }
    if (!op->def.stage.save) return "nothing";
    return op->traits.saves ? op->traits.saves : "its position";
}

/* Writes the last stage alone, as in pipeline text. */
static void explain_name(levada_text *text, const levada_dataset *at)
{
    levada_text whole = { 0 };
    const char *from;

    levada_dataset_print(&whole, at, LEVADA_PRINT_TEXT);
    from = whole.at ? whole.at : "";
    if (at->ninputs == 1) {
        levada_text input = { 0 };

        levada_dataset_print(&input, at->inputs[0], LEVADA_PRINT_TEXT);
        if (!input.failed && !whole.failed) from += input.size + strlen(" | ");
        text->failed = text->failed || input.failed;
        levada_text_clear(&input);
    } else if (at->ninputs > 1) {
        from = at->op->name;
    }
    text->failed = text->failed || whole.failed;
    levada_text_put(text, from);
    levada_text_clear(&whole);
}

/* Returns the node that runs a stage by itself; NULL = none. */
static const levada_node *explain_node(const levada_node *it, const levada_dataset *at)
{
    const levada_node *found = it->at == at && (it->shown.chosen || it->shown.reads) ? it : NULL;

    for (int32_t i = 0; !found && i < it->ninputs; i++) found = explain_node(it->inputs[i], at);
    return found;
}

/* Explains what a stage with ranks would read, if bad records are errors. */
static void explain_reads(levada_text *text, const levada_dataset *at)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_keyed  keyed = { 0 };
    char          line[LEVADA_INDEX_WHY + 64];
    levada_status st;

    if (at->op->family != LEVADA_FAMILY_STAGE || at->ninputs != 1) return;
    st = levada_keyed_decide(at, false, &keyed, &err);
    if (!keyed.stage) return;
    if (st != LEVADA_OK) snprintf(keyed.why, sizeof keyed.why, "%.200s", err.message);
    levada_keyed_print(&keyed, line, sizeof line);
    levada_text_format(text, "    reads   %s\n", line);
}

/* Prints a stage after its inputs: the numbers are those of paths in states. */
static void explain_stage(levada_text *text, const levada_dataset *at, const levada_node *root,
                          int32_t *position)
{
    const char        *drawn = levada_traits_of(at).drawn;
    const levada_node *node = root ? explain_node(root, at) : NULL;

    for (int32_t i = 0; i < at->ninputs; i++) explain_stage(text, at->inputs[i], root, position);
    levada_text_format(text, "%d.", (int)(*position)++);
    explain_name(text, at);
    levada_text_format(text, "\n    runs    %s\n", explain_threads(at->op));
    if (drawn) levada_text_format(text, "    random  %s, from seed and epoch\n", drawn);
    levada_text_format(text, "    saved   %s\n", explain_saved(at->op));
    if (node && node->shown.reads) levada_text_format(text, "    reads   %s\n", node->shown.reads);
    else if (!node) explain_reads(text, at);
    if (node && node->shown.chosen) {
        levada_text_format(text, "    chosen  %s\n", node->shown.chosen);
    }
}

levada_status levada_dataset_explain(const levada_dataset *dataset, char **out, levada_error *err)
{
    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_text text = { 0 };
    int32_t     position = 0;

    explain_stage(&text, dataset, NULL, &position);
    return levada_text_steal(&text, out, err);
}

levada_status levada_iter_explain(levada_iter *it, char **out, levada_error *err)
{
    levada_text text = { 0 };
    int32_t     position = 0;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_iter_look(it);
    levada_mutex_lock(&it->run->noting);
    explain_stage(&text, it->run->dataset, it->root, &position);
    levada_mutex_unlock(&it->run->noting);
    levada_iter_look_end(it);
    return levada_text_steal(&text, out, err);
}
