/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"

#include "base/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* "abc", "", "xyz1": 55 bytes; records at 0, 19 and 35. */
static t_bytes three(void)
{
    t_bytes bytes = {0};

    t_add_record(&bytes, "abc", 3);
    t_add_record(&bytes, "", 0);
    t_add_record(&bytes, "xyz1", 4);
    return bytes;
}

static void expect(const void *data, size_t size, const char *errors, const char *rows,
                   levada_status status)
{
    const int32_t block_rows[] = {1, 7, 256};

    t_write_file(t_path("f"), data, size);
    for (size_t i = 0; i < 3; i++) {
        t_reader t = {.format = "tfrecord", .paths = {t_path("f")}, .block_rows = block_rows[i]};

        t.errors = errors;
        t.compression = "none";
        t_expect(&t, rows, status);
    }
}

static void knows_the_check_values_of_crc32c(void **state)
{
    static const uint8_t pdu[48] = {0x01, 0xc0, [16] = 0x14, [22] = 0x04, [26] = 0,
                                    [27] = 0x14, [31] = 0x18, [32] = 0x28, [40] = 0x02};
    const levada_kernels *k;
    uint8_t               bytes[32];

    (void)state;
    for (int level = LEVADA_CPU_AUTO; level <= LEVADA_CPU_AVX512; level++) {
        k = levada_kernels_for((levada_cpu_level)level);
        memset(bytes, 0, sizeof bytes);
        assert_int_equal(k->crc32c(0, bytes, 32), 0x8a9136aau);
        memset(bytes, 0xff, sizeof bytes);
        assert_int_equal(k->crc32c(0, bytes, 32), 0x62a8ab43u);
        for (int i = 0; i < 32; i++) bytes[i] = (uint8_t)i;
        assert_int_equal(k->crc32c(0, bytes, 32), 0x46dd794eu);
        assert_int_equal(k->crc32c(k->crc32c(0, bytes, 13), bytes + 13, 19), 0x46dd794eu);
        for (int i = 0; i < 32; i++) bytes[i] = (uint8_t)(31 - i);
        assert_int_equal(k->crc32c(0, bytes, 32), 0x113fdb5cu);
        assert_int_equal(k->crc32c(0, pdu, 48), 0xd9963a56u);
    }
    assert_int_equal(levada_crc32c_unmask(levada_crc32c_mask(0x12345678u)), 0x12345678u);
}

static void reads_records_with_their_offsets(void **state)
{
    t_bytes bytes = three();

    (void)state;
    expect(bytes.at, bytes.size, NULL, "abc@0 @19 xyz1@35 ", LEVADA_END);
    expect(bytes.at, 0, NULL, "", LEVADA_END);
    t_clear(&bytes);
}

static void reports_every_truncation(void **state)
{
    t_bytes bytes = three();

    (void)state;
    for (size_t cut = 1; cut < bytes.size; cut++) {
        const char   *rows = cut < 19 ? "" : cut < 35 ? "abc@0 " : "abc@0 @19 ";
        levada_status status = cut == 19 || cut == 35 ? LEVADA_END : LEVADA_EDATA_LOSS;

        expect(bytes.at, cut, NULL, rows, status);
    }
    t_clear(&bytes);
}

static void reports_every_changed_byte(void **state)
{
    t_bytes bytes = three();

    (void)state;
    for (size_t i = 0; i < bytes.size; i++) {
        const char *rows = i < 19 ? "" : i < 35 ? "abc@0 " : "abc@0 @19 ";

        bytes.at[i] ^= 16;
        expect(bytes.at, bytes.size, NULL, rows, LEVADA_EDATA_LOSS);
        bytes.at[i] ^= 16;
    }
    t_clear(&bytes);
}

static void names_the_place_and_the_checksums(void **state)
{
    t_bytes  bytes = three();
    t_bytes  rows = {0};
    t_reader t = {.format = "tfrecord", .paths = {t_path("f")}};

    (void)state;
    bytes.at[48] ^= 1;
    t_write_file(t_path("f"), bytes.at, bytes.size);
    assert_int_equal(t_open(&t), LEVADA_OK);
    assert_int_equal(t_drain(&t, &rows), LEVADA_EDATA_LOSS);
    assert_int_equal(t.err.record, 2);
    assert_int_equal(t.err.offset, 35);
    assert_non_null(strstr(t.err.file, "/f"));
    assert_int_equal(strncmp(t.err.message, "payload checksum 0x", 19), 0);
    assert_non_null(strstr(t.err.message, ", expected 0x27d795ef"));
    t_close(&t);
    t_clear(&rows);
    t_clear(&bytes);
}

static void believes_payloads_when_told_to(void **state)
{
    t_bytes  bytes = three();
    t_reader t = {.format = "tfrecord", .paths = {t_path("f")}, .unverified = true};

    (void)state;
    bytes.at[12] ^= 1;
    t_write_file(t_path("f"), bytes.at, bytes.size);
    t_expect(&t, "`bc@0 @19 xyz1@35 ", LEVADA_END);
    bytes.at[19] ^= 1;
    t_write_file(t_path("f"), bytes.at, bytes.size);
    t_expect(&t, "`bc@0 ", LEVADA_EDATA_LOSS);
    t_clear(&bytes);
}

