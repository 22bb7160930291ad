/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of sounds, read without a library: WAV (RIFF, RIFX, RF64) and the first block of FLAC.
 * Declared sizes are compared with the bytes that are there.
 */
#include "decode/sound.h"

#include <string.h>

enum { PROBE_PCM = 1, PROBE_FLOAT = 3, PROBE_ALAW = 6, PROBE_MULAW = 7, PROBE_EXTENSIBLE = 0xfffe };

/* Where a WAV file was read to. */
typedef struct probe_wav {
    const uint8_t *at, *end;
    bool           big_endian, formatted, recovers;
    int64_t        long_size; /* of the samples, from a ds64 chunk; -1 = none */
} probe_wav;

static uint64_t probe_number(const probe_wav *w, const uint8_t *at, int32_t bytes)
{
    uint64_t v = 0;

    for (int32_t i = 0; i < bytes; i++) v = v << 8 | at[w->big_endian ? i : bytes - 1 - i];
    return v;
}

static levada_status probe_format(probe_wav *w, int64_t size, levada_sound *out, levada_error *why)
{
    const uint8_t *at = w->at;
    int32_t        tag, frame;

    if (size < 16) return levada_fail(why, LEVADA_EDATA_LOSS, "a truncated WAV format");
    tag = (int32_t)probe_number(w, at, 2);
    out->channels = (int32_t)probe_number(w, at + 2, 2);
    out->rate = (int32_t)probe_number(w, at + 4, 4);
    frame = (int32_t)probe_number(w, at + 12, 2);
    out->bits = (int32_t)probe_number(w, at + 14, 2);
    if (tag == PROBE_EXTENSIBLE && size >= 40) tag = (int32_t)probe_number(w, at + 24, 4);
    if (out->channels == 0 || frame == 0 || frame % out->channels != 0 || out->rate < 0) {
        return levada_fail(why, LEVADA_EDATA_LOSS,
                           "a WAV format of %d channels in frames of %d bytes", out->channels,
                           frame);
    }
    out->bytes = frame / out->channels;
    out->big_endian = w->big_endian;
    if (tag == PROBE_PCM) out->kind = LEVADA_SOUND_INT;
    else if (tag == PROBE_FLOAT) out->kind = LEVADA_SOUND_FLOAT;
    else if (tag == PROBE_ALAW) out->kind = LEVADA_SOUND_ALAW;
    else if (tag == PROBE_MULAW) out->kind = LEVADA_SOUND_MULAW;
    else return levada_fail(why, LEVADA_EINVALID_ARGUMENT, "unknown WAV format 0x%04x", tag);
    w->formatted = true;
    return LEVADA_OK;
}

static levada_status probe_bits(const levada_sound *s, levada_error *why)
{
    bool fits = s->bits >= 1 && s->bits <= 8 * s->bytes && s->bytes <= 8;

    if (s->kind == LEVADA_SOUND_FLOAT) fits = fits && (s->bytes == 4 || s->bytes == 8);
    if (s->kind == LEVADA_SOUND_ALAW || s->kind == LEVADA_SOUND_MULAW) fits = s->bytes == 1;
    if (fits) return LEVADA_OK;
    return levada_fail(why, LEVADA_EDATA_LOSS, "WAV samples of %d bits in %d bytes", s->bits,
                       s->bytes);
}

static levada_status probe_samples(const probe_wav *w, int64_t size, levada_sound *out,
                                   levada_error *why)
{
    int64_t left = w->end - w->at;

    if (!w->formatted) return levada_fail(why, LEVADA_EDATA_LOSS, "WAV samples without a format");
    LEVADA_TRY(probe_bits(out, why));
    if (size == UINT32_MAX && w->long_size >= 0) size = w->long_size;
    if (size > left && !w->recovers) {
        return levada_fail(why, LEVADA_EDATA_LOSS,
                           "truncated WAV data: %lld of %lld bytes of samples", (long long)left,
                           (long long)size);
    }
    out->data = w->at;
    if (size > left) size = left;
    out->frames = size / ((int64_t)out->bytes * out->channels);
    return LEVADA_OK;
}

/* One chunk; *found where it has the samples. */
static levada_status probe_chunk(probe_wav *w, levada_sound *out, bool *found, levada_error *why)
{
    const uint8_t *name = w->at;
    int64_t        size;

    if (w->end - w->at < 8) return levada_fail(why, LEVADA_EDATA_LOSS, "WAV data without samples");
    size = (int64_t)probe_number(w, w->at + 4, 4);
    w->at += 8;
    if (memcmp(name, "data", 4) == 0) {
        *found = true;
        return probe_samples(w, size, out, why);
    }
    if (size > w->end - w->at) {
        return levada_fail(why, LEVADA_EDATA_LOSS, "a truncated chunk of WAV data");
    }
    if (memcmp(name, "fmt ", 4) == 0) LEVADA_TRY(probe_format(w, size, out, why));
    if (memcmp(name, "ds64", 4) == 0 && size >= 16) {
        uint64_t samples = probe_number(w, w->at + 8, 8);

        w->long_size = samples > INT64_MAX ? INT64_MAX : (int64_t)samples;
    }
    w->at += size + (size & 1);
    if (w->at > w->end) w->at = w->end;
    return LEVADA_OK;
}

levada_status levada_wav_probe(const uint8_t *data, int32_t size, bool recovers,
                               levada_sound *out, levada_error *why)
{
    probe_wav w = { .at = data + 12, .end = data + size, .long_size = -1, .recovers = recovers };
    bool      found = false;

    *out = (levada_sound){ 0 };
    if (size < 12 || memcmp(data + 8, "WAVE", 4) != 0 ||
        (memcmp(data, "RIFF", 4) != 0 && memcmp(data, "RIFX", 4) != 0 &&
         memcmp(data, "RF64", 4) != 0)) {
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT, "not WAV data: no RIFF, RIFX or RF64");
    }
    w.big_endian = data[3] == 'X';
    while (!found) LEVADA_TRY(probe_chunk(&w, out, &found, why));
    return LEVADA_OK;
}

bool levada_flac_is(const uint8_t *data, int32_t size)
{
    return size >= 4 && memcmp(data, "fLaC", 4) == 0;
}

levada_status levada_flac_probe(const uint8_t *data, int32_t size, levada_sound *out,
                                levada_error *why)
{
    const uint8_t *at = data + 18; /* of the rate, in STREAMINFO */

    *out = (levada_sound){ 0 };
    if (size < 42 || (data[4] & 0x7f) != 0) {
        return levada_fail(why, LEVADA_EDATA_LOSS, "FLAC data without its first block");
    }
    out->rate = at[0] << 12 | at[1] << 4 | at[2] >> 4;
    out->channels = (at[2] >> 1 & 7) + 1;
    out->bits = ((at[2] & 1) << 4 | at[3] >> 4) + 1;
    out->frames = (int64_t)(at[3] & 15) << 32 | (int64_t)at[4] << 24 | at[5] << 16 | at[6] << 8 |
                  at[7];
    if (out->frames == 0) out->frames = -1; /* as encoders of streams do */
    return LEVADA_OK;
}
