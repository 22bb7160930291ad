/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout `ready` of unroll against a model: any order of batches, saves, requeues, discards and
 * restores; what is fed back and refused; what waits and is reported.
 */
#include "base/random.h"
#include "support/forge.h"
#include "support/iters.h"

#include <levada/binding.h>
#include <levada/builder.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 64 /* sequences of a model */
#define OPEN 6  /* batches in its hands */
#define ROWS 8

#define STATES "states={h:{dtype:float32,shape:[2]},c:int64}"

typedef struct draw {
    int64_t records, width, overlap, batch, capacity, lengths[8];
    bool small;
} draw;

typedef struct sequence {
    int64_t number, record, segment, segments, c; /* c: its state */
    bool keyed, ready;
} sequence;

typedef struct held {
    levada_block *block;
    int64_t n, rows[ROWS]; /* numbers */
    bool saved_h, saved_c, continues;
    int64_t c[ROWS]; /* what was saved */
} held;

typedef struct model {
    const draw *d;
    int64_t next, number, dropped, discarded; /* next record; sequences so far */
    sequence all[MOST];
    held open[OPEN];
    int64_t nopen;
    bool ended, over;
} model;

static int64_t model_segments(const draw *d, int64_t steps)
{
    int64_t n = 1;

    for (int64_t end = d->width; end < steps; end += d->width - d->overlap) n++;
    return n;
}

static int64_t model_count(const model *m, bool ready)
{
    int64_t n = 0;

    for (int64_t i = 0; i < m->number; i++) n += ready ? m->all[i].ready : m->all[i].keyed;
    return n;
}

static int64_t model_coming(const model *m)
{
    int64_t n = 0;

    for (int64_t i = 0; i < m->nopen; i++) {
        for (int64_t r = 0; r < m->open[i].n; r++) n += m->all[m->open[i].rows[r]].keyed;
    }
    return n;
}

static void model_forget(model *m, int64_t i)
{
    levada_block_unref(&m->open[i].block);
    memmove(&m->open[i], &m->open[i + 1], (size_t)(--m->nopen - i) * sizeof m->open[0]);
}

static void model_read(model *m)
{
    const draw *d = m->d;

    while (!m->ended && model_count(m, true) < d->batch && model_count(m, false) < d->capacity) {
        int64_t record = m->next++;

        m->ended = record >= d->records;
        if (m->ended || d->lengths[record % 8] == 0) {
            m->dropped += !m->ended;
            continue;
        }
        m->all[m->number] = (sequence){ .number = m->number, .record = record, .keyed = true,
                                        .ready = true };
        m->all[m->number++].segments = model_segments(d, d->lengths[record % 8]);
    }
}

/* What next() answers; the numbers of a batch into the held one. */
static levada_status model_next(model *m, held *to)
{
    int64_t ready, coming, n = m->d->batch;

    for (int64_t i = m->nopen - 1; i >= 0; i--) {
        if (!m->open[i].continues) model_forget(m, i);
    }
    m->dropped += m->discarded;
    m->discarded = 0;
    if (m->over) return LEVADA_END;
    model_read(m);
    ready = model_count(m, true);
    coming = model_coming(m);
    if (ready < n && !m->ended) return LEVADA_AGAIN;
    if (ready < n && !(m->d->small && ready)) {
        if (coming && (m->d->small || ready + coming >= n)) return LEVADA_AGAIN;
        m->dropped += model_count(m, false);
        m->over = true;
        return LEVADA_END;
    }
    *to = (held){ .n = ready < n ? ready : n };
    for (int64_t i = 0, r = 0; r < to->n; i++) {
        sequence *s = &m->all[i];

        if (!s->ready) continue;
        s->ready = false;
        s->keyed = s->segment + 1 < s->segments;
        to->continues = to->continues || s->keyed;
        to->rows[r++] = i;
    }
    return LEVADA_OK;
}

static int32_t i32(const levada_block *block, const char *name, int64_t i)
{
    const levada_column *c = levada_block_column(block, name);

    assert_non_null(c);
    return levada_column_i32(c)[i];
}

