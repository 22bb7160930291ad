/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of an IDENTITY reader, byte for byte the message ReaderBaseState of TensorFlow:
 * 1 = work started, 2 = work finished, 3 = records produced, 4 = the current name. All four are
 * written, in this order, and nothing else is read.
 */
#include "train/reader_priv.h"

#include "base/assert.h"
#include "base/process.h"
#include "base/text.h"
#include "base/wire.h"

#include <string.h>

static const uint8_t reader_tags[4] = { LEVADA_WIRE_VARINT(1), LEVADA_WIRE_VARINT(2),
                                        LEVADA_WIRE_VARINT(3), LEVADA_WIRE_SIZED(4) };

static levada_status reader_no_state(const levada_reader *r, const char *what, levada_error *err)
{
    if (r->file.options.kind == LEVADA_READER_IDENTITY) return LEVADA_OK;
    return levada_fail(err, LEVADA_EUNIMPLEMENTED, "%s cannot %s a state", r->name, what);
}

static void reader_put(levada_text *text, uint8_t tag, uint64_t n)
{
    uint8_t bytes[11] = { tag }, *end = levada_wire_put(bytes + 1, n);

    levada_text_add(text, bytes, (size_t)(end - bytes));
}

levada_status levada_reader_serialize_state(levada_reader *reader, char **out, size_t *size,
                                            levada_error *err)
{
    levada_text   text = { 0 };
    const char   *name;
    size_t        length, all;
    int64_t       counts[3];
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(reader, "reader", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(size != NULL, "size", err));
    LEVADA_TRY(reader_no_state(reader, "save", err));
    LEVADA_TRY(levada_reader_enter(reader, LEVADA_FOREVER, err));
    counts[0] = counts[1] = levada_reader_num_work_units_completed(reader);
    counts[2] = levada_reader_num_records_produced(reader);
    for (int i = 0; i < 3; i++) reader_put(&text, reader_tags[i], (uint64_t)counts[i]);
    name = levada_reader_path(reader, &length);
    reader_put(&text, reader_tags[3], length);
    levada_text_add(&text, name, length);
    levada_reader_leave(reader, 0);
    all = text.size;
    st = levada_text_steal(&text, out, err);
    if (st == LEVADA_OK) *size = all;
    return st;
}

/* Returns the byte after a number of at most 63 bits; NULL if there is none. (levada_wire_u64 may
 * read past the end, and these bytes are the caller's.) */
static const uint8_t *reader_get_number(const uint8_t *at, const uint8_t *end, int64_t *out)
{
    *out = 0;
    for (int shift = 0; at && at < end && shift < 63; shift += 7) {
        uint8_t byte = *at++;

        *out |= (int64_t)(byte & 127) << shift;
        if (byte < 128) return at;
    }
    return NULL;
}

static const uint8_t *reader_get_field(const uint8_t *at, const uint8_t *end, uint8_t tag,
                                       int64_t *out)
{
    return at && at < end && *at == tag ? reader_get_number(at + 1, end, out) : NULL;
}

/* Parses a state; the result points to the name. NULL: it is not a state. */
static const uint8_t *reader_parse(const uint8_t *at, const uint8_t *end, int64_t counts[4])
{
    for (int i = 0; i < 4; i++) {
        at = reader_get_field(at, end, reader_tags[i], &counts[i]);
    }
    return at && counts[0] == counts[1] && counts[3] == end - at && counts[3] <= INT32_MAX ? at
                                                                                          : NULL;
}

levada_status levada_reader_restore_state(levada_reader *reader, const void *bytes, size_t size,
                                          levada_error *err)
{
    const levada_shape scalar = { 0, { 0 } };
    const uint8_t     *name;
    levada_tensor     *path = NULL;
    int64_t            counts[4];
    int32_t            offsets[2] = { 0 };
    levada_status      st;

    LEVADA_TRY(LEVADA_USABLE(reader, "reader", err));
    LEVADA_TRY(levada_require(bytes != NULL || size == 0, "bytes", err));
    LEVADA_TRY(levada_require_size(size, "size", err));
    LEVADA_TRY(reader_no_state(reader, "restore", err));
    name = size > 0 ? reader_parse(bytes, (const uint8_t *)bytes + size, counts) : NULL;
    if (!name) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Could not parse state for IdentityReader '%s'", reader->name);
    }
    offsets[1] = (int32_t)counts[3];
    LEVADA_TRY(levada_tensor_create_strings(reader->file.env, &scalar, offsets, name, &path, err));
    st = levada_reader_enter(reader, LEVADA_FOREVER, err);
    if (st != LEVADA_OK) {
        levada_tensor_unref(&path);
        return st;
    }
    levada_reader_forget(reader);
    reader->path = path;
    levada_reader_set_counts(reader, counts[2], counts[1]);
    levada_reader_leave(reader, 0);
    return LEVADA_OK;
}
