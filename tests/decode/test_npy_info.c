/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/pictures.h"

static const char array[] =
    "\x93NUMPY\2\0\x3a\0\0\0{'descr': '<f4', 'fortran_order': False, 'shape': (1,2)}  ABCDEFGH";

static void tells_dtype_and_shape(void **state)
{
    levada_block        *b = t_picture("npy_info", "{}", array, sizeof array - 1);
    const levada_column *shape = levada_block_column(b, "shape");
    int64_t              size = 0;
    const uint8_t       *name = levada_column_bytes(levada_block_column(b, "dtype"), 0, &size);

    (void)state;
    assert_int_equal(size, 7);
    assert_memory_equal(name, "float32", 7);
    assert_int_equal(levada_column_length(shape, 0), 2);
    assert_int_equal(levada_column_i64(shape)[1], 2);
    levada_block_unref(&b);
    t_picture_refused("npy_info", "{}", array, 40, LEVADA_EDATA_LOSS, "truncated");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(tells_dtype_and_shape) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
