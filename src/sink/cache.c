/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache - the records of the first complete pass, which later passes (epochs, iterators) return
 * without reading their input again: from memory, which the dataset owns, or from a file, which is
 * reused by other programs as long as the description of the input is the same. A pass that skipped
 * bad records fills it for those iterators whose policy allows as many.
 *
 * What is random upstream would be the same in every epoch, and a restore could not make it again:
 * it is refused. So the content follows from the description, and a state is a number of records. A
 * restore without content reads the input once more; one in the middle of the first pass
 * continues with its input, and a later pass fills the cache.
 */
#include "base/alloc.h"
#include "base/hash.h"
#include "description/columns.h"
#include "description/dataset_priv.h"
#include "registry/env_priv.h"
#include "run/node.h"
#include "sink/cache_store.h"

#include <string.h>

typedef struct cache_args {
    const char *path;
} cache_args;

typedef struct cache_state {
    const levada_context *context;
    levada_cache_store   *store;  /* a reference; NULL = the input is read */
    levada_spec          *columns; /* of the block of the store that was read first */
    levada_cache_writer  *writer; /* what is filled; NULL = nothing is */
    int64_t               at;     /* records of this pass that were emitted */
    int64_t               skip;   /* of the input, to drop first, after a restore */
    bool                  reads;  /* the input was read in this pass */
    int64_t               block, row; /* of the store, next */
    int64_t               passes; /* passes of a source in one of this stage */
} cache_state;

static const levada_arg cache_options[] = {
    LEVADA_ARG(TEXT, cache_args, path, .positional = true, .tuning = true,
               .doc = "file for the records; it is reused if it was written by the same pipeline, "
                      "and replaced otherwise; null = store the records in memory"),
    LEVADA_ARG_END,
};

static levada_status cache_check(const void *args, const levada_spec *in, levada_spec **out,
                                 levada_error *err)
{
    (void)out;
    if (((const cache_args *)args)->path && (levada_spec_flags_of(in) & LEVADA_SPEC_BATCHED)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a file holds records, not batches: write cache upstream of the "
                           "batching stage");
    }
    return LEVADA_OK;
}

/* -- what may be cached */

/* Returns true if the description does not say what a function or the data upstream is: one without
 * a name, and records in memory. */
static bool cache_nameless(const levada_dataset *at)
{
    bool found = false;

    for (int64_t i = 0; !found && i < levada_value_count(at->options); i++) {
        const levada_value    *value = levada_value_item(at->options, i);
        const levada_function *f = levada_value_as_function(value);
        const levada_dataset  *pipe = levada_value_as_pipe(value);

        found = (f && !levada_function_is_known(f)) || levada_value_as_block(value) ||
                (pipe && cache_nameless(pipe));
    }
    for (int32_t i = 0; !found && i < at->ninputs; i++) found = cache_nameless(at->inputs[i]);
    return found;
}

static levada_status cache_refuse(const levada_dataset *input, const char *path,
                                  levada_error *err)
{
    const levada_dataset *drawing = levada_dataset_draws(input, LEVADA_DRAWS_ANY);

    if (drawing) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "cache would keep one random order for all epochs: write it upstream "
                           "of '%s'", drawing->op->name);
    }
    if (!path || !cache_nameless(input)) return LEVADA_OK;
    return levada_fail(
        err, LEVADA_EINVALID_ARGUMENT,
        "a cache file is reused for the same pipeline, but the pipeline's text does "
        "not contain the data of an array, a list, or a function that holds an object "
        "or a list (a callable object, a variable that it captures or reads); read "
        "files, pass functions that use numbers and strings only, or call cache() "
        "without a path");
}

/* -- the content */

/* Hashes what the content follows from: the whole pipeline, with what checkpoints do not depend on,
 * such as directories, and the part of a shard. */
static levada_status cache_fingerprint(const levada_dataset *input, uint8_t out[16],
                                       levada_error *err)
{
    char *json = NULL;

    LEVADA_TRY(levada_dataset_json(input, &json, err));
    levada_hash128(json, strlen(json), 1, out);
    levada_string_free(&json);
    return LEVADA_OK;
}

static levada_dataset *cache_dataset(const cache_state *s)
{
    return (levada_dataset *)(uintptr_t)s->context->node->at;
}

/* Keeps the first complete content with the dataset. Takes the reference. */
static void cache_keep(cache_state *s, levada_cache_store *store)
{
    levada_dataset_keep(cache_dataset(s), levada_cache_store_to_common(store));
}