static int64_t i64(const levada_block *block, const char *name, int64_t i)
{
    const levada_column *c = levada_block_column(block, name);

    assert_non_null(c);
    return levada_column_i64(c)[i];
}

static void expect_key(const levada_block *block, const char *name, int64_t i, const char *want)
{
    int64_t size = 0;
    const uint8_t *at = levada_column_bytes(levada_block_column(block, name), i, &size);

    assert_int_equal(size, strlen(want));
    assert_memory_equal(at, want, (size_t)size);
}

static void expect_row(const model *m, const levada_block *got, int64_t i, const sequence *s)
{
    const draw *d = m->d;
    int64_t steps = d->lengths[s->record % 8], begin = s->segment * (d->width - d->overlap);
    int64_t size = steps - begin < d->width ? steps - begin : d->width;
    char key[64], next[64];

    snprintf(key, sizeof key, "%05d_of_%05d:%d", (int)s->segment, (int)s->segments,
             (int)s->record);
    snprintf(next, sizeof next, "%05d_of_%05d:%d", (int)s->segment + 1, (int)s->segments,
             (int)s->record);
    if (s->segment + 1 == s->segments) snprintf(next, sizeof next, "STOP:%d", (int)s->record);
    expect_key(got, "key", i, key);
    expect_key(got, "next_key", i, next);
    assert_int_equal(i32(got, "sequence", i), s->segment);
    assert_int_equal(i32(got, "sequence_count", i), s->segments);
    assert_int_equal(i32(got, "length", i), size);
    assert_int_equal(i32(got, "total_length", i), steps);
    assert_true(i64(got, "insertion_index", i) == INT64_MIN + s->number);
    assert_int_equal(i64(got, "l", i), steps);
    assert_int_equal(i64(got, "c", i), s->c);
    assert_true(levada_column_f32(levada_block_column(got, "h"))[2 * i + 1] == (float)s->c);
    for (int64_t t = 0; t < d->width; t++) {
        int32_t value = i32(got, "x", i * d->width + t);

        assert_int_equal(value, t < size ? s->record * 100 + begin + t : 0);
    }
}

