/* SPDX-License-Identifier: Apache-2.0 */
/* Detection and dispatch on x86-64 (elsewhere kernels_generic.c is built instead). */
#include "base/kernels_priv.h"

static const levada_kernels kernels_x86_portable = LEVADA_KERNELS_PORTABLE;

static const levada_kernels kernels_x86_sse42 = {
    .level = LEVADA_CPU_SSE42,
    .crc32c = levada_crc32c_sse42,
    .frame_tfrecord = levada_frame_sse42,
    .varint_count = levada_varint_count_portable,
    .varint_sizes = levada_varint_sizes_portable,
    .varint_i64 = levada_varint_i64_portable,
    .varint_i32 = levada_varint_i32_portable,
    .varint_narrow = levada_varint_narrow_portable,
    .line_index = levada_line_index_portable,
    .byte_index = levada_byte_index_portable,
    .quoted_index = levada_quoted_index_portable,
    .text_strings = levada_text_strings_portable,
    .text_i64 = levada_text_i64_portable,
    .text_f64 = levada_text_f64_portable,
    .utf8_valid = levada_utf8_valid_portable,
    .pixels_reverse = levada_pixels_reverse_sse42,
    .pixels_rows_u8 = levada_pixels_rows_u8_portable,
    .pixels_rows_f32 = levada_pixels_rows_f32_portable,
    .pixels_cells = levada_pixels_cells_portable,
    .pixels_round = levada_pixels_round_portable,
};

static const levada_kernels kernels_x86_avx2 = {
    .level = LEVADA_CPU_AVX2,
    .crc32c = levada_crc32c_sse42,
    .frame_tfrecord = levada_frame_sse42,
    .varint_count = levada_varint_count_avx2,
    .varint_sizes = levada_varint_sizes_avx2,
    .varint_i64 = levada_varint_i64_avx2,
    .varint_i32 = levada_varint_i32_avx2,
    .varint_narrow = levada_varint_narrow_avx2,
    .line_index = levada_line_index_avx2,
    .byte_index = levada_byte_index_avx2,
    .quoted_index = levada_quoted_index_avx2,
    .text_strings = levada_text_strings_portable,
    .text_i64 = levada_text_i64_portable,
    .text_f64 = levada_text_f64_portable,
    .utf8_valid = levada_utf8_valid_avx2,
    .pixels_reverse = levada_pixels_reverse_sse42,
    .pixels_rows_u8 = levada_pixels_rows_u8_avx2,
    .pixels_rows_f32 = levada_pixels_rows_f32_avx2,
    .pixels_cells = levada_pixels_cells_avx2,
    .pixels_round = levada_pixels_round_avx2,
};

/* AVX2 where two carry-less products come in one instruction. */
static const levada_kernels kernels_x86_vpclmul = {
    .level = LEVADA_CPU_AVX2,
    .crc32c = levada_crc32c_sse42,
    .frame_tfrecord = levada_frame_vpclmul,
    .varint_count = levada_varint_count_avx2,
    .varint_sizes = levada_varint_sizes_avx2,
    .varint_i64 = levada_varint_i64_avx2,
    .varint_i32 = levada_varint_i32_avx2,
    .varint_narrow = levada_varint_narrow_avx2,
    .line_index = levada_line_index_avx2,
    .byte_index = levada_byte_index_avx2,
    .quoted_index = levada_quoted_index_avx2,
    .text_strings = levada_text_strings_portable,
    .text_i64 = levada_text_i64_portable,
    .text_f64 = levada_text_f64_portable,
    .utf8_valid = levada_utf8_valid_avx2,
    .pixels_reverse = levada_pixels_reverse_sse42,
    .pixels_rows_u8 = levada_pixels_rows_u8_avx2,
    .pixels_rows_f32 = levada_pixels_rows_f32_avx2,
    .pixels_cells = levada_pixels_cells_avx2,
    .pixels_round = levada_pixels_round_avx2,
};

static const levada_kernels kernels_x86_avx512 = {
    .level = LEVADA_CPU_AVX512,
    .crc32c = levada_crc32c_avx512,
    .frame_tfrecord = levada_frame_avx512,
    .varint_count = levada_varint_count_avx512,
    .varint_sizes = levada_varint_sizes_avx512,
    .varint_i64 = levada_varint_i64_avx512,
    .varint_i32 = levada_varint_i32_avx512,
    .varint_narrow = levada_varint_narrow_avx512,
    .line_index = levada_line_index_avx512,
    .byte_index = levada_byte_index_avx512,
    .quoted_index = levada_quoted_index_avx512,
    .text_strings = levada_text_strings_avx512,
    .text_i64 = levada_text_i64_avx512,
    .text_f64 = levada_text_f64_avx512,
    .utf8_valid = levada_utf8_valid_avx512,
    .pixels_reverse = levada_pixels_reverse_sse42,
    .pixels_rows_u8 = levada_pixels_rows_u8_avx2,
    .pixels_rows_f32 = levada_pixels_rows_f32_avx2,
    .pixels_cells = levada_pixels_cells_avx2,
    .pixels_round = levada_pixels_round_avx2,
};

static bool kernels_x86_has_avx512(void)
{
    return LEVADA_CPU_HAS("avx512f") && LEVADA_CPU_HAS("avx512bw") && LEVADA_CPU_HAS("avx512vl") &&
           LEVADA_CPU_HAS("avx512dq") && LEVADA_CPU_HAS("avx512vbmi") &&
           LEVADA_CPU_HAS("avx512vbmi2") && LEVADA_CPU_HAS("avx512bitalg") &&
           LEVADA_CPU_HAS("vpclmulqdq");
}

/* Detects the level with the compiler's own test, which also asks (xgetbv) whether the system saves
 * the registers. */
levada_cpu_level levada_cpu_detect(void)
{
    if (!LEVADA_CPU_HAS("sse4.2") || !LEVADA_CPU_HAS("pclmul") || !LEVADA_CPU_HAS("popcnt"))
        return LEVADA_CPU_PORTABLE;
    /* pext takes up to 290 cycles on Zen 1 and 2, and the AVX2 kernels lean on it. */
    if (!LEVADA_CPU_HAS("avx2") || !LEVADA_CPU_HAS("bmi") || !LEVADA_CPU_HAS("bmi2") ||
        LEVADA_CPU_IS("amdfam17h"))
        return LEVADA_CPU_SSE42;
    return kernels_x86_has_avx512() ? LEVADA_CPU_AVX512 : LEVADA_CPU_AVX2;
}

const levada_kernels *levada_kernels_for(levada_cpu_level level)
{
    levada_cpu_level best = levada_cpu_detect();

    if (level == LEVADA_CPU_AUTO || level > best) level = best;
    switch (level) {
    case LEVADA_CPU_SSE42: return &kernels_x86_sse42;
    case LEVADA_CPU_AVX2:
        return LEVADA_CPU_HAS("vpclmulqdq") ? &kernels_x86_vpclmul : &kernels_x86_avx2;
    case LEVADA_CPU_AVX512: return &kernels_x86_avx512;
    default: return &kernels_x86_portable;
    }
}
