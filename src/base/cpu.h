/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU levels. A level is a set of instructions that the kernels of that level may use:
 *
 *   PORTABLE  plain C, any machine
 *   SSE42     SSE4.2 (crc32), PCLMULQDQ, POPCNT
 *   AVX2      SSE42 + AVX2, BMI1, BMI2, LZCNT; not on AMD Zen 1 and 2, whose `pext` is microcode
 *   AVX512    AVX2 + AVX-512 F, BW, VL, DQ, VBMI, VBMI2, BITALG + VPCLMULQDQ
 *
 * Registers that the operating system does not save count as missing.
 */
#ifndef LEVADA_BASE_CPU_H
#define LEVADA_BASE_CPU_H

#include <levada/env.h>

/* Detects the highest level that this machine has; never LEVADA_CPU_AUTO. Cheap, any thread. */
levada_cpu_level levada_cpu_detect(void);

/* Returns "auto", "portable", "sse42", "avx2", "avx512"; "?" for a value outside the enum. */
const char *levada_cpu_name(levada_cpu_level level);

#endif
