/* SPDX-License-Identifier: Apache-2.0 */
/* Limits: one copy of each record into a batch buffer; padding 64 rows with memset + memcpy. */
#include "baseline.h"

#include <math.h>
#include <string.h>

enum {
    PAD_ROWS = 64,
    PAD_BATCHES = 200,
    PAD_CAP = 2048,
    COPY_BATCH = 256
};

typedef struct baseline_pad_copy {
    levada_bench_file file;
    uint8_t          *batch;
} baseline_pad_copy;

typedef struct baseline_pad {
    int64_t *values;
    int64_t *offsets; /* PAD_BATCHES * PAD_ROWS + 1 */
    int64_t *out;
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

/* Lengths as in the files: lognormal(5.2, 0.8), at most PAD_CAP. */
void *levada_bench_open_pad(const levada_bench_args *args)
{
    baseline_pad *state = levada_bench_alloc(sizeof *state);
    uint64_t      seed = 19;

    (void)args;
    state->offsets = levada_bench_alloc((PAD_BATCHES * PAD_ROWS + 1) * sizeof(int64_t));
    for (int k = 0; k < PAD_BATCHES * PAD_ROWS; ++k) {
        double radius = sqrt(-2 * log(baseline_pad_uniform(&seed)));
        double normal = radius * cos(6.283185307179586 * baseline_pad_uniform(&seed));
        double length = fmin(fmax(exp(5.2 + 0.8 * normal), 1), PAD_CAP);
        state->offsets[k + 1] = state->offsets[k] + (int64_t)length;
    }
    state->values =
        levada_bench_alloc((size_t)state->offsets[PAD_BATCHES * PAD_ROWS] * sizeof(int64_t));
    for (int64_t k = 0; k < state->offsets[PAD_BATCHES * PAD_ROWS]; ++k)
        state->values[k] = k;
    state->out = levada_bench_alloc(PAD_ROWS * PAD_CAP * sizeof(int64_t));
    return state;
}

void levada_bench_pad(void *state, levada_bench_count *count)
{
    const baseline_pad *s = state;

    for (int batch = 0; batch < PAD_BATCHES; ++batch) {
        const int64_t *offsets = s->offsets + batch * PAD_ROWS;
        int64_t        width = 0;

        for (int row = 0; row < PAD_ROWS; ++row)
            if (offsets[row + 1] - offsets[row] > width)
                width = offsets[row + 1] - offsets[row];
        memset(s->out, 0, (size_t)(PAD_ROWS * width) * sizeof(int64_t));
        for (int row = 0; row < PAD_ROWS; ++row)
            memcpy(s->out + row * width, s->values + offsets[row],
                   (size_t)(offsets[row + 1] - offsets[row]) * sizeof(int64_t));
        count->records += PAD_ROWS * width * (int64_t)sizeof(int64_t); /* bytes: the row's unit */
        count->bytes += PAD_ROWS * width * (int64_t)sizeof(int64_t);
        count->check += (uint64_t)s->out[0];
    }
}
