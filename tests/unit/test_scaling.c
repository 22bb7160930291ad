/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work grows with the number of fields, not with its square: names that are looked up in a list
 * one after the other would show here as string comparisons. The program counts them in place of
 * the C library's functions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "support/files.h"
#include <levada/levada.h>

static int64_t scaling_work;

int strcmp(const char *a, const char *b)
{
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;

    scaling_work++;
    while (*x && *x == *y) {
        x++;
        y++;
    }
    return *x - *y;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *x = a, *y = b;

    scaling_work++;
    for (size_t i = 0; i < n; i++) {
        if (x[i] != y[i]) return x[i] - y[i];
    }
    return 0;
}

/* `prefix`, then n times `each` with the name of a feature in the place of #, and commas. */
static void add_list(levada_text *to, const char *prefix, const char *each, int n)
{
    levada_text_put(to, prefix);
    for (int i = 0; i < n; i++) {
        if (i > 0) levada_text_char(to, ',');
        for (const char *c = each; *c; c++) {
            if (*c == '#') levada_text_format(to, "f%05d", i);
            else levada_text_char(to, *c);
        }
    }
}

/* A TFRecord file with one Example of n features, each with one number. */
static const char *write_record(int n)
{
    const char *path = t_path("wide.tfrecord");
    t_bytes map = { 0 }, message = { 0 }, file = { 0 };
    uint8_t head[6] = { 0x0a };
    size_t size, used = 1;

    for (int i = 0; i < n; i++) {
        char entry[] = "\x0a\x0f\x0a\x06" "f00000" "\x12\x05\x1a\x03\x0a\x01\x01";

        char name[16];

        (void)snprintf(name, sizeof name, "f%05d", i);
        memcpy(entry + 4, name, 6);
        t_add(&map, entry, sizeof entry - 1);
    }
    for (size = map.size; size >= 0x80; size >>= 7) head[used++] = (uint8_t)(size | 0x80);
    head[used++] = (uint8_t)size;
    t_add(&message, head, used);
    t_add(&message, map.at, map.size);
    t_add_record(&file, message.at, message.size);
    t_write_file(path, file.at, file.size);
    t_clear(&map);
    t_clear(&message);
    t_clear(&file);
    return path;
}

static int64_t work_of_reading(const levada_dataset *ds, int32_t columns)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_block *block = NULL;
    levada_iter *it = NULL;

    options.threads = 1;
    scaling_work = 0;
    assert_int_equal(levada_iter_open(ds, &options, &it, NULL), LEVADA_OK);
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_spec_count(levada_block_spec(block)), columns);
    for (int32_t i = 0; i < columns; i++) {
        const char *name = levada_spec_field(levada_block_spec(block), i)->name;

        assert_non_null(levada_block_column(block, name));
    }
    levada_block_unref(&block);
    levada_iter_close(&it);
    return scaling_work;
}

/* What is done with a spec of n features: [0] set up, [1] printed, [2] read. */
static void measure(const char *each, const char *stages, const char *list, int n, int64_t work[3])
{
    levada_text text = { 0 };
    levada_dataset *ds = NULL;
    char *printed = NULL;

    levada_text_format(&text, "tfrecord:%s | parse_example:", write_record(n));
    add_list(&text, "{", each, n);
    levada_text_put(&text, "}");
    levada_text_put(&text, stages);
    if (list) {
        add_list(&text, "", list, n);
        levada_text_put(&text, strchr(list, ':') ? "}" : "]");
    }
    levada_text_put(&text, " | batch:1");
    scaling_work = 0;
    assert_int_equal(levada_dataset_parse(NULL, text.at, &ds, NULL), LEVADA_OK);
    work[0] = scaling_work;
    scaling_work = 0;
    assert_int_equal(levada_dataset_text(ds, &printed, NULL), LEVADA_OK);
    levada_string_free(&printed);
    assert_int_equal(levada_dataset_json(ds, &printed, NULL), LEVADA_OK);
    levada_string_free(&printed);
    work[1] = scaling_work;
    work[2] = work_of_reading(ds, n);
    levada_dataset_unref(&ds);
    levada_text_clear(&text);
}

static void check(const char *each, const char *stages, const char *list)
{
    int64_t few[3], many[3];

    measure(each, stages, list, 500, few);
    measure(each, stages, list, 4000, many);
    for (int i = 0; i < 3; i++) {
        if (many[i] > 12 * few[i] + 4000) {
            print_error("%s, part %d: %lld comparisons for 500 features, %lld for 4000\n", stages,
                        i, (long long)few[i], (long long)many[i]);
        }
        assert_true(few[i] > 0);
        assert_in_range(many[i], 0, 12 * few[i] + 4000);
    }
}

static void fixed_features(void **state)
{
    (void)state;
    check("#:{kind:FixedLen,shape:[],dtype:int64}", "", NULL);
}

static void ragged_features_that_are_padded(void **state)
{
    (void)state;
    check("#:{kind:VarLen,dtype:int64}", " | padded_batch:1 | unbatch", NULL);
}

static void selected_features(void **state)
{
    (void)state;
    check("#:{kind:VarLen,dtype:int64}", " | select:[", "#");
}

static void renamed_features(void **state)
{
    (void)state;
    check("#:{kind:VarLen,dtype:int64}", " | rename:{", "#:g#");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_features),
        cmocka_unit_test(ragged_features_that_are_padded),
        cmocka_unit_test(selected_features),
        cmocka_unit_test(renamed_features),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
