/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restores: at positions inside a block, and after the world changed.
 */
#include "support/iters.h"
#include "support/register.h"
#include <levada/binding.h>
#include <levada/source.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

/* -- positions inside a block */

static t_bytes save_at(levada_iter *it, const levada_block *block, int64_t row)
{
    t_bytes bytes = { 0 };
    char   *at = NULL;
    size_t  size = 0;

    assert_int_equal(levada_iter_save_at(it, block, row, &at, &size, NULL), LEVADA_OK);
    t_add(&bytes, at, size);
    levada_string_free(&at);
    return bytes;
}

/* The first rows of a block. */
static void add_head(t_bytes *to, const levada_block *block, int64_t rows)
{
    levada_cursor cursor = { .block = levada_block_ref(block) };
    levada_block *head = NULL;

    if (rows) assert_int_equal(levada_cursor_take(&cursor, rows, &head, NULL), LEVADA_OK);
    if (rows) t_iter_add(to, head, false);
    levada_block_unref(&head);
    levada_cursor_clear(&cursor);
}

static void goes_on_at_each_row(const char *text, int32_t threads, t_bytes want)
{
    levada_iter  *it = t_iter_open(text, threads, 5);
    levada_block *block = NULL;
    t_bytes       before = { 0 };

    while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        for (int64_t row = 0; row <= levada_block_rows(block); row++) {
            t_bytes      saved = save_at(it, block, row), got = { 0 };
            levada_iter *other = t_iter_open(text, 3 - threads % 2, 4);

            t_add(&got, before.at, before.size);
            add_head(&got, block, row);
            t_iter_restore(other, saved);
            (void)t_iter_read(other, -1, false, &got);
            t_bytes_equal(want, got, text);
            levada_iter_close(&other);
            t_clear(&saved);
            t_clear(&got);
        }
        add_head(&before, block, levada_block_rows(block));
        levada_block_unref(&block);
    }
    t_bytes_equal(want, before, text); /* saving took nothing away */
    t_clear(&before);
    levada_iter_close(&it);
}

static void a_position_may_lie_inside_a_block(void **state)
{
    static const char *const texts[] = {
        "t_rows:23",
        "t_stream:23 | shuffle:5",
        "t_rows:23 | shuffle:5 | prefetch:2",
        "zip(range:19; range:19,start=7 | rename:{value:other}) | shuffle:4",
        "range:7 | repeat:3 | filter:\"value > 1\" | prefetch:3",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        t_bytes want = t_iter_all(texts[i], false);

        for (int32_t threads = 1; threads <= 4; threads *= 2) {
            goes_on_at_each_row(texts[i], threads, want);
        }
        t_clear(&want);
    }
}

static void save_at_refuses(levada_iter *it, const levada_block *block, int64_t row,
                            levada_status code)
{
    char        *at = NULL;
    size_t       size = 0;
    levada_error err = LEVADA_ERROR_INIT;

    assert_int_equal(levada_iter_save_at(it, block, row, &at, &size, &err), code);
    assert_int_equal(err.code, code);
    assert_null(at);
}

static void a_position_must_be_one_of_the_block(void **state)
{
    levada_iter  *it = t_iter_open("range:10", 1, 4);
    levada_iter  *other = t_iter_open("range:10 | batch:4", 1, 4);
    levada_block *block = NULL, *batch = NULL;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    save_at_refuses(it, block, -1, LEVADA_EINVALID_ARGUMENT);
    save_at_refuses(it, block, 5, LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_iter_next(other, &batch, NULL), LEVADA_OK);
    save_at_refuses(other, batch, 1, LEVADA_EINVALID_ARGUMENT);
    levada_iter_unread(it, &block);
    save_at_refuses(it, batch, 1, LEVADA_EFAILED_PRECONDITION);
    levada_block_unref(&batch);
    levada_iter_close(&it);
    levada_iter_close(&other);
}

/* -- files of two passes */

