/* SPDX-License-Identifier: Apache-2.0 */
#define LEVADA_PLUGIN_HOST_SIDE
#include "check_memory.h"
#include <levada/plugin.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_MEMORY_ALIGNED 64 /* data buffers of an environment */

/* The functions of the table are called without anything of ours. */
static atomic_llong check_memory_left = INT64_MAX, check_memory_seen, check_memory_pieces;
static levada_host  check_memory_table;

static bool check_memory_fails(void)
{
    return atomic_fetch_add(&check_memory_seen, 1) == atomic_load(&check_memory_left);
}

static void *check_memory_count(void *memory)
{
    if (memory) atomic_fetch_add(&check_memory_pieces, 1);
    return memory;
}

/* -- data of the environment */

static void *check_memory_data(void *user, size_t size)
{
    size_t whole = (size + CHECK_MEMORY_ALIGNED - 1) / CHECK_MEMORY_ALIGNED * CHECK_MEMORY_ALIGNED;

    (void)user;
    if (whole < size || check_memory_fails()) return NULL;
    return check_memory_count(aligned_alloc(CHECK_MEMORY_ALIGNED, whole));
}

static void check_memory_data_free(void *user, void *memory, size_t size)
{
    (void)user, (void)size;
    if (memory) atomic_fetch_sub(&check_memory_pieces, 1);
    free(memory);
}

/* -- what the plug-in takes */

static void *check_memory_alloc(size_t size)
{
    return check_memory_fails() ? NULL : check_memory_count(levada_plugin_table()->alloc(size));
}

static void *check_memory_alloc_zero(size_t size)
{
    return check_memory_fails() ? NULL
                                : check_memory_count(levada_plugin_table()->alloc_zero(size));
}

static void *check_memory_realloc(void *memory, size_t size)
{
    void *more = check_memory_fails() ? NULL : levada_plugin_table()->realloc(memory, size);

    return memory ? more : check_memory_count(more);
}

static char *check_memory_strdup(const char *text)
{
    return check_memory_fails() ? NULL : check_memory_count(levada_plugin_table()->strdup(text));
}

static void check_memory_free(void *memory)
{
    if (memory) atomic_fetch_sub(&check_memory_pieces, 1);
    levada_plugin_table()->free(memory);
}

/* -- calls that take memory for it */

static levada_status check_memory_call(levada_error *err)
{
    if (!check_memory_fails()) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory (injected by the check)");
}

static levada_status check_memory_spec_create(const levada_field *fields, int32_t n, int32_t flags,
                                              levada_spec **out, levada_error *err)
{
    LEVADA_TRY(check_memory_call(err));
    return levada_plugin_table()->spec_create(fields, n, flags, out, err);
}

static levada_status check_memory_builder_create(levada_env *env, const levada_spec *spec,
                                                 int64_t rows, levada_builder **out,
                                                 levada_error *err)
{
    LEVADA_TRY(check_memory_call(err));
    return levada_plugin_table()->builder_create(env, spec, rows, out, err);
}

static levada_status check_memory_builder_offsets(levada_builder *b, int32_t field, int32_t level,
                                                  int64_t n, int32_t **out, levada_error *err)
{
    LEVADA_TRY(check_memory_call(err));
    return levada_plugin_table()->builder_offsets(b, field, level, n, out, err);
}

static levada_status check_memory_builder_values(levada_builder *b, int32_t field, int64_t count,
                                                 void **out, levada_error *err)
{
    LEVADA_TRY(check_memory_call(err));
    return levada_plugin_table()->builder_values(b, field, count, out, err);
}

static levada_status check_memory_builder_push_bytes(levada_builder *b, int32_t field,
                                                     const void *data, int64_t size,
                                                     levada_error *err)
{
    LEVADA_TRY(check_memory_call(err));
    return levada_plugin_table()->builder_push_bytes(b, field, data, size, err);
}

static levada_status check_memory_builder_push_i64(levada_builder *b, int32_t field, int64_t value,
                                                   levada_error *err)
{
    LEVADA_TRY(check_memory_call(err));
    return levada_plugin_table()->builder_push_i64(b, field, value, err);
}

static levada_status check_memory_builder_push_f64(levada_builder *b, int32_t field, double value,
                                                   levada_error *err)
{
    LEVADA_TRY(check_memory_call(err));
    return levada_plugin_table()->builder_push_f64(b, field, value, err);
}

static levada_status check_memory_builder_end_row(levada_builder *b, int32_t field,
                                                  levada_error *err)
{
    LEVADA_TRY(check_memory_call(err));
    return levada_plugin_table()->builder_end_row(b, field, err);
}