static levada_status cache_find(cache_state *s, const char *path, const uint8_t fingerprint[16],
                                levada_error *err)
{
    levada_common       *kept = levada_dataset_kept(cache_dataset(s));
    const levada_policy *policy = &s->context->node->run->skips.policy;
    levada_cache_store  *store = kept ? levada_cache_store_of_common(kept) : NULL;
    levada_error         why = LEVADA_ERROR_INIT;
    levada_status        st;

    if (store && levada_cache_store_fits(store, policy)) {
        s->store = levada_cache_store_ref(store);
        return LEVADA_OK;
    }
    if (!path) return LEVADA_OK;
    st = levada_cache_store_open(s->context->env, path, fingerprint, &store, &why);
    if (st == LEVADA_OK && !levada_cache_store_fits(store, policy)) {
        levada_cache_store_unref(&store);
        return LEVADA_OK;
    }
    if (st == LEVADA_OK) {
        s->store = levada_cache_store_ref(store);
        cache_keep(s, store);
        return LEVADA_OK;
    }
    if (st == LEVADA_ENOT_FOUND || st == LEVADA_EFAILED_PRECONDITION) return LEVADA_OK;
    if (err) *err = why; /* a file that is something else is not overwritten */
    return st;
}

static levada_status cache_open(void *state, const void *args, const levada_context *context,
                                levada_error *err)
{
    cache_state      *s = state;
    const cache_args *a = args;
    levada_node      *in = context->node->inputs[0];
    uint8_t           fingerprint[16];

    s->context = context;
    s->passes = 1;
    LEVADA_TRY(cache_refuse(in->at, a->path, err));
    for (const levada_node *n = in; n->ninputs == 1; n = n->inputs[0]) {
        if (s->passes < INT32_MAX / n->repeat_count) s->passes *= n->repeat_count;
    }
    levada_node_disable_readahead(in);
    LEVADA_TRY(cache_fingerprint(cache_dataset(s)->inputs[0], fingerprint, err));
    LEVADA_TRY(cache_find(s, a->path, fingerprint, err));
    if (s->store) return LEVADA_OK;
    return levada_cache_writer_create(context->env, a->path, fingerprint, &s->writer, err);
}

static void cache_close(void *state)
{
    cache_state *s = state;

    levada_cache_writer_destroy(&s->writer);
    levada_cache_store_unref(&s->store);
    levada_spec_unref(&s->columns);
}

/* -- records */

/* Emits the block with `by` added to the pass of each origin; takes *block, also on failure. */
static levada_status cache_shift_pass(levada_pool *pool, int64_t by, levada_block **block,
                                      levada_block **out, levada_error *err)
{
    int32_t        nparts = levada_block_origin_parts(*block);
    levada_origin *each[LEVADA_ORIGIN_PARTS];
    levada_block  *made = NULL;
    levada_status  st;

    if (by == 0) {
        *out = *block;
        *block = NULL;
        return LEVADA_OK;
    }
    st = levada_block_copy_rows(*block, &made, err);
    if (st == LEVADA_OK) st = levada_block_reserve_origins(pool, made, nparts, each, err);
    for (int32_t part = 0; st == LEVADA_OK && part < nparts; part++) {
        for (int64_t i = 0; i < made->n; i++) {
            each[part][i] = levada_block_origin_part(*block, i, part);
            each[part][i].pass = (int32_t)((each[part][i].pass + by) & INT32_MAX);
        }
    }
    levada_block_unref(block);
    if (st == LEVADA_OK) *out = made;
    else levada_block_unref(&made);
    return st;
}

/* Passes of the sources before the present pass of this stage. */
static int64_t cache_earlier(const cache_state *s)
{
    const levada_node *it = s->context->node;

    return (it->context.pass - it->opened_as) * s->passes;
}

static levada_status cache_next_kept(cache_state *s, levada_block **out, levada_error *err)
{
    levada_pool  *pool = levada_env_pool(s->context->env);
    levada_block *block = NULL, *part = NULL;

    if (s->block == levada_cache_store_blocks(s->store)) return LEVADA_END;
    LEVADA_TRY(levada_cache_store_get(s->store, s->block, s->context->out, s->columns, &block,
                                      err));
    if (!s->columns) s->columns = levada_spec_ref(block->spec);
    if (s->row > 0) {
        levada_status st =
            levada_block_slice(pool, block, s->row, block->n - s->row, &part, err);

        levada_block_unref(&block);
        if (st != LEVADA_OK) return st;
        block = part;
    }
    LEVADA_TRY(cache_shift_pass(pool, cache_earlier(s), &block, out, err));
    s->block++;
    s->row = 0;
    s->at += (*out)->n;
    return LEVADA_OK;
}

/* Makes what a complete pass filled the content. */
static levada_status cache_finish(cache_state *s, levada_error *err)
{
    levada_cache_store *store = NULL;

    if (s->skip > 0) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the input has %lld records fewer than when the checkpoint was saved",
                           (long long)s->skip);
    }
    if (!s->writer) return LEVADA_END;
    LEVADA_TRY(levada_cache_writer_finish(s->writer, &store, err));
    levada_cache_writer_destroy(&s->writer);
    cache_keep(s, store);
    return LEVADA_END;
}

static levada_status cache_fill(cache_state *s, levada_block *block, levada_error *err)
{
    levada_pool  *pool = levada_env_pool(s->context->env);
    levada_block *first = levada_block_ref(block), *kept = NULL;
    levada_status st = cache_shift_pass(pool, -cache_earlier(s), &first, &kept, err);

    if (st == LEVADA_OK) st = levada_cache_writer_add(s->writer, kept, err);
    levada_block_unref(&kept);
    return st;
}

