/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plug-in that uses what the first version of the table did not have. LEVADA_TEST_PLUGIN says how
 * its main continues: "newer" was compiled with a longer table, "abi" with another, "older" meets
 * a host that has the first version only, "fits" needs no more than that.
 *
 *     table_lines:PATH         lines of a file, whatever it is compressed with
 *     table_some:PERCENT       a random part of the records; shorter ones than two bytes are bad
 *     table_numbers            {"n": 3} becomes 3
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

extern size_t table_needs;

#define LEVADA_PLUGIN_NEEDS table_needs
#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

size_t table_needs = sizeof(levada_host);

/* -- a source that reads a file itself */

#define TABLE_WINDOW 8

typedef struct table_lines_args {
    const char *path, *compression;
} table_lines_args;

typedef struct table_lines_state {
    const levada_context *context;
    levada_bytes         *bytes;
    char                 *line; /* grows */
    size_t                capacity;
} table_lines_state;

static const levada_arg table_lines_options[] = {
    LEVADA_ARG(TEXT, table_lines_args, path, .required = true, .positional = true, .doc = "file"),
    LEVADA_ARG(TEXT, table_lines_args, compression, .doc = "null = by content"),
    LEVADA_ARG_END
};

static levada_status table_lines_check(const void *args, levada_spec **out, levada_error *err)
{
    levada_field line = { .name = "line", .dtype = LEVADA_BYTES };
    levada_spec *again = NULL;

    (void)args;
    LEVADA_TRY(levada_spec_create(&line, 1, LEVADA_SPEC_PLAIN, out, err));
    LEVADA_TRY(levada_spec_create(&line, 1, LEVADA_SPEC_PLAIN, &again, err));
    if (!levada_spec_equal(*out, again)) return levada_fail(err, LEVADA_EINTERNAL, "specs differ");
    levada_spec_unref(&again);
    return LEVADA_OK;
}

static levada_status table_lines_open(void *state, const void *args, const levada_context *context,
                                      levada_error *err)
{
    const table_lines_args *a = args;
    table_lines_state      *s = state;

    s->context = context;
    s->line = levada_alloc_zero(TABLE_WINDOW);
    s->capacity = TABLE_WINDOW;
    if (!s->line) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a line");
    levada_context_log(context, LEVADA_LOG_DEBUG, "reads %s", a->path);
    return levada_bytes_open(context->env, a->path, a->compression, &s->bytes, err);
}

static void table_lines_close(void *state)
{
    table_lines_state *s = state;

    levada_bytes_close(&s->bytes);
    levada_free(s->line);
}

/* Doubles the capacity. */
static levada_status table_lines_grow(table_lines_state *s, levada_error *err)
{
    size_t size = 0;
    char  *more = levada_size_of(s->capacity, 2, 0, &size) ? levada_realloc(s->line, size) : NULL;

    if (!more) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a line");
    s->line = more;
    s->capacity = size;
    return LEVADA_OK;
}

/* The next line into s->line; reading continues after its newline. END where nothing is left. */
static levada_status table_lines_read(table_lines_state *s, int64_t *size, levada_error *err)
{
    int64_t begin = levada_bytes_offset(s->bytes), have = 0, made = 0;
    char   *newline = NULL;

    for (;;) {
        if (levada_context_cancelled(s->context)) {
            return levada_fail(err, LEVADA_ECANCELLED, "cancelled");
        }
        if (have == (int64_t)s->capacity) LEVADA_TRY(table_lines_grow(s, err));
        LEVADA_TRY(levada_bytes_read(s->bytes, s->line + have, (int64_t)s->capacity - have, &made,
                                     err));
        newline = made > 0 ? memchr(s->line + have, '\n', (size_t)made) : NULL;
        have += made;
        if (newline || made == 0) break;
    }
    if (have == 0) return LEVADA_END;
    *size = newline ? newline - s->line : have;
    return levada_bytes_seek(s->bytes, begin + *size + (newline ? 1 : 0), err);
}

