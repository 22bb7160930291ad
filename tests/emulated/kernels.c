/* SPDX-License-Identifier: Apache-2.0 */
/* levada_kernels_for() with AVX-512 emulated, for the tests of the kernels. */
#include "emulated/avx512.h"

#include "base/cpu.h"

const levada_kernels *emulated_kernels_for(levada_cpu_level level);

static const levada_kernels emulated_kernels = {
    .level = LEVADA_CPU_AVX512,
    .crc32c = emulated_crc32c,
    .frame_tfrecord = emulated_frame,
    .varint_count = emulated_varint_count,
    .varint_sizes = emulated_varint_sizes,
    .varint_i64 = emulated_varint_i64,
    .varint_i32 = emulated_varint_i32,
    .varint_narrow = emulated_varint_narrow,
    .line_index = emulated_line_index,
};

/* Where even AVX2 is missing there is nothing to run it on: what the library would take. */
const levada_kernels *emulated_kernels_for(levada_cpu_level level)
{
    if (level != LEVADA_CPU_AVX512 || levada_cpu_detect() < LEVADA_CPU_AVX2)
        return levada_kernels_for(level);
    return &emulated_kernels;
}
