/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registering what is part of the program: the example plug-ins, which are linked into this one,
 * and a filter that calls the library by its names. The conformance suite runs over all of them.
 */
#define LEVADA_PLUGIN_HOST_SIDE
#include "conform.h"
#include "support/files.h"
#include "support/iters.h"

#include <levada/plugin.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* levada_plugin_main of plugins/example/<word>.c. */
levada_status every_main(const levada_host *host, levada_plugin *plugin, levada_error *err);
levada_status my_reader_main(const levada_host *host, levada_plugin *plugin, levada_error *err);
levada_status prefixed_main(const levada_host *host, levada_plugin *plugin, levada_error *err);

static levada_env *env;

static int set_up(void **state)
{
    (void)state;
    return levada_env_create(NULL, &env, NULL) == LEVADA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    levada_env_destroy(&env);
    return 0;
}

static void registers(levada_plugin_entry entry, const char *name)
{
    levada_error err = LEVADA_ERROR_INIT;
    const char  *made = NULL;

    if (levada_plugin_register(env, entry, &made, &err) != LEVADA_OK) fail_msg("%s", err.message);
    assert_string_equal(made, name);
}

static void refuses(levada_plugin_entry entry, levada_status status, const char *text)
{
    levada_error err = LEVADA_ERROR_INIT;

    assert_int_equal(levada_plugin_register(env, entry, NULL, &err), status);
    if (!strstr(err.message, text)) fail_msg("'%s' is not in '%s'", text, err.message);
}

/* -- a filter: every bit of the bytes is inverted ---------------------------------------------- */

typedef struct inverted_state {
    bool begun;
} inverted_state;

static int32_t inverted_probe(const uint8_t *data, size_t size)
{
    return size >= 2 && data[0] == 0xFE && data[1] == 0xDC ? 16 : 0;
}

static levada_status inverted_open(void *state, levada_error *err)
{
    (void)err;
    ((inverted_state *)state)->begun = false;
    return LEVADA_OK;
}

static void inverted_close(void *state) { (void)state; }

static levada_status inverted_decode(void *state, levada_filter_step *step, levada_error *err)
{
    inverted_state *s = state;

    if (!s->begun) {
        if (step->in_size < 2 && !step->in_ended) return LEVADA_OK;
        if (inverted_probe(step->in, step->in_size) == 0) {
            return levada_fail(err, LEVADA_EDATA_LOSS, "the two bytes of the header are missing");
        }
        s->begun = true;
        step->used = 2;
        return LEVADA_OK;
    }
    step->made = step->in_size < step->out_size ? step->in_size : step->out_size;
    for (size_t i = 0; i < step->made; i++) step->out[i] = (uint8_t)~step->in[i];
    step->used = step->made;
    step->finished = step->in_ended && step->used == step->in_size;
    return LEVADA_OK;
}

static const levada_filter_def inverted = {
    .struct_size = sizeof(levada_filter_def),
    .name = "inverted",
    .doc = "bytes with inverted bits",
    .suffix = ".inv",
    .state_size = sizeof(inverted_state),
    .probe = inverted_probe,
    .open = inverted_open,
    .close = inverted_close,
    .reset = inverted_open,
    .decode = inverted_decode,
};

static levada_status inverted_main(const levada_host *host, levada_plugin *plugin,
                                   levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "inverted", 1);
    return host->add_filter(plugin, &inverted, err);
}

/* -- claims ------------------------------------------------------------------------------------ */

static void expect_blocks(const char *text, int64_t rows)
{
    levada_dataset *dataset = NULL;
    levada_iter    *it = NULL;
    levada_block   *block = NULL;
    levada_error    err = LEVADA_ERROR_INIT;
    int64_t         n = 0;
    levada_status   st = levada_dataset_parse(env, text, &dataset, &err);

    if (st == LEVADA_OK) st = levada_iter_open(dataset, NULL, &it, &err);
    while (st == LEVADA_OK && (st = levada_iter_next(it, &block, &err)) == LEVADA_OK) {
        n += levada_block_rows(block);
        levada_block_unref(&block);
    }
    if (st != LEVADA_END) fail_msg("%s: %s", text, err.message);
    assert_int_equal(n, rows);
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
}

static void write_points(void)
{
    uint8_t points[5 * 20] = { 0 };

    for (size_t i = 0; i < 5; i++) {
        points[i * 20] = 16;
        points[i * 20 + 4] = (uint8_t)(i + 1);
    }
    t_write_file("points.bin", points, sizeof points);
}

static void a_program_runs_its_own_names(void **state)
{
    const char text[] = "\xFE\xDC" "\x9E\x9D\xF5\x9C\xF5"; /* ab, newline, c, newline */

    (void)state;
    registers(every_main, "every");
    registers(my_reader_main, "my_reader");
    registers(prefixed_main, "prefixed");
    registers(inverted_main, "inverted");
    write_points();
    t_write_file("text.inv", text, sizeof text - 1);
    expect_blocks("range:100 | every:3", 34);
    expect_blocks("my_reader", 10);
    expect_blocks("prefixed:points.bin | decode_point", 5);
    expect_blocks("text_lines:text.inv", 2);
    expect_blocks("text_lines:text.inv,compression=inverted", 2);
}

