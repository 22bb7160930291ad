/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Adds a member of any type; size -1 = that of the data. */
static void add_typed(t_bytes *to, char type, const char *name, const char *data, int64_t size)
{
    static const char zeros[512];
    char              block[512] = "", octal[32];
    size_t            n = strlen(data);
    unsigned          sum = 0;

    memcpy(block, name, strnlen(name, 100));
    snprintf(octal, sizeof octal, "%011llo", (unsigned long long)(size < 0 ? (int64_t)n : size));
    memcpy(block + 124, octal, 12);
    memcpy(block + 257, "ustar", 6);
    memset(block + 148, ' ', 8);
    block[156] = type;
    for (int i = 0; i < 512; i++) sum += (uint8_t)block[i];
    snprintf(block + 148, 8, "%06o", sum);
    t_add(to, block, 512);
    t_add(to, data, n);
    t_add(to, zeros, (512 - n % 512) % 512);
}

static void add(t_bytes *to, const char *name, const char *data)
{
    add_typed(to, '0', name, data, -1);
}

static const char *with_file(const t_bytes *text, const char *options)
{
    static char made[600];

    t_write_file(t_path("f.tar"), text->at, text->size);
    snprintf(made, sizeof made, "tar:%s%s", t_path("f.tar"), options);
    return made;
}

static void add_text(const levada_column *c, int level, int32_t at, t_bytes *to)
{
    int32_t begin = c->level[level].begin[at];

    t_add(to, c->values + begin, (size_t)(c->level[level].end[at] - begin));
}

static void add_block(const levada_block *block, t_bytes *to)
{
    const levada_column *key = levada_block_at(block, 0), *names = levada_block_at(block, 1);
    const levada_column *values = levada_block_at(block, 2);

    for (int32_t i = 0; i < (int32_t)levada_block_rows(block); i++) {
        add_text(key, 0, i, to);
        t_add(to, ":", 1);
        for (int32_t k = names->level[0].begin[i]; k < names->level[0].end[i]; k++) {
            add_text(names, 1, k, to);
            t_add(to, "=", 1);
            add_text(values, 1, k - names->level[0].begin[i] + values->level[0].begin[i], to);
            t_add(to, ",", 1);
        }
        t_add(to, " ", 1);
    }
}

