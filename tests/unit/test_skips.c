/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was skipped, over a restore: the statistics go on from what they were, and a share of the
 * records ends at the same record whatever threads and block sizes do and wherever a run was cut.
 */
#include "registry/env_priv.h"
#include "skip/skips.h"
#include "support/codec.h"
#include "support/functions.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Reads at most `blocks` blocks, -1 = all. */
static levada_status read_blocks(levada_iter *it, int blocks, levada_error *err)
{
    levada_status st = LEVADA_OK;

    while (st == LEVADA_OK && blocks--) {
        levada_block *block = NULL;

        st = levada_iter_next(it, &block, err);
        levada_block_unref(&block);
    }
    return st;
}

/* -- statistics */

static const char *const counted[] = { "skipped_records", "damaged_bytes", "missing_files",
                                       "empty_files" };
#define COUNTED (int)(sizeof counted / sizeof *counted)

typedef struct summary {
    int64_t counts[COUNTED];
    char   *json; /* owned; problems points into it */
    char   *problems;
} summary;

static summary summary_of(levada_iter *it)
{
    summary s = { 0 };

    for (int i = 0; i < COUNTED; i++) s.counts[i] = t_iter_stat(it, counted[i]);
    assert_int_equal(levada_iter_stats(it, &s.json, NULL), LEVADA_OK);
    s.problems = strstr(s.json, "\"problems\"");
    assert_non_null(s.problems);
    return s;
}

static void summary_clear(summary *s) { levada_string_free(&s->json); }

static int count_of(const char *text, const char *part)
{
    int n = 0;

    for (text = strstr(text, part); text; text = strstr(text + 1, part)) n++;
    return n;
}

/* Threads that read ahead note what they find in another order: each cause must be there. */
static void same_summary(const summary *got, const summary *want, bool in_order)
{
    for (int i = 0; i < COUNTED; i++) assert_int_equal(got->counts[i], want->counts[i]);
    if (in_order) {
        assert_string_equal(got->problems, want->problems);
        return;
    }
    assert_int_equal(strlen(got->problems), strlen(want->problems));
    assert_int_equal(count_of(got->problems, "\"stage\""), count_of(want->problems, "\"stage\""));
    for (const char *at = want->problems; (at = strstr(at, "{\"stage\"")); at++) {
        char   one[1024];
        size_t n = strcspn(at, "}");

        assert_true(n < sizeof one);
        memcpy(one, at, n);
        one[n] = '\0';
        assert_int_equal(count_of(got->problems, one), count_of(want->problems, one));
    }
}

/* At each block: a state restored into another iterator has the statistics at once (one thread:
 * there is nothing that was read ahead), and those of a run in one piece at the end. */
static void goes_on(const char *text)
{
    levada_iter  *whole = t_iter_open_policy(text, "skip", 1, 3);
    summary       want;
    levada_status st = LEVADA_OK;

    assert_int_equal(read_blocks(whole, -1, NULL), LEVADA_END);
    want = summary_of(whole);
    assert_true(count_of(want.problems, "\"stage\"") > 1);
    for (int cut = 0; st == LEVADA_OK; cut++) {
        for (int32_t threads = 1; threads <= 4; threads += 3) {
            levada_iter *it = t_iter_open_policy(text, "skip", threads, 3);
            levada_iter *other = t_iter_open_policy(text, "skip", threads, 3);
            t_bytes      saved;
            summary      before, after;

            st = read_blocks(it, cut, NULL);
            saved = t_iter_save(it);
            before = summary_of(it);
            t_iter_restore(other, saved);
            after = summary_of(other);
            if (threads == 1) same_summary(&after, &before, true);
            summary_clear(&before);
            summary_clear(&after);
            assert_int_equal(read_blocks(other, -1, NULL), LEVADA_END);
            after = summary_of(other);
            same_summary(&after, &want, threads == 1);
            summary_clear(&after);
            t_clear(&saved);
            levada_iter_close(&it);
            levada_iter_close(&other);
        }
    }
    summary_clear(&want);
    levada_iter_close(&whole);
}

static void write_words(const char *name, int n, int damaged)
{
    t_bytes file = { 0 };
    char    word[16];

    t_add(&file, NULL, 0);
    for (int i = 0; i < n; i++) {
        t_add_record(&file, word, (size_t)snprintf(word, sizeof word, "%02d", i));
        if (i == damaged) file.at[file.size - 5] ^= 1;
    }
    t_write_file(t_path(name), file.at, file.size);
    t_clear(&file);
}

