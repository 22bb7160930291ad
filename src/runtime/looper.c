/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/versioned.h"
#include "runtime/coordinator_priv.h"

#include <string.h>

/* Ticks are points on the clock, so that the time that a tick takes does not add up. */
static levada_status looper_loop(levada_coordinator *coordinator, const levada_looper_options *o,
                                 levada_error *err)
{
    int64_t       next = levada_now();
    levada_status status = LEVADA_OK;

    while (status == LEVADA_OK || status == LEVADA_AGAIN) {
        bool stop = o->interval <= 0
                        ? levada_coordinator_should_stop(coordinator)
                        : levada_coordinator_wait_until(coordinator, "the next tick", next);

        if (stop) return LEVADA_OK;
        if (o->interval > 0) next = next > INT64_MAX - o->interval ? INT64_MAX : next + o->interval;
        status = o->run(o->user, err);
    }
    return status;
}

static levada_status looper_main(levada_coordinator *coordinator, void *user, levada_error *err)
{
    levada_looper_options o = *(levada_looper_options *)user;
    levada_status         status = LEVADA_OK;

    levada_free(user);
    if (o.start != NULL) status = o.start(o.user, err);
    if (status == LEVADA_OK) status = looper_loop(coordinator, &o, err);
    if (o.stop != NULL) o.stop(o.user);
    return status;
}

levada_status levada_looper_start(levada_coordinator          *coordinator,
                                  const levada_looper_options *options, levada_error *err)
{
    levada_looper_options all = LEVADA_LOOPER_OPTIONS_INIT, *copy;
    levada_status         status;

    if (coordinator != NULL) LEVADA_TRY(LEVADA_USABLE(coordinator, "coordinator", err));
    LEVADA_TRY(levada_require(options != NULL, "options", err));
    LEVADA_TRY(LEVADA_VERSIONED_READ(all, options, levada_looper_options, err));
    if (coordinator == NULL || all.run == NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "levada_looper_start needs %s",
                           all.run == NULL ? "a function to run" : "a coordinator");
    }
    if (all.interval < -1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "interval=%lld must be at least -1; -1 is without pauses",
                           (long long)all.interval);
    }
    copy = levada_alloc(sizeof(*copy));
    if (copy == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                         "out of memory for a looper");
    *copy = all;
    status = levada_coordinator_start_thread(coordinator, all.name != NULL ? all.name : "looper",
                                             looper_main, copy, err);
    if (status != LEVADA_OK) levada_free(copy);
    return status;
}

LEVADA_VERSIONED_INIT(levada_looper_options_init, levada_looper_options, LEVADA_LOOPER_OPTIONS_INIT)
