/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of small things (descriptions, states, headers). Data lives in pooled buffers
 * (tensor/pool.h). NULL means that memory is short: the caller answers ERESOURCE_EXHAUSTED.
 */
#ifndef LEVADA_BASE_ALLOC_H
#define LEVADA_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *levada_alloc(size_t size);      /* not cleared; size 0 is allowed   */
void *levada_alloc_zero(size_t size); /* cleared                          */
void *levada_alloc_aligned(size_t alignment, size_t size);
void *levada_realloc(void *memory, size_t size); /* old memory stays on failure      */
void  levada_free(void *memory);
char *levada_strdup(const char *text);

/* Grows an array to at least `count` items of `size` bytes each. `array` is the address of the
 * pointer to the first item; *capacity is the number of items that fit now. Capacities at least
 * double, so appending costs constant time per item. Returns false when memory is short: the array
 * and its capacity then stay as they were. */
bool levada_reserve(void *array, int64_t *capacity, int64_t count, size_t size);

/* Sets *out to count * size + extra; returns false and leaves *out untouched if it does not fit. */
bool levada_size_of(size_t count, size_t size, size_t extra, size_t *out);

#endif
