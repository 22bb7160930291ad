/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over messages that look like Examples and SequenceExamples but are written as
 * nobody writes them: values in pieces, repeated keys, two kinds in one Feature, packed and
 * unpacked numbers mixed, names that are not UTF-8, unknown fields, lost ends. The messages follow
 * from the seed; LEVADA_TEST_LENGTH multiplies their number, and a first argument is the seed to
 * begin with.
 */
#include "support/length.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOSTILE_MESSAGES 20000
#define HOSTILE_SIZE 4096

typedef struct hostile_bytes {
    uint8_t at[HOSTILE_SIZE];
    size_t  size;
} hostile_bytes;

static uint64_t hostile_state;

static uint32_t hostile_below(uint32_t n)
{
    hostile_state = hostile_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(hostile_state >> 33) % n;
}

static bool hostile_rarely(void) { return hostile_below(12) == 0; }

static void hostile_put(hostile_bytes *b, const void *bytes, size_t n)
{
    if (n > HOSTILE_SIZE - b->size) return;
    if (n > 0) memcpy(b->at + b->size, bytes, n);
    b->size += n;
}

/* Rarely longer than it need be. */
static void hostile_varint(hostile_bytes *b, uint64_t v)
{
    uint8_t bytes[11];
    size_t  n = 0;

    for (; v > 0x7F; v >>= 7) bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    if (n < 9 && hostile_below(50) == 0) {
        bytes[n - 1] |= 0x80;
        bytes[n++] = 0;
    }
    hostile_put(b, bytes, n);
}

static void hostile_sized(hostile_bytes *b, uint32_t field, const hostile_bytes *content)
{
    hostile_varint(b, field << 3 | 2);
    hostile_varint(b, content->size);
    hostile_put(b, content->at, content->size);
}

/* A field that neither message has. */
static void hostile_unknown(hostile_bytes *b)
{
    static const uint8_t fields[][6] = {
        { 0x48, 1 }, { 0x4A, 1, 'x' }, { 0x4D, 1, 2, 3, 4 }, { 0x4B, 0x4C }, { 0x0B, 0x0C }
    };
    static const size_t sizes[] = { 2, 3, 5, 2, 2 };
    uint32_t            i = hostile_below(5);

    if (hostile_below(60) == 0) hostile_put(b, fields[i], sizes[i]);
}

static void hostile_ints(hostile_bytes *b)
{
    static const uint64_t values[] = { 0, 1, 5, 127, 128, 300, INT64_MAX, UINT64_MAX, UINT64_C(1)
                                       << 63 };
    uint32_t              n = hostile_below(4);
    hostile_bytes         packed = { .size = 0 };

    for (uint32_t i = 0; i < n; i++) {
        if (!hostile_rarely()) {
            hostile_varint(&packed, values[hostile_below(9)]);
            continue;
        }
        hostile_varint(b, 1 << 3);
        hostile_varint(b, values[hostile_below(9)]);
    }
    if (packed.size > 0 || hostile_rarely()) hostile_sized(b, 1, &packed);
}

static void hostile_floats(hostile_bytes *b)
{
    static const uint32_t values[] = { 0, 0x80000000, 0x3F800000, 0x7FC00000, 0x7F800000,
                                       0xFF800000, 1, 0x7F7FFFFF };
    uint32_t              n = hostile_below(4);
    hostile_bytes         packed = { .size = 0 };

    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = values[hostile_below(8)];

        if (!hostile_rarely()) {
            hostile_put(&packed, &v, 4);
            continue;
        }
        hostile_varint(b, 1 << 3 | 5);
        hostile_put(b, &v, 4);
    }
    if (packed.size > 0 || hostile_rarely()) hostile_sized(b, 1, &packed);
}

