/* SPDX-License-Identifier: Apache-2.0 */
/* Limits: one copy of each record into a batch buffer; padding rows with memset and memcpy. */
#include "baseline.h"

#include <math.h>
#include <string.h>

enum {
    PAD_ROWS = 64,
    PAD_BATCHES = 200,
    PAD_CAP = 2048,
    PAD_BUFFERS = 2,
    PAD_BATCH_A = 256,
    COPY_BATCH = 256
};

typedef struct baseline_pad_copy {
    levada_bench_file file;
    uint8_t          *batch;
} baseline_pad_copy;

typedef struct baseline_pad {
    int64_t        rows, batch; /* in all; of a batch, the last one may be shorter */
    const int64_t *offsets;     /* rows + 1 */
    const int64_t *values;
    int            reused;      /* every row is a copy of the beginning of values */
    int            buffers;     /* outputs that take turns */
    int64_t       *out[PAD_BUFFERS];
} baseline_pad;

void *levada_bench_open_copy(const levada_bench_args *args)
{
    baseline_pad_copy *state = levada_bench_alloc(sizeof *state);

    state->file = levada_bench_file_load(args->path);
    state->batch = levada_bench_alloc(COPY_BATCH << 14);
    return state;
}

void levada_bench_copy(void *state, levada_bench_count *count)
{
    baseline_pad_copy *s = state;
    size_t             at = 0, to = 0;

    while (at < s->file.size) {
        uint64_t size;

        memcpy(&size, s->file.data + at, sizeof size);
        if (size > 1 << 14)
            levada_bench_die("record", "too long");
        if (count->records % COPY_BATCH == 0)
            to = 0;
        memcpy(s->batch + to, s->file.data + at + 12, size);
        to += size;
        at += size + 16;
        count->records += 1;
        count->bytes += (int64_t)size;
    }
    count->check += s->batch[0];
}

/* Uniform in (0, 1). */
static double baseline_pad_uniform(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(*seed >> 11) + 0.5) / 9007199254740992.0;
}

static int64_t baseline_pad_width(const int64_t *offsets, int64_t rows)
{
    int64_t width = 0;

    for (int64_t row = 0; row < rows; ++row)
        if (offsets[row + 1] - offsets[row] > width)
            width = offsets[row + 1] - offsets[row];
    return width;
}

static baseline_pad *baseline_pad_new(int64_t rows, const int64_t *offsets, int64_t batch,
                                      int reused, int buffers)
{
    baseline_pad *s = levada_bench_alloc(sizeof *s);
    int64_t       width = baseline_pad_width(offsets, rows), n = reused ? width : offsets[rows];
    int64_t      *values = levada_bench_alloc((size_t)n * sizeof *values);

    for (int64_t k = 0; k < n; ++k)
        values[k] = k + 1;
    *s = (baseline_pad){rows, batch, offsets, values, reused, buffers, {NULL}};
    for (int k = 0; k < buffers; ++k)
        s->out[k] = levada_bench_alloc((size_t)(batch * width) * sizeof(int64_t));
    return s;
}

/* Lengths as in the files: lognormal(5.2, 0.8), at most PAD_CAP. */
void *levada_bench_open_pad(const levada_bench_args *args)
{
    int64_t *offsets = levada_bench_alloc((PAD_BATCHES * PAD_ROWS + 1) * sizeof *offsets);
    uint64_t seed = 19;

    (void)args;
    for (int k = 0; k < PAD_BATCHES * PAD_ROWS; ++k) {
        double radius = sqrt(-2 * log(baseline_pad_uniform(&seed)));
        double normal = radius * cos(6.283185307179586 * baseline_pad_uniform(&seed));
        double length = fmin(fmax(exp(5.2 + 0.8 * normal), 1), PAD_CAP);
        offsets[k + 1] = offsets[k] + (int64_t)length;
    }
    return baseline_pad_new(PAD_BATCHES * PAD_ROWS, offsets, PAD_ROWS, 0, 1);
}

/* Returns the lengths of file A; a source that stays in the cache. */
void *levada_bench_open_pad_a(const levada_bench_args *args)
{
    int64_t  rows;
    int64_t *offsets = levada_bench_offsets(args, &rows);

    return baseline_pad_new(rows, offsets, PAD_BATCH_A, 1, PAD_BUFFERS);
}

void levada_bench_pad_a(void *state, levada_bench_count *count)
{
    const baseline_pad *s = state;

    for (int64_t at = 0, k = 0; at < s->rows; at += s->batch, ++k) {
        const int64_t *offsets = s->offsets + at;
        int64_t        rows = s->rows - at < s->batch ? s->rows - at : s->batch;
        int64_t        width = baseline_pad_width(offsets, rows);
        int64_t       *out = s->out[k % s->buffers];

        memset(out, 0, (size_t)(rows * width) * sizeof *out);
        for (int64_t row = 0; row < rows; ++row)
            memcpy(out + row * width, s->values + (s->reused ? 0 : offsets[row]),
                   (size_t)(offsets[row + 1] - offsets[row]) * sizeof *out);
        count->records += rows;
        count->bytes += rows * width * (int64_t)sizeof *out;
        count->check += (uint64_t)out[0];
    }
}

/* Pads n bytes, the unit of the row. */
void levada_bench_pad(void *state, levada_bench_count *count)
{
    levada_bench_pad_a(state, count);
    count->records = count->bytes;
}
