/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of sequences against a model: which segment each slot has in each batch, its steps,
 * targets and marks; what is skipped and counted; and the same rest from a state saved at each
 * cut.
 */
#include "base/random.h"
#include "registry/env_priv.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 12 /* slots of a model */

/* A draw: the options of the stage, and the lengths of the records. */
typedef struct draw {
    int64_t records, width, overlap, shift, least, slots, lengths[8];
    bool    segment, small; /* zero_length=segment, allow_small_batch */
} draw;

typedef struct sequence {
    int64_t number, record, steps, segment, segments;
} sequence;

typedef struct model {
    const draw *d;
    int64_t     next, number, dropped; /* next record; next sequence */
    bool        used[MOST];
    sequence    slots[MOST];
} model;

static int64_t model_segments(const draw *d, int64_t steps)
{
    int64_t n = 1, end = d->width, last;

    if (steps == 0) return d->segment ? 1 : 0;
    while (end < steps) {
        end += d->width - d->overlap;
        n++;
    }
    last = steps - (end - d->width) - (n > 1 ? d->overlap : 0);
    return last < d->least ? n - 1 : n;
}

/* The next record that has a segment; false at the end. */
static bool model_sequence(model *m, sequence *to)
{
    while (m->next < m->d->records) {
        int64_t  record = m->next++, length = m->d->lengths[record % 8];
        sequence s = { .record = record, .steps = length - m->d->shift };

        if (s.steps < 0) s.steps = 0;
        s.segments = model_segments(m->d, s.steps);
        if (s.segments == 0) {
            m->dropped++;
            continue;
        }
        s.number = m->number++;
        *to = s;
        return true;
    }
    return false;
}

/* Fills the slots; false if no batch follows. */
static bool model_fill(model *m)
{
    int64_t used = 0;

    for (int64_t i = 0; i < m->d->slots; i++) {
        if (!m->used[i]) m->used[i] = model_sequence(m, &m->slots[i]);
        used += m->used[i];
    }
    if (m->d->small || used == m->d->slots) return used > 0;
    m->dropped += used;
    return false;
}

static void model_advance(model *m)
{
    for (int64_t i = 0; i < m->d->slots; i++) {
        if (m->used[i] && ++m->slots[i].segment == m->slots[i].segments) m->used[i] = false;
    }
}

static bool mark(const levada_block *block, const char *name, int64_t i)
{
    const levada_column *c = levada_block_column(block, name);

    assert_non_null(c);
    assert_int_equal(c->field->dtype, LEVADA_BOOL);
    return ((const bool *)c->values)[i];
}

static int32_t number(const levada_block *block, const char *name, int64_t i)
{
    const levada_column *c = levada_block_column(block, name);

    assert_non_null(c);
    assert_non_null(levada_column_i32(c));
    return levada_column_i32(c)[i];
}

/* Steps of field `name` in row i: `size` values from `first` on, then zeros. */
static void expect_steps(const levada_block *block, const char *name, int64_t i, int64_t width,
                         int64_t first, int64_t size)
{
    const levada_column *c = levada_block_column(block, name);

    assert_non_null(c);
    assert_int_equal(levada_column_dim(c, 1), width);
    assert_int_equal(levada_column_length(c, i), size);
    for (int64_t t = 0; t < width; t++) {
        assert_int_equal(levada_column_i32(c)[i * width + t], t < size ? first + t : 0);
    }
}