static levada_status check_memory_builder_publish(levada_builder **builder, levada_block **out,
                                                  levada_error *err)
{
    LEVADA_TRY(check_memory_call(err));
    return levada_plugin_table()->builder_publish(builder, out, err);
}

static levada_status check_memory_block_select(const levada_block *block, const int32_t *rows,
                                               int64_t n, levada_block **out, levada_error *err)
{
    LEVADA_TRY(check_memory_call(err));
    return levada_plugin_table()->block_select(block, rows, n, out, err);
}

static levada_status check_memory_cursor_take(levada_cursor *cur, int64_t limit, levada_block **out,
                                              levada_error *err)
{
    LEVADA_TRY(check_memory_call(err));
    return levada_plugin_table()->cursor_take(cur, limit, out, err);
}

static levada_status check_memory_rowstore_add(levada_rowstore *store, const levada_block *block,
                                               int64_t first, int64_t n, uint32_t *slots,
                                               levada_error *err)
{
    LEVADA_TRY(check_memory_call(err));
    return levada_plugin_table()->rowstore_add(store, block, first, n, slots, err);
}

static levada_status check_memory_rowstore_take(levada_rowstore *store, const uint32_t *slots,
                                                int64_t n, levada_block **out, levada_error *err)
{
    LEVADA_TRY(check_memory_call(err));
    return levada_plugin_table()->rowstore_take(store, slots, n, out, err);
}

static levada_status check_memory_state_put_i64(levada_state_writer *to, const char *key,
                                                int64_t value, levada_error *err)
{
    LEVADA_TRY(check_memory_call(err));
    return levada_plugin_table()->state_put_i64(to, key, value, err);
}

/* -- the plug-in meets the copy */

/* Makes the array large enough for one more item after the first n. */
static levada_status check_memory_reserve(void **at, int n, int *capacity, size_t size,
                                          levada_error *err)
{
    int   wanted = *capacity > 0 ? 2 * *capacity : 16;
    void *larger;

    if (n < *capacity) return LEVADA_OK;
    larger = realloc(*at, (size_t)wanted * size);
    if (!larger) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for the names");
    *at = larger;
    *capacity = wanted;
    return LEVADA_OK;
}

/* Names were registered when the plug-in was loaded; here the files of their examples are noted. */
static levada_status check_memory_note(levada_plugin *plugin, const char *name,
                                       const levada_example_file *files, levada_error *err)
{
    levada_check_memory *memory = plugin->host;

    LEVADA_TRY(check_memory_reserve((void **)&memory->examples, memory->nexamples,
                                    &memory->max_examples, sizeof *memory->examples, err));
    memory->examples[memory->nexamples++] = (levada_check_example){ .name = name, .files = files };
    return LEVADA_OK;
}

#define CHECK_MEMORY_FILES(def) \
    ((def)->struct_size >= sizeof *(def) ? (def)->example_files : NULL)

static levada_status check_memory_stage(levada_plugin *plugin, const levada_stage_def *def,
                                        levada_error *err)
{
    return check_memory_note(plugin, def->name, CHECK_MEMORY_FILES(def), err);
}

static levada_status check_memory_format(levada_plugin *plugin, const levada_format_def *def,
                                         levada_error *err)
{
    levada_check_memory *memory = plugin->host;
    size_t               size = sizeof *def;

    LEVADA_TRY(check_memory_note(plugin, def->name, CHECK_MEMORY_FILES(def), err));
    memcpy(&memory->examples[memory->nexamples - 1].format, def,
           def->struct_size < size ? def->struct_size : size);
    return LEVADA_OK;
}

static levada_status check_memory_source(levada_plugin *plugin, const levada_source_def *def,
                                         levada_error *err)
{
    return check_memory_note(plugin, def->name, CHECK_MEMORY_FILES(def), err);
}

static levada_status check_memory_decoder(levada_plugin *plugin, const levada_decoder_def *def,
                                          levada_error *err)
{
    return check_memory_note(plugin, def->name, CHECK_MEMORY_FILES(def), err);
}

static levada_status check_memory_filter(levada_plugin *plugin, const levada_filter_def *def,
                                         levada_error *err)
{
    levada_check_memory *memory = plugin->host;
    levada_filter_def    filter = { 0 };
    size_t               size = sizeof filter;

    LEVADA_TRY(check_memory_reserve((void **)&memory->filters, memory->nfilters,
                                    &memory->max_filters, sizeof *memory->filters, err));
    memcpy(&filter, def, def->struct_size < size ? def->struct_size : size);
    memory->filters[memory->nfilters++] = filter;
    return LEVADA_OK;
}

