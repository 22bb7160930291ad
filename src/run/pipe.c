/* SPDX-License-Identifier: Apache-2.0 */
#include "run/pipe.h"

#include "base/text.h"
#include "base/alloc.h"
#include "files/glob.h"
#include "tensor/block_priv.h"
#include "tensor/convert.h"

#include <string.h>

/* Measures the place that begins at text[0] == '{': returns the bytes of its name; *size = those of
 * the whole. 0 for "{{" and for a brace that is not closed: plain text. */
static size_t pipe_place(const char *text, size_t *size)
{
    size_t n = strcspn(text + 1, "{}");

    *size = text[1] == '{' ? 2 : 1;
    if (text[1 + n] != '}' || n == 0) return 0;
    *size = n + 2;
    return n;
}

static int32_t pipe_find(const levada_spec *spec, const char *name, size_t n)
{
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        const char *is = levada_spec_field(spec, i)->name;

        if (strlen(is) == n && memcmp(is, name, n) == 0) return i;
    }
    return -1;
}

static bool pipe_fills(const levada_field *f)
{
    bool number = f->dtype >= LEVADA_BOOL && f->dtype <= LEVADA_UINT64;

    return f->depth == 0 && f->ndim == 0 && (number || levada_dtype_is_bytes(f->dtype));
}

static levada_status pipe_check_text(const char *text, const levada_spec *in, levada_error *err)
{
    bool open = levada_spec_flags_of(in) & LEVADA_SPEC_OPEN;

    for (const char *at = strchr(text, '{'); at; at = strchr(at, '{')) {
        size_t  size, n = pipe_place(at, &size);
        int32_t i = n ? pipe_find(in, at + 1, n) : -1;

        if (n && i < 0 && !open) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "'%s': unknown field '%.*s'",
                               text, (int)n, at + 1);
        }
        if (i >= 0 && !pipe_fills(levada_spec_field(in, i))) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "'%s': field '%.*s' must be a byte string or an integer",
                               text, (int)n, at + 1);
        }
        at += size;
    }
    return LEVADA_OK;
}

static levada_status pipe_check_value(const levada_value *value, const levada_spec *in,
                                      levada_error *err)
{
    levada_value_kind kind = levada_value_kind_of(value);

    if (kind == LEVADA_VALUE_TEXT) {
        return pipe_check_text(levada_value_as_text(value, NULL), in, err);
    }
    for (int64_t i = 0; kind == LEVADA_VALUE_LIST && i < levada_value_count(value); i++) {
        LEVADA_TRY(pipe_check_value(levada_value_item(value, i), in, err));
    }
    return LEVADA_OK;
}

levada_status levada_pipe_check(const levada_dataset *pipe, const levada_spec *in,
                                levada_error *err)
{
    for (int32_t i = 0; i < pipe->ninputs; i++) {
        LEVADA_TRY(levada_pipe_check(pipe->inputs[i], in, err));
    }
    for (int64_t i = 0; i < levada_value_count(pipe->options); i++) {
        LEVADA_TRY(pipe_check_value(levada_value_item(pipe->options, i), in, err));
    }
    return LEVADA_OK;
}

/* -- filling in */

/* Adds a value to the text. Names of files are patterns, and a name that is data stands for one
 * file. */
static void pipe_add(levada_text *to, const levada_column *c, int64_t row, bool pattern)
{
    int64_t        size = levada_dtype_size(c->field->dtype), number = 0;
    const uint8_t *data;

    if (levada_dtype_is_bytes(c->field->dtype)) {
        data = levada_column_bytes(c, row, &size);
        if (pattern) levada_files_put_literal(to, (const char *)data, (size_t)size);
        else levada_text_add(to, data, (size_t)size);
    } else if (c->field->dtype == LEVADA_UINT64) {
        levada_text_format(to, "%llu",
                           (unsigned long long)((const uint64_t *)(const void *)c->values)[row]);
    } else {
        (void)levada_convert(c->field->dtype, c->values + row * size, LEVADA_INT64, &number, 1);
        levada_text_format(to, "%lld", (long long)number);
    }
}

static levada_status pipe_fill_text(const char *text, const levada_block *block, int64_t row,
                                    bool pattern, levada_value **out, levada_error *err)
{
    levada_text made = { 0 };
    size_t      n, size;

    levada_text_put(&made, "");
    for (; *text; text += size) {
        size = strcspn(text, "{");
        levada_text_add(&made, text, size);
        if (size) continue;
        n = pipe_place(text, &size);
        if (n) {
            int32_t i = pipe_find(block->spec, text + 1, n);

            if (i < 0 || !pipe_fills(levada_spec_field(block->spec, i))) {
                levada_text_clear(&made);
                return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                                   "a record must have the string or integer '%.*s' of the path",
                                   (int)n, text + 1);
            }
            pipe_add(&made, &block->columns[i], row, pattern);
        } else {
            levada_text_char(&made, '{');
        }
    }
    if (!made.failed) *out = levada_value_text(made.at ? made.at : "", made.size);
    levada_text_clear(&made);
    return *out ? LEVADA_OK
                : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a pipeline");
}

/* Replaces the texts in a map or list; *filled says whether there was one with a place. `pattern`:
 * the texts are names of files, in a map those of the option `files`. */
