/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"
#include "support/iters.h"

#include <levada/write.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static levada_status write_as(const char *description, const char *name,
                              const levada_write_options *options, levada_write_result *result,
                              levada_error *err)
{
    levada_iter  *it = t_iter_open(description, 1, 7);
    levada_status st = levada_write(it, t_path(name), options, result, err);

    levada_iter_close(&it);
    return st;
}

static void expect(const char *description, const char *name, const char *want)
{
    levada_error err = LEVADA_ERROR_INIT;
    t_bytes      got;

    assert_int_equal(write_as(description, name, NULL, NULL, &err), LEVADA_OK);
    got = t_read_file(t_path(name));
    assert_int_equal(got.size, strlen(want));
    assert_memory_equal(got.at, want, got.size);
    t_clear(&got);
}

/* What t_rows returns: n, l, x (ragged), s, v, w, z. */
static void rows_are_written(void **state)
{
    (void)state;
    expect("t_rows:2 | select:[n,s]", "a.csv", "n,s\n0,0\n1,1\n");
    expect("t_rows:2 | select:[n,x,s] | take:1", "a.jsonl",
           "{\"n\":0,\"x\":[0,1,2],\"s\":\"0\"}\n");
}

/* Whether this build has the library that the pipe needs. */
static bool can_open(const char *pipe)
{
    levada_dataset *dataset = NULL;
    levada_iter    *it = NULL;
    levada_status   st = levada_dataset_parse(t_iter_env(), pipe, &dataset, NULL);

    if (st == LEVADA_OK) st = levada_iter_open(dataset, NULL, &it, NULL);
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
    return st != LEVADA_EUNIMPLEMENTED;
}

static void what_is_written_reads_back(void **state)
{
    static const char *const names[] = { "b.csv", "b.csv.gz", "b.tar", "b.jsonl" };
    static const char *const pipes[] = {
        ",header=true,record_defaults=[int64,string],columns=[n,s]",
        ",header=true,record_defaults=[int64,{dtype:string,default:\"\"}],columns=[n,s]",
        ",fields=[n,s]", ",fields={n:int64,s:string}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char                pipe[600];
        levada_write_result result = LEVADA_WRITE_RESULT_INIT;
        levada_error        err = LEVADA_ERROR_INIT;
        levada_iter        *it;
        levada_block       *block = NULL;
        int64_t             rows = 0;

        if (i == 1 && !t_can("gzip")) continue;
        assert_int_equal(write_as("t_rows:300 | select:[n,s]", names[i], NULL, &result, &err),
                         LEVADA_OK);
        assert_int_equal(result.records, 300);
        assert_int_equal(result.files, 1);
        snprintf(pipe, sizeof pipe, "%s:%s%s", i < 2 ? "csv" : i == 2 ? "tar" : "jsonl",
                 t_path(names[i]), pipes[i]);
        if (!can_open(pipe)) continue;
        it = t_iter_open_policy(pipe, "skip", 1, 256);
        while (levada_iter_next(it, &block, &err) == LEVADA_OK) {
            rows += levada_block_rows(block);
            levada_block_unref(&block);
        }
        if (i == 0) assert_true(rows > 0);
        else assert_int_equal(rows, 300);
        levada_iter_close(&it);
    }
}

static void sets_of_files_appear_together(void **state)
{
    levada_write_options options = LEVADA_WRITE_OPTIONS_INIT;
    levada_write_result  result = LEVADA_WRITE_RESULT_INIT;
    levada_error         err = LEVADA_ERROR_INIT;
    t_bytes              last;

    (void)state;
    options.records_per_file = 4;
    assert_int_equal(write_as("t_rows:10 | select:[n]", "s.csv", &options, &result, &err),
                     LEVADA_OK);
    assert_int_equal(result.files, 3);
    last = t_read_file(t_path("s-00002-of-00003.csv"));
    assert_int_equal(last.size, 6);
    assert_memory_equal(last.at, "n\n8\n9\n", 6);
    t_clear(&last);
    assert_int_equal(access(t_path("s.csv.part-00000"), F_OK), -1);
    assert_int_equal(write_as("t_rows:10 | select:[n]", "p%05d-of-%05d.jsonl", &options, &result,
                              &err), LEVADA_OK);
    assert_int_equal(access(t_path("p00001-of-00003.jsonl"), F_OK), 0);
}

static void a_set_replaces_smaller_and_larger_ones(void **state)
{
    static const int64_t sizes[] = { 5, 2, 4, 10, 3 };
    levada_error         err = LEVADA_ERROR_INIT;

    (void)state;
    for (int i = 0; i < 5; i++) {
        levada_write_options options = LEVADA_WRITE_OPTIONS_INIT;
        levada_write_result  result = LEVADA_WRITE_RESULT_INIT;
        int64_t              files = (10 + sizes[i] - 1) / sizes[i];
        char                 name[48];

        options.records_per_file = sizes[i];
        assert_int_equal(write_as("t_rows:10 | select:[n]", "g.csv", &options, &result, &err),
                         LEVADA_OK);
        assert_int_equal(result.files, files);
        for (int64_t n = 1; n <= 5; n++) {
            snprintf(name, sizeof name, "g-00000-of-%05lld.csv", (long long)n);
            assert_int_equal(access(t_path(name), F_OK), n == files ? 0 : -1);
        }
    }
}

static void nothing_appears_after_a_failure(void **state)
{
    levada_write_options options = LEVADA_WRITE_OPTIONS_INIT;
    levada_error         err = LEVADA_ERROR_INIT;

    (void)state;
    options.records_per_file = 2;
    assert_int_equal(write_as("t_rows:10,fail_at=7 | select:[n]", "f.csv", &options, NULL, &err),
                     LEVADA_EDATA_LOSS);
    assert_int_equal(access(t_path("f.csv.part-00000"), F_OK), -1);
    assert_int_equal(access(t_path("f-00000-of-00004.csv"), F_OK), -1);
}

