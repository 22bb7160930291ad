/* SPDX-License-Identifier: Apache-2.0 */
#include "state/receipt.h"

#include "base/compiler.h"
#include "base/hash.h"
#include "base/kernels.h"
#include "base/wire.h"
#include "state/damaged.h"

#include <string.h>

#define RECEIPT_KEY "receipt"   /* in states */
#define RECEIPT_PREFIX "lvr1_"  /* of the text */
#define RECEIPT_SUM 4           /* bytes of the checksum at the end */
#define RECEIPT_MAP 8           /* bytes that say which cells follow */
#define RECEIPT_BYTES (3 * 10 + RECEIPT_MAP + LEVADA_RECEIPT_CELLS * 2 * 8 + RECEIPT_SUM)

/* Returns a permutation of the 64-bit numbers. */
static inline uint64_t receipt_mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
    x = (x ^ (x >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
    return x ^ (x >> 32);
}

uint64_t levada_receipt_file(uint64_t name)
{
    return receipt_mix(name + 1) | 1;
}

static inline uint64_t receipt_range(uint64_t file, int64_t number)
{
    uint64_t x = file + 2 * ((uint64_t)number / LEVADA_RECEIPT_RANGE);

    return (x ^ (x >> 32 << 1)) * UINT64_C(0xD6E8FEB86659FD93); /* odd, as file is odd */
}

uint64_t levada_receipt_range(uint64_t file, int64_t number)
{
    return receipt_range(file, number);
}

/* Chooses a cell by the upper bits of a hash, and another one by those below them. */
static inline void receipt_cells(uint64_t hash, bool range, int32_t cells[2])
{
    uint32_t first = (uint32_t)(hash >> (range ? 59 : 60)); /* of 32, of 16 */
    uint32_t second = first ^ (1 + (uint32_t)(hash >> 40 & (range ? 15 : 7)));

    cells[0] = (int32_t)(first + (range ? LEVADA_RECEIPT_FILE_CELLS : 0));
    cells[1] = (int32_t)(second + (range ? LEVADA_RECEIPT_FILE_CELLS : 0));
}

void levada_receipt_cells(uint64_t hash, bool range, int32_t cells[2])
{
    receipt_cells(hash, range, cells);
}

static inline uint64_t receipt_record(uint64_t range, int64_t number)
{
    return receipt_mix(range + (uint64_t)number);
}

uint64_t levada_receipt_hash(uint64_t range, int64_t first, int64_t n)
{
    uint64_t sum = 0;

    for (int64_t i = 0; i < n; i++) sum += receipt_record(range, first + i);
    return sum;
}

static LEVADA_ALWAYS_INLINE void receipt_count(levada_receipt *to, uint64_t place, bool range,
                                               const levada_receipt_cell *sums)
{
    int32_t cells[2];

    receipt_cells(place, range, cells);
    for (int i = 0; i < 2; i++) {
        levada_receipt_cell *cell = &to->cells[cells[i]];

        cell->places += sums->places;
        cell->records += sums->records;
    }
}

/* Adds records of one range. */
static void receipt_add_range(levada_receipt *to, uint64_t file, int64_t first, int64_t n)
{
    uint64_t            range = receipt_range(file, first), count = (uint64_t)n;
    levada_receipt_cell sums = {
        .places = count * file,
        .records = levada_receipt_hash(range, first, n),
    };

    receipt_count(to, file, false, &sums);
    sums.places = count * range;
    receipt_count(to, range, true, &sums);
}

void levada_receipt_add(levada_receipt *to, uint64_t file, int64_t first, int64_t n)
{
    to->rows += (uint64_t)n;
    while (n > 0) {
        int64_t left = LEVADA_RECEIPT_RANGE - first % LEVADA_RECEIPT_RANGE;
        int64_t m = n < left ? n : left;

        receipt_add_range(to, file, first, m);
        first += m;
        n -= m;
    }
}

void levada_receipt_add_each(levada_receipt *to, uint64_t file, const levada_origin *each,
                             int64_t n)
{
    levada_receipt_cell sums = { .places = (uint64_t)n * file };

    for (int64_t i = 0; i < n; i++) {
        int64_t             number = each[i].record;
        uint64_t            range = receipt_range(file, number);
        levada_receipt_cell one = { range, receipt_record(range, number) };

        sums.records += one.records;
        receipt_count(to, range, true, &one);
    }
    receipt_count(to, file, false, &sums);
    to->rows += (uint64_t)n;
}

void levada_receipt_merge(levada_receipt *to, const levada_receipt *from, int64_t times)
{
    uint64_t by = (uint64_t)times;

    to->rows += from->rows * by;
    to->unknown += from->unknown * by;
    to->skipped += from->skipped * by;
    for (int i = 0; i < LEVADA_RECEIPT_CELLS; i++) {
        to->cells[i].places += from->cells[i].places * by;
        to->cells[i].records += from->cells[i].records * by;
    }
}

int64_t levada_receipt_count(uint64_t place, uint64_t sum)
{
    uint64_t inverse = place; /* 3 bits of it; each step doubles them */

    for (int i = 0; i < 5; i++) inverse *= 2 - place * inverse;
    return (int64_t)(sum * inverse);
}

/* -- as bytes: the counts, which cells follow, these, and a checksum */

static bool receipt_is_empty(const levada_receipt_cell *cell)
{
    return !(cell->places | cell->records);
}

/* Returns a number of which small negative ones are small, too. */
static uint64_t receipt_fold(uint64_t sum)
{
    return sum << 1 ^ (uint64_t)-(int64_t)(sum >> 63);
}

static uint64_t receipt_unfold(uint64_t folded)
{
    return folded >> 1 ^ (uint64_t)-(int64_t)(folded & 1);
}

static size_t receipt_pack(const levada_receipt *r, uint8_t bytes[RECEIPT_BYTES])
{
    uint64_t counts[3] = { r->rows, r->unknown, r->skipped }, filled = 0;
    uint8_t *p = bytes;

    for (int i = 0; i < 3; i++) p = levada_wire_put(p, receipt_fold(counts[i]));
    for (int i = 0; i < LEVADA_RECEIPT_CELLS; i++) {
        filled |= (uint64_t)!receipt_is_empty(&r->cells[i]) << i;
    }
    p = levada_wire_put_fixed(p, filled, RECEIPT_MAP);
    for (int i = 0; i < LEVADA_RECEIPT_CELLS; i++) {
        const levada_receipt_cell *cell = &r->cells[i];

        if (receipt_is_empty(cell)) continue;
        p = levada_wire_put_fixed(p, cell->places, 8);
        p = levada_wire_put_fixed(p, cell->records, 8);
    }
    p = levada_wire_put_fixed(p, levada_hash64(bytes, (size_t)(p - bytes), 0), RECEIPT_SUM);
    return (size_t)(p - bytes);
}

/* Reads a receipt, all bytes of which were checked, and returns the byte after it; NULL if there
 * are not as many. */
static const uint8_t *receipt_unpack_all(const uint8_t *p, const uint8_t *end, levada_receipt *out)
{
    uint64_t *counts[3] = { &out->rows, &out->unknown, &out->skipped }, filled = 0;

    memset(out, 0, sizeof *out);
    for (int i = 0; i < 3 && p; i++) {
        p = levada_wire_u64(p, end, counts[i]);
        *counts[i] = receipt_unfold(*counts[i]);
    }
    if (!p || end - p < RECEIPT_MAP) return NULL;
    p = levada_wire_get_fixed(p, RECEIPT_MAP, &filled);
    for (int i = 0; i < LEVADA_RECEIPT_CELLS; i++) {
        if (!(filled >> i & 1)) continue;
        if (end - p < 16) return NULL;
        p = levada_wire_get_fixed(p, 8, &out->cells[i].places);
        p = levada_wire_get_fixed(p, 8, &out->cells[i].records);
    }
    return filled >> LEVADA_RECEIPT_CELLS ? NULL : p;
}

/* Reads a receipt of bytes, after which LEVADA_KERNEL_SLACK bytes may be looked at. */
static bool receipt_unpack(const uint8_t *bytes, size_t size, levada_receipt *out)
{
    const uint8_t *end = bytes + size - RECEIPT_SUM;
    uint64_t       sum;

    if (size < RECEIPT_SUM || size > RECEIPT_BYTES) return false;
    (void)levada_wire_get_fixed(end, RECEIPT_SUM, &sum);
    if (sum != (levada_hash64(bytes, size - RECEIPT_SUM, 0) & 0xFFFFFFFFu)) return false;
    return receipt_unpack_all(bytes, end, out) == end;
}

/* -- as text: base64 with -_ in place of +/ and without = */

void levada_receipt_encode(const char *prefix, const uint8_t *bytes, size_t size,
                           levada_text *text)
{
    levada_text made = { 0 };
    size_t      n;

    levada_text_base64(&made, (const char *)bytes, size);
    for (n = 0; n < made.size && made.at[n] != '='; n++) {
        if (made.at[n] == '+') made.at[n] = '-';
        if (made.at[n] == '/') made.at[n] = '_';
    }
    text->failed |= made.failed;
    levada_text_put(text, prefix);
    levada_text_add(text, made.at, n);
    levada_text_clear(&made);
}

static int receipt_digit(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

bool levada_receipt_decode(const char *prefix, const char *text, uint8_t *bytes, size_t most,
                           size_t *size)
{
    size_t   skip = strlen(prefix), n = 0;
    uint32_t bits = 0;

    if (strncmp(text, prefix, skip) != 0) return false;
    for (size_t i = 0; text[skip + i]; i++) {
        int digit = receipt_digit(text[skip + i]);

        if (digit < 0) return false;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 == 0) continue;
        if (n == most) return false;
        bytes[n++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    *size = n;
    return true;
}

void levada_receipt_print(const levada_receipt *receipt, levada_text *text)
{
    uint8_t bytes[RECEIPT_BYTES];

    levada_receipt_encode(RECEIPT_PREFIX, bytes, receipt_pack(receipt, bytes), text);
}

levada_status levada_receipt_parse(const char *text, levada_receipt *out, levada_error *err)
{
    uint8_t bytes[RECEIPT_BYTES + LEVADA_KERNEL_SLACK] = { 0 };
    size_t  size = 0;

    if (levada_receipt_decode(RECEIPT_PREFIX, text, bytes, RECEIPT_BYTES, &size) &&
        receipt_unpack(bytes, size, out)) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "'%.24s%s' is not an epoch receipt: it must be the text that begins with "
                       RECEIPT_PREFIX ", as the statistics of an iterator have it, unchanged",
                       text, strlen(text) > 24 ? "..." : "");
}

/* -- in states */

levada_status levada_receipt_put(const levada_receipt *receipt, levada_state_writer *to,
                                 levada_error *err)
{
    uint8_t bytes[RECEIPT_BYTES];
    size_t  size = receipt_pack(receipt, bytes);

    return levada_state_put_bytes(to, RECEIPT_KEY, bytes, size, err);
}

levada_status levada_receipt_load(levada_state_reader *from, int64_t rows, levada_receipt *out,
                                  levada_error *err)
{
    uint8_t     bytes[RECEIPT_BYTES + LEVADA_KERNEL_SLACK] = { 0 };
    const void *saved = NULL;
    size_t      size = 0;

    memset(out, 0, sizeof *out);
    out->rows = out->unknown = (uint64_t)rows;
    if (!levada_state_has(from, RECEIPT_KEY)) return LEVADA_OK;
    LEVADA_TRY(levada_state_get_bytes(from, RECEIPT_KEY, &saved, &size, err));
    if (size <= RECEIPT_BYTES) memcpy(bytes, saved, size);
    if (size <= RECEIPT_BYTES && receipt_unpack(bytes, size, out)) return LEVADA_OK;
    return levada_state_damaged(from, RECEIPT_KEY, err, "not a receipt");
}