static void expect_row(const model *m, const levada_block *got, int64_t i)
{
    const draw     *d = m->d;
    const sequence *s = &m->slots[i];
    int64_t         begin = s->segment * (d->width - d->overlap), size = s->steps - begin;
    bool            used = m->used[i];
    levada_origin   origin = levada_block_origin(got, i);

    if (size > d->width) size = d->width;
    if (!used) size = begin = 0;
    assert_int_equal(mark(got, "is_empty", i), !used);
    assert_int_equal(mark(got, "is_first", i), used && s->segment == 0);
    assert_int_equal(mark(got, "is_last", i), used && s->segment + 1 == s->segments);
    assert_int_equal(number(got, "slot", i), i);
    assert_int_equal(number(got, "segment", i), used ? s->segment : 0);
    assert_int_equal(number(got, "length", i), size);
    assert_int_equal(levada_column_i64(levada_block_column(got, "key"))[i],
                     used ? s->number : -1);
    assert_int_equal(levada_column_i64(levada_block_column(got, "n"))[i], used ? s->record : 0);
    assert_int_equal(origin.source, used ? 0 : -1);
    if (used) assert_int_equal(origin.record, s->record);
    assert_int_equal(origin.sub, used ? s->segment : 0);
    expect_steps(got, "x", i, d->width, s->record * 100 + begin, size);
    if (d->shift) {
        expect_steps(got, "x_target", i, d->width, s->record * 100 + begin + d->shift, size);
    }
    assert_true(!levada_block_column(got, "loss_mask") == !d->overlap);
    for (int64_t t = 0; d->overlap && t < d->width; t++) {
        const bool *mask = (const bool *)levada_block_column(got, "loss_mask")->values;
        int64_t     seen = used && s->segment ? d->overlap : 0;

        assert_int_equal(mask[i * d->width + t], t >= seen && t < size);
    }
}

static draw drawn(uint64_t seed)
{
    draw d = { 0 };

    d.records = (int64_t)levada_random_below(levada_random_at(seed, 1), 30);
    d.width = 1 + (int64_t)levada_random_below(levada_random_at(seed, 2), 9);
    d.overlap = (int64_t)levada_random_below(levada_random_at(seed, 3), (uint64_t)d.width);
    if (levada_random_at(seed, 4) & 1) d.overlap = 0;
    d.shift = (int64_t)levada_random_below(levada_random_at(seed, 5), 3);
    d.least = 1 + (int64_t)levada_random_below(levada_random_at(seed, 6),
                                               (uint64_t)(d.width - d.overlap));
    d.slots = 1 + (int64_t)levada_random_below(levada_random_at(seed, 7), MOST - 1);
    d.segment = levada_random_at(seed, 8) & 1;
    d.small = levada_random_at(seed, 9) & 1;
    for (uint64_t i = 0; i < 8; i++) {
        d.lengths[i] = (int64_t)levada_random_below(levada_random_at(seed, 10 + i), 50);
        if (levada_random_at(seed, 20 + i) % 4 == 0) d.lengths[i] %= 4;
    }
    return d;
}

static void describe(const draw *d, char *text, size_t size)
{
    const int64_t *l = d->lengths;

    snprintf(text, size,
             "t_rows:%d,lengths=[%d,%d,%d,%d,%d,%d,%d,%d],bare=true | unroll:%d,batch_size=%d,"
             "burn_in=%d,shift=%d,min_segment=%d,zero_length=%s,allow_small_batch=%s",
             (int)d->records, (int)l[0], (int)l[1], (int)l[2], (int)l[3], (int)l[4], (int)l[5],
             (int)l[6], (int)l[7], (int)d->width, (int)d->slots, (int)d->overlap, (int)d->shift,
             (int)d->least, d->segment ? "segment" : "skip", d->small ? "true" : "false");
}

static void check_draw(uint64_t seed)
{
    char          text[512];
    draw          d = drawn(seed);
    model         m = { .d = &d };
    levada_error  err = LEVADA_ERROR_INIT;
    levada_block *got = NULL;
    levada_iter  *it;

    describe(&d, text, sizeof text);
    it = t_iter_open(text, 1 + (int32_t)(seed % 3), 1 + (int32_t)(seed % 9));
    while (model_fill(&m)) {
        assert_int_equal(levada_iter_next(it, &got, &err), LEVADA_OK);
        assert_int_equal(levada_block_rows(got), d.slots);
        for (int64_t i = 0; i < d.slots; i++) expect_row(&m, got, i);
        levada_block_unref(&got);
        model_advance(&m);
    }
    assert_int_equal(levada_iter_next(it, &got, &err), LEVADA_END);
    assert_int_equal(t_iter_stat(it, "dropped_records"), m.dropped);
    levada_iter_close(&it);
}

static void equals_a_model(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) check_draw(levada_random_key(seed, 1));
}

static void goes_on_after_a_restore_at_each_cut(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        draw d = drawn(levada_random_key(seed, 2));
        char text[512];

        describe(&d, text, sizeof text);
        t_iter_sweep(text, true, 1);
    }
}

