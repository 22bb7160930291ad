/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader with threads emits what a reader without them does: the same blocks, origins, positions,
 * counts and errors, whatever the files hold, and whenever the threads come to it.
 */
#include "files/read_ahead.h"
#include "state/state_priv.h"
#include "support/codec.h"
#include "support/length.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define HELPERS 2

static const levada_state_scope state_scope = { .path = "0.f", .version = 1 };

typedef struct helpers {
    levada_file_reader *reader;
    atomic_bool         stop;
    atomic_int          worked;
    pthread_t           thread[HELPERS];
} helpers;

static void *help(void *user)
{
    helpers *h = user;

    while (!atomic_load(&h->stop)) {
        if (levada_file_reader_ahead(h->reader, true)) (void)atomic_fetch_add(&h->worked, 1);
        else (void)usleep(20);
    }
    return NULL;
}

static void helpers_start(helpers *h, levada_file_reader *reader)
{
    h->reader = reader;
    atomic_init(&h->stop, false);
    for (int i = 0; i < HELPERS; i++) {
        assert_int_equal(pthread_create(&h->thread[i], NULL, help, h), 0);
    }
}

static void helpers_stop(helpers *h)
{
    atomic_store(&h->stop, true);
    for (int i = 0; i < HELPERS; i++) assert_int_equal(pthread_join(h->thread[i], NULL), 0);
}

/* -- what a reader does, as text */

LEVADA_PRINTF(2, 3) static void log_add(t_bytes *log, const char *format, ...)
{
    char    text[1024];
    va_list args;
    int     size;

    va_start(args, format);
    size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    t_add(log, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
}

static uint32_t block_sum(const levada_block *block)
{
    const levada_kernels *kernels = levada_kernels_for(LEVADA_CPU_AUTO);
    uint32_t              sum = 0;

    for (int64_t i = 0; i < levada_block_rows(block); i++) {
        levada_origin  origin = levada_block_origin(block, i);
        int64_t        size = 0;
        const uint8_t *data = levada_column_bytes(levada_block_at(block, 0), i, &size);

        sum = kernels->crc32c(sum, data, (size_t)size);
        sum = kernels->crc32c(sum, (const uint8_t *)&origin, sizeof origin);
    }
    return sum;
}

static void log_position(t_bytes *log, levada_file_reader *reader)
{
    levada_state_writer to = {.scope = state_scope};
    levada_state_head   head = { { 0 }, 0, 0 };
    char               *bytes = NULL;
    size_t              size = 0;

    assert_int_equal(levada_file_reader_save(reader, &to, NULL), LEVADA_OK);
    assert_int_equal(levada_state_encode(&to, &head, NULL, &bytes, &size, NULL), LEVADA_OK);
    log_add(log, " at %08x",
            levada_kernels_for(LEVADA_CPU_AUTO)->crc32c(0, (const uint8_t *)bytes, size));
    levada_string_free(&bytes);
    levada_state_writer_clear(&to);
}

/* Blocks, positions after each, how it ended, and what was counted. */
static t_bytes stream(t_reader t, int32_t threads, int *worked)
{
    t_bytes                   log = { 0 };
    helpers                   h = { 0 };
    levada_block             *block = NULL;
    levada_file_reader_counts counts;
    levada_status             st;

    t.threads = threads;
    assert_int_equal(t_open(&t), LEVADA_OK);
    if (threads > 1) helpers_start(&h, t.reader);
    while ((st = levada_file_reader_next(t.reader, &block, &t.err)) == LEVADA_OK) {
        log_add(&log, "%d %08x", (int)levada_block_rows(block), block_sum(block));
        log_position(&log, t.reader);
        log_add(&log, "\n");
        levada_block_unref(&block);
    }
    counts = levada_file_reader_counted(t.reader);
    log_add(&log, "%d %s %lld %lld; %lld %lld %lld %lld\n", (int)st, t.err.message,
            (long long)t.err.record, (long long)t.err.offset, (long long)counts.records,
            (long long)counts.skipped_records, (long long)counts.damaged_bytes,
            (long long)counts.bytes);
    if (threads > 1) helpers_stop(&h);
    if (worked) *worked = atomic_load(&h.worked);
    t_close(&t);
    return log;
}

static void expect_same(t_reader t)
{
    t_bytes alone = stream(t, 1, NULL), ahead;

    for (int32_t threads = 2; threads <= 4; threads += 2) {
        ahead = stream(t, threads, NULL);
        assert_string_equal((char *)ahead.at, (char *)alone.at);
        t_clear(&ahead);
    }
    t_clear(&alone);
}

/* -- files */

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
}

