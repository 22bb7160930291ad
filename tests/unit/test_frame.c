/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/kernels.h"

enum { SLACK = LEVADA_KERNEL_SLACK, CAPACITY = 1 << 18, RECORDS = 1024 };

static uint8_t        store[SLACK + CAPACITY + SLACK];
static uint8_t *const data = store + SLACK;
static int32_t        begin[RECORDS], end[RECORDS];
static size_t         starts[RECORDS + 1]; /* of the records made by add(), and the end */
static int32_t        made;
static uint64_t       random_state;

static uint64_t random_next(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state ^ random_state >> 29;
}

static void reset(uint64_t seed)
{
    random_state = seed;
    for (size_t i = 0; i < sizeof(store); i++) store[i] = (uint8_t)(random_next() >> 40);
    made = 0;
    starts[0] = 0;
}

static void put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t masked(const uint8_t *p, size_t n)
{
    return levada_crc32c_mask(levada_kernels_for(LEVADA_CPU_PORTABLE)->crc32c(0, p, n));
}

/* Frames `n` of the random bytes that stand after the last record. */
static void add(size_t n)
{
    uint8_t *to = data + starts[made];

    assert_true(starts[made] + n + 16 <= CAPACITY && made < RECORDS);
    put(to, n, 8);
    put(to + 8, masked(to, 8), 4);
    put(to + 12 + n, masked(to + 12, n), 4);
    starts[made + 1] = starts[made] + n + 16;
    made++;
}

static const levada_kernels *next_level(int *level)
{
    const levada_kernels *kernels;

    if (++*level > LEVADA_CPU_AVX512) return NULL;
    kernels = levada_kernels_for((levada_cpu_level)*level);
    return (int)kernels->level == *level ? kernels : NULL;
}

/* Every level must find the first `records` records of those made, then `status` and `need`. */
static void expect(size_t n, levada_frame_check check, int32_t max, int32_t records,
                   levada_frame_status status, uint64_t need)
{
    int level = LEVADA_CPU_AUTO;

    for (const levada_kernels *k; (k = next_level(&level)) != NULL;) {
        levada_frame_result result = k->frame_tfrecord(data, n, check, begin, end, max);

        assert_int_equal(result.records, records);
        assert_int_equal(result.status, status);
        assert_int_equal(result.used, starts[records]);
        assert_int_equal(result.need, need);
        for (int32_t i = 0; i < records; i++) {
            assert_int_equal(begin[i], starts[i] + 12);
            assert_int_equal(end[i], starts[i + 1] - 4);
        }
    }
}

static void finds_records_of_every_size(void **state)
{
    (void)state;
    for (size_t first = 0; first < 700; first += 350) {
        reset(first);
        for (size_t n = first; n < first + 350; n++) add(n);
        expect(starts[made], LEVADA_FRAME_CHECK_ALL, RECORDS, made, LEVADA_FRAME_OK, 0);
        expect(starts[made], LEVADA_FRAME_CHECK_LENGTH, RECORDS, made, LEVADA_FRAME_OK, 0);
        expect(starts[made], LEVADA_FRAME_CHECK_NONE, RECORDS, made, LEVADA_FRAME_OK, 0);
    }
}

static void finds_large_records(void **state)
{
    (void)state;
    reset(7);
    for (int i = 0; i < 40; i++) add((size_t)(random_next() % 6000));
    add(65536);
    expect(starts[made], LEVADA_FRAME_CHECK_ALL, RECORDS, made, LEVADA_FRAME_OK, 0);
}

static void stops_at_the_largest_number(void **state)
{
    (void)state;
    reset(8);
    for (size_t i = 0; i < 20; i++) add(i * 9);
    for (int32_t max = 0; max <= 20; max++)
        expect(starts[made], LEVADA_FRAME_CHECK_ALL, max, max, LEVADA_FRAME_OK, 0);
    /* Damage after the last record asked for is not looked at. */
    data[starts[5]] ^= 1;
    expect(starts[made], LEVADA_FRAME_CHECK_ALL, 5, 5, LEVADA_FRAME_OK, 0);
}