static levada_status restore(const char *text, t_bytes saved, levada_error *err)
{
    levada_iter  *it = t_iter_open(text, 1, 4);
    levada_status st = levada_iter_restore(it, saved.at, saved.size, err);

    levada_iter_close(&it);
    return st;
}

/* Older content counts for positions in the older pass, and later no more. */
static void a_file_may_be_replaced_between_passes(void **state)
{
    char         text[256];
    levada_iter *it;
    levada_error err = LEVADA_ERROR_INIT;
    t_bytes      rows = { 0 }, first, second;

    (void)state;
    t_write_file(t_path("x"), "1\n2\n3\n", 6);
    (void)snprintf(text, sizeof text, "text_lines:%s | repeat:2", t_path("x"));
    it = t_iter_open(text, 1, 3);
    (void)t_iter_read(it, 1, false, &rows);
    first = t_iter_save(it);
    assert_int_equal(restore(text, first, &err), LEVADA_OK);
    t_write_file(t_path("x"), "4\n5\n6\n", 6);
    assert_int_equal(restore(text, first, &err), LEVADA_EFAILED_PRECONDITION);
    (void)t_iter_read(it, 1, false, &rows);
    second = t_iter_save(it);
    assert_int_equal(restore(text, first, &err), LEVADA_EFAILED_PRECONDITION);
    assert_int_equal(restore(text, second, NULL), LEVADA_OK);
    levada_iter_close(&it);
    t_clear(&first);
    t_clear(&second);
    t_clear(&rows);
}

/* -- ranks */

static void state_of(const char *text, int32_t blocks, t_bytes *saved)
{
    levada_iter *it = t_iter_open(text, 1, 4);
    t_bytes      rows = { 0 };

    (void)t_iter_read(it, blocks, false, &rows);
    *saved = t_iter_save(it);
    t_clear(&rows);
    levada_iter_close(&it);
}

static void rank_refused(const char *saved_from, const char *text, const char *message)
{
    for (int32_t blocks = 0; blocks < 3; blocks++) {
        levada_error err = LEVADA_ERROR_INIT;
        t_bytes      saved;

        state_of(saved_from, blocks, &saved);
        assert_int_equal(restore(saved_from, saved, &err), LEVADA_OK);
        assert_int_equal(restore(text, saved, &err), LEVADA_EFAILED_PRECONDITION);
        if (!strstr(err.message, message)) fail_msg("%s: %s", text, err.message);
        t_clear(&saved);
    }
}

static void another_rank_or_world_is_refused(void **state)
{
    const char *one = "range:40 | shard:0,count=2", *inner = "range:4 | interleave:(range:9 | "
                                                             "shard:0,count=2),cycle_length=2";

    (void)state;
    rank_refused(one, "range:40 | shard:0,count=4", "from shard 0 of 2, but this is shard 0 of 4");
    rank_refused(one, "range:40 | shard:1,count=2", "from shard 0 of 2, but this is shard 1 of 2");
    rank_refused(one, "range:40", "saved from shard 0 of 2, but this is a dataset without shard");
    rank_refused("range:40", one, "saved from a dataset without shard, but this is shard 0 of 2");
    rank_refused("range:40 | shard:0,count=2 | shuffle:5 | batch:2",
                 "range:40 | shard:0,count=3 | shuffle:5 | batch:2", "any number of ranks");
    rank_refused("range:40 | shard:0,count=2 | batch:2", "range:40 | batch:2 | shard:0,count=2",
                 "at another position");
    rank_refused(inner, "range:4 | interleave:(range:9 | shard:1,count=2),cycle_length=2",
                 "saved from shard 0 of 2, but this is shard 1 of 2");
}

/* -- cancel: a source whose random access cancels the iterator that is restored */

static struct {
    levada_iter *it; /* NULL = nothing is cancelled */
    int          calls;
} late_cancel;

typedef struct late_state {
    const levada_context *context;
    int64_t               next;
} late_state;

