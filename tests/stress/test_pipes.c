/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations over a pipe: the writer writes one batch of records, and waits until it is
 * delivered. A thread that waits for more of the pipe while the batch is on its way waits forever:
 * then the alarm ends the program.
 */
#include "support/iters.h"
#include "support/length.h"
#include "support/register.h"

#include <setjmp.h>
#include <stdarg.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define ROWS 10 /* of a batch */
#define SECONDS 120

/* Passes records on, slowly: other threads look for work meanwhile. */
static levada_status slow_apply(void *state, const void *args, const levada_block *in,
                                levada_block **out, levada_error *err)
{
    const struct timespec wait = { 0, 3000000 };

    (void)state, (void)args, (void)err;
    (void)nanosleep(&wait, NULL);
    *out = levada_block_ref(in);
    return LEVADA_OK;
}

static const levada_stage_def slow = {
    .struct_size = sizeof(levada_stage_def),
    .name = "t_slow",
    .doc = "passes records on, slowly",
    .example = "range:10 | t_slow",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
    .apply = slow_apply,
};

/* -- records of formats */

/* Adds the text with three digits of the number in place of each '#'. */
static void add_text(t_bytes *to, const char *text, int i)
{
    char number[8];

    (void)snprintf(number, sizeof number, "%03d", i % 1000);
    for (; *text; text++) t_add(to, *text == '#' ? number : text, *text == '#' ? 3 : 1);
}

static void add_line(t_bytes *to, int i) { add_text(to, "line #\r\n", i); }
static void add_json(t_bytes *to, int i) { add_text(to, "{\"a\": 1#, \"b\": \"#\"}\n", i); }
static void add_csv(t_bytes *to, int i) { add_text(to, i ? "#,\"x #\"\n" : "a,b\n", i); }
static void add_fastq(t_bytes *to, int i) { add_text(to, "@r#\nACGT\n+\n!!!!\n", i); }
static void add_fixed(t_bytes *to, int i) { add_text(to, "##", i); }

static void add_record(t_bytes *to, int i) { t_add_record(to, "a record", (size_t)i % 8); }

/* Lines, each tenth of which is not UTF-8. */
static void add_damaged(t_bytes *to, int i)
{
    add_text(to, i % ROWS ? "line #\n" : "\xff #\n", i);
}

static void add_example(t_bytes *to, int i)
{
    uint8_t example[] = { 10, 12, 10, 10, 10, 1, 'n', 18, 5, 26, 3, 10, 1, (uint8_t)(i % 128) };

    t_add_record(to, example, sizeof example);
}

/* -- conversations */

typedef struct talk {
    void (*add)(t_bytes *to, int i);
    const char *filter; /* each part is compressed by itself; NULL = plain     */
    const char *text;   /* %s is the pipe                                      */
    int         header; /* records that are not delivered                      */
    int         bad;    /* of each part                                        */
} talk;

static const talk talks[] = {
    { add_line, NULL, "text_lines:%s | batch:10", 0, 0 },
    { add_line, NULL, "text_lines:%s | t_slow | batch:10", 0, 0 },
    { add_line, NULL, "text_lines:%s,dtype=string | batch:10", 0, 0 },
    { add_line, "gzip", "text_lines:%s | t_slow | batch:10", 0, 0 },
    { add_line, NULL, "text_lines:%s | t_slow", 0, 0 },
    { add_line, NULL, "text_lines:%s | prefetch:2 | t_slow | batch:10 | prefetch:3", 0, 0 },
    { add_line, NULL, "text_lines:%s | t_slow | prefetch:2 | batch:5 | t_slow | unbatch", 0, 0 },
    { add_line, NULL, "zip(range:9999 | t_slow; text_lines:%s | t_slow) | t_slow | batch:10", 0,
      0 },
    { add_line, NULL, "zip(text_lines:%s | t_slow; text_lines:%s | rename:{line:b}) | batch:10", 0,
      0 },
    { add_line, NULL, "files:%s | interleave:(text_lines:\"{path}\") | t_slow | batch:10", 0, 0 },
    { add_damaged, NULL, "text_lines:%s | t_slow | batch:9", 0, 1 },
    { add_json, NULL, "jsonl:%s,fields={a:int64,b:string} | t_slow | batch:10", 0, 0 },
    { add_csv, NULL, "csv:%s,header=true,record_defaults=[int64,string] | t_slow | batch:10", 1,
      0 },
    { add_csv, "gzip", "csv:%s,header=true,record_defaults=[int64,string] | batch:10", 1, 0 },
    { add_fastq, NULL, "fastq:%s | t_slow | batch:10", 0, 0 },
    { add_fixed, NULL, "fixed_length:%s,record_bytes=6 | batch:10", 0, 0 },
    { add_record, NULL, "tfrecord:%s | t_slow | padded_batch:10", 0, 0 },
    { add_record, "zstd", "tfrecord:%s | t_slow | batch:10", 0, 0 },
    { add_example, NULL, "tfrecord:%s | parse_example:{n:{kind:VarLen,dtype:int64}} | batch:10", 0,
      0 },
};

