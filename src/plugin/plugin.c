/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading plug-ins, and registering those of the program: the host's side of levada/plugin.h.
 */
#include "plugin/plugin.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "description/dataset_priv.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A library on its way in. What it registers is found by nobody until all of it is known to be
 * good: a library that is refused is unloaded, and nothing may be left that points into it. */
typedef struct plugin_loading {
    levada_env      *env;
    levada_op      **ops; /* owned until they are published */
    int64_t          n, capacity;
    levada_function **functions; /* owned */
    int64_t          nfunctions, functions_capacity;
    levada_registry *names;   /* those of the environment and of ops; NULL = none of ops yet */
    levada_error     refused; /* of the first descriptor that was; code OK = none */
} plugin_loading;

static levada_status plugin_no_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
}

static levada_status plugin_name_op(plugin_loading *loading, levada_op *op, levada_error *err)
{
    levada_registry *known = levada_env_registry(loading->env);

    if (loading->names != NULL) return levada_registry_insert(loading->names, &op, 1, err);
    return levada_registry_lend(known, &op, 1, &loading->names, err);
}

static levada_status plugin_take_op(plugin_loading *loading, levada_family family, const void *def,
                                    const char *name, levada_error *err)
{
    levada_op *op = NULL;

    if (!levada_reserve(&loading->ops, &loading->capacity, loading->n + 1, sizeof(op))) {
        return plugin_no_memory(err);
    }
    LEVADA_TRY(levada_op_create(family, def, name, &op, err));
    levada_status status = plugin_name_op(loading, op, err);
    if (status == LEVADA_OK) loading->ops[loading->n++] = op;
    else levada_op_destroy(&op);
    return status;
}

levada_status levada_plugin_add(levada_plugin *plugin, levada_family family, const void *def,
                                levada_error *err)
{
    plugin_loading *loading = plugin->host;
    levada_error    why = LEVADA_ERROR_INIT;
    levada_status   st;

    if (plugin->name && *plugin->name) {
        st = plugin_take_op(loading, family, def, plugin->name, &why);
    } else {
        st = levada_fail(&why, LEVADA_EINVALID_ARGUMENT,
                         "a plug-in must set its name before it registers anything");
    }
    if (st == LEVADA_OK) return LEVADA_OK;
    if (loading->refused.code == LEVADA_OK) loading->refused = why;
    if (err) *err = why;
    return st;
}

/* Registers a function; no two of one library have the same name, and that of another library is
 * found when all are published. */
static levada_status plugin_take_function(plugin_loading *loading, const levada_function_def *def,
                                          void *user, levada_error *err)
{
    levada_function           *made = NULL;
    const levada_function_def *info;
    levada_status              st = LEVADA_OK;

    if (!levada_reserve(&loading->functions, &loading->functions_capacity,
                        loading->nfunctions + 1, sizeof made)) {
        return plugin_no_memory(err);
    }
    LEVADA_TRY(levada_function_create(def, user, &made, err));
    info = levada_function_info(made);
    if (strcmp(info->kind, "c") != 0 || !info->name || !*info->name) {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "a function of a plug-in must have the kind c and a name");
    }
    for (int64_t i = 0; st == LEVADA_OK && i < loading->nfunctions; i++) {
        if (strcmp(levada_function_info(loading->functions[i])->name, info->name) != 0) continue;
        st = levada_fail(err, LEVADA_EALREADY_EXISTS,
                         "a function '%s' is registered already; choose another name", info->name);
    }
    if (st == LEVADA_OK) loading->functions[loading->nfunctions++] = made;
    else levada_function_unref(&made);
    return st;
}

levada_status levada_plugin_add_function(levada_plugin *plugin, const levada_function_def *def,
                                         void *user, levada_error *err)
{
    plugin_loading *loading = plugin->host;
    levada_error    why = LEVADA_ERROR_INIT;
    levada_status   st = plugin_take_function(loading, def, user, &why);

    if (st == LEVADA_OK) return LEVADA_OK;
    if (loading->refused.code == LEVADA_OK) loading->refused = why;
    if (err) *err = why;
    return st;
}