static levada_status check_memory_opener(levada_plugin *plugin, const levada_opener_def *def,
                                         levada_error *err)
{
    levada_check_memory *memory = plugin->host;
    levada_opener_def    opener = { 0 };
    size_t               size = sizeof opener;

    LEVADA_TRY(check_memory_reserve((void **)&memory->openers, memory->nopeners,
                                    &memory->max_openers, sizeof *memory->openers, err));
    memcpy(&opener, def, def->struct_size < size ? def->struct_size : size);
    memory->openers[memory->nopeners++] = opener;
    return LEVADA_OK;
}

static void check_memory_calls(levada_host *table)
{
    table->spec_create = check_memory_spec_create;
    table->builder_create = check_memory_builder_create;
    table->builder_offsets = check_memory_builder_offsets;
    table->builder_values = check_memory_builder_values;
    table->builder_push_bytes = check_memory_builder_push_bytes;
    table->builder_push_i64 = check_memory_builder_push_i64;
    table->builder_push_f64 = check_memory_builder_push_f64;
    table->builder_end_row = check_memory_builder_end_row;
    table->builder_publish = check_memory_builder_publish;
    table->block_select = check_memory_block_select;
    table->cursor_take = check_memory_cursor_take;
    table->rowstore_add = check_memory_rowstore_add;
    table->rowstore_take = check_memory_rowstore_take;
    table->state_put_i64 = check_memory_state_put_i64;
}

levada_status levada_check_meet(levada_check_memory *memory, levada_error *err)
{
    levada_plugin plugin = { .struct_size = sizeof plugin, .abi = LEVADA_PLUGIN_ABI,
                             .host = memory };
    levada_status (*run)(const levada_host *host, levada_plugin *plugin, levada_error *err);
    void *symbol;
    char  path[PATH_MAX];

    if (!memory->library && realpath(memory->path, path)) { /* without a slash it is looked for */
        memory->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    symbol = memory->library ? dlsym(memory->library, "levada_plugin_main") : NULL;
    if (!symbol) return levada_fail(err, LEVADA_ENOT_FOUND, "%s was removed", memory->path);
    memcpy(&run, &symbol, sizeof run); /* ISO C has no cast from object to function */
    check_memory_table = *levada_plugin_table();
    check_memory_table.add_stage = check_memory_stage;
    check_memory_table.add_format = check_memory_format;
    check_memory_table.add_source = check_memory_source;
    check_memory_table.add_decoder = check_memory_decoder;
    check_memory_table.add_filter = check_memory_filter;
    check_memory_table.add_opener = check_memory_opener;
    check_memory_table.alloc = check_memory_alloc;
    check_memory_table.alloc_zero = check_memory_alloc_zero;
    check_memory_table.realloc = check_memory_realloc;
    check_memory_table.strdup = check_memory_strdup;
    check_memory_table.free = check_memory_free;
    check_memory_calls(&check_memory_table);
    memory->nfilters = memory->nexamples = memory->nopeners = 0;
    return run(&check_memory_table, &plugin, err);
}

/* -- for the suite */

static levada_status check_memory_open(void *user, levada_env **out, levada_error *err)
{
    levada_check_memory *memory = user;
    levada_env_options   options = LEVADA_ENV_OPTIONS_INIT;
    levada_status        st;

    options.alloc = check_memory_data;
    options.free = check_memory_data_free;
    LEVADA_TRY(levada_env_create(&options, out, err));
    st = levada_plugin_load(*out, memory->path, NULL, err);
    if (st == LEVADA_OK) st = levada_check_meet(memory, err);
    if (st != LEVADA_OK) levada_env_destroy(out);
    return st;
}

static void check_memory_arm(void *user, int64_t number)
{
    (void)user;
    atomic_store(&check_memory_seen, 0);
    atomic_store(&check_memory_left, number);
}

static int64_t check_memory_disarm(void *user)
{
    (void)user;
    atomic_store(&check_memory_left, INT64_MAX);
    return atomic_load(&check_memory_seen);
}

static int64_t check_memory_live(void *user)
{
    (void)user;
    return atomic_load(&check_memory_pieces);
}

levada_conform_faults levada_check_faults(levada_check_memory *memory)
{
    levada_conform_faults faults = { memory, check_memory_open, check_memory_arm,
                                     check_memory_disarm, check_memory_live };

    return faults;
}

void levada_check_memory_clear(levada_check_memory *memory)
{
    if (memory->library) (void)dlclose(memory->library);
    free(memory->filters);
    free(memory->examples);
    free(memory->openers);
    *memory = (levada_check_memory){ .path = memory->path };
}
