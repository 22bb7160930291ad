/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deflate both ways through ISA-L. It inflates two to three times as fast as zlib. It deflates 15
 * times as fast as zlib at its default level, to a size between those of levels 1 and 3. Headers
 * are read here: isal_inflate forgets what it read of a header that ends in another piece of the
 * input.
 */
#include "base/alloc.h"
#include "io/inflate.h"

#include <isa-l/igzip_lib.h>
#include <stddef.h>
#include <string.h>

enum { INFLATE_END = 64 }; /* bytes of input that are read bytewise before damage */

typedef struct inflate_isal {
    struct inflate_state    stream, before; /* as it was before the last call */
    struct isal_gzip_header gzip;
    struct isal_zlib_header zlib;
    levada_wrap             wrap;
    bool                    used_up; /* the stream is complete */
    int                     failed;  /* damage, reported after the bytes before it; 0 = none */
} inflate_isal;

static levada_status inflate_isal_reset(void *codec, levada_error *err)
{
    inflate_isal *c = codec;

    (void)err;
    isal_inflate_reset(&c->stream);
    /* Damaged streams may look up codes that no block defined: always find the same there. */
    memset(&c->stream.lit_huff_code, 0, sizeof c->stream.lit_huff_code);
    memset(&c->stream.dist_huff_code, 0, sizeof c->stream.dist_huff_code);
    memset(c->stream.tmp_out_buffer, 0, sizeof c->stream.tmp_out_buffer);
    c->stream.crc_flag = c->wrap == LEVADA_WRAP_GZIP ? ISAL_GZIP : ISAL_ZLIB;
    c->gzip = (struct isal_gzip_header){0};
    c->zlib = (struct isal_zlib_header){0};
    c->used_up = false;
    c->failed = ISAL_DECOMP_OK;
    return LEVADA_OK;
}

static levada_status inflate_isal_open(void **codec, levada_wrap wrap, int32_t level,
                                       levada_error *err)
{
    inflate_isal *c = levada_alloc_zero(sizeof *c);

    (void)level;
    if (!c) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while inflating");
    isal_inflate_init(&c->stream);
    c->wrap = wrap;
    *codec = c;
    return inflate_isal_reset(c, err);
}

static void inflate_isal_close(void **codec)
{
    levada_free(*codec);
    *codec = NULL;
}

static const char *inflate_isal_text(int code)
{
    switch (code) {
    case ISAL_INVALID_BLOCK: return "invalid block";
    case ISAL_INVALID_SYMBOL: return "invalid symbol";
    case ISAL_INVALID_LOOKBACK: return "distance too far back";
    case ISAL_INVALID_WRAPPER: return "incorrect header";
    case ISAL_UNSUPPORTED_METHOD: return "unsupported compression method";
    case ISAL_INCORRECT_CHECKSUM: return "incorrect checksum at its end";
    case ISAL_NEED_DICT: return "a preset dictionary is needed";
    default: return "damaged stream";
    }
}

/* Returns ISAL_END_INPUT if more of the header is to come. */
static int inflate_isal_header(inflate_isal *c)
{
    int code;

    if (c->stream.wrapper_flag) return ISAL_DECOMP_OK;
    if (c->wrap == LEVADA_WRAP_GZIP) return isal_read_gzip_header(&c->stream, &c->gzip);
    code = isal_read_zlib_header(&c->stream, &c->zlib);
    return code == ISAL_DECOMP_OK && c->zlib.dict_flag ? ISAL_NEED_DICT : code;
}

/* Repeats a call that failed, its end bytewise: after damage the fast loop has counted bytes that
 * it did not write, and the plain loop, which reads the last bytes of its input, has not. `end` is
 * the end of the input. */
static int inflate_isal_again(inflate_isal *c, const uint8_t *end)
{
    struct inflate_state *s = &c->stream;
    const uint8_t        *damage = s->next_in;
    int                   code = ISAL_DECOMP_OK;

    *s = c->before;
    while (code >= 0 && s->next_in < end && s->avail_out > 0 &&
           s->block_state != ISAL_BLOCK_FINISH) {
        ptrdiff_t left = damage - s->next_in;

        s->avail_in = left > INFLATE_END ? (uint32_t)(left - INFLATE_END) : 1;
        code = isal_inflate(s);
    }
    s->avail_in = (uint32_t)(end - s->next_in);
    return code;
}

/* Reports damage, after the bytes that ISA-L had decompressed but not yet copied out. */
static levada_status inflate_isal_report(inflate_isal *c, levada_filter_step *step,
                                         levada_error *err)
{
    struct inflate_state *s = &c->stream;
    int64_t               left = (int64_t)s->tmp_out_valid - s->tmp_out_processed;
    int64_t               space = step->out_size < INT32_MAX ? (int64_t)step->out_size : INT32_MAX;
    int64_t               n = left < space ? left : space;

    if (n > 0) {
        memcpy(step->out, s->tmp_out_buffer + s->tmp_out_processed, (size_t)n);
        s->tmp_out_processed += (int32_t)n;
        step->made = (size_t)n;
        return LEVADA_OK;
    }
    step->finished = c->used_up = c->failed == ISAL_INCORRECT_CHECKSUM;
    return levada_fail(err, LEVADA_EDATA_LOSS, "%s", inflate_isal_text(c->failed));
}