/* `size` bytes and more of records of up to `most` bytes; now and then one of `huge`. */
static t_bytes random_records(size_t size, uint32_t most, uint32_t huge)
{
    t_bytes  file = { 0 };
    uint8_t *data = malloc((most > huge ? most : huge) + 1);

    assert_non_null(data);
    for (uint32_t i = 0; i < (most > huge ? most : huge); i++) data[i] = (uint8_t)random_below(256);
    while (file.size < size) {
        uint32_t n = huge && random_below(20) == 0 ? huge : random_below(most + 1);

        t_add_record(&file, data, n);
    }
    free(data);
    return file;
}

static const uint32_t kinds[][2] = {
    { 0, 0 },      { 5, 0 },           { 60, 0 },           { 1000, 0 },
    { 5000, 0 },   { 100000, 0 },      { 2000, 200000 },    { 1000, 500000 },
    { 300, 1500000 },
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static void records_of_any_length_are_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        t_bytes  file = random_records(i < 2 ? 1u << 20 : 3u << 20, kinds[i][0], kinds[i][1]);
        t_reader t = { .format = "tfrecord", .paths = { t_path("f") } };

        t_write_file(t_path("f"), file.at, file.size);
        for (int k = 0; k < 4; k++) {
            t.block_rows = k == 1 ? 300 : k == 2 ? 5000 : 0;
            t.unverified = k == 3;
            expect_same(t);
        }
        t_clear(&file);
    }
}

static void the_helpers_do_the_work(void **state)
{
    t_bytes  file = random_records(16u << 20, 5000, 0);
    t_reader t = { .format = "tfrecord", .paths = { t_path("f") } };
    int      worked = 0;

    (void)state;
    t_write_file(t_path("f"), file.at, file.size);
    /* On a busy machine one pass may end before a helper ever ran. */
    for (int pass = 0; worked == 0 && pass < 1000; pass++) {
        t_bytes log = stream(t, 4, &worked);

        t_clear(&log);
    }
    assert_true(worked > 0);
    t_clear(&file);
}

static void damage_anywhere_is_reported_the_same(void **state)
{
    const char *policies[] = { NULL, "skip", "skip:2", "skip:1%" };

    (void)state;
    for (int64_t trial = 0; trial < 12 * t_length(); trial++) {
        t_bytes file = random_records(2u << 20, kinds[2 + trial % 6][0], kinds[2 + trial % 6][1]);

        for (int n = 0; n < 1 + (int)(trial % 4); n++) {
            file.at[random_below((uint32_t)file.size)] ^= (uint8_t)(1 + random_below(255));
        }
        t_write_file(t_path("f"), file.at, file.size - (trial % 3 == 0 ? random_below(5000) : 0));
        for (int k = 0; k < 4; k++) {
            expect_same((t_reader){
                .format = "tfrecord", .errors = policies[k], .paths = { t_path("f") },
                .max_record_bytes = trial % 5 == 4 ? 300000 : 0 });
        }
        t_clear(&file);
    }
}

static void lines_of_any_length_are_the_same(void **state)
{
    const uint32_t longest[] = { 1, 10, 80, 3000, 400000, 1200000 };

    (void)state;
    for (size_t i = 0; i < sizeof longest / sizeof longest[0]; i++) {
        t_bytes  file = { 0 };
        uint8_t *line = malloc(longest[i] + 1);

        assert_non_null(line);
        memset(line, 'x', longest[i] + 1);
        while (file.size < (2u << 20)) {
            uint32_t n = random_below(longest[i] + 1);

            line[n] = '\n';
            t_add(&file, line, n + 1);
            line[n] = 'x';
        }
        t_write_file(t_path("f"), file.at, file.size);
        expect_same((t_reader){ .format = "text_lines", .paths = { t_path("f") } });
        expect_same(
            (t_reader){ .format = "text_lines", .paths = { t_path("f") }, .skip_lines = 3 });
        free(line);
        t_clear(&file);
    }
}

/* As test_text_lines.c has it for one thread: the system puts the bytes where it copies fast, never
 * 1 to 63 bytes after their place in a page. Each chunk begins `lead` bytes after a line does. */
