/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void undoes_batches(void **state)
{
    static const char *const texts[] = {
        "t_rows:40 | batch:7 | unbatch",
        "t_rows:40 | select:[n, l, x] | batch:7 | unbatch | batch:3 | unbatch",
    };

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        t_bytes all = t_iter_all(k ? "t_rows:40 | select:[n, l, x]" : "t_rows:40", false);
        t_bytes got = t_iter_all(texts[k], false);

        t_bytes_equal(all, got, texts[k]);
        t_clear(&got);
        t_clear(&all);
    }
}

static void cuts_padding_off(void **state)
{
    t_bytes all = t_iter_all("t_rows:40 | select:[n, x, w, v]", false);
    t_bytes got = t_iter_all("t_rows:40 | select:[n, x, w, v] | padded_batch:7 | unbatch", false);

    (void)state;
    t_bytes_equal(all, got, "padded and cut");
    t_clear(&got);
    t_clear(&all);
}

static void splits_records(void **state)
{
    t_bytes       x = { 0 };
    levada_iter  *it = t_iter_open("t_rows:9 | select:[x] | unbatch | cast:x,dtype=int64", 1, 4);
    levada_iter  *in = t_iter_open("t_rows:9 | select:[x]", 1, 256);
    levada_block *block = NULL;
    int64_t       n = 0, *got = t_iter_numbers(it, "x", &n), k = 0;

    (void)state;
    (void)x;
    assert_int_equal(levada_iter_next(in, &block, NULL), LEVADA_OK);
    for (int64_t r = 0; r < levada_block_rows(block); r++) {
        const levada_column *c = levada_block_at(block, 0);

        for (int64_t t = c->level[0].begin[r]; t < c->level[0].end[r]; t++) {
            assert_int_equal(got[k++], levada_column_i32(c)[t]);
        }
    }
    assert_int_equal(k, n);
    free(got);
    levada_block_unref(&block);
    levada_iter_close(&in);
    levada_iter_close(&it);
    t_iter_refused("range:3 | unbatch", LEVADA_EINVALID_ARGUMENT, "cannot be split");
}

static void fields_must_agree(void **state)
{
    levada_iter *it = t_iter_open("t_rows:9 | select:[x, v] | unbatch", 1, 4);

    (void)state;
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "steps");
    levada_iter_close(&it);
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:30 | select:[n, x, w] | padded_batch:4 | unbatch", false, 1);
    t_iter_sweep("t_rows:20 | select:[w] | unbatch | shuffle:9", false, 3);
    t_iter_sweep("t_rows:20 | select:[z] | unbatch | shuffle:9 | batch:5", true, 3);
    t_iter_sweep("t_rows:20 | select:[v] | unbatch | batch:5", true, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undoes_batches),
        cmocka_unit_test(cuts_padding_off),
        cmocka_unit_test(splits_records),
        cmocka_unit_test(fields_must_agree),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