static levada_status late_check(const void *args, levada_spec **out, levada_error *err)
{
    static const levada_field field = { .name = "value", .dtype = LEVADA_INT64 };

    (void)args;
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status late_open(void *state, const void *args, const levada_context *context,
                               levada_error *err)
{
    (void)args, (void)err;
    ((late_state *)state)->context = context;
    return LEVADA_OK;
}

static levada_status late_block(const late_state *s, const int64_t *numbers, int64_t n,
                                levada_block **out, levada_error *err)
{
    levada_builder *b = NULL;
    void           *values = NULL;
    levada_status   st;

    LEVADA_TRY(levada_builder_create(s->context->env, s->context->out, n, &b, err));
    st = levada_builder_values(b, 0, n, &values, err);
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        ((int64_t *)values)[i] = numbers ? numbers[i] : s->next + i;
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    return st;
}

static levada_status late_next(void *state, const void *args, levada_block **out,
                               levada_error *err)
{
    late_state *s = state;

    (void)args;
    if (s->next >= 30000) return LEVADA_END;
    LEVADA_TRY(late_block(s, NULL, 100, out, err));
    s->next += 100;
    return LEVADA_OK;
}

static levada_status late_at(void *state, const void *args, const int64_t *records, int64_t n,
                             levada_block **out, levada_error *err)
{
    (void)args;
    late_cancel.calls++;
    if (late_cancel.it) levada_iter_cancel(late_cancel.it);
    return late_block(state, records, n, out, err);
}

static levada_status late_save(const void *state, levada_state_writer *to, levada_error *err)
{
    return levada_state_put_i64(to, "next", ((const late_state *)state)->next, err);
}

static levada_status late_restore(void *state, levada_state_reader *from, levada_error *err)
{
    return levada_state_get_i64(from, "next", &((late_state *)state)->next, err);
}

static void late_put(void)
{
    static const levada_arg        none[] = { LEVADA_ARG_END };
    static const levada_source_def source = {
        .struct_size = sizeof source,
        .name = "t_late",
        .doc = "numbers",
        .example = "t_late",
        .args = none,
        .state_size = sizeof(late_state),
        .state_version = 1,
        .check = late_check,
        .open = late_open,
        .next = late_next,
        .at = late_at,
        .save = late_save,
        .restore = late_restore,
    };

    assert_int_equal(t_register(t_iter_env(), LEVADA_FAMILY_SOURCE, &source, NULL, NULL),
                     LEVADA_OK);
}

static void a_restore_can_be_cancelled(void **state)
{
    const char  *text = "t_late | shuffle:20000";
    levada_error err = LEVADA_ERROR_INIT;
    levada_iter *it = t_iter_open(text, 1, 256);
    t_bytes      saved;

    (void)state;
    state_of(text, 1, &saved);
    late_cancel.calls = 0;
    assert_int_equal(levada_iter_restore(it, saved.at, saved.size, &err), LEVADA_OK);
    assert_true(late_cancel.calls > 1); /* 20,000 records are read again in pieces */
    late_cancel.calls = 0;
    late_cancel.it = it;
    assert_int_equal(levada_iter_restore(it, saved.at, saved.size, &err), LEVADA_ECANCELLED);
    assert_int_equal(late_cancel.calls, 1);
    late_cancel.it = NULL;
    assert_int_equal(levada_iter_restore(it, saved.at, saved.size, &err), LEVADA_ECANCELLED);
    assert_int_equal(late_cancel.calls, 1); /* before it */
    t_clear(&saved);
    levada_iter_close(&it);
}

/* -- keys of any length: a stage that holds a block under one */

typedef struct keys_args {
    int64_t length;
} keys_args;

typedef struct keys_state {
    levada_cursor rest;
    char          key[128], own[128];
} keys_state;

static levada_status keys_open(void *state, const void *args, const levada_context *context,
                               levada_error *err)
{
    keys_state *s = state;

    (void)context, (void)err;
    memset(s->key, 'k', (size_t)((const keys_args *)args)->length);
    memset(s->own, 'o', (size_t)((const keys_args *)args)->length);
    return LEVADA_OK;
}

static void keys_close(void *state) { levada_cursor_clear(&((keys_state *)state)->rest); }

static levada_status keys_next(void *state, const void *args, levada_input *in, levada_block **out,
                               levada_error *err)
{
    keys_state *s = state;

    (void)args;
    LEVADA_TRY(levada_cursor_fill(&s->rest, in, err));
    return levada_cursor_take(&s->rest, 1, out, err);
}

static levada_status keys_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const keys_state *s = state;

    LEVADA_TRY(levada_state_put_i64(to, s->own, 5, err));
    return levada_cursor_save(&s->rest, to, s->key, err);
}

