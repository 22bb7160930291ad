/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks go to Arrow and come back the same; arrays outlive what they were made of; streams end and
 * fail as the iterator does; damaged arrays are refused.
 */
#include "conformance/fault.h"
#include "support/iters.h"
#include <levada/arrow.h>
#include <levada/levada.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const pipes[] = {
    "t_rows:count=20",
    "t_rows:count=20 | batch:7",
    "t_rows:count=20 | filter:\"n % 3 == 0\" | batch:4",
    "t_rows:count=20 | select:[n,x,w,z] | padded_batch:6",
    "t_rows:count=20,bare=true | shuffle:5",
    "t_rows:count=0 | batch:3",
};

enum { PIPES = sizeof pipes / sizeof *pipes };

static void expect_ok(levada_status st, const levada_error *err)
{
    char text[512];

    if (st != LEVADA_OK) fail_msg("%s", levada_error_text(err, text, sizeof text));
}

/* -- arrays that are equal */

static int64_t offset_of(const struct ArrowArray *a, int64_t i)
{
    return ((const int32_t *)a->buffers[1])[i];
}

/* Compares rows [x, x + n) of one array with rows [y, y + n) of another of the same type. */
static void expect_same(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t x,
                        const struct ArrowArray *b, int64_t y, int64_t n)
{
    static const char letters[] = "cCsSiIlLfg";
    static const int  sizes[] = { 1, 1, 2, 2, 4, 4, 8, 8, 4, 8 };
    const char       *f = s->format, *at;

    if (strcmp(f, "+s") == 0) {
        for (int64_t i = 0; i < s->n_children; i++)
            expect_same(s->children[i], a->children[i], x, b->children[i], y, n);
        return;
    }
    if (strncmp(f, "+w:", 3) == 0) {
        int size = f[3] - '0';

        expect_same(s->children[0], a->children[0], x * size, b->children[0], y * size, n * size);
        return;
    }
    if (strcmp(f, "+l") == 0 || strcmp(f, "z") == 0 || strcmp(f, "u") == 0) {
        for (int64_t i = 0; i < n; i++) {
            int64_t p = offset_of(a, x + i), q = offset_of(b, y + i),
                    m = offset_of(a, x + i + 1) - p;

            assert_int_equal(m, offset_of(b, y + i + 1) - q);
            if (f[0] == '+') {
                expect_same(s->children[0], a->children[0], p, b->children[0], q, m);
            } else if (m) {
                assert_memory_equal((const char *)a->buffers[2] + p,
                                    (const char *)b->buffers[2] + q, (size_t)m);
            }
        }
        return;
    }
    at = strchr(letters, f[0]);
    assert_non_null(at);
    x *= sizes[at - letters];
    y *= sizes[at - letters];
    if (n) {
        assert_memory_equal((const char *)a->buffers[1] + x, (const char *)b->buffers[1] + y,
                            (size_t)(n * sizes[at - letters]));
    }
}

/* Exports a block, imports it, and exports that again. */
static void round_trip(const levada_block *block, int64_t first, int64_t n)
{
    levada_error       err = LEVADA_ERROR_INIT;
    struct ArrowSchema schema;
    struct ArrowArray  array, again;
    levada_spec       *spec = NULL;
    levada_block      *back = NULL;

    expect_ok(levada_arrow_export_spec(levada_block_spec(block), &schema, &err), &err);
    expect_ok(levada_arrow_export_block(block, &array, &err), &err);
    assert_int_equal(array.length, levada_block_rows(block));
    expect_ok(levada_arrow_import_spec(&schema, NULL, &spec, &err), &err);
    assert_int_equal(levada_spec_count(spec), levada_spec_count(levada_block_spec(block)));
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        assert_string_equal(levada_spec_field(spec, i)->name,
                            levada_spec_field(levada_block_spec(block), i)->name);
    }
    expect_ok(levada_arrow_import_block(NULL, spec, &schema, &array, first, n, NULL, &back, &err),
              &err);
    assert_int_equal(levada_block_rows(back), n);
    expect_ok(levada_arrow_export_block(back, &again, &err), &err);
    expect_same(&schema, &array, first, &again, 0, n);
    array.release(&array);
    again.release(&again);
    schema.release(&schema);
    assert_null(schema.release);
    levada_block_unref(&back);
    levada_spec_unref(&spec);
}

