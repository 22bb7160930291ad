/* SPDX-License-Identifier: Apache-2.0 */
/*
 * framed - records after a header of one size that holds their length: RecordIO and its relatives.
 *
 *     | skip_bytes | magic .. length .. | payload | footer | padding | magic .. length .. | ...
 *
 * After damage nothing says where the next record begins: the rest of the file is lost.
 */
#include <levada/source.h>

#include <string.h>

enum { FRAMED_HEADER = 4096, FRAMED_MAGIC = 32 };

typedef struct framed_args {
    int64_t     header_bytes, length_offset, length_bytes, length_bits, footer_bytes, align_bytes;
    int64_t     skip_bytes;
    bool        big_endian, length_with_header;
    const char *magic;
} framed_args;

typedef struct framed_state {
    uint8_t magic[FRAMED_MAGIC];
    int64_t nmagic;
    int64_t skip; /* bytes at the start of this file */
} framed_state;

static const levada_arg framed_options[] = {
    LEVADA_ARG(SIZE, framed_args, header_bytes, .required = true, .min = 1, .max = FRAMED_HEADER,
               .doc = "bytes of the header before each payload, which contains the length"),
    LEVADA_ARG(SIZE, framed_args, length_offset, .otherwise = "0", .min = 0, .max = FRAMED_HEADER,
               .doc = "position of the length in the header"),
    LEVADA_ARG(INT, framed_args, length_bytes, .otherwise = "4", .min = 1, .max = 8,
               .doc = "number of bytes of the length"),
    LEVADA_ARG(INT, framed_args, length_bits, .otherwise = "0", .min = 0, .max = 63,
               .doc = "number of low bits that are the length; the other bits must be 0; 0 = all "
                      "bits"),
    LEVADA_ARG(BOOL, framed_args, big_endian, .otherwise = "false",
               .doc = "the length is big endian"),
    LEVADA_ARG(BOOL, framed_args, length_with_header, .otherwise = "false",
               .doc = "the length includes the header"),
    LEVADA_ARG(SIZE, framed_args, footer_bytes, .otherwise = "0", .min = 0, .max = FRAMED_HEADER,
               .doc = "bytes to skip after each payload"),
    LEVADA_ARG(SIZE, framed_args, align_bytes, .otherwise = "1", .min = 1, .max = FRAMED_HEADER,
               .doc = "header, payload and footer are padded to a multiple of this"),
    LEVADA_ARG(SIZE, framed_args, skip_bytes, .otherwise = "0", .min = 0, .max = INT64_MAX,
               .doc = "bytes to skip at the start of every file"),
    LEVADA_ARG(TEXT, framed_args, magic, .otherwise = "\"\"",
               .doc = "bytes that every header begins with, in hexadecimal: 0a23d7ce"),
    LEVADA_ARG_END,
};

static int framed_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static levada_status framed_open(void *state, const void *args, const levada_context *context,
                                 levada_error *err)
{
    const framed_args *a = args;
    framed_state      *s = state;
    size_t             n = strlen(a->magic);

    (void)context;
    if (a->length_offset + a->length_bytes > a->header_bytes) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "length_offset=%lld and length_bytes=%lld exceed header_bytes=%lld",
                           (long long)a->length_offset, (long long)a->length_bytes,
                           (long long)a->header_bytes);
    }
    s->nmagic = (int64_t)n / 2;
    if (n % 2 != 0 || s->nmagic > FRAMED_MAGIC || s->nmagic > a->header_bytes) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "magic='%s' must be pairs of hexadecimal digits, at most %d and no more "
                           "than header_bytes", a->magic, FRAMED_MAGIC);
    }
    for (size_t i = 0; i < n / 2; i++) {
        int high = framed_digit(a->magic[2 * i]), low = framed_digit(a->magic[2 * i + 1]);

        if (high < 0 || low < 0)
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "magic='%s' is not hexadecimal",
                               a->magic);
        s->magic[i] = (uint8_t)(high << 4 | low);
    }
    return LEVADA_OK;
}

