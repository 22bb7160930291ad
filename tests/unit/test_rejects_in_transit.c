/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was skipped counts where the consumer passes it: rows, statistics and the record at which a
 * budget ends are the same for all block sizes and threads, and after a restore at any record.
 */
#include "support/codec.h"
#include "support/functions.h"
#include "support/iters.h"
#include "support/length.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PARSE "parse_example:{x:{kind:VarLen,dtype:int64}}"
#define TEXT 2048

/* What a consumer sees. */
typedef struct passed {
    t_bytes       rows;
    levada_status st;
    levada_error  why;
    int           blocks;
    char         *counts; /* owned: from skipped_records to dropped_records, and the problems */
} passed;

/* The parts of the statistics that do not depend on work done ahead. A restored iterator knows of
 * fields in the records since then only: the note about a missing field, the last one, is cut. */
static char *passed_counts(levada_iter *it)
{
    char       *json = NULL, *out = calloc(1, 65536), *missing;
    const char *from, *problems;

    assert_non_null(out);
    assert_int_equal(levada_iter_stats(it, &json, NULL), LEVADA_OK);
    from = strstr(json, "\"skipped_records\"");
    problems = strstr(json, "\"problems\"");
    assert_true(from && problems && strlen(problems) < 60000);
    (void)snprintf(out, 65536, "%.*s %s", (int)(strstr(from, "\"padding") - from), from, problems);
    levada_string_free(&json);
    missing = strstr(out, " in none of ");
    while (missing && missing > out && strncmp(missing, "{\"stage\"", 8) != 0) missing--;
    if (missing) missing[-1] = '\0';
    else out[strlen(out) - 2] = '\0'; /* the brackets after the last note */
    return out;
}

/* Reads the rest, and closes it. */
static void passed_read(levada_iter *it, passed *p)
{
    levada_block *block = NULL;

    t_add(&p->rows, NULL, 0);
    while ((p->st = levada_iter_next(it, &block, &p->why)) == LEVADA_OK) {
        t_iter_add(&p->rows, block, false);
        levada_block_unref(&block);
        p->blocks++;
    }
    p->counts = passed_counts(it);
    levada_iter_close(&it);
}

static void passed_clear(passed *p)
{
    t_clear(&p->rows);
    free(p->counts);
}

static void passed_equal(const passed *got, const passed *want, const char *text, int32_t threads,
                         int32_t rows, int cut)
{
    char what[TEXT + 128];

    (void)snprintf(what, sizeof what, "%s: threads=%d, block_rows=%d, cut=%d", text, (int)threads,
                   (int)rows, cut);
    if (got->st != want->st) fail_msg("%s: ended with %d (%s)", what, got->st, got->why.message);
    if (got->st < 0 && (strcmp(got->why.message, want->why.message) != 0 ||
                        strcmp(got->why.file, want->why.file) != 0 ||
                        got->why.record != want->why.record)) {
        fail_msg("%s: record %d, not %d: %s", what, (int)got->why.record, (int)want->why.record,
                 got->why.message);
    }
    if (strcmp(got->counts, want->counts) != 0) {
        fail_msg("%s:\n%s\nnot\n%s", what, got->counts, want->counts);
    }
    t_bytes_equal(got->rows, want->rows, what);
}

/* Saved before block number `cut`, and read on in another iterator. False after the end. */
static bool passed_again(const char *text, const char *errors, int32_t threads, int32_t rows,
                         int cut, const passed *want)
{
    levada_iter  *it = t_iter_open_policy(text, errors, threads, rows), *other;
    levada_block *block = NULL;
    passed        got = { 0 };
    t_bytes       saved;
    char         *before, *after;
    levada_status st = LEVADA_OK;

    t_add(&got.rows, NULL, 0);
    for (int i = 0; i < cut && st == LEVADA_OK; i++) {
        st = levada_iter_next(it, &block, NULL);
        if (st == LEVADA_OK) t_iter_add(&got.rows, block, false);
        levada_block_unref(&block);
    }
    if (st != LEVADA_OK) {
        levada_iter_close(&it);
        t_clear(&got.rows);
        return false;
    }
    saved = t_iter_save(it);
    before = passed_counts(it);
    other = t_iter_open_policy(text, errors, 1 + threads % 4, rows == 5 ? 256 : 5);
    t_iter_restore(other, saved);
    after = passed_counts(other);
    assert_string_equal(after, before); /* at once */
    passed_read(other, &got);
    passed_equal(&got, want, text, threads, rows, cut);
    passed_clear(&got);
    t_clear(&saved);
    free(before);
    free(after);
    levada_iter_close(&it);
    return true;
}

