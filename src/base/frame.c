/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord frames in plain C, and how a walk of any level ends.
 *
 * A walk adds up the mismatches of all records and looks at the sum once, at its end: a branch for
 * each record would cost as much as the CRC of a small one. Only when the sum is not zero are the
 * records checked again, one by one, to find the first bad one. A wrong length cannot lead the
 * walk astray before that: it is compared with what is left before it is used.
 */
#include "base/kernels_priv.h"

/* Compares the masked CRC at p with that of the n bytes at data; returns 0 if they agree. */
static uint32_t frame_mismatch(uint32_t (*crc32c)(uint32_t, const uint8_t *, size_t),
                               const uint8_t *data, size_t n, const uint8_t *p)
{
    return levada_crc32c_masked(crc32c(0, data, n)) ^ levada_load_u32(p);
}

/* Returns the first bad one of the walk's records, if there is one. */
static levada_frame_result frame_first_bad(const levada_frame_walk *walk, bool payloads,
                                           uint32_t (*crc32c)(uint32_t, const uint8_t *, size_t))
{
    levada_frame_result result = {.records = 0, .status = LEVADA_FRAME_OK};

    for (; result.records < walk->records; result.records++) {
        const uint8_t *payload = walk->data + walk->begin[result.records];
        size_t         length = (size_t)walk->end[result.records] -
                        (size_t)walk->begin[result.records];

        result.used = (size_t)walk->begin[result.records] - LEVADA_FRAME_HEADER;
        if (frame_mismatch(crc32c, payload - LEVADA_FRAME_HEADER, 8, payload - 4) != 0) {
            result.status = LEVADA_FRAME_BAD_LENGTH_CRC;
            return result;
        }
        if (payloads && frame_mismatch(crc32c, payload, length, payload + length) != 0) {
            result.status = LEVADA_FRAME_BAD_DATA_CRC;
            result.need = length + LEVADA_FRAME_EXTRA;
            return result;
        }
    }
    result.used = walk->used;
    return result;
}

levada_frame_result levada_frame_finish(const levada_frame_walk *walk, levada_frame_check check,
                                        uint32_t (*crc32c)(uint32_t, const uint8_t *, size_t))
{
    levada_frame_result result = {
        .records = walk->records, .status = LEVADA_FRAME_OK, .used = walk->used};
    size_t              left = walk->n - walk->used;
    const uint8_t      *next = walk->data + walk->used;
    uint64_t            length;

    if (walk->bad != 0) {
        result = frame_first_bad(walk, check == LEVADA_FRAME_CHECK_ALL, crc32c);
        if (result.status != LEVADA_FRAME_OK) return result;
    }
    if (left == 0 || walk->records >= walk->max_records) return result;
    result.status = LEVADA_FRAME_INCOMPLETE;
    result.need = LEVADA_FRAME_EXTRA;
    if (left < LEVADA_FRAME_HEADER) return result;
    if (check != LEVADA_FRAME_CHECK_NONE && frame_mismatch(crc32c, next, 8, next + 8) != 0) {
        result.status = LEVADA_FRAME_BAD_LENGTH_CRC;
        result.need = 0;
        return result;
    }
    length = levada_load_u64(next);
    result.need = length > UINT64_MAX - LEVADA_FRAME_EXTRA ? UINT64_MAX
                                                            : length + LEVADA_FRAME_EXTRA;
    return result;
}

void levada_frame_hop(levada_frame_walk *walk)
{
    size_t  at = walk->used;
    int32_t i = walk->records;

    while (i < walk->max_records && walk->n - at >= LEVADA_FRAME_EXTRA) {
        uint64_t length = levada_load_u64(walk->data + at);

        if (length > walk->n - at - LEVADA_FRAME_EXTRA) break;
        walk->begin[i] = (int32_t)(at + LEVADA_FRAME_HEADER);
        walk->end[i] = (int32_t)(at + LEVADA_FRAME_HEADER + (size_t)length);
        at += (size_t)length + LEVADA_FRAME_EXTRA;
        i++;
    }
    walk->used = at;
    walk->records = i;
}

levada_frame_result levada_frame_portable(const uint8_t *data, size_t n, levada_frame_check check,
                                          int32_t *begin, int32_t *end, int32_t max_records)
{
    levada_frame_walk walk = {
        .data = data, .n = n, .begin = begin, .end = end, .max_records = max_records};

    levada_frame_hop(&walk);
    walk.bad = check != LEVADA_FRAME_CHECK_NONE && walk.records > 0; /* not known yet: look */
    return levada_frame_finish(&walk, check, levada_crc32c_portable);
}
