/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"

#include <levada/value.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static levada_value *described(levada_env *env)
{
    char         *json = NULL;
    levada_value *value = NULL;

    assert_int_equal(levada_config_describe(env, &json, NULL), LEVADA_OK);
    assert_int_equal(levada_value_parse_json(json, strlen(json), &value, NULL), LEVADA_OK);
    levada_string_free(&json);
    return value;
}

static void names_version_and_options(void **state)
{
    static const char *const keys[] = {"version", "cpu",  "cpu_detected", "simd", "futex",
                                       "debug",   "isal", "zlib",         "zstd", "flac",
                                       "jpeg",    "png",  "simdjson",     "soxr", "kissfft"};
    levada_value            *value = described(NULL);

    (void)state;
    for (int i = 0; i < 15; i++) assert_non_null(levada_value_get(value, keys[i]));
    levada_value_destroy(&value);
}

/* Compression that is named works, and what works is named. */
static void says_what_filters_can_do(void **state)
{
    levada_value *value = described(NULL);

    (void)state;
    assert_int_equal(levada_value_kind_of(levada_value_get(value, "zlib")) == LEVADA_VALUE_TEXT,
                     t_can("gzip"));
    assert_int_equal(levada_value_kind_of(levada_value_get(value, "zstd")) == LEVADA_VALUE_TEXT,
                     t_can("zstd"));
    levada_value_destroy(&value);
}

static void names_the_level_of_the_environment(void **state)
{
    levada_env_options  options = LEVADA_ENV_OPTIONS_INIT;
    levada_env         *env = NULL;
    levada_value       *value;
    const levada_value *cpu;

    (void)state;
    options.cpu = LEVADA_CPU_PORTABLE;
    assert_int_equal(levada_env_create(&options, &env, NULL), LEVADA_OK);
    value = described(env);
    cpu = levada_value_get(value, "cpu");
    assert_non_null(cpu);
    assert_string_equal(levada_value_as_text(cpu, NULL), "portable");
    levada_value_destroy(&value);
    levada_env_destroy(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_version_and_options),
        cmocka_unit_test(says_what_filters_can_do),
        cmocka_unit_test(names_the_level_of_the_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
