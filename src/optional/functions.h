/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outside libraries that only some decoders and stages use, opened at first use.
 *
 * Each library is used by one file (jpeg.c, png.c, flac.c, soxr.c, fft_kiss.c, json_reader.cpp),
 * or replaced by one that refuses. The library levada contains these files. The Python extension
 * does not, because `import levada` would load every library. They are a shared object of their own
 * beside the extension (table.c), and forward.c has functions of the same names, which open it when
 * the first of them is called. Any thread; it stays open.
 */
#ifndef LEVADA_OPTIONAL_FUNCTIONS_H
#define LEVADA_OPTIONAL_FUNCTIONS_H

#include "base/compiler.h"
#include "decode/picture.h"
#include "decode/sound.h"
#include "rows/json_reader.h"
#include "transform/fft.h"
#include "transform/resampler.h"

#define LEVADA_OPTIONAL_NAME "levada_optional.so"

/* All functions of these files. */
#define LEVADA_OPTIONAL_FUNCTIONS(DO)                                                            \
    DO(jpeg_decode)                                                                              \
    DO(jpeg_close)                                                                               \
    DO(png_decode)                                                                               \
    DO(flac_decode)                                                                              \
    DO(flac_close)                                                                               \
    DO(resampler_capacity)            \
    DO(resampler_run)                                                                            \
    DO(fft_create)                                                                               \
    DO(fft_destroy)                                                                              \
    DO(fft_power)                                                                                \
    DO(json_reader_create)                                                                       \
    DO(json_reader_destroy)                                                                      \
    DO(json_reader_reserve)                                                                      \
    DO(json_reader_parse)                                                                        \
    DO(json_kind_of)                                                                             \
    DO(json_as_bool)                                                                             \
    DO(json_as_int)                                                                              \
    DO(json_as_big)                                                                              \
    DO(json_as_float)                                                                            \
    DO(json_as_text)                                                                             \
    DO(json_find)                                                                                \
    DO(json_each)                                                                                \
    DO(json_each_member)

#define LEVADA_OPTIONAL_MEMBER(name) LEVADA_TYPE_OF(levada_##name) * name;

typedef struct levada_optional_table {
    const char *version; /* of levada: both files must be of one build */
    LEVADA_OPTIONAL_FUNCTIONS(LEVADA_OPTIONAL_MEMBER)
} levada_optional_table;

/* What the shared object exports. */
LEVADA_API extern const levada_optional_table levada_optional;

#endif
