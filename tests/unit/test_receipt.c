/* SPDX-License-Identifier: Apache-2.0 */
#include "state/receipt.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RECORDS = 20000, BLOCK = 97 };

static uint64_t file_of(int64_t i)
{
    return levada_receipt_file((uint64_t)(i % 5)); /* 0: without a file */
}

static int64_t number_of(int64_t i)
{
    return i % 5 * 1000000007 + i / 5;
}

static void assert_same(const levada_receipt *a, const levada_receipt *b)
{
    assert_memory_equal(a, b, sizeof *a);
}

/* Sums do not depend on the order, on how records come in blocks, or on who counts them. */
static void test_order(void **state)
{
    levada_receipt by_one = { 0 }, by_run = { 0 }, shares[3] = { 0 }, sum = { 0 };
    levada_origin *each = calloc(BLOCK, sizeof *each);

    (void)state;
    for (int64_t i = 0; i < RECORDS; i++) levada_receipt_add(&by_one, file_of(i), number_of(i), 1);
    for (int64_t f = 0; f < 5; f++)
        levada_receipt_add(&by_run, file_of(f), number_of(f), RECORDS / 5);
    for (int64_t i = 0; i < RECORDS / 5; i += BLOCK) {
        int64_t n = RECORDS / 5 - i < BLOCK ? RECORDS / 5 - i : BLOCK;

        for (int64_t f = 0; f < 5; f++) {
            for (int64_t k = 0; k < n; k++) each[n - 1 - k].record = number_of((i + k) * 5 + f);
            levada_receipt_add_each(&shares[(i + f) % 3], file_of(f), each, n);
        }
    }
    for (int k = 0; k < 3; k++) levada_receipt_merge(&sum, &shares[2 - k], 1);
    assert_int_equal(by_one.rows, RECORDS);
    assert_same(&by_one, &by_run);
    assert_same(&by_one, &sum);
    for (int k = 0; k < 3; k++) levada_receipt_merge(&sum, &shares[k], -1);
    assert_same(&sum, &(levada_receipt){ 0 });
    free(each);
}

/* Any other record, or one more, or one less, is another receipt. */
static void test_differs(void **state)
{
    levada_receipt all = { 0 };

    (void)state;
    levada_receipt_add(&all, file_of(0), 0, 5000);
    for (int64_t i = 0; i < 5000; i += 7) {
        levada_receipt other = { 0 };

        levada_receipt_add(&other, file_of(0), 0, i);
        levada_receipt_add(&other, file_of(i % 2), i + (i % 2 ? 0 : 5000), 1);
        levada_receipt_add(&other, file_of(0), i + 1, 4999 - i);
        assert_int_equal(other.rows, all.rows);
        assert_memory_not_equal(other.cells, all.cells, sizeof all.cells);
    }
}

static void test_count(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 1000; i++) {
        uint64_t place = i % 2 ? file_of(i) : levada_receipt_range(file_of(i), number_of(i * 4096));
        int64_t  n = (i - 500) * (i % 3 ? 1 : INT64_C(1) << 30);

        assert_int_equal(place & 1, 1);
        assert_int_equal(levada_receipt_count(place, place * (uint64_t)n), n);
    }
}

/* A place has two cells, which differ and are of its kind; all cells are used alike. */
static void test_cells(void **state)
{
    int64_t used[LEVADA_RECEIPT_CELLS] = { 0 };

    (void)state;
    for (int64_t i = 0; i < 32000; i++) {
        uint64_t file = levada_receipt_file((uint64_t)i);
        uint64_t range = levada_receipt_range(file_of(0), i * LEVADA_RECEIPT_RANGE);
        int32_t  cells[2];

        levada_receipt_cells(file, false, cells);
        assert_true(cells[0] != cells[1] && cells[0] < 16 && cells[1] < 16);
        used[cells[0]]++;
        used[cells[1]]++;
        levada_receipt_cells(range, true, cells);
        assert_true(cells[0] != cells[1] && cells[0] >= 16 && cells[1] >= 16);
        used[cells[0]]++;
        used[cells[1]]++;
    }
    for (int i = 0; i < LEVADA_RECEIPT_CELLS; i++) assert_in_range(used[i], 1500, 4800);
}

static levada_text print(const levada_receipt *r)
{
    levada_text text = { 0 };

    levada_receipt_print(r, &text);
    assert_false(text.failed);
    return text;
}

static void draw_receipt(uint64_t key, levada_receipt *out)
{
    memset(out, 0, sizeof *out);
    for (uint64_t i = 0; i < key % 40; i++) {
        uint64_t bits = levada_random_at(key, i);

        levada_receipt_add(out, file_of((int64_t)(bits % 97)), (int64_t)(bits >> 20), 1);
    }
    out->unknown = levada_random_at(key, 100) >> (key % 64);
    out->skipped = key % 3;
}

static void test_text(void **state)
{
    (void)state;
    for (uint64_t key = 0; key < 300; key++) {
        levada_receipt r, back;
        levada_text    text;

        draw_receipt(key, &r);
        text = print(&r);
        assert_true(text.size <= 1100);
        assert_int_equal(levada_receipt_parse(text.at, &back, NULL), LEVADA_OK);
        assert_same(&r, &back);
        levada_text_clear(&text);
    }
}

/* A text that is cut, longer or changed anywhere is refused. */
static void test_damaged(void **state)
{
    levada_receipt r, back;
    levada_text    text;

    (void)state;
    draw_receipt(39, &r);
    text = print(&r);
    for (size_t i = 0; i < text.size; i++) {
        char was = text.at[i];

        text.at[i] = was == 'A' ? 'B' : 'A';
        /* The last letter has bits that nothing uses. */
        if (i + 1 < text.size)
            assert_int_equal(levada_receipt_parse(text.at, &back, NULL), LEVADA_EINVALID_ARGUMENT);
        text.at[i] = 0;
        assert_int_equal(levada_receipt_parse(text.at, &back, NULL), LEVADA_EINVALID_ARGUMENT);
        text.at[i] = '=';
        assert_int_equal(levada_receipt_parse(text.at, &back, NULL), LEVADA_EINVALID_ARGUMENT);
        text.at[i] = was;
    }
    levada_text_put(&text, "AAAA");
    assert_int_equal(levada_receipt_parse(text.at, &back, NULL), LEVADA_EINVALID_ARGUMENT);
    for (int i = 0; i < 3000; i++) levada_text_char(&text, 'A');
    assert_int_equal(levada_receipt_parse(text.at, &back, NULL), LEVADA_EINVALID_ARGUMENT);
    levada_text_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order), cmocka_unit_test(test_differs),
        cmocka_unit_test(test_count), cmocka_unit_test(test_cells),
        cmocka_unit_test(test_text),  cmocka_unit_test(test_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
