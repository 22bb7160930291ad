/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/sound.h"

#include "base/alloc.h"
#include "tensor/builder_priv.h"

#include <math.h>
#include <string.h>

enum { SOUND_MOST = 1 << 28 }; /* samples of a block */
enum { SOUND_STEP = 16 }; /* samples that loops take at a time: compilers vectorize these */

/* -- columns */

static bool sound_dtype_is_known(levada_dtype dtype)
{
    return dtype == LEVADA_FLOAT32 || dtype == LEVADA_FLOAT64 || dtype == LEVADA_UINT8 ||
           dtype == LEVADA_INT16 || dtype == LEVADA_INT32 || dtype == LEVADA_INT64;
}

levada_status levada_sound_spec(const levada_sound_options *o, levada_spec **out,
                                levada_error *err)
{
    const levada_field fields[] = {
        { .name = o->out, .dtype = o->dtype, .depth = 1, .ndim = 1, .dims = { o->channels } },
        { .name = o->rate, .dtype = LEVADA_INT32 },
    };

    if (!sound_dtype_is_known(o->dtype)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "dtype=%s must be float32, float64, uint8, int16, int32 or int64",
                           levada_dtype_name(o->dtype));
    }
    return levada_spec_create(fields, 2, LEVADA_SPEC_PLAIN, out, err);
}

/* -- one sample */

static uint64_t sound_word(const uint8_t *at, int32_t bytes, bool big_endian)
{
    uint64_t word = 0;

    for (int32_t i = 0; i < bytes; i++) {
        word |= (uint64_t)at[big_endian ? i : bytes - 1 - i] << (56 - 8 * i);
    }
    return word;
}

static int64_t sound_mulaw(uint8_t byte)
{
    int32_t u = ~byte & 0xff, v = (((u & 15) << 3) + 0x84) << (u >> 4 & 7);

    return (int64_t)((u & 0x80 ? 0x84 - v : v - 0x84)) * ((int64_t)1 << 48);
}

static int64_t sound_alaw(uint8_t byte)
{
    int32_t a = byte ^ 0x55, step = a >> 4 & 7, v = (a & 15) << 4;

    v += step == 0 ? 8 : 0x108;
    if (step > 1) v <<= step - 1;
    return (int64_t)(a & 0x80 ? v : -v) * ((int64_t)1 << 48);
}

/* Reads whole numbers, left-justified in 64 bits. */
static int64_t sound_int(const levada_sound *s, const uint8_t *at)
{
    if (s->kind == LEVADA_SOUND_MULAW) return sound_mulaw(*at);
    if (s->kind == LEVADA_SOUND_ALAW) return sound_alaw(*at);
    if (s->bytes == 1) return (int64_t)((uint64_t)(*at ^ 0x80u) << 56);
    return (int64_t)sound_word(at, s->bytes, s->big_endian);
}

static double sound_float(const levada_sound *s, const uint8_t *at)
{
    uint64_t word = sound_word(at, s->bytes, s->big_endian);
    uint32_t half = (uint32_t)(word >> 32);
    double   d;
    float    f;

    memcpy(&d, &word, 8);
    memcpy(&f, &half, 4);
    return s->bytes == 8 ? d : (double)f;
}

/* Converts a float to a left-justified whole number: what is beyond -1 to 1 is cut, NaN is
 * silence. */
static int64_t sound_whole(double v)
{
    if (isnan(v)) return 0;
    if (v >= 1.0) return INT64_MAX;
    return v <= -1.0 ? INT64_MIN : (int64_t)(v * 0x1p63);
}

static void sound_put_int(levada_dtype dtype, int64_t v, uint8_t *to)
{
    int16_t s16 = (int16_t)(v >> 48);
    int32_t s32 = (int32_t)(v >> 32);

    if (dtype == LEVADA_UINT8) *to = (uint8_t)((v >> 56) + 128);
    else if (dtype == LEVADA_INT16) memcpy(to, &s16, 2);
    else if (dtype == LEVADA_INT32) memcpy(to, &s32, 4);
    else memcpy(to, &v, 8);
}

