/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A character model in C, trained with truncated back-propagation on the lines of a text. `unroll`
 * keeps each line in its row of the batch from its first to its last segment, so the state of a row
 * stays where it is. The model is trained twice on the same batches: with the state carried from
 * segment to segment, and with one that is reset at each of them. Both curves are printed; it exits
 * with 0 if both losses fall and the carried state has the lower one.
 *
 *     char_model TEXT_FILE
 */
#include <levada/levada.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SYMBOLS = 128, HIDDEN = 32, ROWS = 16, UNROLL = 3, STEPS = 1200, CURVE = 8 };

/* h = tanh(wx[x] + h wh + b); logits = h wo + bo. Nothing but floats. */
typedef struct net {
    float wx[SYMBOLS][HIDDEN], wh[HIDDEN][HIDDEN], b[HIDDEN];
    float wo[HIDDEN][SYMBOLS], bo[SYMBOLS];
} net;

enum { WEIGHTS = sizeof(net) / sizeof(float) };

/* What one segment leaves for the way back. */
typedef struct tape {
    float h[UNROLL + 1][HIDDEN], chance[UNROLL][SYMBOLS];
} tape;

static net   model, gradient, first_moment, second_moment;
static float state[ROWS][HIDDEN];

static void begin(void)
{
    float   *w = (float *)&model;
    uint32_t random = 7;

    for (int i = 0; i < WEIGHTS; i++) {
        random = random * 1664525u + 1013904223u;
        w[i] = 0.2f * ((float)(random >> 8) / (float)(1 << 24) - 0.5f);
    }
    memset(&first_moment, 0, sizeof first_moment);
    memset(&second_moment, 0, sizeof second_moment);
    memset(state, 0, sizeof state);
}

/* One character; returns the loss of the next one. */
static float forward(tape *k, int t, int x, int y)
{
    float sum = 0, *chance = k->chance[t];

    for (int j = 0; j < HIDDEN; j++) {
        float a = model.wx[x][j] + model.b[j];
        for (int i = 0; i < HIDDEN; i++) a += k->h[t][i] * model.wh[i][j];
        k->h[t + 1][j] = tanhf(a);
    }
    for (int s = 0; s < SYMBOLS; s++) chance[s] = model.bo[s];
    for (int j = 0; j < HIDDEN; j++) {
        for (int s = 0; s < SYMBOLS; s++) chance[s] += k->h[t + 1][j] * model.wo[j][s];
    }
    for (int s = 0; s < SYMBOLS; s++) sum += chance[s] = expf(chance[s]);
    for (int s = 0; s < SYMBOLS; s++) chance[s] /= sum;
    return -logf(chance[y]);
}

/* Adds the gradient of that character; `dh` goes from each step to the one before. */
static void backward(tape *k, int t, int x, int y, float *dh)
{
    float before[HIDDEN] = { 0 };

    k->chance[t][y] -= 1;
    for (int s = 0; s < SYMBOLS; s++) gradient.bo[s] += k->chance[t][s];
    for (int j = 0; j < HIDDEN; j++) {
        for (int s = 0; s < SYMBOLS; s++) {
            gradient.wo[j][s] += k->h[t + 1][j] * k->chance[t][s];
            dh[j] += model.wo[j][s] * k->chance[t][s];
        }
    }
    for (int j = 0; j < HIDDEN; j++) {
        float da = dh[j] * (1 - k->h[t + 1][j] * k->h[t + 1][j]);
        gradient.wx[x][j] += da;
        gradient.b[j] += da;
        for (int i = 0; i < HIDDEN; i++) {
            gradient.wh[i][j] += k->h[t][i] * da;
            before[i] += model.wh[i][j] * da;
        }
    }
    memcpy(dh, before, sizeof before);
}

