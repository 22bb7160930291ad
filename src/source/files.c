/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of files as records.
 */
#include "base/random.h"
#include "core/glob.h"
#include <levada/source.h>

#include "base/alloc.h"

#include <string.h>

typedef struct files_args {
    levada_texts pattern;
    bool         shuffle;
} files_args;

typedef struct files_state {
    const levada_context *context;
    levada_files          files;
    int32_t              *order; /* file that is the i-th record */
    int64_t               next;
} files_state;

static const levada_arg files_options[] = {
    LEVADA_ARG(TEXTS, files_args, pattern, .required = true, .positional = true, .paths = true,
               .doc = "paths and patterns (* ? [a-z]); what a pattern finds is sorted"),
    LEVADA_ARG(BOOL, files_args, shuffle, .otherwise = "false",
               .doc = "another order in each epoch"),
    LEVADA_ARG_END,
};

static levada_status files_check(const void *args, levada_spec **out, levada_error *err)
{
    levada_field field = {.name = "path", .dtype = LEVADA_BYTES};

    (void)args;
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status files_open(void *state, const void *args, const levada_context *context,
                                levada_error *err)
{
    files_state      *s = state;
    const files_args *a = args;
    uint64_t          key = levada_random_key(context->seed, (uint64_t)context->epoch);

    s->context = context;
    LEVADA_TRY(levada_files_find(&a->pattern, &s->files, err));
    s->order = levada_alloc((size_t)s->files.n * sizeof *s->order);
    if (!s->order && s->files.n > 0) {
        levada_files_clear(&s->files);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for an order of files");
    }
    for (int64_t i = 0; i < s->files.n; i++) s->order[i] = (int32_t)i;
    if (a->shuffle) levada_files_shuffle(s->order, s->files.n, key);
    return LEVADA_OK;
}

static void files_close(void *state)
{
    files_state *s = state;

    levada_files_clear(&s->files);
    levada_free(s->order);
    s->order = NULL;
}

/* A block of the names with these places in the order; records = NULL: from `first` on. */
static levada_status files_block(const files_state *s, const int64_t *records, int64_t first,
                                 int64_t n, levada_block **out, levada_error *err)
{
    levada_builder *builder = NULL;
    levada_status   st;

    st = levada_builder_create(s->context->env, s->context->out, -1, &builder, err);
    for (int64_t i = 0; i < n && st == LEVADA_OK; i++) {
        int64_t record = records ? records[i] : first + i;

        if (record < 0 || record >= s->files.n) {
            st = levada_fail(err, LEVADA_EFAILED_PRECONDITION, "there is no file %lld of %lld",
                             (long long)record, (long long)s->files.n);
        } else {
            const char *path = s->files.path[s->order[record]];

            st = levada_builder_push_bytes(builder, 0, path, (int64_t)strlen(path), err);
        }
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&builder, out, err);
    levada_builder_destroy(&builder);
    return st;
}

static levada_status files_next(void *state, const void *args, levada_block **out,
                                levada_error *err)
{
    files_state *s = state;
    int64_t      n = s->files.n - s->next;

    (void)args;
    if (n <= 0) return LEVADA_END;
    if (n > s->context->block_rows) n = s->context->block_rows;
    LEVADA_TRY(files_block(s, NULL, s->next, n, out, err));
    s->next += n;
    return LEVADA_OK;
}

static levada_status files_at(void *state, const void *args, const int64_t *records, int64_t n,
                              levada_block **out, levada_error *err)
{
    (void)args;
    return files_block(state, records, 0, n, out, err);
}

static levada_status files_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const files_state *s = state;

    LEVADA_TRY(levada_state_put_i64(to, "files", s->files.n, err));
    return levada_state_put_i64(to, "next", s->next, err);
}

static levada_status files_restore(void *state, levada_state_reader *from, levada_error *err)
{
    files_state *s = state;
    int64_t      files, next;

    LEVADA_TRY(levada_state_get_i64(from, "files", &files, err));
    LEVADA_TRY(levada_state_get_i64(from, "next", &next, err));
    if (files != s->files.n || next < 0 || next > files) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "there are %lld files, there were %lld when the state was saved",
                           (long long)s->files.n, (long long)files);
    }
    s->next = next;
    return LEVADA_OK;
}

const levada_source_def levada_source_files = {
    .struct_size = sizeof(levada_source_def),
    .name = "files",
    .doc = "names of files",
    .example = "files:*.txt",
    .args = files_options,
    .args_size = sizeof(files_args),
    .state_size = sizeof(files_state),
    .state_version = 1,
    .check = files_check,
    .open = files_open,
    .close = files_close,
    .next = files_next,
    .at = files_at,
    .save = files_save,
    .restore = files_restore,
};
