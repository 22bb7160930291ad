/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the kernels share: loads, the functions of each level, the end of a frame walk.
 * Only the files of kernels include this.
 */
#ifndef LEVADA_BASE_KERNELS_PRIV_H
#define LEVADA_BASE_KERNELS_PRIV_H

#include "base/compiler.h"
#include "base/kernels.h"

/* For functions of an x86 level and their helpers. */
#define LEVADA_TARGET_SSE42 LEVADA_TARGET("sse4.2,pclmul,popcnt")
#define LEVADA_TARGET_AVX2 LEVADA_TARGET("sse4.2,pclmul,popcnt,avx2,bmi,bmi2")
#define LEVADA_TARGET_AVX512                                                                  \
    LEVADA_TARGET("sse4.2,pclmul,popcnt,avx2,bmi,bmi2,lzcnt,avx512f,avx512bw,avx512vl,"        \
                  "avx512dq,avx512vbmi,avx512vbmi2,avx512bitalg,vpclmulqdq")

/* Loads a little-endian number from any address; gcc and clang make one instruction of it. */
static LEVADA_ALWAYS_INLINE uint32_t levada_load_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static LEVADA_ALWAYS_INLINE uint64_t levada_load_u64(const uint8_t *p)
{
    return (uint64_t)levada_load_u32(p) | (uint64_t)levada_load_u32(p + 4) << 32;
}

/* 0, 1, ... 63: the places of the bytes in a register. */
extern const uint8_t levada_kernel_count[64];

/* Read at 128 - lead: `lead` zeros, then ones, which keeps the payload that begins there; and the
 * start state 0xffffffff, to be added to the first four bytes of it. 128 bytes from there on. */
extern const uint8_t levada_frame_keep[256], levada_frame_start[256];

/* CRC-32C of n zero bytes. That of n other bytes is this, plus the one that starts from zero. */
extern const uint32_t levada_frame_zeros[129];