static void passes_on_sequences_of_every_kind(void **state)
{
    static const char text[] =
        "t_rows:9 | unroll:2,batch_size=3,sequences=w,context=[n,v],key=s,zero_length=skip";
    levada_iter         *it = t_iter_open(text, 1, 4);
    levada_error         err = LEVADA_ERROR_INIT;
    levada_block        *got = NULL;
    const levada_column *w, *key;
    const uint8_t       *at;
    int64_t              size = 0;

    (void)state;
    assert_int_equal(levada_iter_next(it, &got, &err), LEVADA_OK); /* records 1, 2 and 3 */
    w = levada_block_column(got, "w");
    assert_int_equal(levada_column_dim(w, 1), 2);
    for (int32_t i = 0; i < 6; i++) { /* lengths 1, 2 and 3: [1 -] [2 3] [3 4] */
        const int32_t want[] = { 1, 0, 2, 3, 3, 4 };

        assert_int_equal(w->level[0].end[i] - w->level[0].begin[i], want[i]);
        assert_memory_equal(w->values + w->level[0].begin[i], "abcdefgh", (size_t)want[i]);
    }
    key = levada_block_column(got, "key");
    at = levada_column_bytes(key, 2, &size);
    assert_int_equal(size, 1);
    assert_memory_equal(at, "9", 1);
    assert_true(levada_column_f32(levada_block_column(got, "v"))[5] == -3.0f);
    levada_block_unref(&got);
    levada_iter_close(&it);
    t_iter_sweep(text, true, 1);
    t_iter_sweep("t_rows:9 | unroll:2,batch_size=2,sequences=v,context=[n,s],shift=1", true, 1);
}

/* Rows [begin, end) of the next level that row `at` of a level covers. */
static int32_t covered(const levada_column *c, int32_t level, int32_t at)
{
    return c->level[level].end[at] - c->level[level].begin[at];
}

/* Record i has i % 3 steps in z, of which step k has (i + k) % 4 values: i, i + 1 and so on through
 * the record. Segment s begins at step s. */
static void expect_ragged_steps(const levada_block *got, int64_t i, int64_t width)
{
    const levada_column *z = levada_block_column(got, "z");
    int64_t record = levada_column_i64(levada_block_column(got, "n"))[i];
    int32_t segment = number(got, "segment", i), length = number(got, "length", i);
    int64_t value = record;

    assert_int_equal(z->field->depth, 2);
    assert_int_equal(covered(z, 0, (int32_t)i), width);
    if (segment) value += record % 4 + (segment > 1 ? (record + 1) % 4 : 0);
    for (int64_t k = 0; k < width; k++) {
        int32_t at = z->level[0].begin[i] + (int32_t)k;

        assert_int_equal(covered(z, 1, at), k < length ? (record + segment + k) % 4 : 0);
        for (int32_t v = z->level[1].begin[at]; v < z->level[1].end[at]; v++, value++) {
            assert_int_equal(((const int16_t *)(const void *)z->values)[v], value);
        }
    }
}

/* The ragged context of record i: x has lengths[i % 8] values, w has i % 4 strings. */
static void expect_ragged_context(const levada_block *got, int64_t i)
{
    static const int32_t lengths[] = { 3, 0, 5, 1, 17, 2, 9, 4 };
    const levada_column *x = levada_block_column(got, "x"), *w = levada_block_column(got, "w");
    int32_t record = (int32_t)levada_column_i64(levada_block_column(got, "n"))[i];
    bool used = !mark(got, "is_empty", i);

    assert_int_equal(covered(x, 0, (int32_t)i), used ? lengths[record % 8] : 0);
    assert_int_equal(covered(w, 0, (int32_t)i), used ? record % 4 : 0);
    if (covered(x, 0, (int32_t)i)) {
        assert_int_equal(levada_column_i32(x)[x->level[0].begin[i]], record * 100);
    }
    if (covered(w, 0, (int32_t)i)) {
        assert_int_equal(covered(w, 1, w->level[0].begin[i]), record % 8);
    }
}