static void test_round_trips(void **unused)
{
    (void)unused;
    for (int p = 0; p < PIPES; p++) {
        for (int rows = 1; rows <= 16; rows *= 4) {
            levada_iter  *it = t_iter_open(pipes[p], 1, rows);
            levada_block *block = NULL;

            while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
                int64_t n = levada_block_rows(block);

                for (int64_t first = 0; first <= n; first += 3) round_trip(block, first, n - first);
                round_trip(block, 0, n / 2);
                levada_block_unref(&block);
            }
            levada_iter_close(&it);
        }
    }
}

/* A padded column loses its padding, and what padding held is not in the array. */
static void test_padding_is_cut(void **unused)
{
    static const char *const text[] = {
        "t_rows:count=9 | select:[n,x] | padded_batch:9",
        "t_rows:count=9 | select:[n,x] | padded_batch:9,padding_side=left"
    };

    (void)unused;
    for (int i = 0; i < 2; i++) {
        levada_iter      *it = t_iter_open(text[i], 1, 4);
        levada_block     *block = NULL;
        levada_error      err = LEVADA_ERROR_INIT;
        struct ArrowArray array, *x;
        int64_t           value = 0;

        expect_ok(levada_iter_next(it, &block, &err), &err);
        expect_ok(levada_arrow_export_block(block, &array, &err), &err);
        x = array.children[1];
        for (int64_t r = 0; r < 9; r++) {
            int64_t length = levada_block_column(block, "x")->lengths[r];

            assert_int_equal(offset_of(x, r + 1) - offset_of(x, r), length);
            for (int64_t k = 0; k < length; k++, value++)
                assert_int_equal(((const int32_t *)x->children[0]->buffers[1])[value], r * 100 + k);
        }
        assert_true(value > 0);
        array.release(&array);
        levada_block_unref(&block);
        levada_iter_close(&it);
    }
}

/* A column that a consumer has moved out stays good without the others, the block and the
 * iterator. */
static void test_a_column_alone(void **unused)
{
    levada_iter      *it = t_iter_open("t_rows:count=5", 1, 8);
    levada_block     *block = NULL;
    levada_error      err = LEVADA_ERROR_INIT;
    struct ArrowArray array, column;

    (void)unused;
    expect_ok(levada_iter_next(it, &block, &err), &err);
    expect_ok(levada_arrow_export_block(block, &array, &err), &err);
    column = *array.children[0];
    array.children[0]->release = NULL;
    array.release(&array);
    levada_block_unref(&block);
    levada_iter_close(&it);
    for (int64_t i = 0; i < 5; i++)
        assert_int_equal(((const int64_t *)column.buffers[1])[i], i);
    column.release(&column);
}

/* -- streams */

static int64_t drain(struct ArrowArrayStream *stream, int *failed)
{
    struct ArrowArray array;
    int64_t           rows = 0;

    while (!(*failed = stream->get_next(stream, &array)) && array.release) {
        rows += array.length;
        array.release(&array);
    }
    return rows;
}

static void test_streams(void **unused)
{
    levada_error            err = LEVADA_ERROR_INIT;
    struct ArrowArrayStream stream;
    struct ArrowSchema      schema;
    int                     failed;

    (void)unused;
    for (int p = 0; p < PIPES; p++) {
        levada_iter *it = t_iter_open(pipes[p], 1, 4);

        expect_ok(levada_arrow_export_iter(&it, &stream, &err), &err);
        assert_null(it);
        assert_int_equal(stream.get_schema(&stream, &schema), 0);
        assert_true(schema.n_children > 0);
        schema.release(&schema);
        assert_int_equal(drain(&stream, &failed), p == 2 ? 7 : p == 5 ? 0 : 20);
        assert_int_equal(failed, 0);
        assert_int_equal(drain(&stream, &failed), 0);
        assert_null(stream.get_last_error(&stream));
        stream.release(&stream);
        assert_null(stream.release);
    }
}

static void test_a_stream_fails_as_its_iterator(void **unused)
{
    levada_iter            *it = t_iter_open("t_rows:count=20,fail_at=9", 1, 4);
    levada_error            err = LEVADA_ERROR_INIT;
    struct ArrowArrayStream stream;
    int                     failed;

    (void)unused;
    expect_ok(levada_arrow_export_iter(&it, &stream, &err), &err);
    assert_true(drain(&stream, &failed) <= 9);
    assert_int_not_equal(failed, 0);
    assert_true(strlen(stream.get_last_error(&stream)) > 0);
    assert_int_equal(drain(&stream, &failed), 0);
    assert_int_not_equal(failed, 0);
    stream.release(&stream);
}

