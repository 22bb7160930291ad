/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/cache_store.h"
#include "support/files.h"
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* `text` with the path of a file of that name in place of %s. */
static const char *with_path(const char *text, const char *name)
{
    static char made[4096];
    const char *at = strstr(text, "%s");

    assert_non_null(at);
    assert_true(snprintf(made, sizeof made, "%.*s%s%s", (int)(at - text), text, t_path(name),
                         at + 2) < (int)sizeof made);
    return made;
}

static bool exists(const char *name) { return access(t_path(name), F_OK) == 0; }

/* All numbers of a run, and how many. The caller frees them. */
static int64_t *read_all(const char *text, int32_t threads, int64_t *n)
{
    levada_iter *it = t_iter_open(text, threads, 7);
    int64_t     *got = t_iter_numbers(it, "value", n);

    levada_iter_close(&it);
    return got;
}

static void later_passes_return_the_first(void **state)
{
    const int64_t want[] = { 0, 1, 2, 0, 1, 2, 0, 1, 2 };

    (void)state;
    t_expect_i64("range:3 | cache | repeat:3", "value", want, 9);
    t_expect_i64("range:3 | repeat:2 | cache | take:3", "value", want, 3);
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        int64_t n = 0, *got = read_all("range:90 | map:{c:liar} | cache | repeat:3", threads, &n);

        assert_int_equal(n, 270);
        /* The function was not called again. */
        assert_memory_equal(got, got + 90, 90 * sizeof *got);
        assert_memory_equal(got, got + 180, 90 * sizeof *got);
        free(got);
    }
}

static void iterators_of_a_dataset_share_it(void **state)
{
    levada_dataset *ds = NULL;
    int64_t        *before = NULL;

    (void)state;
    assert_int_equal(levada_dataset_parse(t_iter_env(), "range:90 | map:{c:liar} | cache", &ds,
                                          NULL), LEVADA_OK);
    for (int32_t epoch = 0; epoch < 3; epoch++) {
        levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
        levada_iter        *it = NULL;
        int64_t             n = 0, *got;

        o.epoch = epoch;
        assert_int_equal(levada_iter_open(ds, &o, &it, NULL), LEVADA_OK);
        got = t_iter_numbers(it, "value", &n);
        assert_int_equal(n, 90);
        if (before) assert_memory_equal(got, before, 90 * sizeof *got);
        free(before);
        before = got;
        levada_iter_close(&it);
    }
    free(before);
    levada_dataset_unref(&ds);
}

static void a_file_is_reused_where_the_description_is_the_same(void **state)
{
    int64_t n = 0, *first, *second, *other;

    (void)state;
    first = read_all(with_path("range:90 | map:{c:liar} | cache:%s", "reused"), 4, &n);
    assert_true(exists("reused"));
    second = read_all(with_path("range:90 | map:{c:liar} | cache:%s", "reused"), 1, &n);
    assert_int_equal(n, 90);
    assert_memory_equal(first, second, 90 * sizeof *first);
    other = read_all(with_path("range:91 | map:{c:twice} | cache:%s", "reused"), 1, &n);
    assert_int_equal(n, 91);
    assert_int_equal(other[90], 180);
    free(first);
    free(second);
    free(other);
}

static void a_file_holds_every_kind_of_column(void **state)
{
    t_bytes plain, filled, again;

    (void)state;
    plain = t_iter_all("t_rows:60", false);
    filled = t_iter_all(with_path("t_rows:60 | cache:%s", "kinds"), false);
    again = t_iter_all(with_path("t_rows:60 | cache:%s", "kinds"), false);
    assert_int_equal(filled.size, plain.size);
    assert_memory_equal(filled.at, plain.at, plain.size);
    assert_int_equal(again.size, plain.size);
    assert_memory_equal(again.at, plain.at, plain.size);
    t_clear(&plain);
    t_clear(&filled);
    t_clear(&again);
}

static void a_pass_that_was_not_finished_leaves_no_file(void **state)
{
    levada_iter  *it = t_iter_open(with_path("range:90 | cache:%s", "half"), 1, 7);
    levada_block *block = NULL;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    levada_block_unref(&block);
    levada_iter_close(&it);
    assert_false(exists("half"));
}

