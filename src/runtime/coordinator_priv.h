/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A coordinator from the inside: what loopers and queue runners need besides the public calls.
 */
#ifndef LEVADA_RUNTIME_COORDINATOR_PRIV_H
#define LEVADA_RUNTIME_COORDINATOR_PRIV_H

#include "runtime/wait.h"

#include <levada/coordinator.h>

typedef struct levada_thread_def {
    const char *name; /* copied */
    levada_status (*run)(levada_coordinator *coordinator, void *user, levada_error *err);
    void *user;
} levada_thread_def;

/* Starts all of them or none: where one can't be started, no run was called. */
LEVADA_MUST_USE levada_status levada_coordinator_start_all(levada_coordinator      *coordinator,
                                                           const levada_thread_def *defs, int32_t n,
                                                           levada_error *err);
/* Until the stop or until that time on the clock of levada_now; `what` is for reports. */
bool levada_coordinator_wait_until(levada_coordinator *coordinator, const char *what, int64_t until);

#endif