static void chunks_are_read_to_where_it_is_fast(void **state)
{
    const int64_t lines = 6;
    char         *text = malloc((size_t)(lines * LEVADA_STEP));

    (void)state;
    assert_non_null(text);
    for (int64_t lead = 36000; lead < 36000 + 2048; lead += 16) {
        t_reader      t = { .format = "text_lines", .paths = { t_path("f") }, .threads = 2 };
        levada_block *block = NULL;
        int64_t       behind, seen = 0;

        memset(text, 'x', (size_t)(lines * LEVADA_STEP));
        for (int64_t i = 1; i <= lines; i++) text[i * LEVADA_STEP - lead - 1] = '\n';
        t_write_file(t_path("f"), text, (size_t)(lines * LEVADA_STEP));
        assert_int_equal(t_open(&t), LEVADA_OK);
        while (levada_file_reader_next(t.reader, &block, &t.err) == LEVADA_OK) {
            const levada_column *line = levada_block_at(block, 0);

            behind = (int64_t)(uintptr_t)(line->values + line->level[0].begin[0]) -
                     levada_block_origin(block, 0).offset;
            assert_true(behind % 4096 == 0 || behind % 4096 >= 64);
            seen += levada_block_rows(block);
            levada_block_unref(&block);
        }
        assert_int_equal(seen, lines + 1);
        t_close(&t);
    }
    free(text);
}

static void files_follow_one_another(void **state)
{
    const char *names[] = { "a", "b", "c", "d" };
    t_reader    t = { .format = "tfrecord", .errors = "skip", .shuffle = true };

    (void)state;
    for (int i = 0; i < 4; i++) {
        t_bytes file = random_records(i == 1 ? 100 : 1u << 20, 2000, 0);

        t.paths[i] = strdup(t_path(names[i]));
        assert_non_null(t.paths[i]);
        if (i != 2) t_write_file(t.paths[i], file.at, file.size);
        t_clear(&file);
    }
    expect_same(t);
    for (int i = 0; i < 4; i++) free((void *)(uintptr_t)t.paths[i]);
}

/* Writes a file of a set: of any size, plain or compressed, cut off or damaged, or none. */
static void write_drawn(const char *path, bool lines)
{
    const char *const filters[] = { NULL, "gzip", "zlib", "zstd" };
    const char       *filter = filters[random_below(4)];
    uint32_t          size = random_below(3) ? random_below(40000) : random_below(1200000);
    t_bytes           file = random_records(size, 1000, 0), stored;

    for (size_t i = 0; lines && i < file.size; i++) {
        if (file.at[i] != '\n') file.at[i] = (uint8_t)('a' + file.at[i] % 26);
    }
    stored = filter && t_can(filter) ? t_encode(filter, file.at, file.size, 0) : file;
    if (stored.size > 0 && random_below(6) == 0) {
        stored.at[random_below((uint32_t)stored.size)] ^= 1;
    }
    if (random_below(8) > 0) {
        t_write_file(path, stored.at,
                     random_below(6) ? stored.size : random_below((uint32_t)stored.size + 1));
    }
    if (stored.at != file.at) t_clear(&stored);
    t_clear(&file);
}

static void sets_of_files_are_the_same(void **state)
{
    const char *policies[] = { NULL, "skip", "skip:2", "skip:10%" };
    char        paths[8][4096];

    (void)state;
    for (int64_t trial = 0; trial < 40 * t_length(); trial++) {
        bool     lines = random_below(2);
        t_reader t = { .format = lines ? "text_lines" : "tfrecord",
                       .errors = policies[random_below(4)],
                       .shuffle = random_below(2),
                       .seed = (uint64_t)trial,
                       .block_rows = random_below(2) ? 7 : 0 };

        for (int i = 0; i < 8; i++) {
            (void)snprintf(paths[i], sizeof paths[i], "%s%d", t_path("f"), i);
            (void)unlink(paths[i]);
            write_drawn(paths[i], lines);
            if (i < 2 || random_below(4)) t.paths[i] = paths[i];
            else break;
        }
        expect_same(t);
    }
}

static void *write_pipe(void *path)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs("1\n2\n", f) >= 0);
    assert_int_equal(fclose(f), 0);
    return NULL;
}

