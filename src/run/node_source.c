/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources: the nodes without inputs.
 */
#include "base/alloc.h"
#include "run/stage_state.h"
#include "run/plan.h"
#include "tensor/block_priv.h"

#include <string.h>

static const levada_source_def *source_def(const levada_node *it)
{
    return &it->at->op->def.source;
}

/* Returns the option whose patterns the core expands; NULL = the source reads no files. */
static const levada_arg *source_files_option(const levada_source_def *def)
{
    for (const levada_arg *arg = def->args; arg && arg->name; arg++) {
        if (arg->type == LEVADA_ARG_TEXTS && arg->paths && strcmp(arg->name, "files") == 0)
            return arg;
    }
    return NULL;
}

static const void *source_args(const levada_node *it)
{
    return ((const levada_stage_state *)it->self)->args;
}

/* Expands the options with paths in place of patterns. Files that appear later do not count. */
static levada_status source_expand(levada_node *it, levada_error *err)
{
    levada_stage_state *s = it->self;
    const levada_op    *op = it->at->op;
    const levada_arg   *option = source_files_option(&op->def.source);
    levada_texts        files;
    char               *args;

    if (!option) {
        s->args = it->at->args;
        return LEVADA_OK;
    }
    memcpy(&files, (const char *)it->at->args + option->offset, sizeof files);
    LEVADA_TRY(levada_files_find(it->run->env, &files, &s->files, err));
    args = levada_alloc(op->args_size);
    if (!args) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a source");
    memcpy(args, it->at->args, op->args_size);
    files = (levada_texts){ .at = (const char *const *)s->files.path, .n = s->files.n };
    memcpy(args + option->offset, &files, sizeof files);
    s->args = args;
    return LEVADA_OK;
}

static int32_t source_pass(const levada_node *it)
{
    return (int32_t)(it->context.pass & INT32_MAX);
}

/* Fills origins. A source that numbers its records itself leaves to the core which source it is,
 * and records that it does not number. */
static void source_put_origins(const levada_node *it, int64_t given, levada_block *block)
{
    levada_origins *o = &block->origins;
    levada_origin  *each = o->each ? (levada_origin *)(void *)o->owner->data : NULL;

    levada_block_drop_origin_parts(block); /* of another iterator, perhaps */
    for (int64_t i = 0; each && i < block->n; i++) {
        each[i].source = it->source;
        each[i].pass = source_pass(it);
        if (each[i].record < 0) each[i].record = given + i;
    }
    if (each) return;
    memset(&o->first, 0, sizeof o->first);
    o->first.source = it->source;
    o->first.pass = source_pass(it);
    o->first.shard = source_files_option(source_def(it)) ? -1 : 0; /* which file is not known */
    o->first.record = given;
    o->first.offset = -1;
}

static levada_status source_next(levada_node *it, levada_hint hint, levada_item *out,
                                 levada_error *err)
{
    levada_stage_state *s = it->self;

    (void)hint;
    LEVADA_TRY(source_def(it)->next(s->state, source_args(it), &out->block, err));
    if (out->block->kind == LEVADA_BLOCK_DATA) source_put_origins(it, s->emitted, out->block);
    s->emitted += out->block->n;
    return LEVADA_OK;
}

static levada_status source_save(levada_node *it, levada_state_writer *to, levada_error *err)
{
    if (!source_def(it)->save) {
        return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                           "'%s' cannot be saved: it has no save()", it->at->op->name);
    }
    LEVADA_TRY(levada_state_put_i64(to, "#emitted", ((levada_stage_state *)it->self)->emitted,
                                    err));
    if (source_files_option(source_def(it))) {
        LEVADA_TRY(levada_files_save(&((levada_stage_state *)it->self)->files, to, err));
    }
    return levada_stage_state_save(it, to, err);
}

