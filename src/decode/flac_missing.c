/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in for libFLAC where the build did not find it. */
#include "decode/sound.h"

levada_status levada_flac_decode(levada_sound_tools *tools, const levada_sound_options *o,
                                 bool md5, const uint8_t *data, int32_t size, levada_sound *out,
                                 levada_error *why)
{
    (void)tools, (void)o, (void)md5, (void)data, (void)size, (void)out;
    return levada_fail(why, LEVADA_EUNIMPLEMENTED,
                       "FLAC: levada was built without libFLAC (on Debian: apt install "
                       "libflac-dev)");
}

void levada_flac_close(struct levada_flac **tool) { *tool = NULL; }
