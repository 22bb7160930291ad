/* SPDX-License-Identifier: Apache-2.0 */
/* Without ISA-L zlib does everything. */
#include "io/inflate.h"

const levada_codec *const levada_codec_inflate = &levada_codec_zlib_inflate;
const levada_codec *const levada_codec_deflate = &levada_codec_zlib_deflate;
