/* SPDX-License-Identifier: Apache-2.0 */
#include "state/state_priv.h"
#include "support/deaths.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Written by hand from the layout in state_file.c, its checksum by another implementation. */
static const uint8_t golden[116] = {
    0x4c, 0x56, 0x44, 0x41, 0x53, 0x54, 0x41, 0x54, 0x04, 0x00, 0x00, 0x00,
    0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b,
    0x0c, 0x0d, 0x0e, 0x0f, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00,
    0x07, 0x30, 0x2e, 0x72, 0x61, 0x6e, 0x67, 0x65, 0x01, 0x61, 0x03, 0x00,
    0x00, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x05, 0x07, 0x30, 0x2e, 0x72,
    0x61, 0x6e, 0x67, 0x65, 0x01, 0x62, 0x03, 0x00, 0x00, 0x00, 0x02, 0x03,
    0x00, 0x00, 0x00, 0x78, 0x79, 0x7a, 0x07, 0x30, 0x2e, 0x72, 0x61, 0x6e,
    0x67, 0x65, 0x01, 0x63, 0x03, 0x00, 0x00, 0x00, 0x03, 0x03, 0x00, 0x00,
    0x00, 0x0a, 0x04, 0x01, 0xdc, 0x16, 0x44, 0x4e,
};

static const levada_state_scope scope_range = { .path = "0.range", .version = 3 };

static levada_state_head golden_head(void)
{
    levada_state_head head = { .seed = 11, .epoch = 2 };

    for (uint8_t i = 0; i < 16; i++) head.fingerprint[i] = i;
    return head;
}

static void its_bytes_are_pinned(void **state)
{
    levada_state_writer w = { .scope = scope_range };
    levada_state_head   head = golden_head();
    const int64_t       list[3] = { 5, 7, 6 };
    char               *bytes = NULL;
    size_t              size = 0;

    (void)state;
    assert_int_equal(levada_state_put_i64s(&w, "c", list, 3, NULL), LEVADA_OK);
    assert_int_equal(levada_state_put_bytes(&w, "b", "xyz", 3, NULL), LEVADA_OK);
    assert_int_equal(levada_state_put_i64(&w, "a", -3, NULL), LEVADA_OK);
    assert_int_equal(levada_state_encode(&w, &head, NULL, &bytes, &size, NULL), LEVADA_OK);
    assert_int_equal(size, sizeof golden);
    assert_memory_equal(bytes, golden, sizeof golden);
    levada_state_writer_clear(&w);
    levada_string_free(&bytes);
}

static void golden_bytes_are_read(void **state)
{
    levada_state_reader r;
    int64_t             value = 0, n = 0;
    const int64_t      *list = NULL;
    const void         *bytes = NULL;
    size_t              size = 0;
    levada_error        err = LEVADA_ERROR_INIT;
    levada_state_scope  old = { .path = "0.range", .version = 2 };

    (void)state;
    assert_int_equal(levada_state_decode(golden, sizeof golden, NULL, &r, NULL), LEVADA_OK);
    assert_int_equal(r.head.seed, 11);
    assert_int_equal(r.head.epoch, 2);
    r.scope = scope_range;
    assert_int_equal(levada_state_get_i64(&r, "a", &value, NULL), LEVADA_OK);
    assert_int_equal(value, -3);
    assert_int_equal(levada_state_get_bytes(&r, "b", &bytes, &size, NULL), LEVADA_OK);
    assert_int_equal(size, 3);
    assert_memory_equal(bytes, "xyz", 3);
    assert_int_equal(levada_state_get_i64s(&r, "c", &list, &n, NULL), LEVADA_OK);
    assert_int_equal(n, 3);
    assert_memory_equal(list, ((int64_t[]){ 5, 7, 6 }), 24);
    assert_true(levada_state_has(&r, "a"));
    assert_false(levada_state_has(&r, "d"));
    assert_int_equal(levada_state_get_i64(&r, "d", &value, &err), LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "0.range/d"));
    assert_int_equal(levada_state_get_i64(&r, "b", &value, &err), LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "another type"));
    r.scope = old;
    assert_int_equal(levada_state_get_i64(&r, "a", &value, &err), LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.message,
                           "was saved by version 3 of the stage, but this is version 2"));
    levada_state_reader_clear(&r);
}

