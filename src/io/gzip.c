/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip (RFC 1952): members one after the other; zeros after the last one are padding.
 */
#include "io/inflate.h"

#include <string.h>

#define GZIP_RESERVED_FLAGS 0xe0

typedef struct gzip_state {
    levada_inflate_state in;
    levada_deflate       out;
} gzip_state;

static int32_t gzip_probe(const uint8_t *data, size_t size)
{
    static const uint8_t magic[3] = {0x1f, 0x8b, 8};

    if (size < 4 || memcmp(data, magic, sizeof magic) != 0) return 0;
    return (data[3] & GZIP_RESERVED_FLAGS) == 0 ? 27 : 0;
}

static levada_status gzip_open(void *state, levada_error *err)
{
    gzip_state   *s = state;
    levada_status st = levada_codec_inflate->open(&s->in.codec, LEVADA_WRAP_GZIP, -1, err);

    if (st != LEVADA_OK) levada_error_wrap(err, "gzip");
    return st;
}

static void gzip_close(void *state)
{
    levada_codec_inflate->close(&((gzip_state *)state)->in.codec);
}

static levada_status gzip_reset(void *state, levada_error *err)
{
    gzip_state *s = state;

    s->in = (levada_inflate_state){.codec = s->in.codec};
    return levada_codec_inflate->reset(s->in.codec, err);
}

/* Continues between members: skips padding; the first byte of a member begins the next one, which
 * is decoded in the same step, so that many small members cost no more than one large one. */
static levada_status gzip_between(gzip_state *s, levada_filter_step *step, bool *begins,
                                  levada_error *err)
{
    levada_inflate_padding(step);
    *begins = step->used < step->in_size;
    if (!*begins) return LEVADA_OK;
    if (step->in[step->used] != 0x1f) {
        return levada_fail(err, LEVADA_EDATA_LOSS, "gzip: bytes after the stream are not gzip");
    }
    return gzip_reset(s, err);
}

static levada_status gzip_decode(void *state, levada_filter_step *step, levada_error *err)
{
    gzip_state        *s = state;
    levada_filter_step rest = *step;
    bool               begins = true;
    levada_status      st;

    step->used = step->made = 0;
    step->finished = false;
    if (s->in.ended) LEVADA_TRY(gzip_between(s, step, &begins, err));
    if (!begins) return LEVADA_OK;
    rest.in += step->used;
    rest.in_size -= step->used;
    st = levada_inflate_step(&s->in, "gzip", &rest, err);
    step->used += rest.used;
    step->made = rest.made;
    step->finished = rest.finished;
    if (st == LEVADA_OK && rest.finished) {
        step->finished = step->in_ended && step->used == step->in_size;
    }
    return st;
}

static levada_status gzip_open_encoder(void *state, int32_t level, int32_t threads,
                                       levada_error *err)
{
    (void)threads;
    return levada_deflate_open(&((gzip_state *)state)->out, LEVADA_WRAP_GZIP, level, err);
}

static levada_status gzip_encode(void *state, levada_filter_step *step, levada_error *err)
{
    return levada_deflate_run(&((gzip_state *)state)->out, step, err);
}

static void gzip_close_encoder(void *state)
{
    levada_deflate_close(&((gzip_state *)state)->out);
}

const levada_filter_def levada_filter_gzip = {
    .struct_size = sizeof(levada_filter_def),
    .name = "gzip",
    .doc = "gzip, with one or several members",
    .suffix = ".gz",
    .state_size = sizeof(gzip_state),
    .probe = gzip_probe,
    .open = gzip_open,
    .close = gzip_close,
    .reset = gzip_reset,
    .decode = gzip_decode,
    .open_encoder = gzip_open_encoder,
    .encode = gzip_encode,
    .close_encoder = gzip_close_encoder,
};
