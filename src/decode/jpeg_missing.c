/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in for libjpeg-turbo where the build did not find it. */
#include "decode/picture.h"

levada_status levada_jpeg_decode(struct levada_jpeg **tool, const levada_picture_options *o,
                                 const uint8_t *data, int32_t size,
                                 const levada_picture *picture,
                                 const levada_picture_window *window, uint8_t *pixels,
                                 levada_error *why)
{
    (void)tool, (void)o, (void)data, (void)size, (void)picture, (void)window, (void)pixels;
    return levada_fail(why, LEVADA_EUNIMPLEMENTED,
                       "JPEG: levada was built without libjpeg-turbo (on Debian: apt install "
                       "libjpeg62-turbo-dev)");
}

void levada_jpeg_close(struct levada_jpeg **tool) { *tool = NULL; }
