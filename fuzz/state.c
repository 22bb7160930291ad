/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States: whatever the bytes are, restoring answers a status, and an iterator that was restored
 * continues to its end or an error and can be saved again.
 *
 * The first byte names a dataset, the second a position to save it at. Then follow edits of that
 * state, of 11 bytes each: what to do, which entry, where in it, a number. So the input says what
 * is wrong, not what a state looks like, and its corpus outlives the format. With 128 added to the
 * second byte the rest is a state file instead, whose checksum is made good first.
 */
#include "edit.h"
#include <levada/levada.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STATE_BLOCKS 100
#define STATE_MOMENTS 16 /* numbers of blocks after which a state is saved */

/* ~ is the folder of the files. */
static const struct {
    const char *text, *errors;
} state_pipes[] = {
    { "range:40 | shuffle:7,seed=1 | bucket_by_sequence_length:value,boundaries=[10,20],"
      "batch_sizes=4", NULL },
    { "files:~/*.txt,shuffle=true | repeat:3 | shuffle:5", NULL },
    { "files:~/*.txt | interleave:(text_lines:\"{path}\" | repeat:2),cycle_length=2 | shuffle:9",
      NULL },
    { "range:6 | interleave:(range:4 | interleave:(range:5 | shuffle:3),cycle_length=2 | batch:3),"
      "cycle_length=3 | take:9", NULL },
    { "zip(range:30; range:25 | shuffle:6 | rename:{value:x}) | enumerate | batch:4 | unbatch | "
      "shuffle:8", NULL },
    { "range:50 | skip:5 | shard:1,count=2 | shuffle:6 | repeat:3 | take:40 | padded_batch:4",
      NULL },
    { "tfrecord:~/*.tfrecord,shuffle_files=true | shuffle:12 | repeat:2 | batch:5", "skip" },
    { "tfrecord:~/*.tfrecord | parse_example:{n:{kind:FixedLen,shape:[],dtype:int64}} | "
      "shuffle:10", "skip:90%" },
    { "mix(range:30; concat(range:5; range:9,start=50) | repeat; text_lines:~/a.txt | shuffle:4 | "
      "enumerate:field=value | select:[value]):weights=[2,1,1],seed=3 | take:60 | batch:3", NULL },
    { "text_lines:~/*.txt | prefetch:2 | filter:\"len(line) > 2\" | shuffle:11 | "
      "bucket_by_sequence_length:line,boundaries=[4,8],batch_sizes=3 | skip:1", NULL },
    { "zip(text_lines:~/*.txt; zip(range:40 | repeat:2 | shuffle:5; range:9 | rename:{value:x} | "
      "repeat) | filter:\"value > 3\") | shuffle:9 | prefetch:2 | batch:3", NULL },
    { "zip(tfrecord:~/*.tfrecord | shuffle:6; range:30 | take:26) | repeat:2 | shuffle:7 | "
      "bucket_by_sequence_length:record,boundaries=[5],batch_sizes=4", "skip" },
    { "mix(text_lines:~/a.txt | shuffle:3; concat(text_lines:~/b.txt; text_lines:~/a.txt)):"
      "weights=[1,3] | shuffle:9 | prefetch:2 | batch:3", NULL },
    { "text_lines:~/*.txt | shuffle:3 | decode_raw:uint8,field=line | "
      "unroll:4,batch_size=3,zero_length=segment,burn_in=1", NULL },
    { "files:~/*.txt | interleave:(text_lines:\"{path}\"),cycle_length=2 | "
      "decode_raw:uint8,field=line | repeat:2 | "
      "unroll:2,batch_size=4,shift=1,zero_length=skip", NULL },
};

#define STATE_PIPES (sizeof state_pipes / sizeof state_pipes[0])

/* -- files */

static char state_folder[] = "/tmp/levada-fuzz-XXXXXX";

static const char *state_path(const char *name)
{
    static char path[64];

    (void)snprintf(path, sizeof path, "%s/%s", state_folder, name);
    return path;
}

static void state_drop_files(void)
{
    (void)remove(state_path("a.txt"));
    (void)remove(state_path("b.txt"));
    (void)remove(state_path("a.tfrecord"));
    (void)rmdir(state_folder);
}

static void state_write_lines(const char *name, int32_t n)
{
    FILE *file = fopen(state_path(name), "wb");

    if (!file) abort();
    for (int32_t i = 0; i < n; i++) fprintf(file, "%.*s%d\n", (int)(i % 7), "words words", (int)i);
    if (fclose(file) != 0) abort();
}