static void says_what_a_cut_record_needs(void **state)
{
    static const size_t sizes[] = {0, 1, 3, 4, 40, 128, 129, 300};

    (void)state;
    reset(9);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) add(sizes[i]);
    for (size_t n = 0, whole = 0; n <= starts[made]; n++) {
        size_t   in;
        uint64_t need;

        while (whole < (size_t)made && starts[whole + 1] <= n) whole++;
        in = n - starts[whole];
        need = in == 0 ? 0 : in < 12 ? 16 : starts[whole + 1] - starts[whole];
        expect(n, LEVADA_FRAME_CHECK_ALL, RECORDS, (int32_t)whole,
               in == 0 ? LEVADA_FRAME_OK : LEVADA_FRAME_INCOMPLETE, need);
    }
}

/* Flips each bit of a record among others; `at` is the byte in the record. */
static void damage(size_t size, size_t at, int bit)
{
    levada_frame_status all = at < 12 ? LEVADA_FRAME_BAD_LENGTH_CRC : LEVADA_FRAME_BAD_DATA_CRC;
    uint8_t            *byte = data + starts[3] + at;

    *byte ^= (uint8_t)(1 << bit);
    expect(starts[made], LEVADA_FRAME_CHECK_ALL, RECORDS, 3, all, at < 12 ? 0 : size + 16);
    if (at < 12)
        expect(starts[made], LEVADA_FRAME_CHECK_LENGTH, RECORDS, 3, all, 0);
    else
        expect(starts[made], LEVADA_FRAME_CHECK_LENGTH, RECORDS, made, LEVADA_FRAME_OK, 0);
    if (at >= 8)
        expect(starts[made], LEVADA_FRAME_CHECK_NONE, RECORDS, made, LEVADA_FRAME_OK, 0);
    *byte ^= (uint8_t)(1 << bit);
}

static void names_the_first_damaged_record(void **state)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 63, 64, 65, 127, 128, 129, 256, 257, 600};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        reset(i);
        add(20);
        add(200);
        add(0);
        add(sizes[i]);
        add(70);
        add(30);
        expect(starts[made], LEVADA_FRAME_CHECK_ALL, RECORDS, made, LEVADA_FRAME_OK, 0);
        for (size_t at = 0; at < sizes[i] + 16; at++)
            for (int bit = 0; bit < 8; bit += 1 + (sizes[i] > 200)) damage(sizes[i], at, bit);
        data[starts[4] + 12] ^= 1; /* two damaged records: the first counts */
        damage(sizes[i], 8, 0);
        data[starts[4] + 12] ^= 1;
    }
}

static void sees_damage_in_the_length_of_a_cut_record(void **state)
{
    (void)state;
    reset(3);
    add(10);
    add(1000);
    data[starts[1] + 9] ^= 4;
    expect(starts[1] + 12, LEVADA_FRAME_CHECK_ALL, RECORDS, 1, LEVADA_FRAME_BAD_LENGTH_CRC, 0);
    expect(starts[1] + 12, LEVADA_FRAME_CHECK_LENGTH, RECORDS, 1, LEVADA_FRAME_BAD_LENGTH_CRC, 0);
    expect(starts[1] + 12, LEVADA_FRAME_CHECK_NONE, RECORDS, 1, LEVADA_FRAME_INCOMPLETE, 1016);
    expect(starts[1] + 11, LEVADA_FRAME_CHECK_ALL, RECORDS, 1, LEVADA_FRAME_INCOMPLETE, 16);
}

static void survives_any_length(void **state)
{
    static const uint64_t lengths[] = {UINT64_MAX,     UINT64_MAX - 11, UINT64_MAX - 12,
                                       UINT64_MAX - 15, UINT64_MAX - 16, (uint64_t)1 << 63,
                                       (uint64_t)1 << 32, 0xffffffff,   0x7fffffff};

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        uint64_t length = lengths[i];
        uint64_t need = length > UINT64_MAX - 16 ? UINT64_MAX : length + 16;

        reset(i);
        add(33);
        put(data + starts[1], length, 8);
        put(data + starts[1] + 8, masked(data + starts[1], 8), 4);
        expect(starts[1] + 500, LEVADA_FRAME_CHECK_ALL, RECORDS, 1, LEVADA_FRAME_INCOMPLETE, need);
        expect(starts[1] + 500, LEVADA_FRAME_CHECK_NONE, RECORDS, 1, LEVADA_FRAME_INCOMPLETE, need);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_records_of_every_size),
        cmocka_unit_test(finds_large_records),
        cmocka_unit_test(stops_at_the_largest_number),
        cmocka_unit_test(says_what_a_cut_record_needs),
        cmocka_unit_test(names_the_first_damaged_record),
        cmocka_unit_test(sees_damage_in_the_length_of_a_cut_record),
        cmocka_unit_test(survives_any_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
