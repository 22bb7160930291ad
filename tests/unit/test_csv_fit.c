/* SPDX-License-Identifier: Apache-2.0 */
/* CSV files with their columns in different orders. python/tests/test_csv_columns.py compares them
 * with Python. */
#include "conformance/fault.h"
#include "support/files.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *set_of_files(const char *options)
{
    static const char a[] = "id,s,x\n1,\"a,\"\"\",5\n2,b,6\n";
    static const char b[] = "x,tax,id,\"s\"\n7,0,3,c\n8,0,\"4\",\"d\ne\"\n8,0,5\n\"8\"9,0,5,\n";
    static const char c[] = "s,id\nf,5\n";
    static char       made[1024];

    t_write_file(t_path("a.csv"), a, sizeof a - 1);
    t_write_file(t_path("b.csv"), b, sizeof b - 1);
    t_write_file(t_path("c.csv"), c, sizeof c - 1);
    snprintf(made, sizeof made,
             "csv:%s,header=true,record_defaults={id:int64,x:{dtype:int32,default:-1},s:string},"
             "header_columns=any%s",
             t_path("?.csv"), options);
    return made;
}

/* The strings and the ids of all good records. */
static levada_status fit_read(levada_dataset *ds, t_bytes *out, levada_error *err)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it = NULL;
    levada_block       *block = NULL;
    levada_status       st;

    options.errors = "skip";
    options.threads = 1;
    st = levada_iter_open(ds, &options, &it, err);
    while (st == LEVADA_OK && (st = levada_iter_next(it, &block, err)) == LEVADA_OK) {
        for (int64_t i = 0; i < levada_block_rows(block); i++) {
            int64_t             row, size;
            const levada_block *at = levada_block_row(block, i, &row);
            const uint8_t *s = levada_column_bytes(levada_block_column(at, "s"), row, &size);
            char           text[64];

            t_add(out, text,
                  (size_t)snprintf(text, sizeof text, "%d:%d:%.*s;",
                                   (int)levada_column_i64(levada_block_column(at, "id"))[row],
                                   levada_column_i32(levada_block_column(at, "x"))[row], (int)size,
                                   (const char *)s));
        }
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    return st == LEVADA_END ? LEVADA_OK : st;
}

static const char expected[] = "1:5:a,\";2:6:b;3:7:c;4:8:d\ne;5:-1:f;";

static void memory_may_be_short_at_every_step(void **state)
{
    levada_error    err = LEVADA_ERROR_INIT;
    levada_dataset *ds = NULL;
    levada_status   st = LEVADA_ERESOURCE_EXHAUSTED;
    t_bytes         got = { 0 };

    (void)state;
    assert_int_equal(levada_dataset_parse(NULL, set_of_files(""), &ds, &err), LEVADA_OK);
    assert_int_equal(fit_read(ds, &got, &err), LEVADA_OK); /* the pool is filled */
    for (int64_t n = 0; st != LEVADA_OK; n++) {
        int64_t before = fault_live();

        got.size = 0;
        levada_error_clear(&err);
        fault_arm(n);
        st = fit_read(ds, &got, &err);
        fault_disarm();
        if (st != LEVADA_OK) fault_expect_short(st, &err);
        if (st != LEVADA_OK) fault_expect_live(before, n);
        assert_true(n < 5000);
    }
    t_add(&got, "", 1);
    assert_string_equal((char *)got.at, expected);
    t_clear(&got);
    levada_dataset_unref(&ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_may_be_short_at_every_step),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
