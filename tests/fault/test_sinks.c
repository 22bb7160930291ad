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
        { "[n,x,s,v,w]", NULL, "a.tfrecord", "a.tfrecord", 0 },
        { "[n,x,s,v,w,z]", NULL, "b.tfrecord", "b.tfrecord", 0 },
        { "[n,x,s,v,w]", "sequence_example", "c", "c", 0 },
        { "[n,x,s,v,w,z]", NULL, "d.jsonl", "d.jsonl", 0 },
        { "[n,l,s]", NULL, "e.csv", "e-00001-of-00003.csv", 4 },
        { "[n,l,s]", NULL, "f.tar", "f.tar", 0 },
        { "[s]", NULL, "g.txt", "g-00001-of-00003.txt", 5 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) sweep(&trials[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(files_are_whole_or_do_not_appear) };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
