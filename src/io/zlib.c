/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zlib (RFC 1950): one stream; zeros after it are padding.
 */
#include "io/inflate.h"

typedef struct zlib_state {
    levada_inflate_state in;
    levada_deflate       out;
} zlib_state;

/* Probes by inflating the beginning on trial, because two bytes say too little ("x^2" passes as a
 * header). */
static int32_t zlib_probe(const uint8_t *data, size_t size)
{
    if (size < 8 || (data[0] & 0x8f) != 8 || (data[0] << 8 | data[1]) % 31 != 0) return 0;
    if ((data[1] & 0x20) != 0 || !levada_inflate_tries(LEVADA_WRAP_ZLIB, data, size)) return 0;
    return 12;
}

static levada_status zlib_open(void *state, levada_error *err)
{
    zlib_state   *s = state;
    levada_status st = levada_codec_inflate->open(&s->in.codec, LEVADA_WRAP_ZLIB, -1, err);

    if (st != LEVADA_OK) levada_error_wrap(err, "zlib");
    return st;
}

static void zlib_close(void *state)
{
    levada_codec_inflate->close(&((zlib_state *)state)->in.codec);
}

static levada_status zlib_reset(void *state, levada_error *err)
{
    zlib_state *s = state;

    s->in = (levada_inflate_state){.codec = s->in.codec};
    return levada_codec_inflate->reset(s->in.codec, err);
}

static levada_status zlib_decode(void *state, levada_filter_step *step, levada_error *err)
{
    zlib_state   *s = state;
    levada_status st = LEVADA_OK;

    step->used = step->made = 0;
    step->finished = false;
    if (!s->in.ended) {
        st = levada_inflate_step(&s->in, "zlib", step, err);
        if (st != LEVADA_OK || !step->finished) return st;
    }
    levada_inflate_padding(step);
    if (step->used == step->in_size) return LEVADA_OK;
    if (step->made > 0) return LEVADA_OK; /* these bytes first */
    return levada_fail(err, LEVADA_EDATA_LOSS, "zlib: bytes after the stream are not zlib");
}

static levada_status zlib_open_encoder(void *state, int32_t level, int32_t threads,
                                       levada_error *err)
{
    (void)threads;
    return levada_deflate_open(&((zlib_state *)state)->out, LEVADA_WRAP_ZLIB, level, err);
}

static levada_status zlib_encode(void *state, levada_filter_step *step, levada_error *err)
{
    return levada_deflate_run(&((zlib_state *)state)->out, step, err);
}

static void zlib_close_encoder(void *state)
{
    levada_deflate_close(&((zlib_state *)state)->out);
}

const levada_filter_def levada_filter_zlib = {
    .struct_size = sizeof(levada_filter_def),
    .name = "zlib",
    .doc = "zlib",
    .suffix = ".zz",
    .state_size = sizeof(zlib_state),
    .probe = zlib_probe,
    .open = zlib_open,
    .close = zlib_close,
    .reset = zlib_reset,
    .decode = zlib_decode,
    .open_encoder = zlib_open_encoder,
    .encode = zlib_encode,
    .close_encoder = zlib_close_encoder,
};
