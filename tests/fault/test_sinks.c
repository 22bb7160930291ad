/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory runs out at one allocation after the other while files are written: either the files are
 * those that would be there otherwise, or a call reports it and no file appears.
 */
#include "conformance/fault.h"
#include "support/files.h"
#include "support/iters.h"

#include <levada/write.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct trial {
    const char *columns, *format, *name, *file; /* what is written, and the file that is compared */
    int64_t     records;                        /* of each file; 0 = one file                     */
    bool        prepared;                       /* levada_sink_prepare() comes before the close   */
} trial;

enum { ROWS = 12 };

static levada_status write_blocks(const trial *t, levada_block *const *blocks, int n,
                                  levada_error *err)
{
    levada_write_options options = LEVADA_WRITE_OPTIONS_INIT;
    levada_sink         *sink = NULL;
    levada_status        st;

    options.format = t->format;
    options.records_per_file = t->records;
    options.threads = 1;
    st = levada_sink_open(t_path(t->name), &options, &sink, err);
    for (int i = 0; st == LEVADA_OK && i < n; i++) st = levada_sink_add(sink, blocks[i], err);
    if (st == LEVADA_OK && t->prepared) st = levada_sink_prepare(sink, err);
    if (st == LEVADA_OK && t->prepared) assert_int_equal(access(t_path(t->file), F_OK), -1);
    if (st == LEVADA_OK) st = levada_sink_close(sink, NULL, err);
    levada_sink_destroy(&sink);
    return st;
}

/* Returns true if that allocation was reached. */
static bool run(const trial *t, levada_block *const *blocks, int n, t_bytes want, int64_t number)
{
    levada_error  err = LEVADA_ERROR_INIT;
    int64_t       before = fault_live();
    t_bytes       got;
    levada_status st;
    bool          reached;

    (void)unlink(t_path(t->file));
    fault_arm(number);
    st = write_blocks(t, blocks, n, &err);
    reached = fault_disarm() > number;
    fault_expect_live(before, number);
    if (st != LEVADA_OK) {
        fault_expect_short(st, &err);
        assert_int_equal(access(t_path(t->file), F_OK), -1);
        return reached;
    }
    got = t_read_file(t_path(t->file));
    t_bytes_equal(got, want, t->file);
    t_clear(&got);
    return reached;
}

static void sweep(const trial *t)
{
    char          pipe[128];
    levada_block *blocks[ROWS] = { NULL };
    t_bytes       want;
    levada_iter  *it;
    int           n = 0;

    (void)snprintf(pipe, sizeof pipe, "t_rows:%d | select:%s", ROWS, t->columns);
    it = t_iter_open(pipe, 1, 5);
    while (levada_iter_next(it, &blocks[n], NULL) == LEVADA_OK) n++;
    assert_int_equal(write_blocks(t, blocks, n, NULL), LEVADA_OK);
    want = t_read_file(t_path(t->file));
    assert_true(want.size > 0);
    for (int64_t number = 0; run(t, blocks, n, want, number);) number++;
    t_clear(&want);
    while (n > 0) levada_block_unref(&blocks[--n]);
    levada_iter_close(&it);
}

static void files_are_whole_or_do_not_appear(void **state)
{
    static const trial trials[] = {
        { "[n,x,s,v,w]", NULL, "a.tfrecord", "a.tfrecord", 0, false },
        { "[n,x,s,v,w,z]", NULL, "b.tfrecord", "b.tfrecord", 0, false },
        { "[n,x,s,v,w]", "sequence_example", "c", "c", 0, false },
        { "[n,x,s,v,w,z]", NULL, "d.jsonl", "d.jsonl", 0, false },
        { "[n,l,s]", NULL, "e.csv", "e-00001-of-00003.csv", 4, false },
        { "[n,l,s]", NULL, "f.tar", "f.tar", 0, false },
        { "[n,l,s]", NULL, "h.csv.gz", "h.csv.gz", 0, true },
        { "[n,l,s]", NULL, "i.csv", "i-00001-of-00003.csv", 4, true },
        { "[s]", NULL, "g.txt", "g-00001-of-00003.txt", 5, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        if (!strstr(trials[i].file, ".gz") || t_can("gzip")) sweep(&trials[i]);
    }
}

static levada_dataset *parse(const char *text)
{
    levada_dataset *made = NULL;

    assert_int_equal(levada_dataset_parse(t_iter_env(), text, &made, NULL), LEVADA_OK);
    return made;
}

/* Applies both parts of a split to a block; returns the number of their records. */
static levada_status apply_parts(levada_iter *it, levada_dataset *const part[2],
                                 const levada_block *block, int64_t *n, levada_error *err)
{
    *n = 0;
    for (int i = 0; i < 2; i++) {
        levada_block *made = NULL;

        LEVADA_TRY(levada_iter_apply(it, part[i], block, &made, err));
        *n += levada_block_rows(made);
        levada_block_unref(&made);
    }
    return LEVADA_OK;
}

static void parts_of_a_block_are_whole_or_an_error(void **state)
{
    levada_dataset *rows = parse("t_rows:12"), *part[2] = { NULL };
    levada_block   *block = NULL;
    levada_iter    *it = NULL;
    bool            reached = true;
    int64_t         n = 0;

    (void)state;
    for (int i = 0; i < 2; i++) {
        levada_dataset *text = parse(i ? "t_rows:12 | split:[0.4, 0.6],part=1"
                                       : "t_rows:12 | split:[0.4, 0.6]");
        const levada_dataset *const inputs[] = { rows };

        assert_int_equal(levada_dataset_remake(text, NULL, inputs, 1, &part[i], NULL), LEVADA_OK);
        levada_dataset_unref(&text);
    }
    assert_int_equal(levada_iter_open(rows, NULL, &it, NULL), LEVADA_OK);
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(apply_parts(it, part, block, &n, NULL), LEVADA_OK); /* fills the pool */
    for (int64_t number = 0; reached; number++) {
        levada_error  err = LEVADA_ERROR_INIT;
        int64_t       before = fault_live();
        levada_status st;

        fault_arm(number);
        st = apply_parts(it, part, block, &n, &err);
        reached = fault_disarm() > number;
        fault_expect_live(before, number);
        if (st == LEVADA_OK) assert_int_equal(n, 12);
        else fault_expect_short(st, &err);
    }
    levada_block_unref(&block);
    levada_iter_close(&it);
    for (int i = 0; i < 2; i++) levada_dataset_unref(&part[i]);
    levada_dataset_unref(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_whole_or_do_not_appear),
        cmocka_unit_test(parts_of_a_block_are_whole_or_an_error),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