static levada_status framed_seek(void *state, const void *args, int64_t offset, int64_t size,
                                 levada_error *err)
{
    (void)size, (void)err;
    ((framed_state *)state)->skip = offset == 0 ? ((const framed_args *)args)->skip_bytes : 0;
    return LEVADA_OK;
}

/* Returns the length of the payload that the header at p promises; -1 if it is not a header. */
static int64_t framed_length(const framed_state *s, const framed_args *a, const uint8_t *p)
{
    uint64_t length = 0, bits = a->length_bits > 0 ? (uint64_t)1 << a->length_bits : 0;

    if (memcmp(p, s->magic, (size_t)s->nmagic) != 0) return -1;
    for (int64_t i = 0; i < a->length_bytes; i++) {
        int64_t at = a->big_endian ? i : a->length_bytes - 1 - i;

        length = length << 8 | p[a->length_offset + at];
    }
    if (bits != 0 && length >= bits) return -1;
    if (a->length_with_header) {
        if (length < (uint64_t)a->header_bytes) return -1;
        length -= (uint64_t)a->header_bytes;
    }
    return length < (uint64_t)1 << 60 ? (int64_t)length : -1;
}

/* Returns the number of bytes of a record without padding, which the last one may lack. */
static int64_t framed_bytes(const framed_args *a, int64_t length)
{
    return a->header_bytes + length + a->footer_bytes;
}

/* Returns the number of bytes of a record with all that belongs to it. */
static int64_t framed_total(const framed_args *a, int64_t length)
{
    int64_t bytes = framed_bytes(a, length);

    return (bytes + a->align_bytes - 1) / a->align_bytes * a->align_bytes;
}

/* Reports why nothing framed is at data[0]. */
static levada_status framed_stop(const framed_args *a, int64_t length, int64_t size, bool at_end,
                                 levada_spans *out, levada_error *err)
{
    bool short_header = size < a->header_bytes;

    if (!short_header && length < 0)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "invalid record header: the magic bytes or the length do not match");
    if (!at_end) {
        out->need = short_header ? a->header_bytes : framed_bytes(a, length);
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EDATA_LOSS, "truncated record: %lld of %lld bytes",
                       (long long)size,
                       (long long)(short_header ? a->header_bytes : framed_bytes(a, length)));
}

static levada_status framed_next(void *state, const void *args, const uint8_t *data, int64_t size,
                                 bool at_end, levada_spans *out, levada_error *err)
{
    const framed_args *a = args;
    framed_state      *s = state;
    int64_t            at = 0, length = 0;
    int32_t            n = 0;

    out->n = 0;
    out->need = 0;
    if (s->skip > 0) {
        out->used = s->skip < size ? s->skip : size;
        s->skip -= out->used;
        return LEVADA_OK;
    }
    while (n < out->capacity && size - at >= a->header_bytes) {
        length = framed_length(s, a, data + at);
        if (length < 0) break;
        if (framed_bytes(a, length) > size - at) break;
        if (framed_total(a, length) > size - at && !at_end) break;
        out->begin[n] = (int32_t)(at + a->header_bytes);
        out->end[n++] = (int32_t)(at + a->header_bytes + length);
        at += framed_total(a, length);
        if (at > size) at = size;
    }
    out->n = n;
    out->used = at;
    if (n > 0 || at == size) return LEVADA_OK; /* damage returns with the next call */
    return framed_stop(a, length, size, at_end, out, err);
}

static const levada_example_file framed_files[] = {
    { "images.rec", "RC\0\3abc\0" "RC\0\0" "RC\0\5hello\0\0\0", 24 },
    { NULL, NULL, 0 },
};

const levada_format_def levada_format_framed = {
    .struct_size = sizeof(levada_format_def),
    .name = "framed",
    .doc = "reads records with a header of fixed size that contains their length (RecordIO)",
    .example = "framed:images.rec,header_bytes=4,length_offset=2,length_bytes=2,big_endian=true,"
               "align_bytes=4,magic=5243",
    .example_files = framed_files,
    .fields = LEVADA_FIELDS("record"),
    .args = framed_options,
    .args_size = sizeof(framed_args),
    .state_size = sizeof(framed_state),
    .open = framed_open,
    .seek = framed_seek,
    .next = framed_next,
};