/* Samples as "key:name=value,name=value, ", and how reading ended. */
static levada_status read_all(const t_bytes *text, const char *options, t_bytes *got,
                              levada_error *err)
{
    levada_iter  *it = t_iter_open(with_file(text, options), 1, 3);
    levada_block *block = NULL;
    levada_status st;

    while ((st = levada_iter_next(it, &block, err)) == LEVADA_OK) {
        add_block(block, got);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    t_add(got, "", 1);
    return st;
}

static void expect(t_bytes *text, const char *options, const char *want, levada_status end,
                   const char *message)
{
    t_bytes      got = { 0 };
    levada_error err = LEVADA_ERROR_INIT;

    assert_int_equal(read_all(text, options, &got, &err), end);
    assert_string_equal((char *)got.at, want);
    if (!strstr(err.message, message)) fail_msg("'%s' lacks '%s'", err.message, message);
    t_clear(&got);
    t_clear(text);
}

static void members_of_one_key_are_a_sample(void **state)
{
    t_bytes     text = { 0 };
    static char zeros[1024];

    (void)state;
    add(&text, "a.txt", "one");
    add(&text, "a.CLS", "1");
    add_typed(&text, '5', "d/", "", -1);
    add(&text, "d/a.txt", "two");
    add(&text, "d/a.seg.png", "x");
    add(&text, "plain", "");
    t_add(&text, zeros, sizeof zeros);
    add(&text, ".hid.den", "y"); /* archives may follow each other */
    expect(&text, "", "a:txt=one,CLS=1, d/a:txt=two,seg.png=x, plain:=, :hid.den=y, ", LEVADA_END,
           "");
}

static void long_names_are_read(void **state)
{
    t_bytes text = { 0 };
    char    name[300], pax[400], want[800];

    (void)state;
    memset(name, 'n', 200);
    memcpy(name + 200, ".txt", 5);
    add_typed(&text, 'L', "././@LongLink", name, -1);
    add(&text, "cut", "gnu");
    name[0] = 'p';
    snprintf(pax, sizeof pax, "%d path=%s\n", 214, name); /* 3 + 1 + 5 + 204 + 1 */
    add_typed(&text, 'x', "PaxHeaders/x", pax, -1);
    add(&text, "cut", "pax");
    name[200] = '\0';
    snprintf(want, sizeof want, "n%.199s:txt=gnu, p%.199s:txt=pax, ", name + 1, name + 1);
    expect(&text, "", want, LEVADA_END, "");
}

static void long_pax_paths_are_read(void **state)
{
    t_bytes text = { 0 }, got = { 0 };
    char   *pax = malloc(70000), *name = malloc(70000);

    (void)state;
    for (size_t n = 5000; n < 70000; n += 60000) {
        levada_error err = LEVADA_ERROR_INIT;

        memset(name, 'p', n);
        memcpy(name + n - 4, ".txt", 5);
        snprintf(pax, 70000, "%zu path=%s\n", n + (n < 9000 ? 11 : 12), name);
        add_typed(&text, 'x', "PaxHeaders/x", pax, -1);
        add(&text, "cut", "v");
        assert_int_equal(read_all(&text, "", &got, &err), LEVADA_END);
        assert_int_equal(got.size, n - 4 + strlen(":txt=v, ") + 1);
        assert_memory_equal(got.at, name, n - 4);
        t_clear(&got);
        t_clear(&text);
    }
    free(name);
    free(pax);
}

static void only_files_are_members(void **state)
{
    static const char types[] = "123456VDNAEI";
    t_bytes           text = { 0 };

    (void)state;
    for (const char *type = types; *type; type++)
        add_typed(&text, *type, "label", *type > '6' ? "some bytes" : "", -1);
    add(&text, "a.txt", "one");
    expect(&text, "", "a:txt=one, ", LEVADA_END, "");
    add_typed(&text, 'M', "c.txt", "rest", -1);
    expect(&text, "", "", LEVADA_EINVALID_ARGUMENT, "another volume");
}

/* Their position does not reach a restored iterator, so no member may depend on them. */
static void global_names_and_sizes_are_refused(void **state)
{
    static const struct {
        const char *pax;
        bool refused;
    } cases[] = {
        { "14 path=a/b.c\n", true },
        { "10 size=3\n", true },
        { "18 comment=abcdef\n", false },
        { "8 path=\n", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_bytes text = { 0 };
        bool    refused = cases[i].refused;

        add_typed(&text, 'g', "pax_global_header", cases[i].pax, -1);
        add(&text, "a.txt", "one");
        expect(&text, ",errors=skip", refused ? "" : "a:txt=one, ",
               refused ? LEVADA_EUNIMPLEMENTED : LEVADA_END, refused ? "pack the archive" : "");
    }
}

static void extensions_keep_their_case(void **state)
{
    t_bytes text = { 0 };

    (void)state;
    add(&text, "a.JPG", "x");
    add(&text, "a.jpg", "y");
    expect(&text, "", "a:JPG=x,jpg=y, ", LEVADA_END, "");
    for (int i = 0; i < 4; i++) { /* the name as it stands, or the only one in any case */
        static const char *const fields[] = { "JPG", "jpg", "Jpg", "Jpg" };
        levada_error             err = LEVADA_ERROR_INIT;
        levada_iter             *it;
        levada_block            *block = NULL;
        char                     options[32];
        int64_t                  size = 0;

        if (i < 3) add(&text, "a.JPG", "x");
        if (i < 2) add(&text, "a.jpg", "y");
        if (i == 3) add(&text, "a.JPG", "x");
        if (i == 3) add(&text, "a.jpg", "y");
        snprintf(options, sizeof options, ",fields=[%s]", fields[i]);
        it = t_iter_open(with_file(&text, options), 1, 3);
        assert_int_equal(levada_iter_next(it, &block, &err),
                         i == 3 ? LEVADA_EINVALID_ARGUMENT : LEVADA_OK);
        if (i < 3)
            assert_int_equal(*levada_column_bytes(levada_block_at(block, 1), 0, &size),
                             i == 1 ? 'y' : 'x');
        levada_block_unref(&block);
        levada_iter_close(&it);
        t_clear(&text);
    }
}

static void sizes_are_not_believed(void **state)
{
    t_bytes text = { 0 };

    (void)state;
    add(&text, "a.txt", "one");
    add_typed(&text, '0', "b.txt", "two", 8589934591); /* 8 GiB */
    expect(&text, "", "a:txt=one, ", LEVADA_EDATA_LOSS, "");
    add(&text, "a.txt", "one");
    add_typed(&text, 'x', "p", "20 size=99999999999\n", -1);
    add(&text, "b.txt", "two");
    expect(&text, "", "a:txt=one, ", LEVADA_EDATA_LOSS, "");
    add_typed(&text, 'x', "p", "99 path=a\n", -1);
    add(&text, "b.txt", "two");
    expect(&text, "", "", LEVADA_EDATA_LOSS, "PAX header");
}

static void damage_costs_its_sample(void **state)
{
    t_bytes text = { 0 };

    (void)state;
    for (int i = 0; i < 6; i++) {
        char name[16];

        snprintf(name, sizeof name, "%c.%s", 'a' + i / 2, i % 2 ? "txt" : "cls");
        add(&text, name, "v");
    }
    text.at[3 * 1024 + 5] ^= 1; /* the header of b.txt */
    expect(&text, ",errors=skip", "a:cls=v,txt=v, c:cls=v,txt=v, ", LEVADA_END, "");
}

/* An archive of long names: headers that describe other headers. */
static void add_described(t_bytes *text, int i, bool gnu)
{
    char name[160], pax[200], value[16];

    snprintf(name, sizeof name, "%0120d/%03d.txt", 0, i);
    snprintf(pax, sizeof pax, "%d path=%s\n", 138, name); /* 3 + 6 + 128 + 1 */
    snprintf(value, sizeof value, "v%03d", i);
    if (gnu) add_typed(text, 'L', "././@LongLink", name, -1);
    else add_typed(text, 'x', "PaxHeaders/x", pax, -1);
    name[i % 2 ? 90 : 100] = '\0'; /* programs cut it in several ways */
    add(text, gnu ? name : "short.txt", value);
}

static void expect_real_samples(const t_bytes *text, int i, size_t at)
{
    t_bytes      got = { 0 };
    levada_error err = LEVADA_ERROR_INIT;
    int          n = 0;

    assert_int_equal(read_all(text, ",errors=skip", &got, &err), LEVADA_END);
    for (char *save = NULL, *sample = strtok_r((char *)got.at, " ", &save); sample;
         sample = strtok_r(NULL, " ", &save), n++) {
        int key = -1, value = -2;

        if (strlen(sample) != 121 + 3 + strlen(":txt=v000,") ||
            sscanf(sample + 121, "%3d:txt=v%3d,", &key, &value) != 2 || key != value)
            fail_msg("damage of kind %d at byte %zu made up '%s'", i, at, sample);
    }
    if (n < 2) fail_msg("damage of kind %d at byte %zu: %d of 4 samples are left", i, at, n);
    t_clear(&got);
}

/* Whatever byte or block of a header is damaged, no sample appears that was not there. */
static void damage_makes_no_sample_up(void **state)
{
    (void)state;
    for (int gnu = 0; gnu < 2; gnu++) {
        t_bytes text = { 0 };

        for (int i = 0; i < 4; i++) add_described(&text, i, gnu);
        for (size_t at = 0; at < 4 * 2048; at += at % 512 < 160 ? 1 : 16) {
            uint8_t *byte = text.at + at, was = *byte, block[512];

            if (at / 512 % 4 == 3) continue; /* the content of a file has no checksum */
            if (at / 512 % 4 == 1 && at % 512 < 140) continue; /* nor has a name */
            *byte ^= 2;
            expect_real_samples(&text, gnu, at);
            *byte = was;
            if (at % 512 != 0) continue;
            memcpy(block, byte, 512);
            for (int fill = 0; fill < 256; fill += 85) {
                memset(byte, fill, 512);
                expect_real_samples(&text, 10 + fill, at);
            }
            memcpy(byte, block, 512);
        }
        t_clear(&text);
    }
}

/* Sums of signed bytes count too, and no other ones. */
static void headers_are_summed_both_ways(void **state)
{
    static const int offsets[] = { 0, -256 * 162, 1, -256 * 161 };

    (void)state;
    for (int i = 0; i < 4; i++) {
        t_bytes text = { 0 };
        long    sum;
        char   *header;

        add(&text, "\xff\xff.txt", "one");
        header = (char *)text.at;
        memset(header + 157, 0xff, 100); /* the name of a link, and of owners */
        memset(header + 265, 0xff, 60);
        sum = strtol(header + 148, NULL, 8) + 160 * 255 + offsets[i];
        snprintf(header + 148, 8, "%06lo", (unsigned long)sum);
        expect(&text, ",compression=none", i < 2 ? "\xff\xff:txt=one, " : "",
               i < 2 ? LEVADA_END : LEVADA_EDATA_LOSS, i < 2 ? "" : "checksum");
    }
}

static void every_cut_is_noticed(void **state)
{
    t_bytes text = { 0 };

    (void)state;
    add(&text, "a.txt", "one");
    add(&text, "a.cls", "1");
    for (size_t cut = 1; cut < text.size; cut++) {
        t_bytes       part = { text.at, cut }, got = { 0 };
        levada_error  err = LEVADA_ERROR_INIT;
        levada_status st = read_all(&part, "", &got, &err);
        bool          whole = (cut >= 515 && cut <= 1024) || cut >= 1537; /* padding may lack */

        assert_int_equal(st, whole ? LEVADA_END : LEVADA_EDATA_LOSS);
        t_clear(&got);
    }
    t_clear(&text);
}

/* The last member is a record with and without its padding, also where it needs a larger window. */
static void padding_may_lack_after_any_member(void **state)
{
    static const size_t sizes[] = { 1, 300, 250000, 300001, 1000001 };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char        *content = malloc(sizes[i] + 1);
        t_bytes      text = { 0 }, got = { 0 };
        levada_error err = LEVADA_ERROR_INIT;

        memset(content, 'x', sizes[i]);
        content[sizes[i]] = '\0';
        add(&text, "a.txt", content);
        for (; text.size >= 512 + sizes[i]; text.size -= 100) {
            assert_int_equal(read_all(&text, "", &got, &err), LEVADA_END);
            assert_int_equal(got.size, strlen("a:txt=, ") + sizes[i] + 1);
            t_clear(&got);
        }
        t_clear(&text);
        free(content);
    }
}

static void fields_must_be_there_and_differ(void **state)
{
    t_bytes text = { 0 };

    (void)state;
    add(&text, "a.txt", "one");
    expect(&text, ",fields=[cls,txt]", "", LEVADA_EINVALID_ARGUMENT,
           "sample 'a': no member for the field cls");
    add(&text, "a.txt", "one");
    add(&text, "a.txt", "one");
    expect(&text, "", "", LEVADA_EINVALID_ARGUMENT, "two members of one name");
    add_typed(&text, 'S', "a.txt", "", -1);
    expect(&text, "", "", LEVADA_EINVALID_ARGUMENT, "sparse");
}

static void goes_on_after_a_restore(void **state)
{
    t_bytes text = { 0 };
    char    name[32];

    (void)state;
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "%d.%s", i / 2, i % 2 ? "txt" : "cls");
        add(&text, name, name);
    }
    t_iter_sweep(with_file(&text, ",fields=[cls,txt]"), false, 7);
    t_iter_sweep(with_file(&text, ""), false, 11);
    t_clear(&text);
}