/* Opens a library; dlopen wants a path with a slash, or it searches the system's directories. */
static levada_status plugin_open(const char *path, void **library, levada_error *err)
{
    char  absolute[4096];
    char *found = access(path, F_OK) == 0 ? realpath(path, absolute) : NULL;

    if (!found) return levada_fail(err, LEVADA_ENOT_FOUND, "plug-in '%s' does not exist", path);
    *library = dlopen(found, RTLD_NOW | RTLD_LOCAL);
    if (!*library) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "'%s' cannot be loaded: %s", path,
                           dlerror());
    }
    return LEVADA_OK;
}

/* Errors that any table can have, even if levada_plugin_main returned early because of them. */
static levada_status plugin_fits(const char *path, const levada_plugin *plugin, levada_error *err)
{
    if (plugin->abi != LEVADA_PLUGIN_ABI) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "'%s' was compiled for plug-in ABI %lld, but this levada has %d", path,
                           (long long)plugin->abi, LEVADA_PLUGIN_ABI);
    }
    if (plugin->needs > sizeof(levada_host)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "'%s' was compiled for a newer levada: it needs %zu bytes of the host "
                           "table, but levada %s has %zu",
                           path, plugin->needs, levada_version(), sizeof(levada_host));
    }
    return LEVADA_OK;
}

static levada_status plugin_find_entry(void *library, const char *path, levada_plugin_entry *out,
                                       levada_error *err)
{
    void *symbol = dlsym(library, "levada_plugin_main");

    if (!symbol) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "'%s' is not a plug-in: it does not export levada_plugin_main", path);
    }
    memcpy(out, &symbol, sizeof *out); /* ISO C has no cast from object to function */
    return LEVADA_OK;
}

/* Refuses a plug-in that continues after a refused descriptor. */
static levada_status plugin_run(levada_plugin_entry entry, const char *path, levada_plugin *plugin,
                                levada_error *err)
{
    const plugin_loading *loading = plugin->host;
    levada_error          why = LEVADA_ERROR_INIT;
    levada_status         st;

    st = entry(levada_plugin_table(), plugin, &why);
    LEVADA_TRY(plugin_fits(path, plugin, err));
    if (st != LEVADA_OK && why.code == LEVADA_OK) {
        return levada_fail(err, st < 0 ? st : LEVADA_EUNKNOWN, "'%s' failed to register: %s", path,
                           levada_status_text(st));
    }
    if (st == LEVADA_OK && loading->refused.code != LEVADA_OK) {
        why = loading->refused;
        st = why.code;
    }
    if (st != LEVADA_OK) {
        if (err) *err = why;
        return st;
    }
    if (plugin->name && *plugin->name) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "'%s' does not set a plug-in name", path);
}

/* Checks the defaults of options: one that is a pipe may name stages of the library that came
 * later. */
static levada_status plugin_check_defaults(plugin_loading *loading, levada_error *err)
{
    levada_env   *view = NULL;
    levada_status st = LEVADA_OK;

    if (loading->names == NULL) return LEVADA_OK;
    LEVADA_TRY(levada_env_view(loading->env, &loading->names, &view, err));
    for (int64_t i = 0; st == LEVADA_OK && i < loading->n; i++) {
        const levada_op  *op = loading->ops[i];
        const levada_arg *arg = op->args;

        for (; st == LEVADA_OK && arg->name != NULL; arg++) {
            levada_value *value = NULL;

            st = levada_parse_default(view, op, arg, NULL, &value, err);
            levada_value_destroy(&value);
        }
        if (st != LEVADA_OK) levada_error_wrap(err, "%s", op->name);
    }
    levada_env_unref(&view);
    return st;
}

