/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void put(t_bytes *to, int64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) t_add(to, &(uint8_t){ (uint8_t)(value >> (8 * i)) }, 1);
}

/* NAME.bin has the uint16 tokens 1, 2, ...; documents begin at the given sequences. */
static void write_pair(const char *name, int n, const int *lengths, int ndocuments,
                       const int *documents)
{
    t_bytes bin = { 0 }, idx = { 0 };
    char    file[64];
    int64_t at = 0, token = 0;

    t_add(&idx, "MMIDIDX\0\0", 9);
    put(&idx, 1, 8);
    put(&idx, 8, 1);
    put(&idx, n, 8);
    put(&idx, ndocuments, 8);
    for (int i = 0; i < n; i++) put(&idx, lengths[i], 4);
    for (int i = 0; i < n; at += 2 * lengths[i++]) {
        put(&idx, at, 8);
        for (int k = 0; k < lengths[i]; k++) put(&bin, ++token, 2);
    }
    for (int i = 0; i < ndocuments; i++) put(&idx, documents[i], 8);
    snprintf(file, sizeof file, "%s.bin", name);
    t_write_file(t_path(file), bin.at, bin.size);
    snprintf(file, sizeof file, "%s.idx", name);
    t_write_file(t_path(file), idx.at, idx.size);
    t_clear(&bin);
    t_clear(&idx);
}

static const char *pipe_of(const char *name, const char *options)
{
    static char text[500];
    char        file[64];

    snprintf(file, sizeof file, "%s.bin", name);
    snprintf(text, sizeof text, "megatron:%s%s", t_path(file), options);
    return text;
}

/* All records as "1 2|3|". */
static void expect(const char *name, const char *options, const char *want)
{
    for (int32_t rows = 1; rows < 300; rows += 127) {
        levada_iter  *it = t_iter_open_policy(pipe_of(name, options), "skip", 1, rows);
        levada_block *block = NULL;
        t_bytes       got = { 0 };
        char          word[16];

        while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
            const levada_column *c = levada_block_column(block, "tokens");

            for (int64_t i = 0; i < levada_block_rows(block); i++) {
                for (int32_t k = c->level[0].begin[i]; k < c->level[0].end[i]; k++) {
                    const uint8_t *at = (const uint8_t *)c->values + 2 * k;

                    t_add(&got, word, (size_t)snprintf(word, sizeof word, "%s%d",
                                                       k > c->level[0].begin[i] ? " " : "",
                                                       at[0] | at[1] << 8));
                }
                t_add(&got, "|", 1);
            }
            levada_block_unref(&block);
        }
        t_add(&got, "", 1);
        assert_string_equal((char *)got.at, want);
        levada_iter_close(&it);
        t_clear(&got);
    }
}

static void the_index_says_what_records_are(void **state)
{
    (void)state;
    write_pair("a", 4, (int[]){ 3, 2, 1, 2 }, 3, (int[]){ 0, 3, 4 });
    expect("a", "", "1 2 3|4 5|6|7 8|");
    expect("a", ",documents=true", "1 2 3 4 5 6|7 8|");
    expect("a", ",records=[1,3]", "4 5|6|");
    expect("a", ",part=[1,2]", "6|7 8|");
    expect("a", ",part=[1,2],documents=true", "7 8|");
    write_pair("none", 0, NULL, 1, (int[]){ 0 });
    expect("none", "", "");
}

static void sequences_may_be_empty(void **state)
{
    (void)state;
    write_pair("e", 5, (int[]){ 0, 2, 0, 0, 0 }, 4, (int[]){ 0, 0, 2, 5 });
    expect("e", "", "|1 2||||");
    expect("e", ",records=[1,4]", "1 2|||");
    expect("e", ",records=[2,3]", "|");
    expect("e", ",documents=true", "|1 2||");
    t_iter_sweep(pipe_of("e", ""), false, 1);
}

static void refused(const char *name, const char *options, levada_status code, const char *message)
{
    levada_dataset *ds = NULL;
    levada_iter    *it = NULL;
    levada_error    err = LEVADA_ERROR_INIT;
    levada_status   st = levada_dataset_parse(NULL, pipe_of(name, options), &ds, &err);

    if (st == LEVADA_OK) st = levada_iter_open(ds, NULL, &it, &err);
    assert_int_equal(st, code);
    if (!strstr(err.message, message)) assert_string_equal(err.message, message);
    levada_dataset_unref(&ds);
}

/* Reads tokens that count up from `first`, one record a block; returns true if the values of all
 * blocks are in one buffer. */
static bool read_shared(const char *name, int first)
{
    levada_iter         *it = t_iter_open_policy(pipe_of(name, ""), "fail", 1, 1);
    levada_block        *block = NULL, *kept = NULL;
    const levada_buffer *owner = NULL;
    bool                 shared = true;

    for (int token = first; levada_iter_next(it, &block, NULL) == LEVADA_OK;) {
        const levada_column *c = levada_block_at(block, 0);

        for (int32_t k = c->level[0].begin[0]; k < c->level[0].end[0]; k++) {
            uint16_t value;

            memcpy(&value, c->values + 2 * k, 2);
            assert_int_equal(value, token++);
        }
        shared = shared && (!owner || c->owner == owner);
        owner = c->owner;
        levada_block_unref(&kept); /* else the pool may hand out the same buffer again */
        kept = block;
    }
    levada_block_unref(&kept);
    levada_iter_close(&it);
    return shared;
}