/* Adam, with the mean of the gradient over `n` characters. */
static void update(int step, int64_t n)
{
    float *w = (float *)&model, *g = (float *)&gradient;
    float *m = (float *)&first_moment, *v = (float *)&second_moment;
    float  rate = 1e-2f * sqrtf(1 - powf(0.999f, (float)step)) / (1 - powf(0.9f, (float)step));

    for (int i = 0; i < WEIGHTS; i++) {
        float d = g[i] / (float)n;
        m[i] += 0.1f * (d - m[i]);
        v[i] += 0.001f * (d * d - v[i]);
        w[i] -= rate * m[i] / (sqrtf(v[i]) + 1e-8f);
    }
}

/* The segments of one batch; returns the mean loss of a character. */
static float train(const levada_block *batch, int step, bool carry)
{
    const uint8_t *x = levada_column_u8(levada_block_column(batch, "line"));
    const uint8_t *y = levada_column_u8(levada_block_column(batch, "line_target"));
    const uint8_t *is_first = levada_block_column(batch, "is_first")->values;
    const int32_t *length = levada_column_i32(levada_block_column(batch, "length"));
    float          loss = 0;
    int64_t        n = 0;
    tape           k;

    memset(&gradient, 0, sizeof gradient);
    for (int r = 0; r < ROWS; r++, x += UNROLL, y += UNROLL) {
        float dh[HIDDEN] = { 0 };

        if (is_first[r] || !carry) memset(state[r], 0, sizeof state[r]);
        memcpy(k.h[0], state[r], sizeof state[r]);
        for (int t = 0; t < length[r]; t++) loss += forward(&k, t, x[t] & 127, y[t] & 127);
        memcpy(state[r], k.h[length[r]], sizeof state[r]);
        for (int t = length[r] - 1; t >= 0; t--) backward(&k, t, x[t] & 127, y[t] & 127, dh);
        n += length[r];
    }
    update(step, n);
    return loss / (float)n;
}

/* Mean losses of each eighth of the steps. */
static levada_status run(levada_dataset *ds, bool carry, float *curve, levada_error *err)
{
    levada_iter  *it = NULL;
    levada_block *batch = NULL;
    levada_status st = levada_iter_open(ds, NULL, &it, err);

    begin();
    for (int step = 0; st == LEVADA_OK && step < STEPS; step++) {
        st = levada_iter_next(it, &batch, err);
        if (st != LEVADA_OK) break;
        curve[step / (STEPS / CURVE)] += train(batch, step + 1, carry) / (STEPS / CURVE);
        levada_block_unref(&batch);
    }
    levada_iter_close(&it);
    return st;
}

int main(int argc, char **argv)
{
    char            pipe[1024];
    float           carried[CURVE] = { 0 }, reset[CURVE] = { 0 };
    levada_error    err = LEVADA_ERROR_INIT;
    levada_dataset *ds = NULL;
    levada_status   st;

    (void)snprintf(pipe, sizeof pipe, "text_lines:%s | shuffle:200,seed=3 | repeat | "
                   "decode_raw:uint8,field=line | unroll:%d,batch_size=%d,shift=1,zero_length=skip",
                   argc > 1 ? argv[1] : "speeches.txt", UNROLL, ROWS);
    st = levada_dataset_parse(NULL, pipe, &ds, &err);
    if (st == LEVADA_OK) st = run(ds, true, carried, &err);
    if (st == LEVADA_OK) st = run(ds, false, reset, &err);
    levada_dataset_unref(&ds);
    if (st != LEVADA_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("steps  carried  reset    (loss in nats per character)\n");
    for (int i = 0; i < CURVE; i++) {
        printf("%5d  %7.3f  %5.3f\n", (i + 1) * STEPS / CURVE, (double)carried[i],
               (double)reset[i]);
    }
    return carried[CURVE - 1] < carried[0] - 0.5f && reset[CURVE - 1] < reset[0] - 0.5f &&
                   carried[CURVE - 1] < reset[CURVE - 1] - 0.05f
               ? 0
               : 1;
}
