/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels on bytes, one constant table of functions for each CPU level.
 *
 * All kernels are pure: no state, no allocation, no errors but those in their results, any thread.
 * All levels return the same results bit for bit; tests/unit compares them.
 *
 * Slack. Kernels run over borders rather than test for them. Where a comment says "slack", the
 * caller guarantees LEVADA_KERNEL_SLACK readable bytes before and after the input (their content
 * never changes a result), and that many writable bytes after the output.
 */
#ifndef LEVADA_BASE_KERNELS_H
#define LEVADA_BASE_KERNELS_H

#include "base/cpu.h"

#define LEVADA_KERNEL_SLACK 64

/* What frame_tfrecord checks. `true` means all, `false` nothing. */
typedef enum levada_frame_check {
    LEVADA_FRAME_CHECK_NONE, /* trusts the lengths                                        */
    LEVADA_FRAME_CHECK_ALL,
    LEVADA_FRAME_CHECK_LENGTH /* the CRC of the length only: to skip and to index records */
} levada_frame_check;

typedef enum levada_frame_status {
    LEVADA_FRAME_OK,             /* all bytes used, or max_records reached                  */
    LEVADA_FRAME_INCOMPLETE,     /* the next record continues after data + n                */
    LEVADA_FRAME_BAD_LENGTH_CRC, /* the next record is damaged in its length or its CRC     */
    LEVADA_FRAME_BAD_DATA_CRC    /* the next record is whole; its payload or CRC is damaged */
} levada_frame_status;

typedef struct levada_frame_result {
    int32_t             records; /* good records found                                      */
    levada_frame_status status;  /* why the walk ended                                      */
    size_t              used;    /* bytes of the good records = offset of the next one      */
    /* Size in bytes of the record at `used`: of the whole record with INCOMPLETE (saturates at
     * UINT64_MAX; when not even its length is there: 16, the smallest record) and BAD_DATA_CRC,
     * else 0. Without a check of the length this is what the damage says: compare before use. */
    uint64_t need;
} levada_frame_result;

/* What varint_sizes finds. */
typedef enum levada_varint_size {
    LEVADA_VARINT_OVER_4 = 1, /* some have more than 4 bytes: they may not fit in 28 bits       */
    LEVADA_VARINT_OVER_10 = 2 /* some have more than 10 bytes: they are not varints             */
} levada_varint_size;

/* Where varint_narrow writes values to, and which ones fit there: 0 <= value + bias < 2^bits. */
typedef struct levada_varint_range {
    int32_t  size; /* bytes of an element: 1 or 2 */
    uint32_t bits; /* at most 8 * size            */
    uint32_t bias;
} levada_varint_range;

/* Fields of a text that marks separate: field i is text[mark[i * stride - 1] + 1,
 * mark[i * stride]). mark[-1] exists. */
typedef struct levada_text_fields {
    const uint8_t *text;
    const int32_t *mark;
    int64_t        stride;
} levada_text_fields;

/* How quoted_index reads a text of rows, and what else it finds there. */
typedef struct levada_quoted {
    uint8_t  delim;  /* between fields                                                        */
    bool     quotes; /* false: a double quote is a character like others                      */
    bool     rows;   /* newlines only                                                         */
    int32_t *pairs;  /* NULL, or space as in pos: the numbers of the fields that have "" in
                      * quotes, ascending. Field i ends at pos[i].                            */
    int64_t  npairs;
    bool     open;   /* the text ends inside of quotes                                        */
} levada_quoted;

/* The pixels of a row that make one pixel of another: `n` from `first` on, with the weights from
 * number `weight` on. */
typedef struct levada_pixel_tap {
    int32_t first, n;
    int64_t weight;
} levada_pixel_tap;

/* How pixels of `channels` floats make a row of n others. */
typedef struct levada_pixel_taps {
    const levada_pixel_tap *taps;
    const float            *weights;
    int64_t                 n, channels;
} levada_pixel_taps;