static levada_status pipe_fill(levada_value *in, const levada_block *block, int64_t row,
                               bool pattern, bool *filled, levada_error *err)
{
    for (int64_t i = 0; i < levada_value_count(in); i++) {
        const levada_value *item = levada_value_item(in, i);
        levada_value_kind   kind = levada_value_kind_of(item);
        const char         *key = levada_value_key(in, i);
        bool                files = pattern || (key && strcmp(key, "files") == 0);
        levada_value       *made = NULL;

        if (kind == LEVADA_VALUE_TEXT && strchr(levada_value_as_text(item, NULL), '{')) {
            LEVADA_TRY(pipe_fill_text(levada_value_as_text(item, NULL), block, row, files, &made,
                                      err));
            levada_value_replace_at(in, i, &made);
            *filled = true;
        } else if (kind == LEVADA_VALUE_LIST) {
            levada_value *list = levada_value_take_at(in, i);
            levada_status st = pipe_fill(list, block, row, files, filled, err);

            levada_value_replace_at(in, i, &list);
            LEVADA_TRY(st);
        }
    }
    return LEVADA_OK;
}

static levada_status pipe_bind_node(const levada_dataset *pipe, const levada_block *block,
                                    int64_t row, levada_dataset **inputs, levada_dataset **out,
                                    levada_error *err)
{
    levada_value *options = levada_value_copy(pipe->options);
    bool          changed = false;
    levada_status st = LEVADA_OK;

    if (!options)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a pipeline");
    for (int32_t i = 0; st == LEVADA_OK && i < pipe->ninputs; i++) {
        st = levada_pipe_bind(pipe->inputs[i], block, row, &inputs[i], err);
        changed = changed || inputs[i] != pipe->inputs[i];
    }
    if (st == LEVADA_OK) st = pipe_fill(options, block, row, false, &changed, err);
    if (st == LEVADA_OK && changed) {
        st = levada_dataset_make(&(levada_making){.env = pipe->env}, pipe->op, options, inputs,
                                 pipe->ninputs, out, err);
    } else if (st == LEVADA_OK) {
        *out = levada_dataset_ref(pipe);
    }
    levada_value_destroy(&options);
    return st;
}

levada_status levada_pipe_bind(const levada_dataset *pipe, const levada_block *block, int64_t row,
                               levada_dataset **out, levada_error *err)
{
    levada_dataset **inputs = levada_alloc_zero((size_t)pipe->ninputs * sizeof(*inputs) + 1);
    levada_status    st;

    if (!inputs)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a pipeline");
    st = pipe_bind_node(pipe, block, row, inputs, out, err);
    for (int32_t i = 0; i < pipe->ninputs; i++) levada_dataset_unref(&inputs[i]);
    levada_free(inputs);
    return st;
}

/* -- opening */

/* Returns the pipe that is an option of a stage, NULL where the option is something else. */
static const levada_dataset *pipe_inner(const levada_dataset *pipe, int64_t option)
{
    return levada_value_as_pipe(levada_value_item(pipe->options, option));
}

int64_t levada_pipe_sources(const levada_dataset *pipe)
{
    const levada_op *op = pipe->op;
    int64_t (*copies)(const void *args) =
        op->family == LEVADA_FAMILY_COMBINER ? op->def.combiner.copies : NULL;
    int64_t n = pipe->ninputs == 0;

    for (int32_t i = 0; i < pipe->ninputs; i++) n += levada_pipe_sources(pipe->inputs[i]);
    for (int64_t i = 0; i < levada_value_count(pipe->options); i++) {
        const levada_dataset *inner = pipe_inner(pipe, i);

        if (inner) n += (copies ? copies(pipe->args) : 1) * levada_pipe_sources(inner);
    }
    return n <= LEVADA_PIPE_SOURCES ? n : LEVADA_PIPE_SOURCES + 1;
}

int32_t levada_pipe_depth(const levada_dataset *pipe)
{
    int32_t most = 0;

    for (int32_t i = 0; i < pipe->ninputs; i++) {
        int32_t depth = levada_pipe_depth(pipe->inputs[i]);

        if (depth > most) most = depth;
    }
    for (int64_t i = 0; i < levada_value_count(pipe->options); i++) {
        const levada_dataset *inner = pipe_inner(pipe, i);
        int32_t               depth = inner ? 1 + levada_pipe_depth(inner) : 0;

        if (depth > most) most = depth;
    }
    return most;
}

/* Opens a pipe. Its sources are not entered in the table of sources, because they come and go while
 * others read it. */
levada_status levada_pipe_open(levada_run *run, const levada_dataset *pipe,
                               const levada_pipe_place *place, levada_node **out,
                               levada_error *err)
{
    const levada_pipe_place *outer;
    int32_t                  sources;
    levada_status            st;

    levada_mutex_lock(&run->pipes_lock);
    sources = run->sources;
    outer = run->inner;
    run->sources = place->source;
    run->inner = place;
    st = levada_plan_open(run, pipe, place->prefix, false, out, err);
    run->sources = sources;
    run->inner = outer;
    levada_mutex_unlock(&run->pipes_lock);
    return st;
}
