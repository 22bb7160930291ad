/* SPDX-License-Identifier: Apache-2.0 */
/* decode_flac - FLAC data to samples, through libFLAC. Frames are checked by their CRC. */
#include "decode/sound.h"

typedef struct decode_flac_args {
    levada_sound_options o;
    bool                 md5;
} decode_flac_args;

static const levada_arg decode_flac_options[] = {
    LEVADA_SOUND_ARGUMENTS,
    LEVADA_ARG(BOOL, decode_flac_args, md5, .otherwise = "false",
               .doc = "compare the samples with the MD5 in the header, which makes decoding a "
                      "third slower"),
    LEVADA_ARG_END
};

static levada_status decode_flac_check(const void *args, levada_spec **out, levada_error *err)
{
    return levada_sound_spec(&((const decode_flac_args *)args)->o, out, err);
}

static void decode_flac_close(void *state) { levada_sound_close(state); }

static levada_status decode_flac_read(levada_sound_tools *tools, const void *args,
                                      const uint8_t *data, int32_t size, levada_sound *out,
                                      levada_error *why)
{
    const decode_flac_args *a = args;

    return levada_flac_decode(tools, &a->o, a->md5, data, size, out, why);
}

static levada_status decode_flac_decode(void *state, const void *args, const levada_strings *in,
                                        levada_builder *out, levada_error *err)
{
    return levada_sound_decode(&((const decode_flac_args *)args)->o, state, args, decode_flac_read,
                               in, out, err);
}

/* Returns the size that the header declares, if it is within the limits. */
static int64_t decode_flac_measure(const void *args, const uint8_t *data, int32_t size)
{
    const decode_flac_args *a = args;
    int64_t                 bytes = 0, least = (int64_t)size * 2;
    levada_sound            s;

    if (levada_flac_is(data, size) && levada_flac_probe(data, size, &s, NULL) == LEVADA_OK &&
        s.frames > 0 && s.frames <= a->o.max_samples) {
        bytes = s.frames * s.channels * levada_dtype_size(a->o.dtype);
    }
    return bytes > least ? bytes : least;
}

static const levada_example_file decode_flac_files[] = {
    { "sound.flac",
      "\x66\x4c\x61\x43\x80\x00\x00\x22\x10\x00\x10\x00\x00\x00\x13\x00\x00\x13\x01\xf4\x00"
      "\xf0\x00\x00\x00\x20\xb2\xd7\x40\x7a\xe6\xcf\xcd\x87\xca\xc8\xc0\x92\x37\x48\x14\x67"
      "\xff\xf8\x64\x08\x00\x1f\xbe\x15\x78\x30\xe2\xb4\x00\xff\xff\xff\xfc\xd1\x85",
      61 },
    { NULL, NULL, 0 }
};

const levada_decoder_def levada_decoder_decode_flac = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "decode_flac",
    .doc = "decodes FLAC data to samples",
    .example = "fixed_length:sound.flac,record_bytes=61 | decode_flac:1",
    .example_files = decode_flac_files,
    .field = "record",
    .args = decode_flac_options,
    .args_size = sizeof(decode_flac_args),
    .state_size = sizeof(levada_sound_tools),
    .check = decode_flac_check,
    .close = decode_flac_close,
    .decode = decode_flac_decode,
    .measure = decode_flac_measure,
};
