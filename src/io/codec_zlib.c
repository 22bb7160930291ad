/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deflate both ways through zlib: every encoder, and the decoder if there is no ISA-L.
 */
#include "base/alloc.h"
#include "io/inflate.h"

#include <string.h>
#include <zlib.h>

#define CODEC_ZLIB_MEMORY_LEVEL 9

typedef struct codec_zlib {
    z_stream    stream;
    levada_wrap wrap;
    bool        deflates, used_up;
    const char *failed;   /* damage that is reported after the bytes before it; borrowed      */
    bool        complete; /* of that damage: only the checksum of the stream is wrong          */
    size_t      tail;     /* of that damage: bytes of the trailer that zlib has not read       */
} codec_zlib;

/* Allocates for zlib, so that limits and counts of the allocator hold. */
static void *codec_zlib_alloc(void *user, uInt count, uInt size)
{
    size_t bytes;

    (void)user;
    return levada_size_of(count, size, 0, &bytes) ? levada_alloc_zero(bytes) : NULL;
}

static void codec_zlib_free(void *user, void *memory)
{
    (void)user;
    levada_free(memory);
}

static int codec_zlib_bits(levada_wrap wrap)
{
    return wrap == LEVADA_WRAP_GZIP ? MAX_WBITS + 16 : MAX_WBITS;
}

static levada_status codec_zlib_make(void **codec, bool deflates, levada_wrap wrap, int32_t level,
                                     levada_error *err)
{
    codec_zlib *c = levada_alloc_zero(sizeof *c);
    int         code;

    if (!c) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for zlib");
    c->stream.zalloc = codec_zlib_alloc;
    c->stream.zfree = codec_zlib_free;
    c->deflates = deflates;
    c->wrap = wrap;
    code = deflates ? deflateInit2(&c->stream, level, Z_DEFLATED, codec_zlib_bits(wrap),
                                   CODEC_ZLIB_MEMORY_LEVEL, Z_DEFAULT_STRATEGY)
                    : inflateInit2(&c->stream, codec_zlib_bits(wrap));
    if (code == Z_OK) {
        *codec = c;
        return LEVADA_OK;
    }
    levada_free(c);
    if (code == Z_MEM_ERROR) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for zlib");
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "level=%d must be from -1 to 9", (int)level);
}

static levada_status codec_zlib_open_inflate(void **codec, levada_wrap wrap, int32_t level,
                                             levada_error *err)
{
    return codec_zlib_make(codec, false, wrap, level, err);
}

static levada_status codec_zlib_open_deflate(void **codec, levada_wrap wrap, int32_t level,
                                             levada_error *err)
{
    return codec_zlib_make(codec, true, wrap, level, err);
}

static void codec_zlib_close(void **codec)
{
    codec_zlib *c = *codec;

    if (c && c->deflates) (void)deflateEnd(&c->stream);
    if (c && !c->deflates) (void)inflateEnd(&c->stream);
    levada_free(c);
    *codec = NULL;
}

static levada_status codec_zlib_reset(void *codec, levada_error *err)
{
    codec_zlib *c = codec;
    int         code = c->deflates ? deflateReset(&c->stream) : inflateReset(&c->stream);

    c->used_up = false;
    c->failed = NULL;
    return code == Z_OK ? LEVADA_OK : levada_fail(err, LEVADA_EINTERNAL,
                                                  "internal error: zlib cannot be reset; please "
                                                  "report it");
}

/* Reports broken data; zlib stops after the first of the two numbers in the trailer of gzip. */
static void codec_zlib_broken(codec_zlib *c)
{
    const char *why = c->stream.msg ? c->stream.msg : "damaged stream";
    bool        data = strcmp(why, "incorrect data check") == 0;

    c->failed = why;
    c->complete = data || strcmp(why, "incorrect length check") == 0;
    c->tail = data && c->wrap == LEVADA_WRAP_GZIP ? 4 : 0;
}

static levada_status codec_zlib_report(codec_zlib *c, levada_filter_step *step, levada_error *err)
{
    size_t left = step->in_size - step->used, n = left < c->tail ? left : c->tail;

    step->used += n;
    c->tail -= n;
    if (c->tail > 0 && !step->in_ended) return LEVADA_OK;
    step->finished = c->used_up = c->complete;
    return levada_fail(err, LEVADA_EDATA_LOSS, "%s", c->failed);
}

static levada_status codec_zlib_run(void *codec, levada_filter_step *step, levada_error *err)
{
    codec_zlib *c = codec;
    z_stream   *s = &c->stream;
    uInt        in = step->in_size > UINT32_MAX ? UINT32_MAX : (uInt)step->in_size;
    uInt        out = step->out_size > UINT32_MAX ? UINT32_MAX : (uInt)step->out_size;
    int         mode = step->in_ended && in == step->in_size ? Z_FINISH
                       : step->flush                         ? Z_SYNC_FLUSH
                                                             : Z_NO_FLUSH;
    int         code;

    step->used = step->made = 0;
    step->finished = c->used_up;
    if (c->used_up) return LEVADA_OK;
    if (c->failed) return codec_zlib_report(c, step, err);
    s->next_in = (Bytef *)(uintptr_t)step->in;
    s->avail_in = in;
    s->next_out = step->out;
    s->avail_out = out;
    code = c->deflates ? deflate(s, mode) : inflate(s, Z_NO_FLUSH);
    if (code == Z_MEM_ERROR) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for zlib");
    }
    step->used = in - s->avail_in;
    step->made = out - s->avail_out;
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
        codec_zlib_broken(c);
        return step->made > 0 ? LEVADA_OK : codec_zlib_report(c, step, err);
    }
    c->used_up = step->finished = code == Z_STREAM_END;
    return LEVADA_OK;
}

const levada_codec levada_codec_zlib_inflate = {
    .open = codec_zlib_open_inflate,
    .close = codec_zlib_close,
    .reset = codec_zlib_reset,
    .run = codec_zlib_run,
};

const levada_codec levada_codec_zlib_deflate = {
    .open = codec_zlib_open_deflate,
    .close = codec_zlib_close,
    .reset = codec_zlib_reset,
    .run = codec_zlib_run,
};
