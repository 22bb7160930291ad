/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/kernels.h"

enum { MOST = 200, RUN = 600 };

static uint64_t seed = 7;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

/* The bytes of the character at p, by the table of the Unicode standard (3-7); 0 = none. */
static size_t plain_character(const uint8_t *p, size_t n)
{
    static const struct {
        uint8_t first, last, low, high;
        size_t  size;
    } forms[] = {
        { 0x00, 0x7f, 0x00, 0xff, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
        { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };

    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        if (p[0] < forms[f].first || p[0] > forms[f].last || forms[f].size > n) continue;
        if (forms[f].size > 1 && (p[1] < forms[f].low || p[1] > forms[f].high)) return 0;
        for (size_t i = 2; i < forms[f].size; i++)
            if (p[i] < 0x80 || p[i] > 0xbf) return 0;
        return forms[f].size;
    }
    return 0;
}

static bool plain_valid(const uint8_t *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        size_t size = plain_character(p + at, n - at);

        if (size == 0) return false;
        at += size;
    }
    return true;
}

static void compare(const uint8_t *p, size_t n)
{
    bool want = plain_valid(p, n);

    for (int level = LEVADA_CPU_PORTABLE; level <= LEVADA_CPU_AVX512; level++)
        assert_int_equal(levada_kernels_for((levada_cpu_level)level)->utf8_valid(p, n), want);
}

/* Every pair of bytes, and what may follow, at each place around the end of a block. */
static void finds_each_error_at_each_place(void **state)
{
    static const uint8_t tails[][2] = {
        { 'a', 'a' }, { 0x80, 'a' }, { 0x80, 0x80 }, { 0xbf, 0xc3 }
    };
    static const size_t ends[] = { 32, 64, 96 };
    uint8_t              text[104];

    (void)state;
    for (uint32_t pair = 0; pair < 0x10000; pair++) {
        if ((pair >> 8) < 0x80 && (pair & 0xff) < 0x80) continue;
        for (size_t t = 0; t < 4; t++) {
            size_t at = ends[pair % 3] - 5 + (pair + t) % 6;

            memset(text, 'x', sizeof text);
            text[at] = (uint8_t)(pair >> 8);
            text[at + 1] = (uint8_t)pair;
            memcpy(text + at + 2, tails[t], 2);
            compare(text, at + 2);
            compare(text, at + 4);
            compare(text, sizeof text);
        }
    }
}

static size_t put_character(uint8_t *p)
{
    static const char *const characters[] = { "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };
    const char              *c = characters[draw(4)];

    memcpy(p, c, strlen(c));
    return strlen(c);
}

static void agrees_about_drawn_text(void **state)
{
    uint8_t text[MOST + 4];

    (void)state;
    for (int round = 0; round < 20000; round++) {
        size_t n = 0, most = draw(MOST);

        while (n < most) n += put_character(text + n);
        compare(text, n);
        if (n == 0) continue;
        text[draw((uint32_t)n)] = (uint8_t)draw(256);
        compare(text, n);
        compare(text, draw((uint32_t)n));
    }
}

/* Characters between runs of ASCII that are skipped in large steps. */
static void agrees_about_text_with_runs_of_ascii(void **state)
{
    uint8_t text[4 * RUN];

    (void)state;
    for (int round = 0; round < 20000; round++) {
        size_t n = 0;

        while (n < 2 * RUN) {
            size_t run = draw(RUN);

            memset(text + n, 'x', run);
            n += run;
            for (uint32_t i = draw(40); i > 0; i--) n += put_character(text + n);
        }
        compare(text, n);
        for (uint32_t i = draw(3); i > 0; i--) text[draw((uint32_t)n)] = (uint8_t)(128 + draw(128));
        compare(text, n);
        compare(text, draw((uint32_t)n));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_each_error_at_each_place),
        cmocka_unit_test(agrees_about_drawn_text),
        cmocka_unit_test(agrees_about_text_with_runs_of_ascii),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
