/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in for libpng where the build did not find it. */
#include "decode/picture.h"

levada_status levada_png_decode(const levada_picture_options *o, const uint8_t *data, int32_t size,
                                const levada_picture *picture,
                                const levada_picture_window *window, uint8_t *pixels,
                                levada_error *why)
{
    (void)o, (void)data, (void)size, (void)picture, (void)window, (void)pixels;
    return levada_fail(why, LEVADA_EUNIMPLEMENTED,
                       "PNG: levada was built without libpng (on Debian: apt install libpng-dev)");
}