static void sound_put(const levada_sound *s, levada_dtype dtype, const uint8_t *at, uint8_t *to)
{
    bool   is_float = s->kind == LEVADA_SOUND_FLOAT;
    double v;
    float  f;

    if (dtype != LEVADA_FLOAT32 && dtype != LEVADA_FLOAT64) {
        sound_put_int(dtype, is_float ? sound_whole(sound_float(s, at)) : sound_int(s, at), to);
        return;
    }
    v = is_float ? sound_float(s, at) : (double)sound_int(s, at) * 0x1p-63;
    f = (float)v;
    if (dtype == LEVADA_FLOAT32) memcpy(to, &f, 4);
    else memcpy(to, &v, 8);
}

/* -- one sound */

static void sound_s16_to_f32(const uint8_t *at, int64_t n, float *to)
{
    int16_t v[SOUND_STEP];
    int64_t i = 0;

    for (; i + SOUND_STEP <= n; i += SOUND_STEP) {
        memcpy(v, at + 2 * i, sizeof v);
        for (int k = 0; k < SOUND_STEP; k++) to[i + k] = (float)v[k] * 0x1p-15F;
    }
    memcpy(v, at + 2 * i, 2 * (size_t)(n - i));
    for (int k = 0; i + k < n; k++) to[i + k] = (float)v[k] * 0x1p-15F;
}

static void sound_s32_to_f32(const uint8_t *at, int64_t n, float *to)
{
    int32_t v[SOUND_STEP];
    int64_t i = 0;

    for (; i + SOUND_STEP <= n; i += SOUND_STEP) {
        memcpy(v, at + 4 * i, sizeof v);
        for (int k = 0; k < SOUND_STEP; k++) to[i + k] = (float)v[k] * 0x1p-31F;
    }
    memcpy(v, at + 4 * i, 4 * (size_t)(n - i));
    for (int k = 0; i + k < n; k++) to[i + k] = (float)v[k] * 0x1p-31F;
}

/* Returns true if the bytes are those that are wanted. */
static bool sound_is_plain(const levada_sound *s, levada_dtype dtype)
{
    if (s->big_endian || s->bytes != levada_dtype_size(dtype)) return false;
    if (s->kind == LEVADA_SOUND_FLOAT) return dtype == LEVADA_FLOAT32 || dtype == LEVADA_FLOAT64;
    return s->kind == LEVADA_SOUND_INT && dtype != LEVADA_FLOAT32 && dtype != LEVADA_FLOAT64;
}

static void sound_convert(const levada_sound *s, const uint8_t *at, levada_dtype dtype, uint8_t *to)
{
    int64_t n = s->frames * s->channels, size = levada_dtype_size(dtype);
    bool    ints = s->kind == LEVADA_SOUND_INT && !s->big_endian && dtype == LEVADA_FLOAT32;

    if (sound_is_plain(s, dtype)) {
        if (n > 0) memcpy(to, at, (size_t)(n * size));
    } else if (ints && s->bytes == 2) {
        sound_s16_to_f32(at, n, (float *)(void *)to);
    } else if (ints && s->bytes == 4) {
        sound_s32_to_f32(at, n, (float *)(void *)to);
    } else {
        for (int64_t i = 0; i < n; i++) sound_put(s, dtype, at + i * s->bytes, to + i * size);
    }
}

/* -- a block */

levada_status levada_sound_limit(const levada_sound_options *o, int64_t samples,
                                 levada_error *why)
{
    if (samples <= o->max_samples) return LEVADA_OK;
    return levada_fail(why, LEVADA_ERESOURCE_EXHAUSTED,
                       "more than max_samples=%lld samples; raise max_samples",
                       (long long)o->max_samples);
}

