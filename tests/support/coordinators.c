/* SPDX-License-Identifier: Apache-2.0 */
#include "support/coordinators.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

levada_coordinator *test_coordinator(const levada_status *clean, int32_t n)
{
    levada_coordinator *coordinator = NULL;
    levada_error        err = LEVADA_ERROR_INIT;

    if (levada_coordinator_create(NULL, clean, n, &coordinator, &err) != LEVADA_OK) {
        fail_msg("%s", err.message);
    }
    return coordinator;
}

levada_status test_stop(levada_coordinator *coordinator, levada_status code, const char *text)
{
    levada_error why = LEVADA_ERROR_INIT, err = LEVADA_ERROR_INIT;

    if (code != LEVADA_OK) levada_fail(&why, code, "%s", text);
    code = levada_coordinator_request_stop(coordinator, code != LEVADA_OK ? &why : NULL, &err);
    if (code != LEVADA_OK) assert_string_equal(err.message, text);
    return code;
}

void test_joins(levada_coordinator *coordinator, int64_t grace, levada_status status,
                const char *text)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status got = levada_coordinator_join(coordinator, grace, false, &err);

    if (got != status) {
        fail_msg("%s (%s), not %s", levada_status_name(got), err.message,
                 levada_status_name(status));
    }
    if (text != NULL && strstr(err.message, text) == NULL) {
        fail_msg("'%s' is not in '%s'", text, err.message);
    }
}

void test_until(atomic_int *n, int value)
{
    for (int i = 0; i < 200000; i++) {
        if (atomic_load(n) >= value) return;
        nanosleep(&(struct timespec){ 0, 100000 }, NULL);
    }
    fail_msg("%d, never %d", atomic_load(n), value);
}

levada_status test_gate_run(levada_coordinator *coordinator, void *user, levada_error *err)
{
    test_gate *gate = user;

    (void)coordinator;
    (void)err;
    atomic_fetch_add(&gate->reached, 1);
    test_until(&gate->open, 1);
    atomic_fetch_add(&gate->left, 1);
    return LEVADA_OK;
}

levada_status test_gate_run_until_stop(levada_coordinator *coordinator, void *user,
                                       levada_error *err)
{
    test_gate *gate = user;

    (void)err;
    atomic_fetch_add(&gate->reached, 1);
    test_until(&gate->open, 1);
    (void)levada_coordinator_wait_for_stop(coordinator, LEVADA_FOREVER);
    atomic_fetch_add(&gate->left, 1);
    return LEVADA_OK;
}

void test_start_thread(levada_coordinator *coordinator, const char *name,
                       levada_status (*run)(levada_coordinator *coordinator, void *user,
                                            levada_error *err),
                       void *user)
{
    levada_error err = LEVADA_ERROR_INIT;

    if (levada_coordinator_start_thread(coordinator, name, run, user, &err) != LEVADA_OK) {
        fail_msg("%s", err.message);
    }
}