static levada_status keys_restore(void *state, levada_state_reader *from, levada_error *err)
{
    keys_state *s = state;
    int64_t     five = 0;

    LEVADA_TRY(levada_state_get_count(from, s->own, 5, &five, err));
    return levada_cursor_restore(&s->rest, from, s->key, err);
}

static void keys_put(void)
{
    static const levada_arg options[] = {
        LEVADA_ARG(INT, keys_args, length, .required = true, .positional = true, .min = 1,
                   .max = 120, .doc = "bytes of its key"),
        LEVADA_ARG_END,
    };
    static const levada_traits subset = { .struct_size = sizeof(levada_traits),
                                          .rows = LEVADA_ROWS_SUBSET };
    static const levada_stage_def stage = {
        .struct_size = sizeof stage,
        .name = "t_keys",
        .doc = "records one by one",
        .example = "range:3 | t_keys:5",
        .mode = LEVADA_MODE_SERIAL,
        .traits = &subset,
        .args = options,
        .args_size = sizeof(keys_args),
        .state_size = sizeof(keys_state),
        .state_version = 1,
        .open = keys_open,
        .close = keys_close,
        .next = keys_next,
        .save = keys_save,
        .restore = keys_restore,
    };

    assert_int_equal(t_register(t_iter_env(), LEVADA_FAMILY_STAGE, &stage, NULL, NULL),
                     LEVADA_OK);
}

static void key_is_whole(const char *text, bool fits)
{
    t_bytes      want = t_iter_all(text, false), got = { 0 }, saved = { 0 };
    levada_iter *it = t_iter_open(text, 1, 5), *other = t_iter_open(text, 1, 4);
    levada_error err = LEVADA_ERROR_INIT;
    char        *at = NULL;
    size_t       size = 0;

    (void)t_iter_read(it, 3, false, &got);
    if (levada_iter_save(it, &at, &size, &err) != LEVADA_OK) {
        assert_false(fits);
        assert_int_equal(err.code, LEVADA_EINVALID_ARGUMENT);
        assert_non_null(strstr(err.message, "of a checkpoint must have at most 63 bytes"));
    } else {
        t_add(&saved, at, size);
        t_iter_restore(other, saved);
        (void)t_iter_read(other, -1, false, &got);
        t_bytes_equal(want, got, text);
    }
    levada_string_free(&at);
    t_clear(&saved);
    t_clear(&got);
    t_clear(&want);
    levada_iter_close(&it);
    levada_iter_close(&other);
}

/* By origin, by value with many columns, with several origin parts. */
static void keys_are_whole_or_refused(void **state)
{
    static const char *const in[] = {
        "range:23", "t_stream:23", "zip(range:19; range:19,start=7 | rename:{value:other})"
    };

    (void)state;
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
        for (int length = 1; length <= 120; length++) {
            char text[160];

            (void)snprintf(text, sizeof text, "%s | t_keys:%d", in[i], length);
            key_is_whole(text, length <= 40);
        }
    }
}

/* -- again from the beginning, by the owner */