static void aligned_tokens_are_not_copied(void **state)
{
    (void)state;
    write_pair("a", 3, (int[]){ 3, 2, 1 }, 2, (int[]){ 0, 3 });
    assert_true(read_shared("a", 1));
}

static void every_byte_of_tokens_is_in_a_sequence(void **state)
{
    t_bytes bin, idx, longer = { 0 };

    (void)state;
    write_pair("a", 3, (int[]){ 3, 2, 1 }, 2, (int[]){ 0, 3 });
    bin = t_read_file(t_path("a.bin"));
    idx = t_read_file(t_path("a.idx"));
    t_add(&longer, bin.at, bin.size);
    t_add(&longer, "x", 1);
    t_write_file(t_path("a.bin"), longer.at, longer.size);
    refused("a", "", LEVADA_EFAILED_PRECONDITION, "end at byte 12, but the .bin file has 13 bytes");
    t_write_file(t_path("a.bin"), bin.at, bin.size);
    for (int i = 0; i < 3; i++) {
        idx.at[34 + 12 + 8 * i]++;
        t_write_file(t_path("a.idx"), idx.at, idx.size);
        refused("a", "", LEVADA_EDATA_LOSS, "of the .bin file, but the sequences before it end");
        idx.at[34 + 12 + 8 * i]--;
    }
    t_write_file(t_path("a.idx"), idx.at, 20);
    refused("a", "", LEVADA_EDATA_LOSS, "its .idx file: it has 20 bytes, and its heading alone");
    t_clear(&bin);
    t_clear(&idx);
    t_clear(&longer);
}

static void an_index_that_does_not_fit_is_refused(void **state)
{
    t_bytes idx;

    (void)state;
    write_pair("a", 2, (int[]){ 3, 2 }, 2, (int[]){ 0, 2 });
    refused("a", ",dtype=int32", LEVADA_EINVALID_ARGUMENT,
            "the tokens are uint16, but dtype=int32");
    refused("a", ",shuffle_files=true", LEVADA_EINVALID_ARGUMENT, "shuffle_files");
    refused("missing", "", LEVADA_ENOT_FOUND, "");
    idx = t_read_file(t_path("a.idx"));
    idx.at[17] = 9;
    t_write_file(t_path("a.idx"), idx.at, idx.size);
    refused("a", "", LEVADA_EINVALID_ARGUMENT, "unknown dtype code 9");
    idx.at[17] = 8;
    idx.at[9] = 2;
    t_write_file(t_path("a.idx"), idx.at, idx.size);
    refused("a", "", LEVADA_EINVALID_ARGUMENT, "the index has version 2");
    idx.at[9] = 1;
    t_write_file(t_path("a.idx"), idx.at, idx.size - 1);
    refused("a", "", LEVADA_EDATA_LOSS, "16 bytes at byte 58 exceed the file of 73 bytes");
    idx.at[42] = 5; /* the position of sequence 0 */
    t_write_file(t_path("a.idx"), idx.at, idx.size);
    refused("a", "", LEVADA_EDATA_LOSS, "sequence 0 begins at byte 5");
    t_write_file(t_path("a.idx"), "no", 2);
    refused("a", "", LEVADA_EDATA_LOSS, "it has 2 bytes, and its heading alone has 34");
    t_clear(&idx);
}

static void a_cut_file_loses_its_last_records(void **state)
{
    t_bytes bin;

    (void)state;
    write_pair("c", 4, (int[]){ 3, 2, 1, 2 }, 2, (int[]){ 0, 4 });
    bin = t_read_file(t_path("c.bin"));
    t_write_file(t_path("c.bin"), bin.at, 10);
    expect("c", "", "1 2 3|4 5|");
    t_iter_ends_at(t_iter_open(pipe_of("c", ""), 1, 1), LEVADA_EDATA_LOSS, "c.bin", 2, 10);
    t_clear(&bin);
}

static void records_have_numbers_and_lengths(void **state)
{
    int lengths[300];

    (void)state;
    for (int i = 0; i < 300; i++) lengths[i] = i % 40;
    write_pair("s", 300, lengths, 2, (int[]){ 0, 300 });
    t_iter_sweep(pipe_of("s", ""), false, 13);
    t_iter_sweep(pipe_of("s", ",shuffle_records=true"), false, 13);
    t_iter_sweep(pipe_of("s", " | shuffle:50,seed=1 | "
                              "bucket_by_sequence_length:tokens,boundaries=[10,20],max_tokens=200"),
                 true, 13);
}

static void sequences_without_documents_are_refused(void **state)
{
    (void)state;
    write_pair("g", 3, (int[]){ 1, 1, 2 }, 0, NULL);
    expect("g", "", "1|2|3 4|");
    refused("g", ",documents=true", LEVADA_EDATA_LOSS, "3 sequences are in no document");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_index_says_what_records_are),
        cmocka_unit_test(sequences_may_be_empty),
        cmocka_unit_test(aligned_tokens_are_not_copied),
        cmocka_unit_test(every_byte_of_tokens_is_in_a_sequence),
        cmocka_unit_test(an_index_that_does_not_fit_is_refused),
        cmocka_unit_test(a_cut_file_loses_its_last_records),
        cmocka_unit_test(records_have_numbers_and_lengths),
        cmocka_unit_test(sequences_without_documents_are_refused),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
