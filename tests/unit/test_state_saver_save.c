/* SPDX-License-Identifier: Apache-2.0 */
/* Saved savers: a restored one delivers what the other would have delivered. */
#include "state/state_priv.h"
#include "support/queues.h"
#include "support/forge.h"
#include "support/savers.h"

#include <levada/levada.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EXAMPLES 30

typedef struct saved {
    char  *bytes;
    size_t size;
} saved;

static int64_t steps_of(int64_t k) { return 2 + k * 7 % 11; }

static levada_state_saver *make(void)
{
    levada_state_saver_options o = test_saver_options(3, 2);

    o.capacity = 5;
    o.allow_small_batch = o.pad = true;
    return test_saver_of(&o);
}

static saved save(levada_state_saver *s, bool data)
{
    saved        to = { NULL, 0 };
    levada_error err = LEVADA_ERROR_INIT;

    if (levada_state_saver_save(s, data, "mark", 4, &to.bytes, &to.size, &err) != LEVADA_OK) {
        fail_msg("%s", err.message);
    }
    return to;
}

static levada_state_saver *restore(const saved *from)
{
    levada_state_saver *s = make();
    char               *extra = NULL;
    size_t              size = 0;
    levada_error        err = LEVADA_ERROR_INIT;

    if (levada_state_saver_restore(s, from->bytes, from->size, &extra, &size, &err) != LEVADA_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(size, 4);
    assert_string_equal(extra, "mark");
    levada_string_free(&extra);
    return s;
}

/* Inserts what fits, from example *k on. */
static void feed(levada_state_saver *s, int64_t *k)
{
    while (*k < EXAMPLES) {
        levada_status st = test_saver_insert(s, *k, steps_of(*k), *k, false, 0, NULL);

        if (st == LEVADA_EDEADLINE_EXCEEDED) return;
        assert_int_equal(st, LEVADA_OK);
        ++*k;
    }
    if (!levada_state_saver_is_closed(s))
        assert_int_equal(levada_state_saver_close(s, false, NULL), 0);
}

/* The rows of up to `most` further batches as lines; false at the end. */
static bool run(levada_state_saver *s, int64_t *k, int64_t most, char *text)
{
    text += strlen(text);
    for (; most > 0; most--) {
        feed(s, k);
        levada_segment_batch *batch = test_saver_take(s, -1);
        if (batch == NULL) return false;
        text += strlen(test_batch_text(batch, text));
        *text++ = '\n';
        *text = '\0';
        assert_int_equal(test_batch_save(batch, NULL), LEVADA_OK);
        levada_segment_batch_destroy(&batch);
    }
    return true;
}

/* From the beginning to the end; with a save and a restore after `cut` batches. */
static void run_all(int64_t cut, bool data, bool taken, char *text)
{
    levada_state_saver   *s = make();
    levada_segment_batch *batch = NULL;
    int64_t               k = 0;

    *text = '\0';
    if (run(s, &k, cut, text)) {
        if (taken) batch = test_saver_take(s, -1); /* its states are not saved: it comes again */
        saved state = save(s, data);
        levada_segment_batch_destroy(&batch);
        levada_state_saver_unref(&s);
        s = restore(&state);
        if (!data) k = 0;
        levada_string_free(&state.bytes);
    }
    (void)run(s, &k, INT64_MAX, text);
    assert_int_equal(test_saver_stats(s).finished, EXAMPLES);
    levada_state_saver_unref(&s);
}

static void a_restored_saver_continues(void **state)
{
    static char whole[1 << 16], other[1 << 16];

    (void)state;
    run_all(INT64_MAX, false, false, whole);
    for (int64_t cut = 0; cut < 70; cut += 3) {
        for (int how = 0; how < 4; how++) {
            run_all(cut, how & 1, how & 2, other);
            assert_string_equal(other, whole);
        }
    }
}

static void a_restored_saver_can_be_saved_again(void **state)
{
    levada_state_saver *s = make();
    int64_t             k = 0;
    char                text[1 << 14] = "", other[1 << 14] = "";

    (void)state;
    assert_true(run(s, &k, 9, text));
    saved first = save(s, false);
    levada_state_saver_unref(&s);
    s = restore(&first);
    saved again = save(s, false); /* its data has not come yet */
    assert_int_equal(again.size, first.size);
    assert_memory_equal(again.bytes, first.bytes, first.size);
    levada_error err = LEVADA_ERROR_INIT;
    saved        none = { NULL, 0 };
    assert_int_equal(levada_state_saver_save(s, true, NULL, 0, &none.bytes, &none.size, &err),
                     LEVADA_EFAILED_PRECONDITION);
    assert_null(test_saver_take(s, -1)); /* nothing before all are there */
    k = 0;
    text[0] = '\0';
    (void)run(s, &k, INT64_MAX, text);
    levada_state_saver_unref(&s);
    s = restore(&again);
    k = 0;
    (void)run(s, &k, INT64_MAX, other);
    assert_string_equal(text, other);
    levada_state_saver_unref(&s);
    levada_string_free(&first.bytes);
    levada_string_free(&again.bytes);
}

static void refuse(levada_state_saver *s, const saved *from, levada_status want, const char *text)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st = levada_state_saver_restore(s, from->bytes, from->size, NULL, NULL, &err);

    if (st != want || strstr(err.message, text) == NULL) {
        fail_msg("%s: %s", levada_status_name(st), err.message);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    levada_state_saver *s = make(), *other = NULL;
    levada_error        err = LEVADA_ERROR_INIT;
    int64_t             k = 0;
    char                text[4096] = "";

    (void)state;
    assert_true(run(s, &k, 4, text));
    saved from = save(s, false);
    refuse(s, &from, LEVADA_EFAILED_PRECONDITION, "examples were inserted into it");
    other = test_saver(3, 4);
    refuse(other, &from, LEVADA_EFAILED_PRECONDITION,
           "2 steps in a segment, this saver has 4");
    levada_state_saver_unref(&other);
    levada_state_saver_unref(&s);
    s = restore(&from);
    refuse(s, &from, LEVADA_EFAILED_PRECONDITION, "it was restored already");
    /* Example 5 has another length, then another key. */
    for (k = 0; k < 2; k++) {
        levada_status st = test_saver_insert(s, 4 + k, steps_of(4) + 1 - k, 4, false, 0, &err);

        assert_int_equal(st, LEVADA_EFAILED_PRECONDITION);
        assert_non_null(strstr(err.message, "but 'k4'"));
    }
    assert_int_equal(levada_state_saver_close(s, false, NULL), LEVADA_OK);
    levada_status st;
    assert_null(test_saver_wait(s, 1, 0, &st, &err));
    assert_int_equal(st, LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "were not inserted again"));
    levada_state_saver_unref(&s);
    levada_string_free(&from.bytes);
}