/* Blocks that given_next returns, and how they end. */
typedef struct given {
    levada_block *block;
    int           left, closed;
    levada_status st;
} given;

static levada_status given_next(void *user, levada_block **out, levada_error *err)
{
    given *g = user;

    if (g->left-- <= 0) return g->st == LEVADA_END ? g->st : levada_fail(err, g->st, "no more");
    *out = levada_block_ref(g->block);
    return LEVADA_OK;
}

static void given_close(void *user)
{
    ((given *)user)->closed++;
}

/* A stream without a spec has the fields of its first block, or none. */
static void test_a_stream_of_blocks(void **unused)
{
    static const levada_status ends[] = { LEVADA_END, LEVADA_EDATA_LOSS };
    levada_iter               *it = t_iter_open("t_rows:count=4", 1, 4);
    levada_error               err = LEVADA_ERROR_INIT;
    levada_block              *block = NULL;

    (void)unused;
    expect_ok(levada_iter_next(it, &block, &err), &err);
    for (int k = 0; k < 6; k++) {
        given                   g = { .block = block, .left = k % 3, .st = ends[k / 3] };
        struct ArrowArrayStream stream;
        struct ArrowSchema      schema;
        int                     failed;

        expect_ok(levada_arrow_export_blocks(NULL, given_next, given_close, &g, &stream, &err),
                  &err);
        if (k != 3) { /* which fails before its schema */
            assert_int_equal(stream.get_schema(&stream, &schema), 0);
            assert_int_equal(schema.n_children,
                             k % 3 ? levada_spec_count(levada_block_spec(block)) : 0);
            schema.release(&schema);
        }
        assert_int_equal(drain(&stream, &failed), 4 * (k % 3));
        assert_int_equal(failed, k < 3 ? 0 : EIO);
        if (k >= 3) assert_non_null(strstr(stream.get_last_error(&stream), "no more"));
        assert_int_equal(stream.get_schema(&stream, &schema), failed);
        if (!failed) schema.release(&schema);
        assert_int_equal(g.closed, 0);
        stream.release(&stream);
        assert_int_equal(g.closed, 1);
    }
    levada_block_unref(&block);
    levada_iter_close(&it);
}

/* -- damage */

typedef struct fixture {
    levada_block      *block;
    levada_spec       *spec;
    struct ArrowSchema schema;
    struct ArrowArray  array;
} fixture;

static void fixture_open(fixture *f)
{
    levada_iter *it = t_iter_open("t_rows:count=8", 1, 8);
    levada_error err = LEVADA_ERROR_INIT;

    expect_ok(levada_iter_next(it, &f->block, &err), &err);
    levada_iter_close(&it);
    expect_ok(levada_arrow_export_spec(levada_block_spec(f->block), &f->schema, &err), &err);
    expect_ok(levada_arrow_export_block(f->block, &f->array, &err), &err);
    expect_ok(levada_arrow_import_spec(&f->schema, NULL, &f->spec, &err), &err);
}

static void fixture_close(fixture *f)
{
    f->array.release(&f->array);
    f->schema.release(&f->schema);
    levada_spec_unref(&f->spec);
    levada_block_unref(&f->block);
}

static levada_status import(const fixture *f, const levada_arrow_options *options,
                            levada_block **out, levada_error *err)
{
    return levada_arrow_import_block(NULL, f->spec, &f->schema, &f->array, 0, f->array.length,
                                     options, out, err);
}

static struct ArrowArray *child_of(fixture *f, const char *name)
{
    for (int64_t i = 0; i < f->schema.n_children; i++)
        if (strcmp(f->schema.children[i]->name, name) == 0) return f->array.children[i];
    return NULL;
}

