/* SPDX-License-Identifier: Apache-2.0 */
#include "saved.h"

#include <string.h>

enum { SAVED_MAGIC = 8, SAVED_VERSION = 1 };
enum { SAVED_ROWS = 20 }; /* bytes before a state that records follow */

uint64_t levada_cli_le(const uint8_t *at, int size)
{
    uint64_t value = 0;

    for (int i = 0; i < size; i++) value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static void saved_put_le(uint8_t *to, uint64_t value, int size)
{
    for (int i = 0; i < size; i++) to[i] = (uint8_t)(value >> (8 * i));
}

/* The polynomials, low bit first: zlib's, which Python has at hand, and that of states. */
#define SAVED_COLUMNS "LVDCOLS1" /* docs/file-formats.md */
#define SAVED_CRC32 UINT32_C(0xEDB88320)
#define SAVED_CRC32C UINT32_C(0x82F63B78)

/* `crc` continues from what was summed before. */
static uint32_t saved_sum(uint32_t polynomial, uint32_t crc, const uint8_t *at, size_t size)
{
    uint32_t table[256];

    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? polynomial : 0);
    }
    crc = ~crc;
    for (size_t i = 0; i < size; i++) crc = crc >> 8 ^ table[(crc ^ at[i]) & 0xFF];
    return ~crc;
}

uint32_t levada_cli_crc32(uint32_t crc, const uint8_t *at, size_t size)
{
    return saved_sum(SAVED_CRC32, crc, at, size);
}

/* A state ends with the checksum of all before it. */
static bool saved_state_is_whole(const levada_cli_position *position)
{
    size_t size = position->size - 4;

    return position->size >= SAVED_MAGIC + 4
           && saved_sum(SAVED_CRC32C, 0, position->state, size)
                  == levada_cli_le(position->state + size, 4);
}

static bool saved_begins(const uint8_t *at, size_t size, const char *magic)
{
    return size >= SAVED_MAGIC && memcmp(at, magic, SAVED_MAGIC) == 0;
}

levada_status levada_cli_parts_open(levada_cli_parts *parts, const levada_cli_buffer *file,
                                    levada_error *err)
{
    const uint8_t *at = (const uint8_t *)file->at;
    uint64_t       version;

    *parts = (levada_cli_parts){ .next = at, .end = at + file->size };
    if (!saved_begins(at, file->size, "LVDACKPT")) return LEVADA_OK;
    parts->named = true;
    if (file->size < 16)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "the checkpoint is corrupt: it is truncated; use an earlier one");
    version = levada_cli_le(at + 8, 4);
    if (version != SAVED_VERSION)
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the checkpoint has version %u; this levada reads version %d",
                           (unsigned)version, SAVED_VERSION);
    parts->next = at + 16;
    if (levada_cli_crc32(0, at + 16, file->size - 16) != levada_cli_le(at + 12, 4))
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "the checkpoint is corrupt: wrong checksum; use an earlier one");
    return LEVADA_OK;
}

levada_status levada_cli_parts_next(levada_cli_parts *parts, levada_cli_part *out,
                                    levada_error *err)
{
    const uint8_t *at = parts->next;
    size_t         left = (size_t)(parts->end - at);
    uint64_t       name, size;

    if (!at || (parts->named && left == 0)) return LEVADA_END;
    if (!parts->named) {
        *out = (levada_cli_part){ .name = "", .at = at, .size = left };
        parts->next = NULL;
        return LEVADA_OK;
    }
    name = left < 12 ? 0 : levada_cli_le(at, 4);
    size = left < 12 ? 0 : levada_cli_le(at + 4, 8);
    if (left < 12 || name > left - 12 || size > left - 12 - name)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "the checkpoint is corrupt: it is truncated; use an earlier one");
    *out = (levada_cli_part){ (const char *)at + 12, (size_t)name, at + 12 + name, (size_t)size };
    parts->next = at + 12 + name + size;
    return LEVADA_OK;
}

bool levada_cli_part_is_position(const levada_cli_part *part)
{
    return saved_begins(part->at, part->size, "LVDASTAT")
           || saved_begins(part->at, part->size, "LVDROWS1")
           || saved_begins(part->at, part->size, SAVED_COLUMNS);
}

