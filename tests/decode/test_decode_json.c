/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/pictures.h"

static const char row[] = "{\"id\":7,\"tokens\":[5,6],\"meta\":{\"lang\":\"pt\"},\"score\":0.5}";

static void fields_become_columns(void **state)
{
    levada_block *b = t_picture("decode_json",
                                "{fields:{id:int32,tokens:[int64],lang:{dtype:string,path:"
                                "meta.lang},score:float64,left:{dtype:int64,default:-1}}}",
                                row, strlen(row));
    const levada_column *c = levada_block_column(b, "tokens");
    int64_t              size = 0;

    (void)state;
    assert_int_equal(levada_column_i32(levada_block_column(b, "id"))[0], 7);
    assert_int_equal(levada_column_length(c, 0), 2);
    assert_int_equal(levada_column_i64(c)[1], 6);
    assert_memory_equal(levada_column_bytes(levada_block_column(b, "lang"), 0, &size), "pt", 2);
    assert_int_equal(size, 2);
    assert_true(levada_column_f64(levada_block_column(b, "score"))[0] == 0.5);
    assert_int_equal(levada_column_i64(levada_block_column(b, "left"))[0], -1);
    levada_block_unref(&b);
}

static void what_is_no_object_is_refused(void **state)
{
    static const char *const options = "{fields:{id:int32}}";

    (void)state;
    t_picture_refused("decode_json", options, "", 0, LEVADA_EINVALID_ARGUMENT, "invalid JSON");
    t_picture_refused("decode_json", options, "[1]", 3, LEVADA_EINVALID_ARGUMENT,
                      "a record must be an object");
    t_picture_refused("decode_json", options, "{\"id\":\"7\"}", 10, LEVADA_EINVALID_ARGUMENT,
                      "field 'id' is not int32");
    t_picture_refused("decode_json", options, "{\"id\":1}{", 9, LEVADA_EINVALID_ARGUMENT,
                      "invalid JSON");
    t_picture_refused("decode_json", options, "{\"id\":2147483648}", 17, LEVADA_EINVALID_ARGUMENT,
                      "field 'id' is not int32");
    for (size_t n = 1; n < strlen(row); n++) {
        t_picture_refused("decode_json", options, row, n, LEVADA_EINVALID_ARGUMENT,
                          "invalid JSON");
    }
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    t_picture_refused("decode_json", "{}", row, strlen(row), LEVADA_EINVALID_ARGUMENT, "fields");
    t_picture_refused("decode_json", "{fields:{}}", row, strlen(row), LEVADA_EINVALID_ARGUMENT,
                      "names and dtypes");
    t_picture_refused("decode_json", "{fields:null}", row, strlen(row), LEVADA_EINVALID_ARGUMENT,
                      "fields");
    t_picture_refused("decode_json", "{fields:{id:int8}}", row, strlen(row),
                      LEVADA_EINVALID_ARGUMENT, "dtype 'int8'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_become_columns),
        cmocka_unit_test(what_is_no_object_is_refused),
        cmocka_unit_test(wrong_options_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
