/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces zlib in builds that did not find it. */
#include "io/inflate.h"

static levada_status codec_missing_open(void **codec, levada_wrap wrap, int32_t level,
                                        levada_error *err)
{
    (void)codec;
    (void)wrap;
    (void)level;
    return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                       "gzip and zlib: levada was built without zlib (on Debian: apt install "
                       "zlib1g-dev)");
}

static void codec_missing_close(void **codec) { *codec = NULL; }

static levada_status codec_missing_reset(void *codec, levada_error *err)
{
    (void)codec;
    return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                       "gzip and zlib: levada was built without zlib (on Debian: apt install "
                       "zlib1g-dev)");
}

static levada_status codec_missing_run(void *codec, levada_filter_step *step, levada_error *err)
{
    (void)step;
    return codec_missing_reset(codec, err);
}

const levada_codec levada_codec_zlib_inflate = {
    .open = codec_missing_open,
    .close = codec_missing_close,
    .reset = codec_missing_reset,
    .run = codec_missing_run,
};

const levada_codec levada_codec_zlib_deflate = {
    .open = codec_missing_open,
    .close = codec_missing_close,
    .reset = codec_missing_reset,
    .run = codec_missing_run,
};
