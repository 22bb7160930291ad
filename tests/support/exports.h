/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of every exported function that takes a pointer: ci/gen_calls.py writes the table.
 */
#ifndef LEVADA_TESTS_EXPORTS_H
#define LEVADA_TESTS_EXPORTS_H

#include <stddef.h>
#include <stdint.h>

typedef enum test_export_kind {
    TEST_EXPORT_STATUS,  /* run() returns its levada_status  */
    TEST_EXPORT_VALUE,   /* ... or its value, or its pointer */
    TEST_EXPORT_VOID,
    TEST_EXPORT_DESTROY /* void, and its first parameter is a T ** */
} test_export_kind;

typedef struct test_export {
    const char    *name;
    const char    *of; /* type of the first parameter, without const and stars */
    test_export_kind kind;
    int64_t (*run)(void *first); /* all other arguments are 0 */
} test_export;

extern const test_export test_exports[];
extern const size_t    test_nexports;

#endif
