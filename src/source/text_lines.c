/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of text files. A line ends with LF, or with the end of the file; one CR before the LF
 * belongs to the line end, any other is content. Lines are bytes: nothing is decoded.
 */
#include "files/lines.h"
#include "registry/env_priv.h"
#include <levada/source.h>

#include <string.h>

typedef struct text_lines_args {
    int64_t skip_lines;
} text_lines_args;

typedef struct text_lines_state {
    const levada_kernels *kernels;
    int64_t               to_skip; /* lines at the start of this file */
} text_lines_state;

static const levada_arg text_lines_options[] = {
    LEVADA_ARG(INT, text_lines_args, skip_lines, .otherwise = "0", .min = 0, .max = INT64_MAX,
               .doc = "lines to skip at the start of every file"),
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

/* Nothing marks a text file, but each printable byte is worth log2(256 / 97) bits. */
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

static levada_status text_lines_seek(void *state, const void *args, int64_t offset,
                                     levada_error *err)
{
    (void)err;
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

static const char *const text_lines_suffixes[] = {
    ".txt", ".log", ".py", ".c", ".md", NULL
};

const levada_format_def levada_format_text_lines = {
    .struct_size = sizeof(levada_format_def),
    .name = "text_lines",
    .doc = "reads lines of text files, without line ends",
    .example = "text_lines:lines.txt",
    .field = "line",
    .suffixes = text_lines_suffixes,
    .args = text_lines_options,
    .args_size = sizeof(text_lines_args),
    .state_size = sizeof(text_lines_state),
    .open = text_lines_open,
    .probe = text_lines_probe,
    .seek = text_lines_seek,
    .next = text_lines_next,
    .leave_out = levada_line_leave_out,
    .lines = true,
};