static void numbers_at_the_limits(void **state)
{
    static const int64_t list[] = { INT64_MIN, INT64_MAX, 0, -1, 1, INT64_MAX, INT64_MIN, 63, -64,
                                    64 };
    levada_state_writer  w = { .scope = scope_range };
    levada_state_reader  r;
    levada_state_head    head = { .seed = -1 };
    char                *bytes = NULL;
    size_t               size = 0;
    int64_t              n = 0, value = 0;
    const int64_t       *back = NULL;

    (void)state;
    assert_int_equal(levada_state_put_i64s(&w, "l", list, 10, NULL), LEVADA_OK);
    assert_int_equal(levada_state_put_i64s(&w, "none", NULL, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_state_put_bytes(&w, "empty", NULL, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_state_put_i64(&w, "m", INT64_MIN, NULL), LEVADA_OK);
    assert_int_equal(levada_state_encode(&w, &head, NULL, &bytes, &size, NULL), LEVADA_OK);
    assert_int_equal(levada_state_decode(bytes, size, NULL, &r, NULL), LEVADA_OK);
    r.scope = scope_range;
    assert_int_equal(levada_state_get_i64s(&r, "l", &back, &n, NULL), LEVADA_OK);
    assert_int_equal(n, 10);
    assert_memory_equal(back, list, sizeof list);
    assert_int_equal(levada_state_get_i64s(&r, "none", &back, &n, NULL), LEVADA_OK);
    assert_int_equal(n, 0);
    assert_int_equal(levada_state_get_i64(&r, "m", &value, NULL), LEVADA_OK);
    assert_true(value == INT64_MIN);
    assert_int_equal(r.head.seed, -1);
    levada_state_reader_clear(&r);
    levada_state_writer_clear(&w);
    levada_string_free(&bytes);
}

static void keys_are_short_and_stand_once(void **state)
{
    levada_state_writer w = { .scope = scope_range };
    levada_state_head   head = { .seed = 1 };
    levada_error        err = LEVADA_ERROR_INIT;
    char               *bytes = NULL, key[65] = "";
    size_t              size = 0;

    (void)state;
    memset(key, 'k', sizeof key - 1);
    assert_int_equal(levada_state_put_i64(&w, key, 1, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "must have at most"));
    assert_int_equal(levada_state_put_i64(&w, "twice", 1, NULL), LEVADA_OK);
    assert_int_equal(levada_state_put_i64(&w, "twice", 2, NULL), LEVADA_OK);
    assert_int_equal(levada_state_encode(&w, &head, NULL, &bytes, &size, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "0.range/twice"));
    assert_null(bytes);
    levada_state_writer_clear(&w);
}

/* -- damage */

/* What is refused leaves the iterator as it was: it still returns the rest. */
static void refused(levada_iter *it, const uint8_t *bytes, size_t size)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;
    uint8_t      *exact = malloc(size + 1); /* so that reading beyond the end is found */

    assert_non_null(exact);
    exact = realloc(exact, size > 0 ? size : 1);
    if (size) memcpy(exact, bytes, size);
    st = levada_iter_restore(it, exact, size, &err);
    if (st != LEVADA_EDATA_LOSS && st != LEVADA_EFAILED_PRECONDITION) {
        fail_msg("%s: %s", levada_status_name(st), err.message);
    }
    assert_int_equal(err.code, st);
    assert_true(err.message[0] != 0);
    free(exact);
}

static void every_cut_and_every_flipped_bit_is_refused(void **state)
{
    static const char *const texts[] = {
        "t_rows:60 | shuffle:20 | bucket_by_sequence_length:x,boundaries=[2,5],batch_sizes=4",
        "t_stream:30,bare=true | shuffle:4",
    };

    (void)state;
    for (size_t t = 0; t < 2; t++) {
        levada_iter *it = t_iter_open(texts[t], 1, 7), *other = t_iter_open(texts[t], 1, 7);
        t_bytes      head = { 0 }, rest = { 0 }, got = { 0 }, saved;

        (void)t_iter_read(it, 2, true, &head);
        (void)t_iter_read(other, 2, true, &head);
        saved = t_iter_save(it);
        for (size_t cut = 0; cut < saved.size; cut++) refused(other, saved.at, cut);
        for (size_t bit = 0; bit < 8 * saved.size; bit++) {
            saved.at[bit / 8] ^= (uint8_t)(1u << (bit % 8));
            refused(other, saved.at, saved.size);
            saved.at[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        }
        t_add(&saved, "x", 1);
        refused(other, saved.at, saved.size);
        (void)t_iter_read(it, -1, true, &rest);
        (void)t_iter_read(other, -1, true, &got);
        t_bytes_equal(rest, got, "after refused states");
        t_clear(&head);
        t_clear(&rest);
        t_clear(&got);
        t_clear(&saved);
        levada_iter_close(&it);
        levada_iter_close(&other);
    }
}

static void sign(t_bytes *state)
{
    uint32_t crc = levada_env_kernels(NULL)->crc32c(0, state->at, state->size - 4);

    for (size_t i = 0; i < 4; i++) state->at[state->size - 4 + i] = (uint8_t)(crc >> (8 * i));
}

/* Restored and read, if it lets itself. */
static void try_state(const char *text, t_bytes state)
{
    levada_iter  *it = t_iter_open(text, 1, 7);
    levada_status st = levada_iter_restore(it, state.at, state.size, NULL);

    for (int i = 0; st == LEVADA_OK && i < 3; i++) {
        levada_block *block = NULL;

        st = levada_iter_next(it, &block, NULL);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
}

/* With a checksum that fits: whatever it says, there is no crash, and what is taken can be read. */
static void forged_states_do_no_harm(void **state)
{
    static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
    const char          *text = "t_stream:40 | shuffle:6 | batch:4";
    levada_iter         *it = t_iter_open(text, 1, 7);
    t_bytes              head = { 0 }, saved;

    (void)state;
    (void)t_iter_read(it, 2, true, &head);
    saved = t_iter_save(it);
    for (size_t at = 8; at + 4 < saved.size; at++) {
        uint8_t before = saved.at[at];

        if (at >= 12 && at < 44) continue; /* fingerprint, seed, epoch */
        for (size_t v = 0; v < sizeof values; v++) {
            saved.at[at] = values[v];
            sign(&saved);
            try_state(text, saved);
        }
        saved.at[at] = before;
    }
    t_clear(&head);
    t_clear(&saved);
    levada_iter_close(&it);
}

/* The state with one entry more: a restore that ignored it would lose what it holds. */
static void refused_with(levada_iter *it, const t_bytes *saved, const char *path, const char *key)
{
    levada_state_reader r;
    levada_state_writer w = { 0 };
    levada_error        err = LEVADA_ERROR_INIT;
    char               *bytes = NULL, name[128];
    size_t              size = 0;

    assert_int_equal(levada_state_decode(saved->at, saved->size, NULL, &r, NULL), LEVADA_OK);
    w.entries = r.entries; /* moved */
    w.n = r.n;
    w.capacity = r.n;
    r.entries = NULL;
    r.n = 0;
    w.scope = (levada_state_scope){ .path = path };
    assert_int_equal(levada_state_put_i64(&w, key, 1, NULL), LEVADA_OK);
    assert_int_equal(levada_state_encode(&w, &r.head, NULL, &bytes, &size, NULL), LEVADA_OK);
    assert_int_equal(levada_iter_restore(it, bytes, size, &err), LEVADA_EFAILED_PRECONDITION);
    (void)snprintf(name, sizeof name, "'%s/%s'", path, key);
    assert_non_null(strstr(err.message, name));
    levada_string_free(&bytes);
    levada_state_writer_clear(&w);
    levada_state_reader_clear(&r);
}

static void an_entry_that_nothing_reads_is_refused_by_name(void **state)
{
    levada_iter  *it = t_iter_open("t_rows:20 | shuffle:5", 2, 4);
    levada_block *block = NULL;
    t_bytes       saved;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    levada_block_unref(&block);
    saved = t_iter_save(it);
    refused_with(it, &saved, "9.take", "given");
    refused_with(it, &saved, "0.t_rows", "next2");
    refused_with(it, &saved, "dataset", "more");
    assert_int_equal(levada_iter_restore(it, saved.at, saved.size, NULL), LEVADA_OK);
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    levada_block_unref(&block);
    levada_iter_close(&it);
    t_clear(&saved);
}

static void another_format_is_refused(void **state)
{
    levada_iter *it = t_iter_open("t_rows:60", 1, 7);
    t_bytes      saved = t_iter_save(it);
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    saved.at[8] = 5;
    sign(&saved);
    assert_int_equal(levada_iter_restore(it, saved.at, saved.size, &err),
                     LEVADA_EFAILED_PRECONDITION);
    assert_string_equal(err.message,
                        "the checkpoint has format 5; this version of levada reads format 4; use "
                        "the version that saved it");
    for (uint8_t format = 1; format < 4; format++) {
        char want[120];

        saved.at[8] = format;
        sign(&saved);
        assert_int_equal(levada_iter_restore(it, saved.at, saved.size, &err),
                         LEVADA_EFAILED_PRECONDITION);
        (void)snprintf(want, sizeof want,
                       "the checkpoint has format %d; this version of levada reads format 4; use "
                       "the version that saved it",
                       format);
        assert_string_equal(err.message, want);
    }
    saved.at[8] = 4;
    saved.at[10] = 1;
    sign(&saved);
    assert_int_equal(levada_iter_restore(it, saved.at, saved.size, &err),
                     LEVADA_EFAILED_PRECONDITION);
    assert_int_equal(levada_iter_restore(it, "LVDASTAT", 8, &err), LEVADA_EDATA_LOSS);
    assert_int_equal(levada_iter_restore(it, "", 0, &err), LEVADA_EDATA_LOSS);
    t_clear(&saved);
    levada_iter_close(&it);
}

static void another_dataset_is_named(void **state)
{
    levada_iter *it = t_iter_open("t_rows:60 | shuffle:10 | batch:4", 1, 7);
    levada_iter *other = t_iter_open("t_rows:60 | shuffle:12 | batch:4", 1, 7);
    t_bytes      saved = t_iter_save(it);
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_iter_restore(other, saved.at, saved.size, &err),
                     LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "another pipeline"));
    assert_non_null(strstr(err.message, "shuffle: buffer_size was 10 when it was saved, is 12"));
    t_clear(&saved);
    levada_iter_close(&it);
    levada_iter_close(&other);
}

/* What couldn't be read back is not written. Nothing of that size is looked at. */
static void what_is_too_large_is_refused_by_name(void **state)
{
    uint8_t             bytes[8] = { 0 };
    levada_entry        e = { .path = "2.shuffle", .key = "buffer", .data = bytes };
    levada_state_writer w = { .entries = &e, .n = 1 };
    levada_state_head   head = golden_head();
    levada_error        err = LEVADA_ERROR_INIT;
    char               *out = NULL;
    size_t              size = 0;

    (void)state;
    e.type = LEVADA_ENTRY_BYTES;
    e.size = (size_t)UINT32_MAX + 1;
    assert_int_equal(levada_state_encode(&w, &head, NULL, &out, &size, &err),
                     LEVADA_ERESOURCE_EXHAUSTED);
    assert_non_null(strstr(err.message, "'2.shuffle/buffer' has 4294967296 bytes"));
    e.type = LEVADA_ENTRY_I64S; /* each takes a byte at least */
    e.size = ((size_t)UINT32_MAX + 1) * sizeof(int64_t);
    assert_int_equal(levada_state_encode(&w, &head, NULL, &out, &size, &err),
                     LEVADA_ERESOURCE_EXHAUSTED);
    assert_non_null(strstr(err.message, "'2.shuffle/buffer' has 4294967296 bytes"));
    assert_null(out);
}

static void too_many_entries_are_refused(void **state)
{
    const int32_t       n = (1 << 20) + 1;
    levada_entry       *entries = calloc((size_t)n, sizeof *entries);
    levada_state_writer w = { .entries = entries, .n = n };
    levada_state_head   head = golden_head();
    levada_error        err = LEVADA_ERROR_INIT;
    char               *out = NULL;
    size_t              size = 0;

    (void)state;
    assert_non_null(entries);
    memcpy(entries[n - 1].path, "1.interleave", 13);
    assert_int_equal(levada_state_encode(&w, &head, NULL, &out, &size, &err),
                     LEVADA_ERESOURCE_EXHAUSTED);
    assert_non_null(strstr(err.message, "1048577 entries, the last of '1.interleave'"));
    assert_null(out);
    free(entries);
}

static void counts_are_checked(void **state)
{
    levada_state_writer w = { .scope = scope_range };
    levada_state_head   head = golden_head();
    levada_state_reader r;
    levada_error        err = LEVADA_ERROR_INIT;
    char               *bytes = NULL;
    size_t              size = 0;
    int64_t             got = 77;

    (void)state;
    assert_int_equal(levada_state_put_i64(&w, "few", 5, NULL), LEVADA_OK);
    assert_int_equal(levada_state_put_i64(&w, "less", -1, NULL), LEVADA_OK);
    assert_int_equal(levada_state_encode(&w, &head, NULL, &bytes, &size, NULL), LEVADA_OK);
    assert_int_equal(levada_state_decode(bytes, size, NULL, &r, NULL), LEVADA_OK);
    r.scope = scope_range;
    assert_int_equal(levada_state_get_count(&r, "few", 4, &got, &err), LEVADA_EDATA_LOSS);
    assert_non_null(strstr(err.message, "'0.range/few': must be from 0 to 4, got 5"));
    assert_int_equal(levada_state_get_count(&r, "less", 4, &got, &err), LEVADA_EDATA_LOSS);
    assert_int_equal(levada_state_get_count(&r, "no", 4, &got, &err), LEVADA_EFAILED_PRECONDITION);
    assert_int_equal(got, 77);
    assert_int_equal(levada_state_get_count(&r, "few", 5, &got, &err), LEVADA_OK);
    assert_int_equal(got, 5);
    levada_state_reader_clear(&r);
    levada_state_writer_clear(&w);
    levada_string_free(&bytes);
}

static void encode_records(void *user)
{
    levada_state_writer w = { .scope = scope_range };
    levada_state_head   head = golden_head();
    levada_iter        *it = t_iter_open("t_rows:3", 1, 3);
    levada_block       *block = NULL;
    char               *bytes = NULL;
    size_t              size = 0;

    (void)user;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_state_put_records(&w, "r", block, NULL), LEVADA_OK);
    assert_int_equal(levada_state_encode(&w, &head, NULL, &bytes, &size, NULL), LEVADA_OK);
}

static void held_records_never_reach_a_file(void **state)
{
    (void)state;
    if (!LEVADA_DEBUG) skip();
    test_aborts(encode_records, NULL, "e->type != LEVADA_ENTRY_RECORDS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_bytes_are_pinned),
        cmocka_unit_test(golden_bytes_are_read),
        cmocka_unit_test(numbers_at_the_limits),
        cmocka_unit_test(keys_are_short_and_stand_once),
        cmocka_unit_test(every_cut_and_every_flipped_bit_is_refused),
        cmocka_unit_test(forged_states_do_no_harm),
        cmocka_unit_test(what_is_too_large_is_refused_by_name),
        cmocka_unit_test(too_many_entries_are_refused),
        cmocka_unit_test(counts_are_checked),
        cmocka_unit_test(held_records_never_reach_a_file),
        cmocka_unit_test(an_entry_that_nothing_reads_is_refused_by_name),
        cmocka_unit_test(another_format_is_refused),
        cmocka_unit_test(another_dataset_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
