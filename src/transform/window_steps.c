/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window_steps - records of `size` steps out of longer ones: windows of the sequences of a record,
 * one step in `stride`, a window every `shift` steps. Other fields are repeated in each window.
 *
 * Windows share the values of their record, unless steps are dropped between them. A record may
 * have any number of windows: they are emitted WINDOW_BLOCK at a time.
 */
#include "base/alloc.h"
#include "description/columns.h"
#include "registry/env_priv.h"
#include "tensor/builder_priv.h"
#include <levada/stage.h>

#include <string.h>

#define WINDOW_BLOCK 256
#define WINDOW_MOST  (1 << 24)

typedef struct window_args {
    int64_t      size, shift, stride;
    levada_texts fields;
    bool         drop_remainder;
} window_args;

typedef struct window_state {
    const levada_context *context;
    levada_cursor         rest;
    int64_t               window; /* of the record at the cursor, the next one */
    int64_t               n;      /* windows of the block that is being made   */
    int32_t               row[WINDOW_BLOCK], begin[WINDOW_BLOCK], count[WINDOW_BLOCK];
    int32_t               number[WINDOW_BLOCK]; /* of the window in its record         */
} window_state;

static const levada_arg window_options[] = {
    LEVADA_ARG(INT, window_args, size, .required = true, .positional = true, .min = 1,
               .max = WINDOW_MOST, .doc = "steps in a window"),
    LEVADA_ARG(INT, window_args, shift, .min = 1, .max = INT32_MAX,
               .doc = "steps from the start of a window to the start of the next; null = size"),
    LEVADA_ARG(INT, window_args, stride, .otherwise = "1", .min = 1, .max = WINDOW_MOST,
               .doc = "distance between the steps of a window; 1 = neighbors"),
    LEVADA_ARG(TEXTS, window_args, fields,
               .doc = "fields to cut, with the same length in each record; null = all ragged "
                      "fields; other fields are repeated"),
    LEVADA_ARG(BOOL, window_args, drop_remainder, .otherwise = "false",
               .doc = "drop windows with fewer steps, at the end of each record"),
    LEVADA_ARG_END
};

/* Returns true for byte strings and fields with a ragged level, which are ranges, of which a part
 * is a range, too. */
static bool window_is_range(const levada_field *f)
{
    return f->depth > 0 || (levada_dtype_is_bytes(f->dtype) && f->ndim == 0);
}

/* Returns true if a field is cut. */
static bool window_cuts(const window_args *a, const levada_field *f)
{
    if (a->fields.n == 0) return f->depth > 0;
    for (int64_t i = 0; i < a->fields.n; i++) {
        if (strcmp(a->fields.at[i], f->name) == 0) return true;
    }
    return false;
}

/* Makes the columns of the result. Windows of a text are bytes, because they cut characters. */
static levada_status window_spec(const window_args *a, const levada_spec *in, levada_spec **out,
                                 levada_error *err)
{
    levada_field *fields = levada_spec_copy_fields(in);
    int32_t       n = levada_spec_count(in);
    levada_status st;

    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    for (int32_t i = 0; i < n; i++) {
        if (fields[i].dtype == LEVADA_TEXT && fields[i].depth == 0 && window_cuts(a, &fields[i]))
            fields[i].dtype = LEVADA_BYTES;
    }
    st = levada_spec_create(fields, n, levada_spec_flags_of(in), out, err);
    levada_free(fields);
    return st;
}

static levada_status window_check(const void *args, const levada_spec *in, levada_spec **out,
                                  levada_error *err)
{
    const window_args *a = args;
    bool               any = levada_spec_flags_of(in) & LEVADA_SPEC_OPEN;

    LEVADA_TRY(levada_spec_want_records(in, err));
    for (int64_t i = 0; i < a->fields.n; i++) {
        const levada_field *f;
        int32_t             at = -1;

        LEVADA_TRY(levada_spec_require(in, a->fields.at[i], &at, err));
        f = levada_spec_field(in, at);
        if (f && !window_is_range(f)) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "field '%s' must be a sequence, got one %s per record; omit it "
                               "from fields=",
                               f->name, levada_dtype_name(f->dtype));
        }
    }
    for (int32_t i = 0; i < levada_spec_count(in); i++) {
        any = any || window_cuts(a, levada_spec_field(in, i));
    }
    if (any) return window_spec(a, in, out, err);
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "no field is a ragged sequence; set fields= to the fields to cut");
}

