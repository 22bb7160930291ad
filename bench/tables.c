/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text: getline(), and the limits of CSV: levada's index of delimiters, quotes and newlines; that
 * with its kernels for numbers, column by column, for the file `numbers` alone; and that with a
 * copy of the bytes between, which is all that a column of strings needs. The file is read in
 * chunks; there are no blocks, no origins and no errors.
 */
#define _POSIX_C_SOURCE 200809L
#include "harness.h"

#include "base/kernels.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TABLES_CHUNK = 256 << 10,
    TABLES_COLUMNS = 13,
    TABLES_INTEGERS = 5,
    TABLES_BLOCK = 256, /* rows that stay in the first-level cache */
    TABLES_ROWS = TABLES_CHUNK / TABLES_COLUMNS
};

typedef struct tables_state {
    FILE                 *lines; /* of getline() */
    char                 *line;
    size_t                capacity;
    levada_bench_stream   stream;
    const levada_kernels *kernels;
    int32_t              *pos;      /* pos[-1] is the place before the first field */
    int64_t              *integers; /* TABLES_ROWS of each column */
    float                *floats;
    uint8_t              *strings;  /* TABLES_CHUNK bytes and what a copy writes too much */
    bool                  numbers, copies;
} tables_state;

static void *tables_open_lines(const levada_bench_args *args)
{
    tables_state *s = levada_bench_alloc(sizeof *s);

    s->lines = fopen(args->path, "r");
    if (!s->lines) levada_bench_die("cannot open", args->path);
    return s;
}

static void tables_getline(void *state, levada_bench_count *count)
{
    tables_state *s = state;
    ssize_t       size;

    rewind(s->lines);
    while ((size = getline(&s->line, &s->capacity, s->lines)) > 0) {
        count->records++;
        count->bytes += size;
        count->check += (uint8_t)s->line[0];
    }
}

static void *tables_open_csv(const levada_bench_args *args)
{
    tables_state *s = levada_bench_alloc(sizeof *s);

    levada_bench_stream_open(&s->stream, args->path);
    s->kernels = levada_kernels_for(LEVADA_CPU_AUTO);
    s->pos = levada_bench_alloc((1 + TABLES_CHUNK + LEVADA_KERNEL_SLACK) * sizeof *s->pos);
    *s->pos++ = -1;
    s->integers = levada_bench_alloc(sizeof(int64_t) * TABLES_INTEGERS * TABLES_ROWS);
    s->floats = levada_bench_alloc(sizeof(float) * TABLES_COLUMNS * TABLES_ROWS);
    s->strings = levada_bench_alloc(TABLES_CHUNK + LEVADA_KERNEL_SLACK);
    s->numbers = args->user && strcmp(args->user, "numbers") == 0;
    s->copies = args->user && strcmp(args->user, "strings") == 0;
    return s;
}

/* Column c of rows [from, until): field k of the chunk ends at pos[k]. */
static void tables_column(tables_state *s, const uint8_t *data, int64_t c, int64_t from,
                          int64_t until)
{
    levada_text_fields fields = { .text = data, .mark = s->pos + from * TABLES_COLUMNS + c,
                                  .stride = TABLES_COLUMNS };
    double             doubles[TABLES_BLOCK];
    int32_t            odd[TABLES_BLOCK];
    int64_t            n = until - from, at = c * TABLES_ROWS + from;

    if (c < TABLES_INTEGERS) {
        if (s->kernels->text_i64(&fields, n, s->integers + at, odd) > 0)
            levada_bench_die("numbers", "not an integer");
        return;
    }
    if (s->kernels->text_f64(&fields, n, doubles, odd) > 0)
        levada_bench_die("numbers", "not a number");
    for (int64_t i = 0; i < n; i++) s->floats[at + i] = (float)doubles[i];
}

/* Whole rows of a chunk. Returns their bytes. */
static int64_t tables_rows(tables_state *s, const uint8_t *data, int64_t fields,
                           levada_bench_count *count)
{
    int64_t rows = fields / TABLES_COLUMNS;

    for (int64_t from = 0; from < rows; from += TABLES_BLOCK) {
        int64_t until = from + TABLES_BLOCK < rows ? from + TABLES_BLOCK : rows;

        for (int64_t c = 0; c < TABLES_COLUMNS; c++) tables_column(s, data, c, from, until);
    }
    if (rows > 0 && data[s->pos[rows * TABLES_COLUMNS - 1]] != '\n')
        levada_bench_die("numbers", "a row of another number of columns");
    count->check += (uint64_t)s->integers[0] + (uint64_t)s->floats[TABLES_INTEGERS * TABLES_ROWS];
    count->records += rows;
    return rows > 0 ? s->pos[rows * TABLES_COLUMNS - 1] + 1 : 0;
}

/* Copies the bytes between two marks as short strings are copied: 32 bytes at once if that is
 * enough. */
static void tables_copy(tables_state *s, const uint8_t *data, int64_t n, levada_bench_count *count)
{
    uint8_t *to = s->strings;

    for (int64_t i = 0; i < n; i++) {
        const uint8_t *from = data + s->pos[i - 1] + 1;
        int64_t        size = s->pos[i] - s->pos[i - 1] - 1;

        if (size <= 32) memcpy(to, from, 32);
        else memcpy(to, from, (size_t)size);
        to += size;
    }
    count->check += s->strings[0];
}

/* The set of a file with quotes; `numbers` has none. */
static void tables_csv(void *state, levada_bench_count *count)
{
    static const uint8_t set[4] = { ',', '"', '\n', '\r' };
    tables_state        *s = state;
    levada_bench_stream *in = &s->stream;

    levada_bench_stream_rewind(in);
    while (levada_bench_stream_need(in, 1) > 0) {
        /* The stream has 64 readable bytes after its last one. */
        const uint8_t *data = in->data + in->begin;
        size_t         size = in->end - in->begin, scanned;
        int64_t        used = (int64_t)size;
        int64_t n = s->kernels->byte_index(data, size, set, s->pos, TABLES_CHUNK, &scanned);

        if (s->numbers) used = tables_rows(s, data, n, count);
        if (s->copies) tables_copy(s, data, n, count);
        if (used == 0) levada_bench_die("numbers", "cut off");
        count->bytes += used;
        count->check += (uint64_t)n;
        count->records += !s->numbers;
        in->begin += (size_t)used;
        (void)levada_bench_stream_need(in, in->capacity); /* the rest of a row moves to the front */
    }
}

const levada_bench_work levada_bench_works[] = {
    { "getline", tables_open_lines, tables_getline, NULL },
    { "csv_index", tables_open_csv, tables_csv, NULL },
    { "csv_numbers", tables_open_csv, tables_csv, "numbers" },
    { "csv_strings", tables_open_csv, tables_csv, "strings" },
    { NULL, NULL, NULL, NULL },
};
