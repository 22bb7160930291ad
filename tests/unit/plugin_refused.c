/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plug-in of test_plugin.c, which goes wrong as the variable LEVADA_TEST_PLUGIN says: half_first
 * and half_last are stages that are good, and what comes between them is not. Unset: it is good.
 */
#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

static levada_status half_apply(void *state, const void *args, const levada_block *in,
                                levada_block **out, levada_error *err)
{
    (void)state, (void)args, (void)err;
    *out = levada_block_ref(in);
    return LEVADA_OK;
}

static levada_status half_add(const levada_host *host, levada_plugin *plugin, const char *name,
                              levada_error *err)
{
    const levada_stage_def stage = {
        .struct_size = sizeof stage,
        .name = name,
        .doc = "records as they are",
        .example = "range:3",
        .mode = LEVADA_MODE_PURE,
        .takes_selection = true,
        .apply = half_apply,
    };

    return host->add_stage(plugin, &stage, err);
}

typedef struct half_args {
    const levada_dataset *pipe;
} half_args;

/* A stage with a default that is a pipe. */
static levada_status half_piped(const levada_host *host, levada_plugin *plugin, const char *name,
                                const char *pipe, levada_error *err)
{
    const levada_arg options[] = {
        LEVADA_ARG(PIPE, half_args, pipe, .otherwise = pipe, .doc = "is read by nobody"),
        LEVADA_ARG_END
    };
    const levada_stage_def stage = {
        .struct_size = sizeof stage,
        .name = name,
        .doc = "records as they are",
        .example = "range:3",
        .mode = LEVADA_MODE_PURE,
        .takes_selection = true,
        .args = options,
        .args_size = sizeof(half_args),
        .apply = half_apply,
    };

    return host->add_stage(plugin, &stage, err);
}

/* half_a has half_b in its default, and half_b what the test says. */
static levada_status half_defaults(const levada_host *host, levada_plugin *plugin,
                                   const char *wrong, levada_error *err)
{
    const char *other = "(range:3 | half_last)";

    if (strcmp(wrong, "defaults, loop") == 0) other = "(range:3 | half_a)";
    if (strcmp(wrong, "defaults, self") == 0) other = "(range:3 | half_b)";
    if (strcmp(wrong, "defaults, unknown") == 0) other = "(range:3 | half_c)";
    LEVADA_TRY(half_piped(host, plugin, "half_a", "(range:3 | half_b | half_first)", err));
    return half_piped(host, plugin, "half_b", other, err);
}

static levada_status half_broken(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    static const levada_filter_def filter = { .struct_size = sizeof filter, .name = "half_filter" };

    return host->add_filter(plugin, &filter, err);
}

static int32_t half_probe(const uint8_t *data, size_t size) { return data && size > 99; }

static levada_status half_decode(void *state, levada_filter_step *step, levada_error *err)
{
    (void)state, (void)err;
    step->finished = true;
    return LEVADA_OK;
}

/* Nothing to open or close it by. */
static levada_status half_unopened(const levada_host *host, levada_plugin *plugin,
                                   levada_error *err)
{
    static const levada_filter_def filter = {
        .struct_size = sizeof filter,
        .name = "half_filter",
        .probe = half_probe,
        .decode = half_decode,
    };

    return host->add_filter(plugin, &filter, err);
}

/* A record costs its length and 100. */
static levada_status half_cost(void *run, const levada_block *in, levada_block **out,
                               levada_error *err)
{
    static const levada_field field = { .name = "cost", .dtype = LEVADA_INT64 };
    const levada_column      *lengths = levada_block_at(in, 0);
    levada_spec              *spec = NULL;
    levada_builder           *b = NULL;
    levada_status             st;

    (void)run;
    LEVADA_TRY(levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, &spec, err));
    st = levada_builder_create(NULL, spec, -1, &b, err);
    for (int64_t i = 0; st == LEVADA_OK && i < levada_block_rows(in); i++)
        st = levada_builder_push_i64(b, 0, levada_column_i64(lengths)[i] + 100, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    levada_spec_unref(&spec);
    return st;
}

static levada_status half_functions(const levada_host *host, levada_plugin *plugin,
                                    const char *wrong, levada_error *err)
{
    levada_function_def def = {
        .struct_size = sizeof def,
        .kind = strcmp(wrong, "function, kind") == 0 ? "py" : "c",
        .name = strcmp(wrong, "function, nameless") == 0 ? NULL : "half_cost",
        .pure = true,
        .call = half_cost,
    };

    LEVADA_TRY(host->add_function(plugin, &def, NULL, err));
    return strcmp(wrong, "function, twice") == 0 ? host->add_function(plugin, &def, NULL, err)
                                                 : LEVADA_OK;
}

LEVADA_API levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin,
                                            levada_error *err)
{
    const char   *wrong = getenv("LEVADA_TEST_PLUGIN");
    levada_status st = LEVADA_OK;

    LEVADA_PLUGIN_BEGIN(host, plugin, "half", 1);
    if (!wrong) wrong = "";
    if (strcmp(wrong, "nameless") == 0) plugin->name = NULL;
    st = half_add(host, plugin, "half_first", err);
    if (strncmp(wrong, "slow", 4) == 0) nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
    if (st == LEVADA_OK && strcmp(wrong, "broken") == 0) st = half_broken(host, plugin, err);
    if (st == LEVADA_OK && strcmp(wrong, "unopened") == 0) st = half_unopened(host, plugin, err);
    if (st == LEVADA_OK && strcmp(wrong, "taken") == 0) st = half_add(host, plugin, "take", err);
    if (st == LEVADA_OK && strcmp(wrong, "twice") == 0) {
        st = half_add(host, plugin, "half_first", err);
    }
    if (st == LEVADA_OK && strncmp(wrong, "defaults", 8) == 0) {
        st = half_defaults(host, plugin, wrong, err);
    }
    if (st == LEVADA_OK) st = half_functions(host, plugin, wrong, err);
    if (strcmp(wrong, "ignored") == 0) (void)!half_add(host, plugin, "take", NULL);
    if (st == LEVADA_OK) st = half_add(host, plugin, "half_last", err);
    if (strcmp(wrong, "abi") == 0) plugin->abi++;
    if (strcmp(wrong, "newer") == 0) plugin->needs++;
    if (strcmp(wrong, "fails") == 0 || strcmp(wrong, "slow, fails") == 0) {
        return levada_fail(err, LEVADA_EUNAVAILABLE, "no licence");
    }
    return st;
}