static levada_status window_open(void *state, const void *args, const levada_context *context,
                                 levada_error *err)
{
    (void)args;
    (void)err;
    ((window_state *)state)->context = context;
    return LEVADA_OK;
}

static void window_close(void *state) { levada_cursor_clear(&((window_state *)state)->rest); }

/* -- which windows */

/* Counts the steps of a record; -1 if its fields differ. */
static int64_t window_length(const window_args *a, const levada_block *in, int64_t row,
                             int64_t odd[2])
{
    int64_t length = -1;

    for (int32_t i = 0; i < levada_spec_count(in->spec); i++) {
        const levada_column *c = &in->columns[i];
        int64_t              steps;

        if (!window_cuts(a, c->field)) continue;
        steps = c->level[0].end[row] - c->level[0].begin[row];
        odd[0] = length;
        odd[1] = steps;
        if (length >= 0 && steps != length) return -1;
        length = steps;
    }
    return length < 0 ? 0 : length;
}

/* Windows of a record of this length. */
static int64_t window_count(const window_args *a, int64_t length)
{
    int64_t shift = a->shift == LEVADA_NULL_INT ? a->size : a->shift;
    int64_t span = (a->size - 1) * a->stride + 1;

    if (!a->drop_remainder) return (length + shift - 1) / shift;
    return length < span ? 0 : (length - span) / shift + 1;
}

/* Adds windows of the record at the cursor while there is space for them. */
static void window_add(window_state *s, const window_args *a, int64_t length, int64_t windows)
{
    int64_t shift = a->shift == LEVADA_NULL_INT ? a->size : a->shift;

    for (; s->window < windows && s->n < WINDOW_BLOCK; s->window++, s->n++) {
        int64_t begin = s->window * shift, most = (length - begin - 1) / a->stride + 1;

        s->row[s->n] = (int32_t)s->rest.row;
        s->number[s->n] = (int32_t)s->window;
        s->begin[s->n] = (int32_t)begin;
        s->count[s->n] = (int32_t)(most < a->size ? most : a->size);
    }
    if (s->window < windows) return;
    s->rest.row++;
    s->window = 0;
}

static levada_status window_uneven(window_state *s, const int64_t odd[2], levada_error *err)
{
    levada_error  why = LEVADA_ERROR_INIT;
    int32_t       row = (int32_t)s->rest.row;
    levada_block *record = NULL;
    levada_status st;

    (void)levada_fail(
        &why, LEVADA_EINVALID_ARGUMENT,
        "the windowed fields of a record must have the same length, got %lld and %lld; set "
        "fields= to fields of equal lengths",
        (long long)odd[0], (long long)odd[1]);
    LEVADA_TRY(levada_block_select(s->rest.block, &row, 1, &record, err));
    s->rest.row++;
    st = levada_context_reject(s->context, record, s->rest.block->n - s->rest.row, &why, err);
    levada_block_unref(&record);
    return st;
}

/* Chooses the windows of the next block. */
static levada_status window_choose(window_state *s, const window_args *a, levada_error *err)
{
    const levada_block *in = s->rest.block;
    int64_t             odd[2] = {0};

    for (s->n = 0; s->rest.row < in->n && s->n < WINDOW_BLOCK;) {
        int64_t length = window_length(a, in, s->rest.row, odd), windows;

        if (length < 0 && s->n > 0) return LEVADA_OK; /* those before it leave first */
        if (length < 0) return window_uneven(s, odd, err);
        windows = window_count(a, length);
        if (windows == 0) levada_context_dropped(s->context, 1);
        window_add(s, a, length, windows);
    }
    return LEVADA_OK;
}

/* -- their columns */

static levada_status window_ranges(levada_builder *b, const window_state *s, int32_t i,
                                   const levada_column *from, levada_error *err)
{
    int32_t *begin = NULL, *end = NULL;

    LEVADA_TRY(levada_builder_ranges(b, i, 0, s->n, &begin, &end, err));
    for (int64_t w = 0; w < s->n; w++) {
        begin[w] = from->level[0].begin[s->row[w]] + s->begin[w];
        end[w] = begin[w] + s->count[w];
    }
    return LEVADA_OK;
}

