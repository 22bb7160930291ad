/* SPDX-License-Identifier: Apache-2.0 */
#include "support/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static levada_status pictures_decode(const char *decoder, const char *options, const void *data,
                                     size_t size, levada_block **out, levada_error *err)
{
    levada_value *value = NULL;
    levada_status st;

    assert_int_equal(levada_value_parse(options, &value, err), LEVADA_OK);
    st = levada_decode_strings(NULL, decoder, value, &data, &size, 1, out, err);
    levada_value_destroy(&value);
    if (st == LEVADA_EUNIMPLEMENTED) {
        print_message("%s\n", err->message);
        skip();
    }
    return st;
}

levada_block *t_picture(const char *decoder, const char *options, const void *data, size_t size)
{
    levada_block *block = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st = pictures_decode(decoder, options, data, size, &block, &err);

    if (st != LEVADA_OK) fail_msg("%s: %s", decoder, err.message);
    return block;
}

void t_picture_refused(const char *decoder, const char *options, const void *data, size_t size,
                       levada_status st, const char *part)
{
    levada_block *block = NULL;
    levada_error  err = LEVADA_ERROR_INIT;

    assert_int_equal(pictures_decode(decoder, options, data, size, &block, &err), st);
    if (!strstr(err.message, part)) fail_msg("'%s' is not in '%s'", part, err.message);
}