/* Steps over the columns that functions of Python chose. */
static levada_status saved_pass_columns(levada_cli_position *at, levada_error *err)
{
    uint64_t size;

    if (!saved_begins(at->state, at->size, SAVED_COLUMNS)) return LEVADA_OK;
    size = at->size < 16 ? UINT64_MAX : levada_cli_le(at->state + 12, 4);
    if (size == UINT64_MAX || size > at->size - 16
        || levada_cli_crc32(0, at->state + 12, at->size - 12) != levada_cli_le(at->state + 8, 4))
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "the checkpoint is corrupt: wrong checksum; use an earlier one");
    at->state += 16 + size;
    at->size -= 16 + (size_t)size;
    return LEVADA_OK;
}

levada_status levada_cli_part_position(const levada_cli_part *part, levada_cli_position *out,
                                       levada_error *err)
{
    uint32_t crc = 0;

    *out = (levada_cli_position){ .state = part->at, .size = part->size };
    LEVADA_TRY(saved_pass_columns(out, err));
    if (saved_begins(out->state, out->size, "LVDROWS1")) {
        if (out->size >= SAVED_ROWS) crc = levada_cli_crc32(0, out->state + 12, out->size - 12);
        if (out->size < SAVED_ROWS || crc != levada_cli_le(out->state + 8, 4))
            return levada_fail(err, LEVADA_EDATA_LOSS,
                               "the checkpoint is corrupt: wrong checksum; use an earlier one");
        out->drop = levada_cli_le(out->state + 12, 8);
        out->state += SAVED_ROWS;
        out->size -= SAVED_ROWS;
    }
    if (!saved_begins(out->state, out->size, "LVDASTAT"))
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "not a checkpoint of levada: it does not begin with LVDASTAT");
    if (!saved_state_is_whole(out))
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "the checkpoint is corrupt: wrong checksum; use an earlier one");
    return LEVADA_OK;
}

/* "data, other", of the parts that are positions, or of all. */
static levada_status saved_names(const levada_cli_buffer *file, bool positions,
                                 levada_cli_buffer *out, levada_error *err)
{
    levada_cli_parts parts;
    levada_cli_part  part;
    levada_status    status = levada_cli_parts_open(&parts, file, err);

    while (status == LEVADA_OK
           && (status = levada_cli_parts_next(&parts, &part, err)) == LEVADA_OK) {
        if (positions && !levada_cli_part_is_position(&part)) continue;
        if (out->size > 0) levada_cli_puts(out, ", ");
        levada_cli_add(out, part.name, part.name_size);
    }
    levada_cli_puts(out, "");
    return status == LEVADA_END ? LEVADA_OK : status;
}

/* Why none, or not one alone, was found. */
static levada_status saved_refuse(const levada_cli_buffer *file, const char *name, int found,
                                  levada_error *err)
{
    levada_cli_buffer names = { 0 };
    levada_status     status = saved_names(file, found > 0, &names, err);

    if (status == LEVADA_OK && found > 0)
        status = levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                             "it has %d checkpoints; select one with --part: %s", found,
                             names.at);
    else if (status == LEVADA_OK && name)
        status = levada_fail(err, LEVADA_EFAILED_PRECONDITION, "unknown part '%s'; available: %s",
                             name, names.size > 0 ? names.at : "none");
    else if (status == LEVADA_OK)
        status = levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                             "none of its parts is a checkpoint: %s", names.at);
    levada_cli_buffer_clear(&names);
    return status;
}

levada_status levada_cli_saved_part(const levada_cli_buffer *file, const char *name,
                                    levada_cli_part *out, levada_error *err)
{
    levada_cli_parts parts;
    levada_cli_part  part;
    int              n = 0;
    levada_status    status;

    LEVADA_TRY(levada_cli_parts_open(&parts, file, err));
    if (!parts.named && !name) return levada_cli_parts_next(&parts, out, err);
    while ((status = levada_cli_parts_next(&parts, &part, err)) == LEVADA_OK) {
        if (name ? !parts.named || part.name_size != strlen(name)
                       || memcmp(part.name, name, part.name_size) != 0
                 : !levada_cli_part_is_position(&part))
            continue;
        *out = part;
        n++;
    }
    if (status != LEVADA_END) return status;
    return n == 1 ? LEVADA_OK : saved_refuse(file, name, n, err);
}

void levada_cli_saved_put(levada_cli_buffer *out, const levada_cli_position *position)
{
    uint8_t  head[SAVED_ROWS] = "LVDROWS1";
    uint32_t crc;

    if (position->drop > 0) {
        saved_put_le(head + 12, position->drop, 8);
        crc = levada_cli_crc32(0, head + 12, 8);
        saved_put_le(head + 8, levada_cli_crc32(crc, position->state, position->size), 4);
        levada_cli_add(out, head, sizeof head);
    }
    levada_cli_add(out, position->state, position->size);
}