/* A block that answers `to`: states, or requeue, or discard. */
static levada_block *answer(const held *to, bool h, bool c, const char *word)
{
    levada_field fields[] = {
        { .name = "batch_number", .dtype = LEVADA_INT64 },
        { .name = h ? "h" : word, .dtype = h ? LEVADA_FLOAT32 : LEVADA_BOOL, .ndim = h,
          .dims = { 2 } },
        { .name = "c", .dtype = LEVADA_INT64 },
    };
    levada_spec *spec = NULL;
    levada_builder *b = NULL;
    levada_block *made = NULL;
    void *values = NULL;
    int32_t at = 1;

    if (!h && !word) fields[1] = fields[2];
    assert_int_equal(levada_spec_create(fields, 1 + (h || word) + c, 0, &spec, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_create(t_iter_env(), spec, to->n, &b, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_values(b, 0, to->n, &values, NULL), LEVADA_OK);
    for (int64_t i = 0; i < to->n; i++) {
        ((int64_t *)values)[i] = i64(to->block, "batch_number", i);
    }
    if (h || word) {
        assert_int_equal(levada_builder_values(b, at++, to->n * (h ? 2 : 1), &values, NULL),
                         LEVADA_OK);
        for (int64_t i = 0; i < to->n; i++) {
            if (h) ((float *)values)[2 * i] = ((float *)values)[2 * i + 1] = (float)to->c[i];
            else ((bool *)values)[i] = true;
        }
    }
    if (c) {
        assert_int_equal(levada_builder_values(b, at, to->n, &values, NULL), LEVADA_OK);
        memcpy(values, to->c, (size_t)to->n * sizeof(int64_t));
    }
    assert_int_equal(levada_builder_publish(&b, &made, NULL), LEVADA_OK);
    levada_spec_unref(&spec);
    return made;
}

static levada_status feed(levada_iter *it, const held *to, bool h, bool c, const char *word,
                          levada_error *err)
{
    levada_block *back = answer(to, h, c, word);
    levada_status st = levada_iter_feed(it, back, err);

    levada_block_unref(&back);
    return st;
}

/* Saves one state of a batch, or both. */
static void do_save(model *m, levada_iter *it, int64_t i, uint64_t random)
{
    held *b = &m->open[i];
    bool h = !b->saved_h && random % 3 != 1, c = !b->saved_c && (random % 3 != 0 || !h);

    if (!h && !c) h = true;
    for (int64_t r = 0; r < b->n; r++) {
        b->c[r] = m->all[b->rows[r]].c + 1 + m->all[b->rows[r]].number;
    }
    assert_int_equal(feed(it, b, h, c, NULL, NULL), LEVADA_OK);
    b->saved_h = b->saved_h || h;
    b->saved_c = b->saved_c || c;
    if (!b->saved_h || !b->saved_c) return;
    for (int64_t r = 0; r < b->n; r++) {
        sequence *s = &m->all[b->rows[r]];

        s->c = b->c[r];
        s->segment++;
        s->ready = s->segment < s->segments;
    }
    model_forget(m, i);
}

static void model_return(model *m, int64_t i)
{
    for (int64_t r = 0; r < m->open[i].n; r++) {
        m->all[m->open[i].rows[r]].ready = m->all[m->open[i].rows[r]].keyed = true;
    }
    model_forget(m, i);
}

static void do_discard(model *m, levada_iter *it, int64_t i)
{
    assert_int_equal(feed(it, &m->open[i], false, false, "discard", NULL), LEVADA_OK);
    for (int64_t r = 0; r < m->open[i].n; r++) m->all[m->open[i].rows[r]].keyed = false;
    m->discarded += m->open[i].n;
    model_forget(m, i);
}

static void do_next(model *m, levada_iter *it)
{
    held want = { 0 };
    levada_error err = LEVADA_ERROR_INIT;
    levada_status st = model_next(m, &want);

    assert_int_equal(levada_iter_next(it, &want.block, &err), st);
    if (st == LEVADA_AGAIN) {
        assert_int_equal(err.code, LEVADA_AGAIN);
        assert_non_null(strstr(err.message, "was not saved for"));
    }
    if (st != LEVADA_OK) return;
    assert_int_equal(levada_block_rows(want.block), want.n);
    for (int64_t r = 0; r < want.n; r++) expect_row(m, want.block, r, &m->all[want.rows[r]]);
    m->open[m->nopen++] = want;
}

static void describe(const draw *d, char *text, size_t size)
{
    const int64_t *l = d->lengths;

    snprintf(text, size,
             "t_rows:%d,lengths=[%d,%d,%d,%d,%d,%d,%d,%d],bare=true | unroll:%d,batch_size=%d,"
             "burn_in=%d,zero_length=skip,allow_small_batch=%s,layout=ready,capacity=%d,"
             "key=n," STATES,
             (int)d->records, (int)l[0], (int)l[1], (int)l[2], (int)l[3], (int)l[4], (int)l[5],
             (int)l[6], (int)l[7], (int)d->width, (int)d->batch, (int)d->overlap,
             d->small ? "true" : "false", (int)d->capacity);
}

static draw drawn(uint64_t seed)
{
    draw d = { 0 };

    d.records = (int64_t)levada_random_below(levada_random_at(seed, 1), 30);
    d.width = 1 + (int64_t)levada_random_below(levada_random_at(seed, 2), 6);
    d.overlap = levada_random_at(seed, 3) % 3 ? 0 : d.width / 2;
    d.batch = 1 + (int64_t)levada_random_below(levada_random_at(seed, 4), ROWS - 1);
    d.capacity = d.batch + (int64_t)levada_random_below(levada_random_at(seed, 5), 9);
    d.small = levada_random_at(seed, 6) & 1;
    for (uint64_t i = 0; i < 8; i++) {
        d.lengths[i] = (int64_t)levada_random_below(levada_random_at(seed, 10 + i), 25);
        if (levada_random_at(seed, 20 + i) % 4 == 0) d.lengths[i] %= 3;
    }
    return d;
}

/* Unsaved batches count as not taken: the rest is the same in a new iterator. */
static levada_iter *do_restore(model *m, levada_iter *it, const char *text, uint64_t random)
{
    t_bytes saved = t_iter_save(it);

    levada_iter_close(&it);
    it = t_iter_open(text, 1 + (int32_t)(random % 3), 1 + (int32_t)(random % 7));
    t_iter_restore(it, saved);
    t_clear(&saved);
    if (!m->over) {
        while (m->nopen) model_return(m, m->nopen - 1);
    }
    while (m->nopen) model_forget(m, m->nopen - 1);
    return it;
}

static void check_draw(uint64_t seed)
{
    char text[512];
    draw d = drawn(seed);
    model m = { .d = &d };
    levada_iter *it;
    uint64_t step = 100;

    describe(&d, text, sizeof text);
    it = t_iter_open(text, 1 + (int32_t)(seed % 3), 1 + (int32_t)(seed % 9));
    while (!m.over || m.nopen) {
        uint64_t random = levada_random_at(seed, step++), what = random % 16, more = random >> 8;
        int64_t i = m.nopen ? (int64_t)(more % (uint64_t)m.nopen) : 0;

        assert_true(step < 5000);
        if (what < 5 && m.nopen < OPEN && !m.over) do_next(&m, it);
        else if (what == 5) it = do_restore(&m, it, text, more);
        else if (what == 6 && m.nopen && more % 4 == 0) do_discard(&m, it, i);
        else if (what == 7 && m.nopen) {
            assert_int_equal(feed(it, &m.open[i], false, false, "requeue", NULL), LEVADA_OK);
            model_return(&m, i);
        } else if (m.nopen) do_save(&m, it, i, more);
    }
    assert_int_equal(t_iter_stat(it, "dropped_records"), m.dropped);
    levada_iter_close(&it);
}

static void equals_a_model(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) check_draw(levada_random_key(seed, 3));
}

static void refused(levada_iter *it, const levada_block *back, levada_status code,
                    const char *message)
{
    levada_error err = LEVADA_ERROR_INIT;

    assert_int_equal(levada_iter_feed(it, back, &err), code);
    if (!strstr(err.message, message)) fail_msg("%s", err.message);
}

static void refuses_what_does_not_fit(void **state)
{
    static const char text[] = "t_rows:9,lengths=[5],bare=true | unroll:2,batch_size=2,"
                               "layout=ready,check_finite=true," STATES;
    levada_iter *it = t_iter_open(text, 1, 4), *other = t_iter_open(text, 1, 4);
    levada_error err = LEVADA_ERROR_INIT;
    held b = { .n = 2 };
    levada_block *back;

    (void)state;
    assert_int_equal(levada_iter_next(it, &b.block, NULL), LEVADA_OK);
    refused(other, b.block, LEVADA_EFAILED_PRECONDITION, "batch 0 is not open");
    b.n = 1;
    back = answer(&b, true, true, NULL);
    refused(it, back, LEVADA_EINVALID_ARGUMENT, "the block has 1 rows");
    levada_block_unref(&back);
    b.n = 2;
    back = answer(&b, false, false, "typo");
    refused(it, back, LEVADA_EINVALID_ARGUMENT, "must have a declared state");
    levada_block_unref(&back);
    back = answer(&b, true, true, NULL);
    ((float *)(uintptr_t)levada_block_column(back, "h")->values)[3] = NAN;
    refused(it, back, LEVADA_EINVALID_ARGUMENT, "h"); /* neither of them was saved */
    levada_block_unref(&back);
    assert_int_equal(feed(it, &b, false, true, NULL, &err), LEVADA_OK);
    assert_int_equal(feed(it, &b, false, true, NULL, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "already has a value for state 'c'"));
    assert_int_equal(feed(it, &b, true, false, NULL, &err), LEVADA_OK);
    assert_int_equal(feed(it, &b, true, false, NULL, &err), LEVADA_EFAILED_PRECONDITION);
    levada_block_unref(&b.block);
    levada_iter_close(&it);
    levada_iter_close(&other);
}

static void names_the_state_that_was_forgotten(void **state)
{
    levada_iter *it = t_iter_open("t_rows:9,lengths=[5],bare=true | unroll:2,batch_size=2,"
                                  "layout=ready,key=n," STATES,
                                  1, 4);
    held b = { .n = 2 };
    levada_block *none = NULL;
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_iter_next(it, &b.block, NULL), LEVADA_OK);
    assert_int_equal(feed(it, &b, true, false, NULL, NULL), LEVADA_OK);
    for (int i = 0; i < 2; i++) { /* it changes nothing */
        assert_int_equal(levada_iter_next(it, &none, &err), LEVADA_AGAIN);
        assert_non_null(strstr(err.message, "state 'c' of key '00000_of_00003:0' was not saved"));
    }
    assert_int_equal(feed(it, &b, false, true, NULL, NULL), LEVADA_OK);
    levada_block_unref(&b.block);
    assert_int_equal(levada_iter_next(it, &b.block, NULL), LEVADA_OK);
    levada_block_unref(&b.block);
    levada_iter_close(&it);
}

