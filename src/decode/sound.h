/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sound of a block, for decode_wav, decode_flac and audio_info.
 *
 * A block takes two passes: each string becomes a levada_sound, which says where its samples are
 * and how they are stored; then all are converted to one column. Whole numbers fill the range of
 * their type (24 bits become the upper 24 of an int32), and floats are within -1 to 1.
 */
#ifndef LEVADA_DECODE_SOUND_H
#define LEVADA_DECODE_SOUND_H

#include <levada/builder.h>
#include <levada/decoder.h>

#define LEVADA_SOUND_MOST_SAMPLES "134217728" /* default of max_samples: 2^27 */

typedef enum levada_sound_kind {
    LEVADA_SOUND_INT,   /* signed, left-justified in `bytes`; of one byte unsigned */
    LEVADA_SOUND_FLOAT, /* of 4 or 8 bytes */
    LEVADA_SOUND_MULAW,
    LEVADA_SOUND_ALAW
} levada_sound_kind;

typedef struct levada_sound {
    levada_sound_kind kind;
    int32_t           rate, channels, bits, bytes; /* bytes of one sample */
    bool              big_endian;
    int64_t           frames; /* samples of each channel; of audio_info, -1 = not known */
    const uint8_t    *data;   /* NULL = in the scratch */
    int64_t           at;     /* there, the first one */
    const char       *note;   /* constant text: what is odd about it; NULL = nothing */
} levada_sound;

typedef struct levada_sound_options {
    int64_t      channels;
    levada_dtype dtype;
    const char  *out, *rate;
    int64_t      max_samples;
} levada_sound_options;

/* The options that both decoders have first: levada_sound_options begins their struct. */
#define LEVADA_SOUND_ARGUMENTS                                                                \
    LEVADA_ARG(INT, levada_sound_options, channels, .otherwise = "1", .positional = true,     \
               .min = 1, .max = 255, .doc = "number of channels that all audio must have"), \
    LEVADA_ARG(DTYPE, levada_sound_options, dtype, .otherwise = "float32",                    \
               .doc = "float32, float64 (-1 to 1), uint8, int16, int32 or int64"),            \
    LEVADA_ARG(TEXT, levada_sound_options, out, .otherwise = "audio",                         \
               .doc = "name of the column of samples, [frames, channels]"),                   \
    LEVADA_ARG(TEXT, levada_sound_options, rate, .otherwise = "sample_rate",                  \
               .doc = "name of the column of sample rates"),                             \
    LEVADA_ARG(INT, levada_sound_options, max_samples,                                        \
               .otherwise = LEVADA_SOUND_MOST_SAMPLES, .min = 1, .max = 1 << 30,              \
               .doc = "maximum number of samples in all channels; longer audio is a bad record")

/* Scratch of a worker. */
typedef struct levada_sound_tools {
    struct levada_flac *flac;
    int32_t            *samples; /* left-justified, of all rows of a block */
    int64_t             used, capacity;
} levada_sound_tools;

/* Fills *out from a string; a failure rejects it. */
typedef levada_status levada_sound_read(levada_sound_tools *tools, const void *args,
                                        const uint8_t *data, int32_t size, levada_sound *out,
                                        levada_error *why);

levada_status levada_sound_spec(const levada_sound_options *o, levada_spec **out,
                                levada_error *err);
levada_status levada_sound_decode(const levada_sound_options *o, levada_sound_tools *tools,
                                  const void *args, levada_sound_read *read,
                                  const levada_strings *in, levada_builder *out,
                                  levada_error *err);
void levada_sound_close(levada_sound_tools *tools);
/* Checks that audio is not longer than the options allow. */
levada_status levada_sound_limit(const levada_sound_options *o, int64_t samples,
                                 levada_error *why);

/* Headers. `recovers` takes the samples that are there where fewer are than declared. */
levada_status levada_wav_probe(const uint8_t *data, int32_t size, bool recovers,
                               levada_sound *out, levada_error *why);
/* Returns the number of bytes of the ID3v2 tags that some programs write before FLAC data. */
int64_t       levada_sound_tags(const uint8_t *data, int32_t size);
bool          levada_flac_is(const uint8_t *data, int32_t size);
levada_status levada_flac_probe(const uint8_t *data, int32_t size, levada_sound *out,
                                levada_error *why);

/* Decodes with the library, and appends the samples to tools->samples. */
levada_status levada_flac_decode(levada_sound_tools *tools, const levada_sound_options *o,
                                 bool md5, const uint8_t *data, int32_t size, levada_sound *out,
                                 levada_error *why);
void levada_flac_close(struct levada_flac **tool);

#endif