static void refuses_what_a_format_cannot_hold(void **state)
{
    static const char *const cases[][3] = {
        { "t_rows:3 | select:[x]", "r.csv", "'x'" },
        { "t_rows:3 | select:[x]", "r.tar", "'x'" },
        { "t_rows:3 | select:[z] | padded_batch:2", "r.tfrecord", "'z'" },
        { "t_rows:3 | select:[z] | batch:2 | collect", "r.tfrecord", "'z'" },
        { "t_rows:3 | select:[z] | padded_batch:2", "r.jsonl", "'z'" },
        { "t_rows:3 | select:[n] | cast:n,dtype=float64", "r.tfrecord", "'n'" },
        { "t_rows:3", "r.xyz", "formats" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        levada_error err = LEVADA_ERROR_INIT;

        assert_int_equal(write_as(cases[i][0], cases[i][1], NULL, NULL, &err),
                         LEVADA_EINVALID_ARGUMENT);
        assert_non_null(strstr(err.message, cases[i][2]));
        assert_int_equal(access(t_path(cases[i][1]), F_OK), -1);
    }
}

/* What a pipeline returns for the records, as JSON. */
static t_bytes lines_of(const char *pipe)
{
    levada_error err = LEVADA_ERROR_INIT;

    assert_int_equal(write_as(pipe, "lines.jsonl", NULL, NULL, &err), LEVADA_OK);
    return t_read_file(t_path("lines.jsonl"));
}

/* The columns that rows differ in length in are feature lists, of batches of every kind. */
static void sequence_examples_read_back(void **state)
{
    static const char *const batches[] = { "", " | batch:3", " | padded_batch:3",
                                           " | padded_batch:4,padding_side=left" };
    static const char *const kinds[] = { "n:{kind:FixedLen,shape:[],dtype:int64}",
                                         "s:{kind:FixedLen,shape:[],dtype:string}",
                                         "v:{kind:FixedLen,shape:[2],dtype:float32}" };
    levada_error             err = LEVADA_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        levada_write_options options = LEVADA_WRITE_OPTIONS_INIT;
        char                 pipe[600];
        t_bytes              want, got;

        options.format = "sequence_example";
        snprintf(pipe, sizeof pipe, "t_rows:11 | select:[n,s,v,w,x]%s", batches[i]);
        assert_int_equal(write_as(pipe, "q.tfrecord", &options, NULL, &err), LEVADA_OK);
        want = lines_of("t_rows:11 | select:[n,s,v,w,x]");
        snprintf(pipe, sizeof pipe,
                 "tfrecord:%s | parse_sequence_example:"
                 "{w:{kind:FixedLenSequence,shape:[],dtype:string},"
                 "x:{kind:FixedLenSequence,shape:[],dtype:int64}},context={%s,%s,%s} | "
                 "select:[n,s,v,w,x]", t_path("q.tfrecord"), kinds[0], kinds[1], kinds[2]);
        got = lines_of(pipe);
        t_bytes_equal(got, want, batches[i]);
        t_clear(&got);
        t_clear(&want);
    }
}

/* Several jobs of libzstd: one has 2 MiB at level 1. */
static void threads_do_not_change_compressed_bytes(void **state)
{
    levada_write_options options = LEVADA_WRITE_OPTIONS_INIT;
    const int32_t        threads[] = { 1, 2, 7 };
    t_bytes              first = { 0 };

    (void)state;
    if (!t_can("zstd")) skip();
    options.level = 1;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        levada_error err = LEVADA_ERROR_INIT;
        t_bytes      got;

        options.threads = threads[i];
        assert_int_equal(write_as("range:900000", "z.csv.zst", &options, NULL, &err), LEVADA_OK);
        got = t_read_file(t_path("z.csv.zst"));
        if (i == 0) first = got;
        t_bytes_equal(got, first, "zstd");
        if (i > 0) t_clear(&got);
    }
    t_clear(&first);
    options.threads = -1;
    assert_int_equal(write_as("range:3", "z.csv.zst", &options, NULL, NULL),
                     LEVADA_EINVALID_ARGUMENT);
}

/* The child of a fork has no threads to wait for. */
static void a_forked_child_ends_a_compressed_file(void **state)
{
    levada_write_options options = LEVADA_WRITE_OPTIONS_INIT;
    levada_sink         *sink = NULL;
    levada_iter         *it = t_iter_open("t_rows:300 | select:[n,s]", 1, 256);
    levada_block        *block = NULL;
    int                  status = 0;
    pid_t                child;

    (void)state;
    if (!t_can("zstd")) skip();
    options.threads = 2;
    assert_int_equal(levada_sink_open(t_path("y.csv.zst"), &options, &sink, NULL), LEVADA_OK);
    while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        assert_int_equal(levada_sink_add(sink, block, NULL), LEVADA_OK);
        levada_block_unref(&block);
    }
    child = fork();
    if (child == 0) {
        alarm(20);
        levada_sink_destroy(&sink);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(levada_sink_close(sink, NULL, NULL), LEVADA_OK);
    levada_sink_destroy(&sink);
    levada_iter_close(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_written),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(sets_of_files_appear_together),
        cmocka_unit_test(a_set_replaces_smaller_and_larger_ones),
        cmocka_unit_test(nothing_appears_after_a_failure),
        cmocka_unit_test(refuses_what_a_format_cannot_hold),
        cmocka_unit_test(sequence_examples_read_back),
        cmocka_unit_test(threads_do_not_change_compressed_bytes),
        cmocka_unit_test(a_forked_child_ends_a_compressed_file),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
