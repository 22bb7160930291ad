/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the CPU levels; detection is in cpu_x86.c or cpu_generic.c. */
#include "base/cpu.h"

const char *levada_cpu_name(levada_cpu_level level)
{
    switch (level) {
    case LEVADA_CPU_AUTO: return "auto";
    case LEVADA_CPU_PORTABLE: return "portable";
    case LEVADA_CPU_SSE42: return "sse42";
    case LEVADA_CPU_AVX2: return "avx2";
    case LEVADA_CPU_AVX512: return "avx512";
    }
    return "?";
}