/* The columns of a batch that was fed back unchanged are states, too. */
static void feeds_the_batch_itself(void **state)
{
    levada_iter *it = t_iter_open("t_rows:9,lengths=[5,7,2],bare=true | unroll:2,batch_size=2,"
                                  "layout=ready," STATES " | rename:{l:m}",
                                  4, 4);
    levada_block *block = NULL;
    int64_t rows = 0;

    (void)state;
    assert_non_null(levada_iter_feeds(it));
    assert_int_equal(levada_spec_count(levada_iter_feeds(it)), 3);
    while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        assert_int_equal(levada_iter_feed(it, block, NULL), LEVADA_OK);
        rows += levada_block_rows(block);
        levada_block_unref(&block);
    }
    assert_int_equal(rows, 3 * (3 + 4 + 1));
    levada_iter_close(&it);
}

static void starts_with_the_field_of_a_state(void **state)
{
    levada_iter *it = t_iter_open("t_rows:4,lengths=[3] | unroll:2,batch_size=4,sequences=x,"
                                  "context=n,layout=ready,states={v:{dtype:float32,shape:[2]}}",
                                  1, 4);
    levada_block *block = NULL;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_true(levada_column_f32(levada_block_column(block, "v"))[7] == -3.0f);
    levada_block_unref(&block);
    levada_iter_close(&it);
}

