/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that reads batches and writes checkpoints is killed at a hundred random moments, for
 * each kind of batches. Each time the last checkpoint that was finished continues with exactly what
 * was not yet saved.
 */
#include "base/hash.h"
#include "support/iters.h"

#include <levada/builder.h>
#include <levada/inspect.h>

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define TRIALS 100
#define LIMIT_LEAST INT64_C(12000000) /* nanoseconds until it is killed at the latest */
#define LIMIT_MOST INT64_C(500000000)
#define RECORDS 4000
#define BATCHES 2000 /* more than there are */

typedef struct logged {
    int64_t  batch;
    uint64_t hash;
} logged;

static char pipe_text[1024];

static uint64_t hash_batch(const levada_block *block)
{
    t_bytes  bytes = { 0 };
    uint64_t hash;

    t_iter_add(&bytes, block, true);
    hash = levada_hash64(bytes.at, bytes.size, 0);
    t_clear(&bytes);
    return hash;
}

static void write_all(int fd, const void *data, size_t size)
{
    if (write(fd, data, size) != (ssize_t)size) _exit(3);
}

/* The number of batches that were read, then the state; complete under its name, or not there. */
static void write_checkpoint(levada_iter *it, int64_t batches)
{
    char   name[256], part[256];
    char  *state = NULL;
    size_t size = 0;
    int    fd;

    (void)snprintf(name, sizeof name, "%s", t_path("checkpoint"));
    (void)snprintf(part, sizeof part, "%s", t_path("checkpoint.part"));
    if (levada_iter_save(it, &state, &size, NULL) != LEVADA_OK) _exit(4);
    fd = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0) _exit(5);
    write_all(fd, &batches, sizeof batches);
    write_all(fd, state, size);
    (void)close(fd);
    if (rename(part, name) != 0) _exit(6);
    levada_string_free(&state);
}

/* Batches read when the last checkpoint was written, which `it` is restored from; 0 = none. */
static int64_t read_checkpoint(levada_iter *it)
{
    struct stat there;
    t_bytes     bytes;
    int64_t     batches = 0;

    if (stat(t_path("checkpoint"), &there) != 0) return 0;
    bytes = t_read_file(t_path("checkpoint"));
    memcpy(&batches, bytes.at, sizeof batches);
    if (levada_iter_restore(it, bytes.at + sizeof batches, bytes.size - sizeof batches, NULL)) {
        _exit(7);
    }
    t_clear(&bytes);
    return batches;
}

/* Where a stage takes states: each is made of the one before, and of its batch. */
static void feed_back(levada_iter *it, const levada_block *batch)
{
    const levada_spec *spec = levada_iter_feeds(it);
    int64_t            n = levada_block_rows(batch);
    uint64_t           hash = hash_batch(batch);
    levada_builder    *b = NULL;
    levada_block      *back = NULL;

    if (spec == NULL) return;
    assert_int_equal(levada_builder_create(t_iter_env(), spec, n, &b, NULL), LEVADA_OK);
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        const char    *name = levada_spec_field(spec, i)->name;
        const int64_t *from = levada_column_i64(levada_block_column(batch, name));
        void          *to = NULL;

        assert_int_equal(levada_builder_values(b, i, n, &to, NULL), LEVADA_OK);
        memcpy(to, from, (size_t)n * sizeof *from);
        for (int64_t r = 0; strcmp(name, "h") == 0 && r < n; r++) {
            ((uint64_t *)to)[r] += hash + (uint64_t)r;
        }
    }
    assert_int_equal(levada_builder_publish(&b, &back, NULL), LEVADA_OK);
    assert_int_equal(levada_iter_feed(it, back, NULL), LEVADA_OK);
    levada_block_unref(&back);
}

