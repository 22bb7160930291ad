/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/kernels.h"

enum { CAPACITY = 2048, PLACES = CAPACITY + LEVADA_KERNEL_SLACK };

/* What a kernel finds. */
typedef struct found {
    int32_t pos[PLACES], pairs[PLACES];
    int64_t n, npairs;
    size_t  scanned;
    bool    open;
} found;

static uint8_t memory[CAPACITY + 2 * LEVADA_KERNEL_SLACK], *text = memory + LEVADA_KERNEL_SLACK;
static found   want, got;
static int64_t good; /* texts that were compared in which all quotes are where they should be */

static const levada_kernels *next_level(int *level)
{
    const levada_kernels *kernels;

    if (++*level > LEVADA_CPU_AVX512) return NULL;
    kernels = levada_kernels_for((levada_cpu_level)*level);
    return (int)kernels->level == *level ? kernels : NULL;
}

static bool ends_field(uint8_t c, uint8_t delim) { return c == delim || c == '\n' || c == '\r'; }

static void note_pair(found *f)
{
    if (f->npairs == 0 || f->pairs[f->npairs - 1] != f->n) f->pairs[f->npairs++] = (int32_t)f->n;
}

/* The rules of the header, byte by byte. */
static void read_plainly(const uint8_t *p, size_t n, const levada_quoted *how, int64_t max,
                         found *f)
{
    bool inside = false;

    f->n = f->npairs = 0;
    for (f->scanned = 0; f->scanned < n && f->n < max; f->scanned++) {
        size_t  i = f->scanned;
        uint8_t next = i + 1 < n ? p[i + 1] : '\n';

        if (p[i] != '"' || !how->quotes) {
            bool wanted = ends_field(p[i], how->delim) && (p[i] != how->delim || !how->rows);

            if (wanted && !inside) f->pos[f->n++] = (int32_t)i;
        } else if (!inside) {
            inside = true;
            if (i > 0 && !ends_field(p[i - 1], how->delim)) f->n = -1;
        } else if (next == '"') {
            note_pair(f);
            f->scanned++;
        } else {
            inside = false;
            if (!ends_field(next, how->delim)) f->n = -1;
        }
        if (f->n < 0) return;
    }
    f->open = inside && f->n < max;
}

static void compare(size_t n, int64_t max, levada_quoted how)
{
    const uint8_t *p = text + CAPACITY - n;
    int            level = LEVADA_CPU_AUTO;

    read_plainly(p, n, &how, max, &want);
    good += want.n > 0;
    for (const levada_kernels *k; (k = next_level(&level)) != NULL;) {
        how.pairs = how.rows ? NULL : got.pairs;
        for (size_t i = 0; i < PLACES; i++) got.pos[i] = -7;
        got.n = k->quoted_index(p, n, &how, got.pos, max, &got.scanned);
        assert_int_equal(got.n, want.n);
        for (size_t i = (size_t)max + LEVADA_KERNEL_SLACK; i < PLACES; i++)
            assert_int_equal(got.pos[i], -7);
        if (want.n < 0) continue;
        assert_int_equal(got.scanned, want.scanned);
        assert_int_equal(how.open, want.open);
        assert_memory_equal(got.pos, want.pos, (size_t)want.n * sizeof *want.pos);
        if (how.rows) continue;
        assert_int_equal(how.npairs, want.npairs);
        assert_memory_equal(got.pairs, want.pairs, (size_t)want.npairs * sizeof *want.pairs);
    }
}

static void compare_ways(size_t n, int64_t max)
{
    for (int i = 0; i < 8; i++) {
        uint8_t delim = i & 4 ? '\t' : ',';

        compare(n, max, (levada_quoted){ .delim = delim, .quotes = i & 1, .rows = i & 2 });
    }
}

