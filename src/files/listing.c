/* SPDX-License-Identifier: Apache-2.0 */
#include "files/listing.h"

#include "base/alloc.h"
#include "registry/env_priv.h"
#include "runtime/lock.h"

#include <poll.h>
#include <string.h>

#define LISTING_PATTERN 4096 /* characters at most */
#define LISTING_TICK 20      /* milliseconds between two looks at the token */
#define LISTING_PAUSE 100    /* milliseconds after the first failure; they double */
#define LISTING_PAUSE_MOST 15000

/* Marks what can come next without a character: a star may stand for none. */
static void listing_close(const char *pattern, size_t n, bool *at)
{
    for (size_t i = 0; i < n; i++) {
        if (at[i] && pattern[i] == '*') at[i + 1] = true;
    }
}

static bool listing_deep(const char *pattern, size_t i)
{
    return pattern[i + 1] == '*' || (i > 0 && pattern[i - 1] == '*');
}

/* Follows all places in the pattern that the name may have reached at once, so that no pattern
 * takes longer than its length times that of the name. */
bool levada_listing_fits(const char *pattern, const char *name)
{
    bool   at[LISTING_PATTERN + 4] = { true }, next[LISTING_PATTERN + 4];
    size_t n = strlen(pattern);

    if (n > LISTING_PATTERN) return false;
    listing_close(pattern, n, at);
    for (; *name; name++) {
        memset(next, 0, n + 4);
        for (size_t i = 0; i < n; i++) {
            if (!at[i]) continue;
            if (pattern[i] == *name && *name != '*') next[i + 1] = true;
            if (pattern[i] == '/' && *name == '/' && strncmp(pattern + i + 1, "**/", 3) == 0)
                next[i + 4] = true; /* no folder */
            if (pattern[i] == '*' && (*name != '/' || listing_deep(pattern, i))) next[i] = true;
        }
        listing_close(pattern, n, next);
        memcpy(at, next, n + 4);
    }
    return at[n];
}

/* What a listing goes through. */
typedef struct listing {
    const char      *pattern;
    levada_list_add *add;
    void            *to;
} listing;

static bool listing_is_index(const char *name)
{
    size_t n = strlen(name), suffix = strlen(".lvindex");

    return n > suffix && strcmp(name + n - suffix, ".lvindex") == 0;
}

static levada_status listing_choose(void *user, const char *name, levada_error *err)
{
    const listing *l = user;
    size_t         n = strlen(name);

    if (n == 0 || name[n - 1] == '/') return LEVADA_OK;
    if (listing_is_index(name) && !listing_is_index(l->pattern)) return LEVADA_OK;
    return levada_listing_fits(l->pattern, name) ? l->add(l->to, name, err) : LEVADA_OK;
}

/* Waits for a time; returns false if the token is set meanwhile. */
static bool listing_pause(const levada_cancel *cancel, int64_t milliseconds)
{
    for (int64_t i = 0; i < milliseconds / LISTING_TICK; i++) {
        if (levada_cancel_requested(cancel)) return false;
        (void)poll(NULL, 0, LISTING_TICK);
    }
    return !levada_cancel_requested(cancel);
}

levada_status levada_listing_find(const levada_env *env, const char *pattern,
                                  levada_list_add *add, void *to, levada_error *err)
{
    const levada_opener_def *opener = levada_opener_find(env, pattern);
    listing                  l = { pattern, add, to };
    levada_cancel            cancel = { .env = env };
    levada_io_options        io = levada_env_io(env);
    int64_t                  pause = LISTING_PAUSE;
    size_t                   size = strcspn(pattern, "*");
    char                     prefix[LISTING_PATTERN + 1];
    levada_status            st = LEVADA_OK;

    if (!opener->list) {
        return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                           "this storage does not list names, so * is not expanded; list each "
                           "file, or write {0000..0127}");
    }
    if (strlen(pattern) > LISTING_PATTERN) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the pattern must have at most %d bytes, got %zu", LISTING_PATTERN,
                           strlen(pattern));
    }
    memcpy(prefix, pattern, size);
    prefix[size] = '\0';
    for (int32_t i = 0; i < io.attempts; i++) {
        levada_error_clear(err);
        st = opener->list(opener->user, prefix, &cancel, listing_choose, &l, err);
        if (st != LEVADA_EUNAVAILABLE || i + 1 == io.attempts) break;
        if (!listing_pause(&cancel, pause)) break;
        pause = 2 * pause < LISTING_PAUSE_MOST ? 2 * pause : LISTING_PAUSE_MOST;
    }
    return st;
}