/* The text with this path in each place. */
static const char *about(const char *text, const char *path)
{
    static char made[2048];
    size_t      n = 0;

    while (*text) {
        bool place = strncmp(text, "%s", 2) == 0;

        n += (size_t)snprintf(made + n, sizeof made - n, "%.*s", place ? 512 : 1,
                              place ? path : text);
        assert_true(n < sizeof made);
        text += place ? 2 : 1;
    }
    return made;
}

static t_bytes part_of(const talk *t, int first, int n)
{
    t_bytes part = { 0 }, packed;

    for (int i = first; i < first + n; i++) t->add(&part, i);
    if (!t->filter) return part;
    packed = t_encode(t->filter, part.at, part.size, 0);
    t_clear(&part);
    return packed;
}

static void say(int pipe, t_bytes *part)
{
    assert_int_equal(write(pipe, part->at, part->size), (int64_t)part->size);
    t_clear(part);
}

/* Takes blocks until they have as many rows. */
static void hear(levada_iter *it, int64_t rows)
{
    while (rows > 0) {
        levada_block *block = NULL;
        levada_error  err = LEVADA_ERROR_INIT;
        levada_status st = levada_iter_next_slice(it, 50000000, &block, &err);

        if (st == LEVADA_AGAIN) continue;
        assert_int_equal(st, LEVADA_OK);
        rows -= levada_block_rows(block);
        levada_block_unref(&block);
    }
    assert_int_equal(rows, 0);
}

static void converse(const talk *t, int32_t threads, int rounds)
{
    static int   made;
    char         name[32];
    int          pipe;
    t_bytes      part = part_of(t, 0, ROWS + t->header);
    levada_iter *it;

    (void)snprintf(name, sizeof name, "pipe%d", made++);
    assert_int_equal(mkfifo(t_path(name), 0600), 0);
    pipe = open(t_path(name), O_RDWR);
    assert_true(pipe >= 0);
    say(pipe, &part);
    it = t_iter_open_policy(about(t->text, t_path(name)), "skip", threads, 0);
    hear(it, ROWS - t->bad);
    for (int i = 1; i < rounds; i++) {
        part = part_of(t, i * ROWS + t->header, ROWS);
        say(pipe, &part);
        hear(it, ROWS - t->bad);
    }
    levada_iter_close(&it); /* while threads wait for the writer */
    assert_int_equal(close(pipe), 0);
    assert_int_equal(unlink(t_path(name)), 0);
}

static void each_batch_arrives_without_the_next_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof talks / sizeof *talks; i++) {
        if (!t_can(talks[i].filter)) continue;
        if (talks[i].add == add_json && !t_has("simdjson")) continue;
        for (int32_t threads = 1; threads <= 4; threads += threads) {
            (void)alarm(SECONDS);
            converse(&talks[i], threads, 8 * (int)t_length());
        }
    }
}

/* A pass that ended early begins again although the writer is silent. */
static void a_rewind_does_not_wait_for_the_writer(void **state)
{
    static const talk passes[] = {
        { add_line, NULL, "text_lines:%s | take:7 | repeat:3", 0, 0 },
        { add_line, NULL, "text_lines:%s | t_slow | shuffle:3 | t_slow | take:7 | repeat:3", 0, 0 },
        { add_line, NULL, "text_lines:%s | prefetch:2 | take:7 | prefetch:2 | repeat:3", 0, 0 },
        { add_damaged, NULL, "text_lines:%s | t_slow | take:7 | repeat:3", 0, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        for (int32_t threads = 1; threads <= 4; threads += threads) {
            t_bytes      part = part_of(&passes[i], 0, ROWS);
            int          pipe;
            levada_iter *it;

            (void)alarm(SECONDS);
            assert_int_equal(mkfifo(t_path("pipe"), 0600), 0);
            pipe = open(t_path("pipe"), O_RDWR);
            say(pipe, &part);
            it = t_iter_open_policy(about(passes[i].text, t_path("pipe")), "skip", threads, 0);
            hear(it, 21);
            assert_int_equal(levada_iter_next(it, &(levada_block *){ NULL }, NULL), LEVADA_END);
            assert_int_equal(levada_iter_rewind(it, NULL), LEVADA_OK);
            hear(it, 21);
            levada_iter_close(&it);
            assert_int_equal(close(pipe), 0);
            assert_int_equal(unlink(t_path("pipe")), 0);
        }
    }
}

static int set_up(void **state)
{
    assert_int_equal(t_register(t_iter_env(), LEVADA_FAMILY_STAGE, &slow, NULL, NULL), LEVADA_OK);
    return t_folder_set_up(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_batch_arrives_without_the_next_one),
        cmocka_unit_test(a_rewind_does_not_wait_for_the_writer),
    };

    return cmocka_run_group_tests(tests, set_up, t_folder_tear_down);
}
