/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_wav - WAV data to samples: tf.audio.decode_wav (core/kernels/decode_wav_op.cc), and all
 * that scipy.io.wavfile reads: RIFF, RIFX and RF64; whole numbers of 1 to 8 bytes, floats, mu-law
 * and A-law.
 */
#include "decode/sound.h"

typedef struct decode_wav_args {
    levada_sound_options o;
    bool                 try_recover_truncated;
} decode_wav_args;

static const levada_arg decode_wav_options[] = {
    LEVADA_SOUND_ARGUMENTS,
    LEVADA_ARG(BOOL, decode_wav_args, try_recover_truncated, .otherwise = "false",
               .doc = "if the header declares more samples than the data has, decode those that "
                      "exist"),
    LEVADA_ARG_END
};

static levada_status decode_wav_check(const void *args, levada_spec **out, levada_error *err)
{
    return levada_sound_spec(&((const decode_wav_args *)args)->o, out, err);
}

static void decode_wav_close(void *state) { levada_sound_close(state); }

static levada_status decode_wav_read(levada_sound_tools *tools, const void *args,
                                     const uint8_t *data, int32_t size, levada_sound *out,
                                     levada_error *why)
{
    const decode_wav_args *a = args;

    (void)tools;
    return levada_wav_probe(data, size, a->try_recover_truncated, out, why);
}

static levada_status decode_wav_decode(void *state, const void *args, const levada_strings *in,
                                       levada_builder *out, levada_error *err)
{
    return levada_sound_decode(&((const decode_wav_args *)args)->o, state, args, decode_wav_read,
                               in, out, err);
}

static int64_t decode_wav_measure(const void *args, const uint8_t *data, int32_t size)
{
    const decode_wav_args *a = args;
    levada_sound           s;

    if (levada_wav_probe(data, size, true, &s, NULL) != LEVADA_OK) return 0;
    return s.frames * s.channels * levada_dtype_size(a->o.dtype);
}

static const levada_example_file decode_wav_files[] = {
    { "sound.wav",
      "RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0"
      "data\x08\0\0\0\0\0\0\x40\0\x80\xff\x7f",
      52 },
    { NULL, NULL, 0 }
};

const levada_decoder_def levada_decoder_decode_wav = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "decode_wav",
    .doc = "decodes WAV data to samples",
    .example = "fixed_length:sound.wav,record_bytes=52 | decode_wav:1",
    .example_files = decode_wav_files,
    .field = "record",
    .args = decode_wav_options,
    .args_size = sizeof(decode_wav_args),
    .state_size = sizeof(levada_sound_tools),
    .check = decode_wav_check,
    .close = decode_wav_close,
    .decode = decode_wav_decode,
    .measure = decode_wav_measure,
};
