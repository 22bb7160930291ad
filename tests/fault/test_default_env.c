/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory runs out while the first call of a process creates the default environment. Each call
 * reports that, and works when memory is there again.
 */
#include "conformance/fault.h"
#include "support/files.h"

#include <levada/levada.h>
#include <levada/stage.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static levada_status build(levada_error *err)
{
    const levada_field field = { .name = "n", .dtype = LEVADA_INT64 };
    levada_spec       *spec = NULL;
    levada_builder    *b = NULL;
    levada_status      st = levada_spec_create(&field, 1, 0, &spec, err);

    if (st == LEVADA_OK) st = levada_builder_create(NULL, spec, 4, &b, err);
    levada_builder_destroy(&b);
    levada_spec_unref(&spec);
    return st;
}

static levada_status open_sink(levada_error *err)
{
    levada_sink  *sink = NULL;
    levada_status st = levada_sink_open(t_path("out.jsonl"), NULL, &sink, err);

    levada_sink_destroy(&sink);
    return st;
}

static levada_status parse(levada_error *err)
{
    levada_dataset *ds = NULL;
    levada_status   st = levada_dataset_parse(NULL, "range:3 | batch:2", &ds, err);

    levada_dataset_unref(&ds);
    return st;
}

static levada_status text(levada_status (*call)(levada_env *, char **, levada_error *),
                          levada_error *err)
{
    char         *out = NULL;
    levada_status st = call(NULL, &out, err);

    levada_string_free(&out);
    return st;
}

static levada_status list(levada_error *err) { return text(levada_stages_json, err); }
static levada_status describe(levada_error *err) { return text(levada_config_describe, err); }
static levada_status report(levada_error *err) { return text(levada_waiters_json, err); }

static levada_status hold(levada_error *err)
{
    const levada_shape shape = { 1, { 4 } };
    levada_tensor     *tensor = NULL;
    levada_status      st = levada_tensor_create(NULL, LEVADA_INT64, &shape, NULL, &tensor, err);

    levada_tensor_unref(&tensor);
    return st;
}

static levada_status open_writer(levada_error *err)
{
    levada_writer *writer = NULL;
    levada_status  st = levada_writer_open(NULL, t_path("out"), NULL, -1, &writer, err);

    levada_writer_destroy(&writer);
    return st;
}

/* In a process of its own: fails each allocation in turn until the call succeeds. */
static void run(levada_status (*call)(levada_error *))
{
    int64_t tries = 0;

    for (levada_status st = LEVADA_EINTERNAL; st != LEVADA_OK; tries++) {
        levada_error err = LEVADA_ERROR_INIT;

        fault_arm(tries);
        st = call(&err);
        (void)fault_disarm();
        if (st == LEVADA_OK || st == LEVADA_ERESOURCE_EXHAUSTED) continue;
        (void)fprintf(stderr, "allocation %lld: %s\n", (long long)tries, err.message);
        _exit(1);
    }
    _exit(tries > 1 ? 0 : 2);
}

static void a_first_call_without_memory_reports_it(void **state)
{
    levada_status (*const calls[])(levada_error *) = { build, open_sink, parse,  list,
                                                       describe, report, hold, open_writer };

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int   status = 0;
        pid_t child = fork();

        if (child == 0) run(calls[i]);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status != 0) fail_msg("call %d: status %#x", (int)i, (unsigned)status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_call_without_memory_reports_it),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
