/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of files as records.
 */
#include "base/alloc.h"
#include "base/random.h"
#include "registry/env_priv.h"
#include "files/glob.h"
#include "tensor/block_priv.h"
#include <levada/source.h>

#include <string.h>

typedef struct files_args {
    levada_texts pattern;
    bool         shuffle;
} files_args;

typedef struct files_state {
    const levada_context *context;
    levada_files          files;
    bool                  shuffle;
    int32_t              *order; /* file that is the i-th record of this pass */
    int64_t               next;
} files_state;

static const levada_arg files_options[] = {
    LEVADA_ARG(TEXTS, files_args, pattern, .required = true, .positional = true, .paths = true,
               .doc = "paths and patterns (* ? [a-z]); the matches of a pattern are sorted"),
    LEVADA_ARG(BOOL, files_args, shuffle, .otherwise = "false",
               .doc = "use a different order in each epoch"),
    LEVADA_ARG_END,
};

static levada_status files_check(const void *args, levada_spec **out, levada_error *err)
{
    levada_field field = {.name = "path", .dtype = LEVADA_BYTES};

    (void)args;
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

static void files_arrange(files_state *s)
{
    const levada_context *c = s->context;
    uint64_t              key = levada_random_key(levada_random_key(c->seed, (uint64_t)c->epoch),
                                                  (uint64_t)c->pass);

    for (int64_t i = 0; i < s->files.n; i++) s->order[i] = (int32_t)i;
    if (s->shuffle) levada_files_shuffle(s->order, s->files.n, key);
}

static levada_status files_open(void *state, const void *args, const levada_context *context,
                                levada_error *err)
{
    files_state      *s = state;
    const files_args *a = args;

    s->context = context;
    LEVADA_TRY(levada_files_find(context->env, &a->pattern, &s->files, err));
    s->order = levada_alloc((size_t)s->files.n * sizeof *s->order);
    if (!s->order && s->files.n > 0) {
        levada_files_clear(&s->files);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an order of files");
    }
    s->shuffle = a->shuffle;
    files_arrange(s);
    return LEVADA_OK;
}

static void files_close(void *state)
{
    files_state *s = state;

    levada_files_clear(&s->files);
    levada_free(s->order);
    s->order = NULL;
}

/* Rewinds to the files that were found at first: one that appears later does not change the
 * order. */
static levada_status files_rewind(void *state, const void *args, levada_error *err)
{
    files_state *s = state;

    (void)args, (void)err;
    s->next = 0;
    files_arrange(s);
    return LEVADA_OK;
}

/* Makes a block of the names of these files. */
static levada_status files_block(const files_state *s, const int64_t *numbers, int64_t n,
                                 levada_block **out, levada_error *err)
{
    levada_builder *builder = NULL;
    levada_status   st;

    st = levada_builder_create(s->context->env, s->context->out, -1, &builder, err);
    for (int64_t i = 0; i < n && st == LEVADA_OK; i++) {
        if (numbers[i] < 0 || numbers[i] >= s->files.n) {
            st = levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                             "file %lld does not exist: the list has %lld",
                             (long long)numbers[i], (long long)s->files.n);
        } else {
            const char *path = s->files.path[numbers[i]];

            st = levada_builder_push_bytes(builder, 0, path, (int64_t)strlen(path), err);
        }
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&builder, out, err);
    levada_builder_destroy(&builder);
    return st;
}

/* Numbers the records by their files, whose numbers are the same in each opening. */
static levada_status files_number(const files_state *s, levada_block *block, levada_error *err)
{
    levada_origins *o = &block->origins;
    levada_origin  *each;

    LEVADA_TRY(levada_buffer_create(levada_env_pool(s->context->env),
                                    block->n * (int64_t)sizeof *each, &o->owner, err));
    each = (levada_origin *)(void *)o->owner->data;
    memset(each, 0, (size_t)block->n * sizeof *each);
    for (int64_t i = 0; i < block->n; i++) {
        each[i].record = s->order[s->next + i];
        each[i].offset = -1;
    }
    o->each = each;
    return LEVADA_OK;
}

static levada_status files_next(void *state, const void *args, levada_block **out,
                                levada_error *err)
{
    files_state  *s = state;
    int64_t       n = s->files.n - s->next, *numbers;
    levada_block *block = NULL;
    levada_status st;

    (void)args;
    if (n <= 0) return LEVADA_END;
    if (n > s->context->block_rows) n = s->context->block_rows;
    numbers = levada_alloc((size_t)n * sizeof *numbers);
    if (!numbers) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for names");
    for (int64_t i = 0; i < n; i++) numbers[i] = s->order[s->next + i];
    st = files_block(s, numbers, n, &block, err);
    levada_free(numbers);
    if (st == LEVADA_OK) st = files_number(s, block, err);
    if (st != LEVADA_OK) {
        levada_block_unref(&block);
        return st;
    }
    s->next += n;
    *out = block;
    return LEVADA_OK;
}

static levada_status files_at(void *state, const void *args, const int64_t *records, int64_t n,
                              levada_block **out, levada_error *err)
{
    (void)args;
    return files_block(state, records, n, out, err);
}

static levada_status files_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const files_state *s = state;

    LEVADA_TRY(levada_files_save(&s->files, to, err));
    return levada_state_put_i64(to, "next", s->next, err);
}

static levada_status files_restore(void *state, levada_state_reader *from, levada_error *err)
{
    files_state *s = state;

    LEVADA_TRY(levada_files_verify(&s->files, from, err));
    LEVADA_TRY(levada_state_get_count(from, "next", s->files.n, &s->next, err));
    files_arrange(s); /* which opening this is was not known when it was opened */
    return LEVADA_OK;
}

static void files_vary(const void *args, levada_traits *traits)
{
    if (!((const files_args *)args)->shuffle) return;
    traits->random = LEVADA_RANDOM_BY_PASS;
    traits->drawn = "order of names";
}

const levada_source_def levada_source_files = {
    .struct_size = sizeof(levada_source_def),
    .name = "files",
    .doc = "returns file names",
    .example = "files:*.txt",
    .traits = LEVADA_TRAITS(.vary = files_vary),
    .args = files_options,
    .args_size = sizeof(files_args),
    .state_size = sizeof(files_state),
    .state_version = 2, /* 1 had no names */
    .check = files_check,
    .open = files_open,
    .close = files_close,
    .next = files_next,
    .at = files_at,
    .save = files_save,
    .restore = files_restore,
    .rewind = files_rewind,
};
