/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stages do with their input beyond next(): peek, and blocks that the consumer feeds back.
 */
#include "support/files.h"
#include "support/iters.h"
#include "support/register.h"

#include <levada/stage.h>

#define LEVADA_PLUGIN_HOST_SIDE
#include <levada/plugin.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const levada_arg no_options[] = { LEVADA_ARG_END };

/* -- t_sum: after each block it waits for one from the consumer, and counts what it is fed --------
 */

typedef struct sum_state {
    int64_t fed;
    bool    waits;
} sum_state;

static levada_status sum_next(void *state, const void *args, levada_input *in, levada_block **out,
                              levada_error *err)
{
    sum_state *s = state;

    (void)args;
    if (s->waits) return LEVADA_AGAIN;
    LEVADA_TRY(levada_input_next(in, out, err));
    s->waits = true;
    return LEVADA_OK;
}

static levada_status sum_feed(void *state, const void *args, const levada_block *back,
                              levada_error *err)
{
    sum_state *s = state;

    (void)args;
    if (!s->waits) return levada_fail(err, LEVADA_EFAILED_PRECONDITION, "it does not wait");
    s->waits = false;
    s->fed += levada_block_rows(back);
    return LEVADA_OK;
}

static levada_status sum_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const sum_state *s = state;

    LEVADA_TRY(levada_state_put_i64(to, "waits", s->waits, err));
    return levada_state_put_i64(to, "fed", s->fed, err);
}

static levada_status sum_restore(void *state, levada_state_reader *from, levada_error *err)
{
    sum_state *s = state;
    int64_t    waits;

    LEVADA_TRY(levada_state_get_count(from, "waits", 1, &waits, err));
    s->waits = waits;
    return levada_state_get_i64(from, "fed", &s->fed, err);
}

static levada_status sum_feeds(const void *args, levada_spec **out, levada_error *err)
{
    levada_field field = { .name = "value", .dtype = LEVADA_INT64 };

    (void)args;
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

static const levada_stage_def sum_def = {
    .struct_size = sizeof(levada_stage_def),
    .name = "t_sum",
    .doc = "blocks that the consumer answers",
    .example = "range:3 | t_sum",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
    .args = no_options,
    .state_size = sizeof(sum_state),
    .state_version = 1,
    .next = sum_next,
    .core = LEVADA_STAGE_CORE(.feeds = sum_feeds, .feed = sum_feed),
    .save = sum_save,
    .restore = sum_restore,
};

/* -- t_peek: looks at each block twice, and answers AGAIN before it takes it --------------------
 */

typedef struct peek_state {
    bool looked;
} peek_state;

static levada_status peek_next(void *state, const void *args, levada_input *in, levada_block **out,
                               levada_error *err)
{
    peek_state         *s = state;
    const levada_block *one = NULL, *other = NULL;

    (void)args;
    LEVADA_TRY(levada_input_peek(in, &one, err));
    LEVADA_TRY(levada_input_peek(in, &other, err));
    if (one != other) return levada_fail(err, LEVADA_EINTERNAL, "another block");
    s->looked = !s->looked;
    if (s->looked) return LEVADA_AGAIN;
    LEVADA_TRY(levada_input_next(in, out, err));
    return *out == one ? LEVADA_OK : levada_fail(err, LEVADA_EINTERNAL, "not what was seen");
}

static levada_status peek_save(const void *state, levada_state_writer *to, levada_error *err)
{
    return levada_state_put_i64(to, "looked", ((const peek_state *)state)->looked, err);
}

static levada_status peek_restore(void *state, levada_state_reader *from, levada_error *err)
{
    int64_t looked;

    LEVADA_TRY(levada_state_get_count(from, "looked", 1, &looked, err));
    ((peek_state *)state)->looked = looked;
    return LEVADA_OK;
}

static const levada_stage_def peek_def = {
    .struct_size = sizeof(levada_stage_def),
    .name = "t_peek",
    .doc = "blocks that are looked at first",
    .example = "range:3 | t_peek",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
    .args = no_options,
    .state_size = sizeof(peek_state),
    .state_version = 1,
    .next = peek_next,
    .save = peek_save,
    .restore = peek_restore,
};

static levada_status feed_main(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "feed", 1);
    return host->add_stage(plugin, &peek_def, err);
}

static int set_up(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    if (levada_plugin_register(t_iter_env(), feed_main, NULL, &err) == LEVADA_OK &&
        t_register(t_iter_env(), LEVADA_FAMILY_STAGE, &sum_def, NULL, &err) == LEVADA_OK) {
        return 0;
    }
    print_error("%s\n", err.message);
    return -1;
}

/* -- feeding ----------------------------------------------------------------------------------- */