/* A good file, none, an empty one, and one with a damaged record. */
static char *files(const char *before, const char *behind)
{
    static char text[2048];

    write_words("good", 10, -1);
    write_words("empty", 0, -1);
    write_words("bad", 10, 4);
    (void)snprintf(text, sizeof text, "%s[\"%s\",\"%s\",\"%s\",\"%s\"]%s", before, t_path("good"),
                   t_path("gone"), t_path("empty"), t_path("bad"), behind);
    return text;
}

static void statistics_of_files_go_on(void **state)
{
    (void)state;
    goes_on(files("tfrecord:", ""));
    goes_on(files("tfrecord:", " | shuffle:5 | batch:2"));
    goes_on(files("tfrecord:", " | repeat:2"));
    goes_on(files("concat(tfrecord:", "; tfrecord:x)"));
}

static void statistics_of_stages_go_on(void **state)
{
    (void)state;
    goes_on("range:40 | map:{c:picky}");
    goes_on("range:40 | call:{c:picky} | batch:3");
    goes_on("range:40 | map:{c:picky} | shuffle:7 | map:{c:picky} | batch:4");
    goes_on("t_rows:40,lengths=[3,9,2,1],bare=true | bucket_by_sequence_length:x,boundaries=[],"
            "max_tokens=8");
}

static void statistics_of_an_interleave_go_on(void **state)
{
    char text[1024];

    (void)state;
    write_words("good", 10, -1);
    write_words("empty", 0, -1);
    write_words("bad", 10, 4);
    (void)snprintf(text, sizeof text,
                   "files:[\"%s\",\"%s\",\"%s\",\"%s\"] | interleave:(tfrecord:\"{path}\"),"
                   "cycle_length=2",
                   t_path("bad"), t_path("good"), t_path("empty"), t_path("bad"));
    goes_on(text);
}

static void causes_are_bounded(void **state)
{
    levada_iter *it = t_iter_open_policy("range:2000 | map:{c:picky}", "skip", 1, 7);
    levada_iter *other = t_iter_open_policy("range:2000 | map:{c:picky}", "skip", 1, 7);
    t_bytes      saved, again;
    summary      s;

    (void)state;
    assert_int_equal(read_blocks(it, 200, NULL), LEVADA_OK);
    saved = t_iter_save(it);
    assert_true(saved.size < 32 * 1024);
    t_iter_restore(other, saved);
    assert_int_equal(read_blocks(other, -1, NULL), LEVADA_END);
    s = summary_of(other);
    assert_int_equal(s.counts[0], 400);
    assert_int_equal(count_of(s.problems, "\"stage\""), 64);
    assert_non_null(strstr(s.problems, "\"record\":315,"));
    again = t_iter_save(other);
    assert_true(again.size < 32 * 1024);
    summary_clear(&s);
    t_clear(&saved);
    t_clear(&again);
    levada_iter_close(&it);
    levada_iter_close(&other);
}

static void good_runs_save_nothing_of_it(void **state)
{
    levada_iter *it = t_iter_open_policy("range:20 | map:{c:twice}", "skip", 1, 7);
    t_bytes      saved;

    (void)state;
    assert_int_equal(read_blocks(it, 1, NULL), LEVADA_OK);
    saved = t_iter_save(it);
    assert_null(memmem(saved.at, saved.size, "skips", 5));
    assert_null(memmem(saved.at, saved.size, "problems", 8));
    t_clear(&saved);
    levada_iter_close(&it);
}

static void sign(t_bytes *state)
{
    uint32_t crc = levada_env_kernels(NULL)->crc32c(0, state->at, state->size - 4);

    for (size_t i = 0; i < 4; i++) state->at[state->size - 4 + i] = (uint8_t)(crc >> (8 * i));
}

/* With a checksum that fits: it is refused, or it can be read and told. */
static void forged_causes_do_no_harm(void **state)
{
    static const uint8_t values[] = { 0x00, 0x7f, 0xff };
    const char          *text = "range:40 | map:{c:picky}";
    levada_iter         *it = t_iter_open_policy(text, "skip", 1, 7);
    t_bytes              saved;
    int                  refused = 0;

    (void)state;
    assert_int_equal(read_blocks(it, 3, NULL), LEVADA_OK);
    saved = t_iter_save(it);
    for (size_t at = 44; at + 4 < saved.size; at++) {
        uint8_t before = saved.at[at];

        for (size_t v = 0; v < sizeof values; v++) {
            levada_iter  *other = t_iter_open_policy(text, "skip", 1, 7);
            levada_status st;

            saved.at[at] = values[v];
            sign(&saved);
            st = levada_iter_restore(other, saved.at, saved.size, NULL);
            refused += st != LEVADA_OK;
            if (st == LEVADA_OK) {
                summary s = summary_of(other);

                summary_clear(&s);
                (void)read_blocks(other, 3, NULL);
            }
            levada_iter_close(&other);
        }
        saved.at[at] = before;
    }
    assert_true(refused > 100);
    t_clear(&saved);
    levada_iter_close(&it);
}