static void an_owner_may_rewind(void **state)
{
    static const char *const texts[] = { "range:20", "range:20 | shuffle:7 | batch:3",
                                         "range:5 | repeat:3 | prefetch:2" };

    (void)state;
    for (size_t i = 0; i < 3 * sizeof texts / sizeof *texts; i++) {
        const char  *text = texts[i / 3];
        levada_iter *it = t_iter_open(text, 1 << i % 3, 4), *other = t_iter_open(text, 1, 4);
        t_bytes      passes[3] = { { 0 } }, got = { 0 }, saved;

        for (int pass = 0; pass < 3; pass++) {
            if (pass) assert_int_equal(levada_iter_rewind(it, NULL), LEVADA_OK);
            if (pass == 2) { /* also in the midst of one; and where it was saved */
                (void)t_iter_read(it, 1, false, &got);
                saved = t_iter_save(it);
                t_iter_restore(other, saved);
                t_clear(&saved);
                (void)t_iter_read(other, -1, false, &got);
            }
            (void)t_iter_read(it, -1, false, &passes[pass]);
        }
        assert_int_equal(passes[0].size, passes[1].size);
        assert_int_equal(passes[0].size, got.size);
        assert_true((memcmp(passes[0].at, passes[1].at, got.size) == 0) == (i / 3 != 1));
        assert_int_equal(levada_iter_rewind(it, NULL), LEVADA_OK);
        assert_int_equal(levada_iter_rewind(other, NULL), LEVADA_OK);
        t_clear(&got);
        (void)t_iter_read(it, -1, false, &got);
        t_clear(&passes[0]);
        (void)t_iter_read(other, -1, false, &passes[0]);
        t_bytes_equal(got, passes[0], text); /* the same pass */
        for (int pass = 0; pass < 3; pass++) t_clear(&passes[pass]);
        t_clear(&got);
        levada_iter_close(&it);
        levada_iter_close(&other);
    }
}

/* -- a file that appears between two passes */

static void sets_of_files_are_found_once(void **state)
{
    static const char *const what[] = { "files", "text_lines" };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char         text[256];
        levada_iter *it;
        t_bytes      rows = { 0 };
        levada_error err = LEVADA_ERROR_INIT;
        t_bytes      saved;

        t_write_file(t_path("set-b"), "b\n", 2);
        t_write_file(t_path("set-d"), "d\n", 2);
        (void)snprintf(text, sizeof text, "%s:%s | repeat:3", what[i], t_path("set-*"));
        it = t_iter_open(text, 1, 1);
        assert_int_equal(t_iter_read(it, 2, false, &rows), 2);
        t_write_file(t_path("set-a"), "a\n", 2);
        t_write_file(t_path("set-c"), "c\n", 2);
        assert_int_equal(t_iter_read(it, -1, false, &rows), 4);
        saved = t_iter_save(it);
        assert_int_equal(restore(text, saved, &err), LEVADA_EFAILED_PRECONDITION);
        assert_non_null(strstr(err.message, "4 files, but 2 when"));
        assert_int_equal(remove(t_path("set-a")), 0);
        assert_int_equal(remove(t_path("set-c")), 0);
        assert_int_equal(restore(text, saved, &err), LEVADA_OK);
        assert_int_equal(rename(t_path("set-d"), t_path("set-e")), 0);
        assert_int_equal(restore(text, saved, &err), LEVADA_EFAILED_PRECONDITION);
        assert_int_equal(remove(t_path("set-e")), 0);
        t_clear(&saved);
        t_clear(&rows);
        levada_iter_close(&it);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_position_may_lie_inside_a_block),
        cmocka_unit_test(a_position_must_be_one_of_the_block),
        cmocka_unit_test(a_file_may_be_replaced_between_passes),
        cmocka_unit_test(another_rank_or_world_is_refused),
        cmocka_unit_test(a_restore_can_be_cancelled),
        cmocka_unit_test(keys_are_whole_or_refused),
        cmocka_unit_test(an_owner_may_rewind),
        cmocka_unit_test(sets_of_files_are_found_once),
    };
    int failed;

    (void)t_folder();
    late_put();
    keys_put();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    t_folder_drop();
    return failed;
}
