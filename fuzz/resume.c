/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run, save, restore: for any pipeline, threads, block size and position, an iterator that is
 * restored continues as the one that was saved.
 *
 * The input is a source and up to six stages with their numbers, two bytes each, after three bytes:
 * position, threads and block sizes. A pipeline that is refused proves nothing.
 */
#include "rows.h"

#include <levada/levada.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RESUME_ROWS 2000

static const char *const resume_sources[] = {
    "range:~", "text_lines:/tmp/levada-resume-~/*.txt",
    "zip(range:40; range:~ | rename:{value:x})", "mix(range:~; range:9,start=50):seed=2",
    "concat(range:5; range:~)", "range:5 | interleave:(range:~ | shuffle:3),cycle_length=3",
};
static const char *const resume_stages[] = {
    " | shuffle:~,seed=4", " | repeat:~", " | take:~", " | skip:~", " | shard:0,count=~",
    " | batch:~", " | unbatch", " | padded_batch:~", " | prefetch:~", " | enumerate",
    " | shuffle:~", " | filter:\"value > ~\"",
    " | bucket_by_sequence_length:value,boundaries=[~],batch_sizes=3",
    " | bucket_by_sequence_length:line,boundaries=[~],batch_sizes=2",
    " | decode_raw:uint8,field=line | unroll:~,batch_size=3,zero_length=segment",
};

#define RESUME_COUNT(list) (sizeof(list) / sizeof *(list))

static void resume_require(bool holds, const char *text, const char *what)
{
    if (holds) return;
    fprintf(stderr, "%s: %s\n", text, what);
    abort();
}

static void resume_path(char path[64], int i)
{
    (void)snprintf(path, 64, "/tmp/levada-resume-%d/%d.txt", (int)getpid(), i);
    if (i < 0) *strrchr(path, '/') = '\0';
}

static void resume_drop(void)
{
    char path[64];

    for (int i = 2; i >= -1; i--) {
        resume_path(path, i);
        (void)remove(path);
    }
}

/* Every source of lines reads the same three files. */
static int resume_folder(void)
{
    static int made;
    char       path[64];

    if (made) return made;
    made = (int)getpid();
    (void)atexit(resume_drop);
    resume_path(path, -1);
    resume_require(mkdir(path, 0700) == 0, path, "cannot be made");
    for (int i = 0; i < 3; i++) {
        FILE *file;

        resume_path(path, i);
        file = fopen(path, "wb");
        resume_require(file != NULL, path, "cannot be written");
        for (int k = 0; k < 5 + 4 * i; k++) fprintf(file, "%.*s%d\n", k % 7, "a line", k);
        fclose(file);
    }
    return made;
}

/* Appends a part of a description, with the number where it has a ~. */
static void resume_add(levada_cli_buffer *text, const char *part, int number)
{
    size_t head = strcspn(part, "~");

    levada_cli_add(text, part, head);
    if (!part[head]) return;
    levada_cli_int(text, number);
    levada_cli_puts(text, part + head + 1);
}

/* The pipeline of the input, with numbers from 1 to 32. */
static void resume_text(levada_cli_buffer *text, const uint8_t *data, size_t size)
{
    const char *source = resume_sources[data[0] % RESUME_COUNT(resume_sources)];
    bool        files = strstr(source, "~/") != NULL;

    resume_add(text, source, files ? resume_folder() : 1 + data[1] % 32);
    for (size_t i = 2; i + 1 < size && i < 14; i += 2)
        resume_add(text, resume_stages[data[i] % RESUME_COUNT(resume_stages)],
                   1 + data[i + 1] % 16);
}

static levada_iter *resume_open(const levada_dataset *ds, int32_t threads, int32_t rows)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it = NULL;

    options.seed = 7;
    options.threads = threads;
    options.block_rows = rows;
    return levada_iter_open(ds, &options, &it, NULL) == LEVADA_OK ? it : NULL;
}

/* Appends the rows of up to `blocks` blocks, each with its key, as lines of JSON. */
static levada_status resume_run(levada_iter *it, int32_t blocks, levada_cli_buffer *to,
                                int32_t *count)
{
    levada_block *block = NULL;
    levada_status st = LEVADA_OK;

    while (blocks-- > 0 && *count < RESUME_ROWS) {
        st = levada_iter_next(it, &block, NULL);
        if (st != LEVADA_OK) break;
        for (int64_t row = 0; row < levada_block_rows(block); row++, (*count)++) {
            levada_cli_row_key(to, it, block, row);
            levada_cli_puts(to, " ");
            levada_cli_row_json(to, block, row);
            levada_cli_puts(to, "\n");
        }
        levada_block_unref(&block);
    }
    return st;
}

static void resume_try(const levada_dataset *ds, const char *text, const uint8_t how[3])
{
    levada_iter      *one = resume_open(ds, 1 + how[1] % 3, 1 + how[2] % 9), *two;
    levada_cli_buffer before = { 0 }, rest = { 0 }, again = { 0 };
    int32_t           rows = 0, first, other;
    char             *state = NULL;
    size_t            size = 0;

    if (!one) return;
    (void)resume_run(one, how[0] % 24, &before, &rows);
    first = other = rows;
    if (levada_iter_save(one, &state, &size, NULL) == LEVADA_OK) {
        levada_status st = resume_run(one, INT32_MAX, &rest, &first), end;

        two = resume_open(ds, 1 + how[1] / 3 % 3, 1 + how[2] / 9 % 9);
        resume_require(two && levada_iter_restore(two, state, size, NULL) == LEVADA_OK, text,
                       "the state is refused");
        end = resume_run(two, INT32_MAX, &again, &other);
        /* Blocks of another size end elsewhere where the rows were too many. */
        if (rest.size > again.size && first >= RESUME_ROWS) rest.size = again.size;
        if (again.size > rest.size && other >= RESUME_ROWS) again.size = rest.size;
        resume_require(rest.size == again.size &&
                           (rest.size == 0 || memcmp(rest.at, again.at, rest.size) == 0),
                       text, "other records after a restore");
        resume_require(st == end, text, "another end after a restore");
        levada_string_free(&state);
        levada_iter_close(&two);
    }
    levada_cli_buffer_clear(&before);
    levada_cli_buffer_clear(&rest);
    levada_cli_buffer_clear(&again);
    levada_iter_close(&one);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    levada_cli_buffer text = { 0 };
    levada_dataset   *ds = NULL;

    if (size < 5) return 0;
    resume_text(&text, data + 3, size - 3);
    if (levada_dataset_parse(NULL, text.at, &ds, NULL) == LEVADA_OK) resume_try(ds, text.at, data);
    levada_dataset_unref(&ds);
    levada_cli_buffer_clear(&text);
    return 0;
}
