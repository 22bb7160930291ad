/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/kernels.h"

static void detects_a_level(void **state)
{
    (void)state;
    assert_true(levada_cpu_detect() >= LEVADA_CPU_PORTABLE);
    assert_true(levada_cpu_detect() <= LEVADA_CPU_AVX512);
}

static void gives_no_level_above_the_one_asked_for_or_found(void **state)
{
    (void)state;
    for (int i = LEVADA_CPU_PORTABLE; i <= LEVADA_CPU_AVX512; i++) {
        levada_cpu_level      level = (levada_cpu_level)i, best = levada_cpu_detect();
        const levada_kernels *kernels = levada_kernels_for(level);

        assert_int_equal(kernels->level, level < best ? level : best);
    }
}

static void auto_is_the_best_level(void **state)
{
    (void)state;
    assert_int_equal(levada_kernels_for(LEVADA_CPU_AUTO)->level, levada_cpu_detect());
}

static void every_level_has_every_kernel(void **state)
{
    (void)state;
    for (int i = LEVADA_CPU_AUTO; i <= LEVADA_CPU_AVX512; i++) {
        const levada_kernels *kernels = levada_kernels_for((levada_cpu_level)i);

        assert_true(kernels->crc32c != NULL && kernels->frame_tfrecord != NULL);
        assert_true(kernels->varint_count != NULL && kernels->varint_i64 != NULL);
        assert_true(kernels->varint_sizes != NULL && kernels->varint_narrow != NULL);
        assert_true(kernels->varint_i32 != NULL && kernels->line_index != NULL);
    }
}

static void names_the_levels(void **state)
{
    (void)state;
    assert_string_equal(levada_cpu_name(LEVADA_CPU_AUTO), "auto");
    assert_string_equal(levada_cpu_name(LEVADA_CPU_PORTABLE), "portable");
    assert_string_equal(levada_cpu_name(LEVADA_CPU_SSE42), "sse42");
    assert_string_equal(levada_cpu_name(LEVADA_CPU_AVX2), "avx2");
    assert_string_equal(levada_cpu_name(LEVADA_CPU_AVX512), "avx512");
    assert_string_equal(levada_cpu_name((levada_cpu_level)99), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detects_a_level),
        cmocka_unit_test(gives_no_level_above_the_one_asked_for_or_found),
        cmocka_unit_test(auto_is_the_best_level),
        cmocka_unit_test(every_level_has_every_kernel),
        cmocka_unit_test(names_the_levels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
