/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/pool.h"

#include "support/deaths.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct counted {
    int64_t bytes, pieces, fail_from;
} counted;

static void *counted_alloc(void *user, size_t size)
{
    counted *c = user;

    if (c->fail_from >= 0 && c->pieces >= c->fail_from) return NULL;
    c->pieces++;
    c->bytes += (int64_t)size;
    return aligned_alloc(64, (size + 63) & ~(size_t)63);
}

static void counted_free(void *user, void *memory, size_t size)
{
    counted *c = user;

    c->pieces--;
    c->bytes -= (int64_t)size;
    free(memory);
}

static levada_pool *make_pool(counted *c, int64_t max_bytes)
{
    levada_env_options options = LEVADA_ENV_OPTIONS_INIT;
    levada_pool       *pool = NULL;

    options.alloc = counted_alloc;
    options.free = counted_free;
    options.user = c;
    options.max_bytes = max_bytes;
    assert_int_equal(levada_pool_create(&options, &pool, NULL), LEVADA_OK);
    return pool;
}

static void gives_aligned_memory_with_slack(void **state)
{
    counted        c = { 0, 0, -1 };
    levada_pool   *pool = make_pool(&c, -1);
    levada_buffer *b = NULL;

    (void)state;
    for (int64_t size = 0; size < 300000; size = size * 3 + 7) {
        assert_int_equal(levada_buffer_create(pool, size, &b, NULL), LEVADA_OK);
        assert_int_equal((uintptr_t)b->data % 64, 0);
        assert_true(b->capacity >= size);
        memset(b->data - LEVADA_SLACK, 1, (size_t)size + 2 * LEVADA_SLACK);
        levada_buffer_unref(&b);
        assert_null(b);
    }
    levada_pool_unref(&pool);
    assert_int_equal(c.pieces, 0);
    assert_int_equal(c.bytes, 0);
}

static void uses_memory_again(void **state)
{
    counted        c = { 0, 0, -1 };
    levada_pool   *pool = make_pool(&c, -1);
    levada_buffer *b = NULL;
    uint8_t       *before;

    (void)state;
    assert_int_equal(levada_buffer_create(pool, 100000, &b, NULL), LEVADA_OK);
    before = b->data;
    levada_buffer_unref(&b);
    assert_int_equal(levada_pool_used(pool), 0);
    assert_int_equal(levada_buffer_create(pool, 99000, &b, NULL), LEVADA_OK);
    assert_ptr_equal(b->data, before);
    assert_int_equal(c.pieces, 1);
    levada_buffer_unref(&b);
    levada_pool_unref(&pool);
}

static void buffers_outlive_their_pool(void **state)
{
    counted        c = { 0, 0, -1 };
    levada_pool   *pool = make_pool(&c, -1);
    levada_buffer *b = NULL;

    (void)state;
    assert_int_equal(levada_buffer_create(pool, 10, &b, NULL), LEVADA_OK);
    levada_pool_unref(&pool);
    memset(b->data, 7, 10);
    levada_buffer_unref(&b);
    assert_int_equal(c.pieces, 0);
}

static void refuses_beyond_its_limit_and_without_memory(void **state)
{
    counted        c = { 0, 0, -1 };
    levada_pool   *pool = make_pool(&c, 1 << 20);
    levada_buffer *a = NULL, *b = NULL;
    levada_error   err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_buffer_create(pool, 700000, &a, &err), LEVADA_OK);
    assert_int_equal(levada_buffer_create(pool, 700000, &b, &err), LEVADA_ERESOURCE_EXHAUSTED);
    assert_non_null(strstr(err.message, "max_bytes=1048576"));
    levada_buffer_unref(&a);
    c.fail_from = c.pieces;
    assert_int_equal(levada_buffer_create(pool, 20000, &b, &err), LEVADA_ERESOURCE_EXHAUSTED);
    assert_int_equal(levada_buffer_create(pool, -1, &b, &err), LEVADA_ERESOURCE_EXHAUSTED);
    assert_null(b);
    levada_pool_unref(&pool);
}

static void uses_somewhat_larger_memory_again(void **state)
{
    counted        c = { 0, 0, -1 };
    levada_pool   *pool = make_pool(&c, -1);
    levada_buffer *b = NULL;
    const uint8_t *first;

    (void)state;
    assert_int_equal(levada_buffer_create(pool, 1000000, &b, NULL), LEVADA_OK);
    first = b->data;
    levada_buffer_unref(&b);
    assert_int_equal(levada_buffer_create(pool, 700000, &b, NULL), LEVADA_OK);
    assert_ptr_equal(b->data, first);
    assert_int_equal(levada_pool_used(pool), b->capacity);
    levada_buffer_unref(&b);
    assert_int_equal(levada_pool_used(pool), 0);
    assert_int_equal(levada_buffer_create(pool, 100000, &b, NULL), LEVADA_OK);
    assert_ptr_not_equal(b->data, first); /* ten times as much would be wasted */
    levada_buffer_unref(&b);
    levada_pool_unref(&pool);
    assert_int_equal(c.pieces, 0);
}