/* Every single offset of a list and of strings, changed to what it cannot be. */
static void test_damaged_offsets(void **unused)
{
    static const char *const names[] = { "x", "s", "w", "z" };

    (void)unused;
    for (int k = 0; k < 4; k++) {
        for (int64_t i = 0; i < 9; i++) {
            fixture            f = { 0 };
            struct ArrowArray *child;
            levada_block      *out = NULL;
            levada_error       err = LEVADA_ERROR_INIT;
            int32_t            offsets[9];

            fixture_open(&f);
            child = child_of(&f, names[k]);
            memcpy(offsets, child->buffers[1], sizeof offsets);
            offsets[i] = i % 2 ? -5 : INT32_MAX;
            child->buffers[1] = offsets;
            if (k == 1 && i == 8) { /* strings of 2 GiB */
                assert_int_equal(import(&f, NULL, &out, &err), LEVADA_ERESOURCE_EXHAUSTED);
            } else {
                assert_int_equal(import(&f, NULL, &out, &err), LEVADA_EDATA_LOSS);
                assert_non_null(strstr(err.message, names[k]));
            }
            assert_null(out);
            fixture_close(&f);
        }
    }
}

static void test_arrays_that_do_not_fit(void **unused)
{
    (void)unused;
    for (int k = 0; k < 6; k++) {
        fixture       f = { 0 };
        levada_block *out = NULL;
        levada_error  err = LEVADA_ERROR_INIT;
        int64_t       was;

        fixture_open(&f);
        struct ArrowArray *x = child_of(&f, "x"), *n = child_of(&f, "n");
        int64_t           *of[] = { &x->n_children, &x->n_buffers, &x->offset, &n->length,
                                    &f.array.n_children, &x->children[0]->length };

        was = *of[k];
        *of[k] = k == 2 ? -1 : was - 1;
        assert_int_not_equal(import(&f, NULL, &out, &err), LEVADA_OK);
        assert_null(out);
        *of[k] = was;
        fixture_close(&f);
    }
}

static void test_nulls(void **unused)
{
    static const uint8_t bits[1] = { 0xfb }; /* row 2 is null */

    (void)unused;
    for (int nulls = 0; nulls < 3; nulls++) {
        fixture              f = { 0 };
        levada_arrow_options options = LEVADA_ARROW_OPTIONS_INIT;
        levada_block        *out = NULL;
        levada_error         err = LEVADA_ERROR_INIT;

        fixture_open(&f);
        options.nulls = (levada_arrow_nulls)nulls;
        levada_spec_unref(&f.spec);
        expect_ok(levada_arrow_import_spec(&f.schema, &options, &f.spec, &err), &err);
        child_of(&f, "x")->buffers[0] = bits;
        child_of(&f, "x")->null_count = 1;
        if (nulls == LEVADA_ARROW_NULLS_ERROR) {
            assert_int_equal(import(&f, &options, &out, &err), LEVADA_EINVALID_ARGUMENT);
            assert_non_null(strstr(err.message, "'x' is null"));
        } else {
            expect_ok(import(&f, &options, &out, &err), &err);
            assert_int_equal(levada_column_length(levada_block_column(out, "x"), 2), 0);
            if (nulls == LEVADA_ARROW_NULLS_MASK) {
                const uint8_t *valid = levada_column_u8(levada_block_column(out, "x_valid"));

                for (int i = 0; i < 8; i++) assert_int_equal(valid[i], i != 2);
            }
        }
        levada_block_unref(&out);
        fixture_close(&f);
    }
}

/* -- arrays that blocks share */

enum { HELD = 4096 };

/* A struct of one column of int32 that count up, whose releases are counted. */
typedef struct held_numbers {
    int32_t            values[HELD];
    const void        *buffers[2], *none[1];
    struct ArrowSchema type, column, *columns[1];
    struct ArrowArray  rows, numbers, *children[1];
    int                released;
} held_numbers;

static void held_release(struct ArrowArray *array)
{
    ++*(int *)array->private_data;
    array->release = NULL;
}

static void held_release_type(struct ArrowSchema *type) { type->release = NULL; }

static void held_open(held_numbers *h, int64_t offset, int64_t n)
{
    for (int32_t i = 0; i < HELD; i++) h->values[i] = i;
    h->buffers[1] = h->values;
    h->column = (struct ArrowSchema){ .format = "i", .name = "n", .release = held_release_type };
    h->columns[0] = &h->column;
    h->type = (struct ArrowSchema){ .format = "+s", .n_children = 1, .children = h->columns,
                                    .release = held_release_type };
    h->numbers = (struct ArrowArray){ .length = n, .offset = offset, .n_buffers = 2,
                                      .buffers = h->buffers, .release = held_release,
                                      .private_data = &h->released };
    h->children[0] = &h->numbers;
    h->rows = h->numbers;
    h->rows.offset = 0;
    h->rows.n_buffers = 1;
    h->rows.buffers = h->none;
    h->rows.n_children = 1;
    h->rows.children = h->children;
    h->released = 0;
}