/* Skips the records that were emitted before a restore; NULL if those were all. */
static levada_status cache_skip(cache_state *s, levada_block **block, levada_error *err)
{
    int64_t       n = s->skip < (*block)->n ? s->skip : (*block)->n;
    levada_block *rest = NULL;

    if (n == 0) return LEVADA_OK;
    if (n < (*block)->n) {
        LEVADA_TRY(levada_block_slice(levada_env_pool(s->context->env), *block, n,
                                      (*block)->n - n, &rest, err));
    }
    s->skip -= n;
    levada_block_unref(block);
    *block = rest;
    return LEVADA_OK;
}

/* Notices bad records and files that the stages upstream skipped: a later pass does not see
 * them. */
static void cache_notice_rejects(cache_state *s)
{
    const levada_node *it = s->context->node;

    for (int32_t i = 0; s->writer && i < it->kept.n; i++) {
        if (!it->kept.list[i].loss.dropped) levada_cache_writer_skip(s->writer);
    }
}

/* Reads the next block of the input, kept; NULL where all of it is to be skipped. */
static levada_status cache_next_read(cache_state *s, levada_input *in, levada_block **out,
                                     levada_error *err)
{
    levada_block *block = NULL, *flat = NULL;
    levada_status st;

    s->reads = true;
    st = levada_input_next(in, &block, err);
    cache_notice_rejects(s);
    if (st != LEVADA_OK) return st;
    st = levada_block_gather(levada_env_pool(s->context->env), block, &flat, err);
    levada_block_unref(&block);
    if (st == LEVADA_OK && s->writer) st = cache_fill(s, flat, err);
    if (st == LEVADA_OK) st = cache_skip(s, &flat, err);
    if (st != LEVADA_OK) {
        levada_block_unref(&flat);
        return st;
    }
    if (flat) s->at += flat->n;
    *out = flat;
    return LEVADA_OK;
}

static levada_status cache_next(void *state, const void *args, levada_input *in,
                                levada_block **out, levada_error *err)
{
    cache_state  *s = state;
    levada_status st = LEVADA_OK;

    (void)args;
    if (s->store) return cache_next_kept(s, out, err);
    while (st == LEVADA_OK && !*out) st = cache_next_read(s, in, out, err);
    return st == LEVADA_END ? cache_finish(s, err) : st;
}

/* -- states: how many records of this pass were emitted, and whether the input has moved, and then
 * how many of its records are to be skipped still */

static levada_status cache_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const cache_state *s = state;

    LEVADA_TRY(levada_state_put_i64(to, "at", s->at, err));
    LEVADA_TRY(levada_state_put_i64(to, "reads", s->reads, err));
    return levada_state_put_i64(to, "skip", s->reads ? s->skip : 0, err);
}

static levada_status cache_seek(cache_state *s, int64_t at, levada_error *err)
{
    int64_t left = at;

    if (at > levada_cache_store_records(s->store)) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the cache has %lld records, and the checkpoint was saved after %lld",
                           (long long)levada_cache_store_records(s->store), (long long)at);
    }
    s->block = 0;
    while (s->block < levada_cache_store_blocks(s->store) &&
           left >= levada_cache_store_rows(s->store, s->block)) {
        left -= levada_cache_store_rows(s->store, s->block++);
    }
    s->row = left;
    return LEVADA_OK;
}

/* Continues a restored pass that read its input; it can no longer fill anything. */
static levada_status cache_restore(void *state, levada_state_reader *from, levada_error *err)
{
    cache_state *s = state;
    int64_t      reads;

    LEVADA_TRY(levada_state_get_count(from, "at", LEVADA_COUNT_LIMIT, &s->at, err));
    LEVADA_TRY(levada_state_get_count(from, "reads", 1, &reads, err));
    LEVADA_TRY(levada_state_get_count(from, "skip", LEVADA_COUNT_LIMIT, &s->skip, err));
    s->reads = reads;
    if (reads) {
        levada_cache_writer_destroy(&s->writer);
        levada_cache_store_unref(&s->store);
        return LEVADA_OK;
    }
    if (s->store) return cache_seek(s, s->at, err);
    s->skip = s->at;
    return LEVADA_OK;
}

const levada_stage_def levada_stage_cache = {
    .struct_size = sizeof(levada_stage_def),
    .name = "cache",
    .doc = "stores the records of the first complete epoch and replays them in later epochs",
    .example = "range:10 | cache",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .never_rejects = true,
                            .saves = "the number of its records"),
    .args = cache_options,
    .args_size = sizeof(cache_args),
    .state_size = sizeof(cache_state),
    .state_version = 1,
    .check = cache_check,
    .open = cache_open,
    .close = cache_close,
    .next = cache_next,
    .save = cache_save,
    .restore = cache_restore,
};
