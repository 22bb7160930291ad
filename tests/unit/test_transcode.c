/* SPDX-License-Identifier: Apache-2.0 */
#include "base/transcode.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 600 };

static const levada_charset all[] = { LEVADA_CHARSET_UTF16, LEVADA_CHARSET_UTF16LE,
                                      LEVADA_CHARSET_UTF16BE, LEVADA_CHARSET_LATIN1,
                                      LEVADA_CHARSET_CP1252 };

/* The text of data[0, size) in pieces of at most `step` bytes. */
static int64_t pieces(levada_charset charset, const uint8_t *data, int64_t size, int64_t step,
                      uint8_t *out)
{
    uint8_t raw[SIZE + 8];
    int64_t at = 0, kept = 0, made = 0, used = 0;

    for (bool ended = false; !ended;) {
        int64_t n = size - at < step ? size - at : step;

        memcpy(raw + kept, data + at, (size_t)n);
        at += n;
        ended = n == 0;
        made += levada_transcode(&charset, raw, kept + n, ended, out + made, &used);
        assert_true(used <= kept + n && kept + n - used < 4 && (!ended || used == kept + n));
        kept += n - used;
        memmove(raw, raw + used, (size_t)kept);
    }
    return made;
}

static void pieces_of_any_size_are_the_same_text(void **state)
{
    uint64_t seed = 11;

    (void)state;
    for (int k = 0; k < 2000; k++) {
        uint8_t data[SIZE], whole[SIZE * 4], cut[SIZE * 4];
        int64_t size = k % 60, n, m;

        for (int64_t i = 0; i < size; i++) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            data[i] = (uint8_t)(k % 2 == 0 && i % 2 ? 0xd8 + (seed >> 33) % 8 : seed >> 40);
        }
        n = pieces(all[k % 5], data, size, SIZE, whole);
        for (int64_t step = 1; step < 8; step++) {
            m = pieces(all[k % 5], data, size, step, cut);
            assert_true(m == n && memcmp(cut, whole, (size_t)n) == 0);
        }
        assert_true(n <= (size + 1) * LEVADA_TRANSCODE_MOST);
    }
}

static void what_is_no_character_is_not_utf8(void **state)
{
    static const struct {
        levada_charset charset;
        const char    *data;
        int64_t        size;
        bool           good;
    } rows[] = {
        { LEVADA_CHARSET_UTF16LE, "\x3d\xd8\x00\xde", 4, true },
        { LEVADA_CHARSET_UTF16LE, "\x3d\xd8", 2, false },
        { LEVADA_CHARSET_UTF16LE, "\x3d\xd8\x41\x00", 4, false },
        { LEVADA_CHARSET_UTF16LE, "\x00\xde\x3d\xd8", 4, false },
        { LEVADA_CHARSET_UTF16BE, "\xd8\x3d\xde\x00", 4, true },
        { LEVADA_CHARSET_UTF16BE, "\x00\x41\x00", 3, false },
        { LEVADA_CHARSET_CP1252, "\x80\x9f", 2, true },
        { LEVADA_CHARSET_CP1252, "\x81", 1, false },
        { LEVADA_CHARSET_LATIN1, "\x80\x81\xff", 3, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t out[64];
        size_t  n = (size_t)pieces(rows[i].charset, (const uint8_t *)rows[i].data, rows[i].size,
                                   SIZE, out);

        assert_true((levada_utf8_check((const char *)out, n) == n) == rows[i].good);
    }
}

static void the_byte_order_mark_is_no_text(void **state)
{
    uint8_t out[64];

    (void)state;
    assert_true(pieces(LEVADA_CHARSET_UTF16, (const uint8_t *)"\xfe\xff\0A", 4, 1, out) == 1);
    assert_int_equal(out[0], 'A');
    assert_true(pieces(LEVADA_CHARSET_UTF16, (const uint8_t *)"A\0", 2, 1, out) == 1);
    assert_true(pieces(LEVADA_CHARSET_UTF16, (const uint8_t *)"", 0, 1, out) == 0);
    assert_true(pieces(LEVADA_CHARSET_UTF16, (const uint8_t *)"\xff", 1, 1, out) == 1);
    assert_true(pieces(LEVADA_CHARSET_UTF16BE, (const uint8_t *)"\xfe\xff", 2, 1, out) == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_any_size_are_the_same_text),
        cmocka_unit_test(what_is_no_character_is_not_utf8),
        cmocka_unit_test(the_byte_order_mark_is_no_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