static levada_status table_lines_next(void *state, const void *args, levada_block **out,
                                      levada_error *err)
{
    table_lines_state *s = state;
    levada_builder    *b = NULL;
    int64_t            begin = levada_bytes_offset(s->bytes), n = 0, size = 0;
    levada_status      st, back;

    (void)args;
    st = levada_builder_create(s->context->env, s->context->out, -1, &b, err);
    for (; st == LEVADA_OK && n < s->context->block_rows; n++) {
        st = table_lines_read(s, &size, err);
        if (st == LEVADA_OK) st = levada_builder_push_bytes(b, 0, s->line, size, err);
        if (st != LEVADA_OK) break;
    }
    if (st == LEVADA_END && n > 0) st = LEVADA_OK;
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    /* What was read into a block that did not come to be is read again. */
    back = st < 0 ? levada_bytes_seek(s->bytes, begin, NULL) : LEVADA_OK;
    return back == LEVADA_OK ? st : back;
}

static levada_status table_lines_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const table_lines_state *s = state;

    return levada_state_put_i64(to, "offset", levada_bytes_offset(s->bytes), err);
}

static levada_status table_lines_restore(void *state, levada_state_reader *from, levada_error *err)
{
    table_lines_state *s = state;
    int64_t            offset = 0;

    LEVADA_TRY(levada_state_get_i64(from, "offset", &offset, err));
    return levada_bytes_seek(s->bytes, offset, err);
}

static const levada_source_def table_lines = {
    .struct_size = sizeof(levada_source_def),
    .name = "table_lines",
    .doc = "lines of a file",
    .example = "table_lines:lines.txt",
    .args = table_lines_options,
    .args_size = sizeof(table_lines_args),
    .state_size = sizeof(table_lines_state),
    .state_version = 1,
    .check = table_lines_check,
    .open = table_lines_open,
    .close = table_lines_close,
    .next = table_lines_next,
    .save = table_lines_save,
    .restore = table_lines_restore,
};

/* -- a stage that draws, and rejects records */

typedef struct table_some_args {
    int64_t percent;
} table_some_args;

typedef struct table_some_state {
    const levada_context *context;
    levada_cursor         rest;
    int64_t               ordinal;
} table_some_state;

static const levada_arg table_some_options[] = {
    LEVADA_ARG(INT, table_some_args, percent, .required = true, .positional = true, .min = 1,
               .max = 100, .doc = "of the records"),
    LEVADA_ARG_END
};

static levada_status table_some_open(void *state, const void *args, const levada_context *context,
                                     levada_error *err)
{
    (void)args, (void)err;
    ((table_some_state *)state)->context = context;
    return LEVADA_OK;
}

static bool table_some_draws(const table_some_state *s, const table_some_args *a)
{
    uint64_t seed = s->context->seed, epoch = (uint64_t)s->context->epoch;
    uint64_t n = (uint64_t)s->ordinal;
    uint64_t bits = levada_random_at(levada_random_key(seed, epoch), n);

    if (bits != levada_random_draw(seed, epoch, n)) return false;
    return levada_random_unit(bits) * 100 < (double)a->percent
           && levada_random_below(bits, 100) < (uint64_t)a->percent;
}

/* Of a source, without a zip: one origin part, which is that of levada_block_origin. */
static bool table_some_named(const levada_block *one)
{
    return levada_block_origin_parts(one) == 1 && levada_block_origin_part(one, 0, 1).source < 0
           && levada_block_origin_part(one, 0, 0).record == levada_block_origin(one, 0).record;
}

