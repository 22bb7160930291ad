/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delimited - messages with their length in front, as a varint: writeDelimitedTo of protobuf, and
 * many logs. The length has at most 5 bytes and is below 2 GiB.
 */
#include "base/wire.h"

#include <levada/source.h>

enum { DELIMITED_HEADER = 5 };

/* Returns the bytes of the header at p: 0 if the window ends in it, -1 if it is not one. */
static int64_t delimited_header(const uint8_t *p, int64_t left, int64_t *size)
{
    uint32_t       value = 0;
    const uint8_t *end = p + (left < DELIMITED_HEADER ? left : DELIMITED_HEADER);
    const uint8_t *behind = levada_wire_u32(p, end, &value);

    *size = value;
    if (behind && value <= INT32_MAX) return behind - p;
    if (behind || left >= DELIMITED_HEADER) return -1;
    for (; p < end; p++)
        if (*p < 0x80) return -1;
    return 0;
}

static levada_status delimited_damage(int64_t header, int64_t size, int64_t left, bool at_end,
                                      levada_error *err)
{
    if (header < 0)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "invalid length: it must have at most 5 bytes and be below 2 GiB");
    if (!at_end) return LEVADA_OK;
    if (header == 0)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "truncated record: the file ends inside its length");
    return levada_fail(err, LEVADA_EDATA_LOSS, "truncated record: %lld of %lld bytes",
                       (long long)left, (long long)(header + size));
}

static levada_status delimited_next(void *state, const void *args, const uint8_t *data,
                                    int64_t size, bool at_end, levada_spans *out,
                                    levada_error *err)
{
    int64_t at = 0, header = 0, length = 0;
    int32_t n = 0;

    (void)state, (void)args;
    out->need = 0;
    while (n < out->capacity && at < size) {
        header = delimited_header(data + at, size - at, &length);
        if (header <= 0 || header + length > size - at) break;
        out->frame[n] = (int32_t)at;
        out->begin[n] = (int32_t)(at + header);
        out->end[n++] = (int32_t)(at += header + length);
    }
    out->n = n;
    out->used = at;
    if (n > 0 || at == size) return LEVADA_OK; /* damage returns with the next call */
    if (header > 0) out->need = header + length;
    if (at_end) out->need = 0;
    return delimited_damage(header, length, size, at_end, err);
}

static const levada_example_file delimited_files[] = {
    { "messages.pb", "\3abc\0\1x\5hello", 13 },
    { NULL, NULL, 0 },
};

const levada_format_def levada_format_delimited = {
    .struct_size = sizeof(levada_format_def),
    .name = "delimited",
    .doc = "reads messages with a varint length prefix (delimited protobuf)",
    .example = "delimited:messages.pb",
    .example_files = delimited_files,
    .fields = LEVADA_FIELDS("record"),
    .frames = true,
    .next = delimited_next,
};