/* Offsets of windows that have no steps of each other. */
static levada_status window_offsets(levada_builder *b, const window_state *s, int32_t i,
                                    int64_t *total, levada_error *err)
{
    int32_t *begin = NULL, *end = NULL;
    int64_t  sum = 0;

    for (int64_t w = 0; w < s->n; w++) sum += s->count[w];
    if (sum > INT32_MAX) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "%lld windows have %lld steps, more than 2^31 - 1 in one block; raise "
                           "shift=", (long long)s->n, (long long)sum);
    }
    LEVADA_TRY(levada_builder_ranges(b, i, 0, s->n, &begin, &end, err));
    *total = sum;
    sum = 0;
    for (int64_t w = 0; w < s->n; w++) {
        begin[w] = (int32_t)sum;
        sum += s->count[w];
        end[w] = (int32_t)sum;
    }
    return LEVADA_OK;
}

/* Cuts steps that are ranges themselves. */
static levada_status window_inner_ranges(levada_builder *b, const window_state *s, int32_t i,
                                         const levada_column *from, int64_t stride, int64_t per,
                                         int64_t total, levada_error *err)
{
    int32_t *begin = NULL, *end = NULL;
    int64_t  k = 0;

    if (total * per > INT32_MAX) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "windows have %lld values, more than 2^31 - 1 in one block; raise "
                           "shift=", (long long)(total * per));
    }
    LEVADA_TRY(levada_builder_ranges(b, i, 1, total * per, &begin, &end, err));
    for (int64_t w = 0; w < s->n; w++) {
        int64_t first = from->level[0].begin[s->row[w]] + s->begin[w];

        for (int64_t t = 0; t < s->count[w] * per; t++, k++) {
            int64_t at = (first + t / per * stride) * per + t % per;

            begin[k] = from->level[1].begin[at];
            end[k] = from->level[1].end[at];
        }
    }
    return LEVADA_OK;
}

static levada_status window_values(levada_builder *b, const window_state *s, int32_t i,
                                   const levada_column *from, int64_t stride, int64_t per,
                                   int64_t total, levada_error *err)
{
    bool     text = levada_dtype_is_bytes(from->field->dtype);
    size_t   size = text ? 1 : (size_t)(levada_dtype_size(from->field->dtype) * per);
    void    *values = NULL;
    uint8_t *to;

    LEVADA_TRY(levada_builder_values(b, i, text ? total : total * per, &values, err));
    to = values;
    for (int64_t w = 0; w < s->n; w++) {
        int64_t first = from->level[0].begin[s->row[w]] + s->begin[w];

        for (int64_t t = 0; t < s->count[w]; t++, to += size) {
            memcpy(to, from->values + (size_t)(first + t * stride) * size, size);
        }
    }
    return LEVADA_OK;
}

/* Makes a column of windows. */
static levada_status window_column(levada_builder *b, const window_state *s, int32_t i,
                                   const levada_column *from, int64_t stride, levada_error *err)
{
    levada_column *c = &b->block->columns[i];
    int64_t        per = levada_column_inner(from), total = 0;
    bool           text = levada_dtype_is_bytes(from->field->dtype), deep = from->field->depth > 1;

    levada_builder_share(b, i, from);
    c->n = s->n;
    if (stride == 1) return window_ranges(b, s, i, from, err);
    LEVADA_TRY(window_offsets(b, s, i, &total, err));
    if (deep || (text && from->field->depth > 0)) {
        return window_inner_ranges(b, s, i, from, stride, deep ? 1 : per, total, err);
    }
    return window_values(b, s, i, from, stride, per, total, err);
}

/* Makes the other columns: rows of the records, as often as they have windows. */
static levada_status window_others(const window_state *s, const window_args *a,
                                   const levada_block *in, levada_builder *b, levada_error *err)
{
    levada_pool  *pool = levada_env_pool(s->context->env);
    int32_t       n = levada_spec_count(in->spec), kept = 0;
    levada_field *fields = levada_spec_copy_fields(in->spec);
    levada_spec  *spec = NULL;
    levada_block *others = NULL, *rows = NULL, *flat = NULL;
    levada_status st = LEVADA_OK;

    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for windows");
    for (int32_t i = 0; i < n; i++) {
        if (!window_cuts(a, &fields[i])) fields[kept++] = fields[i];
    }
    if (kept) {
        st = levada_spec_create(fields, kept, LEVADA_SPEC_PLAIN, &spec, err);
        if (st == LEVADA_OK) st = levada_columns_pick(pool, in, spec, NULL, &others, err);
        if (st == LEVADA_OK) st = levada_block_select(others, s->row, s->n, &rows, err);
        if (st == LEVADA_OK) st = levada_block_gather(pool, rows, &flat, err);
    }
    for (int32_t i = 0, k = 0; st == LEVADA_OK && i < n; i++) {
        if (!window_cuts(a, in->columns[i].field)) {
            levada_builder_share(b, i, &flat->columns[k++]);
        }
    }
    levada_block_unref(&flat);
    levada_block_unref(&rows);
    levada_block_unref(&others);
    levada_spec_unref(&spec);
    levada_free(fields);
    return st;
}

