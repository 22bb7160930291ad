/* SPDX-License-Identifier: Apache-2.0 */
/* audio_info - rate, channels, frames and bits of WAV and FLAC data, from their headers alone. */
#include "decode/sound.h"

static levada_status audio_info_check(const void *args, levada_spec **out, levada_error *err)
{
    levada_field field = { .name = "info", .dtype = LEVADA_INT64, .ndim = 1, .dims = { 4 } };

    (void)args;
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status audio_info_decode(void *state, const void *args, const levada_strings *in,
                                       levada_builder *out, levada_error *err)
{
    void *values = NULL;

    (void)state, (void)args;
    LEVADA_TRY(levada_builder_values(out, 0, in->n * 4, &values, err));
    for (int64_t i = 0; i < in->n; i++) {
        levada_error  why = LEVADA_ERROR_INIT;
        levada_sound  s = { 0 };
        int64_t      *to = (int64_t *)values + i * 4;
        levada_status st = levada_flac_is(in->data[i], in->size[i])
                               ? levada_flac_probe(in->data[i], in->size[i], &s, &why)
                               : levada_wav_probe(in->data[i], in->size[i], true, &s, &why);

        if (st != LEVADA_OK) {
            s = (levada_sound){ 0 };
            LEVADA_TRY(levada_builder_reject(out, i, &why, err));
        }
        to[0] = s.rate;
        to[1] = s.channels;
        to[2] = s.frames;
        to[3] = s.bits;
    }
    return LEVADA_OK;
}

static const levada_example_file audio_info_files[] = {
    { "sound.wav",
      "RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0"
      "data\x08\0\0\0\0\0\0\x40\0\x80\xff\x7f",
      52 },
    { NULL, NULL, 0 }
};

const levada_decoder_def levada_decoder_audio_info = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "audio_info",
    .doc = "reads only the sample rate, channels, frames and bits of audio",
    .example = "fixed_length:sound.wav,record_bytes=52 | audio_info",
    .example_files = audio_info_files,
    .field = "record",
    .check = audio_info_check,
    .decode = audio_info_decode,
    .replaces = true,
};