/* `errors` ends the run if `ends`. Every cut is tried, or in a short run some of them. */
static void passes_alike(const char *text, const char *errors, bool ends)
{
    static const int32_t sizes[] = { 1, 3, 16, 256 }, threads[] = { 1, 2, 4 };
    passed               want = { .why = LEVADA_ERROR_INIT };

    passed_read(t_iter_open_policy(text, errors, 1, 1), &want);
    if ((want.st < 0) != ends) fail_msg("%s: %d (%s)", text, want.st, want.why.message);
    if (!strstr(want.counts, "\"stage\":") && !strstr(want.counts, "\"dropped_records\":")) {
        fail_msg("%s: nothing was skipped", text);
    }
    for (int k = 0; k < 12; k++) {
        int32_t rows = sizes[k % 4], n = threads[k / 4];
        passed  got = { .why = LEVADA_ERROR_INIT };
        int     step, cut = 0;

        passed_read(t_iter_open_policy(text, errors, n, rows), &got);
        passed_equal(&got, &want, text, n, rows, -1);
        passed_clear(&got);
        step = 1 + got.blocks / (6 * (int)t_length());
        while (passed_again(text, errors, n, rows, cut, &want)) cut += step;
    }
    passed_clear(&want);
}

/* Words, of which each `damaged`-th has a wrong checksum and each `bad`-th is not a message. */
static void write_file(const char *name, int n, int damaged, int bad)
{
    t_bytes file = { 0 };
    char    word[16];

    t_add(&file, NULL, 0);
    for (int i = 0; i < n; i++) {
        /* An empty message, or field 9 with a text: both have no x. */
        int size = snprintf(word, sizeof word, "\x4a%c%s%03d", 4, name, i);

        if (bad && i % bad == bad - 1) t_add_record(&file, "\xff\xff", 2);
        else t_add_record(&file, word, (size_t)size);
        if (damaged && i % damaged == damaged - 1) file.at[file.size - 5] ^= 1;
    }
    t_write_file(t_path(name), file.at, file.size);
    t_clear(&file);
}

/* `%a`, `%b` and so on in a text are files. */
static const char *with_files(const char *text)
{
    static char out[TEXT];
    size_t      n = 0;

    for (; *text; text++) {
        char name[2] = { text[0] == '%' ? text[1] : '\0', '\0' };

        assert_true(n + 256 < sizeof out);
        if (!name[0]) out[n++] = *text;
        else n += (size_t)snprintf(out + n, sizeof out - n, "\"%s\"", t_path(name)), text++;
    }
    out[n] = '\0';
    return out;
}

static int set_up(void **state)
{
    if (t_functions_set_up(state) != 0) return -1;
    write_file("a", 40, 9, 0);
    write_file("b", 30, 0, 4);
    write_file("c", 50, 13, 5);
    write_file("d", 20, 0, 0);
    t_write_file(t_path("e"), "", 0);
    return 0; /* there is no file "f" */
}

/* A `take` that ends before a bad record never counts it, however far threads read ahead. */
static void takes_that_are_repeated(void **state)
{
    static const char *const texts[] = {
        "tfrecord:[%a,%f,%e,%c] | take:21 | repeat:3",
        "tfrecord:[%a,%f,%e,%c] | take:21 | repeat:3 | batch:4",
        "tfrecord:%c | " PARSE " | take:23 | repeat:4",
        "tfrecord:[%a,%b] | " PARSE " | take:45 | repeat:2 | prefetch:3 | batch:2",
        "tfrecord:[%a,%c],shuffle_files=true | shuffle:9 | " PARSE " | take:30 | repeat:3",
        "range:90 | map:{c:picky} | shuffle:11 | map:{c:choosy} | take:33 | repeat:3",
        "range:90 | call:{c:picky} | take:33 | repeat:3 | call:{c:choosy}",
        "t_rows:40,lengths=[3,9,2,1],bare=true | bucket_by_sequence_length:x,boundaries=[],"
        "max_tokens=8 | take:5 | repeat:3",
        "range:50 | map:{c:picky} | batch:7,drop_remainder=true | take:4 | repeat:3",
        "range:50 | map:{c:picky} | batch:7,drop_remainder=true | repeat:3",
        "range:50 | map:{c:picky} | shard:index=1,count=3 | skip:2 | take:9 | repeat:2",
        "range:70 | map:{c:picky} | take:20 | repeat:2 | map:{c:choosy} | take:25 | repeat:2",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        passes_alike(with_files(texts[i]), "skip", false);
    }
}

