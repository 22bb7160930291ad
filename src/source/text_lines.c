/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of text files. A line ends with LF, or with the end of the file; one CR before the LF
 * belongs to the line end, any other is content.
 *
 * The decoder checks that the lines are UTF-8. The lines of a block are neighbors in the window, so
 * it checks all of them at once; the column is the one that the framing has made.
 */
#include "base/alloc.h"
#include "files/lines.h"
#include "registry/env_priv.h"
#include "rows/strings_put.h"
#include "tensor/builder_priv.h"

#include <levada/source.h>
#include <string.h>

typedef struct text_lines_args {
    int64_t skip_lines, invalid, dtype;
} text_lines_args;

typedef struct text_lines_state {
    const levada_kernels *kernels;
    int64_t               to_skip; /* lines at the start of this file */
} text_lines_state;

static const levada_arg text_lines_options[] = {
    LEVADA_ARG(INT, text_lines_args, skip_lines, .otherwise = "0", .min = 0, .max = INT64_MAX,
               .doc = "lines to skip at the start of every file"),
    LEVADA_ARG(CHOICE, text_lines_args, invalid, .choices = "error|replace",
               .doc = "bytes that are not UTF-8: error rejects the line, replace reads each of "
                      "them as U+FFFD"),
    LEVADA_ARG(CHOICE, text_lines_args, dtype, .choices = "text|string",
               .doc = "dtype of the lines: text = UTF-8, which is checked; string = any bytes"),
    LEVADA_ARG_END,
};

static levada_status text_lines_open(void *state, const void *args, const levada_context *context,
                                     levada_error *err)
{
    (void)args;
    (void)err;
    ((text_lines_state *)state)->kernels = levada_env_kernels(context->env);
    return LEVADA_OK;
}

/* Returns bits of evidence: nothing marks a text file, but each printable byte is worth
 * log2(256 / 97). */
static int32_t text_lines_probe(const uint8_t *data, int64_t size)
{
    int64_t bits = size * 7 / 5;

    for (int64_t i = 0; i < size; i++) {
        bool space = data[i] >= '\t' && data[i] <= '\r';

        if ((data[i] < 0x20 && !space) || data[i] == 0x7f) return 0;
        if (data[i] >= 0x80) bits = bits > 8 ? 8 : bits; /* some encoding of text, perhaps */
    }
    return bits < 24 ? (int32_t)bits : 24;
}

static levada_status text_lines_seek(void *state, const void *args, int64_t offset, int64_t size,
                                     levada_error *err)
{
    (void)size, (void)err;
    ((text_lines_state *)state)->to_skip =
        offset == 0 ? ((const text_lines_args *)args)->skip_lines : 0;
    return LEVADA_OK;
}

/* Passes over lines, at the start of the file mostly: all of them, or the window, are used then. */
static void text_lines_skip(text_lines_state *s, const uint8_t *data, int64_t size, bool at_end,
                            levada_spans *out)
{
    while (s->to_skip > 0 && out->used < size) {
        const uint8_t *from = data + out->used;
        const uint8_t *end = memchr(from, '\n', (size_t)(size - out->used));

        out->used = end ? end + 1 - data : size;
        if (!end && !at_end) return;
        s->to_skip--;
    }
}

static levada_status text_lines_next(void *state, const void *args, const uint8_t *data,
                                     int64_t size, bool at_end, levada_spans *out,
                                     levada_error *err)
{
    text_lines_state *s = state;
    int32_t          *begin = out->begin, *end = out->end;
    int32_t           n, at;

    (void)args;
    (void)err;
    out->n = 0;
    out->used = out->need = 0;
    if (s->to_skip > 0) {
        text_lines_skip(s, data, size, at_end, out);
        return LEVADA_OK;
    }
    n = (int32_t)s->kernels->line_index(data, (size_t)size, begin, end, out->capacity);
    at = begin[n];
    if (at_end && n < out->capacity && at < size) { /* the last line has no LF */
        bool line = size - at > 1 || data[at] != '\r'; /* a CR alone is none */

        begin[n] = at;
        end[n] = at = (int32_t)size;
        n += line;
    }
    out->n = n;
    out->used = at;
    return LEVADA_OK;
}

/* -- text */

typedef struct text_lines_decoder {
    const levada_kernels *kernels;
    levada_text_span     *spans; /* owned */
    int64_t               capacity;
} text_lines_decoder;

