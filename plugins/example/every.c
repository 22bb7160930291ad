/* SPDX-License-Identifier: Apache-2.0 */
/*
 * every - one record in n. The stage of docs/adding-a-stage.md, here as a plug-in:
 *
 *     cc -shared -fPIC -I include plugins/example/every.c -o every.so
 */
#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

#define EVERY_ROWS 256

typedef struct every_args {
    int64_t n;
} every_args;

typedef struct every_state {
    levada_cursor rest; /* of a block that was looked at in part */
    int64_t       ordinal;
    int32_t       rows[EVERY_ROWS];
} every_state;

static const levada_arg every_options[] = {
    LEVADA_ARG(INT, every_args, n, .required = true, .positional = true, .min = 1, .max = 65536,
               .doc = "emit one record of every n"),
    LEVADA_ARG_END
};

static levada_status every_check(const void *args, const levada_spec *in, levada_spec **out,
                                 levada_error *err)
{
    (void)args, (void)out; /* the columns stay as they are */
    if (!(levada_spec_flags_of(in) & LEVADA_SPEC_BATCHED)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "records were batched before; use unbatch() first");
}

static levada_status every_next(void *state, const void *args, levada_input *in, levada_block **out,
                                levada_error *err)
{
    const every_args *a = args;
    every_state      *s = state;
    levada_block     *block = NULL;
    int64_t           n = 0, k = 0;
    levada_status     st;

    LEVADA_TRY(levada_cursor_fill(&s->rest, in, err)); /* END, AGAIN and errors pass through */
    LEVADA_TRY(levada_cursor_take(&s->rest, EVERY_ROWS, &block, err));
    n = levada_block_rows(block);
    for (int32_t i = 0; i < n; i++) {
        if ((s->ordinal + i) % a->n == 0) s->rows[k++] = i;
    }
    st = levada_block_select(block, s->rows, k, out, err); /* copies nothing; k may be 0 */
    if (st == LEVADA_OK) s->ordinal += n;
    levada_block_unref(&block);
    return st;
}

static levada_status every_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const every_state *s = state;

    LEVADA_TRY(levada_state_put_i64(to, "ordinal", s->ordinal, err));
    return levada_cursor_save(&s->rest, to, "rest", err);
}

static levada_status every_restore(void *state, levada_state_reader *from, levada_error *err)
{
    every_state *s = state;

    LEVADA_TRY(levada_state_get_count(from, "ordinal", LEVADA_COUNT_LIMIT, &s->ordinal, err));
    return levada_cursor_restore(&s->rest, from, "rest", err);
}

static void every_close(void *state) { levada_cursor_clear(&((every_state *)state)->rest); }

static const levada_stage_def every = {
    .struct_size = sizeof(levada_stage_def),
    .name = "every",
    .doc = "one record in n",
    .example = "range:100 | every:3",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_SUBSET, .reads = LEVADA_READS_NONE,
                            .never_rejects = true),
    .args = every_options,
    .args_size = sizeof(every_args),
    .state_size = sizeof(every_state),
    .state_version = 1,
    .check = every_check,
    .next = every_next,
    .save = every_save,
    .restore = every_restore,
    .close = every_close,
};

levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "every", 1);
    return host->add_stage(plugin, &every, err);
}
