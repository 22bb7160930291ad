/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte strings by number: equal ones have the same number, so that keys of records are numbers.
 * Belongs to one thread. All-zero is a valid empty one.
 */
#ifndef LEVADA_BATCH_WINDOW_NAMES_H
#define LEVADA_BATCH_WINDOW_NAMES_H

#include <levada/error.h>

typedef struct levada_window_name {
    int64_t  begin, size;
    uint64_t hash;
} levada_window_name;

typedef struct levada_window_names {
    levada_window_name *at; /* by number */
    int64_t             n, capacity;
    uint8_t            *bytes; /* of all of them */
    int64_t             nbytes, bytes_capacity;
    int64_t            *table; /* hash table of numbers, -1 = free; slots is a power of two */
    int64_t             slots;
    int64_t             kept, kept_bytes; /* names and bytes after the last rebuild */
} levada_window_names;

void levada_window_names_clear(levada_window_names *names);
/* Finds the number of a byte string, a new one if it has none yet. */
LEVADA_MUST_USE levada_status levada_window_names_find(levada_window_names *names,
                                                       const uint8_t *bytes, int64_t size,
                                                       int64_t *out, levada_error *err);
/* Returns a negative number, 0 or a positive one, as memcmp; a prefix comes first. */
int levada_window_names_compare(const levada_window_names *names, int64_t a, int64_t b);
/* Returns true if most names may be out of use, so that it is time to keep those in use only. */
bool levada_window_names_many(const levada_window_names *names);
/* Keeps the names of these numbers and renumbers them: numbers[i] becomes the new one. */
LEVADA_MUST_USE levada_status levada_window_names_keep(levada_window_names *names,
                                                       int64_t *numbers, int64_t n,
                                                       levada_error *err);

#endif