static levada_status text_lines_check(const void *args, levada_spec **out, levada_error *err)
{
    bool         bytes = ((const text_lines_args *)args)->dtype != 0;
    levada_field field = { .name = "line", .dtype = bytes ? LEVADA_BYTES : LEVADA_TEXT };

    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status text_lines_decoder_open(void *state, const void *args,
                                             const levada_context *context, levada_error *err)
{
    (void)args, (void)err;
    ((text_lines_decoder *)state)->kernels = levada_env_kernels(context->env);
    return LEVADA_OK;
}

static void text_lines_decoder_close(void *state)
{
    levada_free(((text_lines_decoder *)state)->spans);
}

enum { TEXT_LINES_STEP = 16 }; /* lines that a loop takes at a time: compilers vectorize it */

/* Returns true if a line end, LF or CR LF, is between all neighbors. */
static bool text_lines_adjacent(const int32_t *begin, const int32_t *end, int64_t n)
{
    uint32_t gaps[TEXT_LINES_STEP] = { 0 }, all = 0;
    int64_t  i = 1;

    for (; i + TEXT_LINES_STEP <= n; i += TEXT_LINES_STEP) {
        for (int k = 0; k < TEXT_LINES_STEP; k++)
            gaps[k] |= (uint32_t)begin[i + k] - (uint32_t)end[i + k - 1] - 1;
    }
    for (; i < n; i++) all |= (uint32_t)begin[i] - (uint32_t)end[i - 1] - 1;
    for (int k = 0; k < TEXT_LINES_STEP; k++) all |= gaps[k];
    return all < 2;
}

/* Returns true if all bytes from the first line to the last one are UTF-8, and so all lines,
 * because a character never has an LF in it. */
static bool text_lines_valid(const text_lines_decoder *d, const levada_block *in)
{
    const levada_column *c = &in->columns[0];
    const int32_t       *begin = c->level[0].begin, *end = c->level[0].end;

    if (in->n == 0) return true;
    return text_lines_adjacent(begin, end, in->n) &&
           d->kernels->utf8_valid(c->values + begin[0], (size_t)(end[in->n - 1] - begin[0]));
}

/* Lines that a shuffle has mixed, or that are in several windows. */
static levada_status text_lines_put(text_lines_decoder *d, const levada_strings *in,
                                    levada_builder *out, levada_error *err)
{
    if (!levada_reserve(&d->spans, &d->capacity, in->n + 1, sizeof *d->spans))
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for lines");
    for (int64_t i = 0; i < in->n; i++)
        d->spans[i] = (levada_text_span){ in->data[i], in->size[i], false };
    return levada_strings_put(out, 0, 0, d->spans, in->n, in->owner, err);
}

static levada_status text_lines_decode(void *state, const void *args, const levada_strings *in,
                                       levada_builder *out, levada_error *err)
{
    const text_lines_args *a = args;
    text_lines_decoder    *d = state;
    bool                   framed = in->block && in->block->kind == LEVADA_BLOCK_DATA;

    if (a->dtype != 0 || (framed && text_lines_valid(d, in->block)))
        levada_builder_text_rule(out, LEVADA_TEXT_CHECKED);
    else levada_builder_text_rule(out, a->invalid ? LEVADA_TEXT_REPLACE : LEVADA_TEXT_REJECT);
    if (!framed) return text_lines_put(d, in, out, err);
    levada_builder_share(out, 0, &in->block->columns[0]);
    out->block->bytes += in->block->bytes;
    return LEVADA_OK;
}

static const levada_decoder_def text_lines_text = {
    .struct_size = sizeof(levada_decoder_def),
    .state_size = sizeof(text_lines_decoder),
    .check = text_lines_check,
    .open = text_lines_decoder_open,
    .close = text_lines_decoder_close,
    .decode = text_lines_decode,
};

static const char *const text_lines_suffixes[] = {
    ".txt", ".log", ".py", ".c", ".md", NULL
};

const levada_format_def levada_format_text_lines = {
    .struct_size = sizeof(levada_format_def),
    .name = "text_lines",
    .doc = "reads lines of text files, without line ends",
    .example = "text_lines:lines.txt",
    .fields = LEVADA_FIELDS("line"),
    .suffixes = text_lines_suffixes,
    .args = text_lines_options,
    .args_size = sizeof(text_lines_args),
    .state_size = sizeof(text_lines_state),
    .open = text_lines_open,
    .probe = text_lines_probe,
    .seek = text_lines_seek,
    .next = text_lines_next,
    .leave_out = levada_line_leave_out,
    .decoder = &text_lines_text,
    .lines = true,
};