static levada_status sound_look(const levada_sound_options *o, levada_sound_tools *tools,
                                const void *args, levada_sound_read *read, const uint8_t *data,
                                int32_t size, levada_sound *out, levada_error *why)
{
    if (size == 0)
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                           "input is empty; expected a WAV or FLAC file");
    LEVADA_TRY(read(tools, args, data, size, out, why));
    if (out->channels != o->channels) {
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT, "%d channels, expected channels=%lld",
                           out->channels, (long long)o->channels);
    }
    return levada_sound_limit(o, out->frames * out->channels, why);
}

static bool sound_is_ours(const levada_error *why)
{
    return why->code == LEVADA_EUNIMPLEMENTED ||
           (why->code == LEVADA_ERESOURCE_EXHAUSTED && strstr(why->message, "out of memory"));
}

static levada_status sound_look_all(const levada_sound_options *o, levada_sound_tools *tools,
                                    const void *args, levada_sound_read *read,
                                    const levada_strings *in, levada_sound *sounds, int32_t *marks,
                                    levada_builder *out, levada_error *err)
{
    int64_t total = 0;

    tools->used = 0;
    marks[0] = 0;
    for (int64_t i = 0; i < in->n; i++) {
        levada_error  why = LEVADA_ERROR_INIT;
        int64_t       before = tools->used;
        levada_status st = sound_look(o, tools, args, read, in->data[i], in->size[i], &sounds[i],
                                      &why);

        if (st != LEVADA_OK && sound_is_ours(&why)) {
            if (err) *err = why;
            return st;
        }
        if (st != LEVADA_OK) {
            sounds[i] = (levada_sound){ 0 };
            tools->used = before;
            LEVADA_TRY(levada_builder_reject(out, i, &why, err));
        }
        if (sounds[i].note) LEVADA_TRY(levada_builder_note(out, i, sounds[i].note, err));
        total += sounds[i].frames;
        if (total * o->channels > SOUND_MOST) {
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "more than 2^28 samples in one block; lower block_rows");
        }
        marks[i + 1] = (int32_t)total;
    }
    return LEVADA_OK;
}

static levada_status sound_fill(const levada_sound_options *o, const levada_sound_tools *tools,
                                const levada_sound *sounds, int64_t n, const int32_t *marks,
                                levada_builder *out, levada_error *err)
{
    int64_t row = o->channels * levada_dtype_size(o->dtype);
    void   *values = NULL, *rates = NULL;

    LEVADA_TRY(levada_builder_values(out, 0, marks[n] * o->channels, &values, err));
    LEVADA_TRY(levada_builder_values(out, 1, n, &rates, err));
    for (int64_t i = 0; i < n; i++) {
        const levada_sound *s = &sounds[i];
        const uint8_t      *at = s->data;

        ((int32_t *)rates)[i] = s->rate;
        if (s->frames == 0) continue;
        if (!at) at = (const uint8_t *)(tools->samples + s->at);
        sound_convert(s, at, o->dtype, (uint8_t *)values + marks[i] * row);
    }
    return LEVADA_OK;
}

levada_status levada_sound_decode(const levada_sound_options *o, levada_sound_tools *tools,
                                  const void *args, levada_sound_read *read,
                                  const levada_strings *in, levada_builder *out,
                                  levada_error *err)
{
    levada_sound *sounds = levada_alloc_zero((size_t)in->n * sizeof *sounds + 1);
    int32_t      *marks = NULL;
    levada_status st = LEVADA_OK;

    if (!sounds) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for audio");
    st = levada_builder_offsets(out, 0, 0, in->n, &marks, err);
    if (st == LEVADA_OK) {
        st = sound_look_all(o, tools, args, read, in, sounds, marks, out, err);
    }
    if (st == LEVADA_OK) st = sound_fill(o, tools, sounds, in->n, marks, out, err);
    levada_free(sounds);
    return st;
}

void levada_sound_close(levada_sound_tools *tools)
{
    levada_flac_close(&tools->flac);
    levada_free(tools->samples);
    tools->samples = NULL;
}