/* Folders before the first sample, between samples and at the end, and a second archive. */
static void samples_after_folders_are_found_again(void **state)
{
    static const char zeros[1024];
    t_bytes           text = { 0 };
    char              name[32];

    (void)state;
    for (int i = 0; i < 120; i++) {
        if (i == 60) t_add(&text, zeros, sizeof zeros);
        if (i % 20 == 0) add_typed(&text, '5', "folder/", "", -1);
        snprintf(name, sizeof name, "folder/%d.txt", i);
        add(&text, name, name);
    }
    add_typed(&text, '5', "last/", "", -1);
    t_iter_sweep(with_file(&text, " | shuffle:9,seed=1"), false, 1);
    t_iter_sweep(with_file(&text, ",fields=[txt] | shuffle:9,seed=1"), false, 1);
    t_clear(&text);
}

/* The notes of a run with this many threads: byte and message of each. */
static void expect_notes(const t_bytes *text, const char *options, int threads, int64_t rows,
                         const char *want)
{
    levada_iter *it = t_iter_open(with_file(text, options), threads, 3);
    t_outcome    o = { 0 };
    char        *json = NULL, got[600] = "";

    assert_int_equal(t_iter_read_rest(it, &o), LEVADA_END);
    assert_int_equal(o.rows, rows);
    assert_int_equal(t_iter_stat(it, "skipped_records"), 0);
    assert_int_equal(levada_iter_stats(it, &json, NULL), LEVADA_OK);
    for (const char *at = json; (at = strstr(at, "\"offset\":")) != NULL; at++) {
        const char *message = strstr(at, "\"message\":\"");

        assert_non_null(message);
        snprintf(got + strlen(got), sizeof got - strlen(got), "%lld:%.15s, ", atoll(at + 9),
                 message + 11);
    }
    assert_string_equal(got, want);
    levada_string_free(&json);
    levada_iter_close(&it);
}

