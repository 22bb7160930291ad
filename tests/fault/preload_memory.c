/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded before a program (LD_PRELOAD), lets it run out of memory, also in libraries that it uses:
 * after LEVADA_FAULT_MEMORY allocations all others fail. Without it, writes the number of all
 * allocations to the file LEVADA_FAULT_COUNT at the end.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Those of glibc. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static atomic_llong memory_seen, memory_most = -1; /* -1 = any number */

__attribute__((constructor)) static void memory_begin(void)
{
    const char *most = getenv("LEVADA_FAULT_MEMORY");

    if (most) atomic_store(&memory_most, strtoll(most, NULL, 10));
}

__attribute__((destructor)) static void memory_end(void)
{
    const char *path = getenv("LEVADA_FAULT_COUNT");
    long long   seen = atomic_load(&memory_seen);
    FILE       *file = path ? fopen(path, "w") : NULL;

    if (!file) return;
    (void)fprintf(file, "%lld", seen);
    (void)fclose(file);
}

static bool memory_is_short(void)
{
    long long most = atomic_load(&memory_most);
    bool      gone = atomic_fetch_add(&memory_seen, 1) >= most && most >= 0;

    if (gone) errno = ENOMEM;
    return gone;
}

void *malloc(size_t size) { return memory_is_short() ? NULL : __libc_malloc(size); }

void *calloc(size_t n, size_t size) { return memory_is_short() ? NULL : __libc_calloc(n, size); }

void *realloc(void *memory, size_t size)
{
    return memory_is_short() ? NULL : __libc_realloc(memory, size);
}