static uint64_t draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Fields, half of them in quotes, with everything in them; `wrong` of 1000 bytes are replaced. */
static void fill(uint64_t seed, uint64_t length, uint64_t wrong)
{
    static const char inside[] = "ab,\n\r\tcdefgh", ends[] = ",,,,\t\n\r\n", any[] = "\"\"\",\n\rx";
    size_t            at = 0;

    memset(memory, '"', sizeof memory);
    while (at + 2 * length + 8 < CAPACITY) {
        bool quoted = draw(&seed) % 2;

        text[at] = '"';
        at += quoted;
        for (uint64_t i = draw(&seed) % (length + 1); i > 0; i--) {
            text[at] = (uint8_t)(quoted ? inside[draw(&seed) % (sizeof inside - 1)] : 'x');
            if (quoted && draw(&seed) % 8 == 0) text[at] = text[at + 1] = '"';
            at += text[at] == '"' ? 2 : 1;
        }
        text[at] = '"';
        at += quoted;
        text[at++] = (uint8_t)ends[draw(&seed) % (sizeof ends - 1)];
    }
    memset(text + at, ',', CAPACITY - at);
    for (at = 0; at < CAPACITY; at++)
        if (draw(&seed) % 1000 < wrong) text[at] = (uint8_t)any[draw(&seed) % (sizeof any - 1)];
}

/* The end of the text: from there every length is read. */
static void finds_the_same_at_all_levels_and_lengths(void **state)
{
    static const uint64_t lengths[] = { 0, 1, 5, 60, 300 };

    (void)state;
    good = 0;
    for (uint64_t i = 0; i < 5; i++) {
        for (uint64_t wrong = 0; wrong < 3; wrong++) {
            fill(i * 3 + wrong, lengths[i], wrong * wrong);
            for (size_t n = 0; n <= 500; n++) compare_ways(n, CAPACITY);
            compare_ways(CAPACITY, CAPACITY);
        }
    }
    assert_true(good > 1000);
}

/* From the beginning of a row. */
static void stops_at_the_largest_number(void **state)
{
    (void)state;
    good = 0;
    for (uint64_t seed = 0; seed < 4; seed++) {
        fill(seed, 6, seed);
        for (int64_t max = 0; max < 200; max++) compare_ways(CAPACITY, max);
    }
    assert_true(good > 1000);
}

/* -- the strings that it finds */

static void expect_copy(const uint8_t *out, int32_t begin, int32_t end, const uint8_t *field,
                        int64_t size)
{
    bool quoted = size > 0 && *field == '"';

    for (int64_t i = quoted; i < size - quoted; i++) {
        assert_true(begin < end);
        assert_int_equal(out[begin++], field[i]);
        if (field[i] == '"') i++;
    }
    assert_int_equal(begin, end);
}

static void copy(const found *f, int64_t stride, int64_t first)
{
    static int32_t places[1 + PLACES], begin[PLACES], end[PLACES];
    static uint8_t out[CAPACITY + LEVADA_KERNEL_SLACK];
    int64_t        n = f->n > first ? (f->n - first + stride - 1) / stride : 0, bytes;
    int            level = LEVADA_CPU_AUTO;

    places[0] = -1;
    memcpy(places + 1, f->pos, (size_t)f->n * sizeof *places);
    for (const levada_kernels *k; (k = next_level(&level)) != NULL;) {
        const levada_text_fields fields = { text, places + 1 + first, stride };

        bytes = k->text_strings(&fields, n, out, begin, end);
        assert_int_equal(bytes, n > 0 ? end[n - 1] : 0);
        for (int64_t i = 0; i < n; i++) {
            const int32_t *mark = fields.mark + i * stride;

            assert_int_equal(begin[i], i > 0 ? end[i - 1] : 0);
            expect_copy(out, begin[i], end[i], text + mark[-1] + 1, mark[0] - mark[-1] - 1);
        }
    }
}

static void copies_strings_without_their_quotes(void **state)
{
    static const uint64_t lengths[] = { 0, 1, 5, 60, 130, 500 };
    const levada_quoted   how = { .delim = ',', .quotes = true };

    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        fill(seed, lengths[seed % 6], 0);
        read_plainly(text, CAPACITY, &how, CAPACITY, &want);
        if (want.n < 0) continue; /* a tab after a quote is another delimiter */
        copy(&want, 1, 0);
        copy(&want, 3, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_same_at_all_levels_and_lengths),
        cmocka_unit_test(stops_at_the_largest_number),
        cmocka_unit_test(copies_strings_without_their_quotes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
