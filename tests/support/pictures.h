/* SPDX-License-Identifier: Apache-2.0 */
/* Images and sounds through decoders; a library that is not built in skips the test. */
#ifndef LEVADA_TEST_PICTURES_H
#define LEVADA_TEST_PICTURES_H

#include <levada/levada.h>

/* A block of that string, decoded. The caller owns it. */
levada_block *t_picture(const char *decoder, const char *options, const void *data, size_t size);
/* The string is refused with that status and a message that contains `part`. */
void t_picture_refused(const char *decoder, const char *options, const void *data, size_t size,
                       levada_status st, const char *part);

#endif