static void gives_up_what_nobody_asks_for(void **state)
{
    counted        c = { 0, 0, -1 };
    levada_pool   *pool = make_pool(&c, -1);
    levada_buffer *old[40] = { NULL }, *b[4] = { NULL };

    (void)state;
    for (int i = 0; i < 40; i++) {
        assert_int_equal(levada_buffer_create(pool, 1 << 20, &old[i], NULL), LEVADA_OK);
    }
    for (int i = 0; i < 40; i++) levada_buffer_unref(&old[i]);
    for (int turn = 0; turn < 3; turn++) {
        int64_t pieces = c.pieces;

        for (int i = 0; i < 4; i++) {
            assert_int_equal(levada_buffer_create(pool, 8 << 20, &b[i], NULL), LEVADA_OK);
        }
        assert_true(turn == 0 || c.pieces == pieces); /* nothing new once they are known */
        for (int i = 0; i < 4; i++) levada_buffer_unref(&b[i]);
        assert_true(levada_pool_cached(pool) <= INT64_C(48) << 20);
    }
    levada_pool_unref(&pool);
    assert_int_equal(c.pieces, 0);
}

static void count_release(void *user) { ++*(int *)user; }

static void releases_foreign_memory_once(void **state)
{
    int            released = 0;
    levada_buffer *b = NULL, *second;

    (void)state;
    assert_int_equal(levada_buffer_wrap("abc", 3, count_release, &released, &b, NULL), LEVADA_OK);
    second = levada_buffer_ref(b);
    levada_buffer_unref(&b);
    assert_int_equal(released, 0);
    levada_buffer_unref(&second);
    assert_int_equal(released, 1);
}

static void return_a_buffer_twice(void *user)
{
    counted        c = { 0, 0, -1 };
    levada_pool   *pool = make_pool(&c, -1);
    levada_buffer *b = NULL, *again;

    (void)user;
    assert_int_equal(levada_buffer_create(pool, 100, &b, NULL), LEVADA_OK);
    again = b;
    levada_buffer_unref(&b);
    levada_buffer_unref(&again);
}

static void a_buffer_comes_back_once(void **state)
{
    (void)state;
    if (!LEVADA_DEBUG) skip();
    test_aborts(return_a_buffer_twice, NULL, "before > 0");
}

/* Whether the mapping of this address is advised to be of huge pages. */
static bool is_advised(const void *at)
{
    FILE         *maps = fopen("/proc/self/smaps", "r");
    char          line[512];
    unsigned long begin, end;
    bool          here = false, advised = false;

    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) {
            here = (uintptr_t)at >= begin && (uintptr_t)at < end;
        }
        if (here && strncmp(line, "VmFlags:", 8) == 0) advised = strstr(line, " hg") != NULL;
    }
    fclose(maps);
    return advised;
}

static void large_buffers_ask_for_huge_pages(void **state)
{
    levada_env_options options = LEVADA_ENV_OPTIONS_INIT;
    levada_pool       *pool = NULL;
    levada_buffer     *b = NULL;

    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) skip();
    assert_int_equal(levada_pool_create(&options, &pool, NULL), LEVADA_OK);
    for (int64_t size = INT64_C(1) << 20; size <= INT64_C(64) << 20; size *= 8) {
        assert_int_equal(levada_buffer_create(pool, size, &b, NULL), LEVADA_OK);
        assert_int_equal(is_advised(b->data + size / 2), size > INT64_C(4) << 20);
        memset(b->data - LEVADA_SLACK, 1, (size_t)size + 2 * LEVADA_SLACK);
        levada_buffer_unref(&b);
    }
    levada_pool_unref(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_aligned_memory_with_slack),
        cmocka_unit_test(uses_memory_again),
        cmocka_unit_test(uses_somewhat_larger_memory_again),
        cmocka_unit_test(gives_up_what_nobody_asks_for),
        cmocka_unit_test(buffers_outlive_their_pool),
        cmocka_unit_test(refuses_beyond_its_limit_and_without_memory),
        cmocka_unit_test(releases_foreign_memory_once),
        cmocka_unit_test(large_buffers_ask_for_huge_pages),
        cmocka_unit_test(a_buffer_comes_back_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
