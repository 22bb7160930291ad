/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/pictures.h"

static uint8_t bytes[4096];

/* An array of version 1 with this header and n bytes of values: 0, 1, 2, ... Returns its size. */
static size_t npy(const char *header, size_t n)
{
    size_t size = strlen(header);

    memcpy(bytes, "\x93NUMPY\1\0", 8);
    bytes[8] = (uint8_t)size;
    bytes[9] = (uint8_t)(size >> 8);
    memcpy(bytes + 10, header, size);
    for (size_t i = 0; i < n; i++) bytes[10 + size + i] = (uint8_t)i;
    return 10 + size + n;
}

static size_t npy_of(const char *descr, const char *order, const char *shape, size_t n)
{
    char header[256];

    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }  \n",
             descr, order, shape);
    return npy(header, n);
}

static void values_have_the_order_of_c(void **state)
{
    static const uint8_t columns[] = { 0, 2, 4, 1, 3, 5 };
    static const uint8_t swapped[] = { 1, 0, 3, 2 };
    levada_block        *b;

    (void)state;
    b = t_picture("decode_npy", "{dtype:uint8,shape:[2,3]}", bytes,
                  npy_of("|u1", "True", "(2, 3)", 6));
    assert_memory_equal(levada_block_at(b, 0)->values, columns, 6);
    levada_block_unref(&b);
    b = t_picture("decode_npy", "{dtype:int16}", bytes, npy_of(">i2", "False", "(2,)", 4));
    assert_memory_equal(levada_block_at(b, 0)->values, swapped, 4);
    levada_block_unref(&b);
    b = t_picture("decode_npy", "{dtype:complex64,shape:[1]}", bytes,
                  npy_of(">c8", "False", "()", 8));
    assert_memory_equal(levada_block_at(b, 0)->values, "\3\2\1\0\7\6\5\4", 8);
    levada_block_unref(&b);
}

static void leading_sizes_may_differ(void **state)
{
    levada_block *b = t_picture("decode_npy", "{dtype:uint8,shape:[-1,-1,2]}", bytes,
                                npy_of("|u1", "False", "(3, 2, 2)", 12));
    const levada_column *c = levada_block_at(b, 0);

    (void)state;
    assert_int_equal(c->field->depth, 2);
    assert_int_equal(c->level[0].end[0], 3);
    assert_int_equal(c->level[1].end[2], 6);
    levada_block_unref(&b);
    b = t_picture("decode_npy", "{dtype:float32,shape:[-1,80]}", bytes,
                  npy_of("<f4", "False", "(0, 80)", 0));
    assert_int_equal(levada_block_at(b, 0)->level[0].end[0], 0);
    levada_block_unref(&b);
}

static void refused(const char *options, const char *header, size_t n, levada_status st,
                    const char *part)
{
    t_picture_refused("decode_npy", options, bytes, npy(header, n), st, part);
}

static void hostile_headers_are_refused(void **state)
{
    static const char *const damaged[] = {
        "{'descr': '<i2', 'fortran_order': False, 'shape': (3,)",
        "{'descr': '<i2', 'fortran_order': False}",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), 'more': 1}",
        "{'descr': '<i2', 'descr': '<i2', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<i2', 'fortran_order': maybe, 'shape': (3,)}",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (3)}",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (3,)} + 1",
        "__import__('os')", "{", "", "{'descr': 'a very long name of a dtype'}",
    };
    levada_status damage = LEVADA_EDATA_LOSS, not_ours = LEVADA_EINVALID_ARGUMENT;

    (void)state;
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        refused("{dtype:int16}", damaged[i], 6, damage, ".npy header");
    refused("{dtype:int16}", "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", 8, not_ours,
            "'|O'");
    refused("{dtype:int16}", "{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (1,)}", 2,
            not_ours, "structures");
    refused("{dtype:int16,shape:[-1,-1,-1]}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (2000000000,2000000000,2000000000)}",
            8, damage, "bytes of values");
    refused("{dtype:int16,shape:[-1,-1]}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (2000000000,0)}", 0,
            LEVADA_ERESOURCE_EXHAUSTED, "without values");
}

static void what_does_not_fit_is_told(void **state)
{
    static const char *const three = "{'descr': '<i2', 'fortran_order': False, 'shape': (3,)}";

    (void)state;
    refused("{dtype:int32}", three, 6, LEVADA_EINVALID_ARGUMENT, "int16, expected dtype=int32");
    refused("{dtype:int16,shape:[4]}", three, 6, LEVADA_EINVALID_ARGUMENT, "dimension 0 is 3");
    refused("{dtype:int16,shape:[-1,2]}", three, 6, LEVADA_EINVALID_ARGUMENT,
            "1 dimensions, expected 2");
    refused("{dtype:int16}", three, 5, LEVADA_EDATA_LOSS, "5 bytes of values");
    refused("{dtype:int16}", three, 7, LEVADA_EDATA_LOSS, "7 bytes of values");
    refused("{dtype:string}", three, 6, LEVADA_EINVALID_ARGUMENT, "dtype=string");
    refused("{dtype:int16,shape:[2,-1]}", three, 6, LEVADA_EINVALID_ARGUMENT, "shape");
    t_picture_refused("decode_npy", "{dtype:int16}", "", 0, LEVADA_EINVALID_ARGUMENT,
                      "not a .npy array");
    t_picture_refused("decode_npy", "{dtype:int16}", "\x93NUMPY\4\0....", 12,
                      LEVADA_EINVALID_ARGUMENT, "version 4.0");
}

static void every_cut_is_refused(void **state)
{
    size_t size = npy_of("<i2", "False", "(3,)", 6);

    (void)state;
    for (size_t n = 8; n < size; n++)
        t_picture_refused("decode_npy", "{dtype:int16}", bytes, n, LEVADA_EDATA_LOSS, ".npy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_have_the_order_of_c),
        cmocka_unit_test(leading_sizes_may_differ),
        cmocka_unit_test(hostile_headers_are_refused),
        cmocka_unit_test(what_does_not_fit_is_told),
        cmocka_unit_test(every_cut_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