/* Publishes the names and the entry of the library: what can fail comes first. */
static levada_status plugin_publish(plugin_loading *loading, const char *path,
                                    const levada_plugin *plugin, levada_error *err)
{
    levada_plugin_info  *made = NULL;
    levada_env_function *functions = NULL;
    levada_status        st;

    LEVADA_TRY(plugin_check_defaults(loading, err));
    LEVADA_TRY(levada_env_make_plugin(loading->env, plugin->name, path, plugin->version, &made,
                                      err));
    st = levada_env_make_functions(loading->env, loading->functions, loading->nfunctions,
                                   &functions, err);
    if (st == LEVADA_OK && loading->n > 0) {
        st = levada_registry_insert(levada_env_registry(loading->env), loading->ops,
                                    (int32_t)loading->n, err);
    }
    if (st == LEVADA_OK) {
        loading->n = 0;
        levada_env_take_functions(loading->env, &functions);
        levada_env_take_plugin(loading->env, made);
        levada_env_log(loading->env, LEVADA_LOG_INFO, "plug-in '%s' (version %lld) from %s",
                       plugin->name, (long long)plugin->version, path);
    } else {
        levada_env_free_functions(&functions);
        levada_free(made);
    }
    return st;
}

/* Registers a library; `path` names the entry in messages, and with it a second registration is
 * recognized. */
static levada_status plugin_take(levada_env *env, levada_plugin_entry entry, const char *path,
                                 levada_error *err)
{
    plugin_loading loading = { .env = env, .refused = LEVADA_ERROR_INIT };
    levada_plugin  plugin = {
        .struct_size = sizeof plugin, .abi = LEVADA_PLUGIN_ABI, .host = &loading
    };
    levada_status  st;

    st = plugin_run(entry, path, &plugin, err);
    if (st == LEVADA_OK) st = plugin_publish(&loading, path, &plugin, err);
    for (int64_t i = 0; i < loading.n; i++) levada_op_destroy(&loading.ops[i]);
    for (int64_t i = 0; i < loading.nfunctions; i++) levada_function_unref(&loading.functions[i]);
    levada_free(loading.ops);
    levada_free(loading.functions);
    levada_registry_destroy(&loading.names);
    return st;
}

static levada_status plugin_load(levada_env *env, const char *path, levada_error *err)
{
    levada_plugin_entry entry = NULL;
    void               *library = NULL;
    levada_status       st;

    LEVADA_TRY(plugin_open(path, &library, err));
    st = plugin_find_entry(library, path, &entry, err);
    if (st == LEVADA_OK) st = plugin_take(env, entry, path, err);
    if (st != LEVADA_OK) dlclose(library);
    return st;
}

/* Loads a library once: a caller that comes while the same library is loaded finds it loaded, or
 * tries again what failed. entry NULL: the path is that of a library. */
static levada_status plugin_once(levada_env *env, levada_plugin_entry entry, const char *path,
                                 const char **name_out, levada_error *err)
{
    const levada_plugin_info *info;
    levada_env               *own = levada_env_ref(env);
    levada_status             st = LEVADA_OK;

    if (!own) return plugin_no_memory(err);
    levada_env_begin_loading(own);
    info = levada_env_plugin(own, NULL, path);
    if (!info) {
        st = entry ? plugin_take(own, entry, path, err) : plugin_load(own, path, err);
        if (st == LEVADA_OK) info = levada_env_plugin(own, NULL, path);
    }
    levada_env_end_loading(own);
    if (st == LEVADA_OK && name_out) *name_out = info->name;
    levada_env_unref(&own);
    return st;
}

levada_status levada_plugin_load(levada_env *env, const char *path, const char **name_out,
                                 levada_error *err)
{
    LEVADA_TRY(levada_require(path != NULL, "path", err));
    LEVADA_TRY(levada_env_have(env, err));
    return plugin_once(env, NULL, path, name_out, err);
}

levada_status levada_plugin_register(levada_env *env, levada_plugin_entry entry,
                                     const char **name_out, levada_error *err)
{
    char      path[40];
    uintptr_t at = 0;

    LEVADA_TRY(levada_require(entry != NULL, "entry", err));
    LEVADA_TRY(levada_env_have(env, err));
    memcpy(&at, &entry, sizeof at < sizeof entry ? sizeof at : sizeof entry);
    (void)snprintf(path, sizeof path, "function 0x%llx", (unsigned long long)at);
    return plugin_once(env, entry, path, name_out, err);
}