static void conforms(const char *name, const char *example, const levada_filter_def *filter)
{
    levada_conform c = { .env = env, .name = name, .example = example, .filter = filter };

    for (const levada_conform_check *check = levada_conform_checks; check->name; check++) {
        if (check->run(&c) == LEVADA_CONFORM_BAD) {
            fail_msg("%s: %s: %s: %s", name, check->claim, c.where, c.what);
        }
    }
    levada_conform_clear(&c);
}

static void they_pass_the_conformance_suite(void **state)
{
    (void)state;
    write_points();
    registers(every_main, "every");
    registers(my_reader_main, "my_reader");
    registers(prefixed_main, "prefixed");
    conforms("every", "range:100 | every:3", NULL);
    conforms("my_reader", "my_reader", NULL);
    conforms("prefixed", "prefixed:points.bin", NULL);
    conforms("decode_point", "prefixed:points.bin | decode_point", NULL);
}

static void registering_twice_does_nothing(void **state)
{
    (void)state;
    registers(every_main, "every");
    registers(every_main, "every");
    expect_blocks("range:100 | every:50", 2);
}

static levada_status same_name(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "every", 1);
    (void)err;
    return LEVADA_OK;
}

static void a_name_that_is_taken_is_refused(void **state)
{
    (void)state;
    registers(every_main, "every");
    refuses(same_name, LEVADA_EALREADY_EXISTS,
            "a plug-in 'every' is loaded already, from function 0x");
}

static levada_status older(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    (void)host;
    (void)err;
    plugin->abi = LEVADA_PLUGIN_ABI - 1;
    return LEVADA_EUNIMPLEMENTED;
}

static levada_status half(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "half", 1);
    LEVADA_TRY(host->add_filter(plugin, &inverted, err));
    return levada_fail(err, LEVADA_EABORTED, "no more");
}

static levada_status nameless(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "", 1);
    (void)err;
    return LEVADA_OK;
}

static void a_refusal_leaves_nothing(void **state)
{
    (void)state;
    refuses(older, LEVADA_EINVALID_ARGUMENT,
            "was compiled for plug-in ABI 4, but this levada has 5");
    refuses(nameless, LEVADA_EINVALID_ARGUMENT, "name");
    refuses(half, LEVADA_EABORTED, "no more");
    registers(inverted_main, "inverted"); /* the name is free still */
}

/* -- the log ----------------------------------------------------------------------------------- */

typedef struct log_lines {
    int  n[LEVADA_LOG_ERROR + 1];
    char last[256];
} log_lines;

static void log_line(void *user, levada_log_level level, const char *line)
{
    log_lines *lines = user;

    lines->n[level]++;
    (void)snprintf(lines->last, sizeof lines->last, "%s", line);
}

static levada_status talks_apply(void *state, const void *args, const levada_block *in,
                                 levada_block **out, levada_error *err)
{
    (void)state;
    (void)args;
    (void)err;
    *out = levada_block_ref(in);
    return LEVADA_OK;
}

static levada_status talks_open(void *state, const void *args, const levada_context *context,
                                levada_error *err)
{
    (void)state;
    (void)args;
    (void)err;
    for (int level = LEVADA_LOG_DEBUG; level <= LEVADA_LOG_ERROR; level++) {
        levada_context_log(context, (levada_log_level)level, "level\n%d", level);
    }
    return LEVADA_OK;
}

static const levada_stage_def talks = {
    .struct_size = sizeof(levada_stage_def),
    .name = "talks",
    .doc = "writes to the log",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
    .open = talks_open,
    .apply = talks_apply,
};

static levada_status talks_main(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "talks", 1);
    return host->add_stage(plugin, &talks, err);
}

static void the_log_has_the_levels_that_were_asked_for(void **state)
{
    (void)state;
    for (int least = LEVADA_LOG_DEBUG; least <= LEVADA_LOG_ERROR; least++) {
        levada_env_options o = LEVADA_ENV_OPTIONS_INIT;
        log_lines          lines = { .last = "" };

        o.log = log_line;
        o.user = &lines;
        o.log_level = (levada_log_level)least;
        levada_env_destroy(&env);
        assert_int_equal(levada_env_create(&o, &env, NULL), LEVADA_OK);
        registers(talks_main, "talks");
        if (least == LEVADA_LOG_INFO) {
            assert_non_null(strstr(lines.last, "plug-in 'talks' (version 1) from function 0x"));
        }
        expect_blocks("range:5 | talks", 5);
        for (int level = LEVADA_LOG_DEBUG; level <= LEVADA_LOG_ERROR; level++) {
            assert_int_equal(lines.n[level] > 0, level >= least);
        }
        assert_string_equal(lines.last, "level 3");
    }
}

static int enter_folder(void **state)
{
    (void)state;
    return chdir(t_folder());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_program_runs_its_own_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(they_pass_the_conformance_suite, set_up, tear_down),
        cmocka_unit_test_setup_teardown(registering_twice_does_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_name_that_is_taken_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refusal_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_log_has_the_levels_that_were_asked_for, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, enter_folder, t_folder_tear_down);
}
