/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of sounds, read without a library: WAV (RIFF, RIFX, RF64) and the first block of FLAC.
 * Declared sizes are compared with the bytes that are there.
 */
#include "decode/sound.h"

#include <string.h>

#define PROBE_UNKNOWN                                                                         \
    "the WAV header declares no length, as headers written to a pipe do; the samples were "  \
    "read up to the end of the data"
#define PROBE_SHORT                                                                           \
    "the WAV header declares more bytes of samples than the data has; those that exist were " \
    "read"
#define PROBE_LONG                                                                            \
    "the bytes after the samples of the WAV data are not a chunk; they were not read: the "   \
    "length in the header may be too small"
#define PROBE_PART "the WAV samples end in the middle of a frame; that part was not read"

/* Lengths of samples from this one on mean that the writer did not know: 0x7fffffff, which some
 * round down or subtract headers from, to 0xffffffff. */
#define PROBE_ENDLESS INT64_C(0x7fff0000)
/* Bytes by which a length may be wrong: a header counted twice, or a padding byte not at all. */
#define PROBE_SLIP 64

enum { PROBE_PCM = 1, PROBE_FLOAT = 3, PROBE_ALAW = 6, PROBE_MULAW = 7, PROBE_EXTENSIBLE = 0xfffe };

/* Where a WAV file was read to. */
typedef struct probe_wav {
    const uint8_t *begin, *at, *end;
    int64_t        riff_size; /* bytes in all, by the first header */
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

    if (size < 16)
        return levada_fail(why, LEVADA_EDATA_LOSS,
                           "truncated WAV data: the format has %lld bytes, and needs 16",
                           (long long)size);
    tag = (int32_t)probe_number(w, at, 2);
    out->channels = (int32_t)probe_number(w, at + 2, 2);
    out->rate = (int32_t)probe_number(w, at + 4, 4);
    frame = (int32_t)probe_number(w, at + 12, 2);
    out->bits = (int32_t)probe_number(w, at + 14, 2);
    if (tag == PROBE_EXTENSIBLE && size >= 40) tag = (int32_t)probe_number(w, at + 24, 4);
    if (out->channels == 0 || frame == 0 || frame % out->channels != 0 || out->rate < 0) {
        return levada_fail(why, LEVADA_EDATA_LOSS,
                           "damaged WAV data: %d channels cannot share frames of %d bytes",
                           out->channels, frame);
    }
    out->bytes = frame / out->channels;
    out->big_endian = w->big_endian;
    if (tag == PROBE_PCM) out->kind = LEVADA_SOUND_INT;
    else if (tag == PROBE_FLOAT) out->kind = LEVADA_SOUND_FLOAT;
    else if (tag == PROBE_ALAW) out->kind = LEVADA_SOUND_ALAW;
    else if (tag == PROBE_MULAW) out->kind = LEVADA_SOUND_MULAW;
    else return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                            "WAV format 0x%04x is not supported; convert it to PCM, float, A-law "
                            "or mu-law", tag);
    w->formatted = true;
    return LEVADA_OK;
}

static levada_status probe_bits(const levada_sound *s, levada_error *why)
{
    bool fits = s->bits >= 1 && s->bits <= 8 * s->bytes && s->bytes <= 8;

    if (s->kind == LEVADA_SOUND_FLOAT) fits = fits && (s->bytes == 4 || s->bytes == 8);
    if (s->kind == LEVADA_SOUND_ALAW || s->kind == LEVADA_SOUND_MULAW) fits = s->bytes == 1;
    if (fits) return LEVADA_OK;
    return levada_fail(why, LEVADA_EDATA_LOSS,
                       "damaged WAV data: samples of %d bits in %d bytes", s->bits, s->bytes);
}

/* Returns true if the writer of the header did not know how many bytes of samples would follow:
 * none is a length only where the RIFF header counts what follows. */
static bool probe_is_endless(const probe_wav *w, int64_t size)
{
    bool counted = w->riff_size < PROBE_ENDLESS && w->riff_size > w->at - w->begin;

    if (size == 0) return !counted && w->end > w->at;
    return size >= PROBE_ENDLESS && size > w->end - w->at;
}

/* Returns true if a chunk or nothing follows the samples, after a padding byte or without it. */
static bool probe_ends_well(const uint8_t *at, const uint8_t *end, bool padded)
{
    for (int pad = padded; pad >= 0; pad--) {
        const uint8_t *name = at + pad;
        bool           text = end - name >= 8;

        for (int i = 0; text && i < 4; i++) text = name[i] >= ' ' && name[i] <= '~';
        if (text || end - name <= 0) return true;
    }
    return false;
}