/* Its writer would see that somebody reads before its turn; the file before it is long. */
static void a_pipe_is_opened_when_its_turn_comes(void **state)
{
    t_reader      t = { .format = "text_lines", .threads = 2,
                        .paths = { strdup(t_path("a")), strdup(t_path("pipe")) } };
    char         *text = malloc(8u << 20);
    helpers       h = { 0 };
    levada_block *block = NULL;
    int64_t       rows = 0;
    pthread_t     writer;

    (void)state;
    assert_non_null(text);
    memset(text, '\n', 8u << 20);
    t_write_file(t.paths[0], text, 8u << 20);
    assert_int_equal(mkfifo(t.paths[1], 0600), 0);
    assert_int_equal(t_open(&t), LEVADA_OK);
    helpers_start(&h, t.reader);
    assert_int_equal(levada_file_reader_next(t.reader, &block, &t.err), LEVADA_OK);
    levada_block_unref(&block);
    (void)usleep(20000);
    assert_int_equal(open(t.paths[1], O_WRONLY | O_NONBLOCK), -1); /* nobody reads */
    assert_int_equal(pthread_create(&writer, NULL, write_pipe, (void *)(uintptr_t)t.paths[1]), 0);
    while (levada_file_reader_next(t.reader, &block, &t.err) == LEVADA_OK) {
        rows += levada_block_rows(block);
        levada_block_unref(&block);
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_int_equal(rows, (8 << 20) - 256 + 2);
    helpers_stop(&h);
    t_close(&t);
    for (int i = 0; i < 2; i++) free((void *)(uintptr_t)t.paths[i]);
    free(text);
}

/* The file is cut off while threads read it. */
static void a_file_that_shrinks_is_an_error(void **state)
{
    t_bytes       file = random_records(4u << 20, 1000, 0);
    t_reader      t = { .format = "tfrecord", .paths = { t_path("f") }, .threads = 4 };
    levada_block *block = NULL;
    helpers       h = { 0 };
    levada_status st;

    (void)state;
    t_write_file(t_path("f"), file.at, file.size);
    assert_int_equal(t_open(&t), LEVADA_OK);
    helpers_start(&h, t.reader);
    assert_int_equal(levada_file_reader_next(t.reader, &block, &t.err), LEVADA_OK);
    levada_block_unref(&block);
    assert_int_equal(truncate(t_path("f"), 3000), 0);
    while ((st = levada_file_reader_next(t.reader, &block, &t.err)) == LEVADA_OK) {
        levada_block_unref(&block);
    }
    helpers_stop(&h);
    assert_int_equal(st, LEVADA_EDATA_LOSS);
    assert_non_null(strstr(t.err.message, "shrank from"));
    t_close(&t);
    t_clear(&file);
}

/* A rewind, and the end of the reader, may come while threads are inside. */
static void a_rewind_waits_for_the_helpers(void **state)
{
    t_bytes       file = random_records(4u << 20, 1000, 0);
    t_reader      t = { .format = "tfrecord", .paths = { t_path("f"), t_path("g") }, .threads = 3 };
    levada_block *block = NULL;
    helpers       h = { 0 };

    (void)state;
    for (int i = 0; i < 2; i++) t_write_file(t.paths[i], file.at, file.size);
    assert_int_equal(t_open(&t), LEVADA_OK);
    helpers_start(&h, t.reader);
    for (int pass = 0; pass < 50; pass++) {
        for (int k = 0; k < pass % 9; k++) {
            assert_int_equal(levada_file_reader_next(t.reader, &block, &t.err), LEVADA_OK);
            if (k == 0) assert_int_equal(levada_block_origin(block, 0).record, 0);
            levada_block_unref(&block);
        }
        levada_file_reader_rewind(t.reader, pass + 1, 0);
    }
    helpers_stop(&h);
    t_close(&t);
    t_clear(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_any_length_are_the_same),
        cmocka_unit_test(the_helpers_do_the_work),
        cmocka_unit_test(damage_anywhere_is_reported_the_same),
        cmocka_unit_test(lines_of_any_length_are_the_same),
        cmocka_unit_test(chunks_are_read_to_where_it_is_fast),
        cmocka_unit_test(files_follow_one_another),
        cmocka_unit_test(sets_of_files_are_the_same),
        cmocka_unit_test(a_pipe_is_opened_when_its_turn_comes),
        cmocka_unit_test(a_file_that_shrinks_is_an_error),
        cmocka_unit_test(a_rewind_waits_for_the_helpers),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