static levada_status inflate_isal_run(void *codec, levada_filter_step *step, levada_error *err)
{
    inflate_isal *c = codec;
    uint32_t      in = step->in_size > UINT32_MAX ? UINT32_MAX : (uint32_t)step->in_size;
    uint32_t      out = step->out_size > UINT32_MAX ? UINT32_MAX : (uint32_t)step->out_size;
    int           code;

    step->used = step->made = 0;
    step->finished = c->used_up;
    if (c->used_up) return LEVADA_OK;
    if (c->failed != ISAL_DECOMP_OK) return inflate_isal_report(c, step, err);
    c->stream.next_in = (uint8_t *)(uintptr_t)step->in;
    c->stream.avail_in = in;
    c->stream.next_out = step->out;
    c->stream.avail_out = out;
    code = inflate_isal_header(c);
    if (code == ISAL_DECOMP_OK) {
        c->before = c->stream;
        code = isal_inflate(&c->stream);
        if (code == ISAL_INVALID_SYMBOL || code == ISAL_INVALID_LOOKBACK)
            code = inflate_isal_again(c, step->in + in);
    }
    step->used = in - c->stream.avail_in;
    step->made = out - c->stream.avail_out;
    if (code < 0 || code == ISAL_NEED_DICT) {
        c->failed = code;
        if (step->made > 0) return LEVADA_OK;
        return inflate_isal_report(c, step, err);
    }
    c->used_up = step->finished = c->stream.block_state == ISAL_BLOCK_FINISH;
    return LEVADA_OK;
}

static const levada_codec inflate_isal_codec = {
    .open = inflate_isal_open,
    .close = inflate_isal_close,
    .reset = inflate_isal_reset,
    .run = inflate_isal_run,
};

const levada_codec *const levada_codec_inflate = &inflate_isal_codec;

/* -- the way back */

enum { INFLATE_BACK_LEVEL = 2, INFLATE_BACK_MEMORY = ISAL_DEF_LVL2_DEFAULT };

typedef struct inflate_isal_back {
    struct isal_zstream stream;
    levada_wrap         wrap;
    uint8_t             memory[INFLATE_BACK_MEMORY];
} inflate_isal_back;

static levada_status inflate_isal_restart(void *codec, levada_error *err)
{
    inflate_isal_back *c = codec;

    (void)err;
    isal_deflate_init(&c->stream);
    c->stream.level = INFLATE_BACK_LEVEL;
    c->stream.level_buf = c->memory;
    c->stream.level_buf_size = INFLATE_BACK_MEMORY;
    c->stream.gzip_flag = c->wrap == LEVADA_WRAP_GZIP ? IGZIP_GZIP : IGZIP_ZLIB;
    return LEVADA_OK;
}

static levada_status inflate_isal_open_deflate(void **codec, levada_wrap wrap, int32_t level,
                                               levada_error *err)
{
    inflate_isal_back *c = levada_alloc_zero(sizeof *c);

    (void)level;
    if (!c) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while deflating");
    c->wrap = wrap;
    *codec = c;
    return inflate_isal_restart(c, err);
}

static levada_status inflate_isal_deflate(void *codec, levada_filter_step *step, levada_error *err)
{
    inflate_isal_back        *c = codec;
    struct isal_zstream *s = &c->stream;
    uint32_t             in = step->in_size > UINT32_MAX ? UINT32_MAX : (uint32_t)step->in_size;
    uint32_t             out = step->out_size > UINT32_MAX ? UINT32_MAX : (uint32_t)step->out_size;
    int                  code = COMP_OK;

    step->used = step->made = 0;
    step->finished = s->internal_state.state == ZSTATE_END;
    if (step->finished) return LEVADA_OK;
    s->next_in = (uint8_t *)(uintptr_t)step->in;
    s->avail_in = in;
    s->next_out = step->out;
    s->avail_out = out;
    s->end_of_stream = step->in_ended && in == step->in_size;
    s->flush = step->flush ? SYNC_FLUSH : NO_FLUSH;
    code = isal_deflate(s);
    step->used = in - s->avail_in;
    step->made = out - s->avail_out;
    step->finished = s->internal_state.state == ZSTATE_END;
    if (code == COMP_OK) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINTERNAL,
                       "internal error: ISA-L: deflate returned %d; please report it", code);
}

static const levada_codec inflate_isal_back_codec = {
    .open = inflate_isal_open_deflate,
    .close = inflate_isal_close,
    .reset = inflate_isal_restart,
    .run = inflate_isal_deflate,
};

const levada_codec *const levada_codec_deflate = &inflate_isal_back_codec;
