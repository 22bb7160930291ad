/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers in the public structs that begin with struct_size, and those that are arguments of
 * exported functions: ci/gen_fields.py writes both tables.
 */
#ifndef LEVADA_TESTS_SUPPORT_FIELDS_H
#define LEVADA_TESTS_SUPPORT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct test_field {
    const char *of, *name; /* the struct and its member; of = NULL: the end of the table */
    size_t      at, size;
    bool        is_enum;
} test_field;

extern const test_field test_fields[];

typedef struct test_argument {
    const char *function, *name; /* function = NULL: the end of the table */
    size_t      size;            /* 0 = a floating-point number           */
    bool        is_unsigned;
} test_argument;

extern const test_argument test_arguments[];

#endif
