/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

void *levada_alloc(size_t size)
{
    return malloc(size > 0 ? size : 1);
}

void *levada_alloc_zero(size_t size)
{
    return calloc(1, size > 0 ? size : 1);
}

void *levada_alloc_aligned(size_t alignment, size_t size)
{
    void *memory = NULL;

    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    return posix_memalign(&memory, alignment, size > 0 ? size : 1) == 0 ? memory : NULL;
}

void *levada_realloc(void *memory, size_t size)
{
    return realloc(memory, size > 0 ? size : 1);
}

void levada_free(void *memory)
{
    free(memory);
}

char *levada_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char  *copy = levada_alloc(size);

    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

bool levada_size_of(size_t count, size_t size, size_t extra, size_t *out)
{
    if (size > 0 && count > (SIZE_MAX - extra) / size) return false;
    *out = count * size + extra;
    return true;
}