/* One record at a time: what is taken was decided on. */
static levada_status table_some_next(void *state, const void *args, levada_input *in,
                                     levada_block **out, levada_error *err)
{
    table_some_state    *s = state;
    levada_error         why = LEVADA_ERROR_INIT;
    const levada_block  *next = NULL;
    levada_block        *one = NULL, *flat = NULL;
    const levada_column *line;
    int64_t              size = 0, left;
    levada_status        st;

    if (!s->rest.block) LEVADA_TRY(levada_input_peek(in, &next, err));
    LEVADA_TRY(levada_cursor_fill(&s->rest, in, err));
    left = levada_block_rows(s->rest.block) - s->rest.row - 1;
    LEVADA_TRY(levada_cursor_take(&s->rest, 1, &one, err));
    st = levada_context_gather(s->context, one, &flat, err);
    if (st != LEVADA_OK) {
        levada_block_unref(&one);
        return st;
    }
    line = levada_block_column(flat, "line");
    levada_column_bytes(line, 0, &size);
    levada_block_unref(&flat);
    if (size < 2 || levada_block_bytes(one) <= 0) {
        st = levada_fail(&why, LEVADA_EDATA_LOSS, "%lld bytes", (long long)size);
        st = levada_context_reject(s->context, one, left, &why, err);
        levada_error_clear(&why);
        if (st != LEVADA_OK) {
            levada_block_unref(&one);
            return st;
        }
    }
    if (size < 2 || !table_some_draws(s, args)) {
        st = levada_block_select(one, NULL, 0, out, err);
    } else {
        *out = levada_block_ref(one);
        st = levada_block_exclusive(one) || !table_some_named(one)
                 ? levada_fail(err, LEVADA_EINTERNAL, "two references, one name")
                 : LEVADA_OK;
    }
    if (st == LEVADA_OK) s->ordinal++;
    levada_block_unref(&one);
    return st;
}

static levada_status table_some_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const table_some_state *s = state;

    LEVADA_TRY(levada_state_put_i64(to, "ordinal", s->ordinal, err));
    return levada_cursor_save(&s->rest, to, "rest", err);
}

static levada_status table_some_restore(void *state, levada_state_reader *from, levada_error *err)
{
    table_some_state *s = state;

    LEVADA_TRY(levada_state_get_i64(from, "ordinal", &s->ordinal, err));
    return levada_cursor_restore(&s->rest, from, "rest", err);
}

static void table_some_close(void *state)
{
    levada_cursor_clear(&((table_some_state *)state)->rest);
}

static const levada_stage_def table_some = {
    .struct_size = sizeof(levada_stage_def),
    .name = "table_some",
    .doc = "a random part of the records",
    .example = "text_lines:lines.txt | filter:\"len(line) > 1\" | table_some:50",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_SUBSET, .random = LEVADA_RANDOM_BY_PASS,
                            .drawn = "choice of records"),
    .args = table_some_options,
    .args_size = sizeof(table_some_args),
    .state_size = sizeof(table_some_state),
    .state_version = 1,
    .open = table_some_open,
    .next = table_some_next,
    .save = table_some_save,
    .restore = table_some_restore,
    .close = table_some_close,
};

/* -- a decoder of JSON */