typedef struct levada_kernels {
    levada_cpu_level level; /* the level that these kernels need */

    /* CRC-32C of n bytes that follow bytes with CRC `crc` (0 when there are none). No slack. */
    uint32_t (*crc32c)(uint32_t crc, const uint8_t *data, size_t n);

    /* Walks TFRecord frames (u64 length, masked CRC of it, payload, masked CRC of it, all little
     * endian) that are complete in data[0, n), n <= INT32_MAX. Writes begin[i] and end[i] of the
     * payloads, relative to data; both have space for max_records entries (entries from
     * result.records on are undefined). Slack around data. */
    levada_frame_result (*frame_tfrecord)(const uint8_t *data, size_t n, levada_frame_check check,
                                          int32_t *begin, int32_t *end, int32_t max_records);

    /* The number of varints that end in p[0, n): bytes whose top bit is clear. No slack. */
    int64_t (*varint_count)(const uint8_t *p, size_t n);

    /* The same, and whether any of them is long: sets bits of levada_varint_size in *sizes. A
     * varint without an end at p + n is as long as its bytes. Slack after p + n. */
    int64_t (*varint_sizes)(const uint8_t *p, size_t n, uint32_t *sizes);

    /* Decodes all of the packed varints in p[0, n) to out, which has space for varint_count()
     * values. Returns their number, or -1: one is longer than 10 bytes, or the last has no end.
     * Bits beyond the 64th are dropped, as protobuf does. Slack after p + n and after out. */
    int64_t (*varint_i64)(const uint8_t *p, size_t n, int64_t *out);

    /* The same to int32. -2: a value does not fit in int32 (-1 wins when both are true). */
    int64_t (*varint_i32)(const uint8_t *p, size_t n, int32_t *out);

    /* The same to elements of one or two bytes. -2: a value is not in the range. */
    int64_t (*varint_narrow)(const uint8_t *p, size_t n, levada_varint_range range, void *out);

    /* Lines in p[0, n), n <= INT32_MAX, at most `max` of them: p[begin[i], end[i]) without LF and
     * one CR before it. Returns their number: begin[number] is one past the last LF. begin and end
     * need max + LEVADA_KERNEL_SLACK entries; p needs no slack. */
    int64_t (*line_index)(const uint8_t *p, size_t n, int32_t *begin, int32_t *end, int64_t max);

    /* Positions of bytes that are any of set[0, 4), which may be equal, in p[0, n), n <= INT32_MAX,
     * at most `max` of them, relative to p. Returns their number. *scanned = n, or one past the
     * last position when `max` was reached before the end. pos needs max + LEVADA_KERNEL_SLACK
     * entries. Slack after p + n. */
    int64_t (*byte_index)(const uint8_t *p, size_t n, const uint8_t set[4], int32_t *pos,
                          int64_t max, size_t *scanned);

    /* Positions of delimiters, LF and CR outside of double quotes, as byte_index returns those of
     * bytes. p[0] begins a row. A quote opens a field only at its beginning, and closes it only
     * before a delimiter, a newline or the end; "" in it is one quote. -1: there is another quote
     * in p[0, *scanned), and *scanned, pos and pairs have no meaning. */
    int64_t (*quoted_index)(const uint8_t *p, size_t n, levada_quoted *how, int32_t *pos,
                            int64_t max, size_t *scanned);

    /* Copies n fields, one after the other, to out[begin[i], end[i]): without the quotes around
     * them, and with one quote for each "" in them, as quoted_index has found them. Returns the
     * number of bytes. Slack after the text and after out, which has space for the fields as they
     * are. */
    int64_t (*text_strings)(const levada_text_fields *fields, int64_t n, uint8_t *out,
                            int32_t *begin, int32_t *end);

    /* Reads n fields as integers, or as the doubles nearest to them: the common numbers of
     * base/number_quick.h. The places of all others go to odd[0, result), ascending; what out has
     * there is undefined. Slack before the text; odd has space for n entries. */
    int32_t (*text_i64)(const levada_text_fields *fields, int64_t n, int64_t *out, int32_t *odd);
    int32_t (*text_f64)(const levada_text_fields *fields, int64_t n, double *out, int32_t *odd);

    /* Returns true if p[0, n) is UTF-8. */
    bool (*utf8_valid)(const uint8_t *p, size_t n);

    /* Copies n pixels of `size` bytes in the opposite order. `to` does not overlap `from`. */
    void (*pixels_reverse)(const uint8_t *from, int64_t n, int64_t size, uint8_t *to);

    /* Sums n numbers of `nrows` rows, each multiplied by the weight of its row. The rows are of
     * uint8, or of float. No slack. */
    void (*pixels_rows_u8)(const void *const *rows, const float *weights, int64_t nrows, int64_t n,
                           float *sum);
    void (*pixels_rows_f32)(const void *const *rows, const float *weights, int64_t nrows,
                            int64_t n, float *sum);

    /* Makes a row of pixels of each of two rows, which begin `from_gap` and `to_gap` floats apart;
     * with to_gap = 0, of one. Slack after `from`. */
    void (*pixels_cells)(const levada_pixel_taps *t, const float *from, int64_t from_gap,
                         float *to, int64_t to_gap);

    /* Rounds n floats, 0 <= x < 255.5, to bytes. No slack. */
    void (*pixels_round)(const float *from, int64_t n, uint8_t *to);
} levada_kernels;

/* Returns the kernels of `level`, or of the best level below it that this machine has. AUTO = the
 * best. Constant, valid forever. */
const levada_kernels *levada_kernels_for(levada_cpu_level level);

/* Masks a CRC as TFRecord stores it, because a CRC of data that holds CRCs is weak;
 * levada_crc32c_unmask reverses it. */
uint32_t levada_crc32c_mask(uint32_t crc);
uint32_t levada_crc32c_unmask(uint32_t masked);

#endif