/* Every truncation and every flipped byte, also where the checksum is made to fit. */
static void damage_is_refused(void **state)
{
    levada_state_saver *s = make();
    int64_t             k = 0;
    char                text[4096] = "";

    (void)state;
    assert_true(run(s, &k, 4, text));
    saved from = save(s, true);
    levada_state_saver_unref(&s);
    s = make();
    for (size_t size = 0; size < from.size; size++) {
        saved cut = { from.bytes, size };

        refuse(s, &cut, LEVADA_EDATA_LOSS, "");
    }
    for (size_t i = 0; i < from.size; i++) {
        from.bytes[i] ^= 1;
        assert_int_not_equal(levada_state_saver_restore(s, from.bytes, from.size, NULL, NULL, NULL),
                             LEVADA_OK);
        from.bytes[i] ^= 1;
    }
    levada_state_saver_unref(&s);
    s = restore(&from);
    levada_state_saver_unref(&s);
    levada_string_free(&from.bytes);
}

/* Names and dtypes of fields, each byte changed, under a good checksum. */
static void other_names_and_dtypes_are_refused(void **state)
{
    levada_state_saver *s = make();
    levada_state_reader r;
    levada_entry       *names = NULL;
    int64_t             k = 0;
    saved               from;

    (void)state;
    feed(s, &k);
    from = save(s, true);
    levada_state_saver_unref(&s);
    assert_int_equal(levada_state_decode(from.bytes, from.size, NULL, &r, NULL), LEVADA_OK);
    for (int32_t i = 0; i < r.n; i++) {
        if (strcmp(r.entries[i].key, "names") == 0) names = &r.entries[i];
    }
    assert_non_null(names);
    for (size_t i = 0; i < names->size; i++) {
        levada_state_writer w = { .entries = r.entries, .n = r.n };
        saved               forged = { NULL, 0 };
        levada_status       st;

        names->data[i]++;
        assert_int_equal(levada_state_encode(&w, &r.head, NULL, &forged.bytes, &forged.size, NULL),
                         LEVADA_OK);
        names->data[i]--;
        s = make();
        st = levada_state_saver_restore(s, forged.bytes, forged.size, NULL, NULL, NULL);
        assert_true(st == LEVADA_EDATA_LOSS || st == LEVADA_EFAILED_PRECONDITION);
        levada_state_saver_unref(&s);
        levada_string_free(&forged.bytes);
    }
    levada_state_reader_clear(&r);
    levada_string_free(&from.bytes);
}

