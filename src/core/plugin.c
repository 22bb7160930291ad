/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading plug-ins: the host's side of levada/plugin.h.
 */
#define LEVADA_PLUGIN_HOST_SIDE
#include "core/registry.h"
#include <levada/plugin.h>

#include "base/alloc.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A library on its way in. What it registers is found by nobody until all of it is known to be
 * good: a library that is refused is unloaded, and nothing may be left that points into it. */
typedef struct plugin_loading {
    levada_env           *env;
    levada_registry_batch batch;
    levada_error          refused; /* of the first descriptor that was; code OK = none */
} plugin_loading;

static levada_status plugin_add(levada_plugin *plugin, levada_family family, const void *def,
                                levada_error *err)
{
    plugin_loading *loading = plugin->host;
    levada_error    why = LEVADA_ERROR_INIT;
    levada_status   st;

    if (plugin->name && *plugin->name) {
        st = levada_registry_batch_add(loading->env, &loading->batch, family, def, plugin->name,
                                       &why);
    } else {
        st = levada_fail(&why, LEVADA_EINVALID_ARGUMENT,
                         "a plug-in must give its name before it registers anything");
    }
    if (st == LEVADA_OK) return LEVADA_OK;
    if (loading->refused.code == LEVADA_OK) loading->refused = why;
    if (err) *err = why;
    return st;
}

static levada_status plugin_add_stage(levada_plugin *plugin, const levada_stage_def *def,
                                      levada_error *err)
{
    return plugin_add(plugin, LEVADA_FAMILY_STAGE, def, err);
}

static levada_status plugin_add_format(levada_plugin *plugin, const levada_format_def *def,
                                       levada_error *err)
{
    return plugin_add(plugin, LEVADA_FAMILY_FORMAT, def, err);
}

static levada_status plugin_add_source(levada_plugin *plugin, const levada_source_def *def,
                                       levada_error *err)
{
    return plugin_add(plugin, LEVADA_FAMILY_SOURCE, def, err);
}

static levada_status plugin_add_decoder(levada_plugin *plugin, const levada_decoder_def *def,
                                        levada_error *err)
{
    return plugin_add(plugin, LEVADA_FAMILY_DECODER, def, err);
}

static levada_status plugin_add_filter(levada_plugin *plugin, const levada_filter_def *def,
                                       levada_error *err)
{
    return plugin_add(plugin, LEVADA_FAMILY_FILTER, def, err);
}

static const levada_host plugin_host = {
    .struct_size = sizeof(levada_host),
    .add_stage = plugin_add_stage,
    .add_format = plugin_add_format,
    .add_source = plugin_add_source,
    .add_decoder = plugin_add_decoder,
    .add_filter = plugin_add_filter,
    .fail = levada_fail,
    .error_wrap = levada_error_wrap,
    .error_place = levada_error_place,
    .spec_create = levada_spec_create,
    .spec_ref = levada_spec_ref,
    .spec_unref = levada_spec_unref,
    .spec_count = levada_spec_count,
    .spec_field = levada_spec_field,
    .spec_find = levada_spec_find,
    .spec_flags_of = levada_spec_flags_of,
    .dtype_size = levada_dtype_size,
    .dtype_name = levada_dtype_name,
    .dtype_find = levada_dtype_find,
    .block_ref = levada_block_ref,
    .block_unref = levada_block_unref,
    .block_rows = levada_block_rows,
    .block_spec = levada_block_spec,
    .block_column = levada_block_column,
    .block_at = levada_block_at,
    .block_origin = levada_block_origin,
    .block_select = levada_block_select,
    .column_bytes = levada_column_bytes,
    .column_dim = levada_column_dim,
    .column_length = levada_column_length,
    .builder_create = levada_builder_create,
    .builder_destroy = levada_builder_destroy,
    .builder_dims = levada_builder_dims,
    .builder_offsets = levada_builder_offsets,
    .builder_ranges = levada_builder_ranges,
    .builder_values = levada_builder_values,
    .builder_lengths = levada_builder_lengths,
    .builder_share_values = levada_builder_share_values,
    .builder_share = levada_builder_share,
    .builder_push_bytes = levada_builder_push_bytes,
    .builder_push_i64 = levada_builder_push_i64,
    .builder_push_f64 = levada_builder_push_f64,
    .builder_end_row = levada_builder_end_row,
    .builder_reject = levada_builder_reject,
    .builder_publish = levada_builder_publish,
    .cursor_fill = levada_cursor_fill,
    .cursor_take = levada_cursor_take,
    .cursor_clear = levada_cursor_clear,
    .cursor_save = levada_cursor_save,
    .cursor_restore = levada_cursor_restore,
    .rowstore_create = levada_rowstore_create,
    .rowstore_destroy = levada_rowstore_destroy,
    .rowstore_count = levada_rowstore_count,
    .rowstore_add = levada_rowstore_add,
    .rowstore_take = levada_rowstore_take,
    .rowstore_peek = levada_rowstore_peek,
    .rowstore_save = levada_rowstore_save,
    .rowstore_restore = levada_rowstore_restore,
    .slots_free = levada_slots_free,
    .iter_next = levada_iter_next,
    .iter_rewind = levada_iter_rewind,
    .context_dropped = levada_context_dropped,
    .context_padded = levada_context_padded,
    .state_put_i64 = levada_state_put_i64,
    .state_put_bytes = levada_state_put_bytes,
    .state_put_i64s = levada_state_put_i64s,
    .state_get_i64 = levada_state_get_i64,
    .state_get_bytes = levada_state_get_bytes,
    .state_get_i64s = levada_state_get_i64s,
    .state_has = levada_state_has,
    .value_kind_of = levada_value_kind_of,
    .value_as_bool = levada_value_as_bool,
    .value_as_int = levada_value_as_int,
    .value_as_float = levada_value_as_float,
    .value_as_text = levada_value_as_text,
    .value_count = levada_value_count,
    .value_item = levada_value_item,
    .value_key = levada_value_key,
    .value_get = levada_value_get,
    .function_info = levada_function_info,
};