/* Some records that are no Examples, and a damaged one. */
static void state_write_records(const char *name, int32_t n)
{
    levada_writer *w = NULL;
    FILE          *file;

    if (levada_writer_open(NULL, state_path(name), NULL, -1, &w, NULL) != LEVADA_OK) abort();
    for (int32_t i = 0; i < n; i++) {
        char record[16];
        int  size = snprintf(record, sizeof record, "record %d", (int)i);

        if (levada_writer_write(w, record, i % 3 ? (size_t)size : 0, NULL) != LEVADA_OK) abort();
    }
    if (levada_writer_close(w, NULL) != LEVADA_OK) abort();
    levada_writer_destroy(&w);
    file = fopen(state_path(name), "r+b");
    if (!file || fseek(file, 150, SEEK_SET) != 0 || fputc(0xee, file) == EOF) abort();
    if (fclose(file) != 0) abort();
}

static void state_make_files(void)
{
    static int made;

    if (made++) return;
    if (!mkdtemp(state_folder)) abort();
    state_write_lines("a.txt", 17);
    state_write_lines("b.txt", 9);
    state_write_records("a.tfrecord", 30);
    if (atexit(state_drop_files) != 0) abort();
}

/* -- iterators */

/* Made once for each pipe. */
static const levada_dataset *state_dataset(size_t pipe)
{
    static levada_dataset *made[STATE_PIPES];
    const char            *given = state_pipes[pipe].text;
    size_t                 head = strcspn(given, "~");
    bool                   files = given[head] != '\0';
    levada_error           err = LEVADA_ERROR_INIT;
    char                   text[512];

    if (made[pipe]) return made[pipe];
    (void)snprintf(text, sizeof text, "%.*s%s%s", (int)head, given, files ? state_folder : "",
                   files ? given + head + 1 : "");
    if (levada_dataset_parse(NULL, text, &made[pipe], &err) != LEVADA_OK) {
        (void)fprintf(stderr, "%s: %s\n", text, err.message);
        abort();
    }
    return made[pipe];
}

static levada_iter *state_open(size_t pipe)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it = NULL;
    levada_error        err = LEVADA_ERROR_INIT;

    options.threads = 1;
    options.seed = 5;
    options.block_rows = 4;
    options.errors = state_pipes[pipe].errors;
    if (levada_iter_open(state_dataset(pipe), &options, &it, &err) != LEVADA_OK) {
        (void)fprintf(stderr, "%s: %s\n", state_pipes[pipe].text, err.message);
        abort();
    }
    return it;
}

static void state_run(levada_iter *it, int32_t blocks)
{
    levada_block *block = NULL;

    while (blocks-- && levada_iter_next(it, &block, NULL) == LEVADA_OK) levada_block_unref(&block);
}

static void state_try(size_t pipe, const void *bytes, size_t size)
{
    levada_iter *it = state_open(pipe);
    char        *again = NULL;
    size_t       n = 0;

    if (levada_iter_restore(it, bytes, size, NULL) == LEVADA_OK) {
        state_run(it, 3);
        if (levada_iter_save(it, &again, &n, NULL) == LEVADA_OK) levada_string_free(&again);
        state_run(it, STATE_BLOCKS);
    }
    levada_iter_close(&it);
}

/* -- edits */

/* The state of a pipe after that many blocks, made once. */
static const char *state_saved(size_t pipe, size_t blocks, size_t *size)
{
    static char  *made[STATE_PIPES][STATE_MOMENTS];
    static size_t sizes[STATE_PIPES][STATE_MOMENTS];
    levada_iter  *it;

    if (!made[pipe][blocks]) {
        it = state_open(pipe);
        state_run(it, (int32_t)blocks);
        if (levada_iter_save(it, &made[pipe][blocks], &sizes[pipe][blocks], NULL) != LEVADA_OK)
            made[pipe][blocks] = NULL;
        levada_iter_close(&it);
    }
    *size = sizes[pipe][blocks];
    return made[pipe][blocks];
}

static void state_try_edits(size_t pipe, size_t blocks, const uint8_t *edits, size_t size)
{
    size_t      n = 0, made_size = 0;
    char       *made = NULL;
    const char *saved = state_saved(pipe, blocks, &n);

    if (!saved || !edit_state(saved, n, edits, size, &made, &made_size)) return;
    state_try(pipe, made, made_size);
    levada_string_free(&made);
}

/* As they are, and with a good checksum. */
static void state_try_bytes(size_t pipe, const uint8_t *data, size_t size)
{
    uint8_t *good = malloc(size + 4);

    if (!good) return;
    if (size) memcpy(good, data, size);
    edit_seal(good, size + 4);
    state_try(pipe, data, size);
    state_try(pipe, good, size + 4);
    free(good);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t pipe;

    if (size < 2) return 0;
    state_make_files();
    pipe = data[0] % STATE_PIPES;
    if (data[1] & 0x80) {
        state_try_bytes(pipe, data + 2, size - 2);
    } else {
        state_try_edits(pipe, data[1] % STATE_MOMENTS, data + 2, size - 2);
    }
    return 0;
}