/* Zeros over a whole member look like the end of an archive before another one. */
static void members_under_zeros_are_noted(void **state)
{
    t_bytes     text = { 0 };
    static char zeros[10240];

    (void)state;
    add(&text, "a.txt", "one");
    add(&text, "b.txt", "two");
    add(&text, "c.txt", "three");
    t_add(&text, zeros, sizeof zeros);
    expect_notes(&text, "", 1, 3, "");
    memset(text.at + 1024, 0, 1024);
    expect_notes(&text, "", 1, 2, "2048:a header after , ");
    memset(text.at, 0, 1024); /* one place of a file is named */
    expect_notes(&text, "", 1, 1, "2048:a header after , ");
    memset(text.at, 0, 3072);
    expect_notes(&text, "", 1, 0, "13312:the archive end, -1:the file has no, ");
    t_clear(&text);
}

/* The first place, whatever threads read ahead. */
static void one_note_for_each_file(void **state)
{
    t_bytes     text = { 0 };
    static char zeros[10240], name[32];

    (void)state;
    for (int i = 0; i < 3000; i++) {
        if (i % 1000 == 500) t_add(&text, zeros, sizeof zeros / 10);
        snprintf(name, sizeof name, "%d.txt", i);
        add(&text, name, name);
    }
    t_add(&text, zeros, sizeof zeros);
    for (int threads = 1; threads <= 4; threads++)
        expect_notes(&text, "", threads, 3000, "513024:a header after , ");
    t_clear(&text);
}