/* -- shares */

static void share_ends_at(levada_iter *it, const levada_error *want)
{
    levada_error err = LEVADA_ERROR_INIT;

    assert_int_equal(read_blocks(it, -1, &err), want->code);
    assert_string_equal(err.message, want->message);
    assert_int_equal(err.record, want->record);
}

/* It ends at this record, or (-1) at any one: blocks of another size, other threads, and a restore
 * at each `step`-th block change nothing. */
static void share_is_exact(const char *text, const char *errors, int64_t record, int step)
{
    static const int32_t sizes[] = { 7, 256 };
    levada_error         want = LEVADA_ERROR_INIT;
    levada_iter         *it = t_iter_open_policy(text, errors, 1, 1);

    assert_true(read_blocks(it, -1, &want) < 0);
    if (record >= 0) assert_int_equal(want.record, record);
    levada_iter_close(&it);
    for (int k = 0; k < 4; k++) {
        int32_t       threads = k % 2 ? 4 : 1, size = sizes[k / 2], other_size = sizes[1 - k / 2];
        int           blocks = step > size ? step / size : 1;
        levada_status st = LEVADA_OK;

        for (int cut = 0; st == LEVADA_OK; cut += blocks) {
            levada_iter *other = t_iter_open_policy(text, errors, 5 - threads, other_size);

            it = t_iter_open_policy(text, errors, threads, size);
            st = read_blocks(it, cut, NULL);
            if (st == LEVADA_OK) {
                t_bytes saved = t_iter_save(it);

                t_iter_restore(other, saved);
                share_ends_at(it, &want);
                share_ends_at(other, &want);
                t_clear(&saved);
            }
            levada_iter_close(&it);
            levada_iter_close(&other);
        }
    }
}

/* Every fifth value is a bad one: 0, 5, 10, ... A share counts from 1000 records on. */
static void shares_of_stages_are_exact(void **state)
{
    (void)state;
    share_is_exact("range:3000 | map:{c:picky}", "skip:20.01%", 1000, 500);
    share_is_exact("range:3000 | map:{c:picky} | shuffle:70 | batch:2", "skip:20.01%", 1000, 500);
    share_is_exact("range:3000 | call:{c:picky}", "skip:20.01%", 1000, 500);
    share_is_exact("range:3000 | call:{c:picky} | shuffle:70", "skip:20.01%", 1000, 500);
    share_is_exact("range:3000 | shuffle:40 | take:2500 | map:{c:picky} | cast:value,dtype=int32",
                   "skip:20.01%", -1, 500);
}

/* One skips 0, 5, 10, ..., the next what can be divided by seven: 0, 5, 7, 10, 14, 15, 20, 21.
 */
static void fused_stages_count_in_the_order_of_records(void **state)
{
    (void)state;
    share_is_exact("range:300 | map:{c:picky} | map:{c:choosy}", "skip:7", 21, 7);
    share_is_exact("range:3000 | map:{c:picky} | map:{c:choosy} | batch:3", "skip:31.5%", 1001,
                   500);
    share_is_exact("range:3000 | filter:fn={c:odd} | map:{c:picky}", "skip:10.01%", 1005, 500);
}

static void shares_of_buckets_are_exact(void **state)
{
    (void)state;
    share_is_exact("t_rows:3000,lengths=[9,1,1,1,1],bare=true | bucket_by_sequence_length:x,"
                   "boundaries=[],max_tokens=8",
                   "skip:20.01%", 1000, 500);
}

/* A zip ends with its first input, and does not come to the bad record that is the last one of the
 * second. The others count once, although nothing pulls the second input again after a restore. */