static void ragged_fields_stay_ragged(void **state)
{
    static const char text[] = "t_rows:29 | unroll:%d,batch_size=4,sequences=z,"
                               "context=[n,x,w],zero_length=skip%s";

    (void)state;
    for (int width = 1; width < 4; width++) {
        levada_block *got = NULL;
        char          full[160];
        levada_iter  *it;
        int64_t       steps = 0;

        snprintf(full, sizeof full, text, width, width == 2 ? ",burn_in=1" : "");
        it = t_iter_open(full, 1, 5);
        while (levada_iter_next(it, &got, NULL) == LEVADA_OK) {
            for (int64_t i = 0; i < 4; i++) {
                expect_ragged_steps(got, i, width);
                expect_ragged_context(got, i);
                steps += number(got, "length", i);
            }
            levada_block_unref(&got);
        }
        assert_int_equal(steps, 28); /* two records of three have 1 and 2 */
        levada_iter_close(&it);
        t_iter_sweep(full, true, 3);
    }
    t_iter_sweep("t_stream:29 | unroll:2,batch_size=3,sequences=z,shift=1,zero_length=segment",
                 true, 3);
}

static void pads_with_the_value_of_the_field(void **state)
{
    levada_iter *it = t_iter_open("t_rows:2,lengths=[3,1],bare=true | unroll:4,batch_size=2,"
                                  "shift=1,zero_length=segment,padding_values={x:-7,x_target:5}",
                                  1, 4);
    levada_iter *text = t_iter_open("t_rows:4 | unroll:2,batch_size=5,sequences=w,context=n,"
                                    "zero_length=skip,padding_values=none", 1, 4);
    levada_block        *got = NULL;
    const levada_column *w;
    static const int32_t x[] = { 0, 1, -7, -7, -7, -7, -7, -7 };
    static const int32_t target[] = { 1, 2, 5, 5, 5, 5, 5, 5 };

    (void)state;
    assert_int_equal(levada_iter_next(it, &got, NULL), LEVADA_OK);
    assert_memory_equal(levada_block_column(got, "x")->values, x, sizeof x);
    assert_memory_equal(levada_block_column(got, "x_target")->values, target, sizeof target);
    assert_int_equal(levada_block_column(got, "x")->field->pad[0], 0xf9);
    levada_block_unref(&got);
    assert_int_equal(levada_iter_next(text, &got, NULL), LEVADA_OK);
    w = levada_block_column(got, "w");
    for (int32_t i = 0; i < 10; i++) { /* strings of 1; 2 and 3; 3 and 4 bytes; no sequence */
        static const int32_t want[] = { 1, 4, 2, 3, 3, 4, 4, 4, 4, 4 };

        assert_int_equal(covered(w, 0, i), want[i]);
        assert_memory_equal(w->values + w->level[0].begin[i], i == 1 || i > 5 ? "none" : "abcd",
                            (size_t)want[i]);
    }
    assert_int_equal(levada_column_i64(levada_block_column(got, "n"))[4], 0);
    levada_block_unref(&got);
    levada_iter_close(&it);
    levada_iter_close(&text);
    t_iter_sweep("t_rows:9 | unroll:2,batch_size=3,sequences=w,zero_length=skip,"
                 "padding_values={w:abc}", true, 1);
}

static void reads_the_length_of_a_field(void **state)
{
    static const char text[] = "t_rows:5,lengths=[70,64,63,3,0],bare=true | "
                               "unroll:60,batch_size=2,length=l,zero_length=skip";
    levada_iter *it = t_iter_open_policy(text, "skip", 1, 3);
    t_bytes      got = { 0 };

    (void)state;
    /* x has at most 64 values: the first record says more. 64 and 63 have two segments, 3 one */
    assert_int_equal(t_iter_read(it, -1, true, &got), 3);
    assert_int_equal(t_iter_stat(it, "skipped_records"), 1);
    assert_int_equal(t_iter_stat(it, "dropped_records"), 1);
    free(got.at);
    levada_iter_close(&it);
    it = t_iter_open(text, 1, 3);
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "l=70 must be from 0 to 64");
    levada_iter_close(&it);
}