static levada_status probe_samples(const probe_wav *w, int64_t size, levada_sound *out,
                                   levada_error *why)
{
    int64_t left = w->end - w->at, frame = (int64_t)out->bytes * out->channels;

    if (!w->formatted)
        return levada_fail(why, LEVADA_EDATA_LOSS, "damaged WAV data: samples without a format");
    LEVADA_TRY(probe_bits(out, why));
    if (size == UINT32_MAX && w->long_size > 0) size = w->long_size;
    if (probe_is_endless(w, size)) {
        out->note = PROBE_UNKNOWN;
        size = left;
    }
    if (size > left && !w->recovers && (left == 0 || size - left > PROBE_SLIP)) {
        return levada_fail(why, LEVADA_EDATA_LOSS,
                           "truncated WAV data: %lld of %lld bytes of samples", (long long)left,
                           (long long)size);
    }
    out->data = w->at;
    if (size > left) {
        out->note = PROBE_SHORT;
        size = left;
    }
    out->frames = size / frame;
    if (!out->note && size % frame != 0) out->note = PROBE_PART;
    if (!out->note && !probe_ends_well(w->at + size, w->end, size & 1)) out->note = PROBE_LONG;
    return LEVADA_OK;
}

/* Reads one chunk; *found if it has the samples. */
static levada_status probe_chunk(probe_wav *w, levada_sound *out, bool *found, levada_error *why)
{
    const uint8_t *name = w->at;
    int64_t        size;

    if (w->end - w->at < 8)
        return levada_fail(why, LEVADA_EDATA_LOSS, "damaged WAV data: no samples");
    size = (int64_t)probe_number(w, w->at + 4, 4);
    w->at += 8;
    if (memcmp(name, "data", 4) == 0) {
        *found = true;
        return probe_samples(w, size, out, why);
    }
    if (size > w->end - w->at) {
        return levada_fail(why, LEVADA_EDATA_LOSS,
                           "truncated WAV data: a chunk is longer than the file");
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
    probe_wav w = {
        .begin = data,
        .at = data + 12,
        .end = data + size,
        .long_size = -1,
        .recovers = recovers,
    };
    bool found = false;

    *out = (levada_sound){ 0 };
    if (size < 12 || memcmp(data + 8, "WAVE", 4) != 0 ||
        (memcmp(data, "RIFF", 4) != 0 && memcmp(data, "RIFX", 4) != 0 &&
         memcmp(data, "RF64", 4) != 0)) {
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                           "not WAV data: it must begin with RIFF, RIFX or RF64");
    }
    w.big_endian = data[3] == 'X';
    w.riff_size = 8 + (int64_t)probe_number(&w, data + 4, 4);
    while (!found) LEVADA_TRY(probe_chunk(&w, out, &found, why));
    return LEVADA_OK;
}

int64_t levada_sound_tags(const uint8_t *data, int32_t size)
{
    int64_t at = 0;

    while (size - at >= 10 && memcmp(data + at, "ID3", 3) == 0) {
        const uint8_t *tag = data + at;
        bool           footer = tag[3] == 4 && (tag[5] & 0x10);

        at += ((int64_t)(tag[6] & 127) << 21 | (tag[7] & 127) << 14 | (tag[8] & 127) << 7 |
               (tag[9] & 127)) + (footer ? 20 : 10);
    }
    return at < size ? at : size;
}

bool levada_flac_is(const uint8_t *data, int32_t size)
{
    int64_t tags = levada_sound_tags(data, size);

    return size - tags >= 4 && memcmp(data + tags, "fLaC", 4) == 0;
}

levada_status levada_flac_probe(const uint8_t *data, int32_t size, levada_sound *out,
                                levada_error *why)
{
    int64_t        tags = levada_sound_tags(data, size);
    const uint8_t *at;

    *out = (levada_sound){ 0 };
    if (size - tags < 42 || (data[tags + 4] & 0x7f) != 0) {
        return levada_fail(why, LEVADA_EDATA_LOSS, "damaged FLAC data: the first block is missing");
    }
    at = data + tags + 18; /* of the rate, in STREAMINFO */
    out->rate = at[0] << 12 | at[1] << 4 | at[2] >> 4;
    out->channels = (at[2] >> 1 & 7) + 1;
    out->bits = ((at[2] & 1) << 4 | at[3] >> 4) + 1;
    out->frames = (int64_t)(at[3] & 15) << 32 | (int64_t)at[4] << 24 | at[5] << 16 | at[6] << 8 |
                  at[7];
    if (out->frames == 0) out->frames = -1; /* as encoders of streams do */
    return LEVADA_OK;
}
