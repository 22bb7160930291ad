/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char CHUNK[] = "\2\0\0\0" "\20\0\0\0" "\36\0\0\0" "\51\0\0\0"
                            "\2\0\0\0" "\4\0\0\0" "hi" "\1\0\2\0"
                            "\1\0\0\0" "\2\0\0\0" "x" "\3\0";

static const char INDEX[] =
    "{\"chunks\":[{\"filename\":\"c.bin\"}],\"config\":{\"compression\":null,\"data_format\":"
    "[\"str\",\"no_header_tensor:%d\"],\"data_spec\":\"[1,{\\\"type\\\":\\\"builtins.dict\\\","
    "\\\"context\\\":\\\"[\\\\\\\"s\\\\\\\",\\\\\\\"n\\\\\\\"]\\\",\\\"children_spec\\\":[]}]\","
    "\"item_loader\":\"%s\"}}";

static const char *directory(int dtype, const char *loader)
{
    static char text[500];
    char        index[600];

    snprintf(index, sizeof index, INDEX, dtype, loader);
    t_write_file(t_path("index.json"), index, strlen(index));
    t_write_file(t_path("c.bin"), CHUNK, sizeof CHUNK - 1);
    snprintf(text, sizeof text, "litdata:%s", t_path(""));
    return text;
}

static void columns_come_from_index_json(void **state)
{
    levada_iter  *it = t_iter_open(directory(13, "PyTreeLoader"), 1, 256);
    levada_block *block = NULL;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_block_rows(block), 2);
    assert_memory_equal(levada_block_column(block, "s")->values, "hix", 3);
    assert_memory_equal(levada_block_column(block, "n")->values, ((int16_t[]){ 1, 2, 3 }), 6);
    levada_block_unref(&block);
    levada_iter_close(&it);
    t_iter_sweep(directory(13, "PyTreeLoader"), false, 1);
}

static void other_chunks_are_refused(void **state)
{
    (void)state;
    t_iter_refused(directory(13, "ParquetLoader"), LEVADA_EUNIMPLEMENTED, "ParquetLoader");
    t_iter_refused(directory(99, "PyTreeLoader"), LEVADA_EINVALID_ARGUMENT,
                   "'no_header_tensor:99'");
}

static void a_size_that_does_not_fit_is_rejected(void **state)
{
    char text[400];

    (void)state;
    (void)directory(13, "PyTreeLoader");
    snprintf(text, sizeof text, "litdata:%s,columns={s:str,n:\"values:int32\"}", t_path("c.bin"));
    assert_int_equal(t_iter_ends(t_iter_open(text, 1, 1), LEVADA_EDATA_LOSS,
                                  "column 'n' do not fit its encoding"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_come_from_index_json),
        cmocka_unit_test(other_chunks_are_refused),
        cmocka_unit_test(a_size_that_does_not_fit_is_rejected),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