static void skips_damage_and_goes_on(void **state)
{
    t_bytes bytes = three();

    (void)state;
    bytes.at[13] ^= 1; /* payload of record 0 */
    expect(bytes.at, bytes.size, "skip", "@19 xyz1@35 ", LEVADA_END);
    bytes.at[20] ^= 1; /* and the length of record 1 */
    expect(bytes.at, bytes.size, "skip", "xyz1@35 ", LEVADA_END);
    expect(bytes.at, bytes.size, "skip:1", "xyz1@35 ", LEVADA_END); /* one place */
    expect(bytes.at, bytes.size, "skip:0", "", LEVADA_EDATA_LOSS);
    expect(bytes.at, bytes.size, "skip:0.05%", "", LEVADA_EDATA_LOSS);
    bytes.at[54] ^= 1;
    expect(bytes.at, bytes.size, "skip", "", LEVADA_END);
    t_clear(&bytes);
}

static void finds_the_next_record_behind_junk(void **state)
{
    t_bytes bytes = {0};
    char   *junk = calloc(1, 2000000);

    (void)state;
    t_add_record(&bytes, "a", 1);
    t_add(&bytes, junk, 2000000); /* several chunks */
    t_add_record(&bytes, "b", 1);
    t_add(&bytes, "xyz", 3);
    expect(bytes.at, bytes.size, "skip", "a@0 b@2000017 ", LEVADA_END);
    expect(bytes.at, bytes.size, "skip:1", "a@0 b@2000017 ", LEVADA_EDATA_LOSS);
    free(junk);
    t_clear(&bytes);
}

static void does_not_mistake_records_in_a_payload_for_records(void **state)
{
    t_bytes inner = {0}, bytes = {0};

    (void)state;
    t_add_record(&inner, "inner", 5);
    t_add_record(&bytes, inner.at, inner.size);
    t_add_record(&bytes, "outer", 5);
    bytes.at[12 + 12] ^= 1; /* the payload of the inner one */
    expect(bytes.at, bytes.size, "skip", "outer@37 ", LEVADA_END);
    t_clear(&inner);
    t_clear(&bytes);
}

static void reads_a_record_longer_than_a_chunk(void **state)
{
    size_t   size = 3 << 20;
    char    *big = malloc(size);
    t_bytes  bytes = {0}, rows = {0}, packed;
    t_reader t = {.format = "tfrecord", .paths = {t_path("f")}};

    (void)state;
    for (size_t i = 0; i < size; i++) big[i] = (char)('a' + i * i % 23);
    t_add_record(&bytes, "first", 5);
    t_add_record(&bytes, big, size);
    t_add_record(&bytes, "last", 4);
    packed = t_can("gzip") ? t_encode("gzip", bytes.at, bytes.size, 0) : (t_bytes){0};
    for (int i = 0; i < (packed.at ? 2 : 1); i++) {
        t_write_file(t_path("f"), i ? packed.at : bytes.at, i ? packed.size : bytes.size);
        assert_int_equal(t_open(&t), LEVADA_OK);
        assert_int_equal(t_drain(&t, &rows), LEVADA_END);
        assert_int_equal(rows.size, strlen("first@0 @21 last@3145765 ") + size);
        assert_memory_equal(rows.at + 8, big, size);
        t_close(&t);
        t_clear(&rows);
        t.max_record_bytes = 1 << 20;
        assert_int_equal(t_open(&t), LEVADA_OK);
        assert_int_equal(t_drain(&t, &rows), LEVADA_ERESOURCE_EXHAUSTED);
        assert_int_equal(t.err.offset, 21);
        t_close(&t);
        t_clear(&rows);
        t.max_record_bytes = 0;
    }
    t_clear(&packed);
    t_clear(&bytes);
    free(big);
}

static void allocates_nothing_for_a_lying_length(void **state)
{
    const uint64_t        lies[] = {4, 1000, 1 << 20, UINT64_C(1) << 40, UINT64_C(1) << 63,
                                    UINT64_MAX - 4, UINT64_MAX};
    const levada_kernels *k = levada_kernels_for(LEVADA_CPU_AUTO);

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        uint8_t  file[19] = "____________abcnopq";
        uint32_t crc;

        for (int b = 0; b < 8; b++) file[b] = (uint8_t)(lies[i] >> 8 * b);
        crc = levada_crc32c_mask(k->crc32c(0, file, 8));
        for (int b = 0; b < 4; b++) file[8 + b] = (uint8_t)(crc >> 8 * b);
        expect(file, sizeof file, NULL, "", LEVADA_EDATA_LOSS);
        expect(file, sizeof file, "skip", "", LEVADA_END);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_check_values_of_crc32c),
        cmocka_unit_test(reads_records_with_their_offsets),
        cmocka_unit_test(reports_every_truncation),
        cmocka_unit_test(reports_every_changed_byte),
        cmocka_unit_test(names_the_place_and_the_checksums),
        cmocka_unit_test(believes_payloads_when_told_to),
        cmocka_unit_test(skips_damage_and_goes_on),
        cmocka_unit_test(finds_the_next_record_behind_junk),
        cmocka_unit_test(does_not_mistake_records_in_a_payload_for_records),
        cmocka_unit_test(reads_a_record_longer_than_a_chunk),
        cmocka_unit_test(allocates_nothing_for_a_lying_length),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