static void budgets_of_takes_that_are_repeated(void **state)
{
    static const struct {
        const char *text, *errors;
        bool        ends;
    } runs[] = {
        { "tfrecord:[%a,%f,%e,%c] | take:21 | repeat:9", "skip:11", true },
        { "tfrecord:%c | " PARSE " | take:23 | repeat:9", "skip:16", true },
        { "tfrecord:%c | " PARSE " | take:23 | repeat:2", "skip:16", false },
        { "range:90 | map:{c:picky} | shuffle:11 | map:{c:choosy} | take:33 | repeat:9",
          "skip:40", true },
        { "range:90 | call:{c:picky} | take:33 | repeat:9", "skip:29", true },
        { "t_rows:40,lengths=[3,9,2,1],bare=true | bucket_by_sequence_length:x,boundaries=[],"
          "max_tokens=8 | take:5 | repeat:9", "skip:9", true },
        { "range:90 | map:{c:picky}", "fail", true },
        { "range:90,start=1 | map:{c:picky}", "fail", true },
        { "tfrecord:%a | shuffle:3", "fail", true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        passes_alike(with_files(runs[i].text), runs[i].errors, runs[i].ends);
    }
}

/* A pass that the consumer did not read to its end does not count for a share. */
static void shares_of_takes_that_are_repeated(void **state)
{
    (void)state;
    passes_alike("range:1500 | map:{c:picky} | take:1100 | repeat:2", "skip:20.01%", true);
    passes_alike("range:1500,start=1 | map:{c:picky} | take:1100 | repeat:2", "skip:20.01%", false);
    passes_alike("range:700,start=1 | map:{c:picky} | repeat:2", "skip:19.95%", true);
    passes_alike("range:1500,start=1 | call:{c:picky} | shuffle:40 | take:900 | repeat:2",
                 "skip:20.01%", false);
}

/* In the order of the combiner, also where a pipe of it buffers records. */
static void combiners(void **state)
{
    static const char *const texts[] = {
        "files:[%a,%b,%c] | interleave:(tfrecord:\"{path}\" | shuffle:5 | " PARSE "),"
        "cycle_length=2",
        "files:[%a,%d] | interleave:(range:20 | call:{c:picky}),cycle_length=2 | take:17 | "
        "repeat:2",
        "range:3 | interleave:(files:[%a,%c] | interleave:(tfrecord:\"{path}\" | take:15),"
        "cycle_length=2,block_length=2),cycle_length=2 | take:50",
        "files:[%a,%c] | interleave:(tfrecord:\"{path}\" | " PARSE " | batch:3),cycle_length=2 | "
        "take:9 | repeat:2",
        "mix(tfrecord:%a | take:20; tfrecord:%c):weights=[2,1] | take:40 | repeat:2",
        "concat(tfrecord:%a; tfrecord:%f; tfrecord:%c) | take:60 | repeat:2",
        "zip(tfrecord:%a; tfrecord:%c | rename:{record:y}) | take:25 | repeat:2",
        "zip(range:40 | map:{c:picky}; range:60 | map:{c:choosy} | rename:{value:y}) | shuffle:6 | "
        "take:20",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        passes_alike(with_files(texts[i]), "skip", false);
    }
    passes_alike(with_files("files:[%a,%c] | interleave:(tfrecord:\"{path}\" | shuffle:5 | " PARSE
                            "),cycle_length=2"), "skip:7", true);
    passes_alike(with_files("files:[%a,%c] | interleave:(range:40,start=1 | call:{c:picky}),"
                            "cycle_length=2"), "skip:7", true);
    passes_alike(with_files("files:[%a,%c] | interleave:(range:40,start=1 | call:{c:picky}),"
                            "cycle_length=2"), "fail", true);
}

/* One input ends first, and nothing pulls the other again after a restore after that. */
static void a_zip_of_interleaves(void **state)
{
    (void)state;
    passes_alike(with_files("zip(files:[%a,%d] | interleave:(tfrecord:\"{path}\"),cycle_length=2; "
                            "files:[%c,%d] | interleave:(tfrecord:\"{path}\" | " PARSE "),"
                            "cycle_length=2 | rename:{x:y})"), "skip", false);
    passes_alike(with_files("zip(files:[%a,%d] | interleave:(tfrecord:\"{path}\"); files:%c | "
                            "interleave:(tfrecord:\"{path}\") | rename:{record:y}) | repeat:2"),
                 "skip", false);
}

/* The messages of what waits in a state are its own: they go on whatever was read meanwhile. */
static void many_rejects_before_a_row(void **state)
{
    (void)state;
    write_file("g", 300, 0, 1);
    passes_alike(with_files("tfrecord:[%g,%d,%g] | " PARSE " | shuffle:4 | take:19"), "skip",
                 false);
    passes_alike(with_files("tfrecord:[%d,%g] | shuffle:4 | " PARSE " | batch:3"), "skip:299",
                 true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_that_are_repeated),
        cmocka_unit_test(budgets_of_takes_that_are_repeated),
        cmocka_unit_test(shares_of_takes_that_are_repeated),
        cmocka_unit_test(combiners),
        cmocka_unit_test(a_zip_of_interleaves),
        cmocka_unit_test(many_rejects_before_a_row),
    };

    return cmocka_run_group_tests(tests, set_up, t_folder_tear_down);
}