/* The child: continues where the last one was killed. */
static void work(void)
{
    levada_iter *it = t_iter_open(pipe_text, 2, 16);
    int64_t      batches = read_checkpoint(it);
    int log = open(t_path("log"), O_WRONLY | O_CREAT | O_APPEND, 0600);

    for (;;) {
        levada_block *block = NULL;
        levada_status st = levada_iter_next(it, &block, NULL);
        logged        line = { batches, 0 };

        if (st == LEVADA_END) _exit(0);
        if (st != LEVADA_OK) _exit(8);
        line.hash = hash_batch(block);
        write_all(log, &line, sizeof line);
        feed_back(it, block);
        levada_block_unref(&block);
        if (++batches % 3 == 0) write_checkpoint(it, batches);
    }
}

static int64_t reference(levada_iter *it, uint64_t *hashes)
{
    int64_t       n = 0;
    levada_block *block = NULL;
    levada_status st;

    while ((st = levada_iter_next(it, &block, NULL)) == LEVADA_OK) {
        assert_true(n < BATCHES);
        hashes[n++] = hash_batch(block);
        feed_back(it, block);
        levada_block_unref(&block);
    }
    assert_int_equal(st, LEVADA_END);
    return n;
}

/* True when it came to the end before it was killed. */
static bool killed_after(int64_t nanoseconds)
{
    struct timespec wait = { 0, (long)nanoseconds };
    int             status = 0;
    pid_t           child = fork();

    assert_true(child >= 0);
    if (child == 0) work();
    (void)nanosleep(&wait, NULL);
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status)) return false;
    assert_int_equal(WEXITSTATUS(status), 0);
    return true;
}

/* What the killed one said that it read is what the uninterrupted one reads. */
static int64_t check_log(const uint64_t *want, int64_t n)
{
    struct stat there;
    t_bytes     bytes;
    int64_t     lines;

    if (stat(t_path("log"), &there) != 0) return 0;
    bytes = t_read_file(t_path("log"));
    lines = (int64_t)(bytes.size / sizeof(logged));
    for (int64_t i = 0; i < lines; i++) {
        logged line;

        memcpy(&line, bytes.at + (size_t)i * sizeof line, sizeof line);
        assert_in_range(line.batch, 0, n - 1);
        assert_true(line.hash == want[line.batch]);
    }
    t_clear(&bytes);
    assert_int_equal(remove(t_path("log")), 0);
    return lines;
}

/* `how`: options of the source, with the comma before them. */
static void expect_exact_of(const char *how, const char *stages, int trials)
{
    static uint64_t want[BATCHES], got[BATCHES];
    levada_iter    *it;
    int64_t         n, logged_batches = 0, restored = 0, limit = LIMIT_LEAST;
    uint64_t        random = (uint64_t)getpid();
    t_bytes         file = { 0 };
    char            record[64];

    for (int i = 0; i < RECORDS; i++) {
        memset(record, 'a' + i % 26, sizeof record);
        t_add_record(&file, record, (size_t)(i * 7 % 61));
    }
    (void)t_folder();
    t_write_file(t_path("a.tfrecord"), file.at, file.size);
    assert_int_equal(levada_inspect_index(NULL, t_path("a.tfrecord"), NULL, NULL, NULL),
                     LEVADA_OK);
    /* What is fed back does not pass a prefetch. */
    (void)snprintf(pipe_text, sizeof pipe_text, "tfrecord:%s%s | %s%s", t_path("a.tfrecord"), how,
                   stages, strstr(stages, "layout=ready") ? "" : " | prefetch:2");
    it = t_iter_open(pipe_text, 1, 256);
    n = reference(it, want);
    levada_iter_close(&it);
    for (int trial = 0; trial < trials; trial++) {
        int64_t at, lines;
        bool    ended;

        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ended = killed_after((int64_t)(random >> 33) % limit);
        lines = check_log(want, n);
        logged_batches += lines;
        /* A slow machine gets on too, and a fast one is killed on its way. */
        if (lines == 0 && limit < LIMIT_MOST) limit += limit / 4;
        if (ended && limit > LIMIT_LEAST) limit -= limit / 4;
        it = t_iter_open(pipe_text, 1 + trial % 2, 64);
        at = read_checkpoint(it);
        restored += at > 0;
        assert_int_equal(reference(it, got), n - at);
        assert_memory_equal(got, want + at, (size_t)(n - at) * sizeof *want);
        levada_iter_close(&it);
        if (ended) (void)remove(t_path("checkpoint"));
    }
    assert_true(logged_batches > 0);
    assert_true(restored > 0);
    t_clear(&file);
    t_folder_drop();
}