/* Reads all that is left, answering each block; returns the records. */
static int64_t answer_all(levada_iter *it)
{
    levada_block *block = NULL;
    int64_t       rows = 0;
    levada_status st;

    while ((st = levada_iter_next(it, &block, NULL)) == LEVADA_OK) {
        levada_block *early = NULL;

        assert_int_equal(levada_iter_next(it, &early, NULL), LEVADA_AGAIN); /* none is read ahead */
        assert_null(early);
        assert_int_equal(levada_iter_feed(it, block, NULL), LEVADA_OK);
        rows += levada_block_rows(block);
        levada_block_unref(&block);
    }
    assert_int_equal(st, LEVADA_END);
    return rows;
}

static void each_block_waits_for_its_answer(void **state)
{
    const char *const texts[] = { "range:100 | t_sum", "range:100 | t_sum | filter:\"value >= 0\"",
                                  "range:100 | filter:\"value >= 0\" | prefetch:4 | t_sum" };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int32_t threads = 1; threads <= 4; threads += 3) {
            levada_iter *it = t_iter_open(texts[i], threads, 7);

            assert_int_equal(answer_all(it), 100);
            levada_iter_close(&it);
        }
    }
}

static void what_was_fed_is_part_of_the_state(void **state)
{
    const char   *text = "range:100 | t_sum | filter:\"value >= 0\"";
    levada_iter  *it = t_iter_open(text, 4, 7), *other = t_iter_open(text, 1, 7);
    levada_block *block = NULL;
    t_bytes       waits, fed;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    waits = t_iter_save(it);
    assert_int_equal(levada_iter_feed(it, block, NULL), LEVADA_OK);
    fed = t_iter_save(it);

    t_iter_restore(other, waits);
    assert_int_equal(levada_iter_feed(other, block, NULL), LEVADA_OK);
    assert_int_equal(answer_all(other), 93);
    t_iter_restore(other, fed);
    assert_int_equal(answer_all(other), 93);
    levada_block_unref(&block);
    t_clear(&waits);
    t_clear(&fed);
    levada_iter_close(&it);
    levada_iter_close(&other);
}

static void errors_of_feeding_name_the_stage(void **state)
{
    levada_iter  *it = t_iter_open("range:100 | t_sum | filter:\"value >= 0\"", 4, 7);
    levada_iter  *plain = t_iter_open("range:100 | shuffle:3 | filter:\"value >= 0\"", 1, 7);
    levada_block *block = NULL;
    levada_error  err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_iter_feed(plain, block, &err), LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message,
                        "'shuffle' accepts no blocks back; only unroll with layout=ready does");
    assert_int_equal(levada_iter_feed(it, block, NULL), LEVADA_OK);
    levada_error_clear(&err);
    assert_int_equal(levada_iter_feed(it, block, &err), LEVADA_EFAILED_PRECONDITION);
    assert_string_equal(err.stage, "1.t_sum");
    levada_block_unref(&block);
    assert_int_equal(answer_all(it), 93); /* it continues */
    levada_iter_close(&it);
    levada_iter_close(&plain);
}

static void nothing_between_keeps_records(void **state)
{
    (void)state;
    t_iter_refused("range:9 | t_sum | batch:2", LEVADA_EINVALID_ARGUMENT, "'batch' cannot follow");
    t_iter_refused("range:9 | t_sum | prefetch:2", LEVADA_EINVALID_ARGUMENT,
                   "'prefetch' cannot follow 't_sum'");
    t_iter_refused("concat(range:9 | t_sum; range:3)", LEVADA_EINVALID_ARGUMENT,
                   "'concat' cannot follow 't_sum'");
}

/* -- peeking ----------------------------------------------------------------------------------- */

static void what_was_peeked_at_comes_next(void **state)
{
    const char *const texts[] = { "t_rows:60 | t_peek", "t_stream:60 | shuffle:9 | t_peek" };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int32_t threads = 1; threads <= 4; threads += 3) {
            levada_iter  *it = t_iter_open(texts[i], threads, 7);
            levada_iter  *other = t_iter_open(texts[i], 1, 7);
            levada_block *block = NULL;
            levada_status st;
            int64_t       rows = 0;

            while ((st = levada_iter_next(it, &block, NULL)) != LEVADA_END) {
                t_bytes saved = t_iter_save(it);

                assert_true(st == LEVADA_OK || st == LEVADA_AGAIN);
                if (block) rows += levada_block_rows(block);
                levada_block_unref(&block);
                t_iter_restore(other, saved); /* with the block that was looked at */
                t_clear(&saved);
                st = levada_iter_next(other, &block, NULL);
                if (st == LEVADA_AGAIN) st = levada_iter_next(other, &block, NULL);
                assert_true(st == LEVADA_OK || rows == 60);
                levada_block_unref(&block);
            }
            assert_int_equal(rows, 60);
            assert_int_equal(t_iter_stat(it, "records"), 60);
            levada_iter_close(&it);
            levada_iter_close(&other);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_block_waits_for_its_answer),
        cmocka_unit_test(what_was_fed_is_part_of_the_state),
        cmocka_unit_test(errors_of_feeding_name_the_stage),
        cmocka_unit_test(nothing_between_keeps_records),
        cmocka_unit_test(what_was_peeked_at_comes_next),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