/* Each entry in each wrong form: the error names one of them. */
static void errors_name_the_entry(void **state)
{
    int64_t             k = 0, refused = 0;
    levada_state_saver *s = make();
    levada_state_reader r;
    saved               from;

    (void)state;
    feed(s, &k);
    from = save(s, true);
    levada_state_saver_unref(&s);
    assert_int_equal(levada_state_decode(from.bytes, from.size, NULL, &r, NULL), LEVADA_OK);
    for (int32_t i = 0; i < r.n * T_FORMS; i++) {
        levada_error err = LEVADA_ERROR_INIT;
        saved        forged = { NULL, 0 };

        if (!t_forge(&r, i / T_FORMS, (t_form)(i % T_FORMS), &forged.bytes, &forged.size)) continue;
        s = make();
        if (levada_state_saver_restore(s, forged.bytes, forged.size, NULL, NULL, &err)) {
            refused++;
            if (!t_names_an_entry(&r, i / T_FORMS, &err)) {
                fail_msg("%s in form %d: %s", r.entries[i / T_FORMS].key, i % T_FORMS, err.message);
            }
        }
        levada_state_saver_unref(&s);
        levada_string_free(&forged.bytes);
    }
    assert_in_range(refused, 4 * r.n, T_FORMS * r.n);
    levada_state_reader_clear(&r);
    levada_string_free(&from.bytes);
}

static void an_ordinal_comes_once(void **state)
{
    levada_state_saver *s = test_saver(1, 2);
    levada_error        err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(test_saver_insert(s, 1, 2, 1, false, 0, NULL), LEVADA_OK);
    assert_int_equal(test_saver_insert(s, 0, 2, 0, false, 0, NULL), LEVADA_OK);
    assert_int_equal(test_saver_insert(s, 3, 2, 3, false, 0, NULL), LEVADA_OK);
    for (int64_t ordinal = 0; ordinal < 4; ordinal++) {
        if (ordinal == 2) continue;
        assert_int_equal(test_saver_insert(s, 9, 2, ordinal, false, 0, &err),
                         LEVADA_EINVALID_ARGUMENT);
        assert_non_null(strstr(err.message, "was inserted already"));
    }
    assert_int_equal(test_saver_insert(s, 2, 2, 2, false, 0, NULL), LEVADA_OK);
    levada_state_saver_unref(&s);
}

/* 256 sequences, two states of 512 floats: at most 1.1 x their bytes + 64 KiB. */
static void a_checkpoint_is_small(void **state)
{
    const levada_shape         scalar = { 0, { 0 } };
    const levada_saver_field   x = { "x", LEVADA_INT64, scalar, false };
    const levada_saver_field   h[] = { { "h", LEVADA_FLOAT32, { 1, { 512 } }, false },
                                       { "c", LEVADA_FLOAT32, { 1, { 512 } }, false } };
    levada_state_saver_options o = test_saver_options(256, 64);
    levada_state_saver        *s = NULL;
    levada_saver_example       e = LEVADA_SAVER_EXAMPLE_INIT;
    int64_t                    steps = 6400, floats = 512;
    char                       key[32];

    (void)state;
    o.nsequences = 1;
    o.nstates = 2;
    o.sequences = &x;
    o.states = h;
    assert_int_equal(levada_state_saver_create(NULL, &o, &s, NULL), LEVADA_OK);
    levada_tensor *data = test_tensor(LEVADA_INT64, 1, &steps, NULL);
    levada_tensor *start = test_tensor(LEVADA_FLOAT32, 1, &floats, NULL);
    levada_tensor *both[] = { start, start };
    for (int64_t k = 0; k < 256; k++) {
        e.key_size = (size_t)snprintf(key, sizeof(key), "document-%d", (int)(k * 977));
        e.key = key;
        e.length = steps;
        e.ordinal = k;
        e.sequences = &data;
        e.states = both;
        assert_int_equal(levada_state_saver_insert(s, &e, false, 0, NULL), LEVADA_OK);
    }
    levada_tensor_unref(&data);
    levada_tensor_unref(&start);
    saved to = save(s, false);
    assert_in_range(to.size, 256 * 4096, 256 * 4096 * 11 / 10 + 65536);
    levada_string_free(&to.bytes);
    levada_state_saver_unref(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restored_saver_continues),
        cmocka_unit_test(a_restored_saver_can_be_saved_again),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(other_names_and_dtypes_are_refused),
        cmocka_unit_test(errors_name_the_entry),
        cmocka_unit_test(an_ordinal_comes_once),
        cmocka_unit_test(a_checkpoint_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