static levada_status window_origins(const window_state *s, const levada_block *in,
                                    levada_block *made, levada_error *err)
{
    int32_t        nparts = levada_block_origin_parts(in);
    levada_origin *each[LEVADA_ORIGIN_PARTS];

    LEVADA_TRY(levada_block_reserve_origins(levada_env_pool(s->context->env), made, nparts, each,
                                            err));
    for (int32_t part = 0; part < nparts; part++) {
        for (int64_t w = 0; w < s->n; w++) {
            each[part][w] = levada_block_origin_part(in, s->row[w], part);
            each[part][w].sub = s->number[w];
        }
    }
    return LEVADA_OK;
}

static levada_status window_make(const window_state *s, const window_args *a,
                                 const levada_block *in, levada_block **out, levada_error *err)
{
    levada_pool    *pool = levada_env_pool(s->context->env);
    levada_builder *b = NULL;
    levada_block   *made = NULL;
    levada_spec    *spec = NULL;
    levada_status   st;

    LEVADA_TRY(window_spec(a, in->spec, &spec, err));
    st = levada_builder_make(pool, spec, s->n, &b, err);
    levada_spec_unref(&spec);
    if (st == LEVADA_OK) st = window_others(s, a, in, b, err);
    for (int32_t i = 0; st == LEVADA_OK && i < levada_spec_count(in->spec); i++) {
        if (!window_cuts(a, in->columns[i].field)) continue;
        st = window_column(b, s, i, &in->columns[i], a->stride, err);
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, &made, err);
    if (st == LEVADA_OK) st = window_origins(s, in, made, err);
    if (st == LEVADA_OK) {
        int64_t records = s->row[s->n - 1] - s->row[0] + 1;

        made->bytes += in->bytes / in->n * records; /* whose values it shares */
        *out = made;
        made = NULL;
    }
    levada_block_unref(&made);
    levada_builder_destroy(&b);
    return st;
}

/* -- the stage */

/* Fills the block at the cursor, with columns of its own. */
static levada_status window_fill(window_state *s, levada_input *in, levada_error *err)
{
    levada_block *data = NULL;

    LEVADA_TRY(levada_cursor_fill(&s->rest, in, err));
    LEVADA_TRY(levada_context_gather(s->context, s->rest.block, &data, err));
    levada_block_unref(&s->rest.block);
    s->rest.block = data;
    return LEVADA_OK;
}

static levada_status window_next(void *state, const void *args, levada_input *in,
                                 levada_block **out, levada_error *err)
{
    window_state *s = state;

    do {
        LEVADA_TRY(window_fill(s, in, err));
        LEVADA_TRY(window_choose(s, args, err));
    } while (s->n == 0);
    return window_make(s, args, s->rest.block, out, err);
}

static levada_status window_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const window_state *s = state;

    LEVADA_TRY(levada_state_put_i64(to, "window", s->window, err));
    return levada_cursor_save(&s->rest, to, "rest", err);
}

static levada_status window_restore(void *state, levada_state_reader *from, levada_error *err)
{
    window_state *s = state;

    LEVADA_TRY(levada_state_get_count(from, "window", INT32_MAX, &s->window, err));
    return levada_cursor_restore(&s->rest, from, "rest", err);
}

const levada_stage_def levada_stage_window_steps = {
    .struct_size = sizeof(levada_stage_def),
    .name = "window_steps",
    .doc = "cuts long records into windows of a number of steps",
    .example = "text_lines:lines.txt | window_steps:6,shift=4,fields=line",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.reads = LEVADA_READS_COLUMNS, .saves = "its position in a record"),
    .args = window_options,
    .args_size = sizeof(window_args),
    .state_size = sizeof(window_state),
    .state_version = 1,
    .check = window_check,
    .open = window_open,
    .close = window_close,
    .next = window_next,
    .save = window_save,
    .restore = window_restore,
};
