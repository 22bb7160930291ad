/* SPDX-License-Identifier: Apache-2.0 */
/* Without ISA-L zlib inflates. */
#include "io/inflate.h"

const levada_codec *const levada_codec_inflate = &levada_codec_zlib_inflate;
