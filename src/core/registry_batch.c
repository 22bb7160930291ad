/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that are registered together. A default that is a pipe may have such names in it, of
 * descriptors that come later too: then its own waits until those have come. What waits for itself
 * in the end is refused, so that no default leads back to its own stage.
 */
#include "base/alloc.h"
#include "base/text.h"
#include "core/registry_priv.h"

#include <stdio.h>
#include <string.h>

static levada_status registry_batch_room(levada_registry_batch *batch, levada_error *err)
{
    int32_t     room = batch->room > 0 ? 2 * batch->room : 8;
    levada_op **more;

    if (batch->n < batch->room) return LEVADA_OK;
    more = levada_realloc(batch->ops, (size_t)room * sizeof(*more));
    if (more == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    batch->ops = more;
    batch->room = room;
    return LEVADA_OK;
}

/* The one of that name among those that are registered and those of the batch. */
static const levada_op *registry_batch_find(const levada_env            *env,
                                            const levada_registry_batch *batch,
                                            const levada_op             *op)
{
    for (int32_t i = 0; i < batch->n; i++) {
        const levada_op *other = batch->ops[i];
        bool             filters = other->family == LEVADA_FAMILY_FILTER;

        if (filters != (op->family == LEVADA_FAMILY_FILTER)) continue;
        if (strcmp(other->name, op->name) == 0) return other;
    }
    return levada_registry_find_like(env, op);
}

/* The defaults of `op`, where the names of the batch are known whose own ones are good. */
static levada_status registry_batch_check(levada_env *env, const levada_registry_batch *batch,
                                          const levada_op *op, levada_error *err)
{
    levada_registry *names = NULL;
    levada_env      *view = NULL;

    if (batch->ready == 0 || !levada_option_names_stages(op))
        return levada_registry_check_defaults(env, op, err);
    LEVADA_TRY(levada_registry_lend(levada_env_registry(env), batch->ops, batch->ready, &names,
                                    err));
    levada_status status = levada_env_view(env, &names, &view, err);
    if (status == LEVADA_OK) status = levada_registry_check_defaults(view, op, err);
    levada_env_unref(&view);
    levada_registry_destroy(&names);
    return status;
}

/* The i-th, which waits until now, joins those that are ready. */
static void registry_batch_join(levada_registry_batch *batch, int32_t i)
{
    levada_op *op = batch->ops[i];

    memmove(batch->ops + batch->ready + 1, batch->ops + batch->ready,
            (size_t)(i - batch->ready) * sizeof(op));
    batch->ops[batch->ready++] = op;
}

levada_status levada_registry_batch_add(levada_env *env, levada_registry_batch *batch,
                                        levada_family family, const void *def, const char *plugin,
                                        levada_error *err)
{
    levada_error  why = LEVADA_ERROR_INIT;
    levada_op    *op = NULL;
    levada_status status;

    LEVADA_TRY(registry_batch_room(batch, err));
    LEVADA_TRY(levada_op_create(family, def, plugin, &op, err));
    const levada_op *taken = registry_batch_find(env, batch, op);
    if (taken != NULL) status = levada_op_taken(taken, &why);
    else status = registry_batch_check(env, batch, op, &why);
    bool waits = taken == NULL && status == LEVADA_EINVALID_ARGUMENT
                 && levada_option_names_stages(op);
    if (status == LEVADA_OK || waits) {
        batch->ops[batch->n++] = op;
        if (!waits) registry_batch_join(batch, batch->n - 1);
        return LEVADA_OK;
    }
    levada_op_destroy(&op);
    if (err != NULL) *err = why;
    return status;
}

/* Whether the error of a default is that another one of the batch waits too. */
static bool registry_batch_blames(const levada_registry_batch *batch, const levada_error *why)
{
    char text[80];

    for (int32_t i = batch->ready; i < batch->n; i++) {
        snprintf(text, sizeof(text), "unknown stage '%s'", batch->ops[i]->name);
        if (strstr(why->message, text) != NULL) return true;
    }
    return false;
}

/* Each of those that wait does so for another. */
static levada_status registry_batch_circle(const levada_registry_batch *batch, levada_error *err)
{
    levada_text names = {0};

    for (int32_t i = batch->ready; i < batch->n; i++) {
        levada_text_format(&names, "%s%s", names.size > 0 ? ", " : "", batch->ops[i]->name);
    }
    levada_status status = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                                       "defaults that lead back to their own stages: of %s",
                                       names.at != NULL ? names.at : "");
    levada_text_clear(&names);
    return status;
}

/* One round through those that wait: whose names have come joins. Where none has, says why. */
static levada_status registry_batch_round(levada_env *env, levada_registry_batch *batch,
                                          levada_error *err)
{
    levada_error root = LEVADA_ERROR_INIT;
    int32_t      before = batch->ready;

    for (int32_t i = before; i < batch->n; i++) {
        levada_error  why = LEVADA_ERROR_INIT;
        levada_status status = registry_batch_check(env, batch, batch->ops[i], &why);
        bool          final = status != LEVADA_OK && status != LEVADA_EINVALID_ARGUMENT;

        if (status == LEVADA_OK) registry_batch_join(batch, i);
        else if (final || (root.code == LEVADA_OK && !registry_batch_blames(batch, &why))) {
            root = why;
        }
        if (final) break;
    }
    bool waits = root.code == LEVADA_OK || root.code == LEVADA_EINVALID_ARGUMENT;
    if (waits && batch->ready > before) return LEVADA_OK;
    if (root.code == LEVADA_OK) return registry_batch_circle(batch, err);
    if (err != NULL) *err = root;
    return root.code;
}

levada_status levada_registry_batch_publish(levada_env *env, levada_registry_batch *batch,
                                            levada_error *err)
{
    levada_registry *registry = levada_env_registry(env);

    if (registry == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    while (batch->ready < batch->n) LEVADA_TRY(registry_batch_round(env, batch, err));
    if (batch->n > 0) LEVADA_TRY(levada_registry_insert(registry, batch->ops, batch->n, err));
    batch->n = batch->ready = 0;
    return LEVADA_OK;
}

void levada_registry_batch_clear(levada_registry_batch *batch)
{
    for (int32_t i = 0; i < batch->n; i++) levada_op_destroy(&batch->ops[i]);
    levada_free(batch->ops);
    memset(batch, 0, sizeof(*batch));
}