static void an_archive_without_an_end_is_noted(void **state)
{
    t_bytes     text = { 0 };
    static char zeros[40960];

    (void)state;
    add(&text, "a.txt", "one");
    add(&text, "b.txt", "two");
    expect_notes(&text, "", 1, 2, "2048:the archive lac, ");
    t_add(&text, zeros, 512);
    expect_notes(&text, "", 1, 2, "");
    t_add(&text, zeros, 10240);
    expect_notes(&text, "", 1, 2, "");
    t_add(&text, zeros, sizeof zeros);
    expect_notes(&text, "", 1, 2, "53760:the archive end, ");
    t_clear(&text);
}

/* The iterator's notes name what the archive of these keys is odd for. */
static void expect_odd(const t_bytes *text, int threads, int64_t rows, const char *want)
{
    levada_iter *it = t_iter_open(with_file(text, ""), threads, 3);
    t_outcome    o = { 0 };
    char        *json = NULL;

    assert_int_equal(t_iter_read_rest(it, &o), LEVADA_END);
    assert_int_equal(o.rows, rows);
    assert_int_equal(levada_iter_stats(it, &json, NULL), LEVADA_OK);
    if (!strstr(json, want)) fail_msg("%d threads: no '%s' in %s", threads, want, json);
    levada_string_free(&json);
    levada_iter_close(&it);
}

/* Members in the order of their extensions, as programs list them that do not sort. */
static void keys_that_come_back_are_reported(void **state)
{
    static const int sizes[] = { 2, 300, 9000, 40000 };
    static char      zeros[1024], name[32], want[100];
    t_bytes          text = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int n = sizes[i];

        for (int k = 0; k < 2 * n; k++) {
            snprintf(name, sizeof name, "%06d.%s", k % n, k < n ? "jpg" : "json");
            add(&text, name, "");
        }
        t_add(&text, zeros, sizeof zeros);
        snprintf(want, sizeof want,
                 "%d of its keys are repeated after other samples, first '000000'",
                 n);
        for (int threads = 1; threads < 4; threads += 2)
            expect_odd(&text, threads, 2 * n, n <= 300 ? want : "\"at least ");
        t_clear(&text);
    }
    add(&text, "a.jpg", "");
    add(&text, "a.json", "");
    add(&text, "b.jpg", "");
    t_add(&text, zeros, sizeof zeros);
    expect_notes(&text, " | repeat:2", 1, 4, ""); /* in another pass they do not come back */
    t_clear(&text);
}