/* Each byte changed, and each length: an error or the same records, and never other ones. */
static void damaged_files_are_errors(void **state)
{
    const char *text = with_path("range:20 | cache:%s", "damaged");
    int64_t     n = 0, *want = read_all(text, 1, &n);
    FILE       *file = fopen(t_path("damaged"), "rb");
    char        bytes[8192];
    size_t      size;

    (void)state;
    assert_non_null(file);
    size = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    assert_in_range(size, 100, sizeof bytes - 1);
    for (size_t i = 0; i < 2 * size; i++) {
        levada_dataset *ds = NULL;
        levada_iter    *it = NULL;
        levada_block   *block = NULL;
        levada_status   st;
        int64_t         seen = 0;
        size_t          flip = i % size;

        bytes[flip] ^= 4;
        file = fopen(t_path("damaged"), "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, i < size ? size : flip, file), i < size ? size : flip);
        (void)fclose(file);
        bytes[flip] ^= 4;
        assert_int_equal(levada_dataset_parse(t_iter_env(), text, &ds, NULL), LEVADA_OK);
        st = levada_iter_open(ds, NULL, &it, NULL);
        while (st == LEVADA_OK && (st = levada_iter_next(it, &block, NULL)) == LEVADA_OK) {
            for (int64_t k = 0; k < levada_block_rows(block); k++, seen++) {
                assert_int_equal(levada_column_i64(levada_block_at(block, 0))[k], want[seen]);
            }
            levada_block_unref(&block);
        }
        assert_true(st == LEVADA_EDATA_LOSS || (st == LEVADA_END && seen == n));
        levada_iter_close(&it);
        levada_dataset_unref(&ds);
    }
    free(want);
}

/* Puts the records of `from` into the cache of `text`, as its content. */
static void forge_cache(const char *name, const char *from)
{
    levada_iter         *it = t_iter_open(from, 1, 7);
    levada_cache_writer *w = NULL;
    levada_cache_store  *made = NULL;
    levada_block        *block = NULL;
    uint8_t              head[24];
    FILE                *file = fopen(t_path(name), "rb");

    assert_non_null(file);
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    (void)fclose(file);
    assert_int_equal(levada_cache_writer_create(t_iter_env(), t_path(name), head + 8, &w, NULL),
                     LEVADA_OK);
    while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        assert_int_equal(levada_cache_writer_add(w, block, NULL), LEVADA_OK);
        levada_block_unref(&block);
    }
    assert_int_equal(levada_cache_writer_finish(w, &made, NULL), LEVADA_OK);
    levada_cache_store_unref(&made);
    levada_cache_writer_destroy(&w);
    levada_iter_close(&it);
}

/* A file whose checksums are good but whose columns are those of another dataset. */
static void columns_of_another_dataset_are_errors(void **state)
{
    static const char *const kinds[] = {
        "range:20",
        "range:20 | cast:value,dtype=int32",
        "range:20 | rename:{value:x}",
        "range:20 | enumerate",
        "t_rows:20",
        "t_rows:20 | select:[n,l]",
        "t_rows:20 | select:[n,s]",
        "t_rows:20 | select:[n,x]",
        "t_rows:20 | select:[n,v]",
        "t_rows:20 | select:[n,w]",
        "t_rows:20 | select:[n,z]",
    };
    const size_t n = sizeof kinds / sizeof kinds[0];

    (void)state;
    for (size_t i = 0; i < n * n; i++) {
        char         text[256];
        t_outcome    o = { 0, LEVADA_ERROR_INIT };
        levada_iter *it;
        t_bytes      filled;

        (void)snprintf(text, sizeof text, "%s | cache:%%s", kinds[i / n]);
        filled = t_iter_all(with_path(text, "forged"), false);
        t_clear(&filled);
        forge_cache("forged", kinds[i % n]);
        it = t_iter_open(with_path(text, "forged"), 1, 7);
        assert_int_equal(t_iter_read_rest(it, &o),
                         i / n == i % n ? LEVADA_END : LEVADA_EDATA_LOSS);
        levada_iter_close(&it);
        assert_int_equal(unlink(t_path("forged")), 0);
    }
}

