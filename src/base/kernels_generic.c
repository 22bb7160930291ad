/* SPDX-License-Identifier: Apache-2.0 */
/* Detection and dispatch where only the portable kernels exist (built instead of kernels_x86.c). */
#include "base/kernels_priv.h"

static const levada_kernels kernels_generic_portable = LEVADA_KERNELS_PORTABLE;

levada_cpu_level levada_cpu_detect(void) { return LEVADA_CPU_PORTABLE; }

const levada_kernels *levada_kernels_for(levada_cpu_level level)
{
    (void)level;
    return &kernels_generic_portable;
}
