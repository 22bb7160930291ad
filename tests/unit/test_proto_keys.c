/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected entries against the general path: the same bytes are decoded after a record that makes
 * their keys expected, and after one that makes others expected, and must return the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <levada/example.h>

#define MESSAGE 512

typedef struct message {
    uint8_t bytes[MESSAGE];
    size_t  size;
} message;

static void put(message *m, const void *bytes, size_t n)
{
    memcpy(m->bytes + m->size, bytes, n);
    m->size += n;
}

static size_t size_of_varint(size_t v) { return v < 128 ? 1 : 2; }

static void put_sized(message *m, uint8_t tag, size_t size)
{
    uint8_t head[] = {tag, (uint8_t)(size < 128 ? size : (size & 127) | 128), (uint8_t)(size >> 7)};

    put(m, head, 1 + size_of_varint(size));
}

static size_t sized(size_t size) { return 1 + size_of_varint(size) + size; }

/* A map entry with a packed list; 0x1a: int64, 0x12: float. */
static void put_entry(message *m, const char *key, uint8_t tag, const void *payload, size_t n)
{
    size_t k = strlen(key), list = sized(n), feature = sized(list);

    put_sized(m, 0x0a, sized(k) + sized(feature));
    put_sized(m, 0x0a, k);
    put(m, key, k);
    put_sized(m, 0x12, feature);
    put_sized(m, tag, list);
    put_sized(m, 0x0a, n);
    put(m, payload, n);
}

static message example(const message *map)
{
    message m = {.size = 0};

    put_sized(&m, 0x0a, map->size);
    put(&m, map->bytes, map->size);
    return m;
}

static levada_status decode(const char *spec, const message *records, int64_t n,
                            levada_block **out, levada_error *err)
{
    levada_value *options = levada_value_map(), *value = NULL;
    const void   *strings[4];
    size_t        sizes[4];
    levada_status st;

    for (int64_t i = 0; i < n; i++) {
        strings[i] = records[i].bytes;
        sizes[i] = records[i].size;
    }
    assert_int_equal(levada_value_parse(spec, &value, err), LEVADA_OK);
    assert_int_equal(levada_value_set(options, "spec", &value, err), LEVADA_OK);
    st = levada_decode_strings(NULL, "parse_example", options, strings, sizes, n, out, err);
    levada_value_destroy(&options);
    return st;
}

/* What the last of the records returned, as text: its columns or the refusal. */
static void outcome(const char *spec, const message *records, int64_t n, char *text,
                    size_t capacity)
{
    levada_block *block = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    size_t        used;

    if (decode(spec, records, n, &block, &err) != LEVADA_OK) {
        snprintf(text, capacity, "%s", err.message);
    } else {
        const levada_column *list = levada_block_column(block, "i");
        int64_t              length = levada_column_length(list, n - 1);
        const int64_t       *at = levada_column_i64(list) + list->level[0].begin[n - 1];
        float                f;

        memcpy(&f, levada_column_f32(levada_block_column(block, "f")) + n - 1, sizeof f);
        used = (size_t)snprintf(text, capacity, "%a %lld:", (double)f, (long long)length);
        for (int64_t i = 0; i < length && used < capacity; i++)
            used += (size_t)snprintf(text + used, capacity - used, " %lld", (long long)at[i]);
    }
    levada_block_unref(&block);
}

static const uint8_t numbers[MESSAGE] = {[0] = 0x85, [1] = 0x01}; /* 133 and zeros */
static const float   three = 3;

#define SPEC "{i:{kind:VarLen,dtype:int64},f:{kind:FixedLen,shape:[],dtype:float32,default:-1.0}}"

/* Two records before `last`: one with i before f and one the other way round, so that `i` is
 * expected first, or is not. */
static void both_ways(const message *last)
{
    message i_first = {.size = 0}, f_first = {.size = 0}, records[2];
    char    expected[4096], general[4096];

    put_entry(&i_first, "i", 0x1a, numbers, 3);
    put_entry(&i_first, "f", 0x12, &three, 4);
    put_entry(&f_first, "f", 0x12, &three, 4);
    put_entry(&f_first, "i", 0x1a, numbers, 3);
    records[1] = *last;
    records[0] = example(&i_first);
    outcome(SPEC, records, 2, expected, sizeof expected);
    records[0] = example(&f_first);
    outcome(SPEC, records, 2, general, sizeof general);
    assert_string_equal(expected, general);
}

static void any_byte_of_an_expected_entry_may_be_another(void **state)
{
    message map = {.size = 0};
    size_t  entry;

    (void)state;
    put_entry(&map, "i", 0x1a, numbers, 2);
    entry = map.size;
    put_entry(&map, "f", 0x12, &three, 4);
    for (size_t at = 0; at < entry; at++) {
        for (int byte = 0; byte < 256; byte++) {
            message one = map, record;

            one.bytes[at] = (uint8_t)byte;
            record = example(&one);
            both_ways(&record);
        }
    }
}

static void lists_of_any_size_are_expected(void **state)
{
    (void)state;
    for (size_t n = 0; n < 300; n++) {
        message map = {.size = 0}, record;

        if (n != 1) put_entry(&map, "i", 0x1a, numbers, n);
        put_entry(&map, "f", 0x12, &three, n % 5);
        record = example(&map);
        both_ways(&record);
    }
}

static void an_entry_that_its_map_cuts_off_is_refused(void **state)
{
    message map = {.size = 0};

    (void)state;
    put_entry(&map, "f", 0x12, &three, 4);
    put_entry(&map, "i", 0x1a, numbers, 2);
    for (size_t cut = 0; cut < map.size; cut++) {
        message shorter = map, record;

        shorter.size = cut;
        record = example(&shorter);
        memcpy(record.bytes + record.size, map.bytes + cut, map.size - cut); /* what follows */
        both_ways(&record);
    }
}

static void keys_of_any_length_are_expected(void **state)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";

    (void)state;
    for (int k = 1; k <= 30; k++) {
        char           key[40], other[40], spec[200];
        message        map = {.size = 0}, wrong = {.size = 0}, records[3];
        levada_block  *block = NULL;
        levada_error   err = LEVADA_ERROR_INIT;
        const int64_t *v;

        snprintf(key, sizeof key, "%.*s", k, letters);
        snprintf(other, sizeof other, "%.*s!", k - 1, letters);
        snprintf(spec, sizeof spec, "{%s:{kind:FixedLen,shape:[],dtype:int64,default:7}}", key);
        put_entry(&map, key, 0x1a, numbers, 2);
        put_entry(&map, "f", 0x12, &three, 4);
        put_entry(&wrong, other, 0x1a, numbers, 2); /* differs in its last byte */
        put_entry(&wrong, "f", 0x12, &three, 4);
        records[0] = records[1] = example(&map);
        records[2] = example(&wrong);
        assert_int_equal(decode(spec, records, 3, &block, &err), LEVADA_OK);
        v = levada_column_i64(levada_block_column(block, key));
        assert_int_equal(v[0], 133);
        assert_int_equal(v[1], 133);
        assert_int_equal(v[2], 7);
        levada_block_unref(&block);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_byte_of_an_expected_entry_may_be_another),
        cmocka_unit_test(lists_of_any_size_are_expected),
        cmocka_unit_test(an_entry_that_its_map_cuts_off_is_refused),
        cmocka_unit_test(keys_of_any_length_are_expected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