static void follows_the_policy_for_bad_records(void **state)
{
    static const char zero[] = "t_rows:40,bare=true | unroll:3,batch_size=4,context=n";
    static const char even[] = "t_rows:40,lengths=[3,6,4],bare=true | "
                               "unroll:3,batch_size=4,pad=false,context=n";
    t_bytes           got = { 0 };
    static const char uneven[] = "t_rows:9 | unroll:3,batch_size=2,sequences=[x,w],context=n";
    levada_iter      *it = t_iter_open(zero, 1, 4);

    (void)state;
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "zero_length= can skip it");
    levada_iter_close(&it);
    it = t_iter_open_policy(zero, "skip", 4, 7);
    (void)t_iter_read(it, -1, false, &got);
    free(got.at);
    assert_int_equal(t_iter_stat(it, "skipped_records"), 5);
    levada_iter_close(&it);
    it = t_iter_open(even, 1, 4);
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "set pad=true to pad it");
    levada_iter_close(&it);
    it = t_iter_open(uneven, 1, 4);
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "different lengths: 3, and 'w' 0");
    levada_iter_close(&it);
}

/* Batch number i of all ranks together is batch number i of one rank that has all slots; slots are
 * counted in each rank. */
static void ranks_share_the_slots(void **state)
{
    static const char text[] = "t_rows:31 | unroll:2,batch_size=%d,sequences=x,context=n,"
                               "zero_length=skip,allow_small_batch=%s%s";

    (void)state;
    for (int small = 0; small < 2; small++) {
        levada_block *want = NULL, *got = NULL;
        levada_iter  *all, *ranks[3];
        char          full[192], rank[32];

        snprintf(full, sizeof full, text, 6, small ? "true" : "false", "");
        all = t_iter_open(full, 1, 4);
        for (int k = 0; k < 3; k++) {
            snprintf(rank, sizeof rank, ",ranks=[%d,3]", k);
            snprintf(full, sizeof full, text, 2, small ? "true" : "false", rank);
            ranks[k] = t_iter_open(full, 1 + k, 1 + 3 * k);
            t_iter_sweep(full, true, 3);
        }
        while (levada_iter_next(all, &want, NULL) == LEVADA_OK) {
            for (int64_t i = 0; i < 6; i++) {
                if (i % 2 == 0) {
                    levada_block_unref(&got);
                    assert_int_equal(levada_iter_next(ranks[i / 2], &got, NULL), LEVADA_OK);
                }
                assert_int_equal(mark(got, "is_empty", i % 2), mark(want, "is_empty", i));
                assert_int_equal(mark(got, "is_first", i % 2), mark(want, "is_first", i));
                assert_int_equal(number(got, "segment", i % 2), number(want, "segment", i));
                assert_int_equal(number(got, "slot", i % 2), i % 2);
                assert_memory_equal(levada_column_i32(levada_block_column(got, "x")) + i % 2 * 2,
                                    levada_column_i32(levada_block_column(want, "x")) + i * 2, 8);
            }
            levada_block_unref(&got);
            levada_block_unref(&want);
        }
        for (int k = 0; k < 3; k++) {
            assert_int_equal(levada_iter_next(ranks[k], &got, NULL), LEVADA_END);
            assert_int_equal(t_iter_stat(ranks[k], "dropped_records"),
                             t_iter_stat(all, "dropped_records"));
            levada_iter_close(&ranks[k]);
        }
        levada_iter_close(&all);
    }
}

/* Reads all batches; the most bytes that the pool had in use meanwhile. */
static int64_t most_memory(const char *text)
{
    levada_iter  *it = t_iter_open(text, 1, 4);
    levada_pool  *pool = levada_env_pool(t_iter_env());
    levada_block *got = NULL;
    int64_t       most = 0, batches = 0;

    while (levada_iter_next(it, &got, NULL) == LEVADA_OK) {
        if (levada_pool_used(pool) > most) most = levada_pool_used(pool);
        if (levada_iter_feeds(it)) assert_int_equal(levada_iter_feed(it, got, NULL), LEVADA_OK);
        levada_block_unref(&got);
        batches++;
    }
    assert_in_range(batches, 160 * 64 / 3, INT64_MAX); /* 64 segments each, 3 in a batch */
    levada_iter_close(&it);
    return most;
}

/* Sequences of 64 KiB, 160 of them: 3 are open, up to 4 wait in a block, and buffers of the pool
 * may be twice as large as what they hold. */
