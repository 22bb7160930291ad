/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints (tools/saved.h): whatever is in them, their parts lie inside the file, and a position
 * is one that was written or an error.
 *
 * The first byte says which part is asked for. Then follow edits (edit.h) of the parts, whose names
 * are the keys of entries, each after a byte: 128 = of a position among them. The checksums are
 * made good, also those of the positions. With 128 added to the first byte the rest is the file.
 */
#include "edit.h"
#include "saved.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void checkpoint_put_le(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
}

/* That of zlib, which the build may lack. */
static uint32_t checkpoint_crc32(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint32_t       crc = UINT32_MAX;

    for (; size > 0; size--) {
        crc ^= *at++;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xEDB88320) : 0);
    }
    return ~crc;
}

/* -- reading */

static void checkpoint_within(const levada_cli_buffer *file, const void *at, size_t size)
{
    const char *from = at;

    edit_must(from >= file->at && size <= file->size &&
                  (size_t)(from - file->at) <= file->size - size,
              "bytes outside the file");
}

/* A position that is accepted has a state that decodes or an error of its own, and is written as it
 * was read. */
static void checkpoint_try_part(const levada_cli_buffer *file, const levada_cli_part *part)
{
    levada_cli_position position;
    levada_error        err = LEVADA_ERROR_INIT;
    levada_cli_buffer   again = { 0 };
    levada_state_reader r;

    checkpoint_within(file, part->at, part->size);
    if (part->name_size > 0) checkpoint_within(file, part->name, part->name_size);
    if (levada_cli_part_position(part, &position, &err) != LEVADA_OK) {
        edit_must(err.code == LEVADA_EDATA_LOSS && err.message[0] != '\0', "no reason");
        return;
    }
    checkpoint_within(file, position.state, position.size);
    levada_cli_saved_put(&again, &position);
    edit_must(position.drop == 0 || (again.size == part->size &&
                                     memcmp(again.at, part->at, again.size) == 0),
              "another position");
    levada_cli_buffer_clear(&again);
    if (levada_state_decode(position.state, position.size, NULL, &r, NULL) == LEVADA_OK)
        levada_state_reader_clear(&r);
}

static void checkpoint_try(const levada_cli_buffer *file, uint8_t which)
{
    static const char *const names[] = { NULL, "data", "other", "none" };
    levada_cli_parts         parts;
    levada_cli_part          part;
    levada_error             err = LEVADA_ERROR_INIT;
    levada_status            st = levada_cli_parts_open(&parts, file, &err);

    while (st == LEVADA_OK && (st = levada_cli_parts_next(&parts, &part, &err)) == LEVADA_OK)
        checkpoint_try_part(file, &part);
    edit_must(st == LEVADA_END || err.message[0] != '\0', "no reason");
    err = (levada_error)LEVADA_ERROR_INIT;
    st = levada_cli_saved_part(file, names[which % 4], &part, &err);
    if (st == LEVADA_OK) checkpoint_try_part(file, &part);
    edit_must(st == LEVADA_OK || err.message[0] != '\0', "no reason");
}

/* -- writing */

/* A small state, and records that follow it where `drop` is not 0. */
static void checkpoint_add_position(levada_state_reader *to, const char *name, uint64_t drop)
{
    static const levada_state_head head;
    levada_state_writer            w = { .scope = { .path = "0.range" } };
    levada_cli_buffer              bytes = { 0 };
    char                          *state = NULL;
    size_t                         size = 0;

    edit_must(levada_state_put_i64(&w, "next", 7, NULL) == LEVADA_OK &&
                  levada_state_encode(&w, &head, NULL, &state, &size, NULL) == LEVADA_OK,
              "out of memory");
    levada_cli_saved_put(&bytes,
                         &(levada_cli_position){ (const uint8_t *)state, size, drop });
    edit_add(to, name, LEVADA_ENTRY_BYTES, bytes.at, bytes.size);
    levada_cli_buffer_clear(&bytes);
    levada_string_free(&state);
    levada_state_writer_clear(&w);
}

/* Edits the state in a position; the records before it stay, with a good checksum. */
static void checkpoint_edit_state(levada_entry *e, const uint8_t *edit)
{
    size_t   rows = e->size > 20 && memcmp(e->data, "LVDROWS1", 8) == 0 ? 20 : 0;
    char    *made = NULL;
    size_t   size = 0;
    uint8_t *all;

    if (!edit_state(e->data + rows, e->size - rows, edit, EDIT_SIZE, &made, &size)) return;
    all = levada_alloc(rows + size);
    edit_must(all != NULL, "out of memory");
    memcpy(all, e->data, rows);
    memcpy(all + rows, made, size);
    if (rows) checkpoint_put_le(all + 8, checkpoint_crc32(all + 12, rows + size - 12), 4);
    levada_string_free(&made);
    levada_free(e->data);
    e->data = all;
    e->size = rows + size;
}

static void checkpoint_build(levada_cli_buffer *file, const levada_state_reader *parts)
{
    uint8_t head[16] = "LVDACKPT";

    checkpoint_put_le(head + 8, 1, 4);
    levada_cli_add(file, head, sizeof head);
    for (int32_t i = 0; i < parts->n; i++) {
        const levada_entry *e = &parts->entries[i];
        uint8_t             sizes[12];

        checkpoint_put_le(sizes, strlen(e->key), 4);
        checkpoint_put_le(sizes + 4, e->size, 8);
        levada_cli_add(file, sizes, sizeof sizes);
        levada_cli_add(file, e->key, strlen(e->key));
        levada_cli_add(file, e->data, e->size);
    }
}

/* Its sizes may lie, too. */
static void checkpoint_seal(levada_cli_buffer *file)
{
    if (file->size < 16) return;
    checkpoint_put_le((uint8_t *)file->at + 12, checkpoint_crc32(file->at + 16, file->size - 16),
                      4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    levada_state_reader parts = { 0 };
    levada_cli_buffer   file = { 0 };

    if (size < 1) return 0;
    checkpoint_add_position(&parts, "data", 0);
    checkpoint_add_position(&parts, "other", 3);
    edit_add(&parts, "weights", LEVADA_ENTRY_BYTES, "bytes", 5);
    for (size_t i = 1; !(data[0] & 0x80) && size - i > EDIT_SIZE && parts.n > 0;
         i += EDIT_SIZE + 1) {
        if (!(data[i] & 0x80)) edit_all(&parts, data + i + 1, EDIT_SIZE);
        else checkpoint_edit_state(&parts.entries[data[i] % parts.n], data + i + 1);
    }
    if (data[0] & 0x80) levada_cli_add(&file, data + 1, size - 1);
    else checkpoint_build(&file, &parts);
    if (data[0] & 0x40 && size > 4 && file.size > 16) /* a byte of the sizes, or of anything */
        file.at[16 + (data[1] + 256U * data[2]) % (file.size - 16)] = (char)data[3];
    checkpoint_seal(&file);
    if (file.size > 0) checkpoint_try(&file, data[0]);
    levada_cli_buffer_clear(&file);
    levada_state_reader_clear(&parts);
    return 0;
}
