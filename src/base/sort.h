/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stable sort of positions by non-negative values, in linear time.
 */
#ifndef LEVADA_BASE_SORT_H
#define LEVADA_BASE_SORT_H

#include <stdint.h>

typedef struct levada_sort_entry {
    int64_t  value;    /* to sort by, >= 0 */
    uint32_t position; /* goes with it     */
} levada_sort_entry;

/* Sorts n entries by value; `spare` is memory for n more. */
void levada_sort(levada_sort_entry *entries, levada_sort_entry *spare, int64_t n);

#endif