/* However many zeros end an archive, no record holds them. */
static void zeros_take_no_memory(void **state)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    t_bytes             text = { 0 };
    t_outcome           got = { 0 };
    levada_iter        *it;
    char                source[600];

    (void)state;
    add(&text, "a.txt", "one");
    add(&text, "b.txt", "two");
    t_write_file(t_path("f.tar"), text.at, text.size);
    assert_int_equal(truncate(t_path("f.tar"), 4 << 20), 0);
    o.max_record_bytes = 1 << 20;
    (void)snprintf(source, sizeof source, "tar:%s", t_path("f.tar"));
    it = t_iter_open_with(source, &o);
    assert_int_equal(t_iter_read_rest(it, &got), LEVADA_END);
    assert_int_equal(got.rows, 2);
    levada_iter_close(&it);
    t_clear(&text);
}

/* Adds a member of `n` KiB; `long_name`: a PAX header precedes it. */
static void add_large(t_bytes *to, const char *name, int n, bool long_name)
{
    size_t size = (size_t)n << 10;
    char  *data = calloc(size + 1, 1), pax[64];

    assert_non_null(data);
    memset(data, 'x', size);
    (void)snprintf(pax, sizeof pax, "%d path=%s\n", 9 + (int)strlen(name), name);
    if (long_name) add_typed(to, 'x', "PaxHeaders/x", pax, -1);
    add(to, long_name ? "short" : name, data);
    free(data);
}

/* Reads an archive with the least limit of a record, 256 KiB. */
static void expect_left_out(const t_bytes *text, size_t size, const char *end, int64_t skipped)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    t_outcome           got = { 0 };
    levada_block       *block = NULL;
    levada_iter        *it;
    t_bytes             part = { 0 }, rows = { 0 };

    t_add(&part, text->at, size);
    o.max_record_bytes = 1;
    o.errors = "skip";
    it = t_iter_open_with(with_file(&part, ""), &o);
    while (levada_iter_next(it, &block, &got.why) == LEVADA_OK) {
        add_block(block, &rows);
        levada_block_unref(&block);
    }
    t_add(&rows, "", 1);
    assert_string_equal((char *)rows.at, end);
    assert_int_equal(t_iter_stat(it, "skipped_records"), skipped);
    levada_iter_close(&it);
    t_clear(&rows);
    t_clear(&part);
}

static void all_members_of_a_long_sample_are_left_out(void **state)
{
    static const char zeros[1024];

    (void)state;
    for (int kind = 0; kind < 16; kind++) { /* bits: long names, a folder, a long first, small */
        t_bytes text = { 0 };
        size_t  all;

        add(&text, "a.txt", "one");
        add_large(&text, "b.jpg", kind & 4 ? 400 : 200, kind & 1);
        if (kind & 2) add_typed(&text, '5', "d/", "", -1);
        add_large(&text, "b.png", 200, kind & 1);
        if (kind & 2) add_typed(&text, '5', "e/", "", -1);
        add_large(&text, "b.txt", kind & 8 ? 1 : 300, kind & 1);
        all = text.size;
        add(&text, "c.txt", "two");
        add(&text, "c.cls", "2");
        t_add(&text, zeros, sizeof zeros);
        expect_left_out(&text, text.size, "a:txt=one, c:txt=two,cls=2, ", 1);
        expect_left_out(&text, all, "a:txt=one, ", 1);
        expect_left_out(&text, all - 600, "a:txt=one, ", 1);
        t_clear(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_of_one_key_are_a_sample),
        cmocka_unit_test(long_names_are_read),
        cmocka_unit_test(long_pax_paths_are_read),
        cmocka_unit_test(only_files_are_members),
        cmocka_unit_test(global_names_and_sizes_are_refused),
        cmocka_unit_test(extensions_keep_their_case),
        cmocka_unit_test(damage_makes_no_sample_up),
        cmocka_unit_test(sizes_are_not_believed),
        cmocka_unit_test(damage_costs_its_sample),
        cmocka_unit_test(headers_are_summed_both_ways),
        cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(padding_may_lack_after_any_member),
        cmocka_unit_test(fields_must_be_there_and_differ),
        cmocka_unit_test(goes_on_after_a_restore),
        cmocka_unit_test(samples_after_folders_are_found_again),
        cmocka_unit_test(members_under_zeros_are_noted),
        cmocka_unit_test(one_note_for_each_file),
        cmocka_unit_test(an_archive_without_an_end_is_noted),
        cmocka_unit_test(keys_that_come_back_are_reported),
        cmocka_unit_test(zeros_take_no_memory),
        cmocka_unit_test(all_members_of_a_long_sample_are_left_out),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
