/* SPDX-License-Identifier: Apache-2.0 */
#include "base/transcode.h"

#include <string.h>

enum { TRANSCODE_WORD = 16 };

static const struct {
    const char     *word;
    levada_charset encoding;
} transcode_words[] = {
    { "utf8", LEVADA_CHARSET_UTF8 },         { "utf16", LEVADA_CHARSET_UTF16 },
    { "utf16le", LEVADA_CHARSET_UTF16LE },   { "utf16be", LEVADA_CHARSET_UTF16BE },
    { "latin1", LEVADA_CHARSET_LATIN1 },     { "iso88591", LEVADA_CHARSET_LATIN1 },
    { "cp1252", LEVADA_CHARSET_CP1252 },     { "windows1252", LEVADA_CHARSET_CP1252 },
};

/* Windows-1252 from 0x80 to 0x9f; 0 = undefined. */
static const uint16_t transcode_cp1252[32] = {
    0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017d, 0,      0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178,
};

bool levada_charset_find(const char *word, levada_charset *out)
{
    char   plain[TRANSCODE_WORD] = "";
    size_t n = 0;

    for (; *word; word++) {
        if (*word == '-' || *word == '_') continue;
        if (n + 1 == sizeof plain) return false;
        plain[n++] = (char)(*word >= 'A' && *word <= 'Z' ? *word - 'A' + 'a' : *word);
    }
    for (size_t i = 0; i < sizeof transcode_words / sizeof *transcode_words; i++) {
        if (strcmp(transcode_words[i].word, plain) != 0) continue;
        *out = transcode_words[i].encoding;
        return true;
    }
    return false;
}

bool levada_charset_is_utf8(const char *word)
{
    levada_charset found;

    return !word || (levada_charset_find(word, &found) && found == LEVADA_CHARSET_UTF8);
}

levada_status levada_charset_check(const char *word, levada_error *err)
{
    levada_charset found;

    if (!word || levada_charset_find(word, &found)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "encoding='%.40s' must be utf-8, utf-16, utf-16-le, utf-16-be, latin-1 or "
                       "cp1252",
                       word);
}

static uint8_t *transcode_put(uint8_t *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (uint8_t)c;
    } else if (c < 0x800) {
        *to++ = (uint8_t)(0xc0 | c >> 6);
        *to++ = (uint8_t)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *to++ = (uint8_t)(0xe0 | c >> 12);
        *to++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        *to++ = (uint8_t)(0x80 | (c & 0x3f));
    } else {
        *to++ = (uint8_t)(0xf0 | c >> 18);
        *to++ = (uint8_t)(0x80 | (c >> 12 & 0x3f));
        *to++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        *to++ = (uint8_t)(0x80 | (c & 0x3f));
    }
    return to;
}

static int64_t transcode_bytes(bool latin1, const uint8_t *data, int64_t size, uint8_t *out)
{
    uint8_t *to = out;

    for (int64_t i = 0; i < size; i++) {
        uint8_t  b = data[i];
        uint32_t c = latin1 || b < 0x80 || b >= 0xa0 ? b : transcode_cp1252[b - 0x80];

        if (b < 0x80 || (c == 0 && b != 0)) *to++ = b;
        else to = transcode_put(to, c);
    }
    return to - out;
}

static uint32_t transcode_unit(const uint8_t *at, bool big)
{
    return big ? (uint32_t)at[0] << 8 | at[1] : (uint32_t)at[1] << 8 | at[0];
}

static int64_t transcode_utf16(bool big, const uint8_t *data, int64_t size, bool ended,
                               uint8_t *out, int64_t *used)
{
    uint8_t *to = out;
    int64_t  i = 0;

    while (i + 2 <= size) {
        uint32_t c = transcode_unit(data + i, big), low;

        if (c >> 10 == 0x36) { /* the first half of a pair */
            if (i + 4 > size && !ended) break;
            low = i + 4 <= size ? transcode_unit(data + i + 2, big) : 0;
            if (low >> 10 == 0x37) {
                c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
                i += 2;
            }
        }
        to = transcode_put(to, c);
        i += 2;
    }
    if (ended && i + 1 == size) {
        *to++ = 0xff;
        i++;
    }
    *used = i;
    return to - out;
}

int64_t levada_transcode(levada_charset *encoding, const uint8_t *data, int64_t size, bool ended,
                         uint8_t *out, int64_t *used)
{
    int64_t mark = 0, made;

    *used = size;
    if (*encoding == LEVADA_CHARSET_UTF16) {
        bool big = size >= 2 && data[0] == 0xfe && data[1] == 0xff;

        *used = 0;
        if (size < 2 && !ended) return 0;
        mark = big || (size >= 2 && data[0] == 0xff && data[1] == 0xfe) ? 2 : 0;
        *encoding = big ? LEVADA_CHARSET_UTF16BE : LEVADA_CHARSET_UTF16LE;
    }
    switch (*encoding) {
    case LEVADA_CHARSET_LATIN1: return transcode_bytes(true, data, size, out);
    case LEVADA_CHARSET_CP1252: return transcode_bytes(false, data, size, out);
    case LEVADA_CHARSET_UTF16LE:
    case LEVADA_CHARSET_UTF16BE:
        made = transcode_utf16(*encoding == LEVADA_CHARSET_UTF16BE, data + mark, size - mark,
                               ended, out, used);
        *used += mark;
        return made;
    default:
        if (size > 0) memcpy(out, data, (size_t)size);
        return size;
    }
}