/* A name or a value: texts, and bytes that would move the cursor. */
static void hostile_text(hostile_bytes *b, bool name)
{
    static const char *const texts[] = { "a", "b", "c", "", "record", "context", "sequence",
                                         "kinds", "base64:YQ==", "base64:", "\xFF", "\x1B[31m",
                                         "\xC2\x9B" "1m", "\xE2\x80\xAE", "\"\\", "line\nline",
                                         "\xC3", "\xED\xA0\x80", "\x7F", "\r" };
    uint32_t                 i = hostile_below(name && !hostile_rarely() ? 4 : 20);

    hostile_put(b, texts[i], strlen(texts[i]));
    if (hostile_below(40) == 0) hostile_put(b, "\0z", 2);
}

static void hostile_strings(hostile_bytes *b)
{
    for (uint32_t n = hostile_below(3); n > 0; n--) {
        hostile_bytes text = { .size = 0 };

        hostile_text(&text, false);
        hostile_sized(b, 1, &text);
    }
}

static void hostile_feature(hostile_bytes *b)
{
    uint32_t kind = 1 + hostile_below(3), lists = hostile_below(5) == 0 ? hostile_below(4) : 1;

    for (; lists > 0; lists--) {
        hostile_bytes list = { .size = 0 };

        if (hostile_below(4) == 0) kind = 1 + hostile_below(3);
        if (kind == 1) hostile_strings(&list);
        else if (kind == 2) hostile_floats(&list);
        else hostile_ints(&list);
        hostile_unknown(&list);
        hostile_sized(b, kind, &list);
    }
    hostile_unknown(b);
}

static void hostile_steps(hostile_bytes *b)
{
    for (uint32_t n = hostile_below(4); n > 0; n--) {
        hostile_bytes step = { .size = 0 };

        hostile_feature(&step);
        hostile_sized(b, 1, &step);
    }
    hostile_unknown(b);
}

/* Mostly a key and a value; rarely one of them is missing, or there are more, or the order is
 * another. */
static void hostile_entry(hostile_bytes *b, bool steps)
{
    uint32_t keys = hostile_rarely() ? hostile_below(3) : 1;
    uint32_t values = hostile_rarely() ? hostile_below(3) : 1;

    while (keys > 0 || values > 0) {
        hostile_bytes part = { .size = 0 };
        bool          key = keys > 0 && (values == 0 || !hostile_rarely());

        if (key) hostile_text(&part, true);
        else if (steps) hostile_steps(&part);
        else hostile_feature(&part);
        hostile_sized(b, key ? 1 : 2, &part);
        keys -= key;
        values -= !key;
    }
    hostile_unknown(b);
}

static void hostile_message(hostile_bytes *b)
{
    uint32_t most = 1 + hostile_below(2);

    for (uint32_t n = hostile_below(4); n > 0; n--) {
        hostile_bytes map = { .size = 0 };
        uint32_t      field = 1 + hostile_below(most);

        for (uint32_t entries = hostile_below(4); entries > 0; entries--) {
            hostile_bytes entry = { .size = 0 };

            hostile_entry(&entry, field == 2);
            hostile_sized(&map, 1, &entry);
        }
        hostile_unknown(&map);
        hostile_sized(b, field, &map);
    }
    hostile_unknown(b);
    if (hostile_below(20) == 0) b->size = hostile_below((uint32_t)b->size + 1);
    if (b->size > 0 && hostile_below(20) == 0)
        b->at[hostile_below((uint32_t)b->size)] = (uint8_t)hostile_below(256);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t n = HOSTILE_MESSAGES * (uint64_t)t_length();

    for (uint64_t i = 0; i < n; i++) {
        hostile_bytes message = { .size = 0 };
        uint8_t      *exact;

        hostile_state = (seed + i) * UINT64_C(0x9E3779B97F4A7C15);
        hostile_message(&message);
        /* An exact allocation, so that a sanitizer sees the first byte after the end. */
        exact = malloc(message.size ? message.size : 1);
        if (!exact) return 1;
        memcpy(exact, message.at, message.size);
        LLVMFuzzerTestOneInput(exact, message.size);
        free(exact);
    }
    printf("%llu messages\n", (unsigned long long)n);
    return 0;
}