static void memory_holds_open_sequences_and_a_block(void **state)
{
    enum { LENGTH = 65535, LINES = 160 };
    char text[512], *lines = malloc(LINES * (LENGTH + 1));

    (void)state;
    assert_non_null(lines);
    memset(lines, 'a', LINES * (LENGTH + 1));
    for (int i = 1; i <= LINES; i++) lines[i * (LENGTH + 1) - 1] = '\n';
    t_write_file(t_path("long.txt"), lines, LINES * (LENGTH + 1));
    free(lines);
    for (int ready = 0; ready < 2; ready++) {
        snprintf(text, sizeof text,
                 "text_lines:%s | decode_raw:uint8,field=line | unroll:1024,batch_size=3%s",
                 t_path("long.txt"), ready ? ",layout=ready,states={h:int64}" : "");
        assert_in_range(most_memory(text), 3 * LENGTH, 2 * (3 + 2 * 4) * (LENGTH + 1) + (1 << 20));
    }
}

static void refuses_batches_that_are_too_large(void **state)
{
    levada_iter *it = t_iter_open("t_rows:3,lengths=2,bare=true | "
                                  "unroll:268435456,batch_size=65536", 1, 4);

    (void)state;
    t_iter_fails(it, LEVADA_ERESOURCE_EXHAUSTED, "'x' would have more than 1 GiB");
    levada_iter_close(&it);
}

static void refuses_options_that_do_not_fit(void **state)
{
    static const char *const cases[][2] = {
        { "t_rows:4,bare=true | unroll:4,batch_size=2,burn_in=4", "burn_in=4 must be less" },
        { "t_rows:4,bare=true | unroll:4,batch_size=2,burn_in=1,min_segment=4", "new steps" },
        { "t_rows:4,bare=true | unroll:4,batch_size=2,targets=x", "needs shift=" },
        { "t_rows:4,bare=true | unroll:4,batch_size=2,ranks=[1,1]", "rank below world" },
        { "t_rows:4,bare=true | unroll:4,batch_size=2,ranks=[1]", "rank below world" },
        { "t_rows:4,bare=true | unroll:4,batch_size=65536,ranks=[0,2]", "at most 65536 slots" },
        { "t_rows:4,bare=true | unroll:4,batch_size=2,layout=ready,states={h:int64},ranks=[0,2]",
          "ranks= needs layout=slots" },
        { "t_rows:4,bare=true | unroll:4,batch_size=2,targets=n,shift=1", "not one of" },
        { "t_rows:4,bare=true | unroll:4,batch_size=2,sequences=y", "y" },
        { "t_rows:4,bare=true | unroll:4,batch_size=2,sequences=n", "no steps" },
        { "t_rows:4,bare=true | unroll:4,batch_size=2,key=x", "one value per record" },
        { "t_rows:4,bare=true | unroll:4,batch_size=2,length=x", "must be one integer per record" },
        { "t_rows:4,bare=true | unroll:4,batch_size=2,padding_values={n:1}",
          "padding_values has 'n'" },
        { "t_rows:4,bare=true | unroll:4,batch_size=2,padding_values={x_target:1}", "x_target" },
        { "t_rows:4,bare=true | unroll:4,batch_size=2,padding_values='a'", "must be int32" },
        { "t_rows:4,bare=true | unroll:4,batch_size=2,padding_values={x:3000000000}", "int32" },
        { "t_rows:4 | unroll:4,batch_size=2,sequences=w,padding_values=1", "must be a string" },
        { "t_rows:4 | unroll:4,batch_size=2,sequences=z,padding_values={z:1}",
          "padding_values has 'z'" },
        { "range:4 | unroll:4,batch_size=2", "no field is a ragged sequence" },
        { "t_rows:4,bare=true | rename:{n:slot} | unroll:4,batch_size=2", "slot" },
        { "t_rows:4,bare=true | batch:2 | unroll:4,batch_size=2", "works on records" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        t_iter_refused(cases[i][0], LEVADA_EINVALID_ARGUMENT, cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_a_model),
        cmocka_unit_test(goes_on_after_a_restore_at_each_cut),
        cmocka_unit_test(passes_on_sequences_of_every_kind),
        cmocka_unit_test(ragged_fields_stay_ragged),
        cmocka_unit_test(pads_with_the_value_of_the_field),
        cmocka_unit_test(reads_the_length_of_a_field),
        cmocka_unit_test(follows_the_policy_for_bad_records),
        cmocka_unit_test(ranks_share_the_slots),
        cmocka_unit_test(memory_holds_open_sequences_and_a_block),
        cmocka_unit_test(refuses_batches_that_are_too_large),
        cmocka_unit_test(refuses_options_that_do_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