/* Picks n neighbors from `first` on; returns true if the block uses them where they are. */
static bool held_shares(held_numbers *h, int64_t offset, int64_t first, int64_t n, bool readable)
{
    levada_arrow_options options = LEVADA_ARROW_OPTIONS_INIT;
    levada_arrow_rows   *rows = NULL;
    levada_block        *block = NULL;
    levada_error         err = LEVADA_ERROR_INIT;
    int64_t              numbers[HELD];
    bool                 shared;

    held_open(h, offset, 2048);
    options.readable = readable ? h : NULL;
    options.readable_size = sizeof *h;
    expect_ok(levada_arrow_hold(&h->type, &h->rows, &options, &rows, &err), &err);
    assert_null(h->rows.release);
    for (int64_t i = 0; i < n; i++) numbers[i] = first + i;
    expect_ok(levada_arrow_pick(NULL, &rows, 1, NULL, numbers, n, &block, &err), &err);
    levada_arrow_rows_unref(&rows);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(levada_column_i32(levada_block_at(block, 0))[i], offset + first + i);
    shared = levada_column_i32(levada_block_at(block, 0)) == h->values + offset + first;
    assert_int_equal(levada_block_exclusive(block), !shared);
    assert_int_equal(h->released, !shared); /* by the last block that shares it */
    levada_block_unref(&block);
    assert_int_equal(h->released, 1);
    return shared;
}

static void test_neighbors_are_shared_if_readable_bytes_are_around(void **unused)
{
    held_numbers *h = calloc(1, sizeof *h);

    (void)unused;
    assert_non_null(h);
    assert_true(held_shares(h, 0, 16, 100, false));
    assert_false(held_shares(h, 0, 15, 100, false)); /* 60 bytes before it */
    assert_true(held_shares(h, 1, 15, 100, false));
    assert_true(held_shares(h, 0, 16, 2016, false));
    assert_false(held_shares(h, 0, 16, 2017, false)); /* 60 bytes after it */
    assert_true(held_shares(h, 16, 0, 2048 - 16, false));
    assert_true(held_shares(h, 1, 2000, 48, true));
    assert_false(held_shares(h, 0, 16, 0, false));
    free(h);
}

static void test_rows_of_several_arrays_in_any_order(void **unused)
{
    static const int32_t which[] = { 1, 0, 1, 1, 0 };
    static const int64_t rows[] = { 7, 3, 0, 7, 4 };
    held_numbers        *h = calloc(2, sizeof *h);
    levada_arrow_rows   *held[2] = { NULL, NULL };
    levada_block        *block = NULL;
    levada_error         err = LEVADA_ERROR_INIT;

    (void)unused;
    assert_non_null(h);
    for (int k = 0; k < 2; k++) {
        held_open(&h[k], 100 * k, 8);
        expect_ok(levada_arrow_hold(&h[k].type, &h[k].rows, NULL, &held[k], &err), &err);
    }
    expect_ok(levada_arrow_pick(NULL, held, 2, which, rows, 5, &block, &err), &err);
    for (int64_t i = 0; i < 5; i++) {
        assert_int_equal(levada_column_i32(levada_block_at(block, 0))[i],
                         100 * which[i] + rows[i]);
    }
    levada_block_unref(&block);
    assert_int_equal(levada_arrow_pick(NULL, held, 2, which, (int64_t[]){ 0, 0, 8, 0, 0 }, 5,
                                       &block, &err), LEVADA_EOUT_OF_RANGE);
    assert_int_equal(levada_arrow_pick(NULL, held, 1, which, rows, 5, &block, &err),
                     LEVADA_EOUT_OF_RANGE);
    expect_ok(levada_arrow_pick(NULL, held, 2, which, rows, 0, &block, &err), &err);
    assert_int_equal(levada_block_rows(block), 0);
    levada_block_unref(&block);
    for (int k = 0; k < 2; k++) {
        levada_arrow_rows_unref(&held[k]);
        assert_int_equal(h[k].released, 1);
    }
    free(h);
}

