/* SPDX-License-Identifier: Apache-2.0 */
#include "run/remix.h"

#include "base/alloc.h"
#include "option/value_priv.h"
#include "run/plan.h"

#include <string.h>

/* Options of a combiner with named inputs that may differ. */
static const char *const remix_options[] = { "weights", "temperature", "names" };

/* Returns input i of `of` as `other` has it: by its name, or else by its number; NULL = it has not.
 */
static const levada_dataset *remix_find(const levada_dataset *of, int32_t i,
                                        const levada_dataset *other)
{
    const char *name = levada_dataset_input_name(of, i);

    if (!name) return i < other->ninputs ? other->inputs[i] : NULL;
    for (int32_t k = 0; k < other->ninputs; k++) {
        const char *theirs = levada_dataset_input_name(other, k);

        if (theirs && strcmp(theirs, name) == 0) return other->inputs[k];
    }
    return NULL;
}

/* Returns what is in `now` where `wanted` is in `was`; NULL = there is nothing. */
static const levada_dataset *remix_pair(const levada_dataset *was, const levada_dataset *now,
                                        const levada_dataset *wanted)
{
    const levada_dataset *found = NULL;

    if (was == wanted) return now;
    for (int32_t i = 0; !found && i < was->ninputs; i++) {
        const levada_dataset *other = remix_find(was, i, now);

        if (other) found = remix_pair(was->inputs[i], other, wanted);
    }
    return found;
}

static bool remix_named(const levada_dataset *was, const levada_dataset *now)
{
    return was->op == now->op && levada_dataset_input_name(was, 0) &&
           levada_dataset_input_name(now, 0);
}

/* -- the dataset */

/* Checks that records that wait downstream of a mixture have the columns that it has now. */
static levada_status remix_check_columns(const levada_dataset *was, const levada_dataset *now,
                                         levada_error *err)
{
    int32_t flags = levada_spec_flags_of(was->spec);

    if (flags == levada_spec_flags_of(now->spec) &&
        ((flags & LEVADA_SPEC_OPEN) || levada_spec_equal(was->spec, now->spec))) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       "%s: its columns are declared in another way than when the checkpoint was "
                       "saved; functions in all inputs, or in none, must have a spec",
                       was->op->name);
}

static levada_status remix_changes(const levada_dataset *now, levada_value **out,
                                   levada_error *err)
{
    levada_value *changes = levada_value_map();
    levada_status st = LEVADA_OK;

    for (size_t k = 0; k < sizeof remix_options / sizeof *remix_options && st == LEVADA_OK; k++) {
        const levada_value *value = levada_value_get(now->options, remix_options[k]);
        levada_value       *copy = value ? levada_value_copy(value) : NULL;

        if (!value) continue;
        st = changes && copy ? levada_value_set(changes, remix_options[k], &copy, err)
                             : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                           "out of memory for a pipeline");
        levada_value_destroy(&copy);
    }
    if (st == LEVADA_OK) *out = changes;
    else levada_value_destroy(&changes);
    return st;
}

/* Attaches the last stage of `was` to inputs, which are those of `now` if they have names. */
static levada_status remix_remake(const levada_dataset *was, const levada_dataset *now,
                                  levada_dataset **inputs, int32_t n, levada_dataset **out,
                                  levada_error *err)
{
    levada_value *changes = NULL;
    levada_status st = LEVADA_OK;

    for (int32_t i = 0; st == LEVADA_OK && i < n; i++) {
        const levada_dataset *before = remix_named(was, now) ? remix_find(now, i, was)
                                                             : was->inputs[i];

        if (before) st = levada_remix_dataset(before, now->inputs[i], &inputs[i], err);
        else inputs[i] = levada_dataset_ref(now->inputs[i]);
    }
    if (st == LEVADA_OK && remix_named(was, now)) st = remix_check_columns(was, now, err);
    if (st == LEVADA_OK && remix_named(was, now)) st = remix_changes(now, &changes, err);
    if (st == LEVADA_OK) {
        st = levada_dataset_remake(was, changes, (const levada_dataset *const *)inputs, n, out,
                                   err);
    }
    levada_value_destroy(&changes);
    return st;
}

