/* SPDX-License-Identifier: Apache-2.0 */
#include "support/codec.h"

#include "files/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

levada_status t_decode(const char *name, t_bytes in, size_t in_step, size_t out_step, t_bytes *out)
{
    const levada_filter_def *filter = levada_registry_filter(NULL, name);
    void                    *state = calloc(1, filter->state_size);
    static uint8_t           buffer[65536], other; /* memory is never what it was before */
    size_t                   at = 0, end = 0;
    levada_status            st = filter->open(state, NULL);
    bool                     done = false;

    t_add(out, NULL, 0);
    if (in_step == 0) in_step = in.size;
    while (st == LEVADA_OK && !done) {
        levada_filter_step step = {.out = buffer, .out_size = out_step ? out_step : sizeof buffer};

        if (at == end) end = end + in_step < in.size ? end + in_step : in.size;
        step.in = in.at + at;
        step.in_size = end - at;
        step.in_ended = end == in.size;
        memset(buffer, ++other, step.out_size);
        st = filter->decode(state, &step, NULL);
        if (st != LEVADA_OK) break;
        at += step.used;
        t_add(out, buffer, step.made);
        done = step.finished;
    }
    filter->close(state);
    free(state);
    return st;
}

t_bytes t_prose(void)
{
    t_bytes  text = {0};
    char     line[64];
    uint32_t x = 1;

    while (text.size < 300000) {
        int n = snprintf(line, sizeof line, "line %zu says %u and %u\n", text.size, x % 1000,
                         x >> 27);

        t_add(&text, line, (size_t)n);
        x = x * 1664525u + 1013904223u;
    }
    return text;
}

void t_codec_round_trips(const char *filter)
{
    const size_t steps[][2] = {{0, 0}, {1, 0}, {0, 1}, {7, 13}, {1000, 100}, {65536, 65536}};
    t_bytes      text = t_prose(), packed = t_encode(filter, text.at, text.size, 0);

    assert_true(packed.size < text.size / 2);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        t_bytes out = {0};

        assert_int_equal(t_decode(filter, packed, steps[i][0], steps[i][1], &out), LEVADA_OK);
        assert_int_equal(out.size, text.size);
        assert_memory_equal(out.at, text.at, text.size);
        t_clear(&out);
    }
    t_clear(&packed);
    packed = t_encode(filter, "", 0, 0);
    for (size_t in_step = 0; in_step < 3; in_step++) {
        t_bytes out = {0};

        assert_int_equal(t_decode(filter, packed, in_step, 0, &out), LEVADA_OK);
        assert_int_equal(out.size, 0);
        t_clear(&out);
    }
    t_clear(&packed);
    t_clear(&text);
}

void t_codec_reports_cuts(const char *filter)
{
    const char *text = "so it goes, and goes, and goes on until it does not go on any more";
    t_bytes     packed = t_encode(filter, text, strlen(text), 20);

    for (size_t cut = 1; cut < packed.size; cut++) {
        for (size_t in_step = 0; in_step < 2; in_step++) {
            t_bytes part = {packed.at, cut}, out = {0};

            assert_int_equal(t_decode(filter, part, in_step, 0, &out), LEVADA_EDATA_LOSS);
            assert_true(out.size <= strlen(text));
            assert_memory_equal(out.at, text, out.size);
            t_clear(&out);
        }
    }
    t_clear(&packed);
}

void t_codec_reports_changes(const char *filter)
{
    t_bytes text = t_prose(), packed = t_encode(filter, text.at, 3000, 0);

    for (size_t i = 0; i < packed.size; i++) {
        t_bytes out = {0};

        packed.at[i] ^= 0x21;
        if (t_decode(filter, packed, 0, 0, &out) == LEVADA_OK && out.size > 0) {
            assert_int_equal(out.size, 3000);
            assert_memory_equal(out.at, text.at, 3000);
        }
        packed.at[i] ^= 0x21;
        t_clear(&out);
    }
    t_clear(&packed);
    t_clear(&text);
}