/* Masks a CRC in inner loops. */
static LEVADA_ALWAYS_INLINE uint32_t levada_crc32c_masked(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/* Ends line i before the LF at `stop`, and begins the next one after it. */
static LEVADA_ALWAYS_INLINE void levada_line_put(const uint8_t *p, int32_t stop, int32_t *begin,
                                                 int32_t *end, int64_t i)
{
    end[i] = stop - (stop > begin[i] && p[stop - 1] == '\r');
    begin[i + 1] = stop + 1;
}

/* -- frames: each level has its own walk; frame.c says how it ended */

#define LEVADA_FRAME_HEADER 12u /* length and its CRC                     */
#define LEVADA_FRAME_EXTRA 16u  /* bytes of a record that are not payload */

/* A walk that stopped at `used`: because of max_records, or at the record that is there. */
typedef struct levada_frame_walk {
    const uint8_t *data;
    size_t         n;
    int32_t       *begin, *end;
    int32_t        max_records;
    int32_t        records;
    size_t         used;
    uint32_t       bad; /* not 0: at least one of the records has a wrong CRC */
} levada_frame_walk;

levada_frame_result levada_frame_finish(const levada_frame_walk *walk, levada_frame_check check,
                                        uint32_t (*crc32c)(uint32_t, const uint8_t *, size_t));

/* Walks without checking anything. */
void levada_frame_hop(levada_frame_walk *walk);

/* -- the functions of each level; a level without one of its own takes that of the level below */

uint32_t levada_crc32c_portable(uint32_t crc, const uint8_t *data, size_t n);
uint32_t levada_crc32c_sse42(uint32_t crc, const uint8_t *data, size_t n);
uint32_t levada_crc32c_avx512(uint32_t crc, const uint8_t *data, size_t n);

levada_frame_result levada_frame_portable(const uint8_t *data, size_t n, levada_frame_check check,
                                          int32_t *begin, int32_t *end, int32_t max_records);
levada_frame_result levada_frame_sse42(const uint8_t *data, size_t n, levada_frame_check check,
                                       int32_t *begin, int32_t *end, int32_t max_records);
levada_frame_result levada_frame_vpclmul(const uint8_t *data, size_t n, levada_frame_check check,
                                         int32_t *begin, int32_t *end, int32_t max_records);
levada_frame_result levada_frame_avx512(const uint8_t *data, size_t n, levada_frame_check check,
                                        int32_t *begin, int32_t *end, int32_t max_records);

int64_t levada_varint_count_portable(const uint8_t *p, size_t n);
int64_t levada_varint_count_avx2(const uint8_t *p, size_t n);
int64_t levada_varint_count_avx512(const uint8_t *p, size_t n);
int64_t levada_varint_sizes_portable(const uint8_t *p, size_t n, uint32_t *sizes);
int64_t levada_varint_sizes_avx2(const uint8_t *p, size_t n, uint32_t *sizes);
int64_t levada_varint_sizes_avx512(const uint8_t *p, size_t n, uint32_t *sizes);
int64_t levada_varint_i64_portable(const uint8_t *p, size_t n, int64_t *out);
int64_t levada_varint_i64_avx2(const uint8_t *p, size_t n, int64_t *out);
int64_t levada_varint_i64_avx512(const uint8_t *p, size_t n, int64_t *out);
int64_t levada_varint_i32_portable(const uint8_t *p, size_t n, int32_t *out);
int64_t levada_varint_narrow_portable(const uint8_t *p, size_t n, levada_varint_range range,
                                      void *out);
int64_t levada_varint_i32_avx2(const uint8_t *p, size_t n, int32_t *out);
int64_t levada_varint_narrow_avx2(const uint8_t *p, size_t n, levada_varint_range range,
                                  void *out);
int64_t levada_varint_i32_avx512(const uint8_t *p, size_t n, int32_t *out);
int64_t levada_varint_narrow_avx512(const uint8_t *p, size_t n, levada_varint_range range,
                                    void *out);

int64_t levada_line_index_portable(const uint8_t *p, size_t n, int32_t *begin, int32_t *end,
                                   int64_t max);
int64_t levada_line_index_avx2(const uint8_t *p, size_t n, int32_t *begin, int32_t *end,
                               int64_t max);
int64_t levada_line_index_avx512(const uint8_t *p, size_t n, int32_t *begin, int32_t *end,
                                 int64_t max);

int64_t levada_byte_index_portable(const uint8_t *p, size_t n, const uint8_t set[4], int32_t *pos,
                                   int64_t max, size_t *scanned);
int64_t levada_byte_index_avx2(const uint8_t *p, size_t n, const uint8_t set[4], int32_t *pos,
                               int64_t max, size_t *scanned);

int64_t levada_byte_index_avx512(const uint8_t *p, size_t n, const uint8_t set[4], int32_t *pos,
                                 int64_t max, size_t *scanned);

int64_t levada_quoted_index_portable(const uint8_t *p, size_t n, levada_quoted *how, int32_t *pos,
                                     int64_t max, size_t *scanned);
int64_t levada_quoted_index_avx2(const uint8_t *p, size_t n, levada_quoted *how, int32_t *pos,
                                 int64_t max, size_t *scanned);
int64_t levada_quoted_index_avx512(const uint8_t *p, size_t n, levada_quoted *how, int32_t *pos,
                                   int64_t max, size_t *scanned);

int64_t levada_text_strings_portable(const levada_text_fields *fields, int64_t n, uint8_t *out,
                                     int32_t *begin, int32_t *end);
int64_t levada_text_strings_avx512(const levada_text_fields *fields, int64_t n, uint8_t *out,
                                   int32_t *begin, int32_t *end);

int32_t levada_text_i64_portable(const levada_text_fields *fields, int64_t n, int64_t *out,
                                 int32_t *odd);
int32_t levada_text_i64_avx512(const levada_text_fields *fields, int64_t n, int64_t *out,
                               int32_t *odd);
int32_t levada_text_f64_portable(const levada_text_fields *fields, int64_t n, double *out,
                                 int32_t *odd);
int32_t levada_text_f64_avx512(const levada_text_fields *fields, int64_t n, double *out,
                               int32_t *odd);

bool levada_utf8_valid_portable(const uint8_t *p, size_t n);
bool levada_utf8_valid_avx2(const uint8_t *p, size_t n);
bool levada_utf8_valid_avx512(const uint8_t *p, size_t n);

void levada_pixels_reverse_portable(const uint8_t *from, int64_t n, int64_t size, uint8_t *to);
void levada_pixels_reverse_sse42(const uint8_t *from, int64_t n, int64_t size, uint8_t *to);
void levada_pixels_rows_u8_portable(const void *const *rows, const float *weights, int64_t nrows,
                                    int64_t n, float *sum);
void levada_pixels_rows_u8_avx2(const void *const *rows, const float *weights, int64_t nrows,
                                int64_t n, float *sum);
void levada_pixels_rows_f32_portable(const void *const *rows, const float *weights, int64_t nrows,
                                     int64_t n, float *sum);
void levada_pixels_rows_f32_avx2(const void *const *rows, const float *weights, int64_t nrows,
                                 int64_t n, float *sum);
void levada_pixels_cells_portable(const levada_pixel_taps *t, const float *from, int64_t from_gap,
                                  float *to, int64_t to_gap);
void levada_pixels_cells_avx2(const levada_pixel_taps *t, const float *from, int64_t from_gap,
                              float *to, int64_t to_gap);
void levada_pixels_round_portable(const float *from, int64_t n, uint8_t *to);
void levada_pixels_round_avx2(const float *from, int64_t n, uint8_t *to);

#define LEVADA_KERNELS_PORTABLE                          \
    {                                                    \
        .level = LEVADA_CPU_PORTABLE,                    \
        .crc32c = levada_crc32c_portable,                \
        .frame_tfrecord = levada_frame_portable,         \
        .varint_count = levada_varint_count_portable,    \
        .varint_sizes = levada_varint_sizes_portable,    \
        .varint_i64 = levada_varint_i64_portable,        \
        .varint_i32 = levada_varint_i32_portable,        \
        .varint_narrow = levada_varint_narrow_portable,  \
        .line_index = levada_line_index_portable,        \
        .byte_index = levada_byte_index_portable,        \
        .quoted_index = levada_quoted_index_portable,    \
        .text_strings = levada_text_strings_portable,    \
        .text_i64 = levada_text_i64_portable,            \
        .text_f64 = levada_text_f64_portable,            \
        .utf8_valid = levada_utf8_valid_portable,        \
        .pixels_reverse = levada_pixels_reverse_portable,    \
        .pixels_rows_u8 = levada_pixels_rows_u8_portable,    \
        .pixels_rows_f32 = levada_pixels_rows_f32_portable,  \
        .pixels_cells = levada_pixels_cells_portable,        \
        .pixels_round = levada_pixels_round_portable,        \
    }

#endif