levada_status levada_remix_dataset(const levada_dataset *was, const levada_dataset *now,
                                   levada_dataset **out, levada_error *err)
{
    int32_t          n = now->ninputs;
    levada_dataset **inputs;
    levada_status    st;

    if (n == 0 || (was->ninputs != n && !remix_named(was, now))) {
        *out = levada_dataset_ref(was);
        return LEVADA_OK;
    }
    inputs = levada_alloc_zero((size_t)n * sizeof(*inputs));
    if (!inputs) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                    "out of memory for a pipeline");
    st = remix_remake(was, now, inputs, n, out, err);
    for (int32_t i = 0; i < n; i++) levada_dataset_unref(&inputs[i]);
    levada_free(inputs);
    return st;
}

/* Returns a stage that divides records of a mixture among ranks; NULL = there is none. */
static const levada_dataset *remix_divider(const levada_dataset *at, const levada_dataset *found)
{
    if (levada_dataset_divides(at)) found = at;
    if (found && levada_dataset_input_name(at, 0)) return found;
    for (int32_t i = 0; i < at->ninputs; i++) {
        const levada_dataset *divider = remix_divider(at->inputs[i], found);

        if (divider) return divider;
    }
    return NULL;
}

levada_status levada_remix_check(const levada_dataset *dataset, levada_error *err)
{
    const levada_dataset *divider = remix_divider(dataset, NULL);

    if (!divider) return LEVADA_OK;
    return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                       "'%s' divides the records of a mixture among ranks, which may have drawn "
                       "different numbers of them with the old weights; a mixture can change if "
                       "its inputs are divided instead", divider->op->name);
}

/* -- the tree */

/* Returns true if `now` does not have input i of a node of the tree, but the rest of the node. */
static bool remix_removes(const levada_node *root, const levada_node *it, int32_t i,
                          const levada_dataset *now)
{
    const levada_dataset *pair;

    if (it->ops->kind != LEVADA_NODE_COMBINER) return false;
    if (!levada_dataset_input_name(it->at, i)) return false;
    pair = remix_pair(root->run->dataset, now, it->at);
    return pair && !remix_find(it->at, i, pair);
}

/* Enters the names of the files of a source, so that its records keep them. */
static levada_status remix_keep_names(levada_node *it, levada_error *err)
{
    const char *path;

    for (int64_t pass = 0; it->ops->files && pass <= it->context.pass; pass++) {
        for (int32_t shard = 0; (path = it->ops->files->name(it, shard)) != NULL; shard++) {
            levada_origin of = { .source = it->source, .pass = (int32_t)pass, .shard = shard };

            LEVADA_TRY(levada_file_names_enter(&it->run->names, &of, path, false, err));
        }
    }
    return LEVADA_OK;
}

/* Enters the names of all files below. */
static levada_status remix_keep_all(levada_node *it, levada_error *err)
{
    for (int32_t i = 0; i < it->ninputs; i++) LEVADA_TRY(remix_keep_all(it->inputs[i], err));
    return it->ninputs == 0 ? remix_keep_names(it, err) : LEVADA_OK;
}

static levada_status remix_remove(levada_node *root, levada_node *it, const levada_dataset *now,
                                  levada_error *err)
{
    for (int32_t i = 0; i < it->ninputs; i++) {
        if (!remix_removes(root, it, i, now)) {
            LEVADA_TRY(remix_remove(root, it->inputs[i], now, err));
        } else {
            LEVADA_TRY(remix_keep_all(it->inputs[i], err));
        }
    }
    return LEVADA_OK;
}

levada_status levada_remix_prepare(levada_node *root, const levada_dataset *now, levada_error *err)
{
    LEVADA_TRY(levada_node_settle(root, err));
    root->run->remixed = true;
    return remix_remove(root, root, now, err);
}

static void remix_drop(const levada_node *root, const levada_node *it, const levada_dataset *now,
                       levada_state_writer *to)
{
    for (int32_t i = 0; i < it->ninputs; i++) {
        const char *name = levada_dataset_input_name(it->at, i);
        char        path[LEVADA_STATE_PATH];

        if (!remix_removes(root, it, i, now)) remix_drop(root, it->inputs[i], now, to);
        else if (levada_node_input_path(it->path, name, path, NULL) == LEVADA_OK)
            levada_state_drop_below(to, path);
    }
}

void levada_remix_drop(const levada_node *root, const levada_dataset *now, levada_state_writer *to)
{
    remix_drop(root, root, now, to);
}
