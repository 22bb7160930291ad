/* SPDX-License-Identifier: Apache-2.0 */
#include "io/inflate.h"

#define INFLATE_TRIAL 4096

bool levada_inflate_tries(levada_wrap wrap, const uint8_t *data, size_t size)
{
    uint8_t            out[INFLATE_TRIAL];
    void              *codec = NULL;
    levada_filter_step step = {.in = data, .in_size = size, .out = out, .out_size = sizeof out};
    levada_status      st = levada_codec_inflate->open(&codec, wrap, -1, NULL);
    bool               more = true;

    while (st == LEVADA_OK && more) { /* damage comes after the bytes before it */
        st = levada_codec_inflate->run(codec, &step, NULL);
        step.in += step.used;
        step.in_size -= step.used;
        more = step.used + step.made > 0 && step.made < sizeof out && !step.finished;
        step.out = out; /* only the status counts */
    }
    levada_codec_inflate->close(&codec);
    return st == LEVADA_OK || st == LEVADA_EUNIMPLEMENTED || step.finished;
}

levada_status levada_inflate_step(levada_inflate_state *state, const char *name,
                                  levada_filter_step *step, levada_error *err)
{
    levada_status st = levada_codec_inflate->run(state->codec, step, err);

    state->made += (int64_t)step->made;
    state->taken += (int64_t)step->used;
    state->ended = step->finished;
    if (st != LEVADA_OK) {
        levada_error_wrap(err, "%s", name);
        return st;
    }
    if (step->finished || step->made > 0 || step->used < step->in_size || !step->in_ended) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EDATA_LOSS,
                       "%s: the stream ends early, after %lld compressed bytes (%lld decompressed)",
                       name, (long long)state->taken, (long long)state->made);
}

void levada_inflate_padding(levada_filter_step *step)
{
    while (step->used < step->in_size && step->in[step->used] == 0) step->used++;
    step->finished = step->used == step->in_size && step->in_ended;
}

levada_status levada_deflate_open(levada_deflate *deflate, levada_wrap wrap, int32_t level,
                                  levada_error *err)
{
    deflate->codec = level == -1 ? levada_codec_deflate : &levada_codec_zlib_deflate;
    return deflate->codec->open(&deflate->stream, wrap, level, err);
}

levada_status levada_deflate_run(levada_deflate *deflate, levada_filter_step *step,
                                 levada_error *err)
{
    return deflate->codec->run(deflate->stream, step, err);
}

void levada_deflate_close(levada_deflate *deflate)
{
    if (deflate->codec) deflate->codec->close(&deflate->stream);
}