static levada_status table_numbers_check(const void *args, levada_spec **out, levada_error *err)
{
    levada_field n = { .name = "n", .dtype = LEVADA_INT64 };

    (void)args;
    return levada_spec_create(&n, 1, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status table_numbers_one(const levada_strings *in, int64_t i, int64_t *n,
                                       levada_error *err)
{
    char         *text = levada_alloc((size_t)in->size[i] + 1), *again;
    levada_value *value = NULL;
    levada_status st;

    if (!text) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a line");
    memcpy(text, in->data[i], (size_t)in->size[i]);
    text[in->size[i]] = 0;
    again = levada_strdup(text);
    st = again ? levada_value_parse_json(again, strlen(again), &value, err)
               : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a line");
    if (st == LEVADA_OK) *n = levada_value_as_int(levada_value_get(value, "n"));
    levada_value_destroy(&value);
    levada_free(again);
    levada_free(text);
    return st;
}

static levada_status table_numbers_decode(void *state, const void *args, const levada_strings *in,
                                          levada_builder *out, levada_error *err)
{
    levada_error  why = LEVADA_ERROR_INIT;
    levada_status st = LEVADA_OK;

    (void)state, (void)args;
    for (int64_t i = 0; st == LEVADA_OK && i < in->n; i++) {
        int64_t       n = 0;
        levada_status bad = table_numbers_one(in, i, &n, &why);

        if (bad == LEVADA_ERESOURCE_EXHAUSTED) {
            if (err) *err = why;
            return bad;
        }
        st = levada_builder_push_i64(out, 0, n, err);
        if (st == LEVADA_OK && bad != LEVADA_OK) st = levada_builder_reject(out, i, &why, err);
    }
    return st;
}

static const levada_decoder_def table_numbers = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "table_numbers",
    .doc = "n of {\"n\": 3}",
    .example = "text_lines:json.txt | table_numbers",
    .field = "line",
    .check = table_numbers_check,
    .decode = table_numbers_decode,
};

/* -- a stage that looks at columns */

static bool table_views_good(const levada_block *in)
{
    const levada_column *n = levada_block_column(in, "n");
    levada_error         err = LEVADA_ERROR_INIT;
    char                 text[64];

    (void)levada_fail(&err, LEVADA_EDATA_LOSS, "%s", levada_status_text(LEVADA_EDATA_LOSS));
    if (strcmp(levada_error_text(&err, text, sizeof text), "data loss") != 0) return false;
    if (strcmp(levada_status_name(err.code), "EDATA_LOSS") != 0) return false;
    return levada_column_i64(n) && !levada_column_i32(n) && !levada_column_f32(n)
           && !levada_column_f64(n) && !levada_column_u8(n);
}

static levada_status table_views_apply(void *state, const void *args, const levada_block *in,
                                       levada_block **out, levada_error *err)
{
    (void)state, (void)args;
    if (!table_views_good(in)) return levada_fail(err, LEVADA_EINTERNAL, "another view");
    *out = levada_block_ref(in);
    return LEVADA_OK;
}

static const levada_stage_def table_views = {
    .struct_size = sizeof(levada_stage_def),
    .name = "table_views",
    .doc = "passes records on whose column n is int64",
    .example = "text_lines:json.txt | table_numbers | table_views",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
    .apply = table_views_apply,
};

/* -- a stage whose default is a pipe of the others, which are registered after it */

typedef struct table_piped_args {
    const levada_dataset *pipe;
} table_piped_args;

static const levada_arg table_piped_options[] = {
    LEVADA_ARG(PIPE, table_piped_args, pipe,
               .otherwise = "(text_lines:json.txt | table_numbers | table_views)",
               .doc = "is read by nobody"),
    LEVADA_ARG_END
};

static levada_status table_piped_apply(void *state, const void *args, const levada_block *in,
                                       levada_block **out, levada_error *err)
{
    (void)state;
    if (!((const table_piped_args *)args)->pipe) {
        return levada_fail(err, LEVADA_EINTERNAL, "no default");
    }
    *out = levada_block_ref(in);
    return LEVADA_OK;
}

static const levada_stage_def table_piped = {
    .struct_size = sizeof(levada_stage_def),
    .name = "table_piped",
    .doc = "passes records on",
    .example = "text_lines:json.txt | table_piped",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
    .args = table_piped_options,
    .args_size = sizeof(table_piped_args),
    .apply = table_piped_apply,
};

/* -- the entry */

static const levada_host *table_host(const levada_host *host, levada_plugin *plugin,
                                     const char *how, levada_host *copy)
{
    *copy = *host;
    if (strcmp(how, "newer") == 0) table_needs = sizeof(levada_host) + sizeof(void *);
    if (strcmp(how, "fits") == 0) table_needs = offsetof(levada_host, alloc);
    if (strcmp(how, "abi") == 0) plugin->abi++;
    if (strcmp(how, "older") == 0 || strcmp(how, "fits") == 0) {
        copy->struct_size = offsetof(levada_host, alloc);
        copy->alloc = NULL; /* and all after it: a caller dies */
        return copy;
    }
    return host;
}

LEVADA_API levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin,
                                            levada_error *err)
{
    static levada_host copy;
    const char        *how = getenv("LEVADA_TEST_PLUGIN");

    table_needs = sizeof(levada_host);
    if (how) host = table_host(host, plugin, how, &copy);
    LEVADA_PLUGIN_BEGIN(host, plugin, "table", 1);
    if (how && strcmp(how, "fits") == 0) return host->add_stage(plugin, &table_views, err);
    levada_free(levada_alloc(1)); /* not there in an older table */
    LEVADA_TRY(host->add_stage(plugin, &table_piped, err));
    LEVADA_TRY(host->add_source(plugin, &table_lines, err));
    LEVADA_TRY(host->add_stage(plugin, &table_some, err));
    LEVADA_TRY(host->add_decoder(plugin, &table_numbers, err));
    return host->add_stage(plugin, &table_views, err);
}