static void expect_exact(const char *stages, int trials) { expect_exact_of("", stages, trials); }

static void checkpoints_of_buckets_are_exact(void **state)
{
    (void)state;
    expect_exact("shuffle:500 | bucket_by_sequence_length:record,boundaries=[20,40],"
                 "batch_sizes=[16,8,4]", TRIALS);
}

static void checkpoints_of_a_look_ahead_are_exact(void **state)
{
    (void)state;
    expect_exact("shuffle:500 | bucket_by_sequence_length:record,lookahead=700,max_tokens=400",
                 TRIALS);
}

/* The first choice is made after 4096 records. */
static void checkpoints_of_chosen_boundaries_are_exact(void **state)
{
    (void)state;
    expect_exact("repeat:2 | bucket_by_sequence_length:record,max_tokens=500,num_buckets=5",
                 TRIALS);
}

static void checkpoints_of_windows_by_key_are_exact(void **state)
{
    (void)state;
    expect_exact("shuffle:500 | group_by_window:\"len(record) // 7\",window_size=30", TRIALS);
}

/* Many checkpoints are in the middle of sequences: they have up to eight segments. */
static void checkpoints_of_segments_are_exact(void **state)
{
    (void)state;
    expect_exact("decode_raw:uint8,field=record | unroll:8,batch_size=16,zero_length=segment",
                 TRIALS);
    expect_exact("shuffle:300 | decode_raw:uint8,field=record | repeat:2 | "
                 "unroll:12,batch_size=32,burn_in=3,shift=1,zero_length=skip", TRIALS);
}

/* With the states of the sequences that are not finished, each a sum over all its segments. */
static void checkpoints_of_saved_states_are_exact(void **state)
{
    (void)state;
    expect_exact("decode_raw:uint8,field=record | prefetch:2 | unroll:8,batch_size=16,capacity=40,"
                 "zero_length=segment,layout=ready,states={h:int64}",
                 TRIALS);
    expect_exact("shuffle:300 | decode_raw:uint8,field=record | repeat:2 | prefetch:2 | "
                 "unroll:12,batch_size=32,burn_in=3,shift=1,zero_length=skip,layout=ready,"
                 "states={h:int64}",
                 TRIALS);
}

/* All strategies of ranks in step hold records that have not left yet. */
static void checkpoints_of_ranks_in_step_are_exact(void **state)
{
    (void)state;
    expect_exact("shuffle:500 | bucket_by_sequence_length:record,lookahead=300,max_tokens=200,"
                 "ranks=[1,3]", TRIALS / 2);
    expect_exact("bucket_by_sequence_length:record,boundaries=[20,40],max_tokens=50,"
                 "too_long=alone,ranks=[2,3],no_padding=true", TRIALS / 2);
    expect_exact("shuffle:300 | decode_raw:uint8,field=record | "
                 "unroll:8,batch_size=8,zero_length=skip,ranks=[1,3]", TRIALS / 2);
}

static void checkpoints_of_an_index_are_exact(void **state)
{
    (void)state;
    expect_exact_of(",index=true,shuffle_records=true", "window:9,shift=5", TRIALS / 2);
    expect_exact_of(",index=true,part=[1,3]",
                    "decode_raw:uint8,field=record | pack:64,fields=record | padded_batch:4",
                    TRIALS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checkpoints_of_buckets_are_exact),
        cmocka_unit_test(checkpoints_of_a_look_ahead_are_exact),
        cmocka_unit_test(checkpoints_of_chosen_boundaries_are_exact),
        cmocka_unit_test(checkpoints_of_windows_by_key_are_exact),
        cmocka_unit_test(checkpoints_of_segments_are_exact),
        cmocka_unit_test(checkpoints_of_saved_states_are_exact),
        cmocka_unit_test(checkpoints_of_ranks_in_step_are_exact),
        cmocka_unit_test(checkpoints_of_an_index_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