static levada_status source_restore(levada_node *it, levada_state_reader *from, levada_error *err)
{
    levada_stage_state *s = it->self;

    LEVADA_TRY(levada_state_get_count(from, "#emitted", LEVADA_COUNT_LIMIT, &s->emitted, err));
    if (source_files_option(source_def(it))) {
        LEVADA_TRY(levada_files_verify(&s->files, from, err));
    }
    if (!source_def(it)->restore) {
        return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                           "'%s' cannot be restored: it has no restore()", it->at->op->name);
    }
    return levada_stage_state_restore(it, from, err);
}

static levada_status source_open(levada_node *it, void *state, levada_error *err)
{
    const levada_source_def *def = source_def(it);

    if (!source_args(it)) LEVADA_TRY(source_expand(it, err));
    return def->open ? def->open(state, source_args(it), &it->context, err) : LEVADA_OK;
}

static levada_status source_rewind(levada_node *it, bool read_to_end, levada_error *err)
{
    levada_stage_state *s = it->self;

    s->emitted = 0;
    if (source_def(it)->rewind) return source_def(it)->rewind(s->state, source_args(it), err);
    return levada_stage_state_rewind(it, read_to_end, err);
}

static bool source_rereadable(const levada_node *it)
{
    return source_def(it)->at != NULL;
}

static levada_status source_read(levada_node *it, const levada_origin *origins, int64_t n,
                                 levada_read how, levada_block **out, levada_error *err)
{
    int64_t      *numbers = levada_alloc((size_t)n * sizeof *numbers);
    levada_status st;

    (void)how;

    if (!numbers)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory while reading records again");
    for (int64_t i = 0; i < n; i++) numbers[i] = origins[i].record;
    st = source_def(it)->at(levada_stage_state_of(it), source_args(it), numbers, n, out, err);
    levada_free(numbers);
    if (st != LEVADA_OK) return st;
    st = levada_block_put_origins(levada_env_pool(it->run->env), *out, origins, 1, err);
    if (st != LEVADA_OK) levada_block_unref(out);
    return st;
}

static const char *source_file(const levada_node *it, int32_t shard)
{
    const levada_stage_state *s = it->self;

    return s && shard >= 0 && shard < s->files.n ? s->files.path[shard] : NULL;
}

static void source_close(levada_node *it)
{
    levada_stage_state *s = it->self;
    void *args = s && s->args != it->at->args ? (void *)(uintptr_t)s->args : NULL;
    levada_files        files = s ? s->files : (levada_files){ 0 };

    levada_stage_state_close(it);
    levada_files_clear(&files);
    levada_free(args);
}

static const levada_node_ops source_ops = {
    .kind = LEVADA_NODE_SOURCE,
    .next = source_next,
    .save = source_save,
    .restore = source_restore,
    .rewind = source_rewind,
    .cancel = levada_stage_state_cancel,
    .close = source_close,
    .access = &(const levada_access_ops){ .possible = source_rereadable, .read = source_read },
    .files = &(const levada_files_ops){ .name = source_file },
};

void levada_run_add_source(levada_run *run, levada_node *it)
{
    if (run->listed < LEVADA_RUN_SOURCES && !run->inner) run->source[run->listed++] = it;
    it->source = run->sources++;
}

int64_t levada_run_sources_left(const levada_run *run)
{
    return (run->sources < LEVADA_PIPE_SOURCES ? LEVADA_PIPE_SOURCES : INT32_MAX) - run->sources;
}

levada_status levada_node_source(levada_run *run, const levada_step *step, levada_node **out,
                                 levada_error *err)
{
    const levada_source_def  *def = &step->at->op->def.source;
    const levada_stage_hooks hooks = LEVADA_STAGE_HOOKS(def, source_open);
    levada_node  *it = NULL;
    levada_status st;

    LEVADA_TRY(levada_node_create(run, step, &source_ops, &it, err));
    it->version = def->state_version;
    levada_run_add_source(run, it);
    it->context.pass = it->opened_as = run->inner ? run->inner->pass : 0;
    st = levada_stage_state_open(it, &hooks, err);
    if (st != LEVADA_OK) {
        levada_node_destroy(&it);
        return st;
    }
    *out = it;
    return LEVADA_OK;
}
