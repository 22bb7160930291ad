/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/fault.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static atomic_llong fault_left = INT64_MAX, fault_seen, fault_asked, fault_pieces;

void fault_arm(int64_t number)
{
    atomic_store(&fault_seen, 0);
    atomic_store(&fault_asked, 0);
    atomic_store(&fault_left, number);
}

int64_t fault_disarm(void)
{
    atomic_store(&fault_left, INT64_MAX);
    return atomic_load(&fault_seen);
}

int64_t fault_live(void) { return atomic_load(&fault_pieces); }

int64_t fault_bytes(void) { return atomic_load(&fault_asked); }

static bool fault_now(size_t size)
{
    atomic_fetch_add(&fault_asked, (long long)size);
    return atomic_fetch_add(&fault_seen, 1) == atomic_load(&fault_left);
}

static void *fault_count(void *memory)
{
    if (memory) atomic_fetch_add(&fault_pieces, 1);
    return memory;
}

/* -- what base/alloc.h declares */

void *levada_alloc(size_t size)
{
    return fault_now(size) ? NULL : fault_count(malloc(size > 0 ? size : 1));
}

void *levada_alloc_zero(size_t size)
{
    return fault_now(size) ? NULL : fault_count(calloc(1, size > 0 ? size : 1));
}

void *levada_alloc_aligned(size_t alignment, size_t size)
{
    void *memory = NULL;

    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    if (fault_now(size) || posix_memalign(&memory, alignment, size > 0 ? size : 1)) return NULL;
    return fault_count(memory);
}

void *levada_realloc(void *memory, size_t size)
{
    void *more = fault_now(size) ? NULL : realloc(memory, size > 0 ? size : 1);

    if (!memory) fault_count(more);
    return more;
}

void levada_free(void *memory)
{
    if (memory) atomic_fetch_sub(&fault_pieces, 1);
    free(memory);
}

char *levada_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char  *copy = levada_alloc(size);

    return copy ? memcpy(copy, text, size) : NULL;
}

bool levada_size_of(size_t count, size_t size, size_t extra, size_t *out)
{
    if (size > 0 && count > (SIZE_MAX - extra) / size) return false;
    *out = count * size + extra;
    return true;
}

void fault_expect_short(levada_status st, const levada_error *err)
{
    if (st == LEVADA_ERESOURCE_EXHAUSTED && err->code == st) return;
    fail_msg("%s: %s", levada_status_name(st), err->message);
}

void fault_expect_live(int64_t before, int64_t number)
{
    if (fault_live() == before) return;
    fail_msg("allocation %lld: %lld pieces are left", (long long)number,
             (long long)(fault_live() - before));
}