static void follows_the_policy_for_repeated_keys(void **state)
{
    static const char text[] = "t_rows:6,lengths=[3,3],bare=true | unroll:2,batch_size=2,key=l,"
                               "layout=ready," STATES;
    levada_iter *it = t_iter_open(text, 1, 4);
    levada_block *block = NULL;

    (void)state;
    t_iter_fails(it, LEVADA_EALREADY_EXISTS, "a live example already has the key '3'");
    levada_iter_close(&it);
    it = t_iter_open_policy(text, "skip", 1, 4);
    while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        assert_int_equal(levada_iter_feed(it, block, NULL), LEVADA_OK);
        levada_block_unref(&block);
    }
    assert_int_equal(t_iter_stat(it, "skipped_records"), 5);
    levada_iter_close(&it);
}

static void a_block_that_nobody_got_comes_again(void **state)
{
    levada_iter *it = t_iter_open("t_rows:6,lengths=[3],bare=true | unroll:2,batch_size=2,"
                                  "layout=ready," STATES " | rename:{l:m}",
                                  1, 4);
    levada_block *block = NULL;
    t_bytes saved;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
        assert_int_equal(i64(block, "batch_number", 0), 0);
        levada_iter_unread(it, &block);
        saved = t_iter_save(it);
        t_iter_restore(it, saved);
        t_clear(&saved);
    }
    levada_iter_close(&it);
}

