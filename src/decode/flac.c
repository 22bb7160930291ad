/* SPDX-License-Identifier: Apache-2.0 */
/* FLAC through libFLAC. Memory grows with what was decoded, whatever the header says. */
#include "decode/sound.h"

#include "base/alloc.h"

#include <string.h>

#include <FLAC/stream_decoder.h>

struct levada_flac {
    FLAC__StreamDecoder        *decoder;
    levada_sound_tools         *tools;
    const levada_sound_options *options;
    const uint8_t              *at, *end;
    levada_sound               *out;
    levada_error               *why;
};

/* -- what the library calls */

static FLAC__StreamDecoderReadStatus flac_read(const FLAC__StreamDecoder *decoder, FLAC__byte to[],
                                               size_t *n, void *user)
{
    struct levada_flac *f = user;
    size_t              left = (size_t)(f->end - f->at);

    (void)decoder;
    if (*n > left) *n = left;
    if (*n == 0) return FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM;
    memcpy(to, f->at, *n);
    f->at += *n;
    return FLAC__STREAM_DECODER_READ_STATUS_CONTINUE;
}

/* Checks that all frames have the format of the first one. */
static levada_status flac_format(struct levada_flac *f, const FLAC__FrameHeader *h)
{
    levada_sound *s = f->out;

    if (s->channels == 0) {
        s->channels = (int32_t)h->channels;
        s->rate = (int32_t)h->sample_rate;
        s->bits = (int32_t)h->bits_per_sample;
    }
    if (s->channels == (int32_t)h->channels && s->bits == (int32_t)h->bits_per_sample &&
        s->rate == (int32_t)h->sample_rate) {
        return LEVADA_OK;
    }
    return levada_fail(f->why, LEVADA_EDATA_LOSS,
                       "damaged FLAC data: a frame has %d channels of %d bits at %d Hz, the first "
                       "has %d of %d at %d",
                       (int)h->channels, (int)h->bits_per_sample, (int)h->sample_rate,
                       (int)s->channels, (int)s->bits, (int)s->rate);
}

static FLAC__StreamDecoderWriteStatus flac_write(const FLAC__StreamDecoder *decoder,
                                                 const FLAC__Frame         *frame,
                                                 const FLAC__int32 *const buffer[], void *user)
{
    struct levada_flac *f = user;
    levada_sound_tools *t = f->tools;
    int64_t             n = frame->header.blocksize, channels = frame->header.channels;
    int32_t            *to, shift = 32 - (int32_t)frame->header.bits_per_sample;

    (void)decoder;
    if (flac_format(f, &frame->header) != LEVADA_OK ||
        levada_sound_limit(f->options, (f->out->frames + n) * channels, f->why) != LEVADA_OK) {
        return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
    }
    if (!levada_reserve(&t->samples, &t->capacity, t->used + n * channels, sizeof *t->samples)) {
        (void)levada_fail(f->why, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for samples");
        return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
    }
    to = t->samples + t->used;
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t i = 0; i < n; i++) {
            to[i * channels + c] = (int32_t)((uint32_t)buffer[c][i] << shift);
        }
    }
    t->used += n * channels;
    f->out->frames += n;
    return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
}

static void flac_failed(const FLAC__StreamDecoder *decoder, FLAC__StreamDecoderErrorStatus status,
                        void *user)
{
    struct levada_flac *f = user;

    (void)decoder;
    if (f->why->code != LEVADA_OK) return;
    (void)levada_fail(f->why, LEVADA_EDATA_LOSS, "damaged FLAC data: %s",
                      FLAC__StreamDecoderErrorStatusString[status]);
}

/* -- one sound */

static levada_status flac_create(levada_sound_tools *tools, levada_error *why)
{
    struct levada_flac *f = levada_alloc_zero(sizeof *f);

    if (f) f->decoder = FLAC__stream_decoder_new();
    if (!f || !f->decoder) {
        levada_free(f);
        return levada_fail(why, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a FLAC decoder");
    }
    tools->flac = f;
    return LEVADA_OK;
}

/* Decodes until the end, or the first damage. */
static levada_status flac_run(struct levada_flac *f)
{
    while (f->why->code == LEVADA_OK) {
        FLAC__StreamDecoderState at;

        if (!FLAC__stream_decoder_process_single(f->decoder)) break;
        at = FLAC__stream_decoder_get_state(f->decoder);
        if (at == FLAC__STREAM_DECODER_END_OF_STREAM) return f->why->code;
    }
    if (f->why->code != LEVADA_OK) return f->why->code;
    if (FLAC__stream_decoder_get_state(f->decoder) ==
        FLAC__STREAM_DECODER_MEMORY_ALLOCATION_ERROR) {
        return levada_fail(f->why, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a FLAC decoder");
    }
    return levada_fail(f->why, LEVADA_EDATA_LOSS, "damaged FLAC data: %s",
                       FLAC__stream_decoder_get_resolved_state_string(f->decoder));
}

/* Checks that there are as many frames as the header declares, if it declares any: there are fewer
 * if the data was cut between two of its frames. */
static levada_status flac_check_frames(const struct levada_flac *f)
{
    int64_t declared = (int64_t)FLAC__stream_decoder_get_total_samples(f->decoder);
    int64_t frames = f->out->frames;

    if (frames == 0) return levada_fail(f->why, LEVADA_EDATA_LOSS, "damaged FLAC data: no samples");
    if (declared == 0 || declared == frames) return LEVADA_OK;
    return levada_fail(f->why, LEVADA_EDATA_LOSS, "%s: %lld frames, but the header declares %lld",
                       frames < declared ? "truncated FLAC data" : "damaged FLAC data",
                       (long long)frames, (long long)declared);
}

levada_status levada_flac_decode(levada_sound_tools *tools, const levada_sound_options *o,
                                 bool md5, const uint8_t *data, int32_t size, levada_sound *out,
                                 levada_error *why)
{
    int64_t             tags = levada_sound_tags(data, size);
    struct levada_flac *f;
    levada_status       st;

    if (!tools->flac) LEVADA_TRY(flac_create(tools, why));
    f = tools->flac;
    *out = (levada_sound){ .bytes = 4, .at = tools->used };
    data += tags;
    *f = (struct levada_flac){ f->decoder, tools, o, data, data + size - tags, out, why };
    (void)FLAC__stream_decoder_set_md5_checking(f->decoder, md5);
    if (FLAC__stream_decoder_init_stream(f->decoder, flac_read, NULL, NULL, NULL, NULL, flac_write,
                                         NULL, flac_failed, f) !=
        FLAC__STREAM_DECODER_INIT_STATUS_OK) {
        (void)FLAC__stream_decoder_finish(f->decoder);
        return levada_fail(why, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a FLAC decoder");
    }
    st = flac_run(f);
    if (st == LEVADA_OK) st = flac_check_frames(f);
    if (!FLAC__stream_decoder_finish(f->decoder) && st == LEVADA_OK) {
        st = levada_fail(why, LEVADA_EDATA_LOSS,
                         "damaged FLAC data: the MD5 of the samples is wrong");
    }
    return st;
}

void levada_flac_close(struct levada_flac **tool)
{
    struct levada_flac *f = *tool;

    *tool = NULL;
    if (!f) return;
    FLAC__stream_decoder_delete(f->decoder);
    levada_free(f);
}