static int64_t number_at(t_bytes file, size_t at)
{
    int64_t value;

    memcpy(&value, file.at + at, sizeof value);
    return value;
}

/* The description does not say what the function returns: the first block does. */
static void blocks_have_the_columns_of_the_first(void **state)
{
    static const char *const texts[] = { "range:20 | map:{c:twice} | cache:%s",
                                         "range:20 | map:{c:half} | cache:%s" };
    t_bytes      good, other;
    size_t       index, at, end;
    levada_iter *it;

    (void)state;
    for (int i = 0; i < 2; i++) {
        t_outcome o = { 0, LEVADA_ERROR_INIT };

        it = t_iter_open(with_path(texts[i], i ? "halves" : "open"), 1, 7);
        assert_int_equal(t_iter_read_rest(it, &o), LEVADA_END);
        levada_iter_close(&it);
    }
    good = t_read_file(t_path("open"));
    other = t_read_file(t_path("halves"));
    assert_int_equal(good.size, other.size); /* columns of the same size */
    index = (size_t)number_at(good, good.size - 28);
    assert_int_equal(number_at(good, good.size - 20), 3);
    at = (size_t)number_at(good, index + 16);
    end = (size_t)number_at(good, index + 32);
    memcpy(good.at + at, other.at + at, end - at);
    t_write_file(t_path("open"), good.at, good.size);
    it = t_iter_open(with_path(texts[0], "open"), 1, 7);
    t_iter_fails(it, LEVADA_EDATA_LOSS, "the cache is damaged: block 1");
    levada_iter_close(&it);
    t_clear(&good);
    t_clear(&other);
}

static void a_fifo_is_refused(void **state)
{
    levada_dataset *ds = NULL;
    levada_iter    *it = NULL;
    levada_error    err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(mkfifo(t_path("fifo"), 0600), 0);
    assert_int_equal(levada_dataset_parse(t_iter_env(), with_path("range:5 | cache:%s", "fifo"),
                                          &ds, NULL), LEVADA_OK);
    assert_int_equal(levada_iter_open(ds, NULL, &it, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "must be a regular file"));
    levada_dataset_unref(&ds);
}

static void refuses_what_would_not_change_between_epochs(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;
    levada_dataset *ds = NULL;
    levada_iter    *it = NULL;

    (void)state;
    assert_int_equal(levada_dataset_parse(t_iter_env(), "range:9 | shuffle:3 | take:5 | cache", &ds,
                                          NULL), LEVADA_OK);
    assert_int_equal(levada_iter_open(ds, NULL, &it, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "write it upstream of 'shuffle'"));
    levada_dataset_unref(&ds);
    t_iter_refused("range:9 | batch:2 | cache:a", LEVADA_EINVALID_ARGUMENT, "not batches");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("range:30 | map:{c:twice} | cache | repeat:2 | shuffle:5 | batch:4", true, 1);
    t_iter_sweep("range:20 | batch:3 | cache | repeat:3", true, 1);
    t_iter_sweep("range:30 | filter:\"value != 3\" | repeat:2 | cache | repeat:2", false, 1);
    t_iter_sweep(with_path("range:30 | map:{c:twice} | cache:%s | repeat:2", "swept"), false, 1);
    t_iter_sweep(with_path("range:30 | map:{c:twice} | cache:%s | repeat:2", "swept"), false, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_passes_return_the_first),
        cmocka_unit_test(iterators_of_a_dataset_share_it),
        cmocka_unit_test(a_file_is_reused_where_the_description_is_the_same),
        cmocka_unit_test(a_file_holds_every_kind_of_column),
        cmocka_unit_test(a_pass_that_was_not_finished_leaves_no_file),
        cmocka_unit_test(damaged_files_are_errors),
        cmocka_unit_test(columns_of_another_dataset_are_errors),
        cmocka_unit_test(blocks_have_the_columns_of_the_first),
        cmocka_unit_test(a_fifo_is_refused),
        cmocka_unit_test(refuses_what_would_not_change_between_epochs),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, t_functions_set_up, t_folder_tear_down);
}