/* Entries of the saver inside name themselves, too. */
static void errors_of_states_name_the_entry(void **state)
{
    static const char text[] = "t_rows:20,lengths=[3,5],bare=true | unroll:2,batch_size=2,"
                               "layout=ready,capacity=3," STATES;
    levada_iter        *it = t_iter_open(text, 1, 4);
    levada_block       *block = NULL;
    levada_state_reader r;
    int64_t             refused = 0;
    t_bytes             saved;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_iter_feed(it, block, NULL), LEVADA_OK);
    levada_block_unref(&block);
    saved = t_iter_save(it);
    levada_iter_close(&it);
    assert_int_equal(levada_state_decode(saved.at, saved.size, NULL, &r, NULL), LEVADA_OK);
    for (int32_t i = 0; i < r.n * T_FORMS; i++) {
        levada_error err = LEVADA_ERROR_INIT;
        char        *bytes = NULL;
        size_t       size = 0;

        if (!t_forge(&r, i / T_FORMS, (t_form)(i % T_FORMS), &bytes, &size)) continue;
        it = t_iter_open(text, 1, 4);
        if (levada_iter_restore(it, bytes, size, &err) != LEVADA_OK) {
            refused++;
            if (!t_names_an_entry(&r, i / T_FORMS, &err)) {
                fail_msg("%s in form %d: %s", r.entries[i / T_FORMS].key, i % T_FORMS, err.message);
            }
        }
        levada_string_free(&bytes);
        levada_iter_close(&it);
    }
    assert_in_range(refused, 3 * r.n, T_FORMS * r.n);
    levada_state_reader_clear(&r);
    t_clear(&saved);
}

/* Until now the layout had a state saver inside, whose state was the entry "saver". */
static void refuses_a_state_of_an_older_version(void **state)
{
    static const char   text[] = "t_rows:20,lengths=[3,5],bare=true | unroll:2,batch_size=2,"
                                 "layout=ready," STATES;
    levada_iter        *it = t_iter_open(text, 1, 4);
    levada_block       *block = NULL;
    t_bytes             saved;
    levada_state_reader r;
    levada_state_writer w;
    levada_error        err = LEVADA_ERROR_INIT;
    char               *bytes = NULL;
    size_t              size = 0;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    levada_block_unref(&block);
    saved = t_iter_save(it);
    assert_int_equal(levada_state_decode(saved.at, saved.size, NULL, &r, NULL), LEVADA_OK);
    w = (levada_state_writer){ .entries = r.entries, .n = r.n };
    for (int32_t i = 0; i < r.n; i++) {
        if (strcmp(r.entries[i].key, "sequences") == 0) strcpy(r.entries[i].key, "saver");
    }
    assert_int_equal(levada_state_encode(&w, &r.head, NULL, &bytes, &size, NULL), LEVADA_OK);
    assert_int_equal(levada_iter_restore(it, bytes, size, &err), LEVADA_EFAILED_PRECONDITION);
    if (!strstr(err.message, "older version")) fail_msg("%s", err.message);
    levada_string_free(&bytes);
    levada_state_reader_clear(&r);
    t_clear(&saved);
    levada_iter_close(&it);
}

static void refuses_options_that_do_not_fit(void **state)
{
    static const char *const cases[][2] = {
        { "layout=ready", "layout=ready needs states=" },
        { "states={h:int64}", "states= needs layout=ready" },
        { "capacity=9", "capacity= needs layout=ready" },
        { "layout=ready,states={}", "1 to 64 states, got 0" },
        { "layout=ready,states={h:string}", "numbers of one known shape" },
        { "layout=ready,states={h:{dtype:float32,shape:[null]}}", "states" },
        { "layout=ready,capacity=1,states={h:int64}", "capacity 1 needs to be >= batch_size 2" },
        { "layout=ready,states={n:float32}",
          "field 'n' is int64, but the state of this name is float32" },
        { "layout=ready,states={length:float32}", "length" },
        { "layout=ready,states={h:float32} | batch:2", "records" },
        { "layout=ready,states={h:float32} | prefetch:2", "cannot follow 'unroll'" },
    };
    char text[256];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(text, sizeof text, "t_rows:4,bare=true | unroll:4,batch_size=2,%s", cases[i][0]);
        t_iter_refused(text, LEVADA_EINVALID_ARGUMENT, cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_a_model),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(names_the_state_that_was_forgotten),
        cmocka_unit_test(feeds_the_batch_itself),
        cmocka_unit_test(starts_with_the_field_of_a_state),
        cmocka_unit_test(follows_the_policy_for_repeated_keys),
        cmocka_unit_test(a_block_that_nobody_got_comes_again),
        cmocka_unit_test(errors_of_states_name_the_entry),
        cmocka_unit_test(refuses_a_state_of_an_older_version),
        cmocka_unit_test(refuses_options_that_do_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