typedef levada_status (*plugin_main)(const levada_host *host, levada_plugin *plugin,
                                     levada_error *err);

/* dlopen wants a path with a slash, or it searches the system's folders. */
static levada_status plugin_open(const char *path, void **library, levada_error *err)
{
    char  absolute[4096];
    char *found = access(path, F_OK) == 0 ? realpath(path, absolute) : NULL;

    if (!found) return levada_fail(err, LEVADA_ENOT_FOUND, "there is no plug-in '%s'", path);
    *library = dlopen(found, RTLD_NOW | RTLD_LOCAL);
    if (!*library) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "'%s' can't be loaded: %s", path,
                           dlerror());
    }
    return LEVADA_OK;
}

static levada_status plugin_check(const char *path, const levada_plugin *plugin, levada_error *err)
{
    if (plugin->abi != LEVADA_PLUGIN_ABI) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "'%s' was made for plug-in ABI %lld, this is %d", path,
                           (long long)plugin->abi, LEVADA_PLUGIN_ABI);
    }
    if (plugin->needs > sizeof(levada_host)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "'%s' was made for a newer levada: it needs %zu bytes of host table, "
                           "this one has %zu",
                           path, plugin->needs, sizeof(levada_host));
    }
    if (!plugin->name || !*plugin->name) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "'%s' gives no name of itself", path);
    }
    return LEVADA_OK;
}

/* A plug-in that goes on behind a refused descriptor is refused all the same. */
static levada_status plugin_run(void *library, const char *path, levada_plugin *plugin,
                                levada_error *err)
{
    const plugin_loading *loading = plugin->host;
    void                 *symbol = dlsym(library, "levada_plugin_main");
    plugin_main           run;

    if (!symbol) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "'%s' is no plug-in: it exports no levada_plugin_main", path);
    }
    memcpy(&run, &symbol, sizeof run); /* ISO C has no cast from object to function */
    LEVADA_TRY(run(&plugin_host, plugin, err));
    if (loading->refused.code != LEVADA_OK) {
        if (err) *err = loading->refused;
        return loading->refused.code;
    }
    return plugin_check(path, plugin, err);
}

/* The names and the entry of the library: what can fail comes first. */
static levada_status plugin_publish(plugin_loading *loading, const char *path,
                                    const levada_plugin *plugin, levada_error *err)
{
    levada_plugin_info *made = NULL;
    levada_status       st;

    LEVADA_TRY(levada_env_make_plugin(loading->env, plugin->name, path, plugin->version, &made,
                                      err));
    st = levada_registry_batch_publish(loading->env, &loading->batch, err);
    if (st == LEVADA_OK) {
        levada_env_take_plugin(loading->env, made);
    } else {
        levada_free(made);
    }
    return st;
}

static levada_status plugin_load(levada_env *env, const char *path, levada_error *err)
{
    plugin_loading loading = { .env = env, .refused = LEVADA_ERROR_INIT };
    levada_plugin  plugin = { .struct_size = sizeof plugin, .host = &loading };
    void          *library = NULL;
    levada_status  st;

    LEVADA_TRY(plugin_open(path, &library, err));
    st = plugin_run(library, path, &plugin, err);
    if (st == LEVADA_OK) st = plugin_publish(&loading, path, &plugin, err);
    levada_registry_batch_clear(&loading.batch);
    if (st != LEVADA_OK) dlclose(library);
    return st;
}

/* Who comes while the same library is loaded finds it loaded, or tries again what failed. */
levada_status levada_plugin_load(levada_env *env, const char *path, const char **name_out,
                                 levada_error *err)
{
    const levada_plugin_info *info;
    levada_env               *own = levada_env_ref(env);
    levada_status             st = LEVADA_OK;

    if (!own) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    levada_env_begin_loading(own);
    info = levada_env_plugin(own, NULL, path);
    if (!info) {
        st = plugin_load(own, path, err);
        if (st == LEVADA_OK) info = levada_env_plugin(own, NULL, path);
    }
    levada_env_end_loading(own);
    if (st == LEVADA_OK && name_out) *name_out = info->name;
    levada_env_unref(&own);
    return st;
}