/* Children that are missing, released, too short or of a negative length, and buffers that are
 * missing, for neighbors and for lists of rows. */
static void test_forged_arrays_are_errors(void **unused)
{
    held_numbers *h = calloc(1, sizeof *h);

    (void)unused;
    assert_non_null(h);
    for (int k = 0; k < 14; k++) {
        levada_arrow_rows *rows = NULL;
        levada_block      *block = NULL;
        levada_error       err = LEVADA_ERROR_INIT;

        held_open(h, 0, 8);
        switch (k / 2) {
        case 0: h->children[0] = NULL; break;
        case 1: h->rows.children = NULL; break;
        case 2: h->numbers.length = 4; break;
        case 3: h->numbers.length = -1; break;
        case 4: h->buffers[1] = NULL; break;
        case 5: h->numbers.offset = INT64_MAX - 4; break;
        default: h->numbers.buffers = NULL;
        }
        expect_ok(levada_arrow_hold(&h->type, &h->rows, NULL, &rows, &err), &err);
        assert_int_not_equal(levada_arrow_pick(NULL, &rows, 1, NULL,
                                               k % 2 ? (int64_t[]){ 6, 5 } : (int64_t[]){ 5, 6 },
                                               2, &block, &err), LEVADA_OK);
        assert_null(block);
        levada_arrow_rows_unref(&rows);
        h->buffers[1] = NULL;
    }
    free(h);
}

/* -- memory */

static void test_memory(void **unused)
{
    levada_iter  *it = t_iter_open("t_rows:count=9 | select:[n,s,v,x,w,z] | padded_batch:9", 1, 16);
    levada_block *block = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    int64_t       number = INT32_MAX; /* first without a failure, to fill the pool */
    levada_status st = LEVADA_OK;

    (void)unused;
    expect_ok(levada_iter_next(it, &block, &err), &err);
    do {
        levada_arrow_options options = LEVADA_ARROW_OPTIONS_INIT;
        struct ArrowSchema   schema = { 0 };
        struct ArrowArray    array = { 0 };
        levada_spec         *spec = NULL;
        levada_block        *back = NULL, *picked = NULL;
        levada_arrow_rows   *held[2] = { NULL, NULL };
        int64_t              before = fault_live();

        fault_arm(number);
        st = levada_arrow_export_spec(levada_block_spec(block), &schema, &err);
        if (st == LEVADA_OK) st = levada_arrow_export_block(block, &array, &err);
        if (st == LEVADA_OK) st = levada_arrow_import_spec(&schema, &options, &spec, &err);
        if (st == LEVADA_OK) {
            st =
                levada_arrow_import_block(NULL, spec, &schema, &array, 0, 9, &options, &back, &err);
        }
        if (st == LEVADA_OK) st = levada_arrow_hold(&schema, &array, &options, &held[0], &err);
        held[1] = held[0];
        if (st == LEVADA_OK) {
            st = levada_arrow_pick(NULL, held, 2, (int32_t[]){ 0, 1, 0 }, (int64_t[]){ 8, 1, 2 }, 3,
                                   &picked, &err);
        }
        if (fault_disarm() <= number) {
            expect_ok(st, &err);
            number = number == INT32_MAX ? -1 : -2;
        } else {
            fault_expect_short(st, &err);
        }
        levada_block_unref(&picked);
        levada_arrow_rows_unref(&held[0]);
        levada_block_unref(&back);
        levada_spec_unref(&spec);
        if (array.release) array.release(&array);
        if (schema.release) schema.release(&schema);
        if (number >= 0) fault_expect_live(before, number);
    } while (++number >= 0);
    levada_block_unref(&block);
    levada_iter_close(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_padding_is_cut),
        cmocka_unit_test(test_a_column_alone),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_a_stream_fails_as_its_iterator),
        cmocka_unit_test(test_a_stream_of_blocks),
        cmocka_unit_test(test_damaged_offsets),
        cmocka_unit_test(test_arrays_that_do_not_fit),
        cmocka_unit_test(test_nulls),
        cmocka_unit_test(test_neighbors_are_shared_if_readable_bytes_are_around),
        cmocka_unit_test(test_rows_of_several_arrays_in_any_order),
        cmocka_unit_test(test_forged_arrays_are_errors),
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