static void a_pass_that_ends_behind_a_restore_counts(void **state)
{
    static const char *const ends[] = { "repeat:3", "skip:0", "shard:index=0,count=1" };
    const char *parse = "parse_example:{x:{kind:VarLen,dtype:int64}}";
    char        text[1024];
    t_bytes     file = { 0 };

    (void)state;
    for (int i = 0; i < 20; i++) t_add_record(&file, "\xff\xff", i % 3 == 1 ? 2 : 0);
    t_write_file(t_path("zipped"), file.at, file.size);
    t_clear(&file);
    for (int k = 0; k < 9; k++) {
        int32_t      threads = 1 + k / 3;
        int          passes = k % 3 == 0 ? 3 : 1;
        levada_iter *it, *other;
        t_outcome    got = { 0, LEVADA_ERROR_INIT };
        t_bytes      saved;

        (void)snprintf(text, sizeof text,
                       "zip(tfrecord:\"%s\" | %s; tfrecord:\"%s\" | %s | rename:{x:y}) | %s",
                       t_path("zipped"), parse, t_path("zipped"), parse, ends[k % 3]);
        it = t_iter_open_policy(text, "skip", threads, 256);
        other = t_iter_open_policy(text, "skip", 4 - threads, 256);
        assert_int_equal(read_blocks(it, 1, NULL), LEVADA_OK);
        saved = t_iter_save(it);
        t_iter_restore(other, saved);
        assert_int_equal(t_iter_read_rest(other, &got), LEVADA_END);
        assert_int_equal(t_iter_stat(other, "skipped_records"), passes * (7 + 6));
        t_clear(&saved);
        levada_iter_close(&it);
        levada_iter_close(&other);
    }
}

/* -- the account by itself */

static levada_status restores(int64_t value, int32_t at, int64_t n, levada_error *err)
{
    const levada_state_scope scope = { .path = "1.stage", .version = 1 };
    levada_state_writer      to = { .scope = scope };
    levada_state_reader      from = { 0 };
    levada_state_head        head = { { 0 }, 0, 0 };
    levada_mutex             lock;
    levada_skips             account = { .policy.share = -1, .lock = &lock };
    levada_skip_counts       counts = { 0 };
    char                    *bytes = NULL;
    size_t                   size = 0;
    int64_t                  values[7] = { 0 };
    levada_status            st;

    values[at] = value;
    assert_int_equal(levada_mutex_init(&lock, LEVADA_LOCK_NOTING, NULL), LEVADA_OK);
    assert_int_equal(levada_state_put_i64s(&to, "#skips", values, n, NULL), LEVADA_OK);
    assert_int_equal(levada_state_encode(&to, &head, NULL, &bytes, &size, NULL), LEVADA_OK);
    assert_int_equal(levada_state_decode(bytes, size, NULL, &from, NULL), LEVADA_OK);
    from.scope = scope;
    st = levada_skips_restore(&account, &counts, &from, err);
    levada_state_reader_clear(&from);
    levada_state_writer_clear(&to);
    levada_string_free(&bytes);
    levada_skips_clear(&account);
    levada_mutex_clear(&lock);
    return st;
}

/* Sums of what a state says was counted must not overflow. */
static void counts_that_cannot_be_are_refused(void **state)
{
    (void)state;
    assert_int_equal(restores(7, 0, 6, NULL), LEVADA_OK);
    assert_int_equal(restores(7, 0, 5, NULL), LEVADA_EDATA_LOSS);
    assert_int_equal(restores(7, 0, 7, NULL), LEVADA_EDATA_LOSS);
    for (int32_t i = 0; i < 6; i++) {
        levada_error err = LEVADA_ERROR_INIT;

        assert_int_equal(restores(INT64_MAX, i, 6, &err), LEVADA_EDATA_LOSS);
        assert_string_equal(err.message,
                            "the checkpoint is corrupt: entry '1.stage/#skips': must be from 0 to "
                            "1152921504606846976, got 9223372036854775807; use an earlier "
                            "checkpoint");
        assert_int_equal(restores(-1, i, 6, NULL), LEVADA_EDATA_LOSS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pass_that_ends_behind_a_restore_counts),
        cmocka_unit_test(counts_that_cannot_be_are_refused),
        cmocka_unit_test(statistics_of_files_go_on),
        cmocka_unit_test(statistics_of_stages_go_on),
        cmocka_unit_test(statistics_of_an_interleave_go_on),
        cmocka_unit_test(causes_are_bounded),
        cmocka_unit_test(good_runs_save_nothing_of_it),
        cmocka_unit_test(forged_causes_do_no_harm),
        cmocka_unit_test(shares_of_stages_are_exact),
        cmocka_unit_test(fused_stages_count_in_the_order_of_records),
        cmocka_unit_test(shares_of_buckets_are_exact),
    };

    return cmocka_run_group_tests(tests, t_functions_set_up, t_folder_tear_down);
}