void t_codec_returns_what_is_before_damage(const char *filter)
{
    const size_t steps[][2] = {{0, 0}, {0, 0}, {30000, 20000}, {700, 0}};
    t_bytes      text = t_prose(), packed = t_encode(filter, text.at, text.size, 0);
    uint32_t     x = 7;

    for (int i = 0; i < 300; i++) {
        t_bytes       want = {0};
        levada_status how = LEVADA_OK;
        size_t        at = (x = x * 1664525u + 1013904223u) % (packed.size - 8);
        uint8_t       was[8];

        memcpy(was, packed.at + at, sizeof was);
        for (size_t k = 0; k <= (size_t)i % 8; k++) {
            packed.at[at + k] ^= (uint8_t)((x = x * 1664525u + 1013904223u) >> 24);
        }
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            t_bytes       out = {0};
            levada_status st = t_decode(filter, packed, steps[k][0], steps[k][1], &out);

            if (k == 0) {
                want = out;
                how = st;
                continue;
            }
            assert_int_equal(st, how);
            assert_int_equal(out.size, want.size);
            assert_memory_equal(out.at, want.at, out.size);
            t_clear(&out);
        }
        memcpy(packed.at + at, was, sizeof was);
        t_clear(&want);
    }
    t_clear(&packed);
    t_clear(&text);
}

void t_codec_flushes(const char *filter)
{
    t_bytes text = t_prose(), all = t_encode(filter, text.at, 5000, 2500);
    size_t  least = 0, most = all.size;

    while (most - least > 1) { /* the shortest prefix that holds the first half */
        size_t  cut = (least + most) / 2;
        t_bytes part = {all.at, cut}, out = {0};

        (void)t_decode(filter, part, 0, 0, &out);
        if (out.size >= 2500) most = cut;
        if (out.size < 2500) least = cut;
        t_clear(&out);
    }
    assert_true(most < all.size * 3 / 4);
    t_clear(&all);
    t_clear(&text);
}

static void codec_seeks(const char *path, t_bytes text)
{
    const int64_t        offsets[] = {0, 299000, 5, 150000, 150000, 20};
    levada_bytes_options options = {0};
    levada_bytes        *bytes = NULL;
    char                 out[100];
    int64_t              made;

    assert_int_equal(levada_bytes_open(NULL, path, &options, &bytes, NULL), LEVADA_OK);
    assert_int_equal(levada_bytes_left(bytes), -1);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        assert_int_equal(levada_bytes_seek(bytes, offsets[i], NULL), LEVADA_OK);
        assert_int_equal(levada_bytes_read(bytes, out, 100, &made, NULL), LEVADA_OK);
        assert_int_equal(made, 100);
        assert_memory_equal(out, text.at + offsets[i], 100);
    }
    assert_int_equal(levada_bytes_seek(bytes, 400000, NULL), LEVADA_EOUT_OF_RANGE);
    levada_bytes_close(&bytes);
}

void t_codec_reads_files(const char *filter)
{
    t_bytes  text = t_prose(), packed = t_encode(filter, text.at, text.size, 0);
    t_bytes  rows = {0}, plain = {0};
    t_reader t = {.format = "text_lines"};

    t_folder();
    t_write_file(t_path("plain"), text.at, text.size);
    t_write_file(t_path("packed"), packed.at, packed.size);
    t.paths[0] = t_path("plain");
    assert_int_equal(t_open(&t), LEVADA_OK);
    assert_int_equal(t_drain(&t, &plain), LEVADA_END);
    t_close(&t);
    t.paths[0] = t_path("packed");
    for (int i = 0; i < 2; i++) {
        t.compression = i ? filter : "auto";
        assert_int_equal(t_open(&t), LEVADA_OK);
        assert_int_equal(t_drain(&t, &rows), LEVADA_END);
        assert_int_equal(rows.size, plain.size);
        assert_memory_equal(rows.at, plain.at, plain.size);
        t_close(&t);
        t_clear(&rows);
    }
    codec_seeks(t_path("packed"), text);
    t_folder_drop();
    t_clear(&plain);
    t_clear(&packed);
    t_clear(&text);
}
