/* SPDX-License-Identifier: Apache-2.0 */
#include <levada/watchdog.h>

#include "base/alloc.h"
#include "base/process.h"
#include "base/versioned.h"
#include "runtime/wait_list.h"
#include "runtime/park.h"

#include <string.h>

struct levada_watchdog {
    unsigned                process; /* that it belongs to (base/process.h) */
    levada_watchdog_options options;
    levada_wait_list             *wait_list, *names;
    uint64_t                seen; /* number of the last sleep that was reported */
    atomic_bool             stopped;
    levada_park             park; /* done = stopped */
    levada_thread           thread;
    bool                    has_thread;
};

static void watchdog_main(void *user)
{
    levada_watchdog *w = user;
    levada_wait      wait = LEVADA_WAIT_INIT;

    while (levada_watchdog_next(w, -1, &wait, NULL) == LEVADA_OK) {
        w->options.report(w->options.user, &wait);
    }
}

static void watchdog_free(levada_watchdog *w)
{
    if (LEVADA_OURS(w)) levada_park_clear(&w->park);
    levada_wait_list_unref(&w->wait_list);
    levada_wait_list_unref(&w->names);
    levada_free(w);
}

levada_status levada_watchdog_create(levada_env *env, const levada_watchdog_options *options,
                                     levada_watchdog **out, levada_error *err)
{
    levada_watchdog_options all = LEVADA_WATCHDOG_OPTIONS_INIT;
    levada_wait_list             *wait_list = levada_env_wait_list(env),
        *names = levada_env_wait_list(NULL);
    levada_watchdog        *w;
    levada_status           status = LEVADA_OK;

    LEVADA_TRY(levada_require(options != NULL, "options", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(LEVADA_VERSIONED_READ(all, options, levada_watchdog_options, err));
    if (all.limit < 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "limit=%lld must be at least 1 ns",
                           (long long)all.limit);
    }
    w = wait_list != NULL && names != NULL ? levada_alloc_zero(sizeof(*w)) : NULL;
    if (w == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    w->process = levada_process();
    w->options = all;
    w->wait_list = levada_wait_list_ref(wait_list);
    w->names = levada_wait_list_ref(names);
    atomic_init(&w->stopped, false);
    levada_park_init(&w->park);
    if (all.report != NULL) {
        status = levada_thread_start(&w->thread, watchdog_main, w, err);
        w->has_thread = status == LEVADA_OK;
    }
    if (status == LEVADA_OK) *out = w;
    else watchdog_free(w);
    return status;
}

levada_status levada_watchdog_next(levada_watchdog *watchdog, int64_t timeout, levada_wait *out,
                                   levada_error *err)
{
    levada_watchdog *w = watchdog;
    levada_wait      found;
    int64_t          now = levada_now(), limit, since;
    int64_t          until = timeout < 0 || timeout > INT64_MAX - now ? INT64_MAX : now + timeout;

    LEVADA_TRY(LEVADA_USABLE(w, "watchdog", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_versioned_check(out, sizeof(found), "levada_wait", err));
    limit = w->options.limit;
    for (;;) {
        if (atomic_load(&w->stopped)) return LEVADA_END;
        if (levada_wait_list_overdue(w->wait_list, w->names, &w->seen, now - limit,
                                     w->options.cancel, &found,
                               &since)) {
            levada_versioned_write(out, &found, sizeof(found));
            return LEVADA_OK;
        }
        if (now >= until) return LEVADA_AGAIN;
        /* A wait that has not begun cannot be too long before this. */
        int64_t from = since >= 0 ? since : now;
        int64_t due = limit > INT64_MAX - from ? INT64_MAX : from + limit;
        if (due > until) due = until;
        if (levada_park_sleep(&w->park, due < INT64_MAX ? due : -1)) return LEVADA_END;
        now = levada_now();
    }
}

void levada_watchdog_stop(levada_watchdog *watchdog)
{
    if (!LEVADA_OURS(watchdog)) return;
    if (!atomic_exchange(&watchdog->stopped, true)) levada_park_wake(&watchdog->park);
}

void levada_watchdog_destroy(levada_watchdog **watchdog)
{
    levada_watchdog *w = watchdog != NULL ? *watchdog : NULL;

    if (w == NULL) return;
    *watchdog = NULL;
    levada_watchdog_stop(w);
    if (w->has_thread && LEVADA_OURS(w)) levada_thread_join(&w->thread);
    watchdog_free(w);
}

LEVADA_VERSIONED_INIT(levada_watchdog_options_init, levada_watchdog_options,
                      LEVADA_WATCHDOG_OPTIONS_INIT)

LEVADA_VERSIONED_INIT(levada_wait_init, levada_wait, LEVADA_WAIT_INIT)
