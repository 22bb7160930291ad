/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables that grow while other threads read (functions, plug-ins) are lists that get new heads.
 */
#include "registry/env_priv.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/refs.h"
#include "base/text.h"
#include "base/versioned.h"
#include "registry/registry.h"
#include "runtime/wait_list.h"
#include "runtime/lock.h"
#include <levada/binding.h>

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct levada_env_function {
    levada_env_function *older;
    levada_function     *function;
};

typedef struct env_plugin {
    levada_plugin_info info; /* first: it stands for the entry */
    struct env_plugin *older;
    char               text[]; /* name and path, both terminated */
} env_plugin;

typedef bool(env_interrupted)(void);

struct levada_env {
    atomic_int              refs;
    levada_env_options      options;
    levada_pool            *pool;
    const levada_kernels   *kernels;
    levada_registry        *registry;
    levada_wait_list             *wait_list;
    _Atomic(levada_env_function *) functions;
    _Atomic(env_plugin *)   plugins;
    _Atomic(levada_env_kept *) kept;
    atomic_int              late_decode; /* a levada_late_decode */
    atomic_int              attempts;    /* of levada_io_options, as what follows */
    atomic_llong            deadline, read_ahead;
    _Atomic(env_interrupted *) interrupted;
    bool                    lockable;
    levada_guard            guard;
    levada_mutex            loading; /* held while a library is loaded */
    levada_env             *base;    /* of a view: who has the functions and the plug-ins */
};

/* The one global: made when it is first needed, and never freed. */
static _Atomic(levada_env *) env_default;

const char *levada_version(void)
{
    return LEVADA_VERSION;
}

static void env_free(levada_env *env)
{
    levada_env_function *functions = atomic_load(&env->functions);
    env_plugin          *plugin = atomic_load(&env->plugins);
    levada_env_kept     *kept = atomic_load(&env->kept);

    levada_env_free_functions(&functions);
    while (plugin != NULL) {
        env_plugin *older = plugin->older;
        levada_free(plugin);
        plugin = older;
    }
    while (kept != NULL) {
        levada_env_kept *older = kept->older;
        kept->destroy(kept);
        kept = older;
    }
    levada_registry_destroy(&env->registry);
    levada_wait_list_unref(&env->wait_list);
    levada_pool_unref(&env->pool);
    levada_guard_remove(&env->guard);
    if (env->lockable) levada_mutex_clear(&env->loading);
    if (env->base != NULL) levada_env_unref(&env->base);
    levada_free(env);
}

/* Releases the lock of loading, since a fork does not wait for a library that is being loaded: the
 * child may load it again. */
static void env_release(void *env, bool child)
{
    if (child) levada_mutex_renew(&((levada_env *)env)->loading);
}

static levada_status env_check(const levada_env_options *o, levada_error *err)
{
    if ((o->alloc == NULL) != (o->free == NULL)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "set alloc and free together, got only %s",
                           o->alloc != NULL ? "alloc" : "free");
    }
    if ((int)o->cpu < 0 || o->cpu > LEVADA_CPU_AVX512) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "cpu=%d must be a levada_cpu_level, from 0 to %d", (int)o->cpu,
                           (int)LEVADA_CPU_AVX512);
    }
    if (o->max_bytes < -1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "max_bytes=%lld must be at least -1; -1 = without a limit",
                           (long long)o->max_bytes);
    }
    if (o->log_level < LEVADA_LOG_DEBUG || o->log_level > LEVADA_LOG_ERROR) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "log_level=%d must be a levada_log_level",
                           (int)o->log_level);
    }
    return LEVADA_OK;
}

static void env_take_io(levada_env *env, const levada_io_options *io)
{
    atomic_store_explicit(&env->attempts, io->attempts, memory_order_relaxed);
    atomic_store_explicit(&env->deadline, io->deadline, memory_order_relaxed);
    atomic_store_explicit(&env->read_ahead, io->read_ahead, memory_order_relaxed);
}

levada_status levada_env_create(const levada_env_options *options, levada_env **out,
                                levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_env_options all = LEVADA_ENV_OPTIONS_INIT;
    levada_env        *env;
    levada_status      status = LEVADA_OK;

    if (options != NULL) {
        LEVADA_TRY(LEVADA_VERSIONED_READ(all, options, levada_env_options, err));
    }
    env = levada_alloc_zero(sizeof(*env));
    if (env == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    atomic_init(&env->refs, 1);
    env->options = all;
    env_take_io(env, &(levada_io_options)LEVADA_IO_OPTIONS_INIT);
    status = env_check(&all, err);
    if (status == LEVADA_OK) env->kernels = levada_kernels_for(all.cpu);
    if (status == LEVADA_OK) status = levada_mutex_init(&env->loading, LEVADA_LOCK_LOADING, err);
    env->lockable = status == LEVADA_OK;
    if (status == LEVADA_OK) status = levada_pool_create(&all, &env->pool, err);
    if (status == LEVADA_OK) status = levada_registry_create(&env->registry, err);
    if (status == LEVADA_OK) status = levada_wait_list_create(&env->wait_list, err);
    if (status == LEVADA_OK) levada_guard_add(&env->guard, NULL, env_release, env);
    if (status == LEVADA_OK) *out = env;
    else env_free(env);
    return status;
}

void levada_env_destroy(levada_env **env)
{
    if (!env) return;
    levada_env_unref(env);
}

/* Returns the default environment; NULL only if memory is short. */
static levada_env *env_get_default(void)
{
    levada_env *env = atomic_load_explicit(&env_default, memory_order_acquire), *made = NULL;

    if (env != NULL || levada_env_create(NULL, &made, NULL) != LEVADA_OK) return env;
    if (atomic_compare_exchange_strong_explicit(&env_default, &env, made, memory_order_acq_rel,
                                                memory_order_acquire)) {
        return made;
    }
    levada_env_unref(&made); /* another thread was faster */
    return env;
}

static const levada_env *env_or_default(const levada_env *env)
{
    return env != NULL ? env : env_get_default();
}

levada_status levada_env_have(const levada_env *env, levada_error *err)
{
    if (env_or_default(env) != NULL) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
}

levada_env *levada_env_ref(levada_env *env)
{
    if (env == NULL) env = env_get_default();
    if (env != NULL) levada_refs_add(&env->refs);
    return env;
}

void levada_env_unref(levada_env **env)
{
    levada_env *gone = *env;

    *env = NULL;
    if (gone == NULL || !levada_refs_drop(&gone->refs)) return;
    env_free(gone);
}

levada_pool *levada_env_pool(const levada_env *env)
{
    env = env_or_default(env);
    return env != NULL ? env->pool : NULL;
}

const levada_kernels *levada_env_kernels(const levada_env *env)
{
    env = env_or_default(env);
    return env != NULL ? env->kernels : levada_kernels_for(LEVADA_CPU_AUTO);
}

levada_wait_list *levada_env_wait_list(const levada_env *env)
{
    env = env_or_default(env);
    return env != NULL ? env->wait_list : NULL;
}

struct levada_registry *levada_env_registry(const levada_env *env)
{
    env = env_or_default(env);
    return env != NULL ? env->registry : NULL;
}

levada_status levada_env_view(levada_env *env, struct levada_registry **names, levada_env **out,
                              levada_error *err)
{
    levada_env *view = levada_alloc_zero(sizeof(*view));

    if (view != NULL) view->base = levada_env_ref(env);
    if (view == NULL || view->base == NULL) {
        levada_free(view);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    atomic_init(&view->refs, 1);
    view->options = view->base->options;
    view->pool = levada_pool_ref(view->base->pool);
    view->kernels = view->base->kernels;
    view->wait_list = levada_wait_list_ref(view->base->wait_list);
    view->registry = *names;
    *names = NULL;
    *out = view;
    return LEVADA_OK;
}

levada_env_kept *levada_env_kept_first(const levada_env *env)
{
    env = env_or_default(env);
    while (env != NULL && env->base != NULL) env = env->base;
    return env != NULL ? atomic_load_explicit(&env->kept, memory_order_acquire) : NULL;
}

void levada_env_keep(levada_env *env, levada_env_kept *kept)
{
    while (env->base != NULL) env = env->base;
    kept->older = atomic_load_explicit(&env->kept, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&env->kept, &kept->older, kept,
                                                  memory_order_release, memory_order_relaxed)) {}
}

bool levada_env_logs(const levada_env *env, levada_log_level level)
{
    env = env_or_default(env);
    return env != NULL && env->options.log != NULL && level >= env->options.log_level;
}

void levada_env_log(const levada_env *env, levada_log_level level, const char *fmt, ...)
{
    char    line[LEVADA_ERROR_TEXT + 256]; /* an error, and what it is about */
    va_list args;

    env = env_or_default(env);
    if (!levada_env_logs(env, level)) return;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    if (n >= 0) levada_text_hide_secrets(line);
    for (char *c = line; n >= 0 && *c != '\0'; c++) {
        if (*c == '\n') *c = ' ';
    }
    if (n >= 0) env->options.log(env->options.user, level, line);
}

static levada_env_function *env_make_function(const levada_function *function)
{
    levada_env_function *entry = levada_alloc(sizeof *entry);

    if (entry != NULL) *entry = (levada_env_function){ NULL, levada_function_ref(function) };
    return entry;
}

void levada_env_take_functions(levada_env *env, levada_env_function **functions)
{
    levada_env_function *newest = *functions, *oldest = newest;

    *functions = NULL;
    if (newest == NULL) return;
    while (oldest->older != NULL) oldest = oldest->older;
    oldest->older = atomic_load_explicit(&env->functions, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&env->functions, &oldest->older, newest,
                                                  memory_order_release, memory_order_relaxed)) {}
}

void levada_env_free_functions(levada_env_function **functions)
{
    while (*functions != NULL) {
        levada_env_function *gone = *functions;

        *functions = gone->older;
        levada_function_unref(&gone->function);
        levada_free(gone);
    }
}

levada_status levada_env_add_function(levada_env *env, const levada_function *function,
                                      levada_error *err)
{
    if (env == NULL) env = env_get_default();
    LEVADA_TRY(levada_require(function != NULL, "function", err));
    if (levada_function_info(function)->name == NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a function must have a name to be registered");
    }
    levada_env_function *entry = env != NULL ? env_make_function(function) : NULL;
    if (entry == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    levada_env_take_functions(env, &entry);
    return LEVADA_OK;
}

/* Returns the function in the table, or NULL. */
static const levada_function *env_known_function(const levada_env *env, const char *kind,
                                                 const char *name)
{
    const levada_env_function *entry =
        atomic_load_explicit(&env->functions, memory_order_acquire);

    for (; entry != NULL; entry = entry->older) {
        const levada_function_def *info = levada_function_info(entry->function);

        if (strcmp(info->kind, kind) == 0 && strcmp(info->name, name) == 0) return entry->function;
    }
    return NULL;
}

levada_status levada_env_make_functions(const levada_env *env, levada_function *const *functions,
                                        int64_t n, levada_env_function **out, levada_error *err)
{
    levada_status st = LEVADA_OK;

    *out = NULL;
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        const char          *name = levada_function_info(functions[i])->name;
        levada_env_function *entry = NULL;

        if (env_known_function(env, "c", name)) {
            st = levada_fail(err, LEVADA_EALREADY_EXISTS,
                             "a function '%s' is registered already; choose another name", name);
            break;
        }
        entry = env_make_function(functions[i]);
        if (entry == NULL) st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
        else entry->older = *out;
        if (entry != NULL) *out = entry;
    }
    if (st != LEVADA_OK) levada_env_free_functions(out);
    return st;
}

levada_status levada_env_find_function(levada_env *env, const char *kind, const char *name,
                                       levada_function **out, levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(kind != NULL, "kind", err));
    LEVADA_TRY(levada_require(name != NULL, "name", err));
    levada_function *found = NULL;

    if (env == NULL) env = env_get_default();
    if (env == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    if (env->base != NULL) env = env->base;
    found = levada_function_ref(env_known_function(env, kind, name));
    if (found == NULL && env->options.resolve != NULL) {
        return env->options.resolve(env->options.user, kind, name, out, err);
    }
    if (found == NULL) {
        return levada_fail(err, LEVADA_ENOT_FOUND,
                           "no function {\"%s\": \"%s\"} is registered; load the plug-in or the "
                           "module that registers it", kind, name);
    }
    *out = found;
    return LEVADA_OK;
}

void levada_env_set_resolve(levada_env *env,
                            levada_status (*resolve)(void *user, const char *kind, const char *name,
                                                     levada_function **out, levada_error *err))
{
    if (env == NULL) env = env_get_default();
    if (env != NULL) env->options.resolve = resolve;
}

void levada_env_set_late_decode(levada_env *env, levada_late_decode how)
{
    if (env == NULL) env = env_get_default();
    if (env != NULL) atomic_store_explicit(&env->late_decode, (int)how, memory_order_relaxed);
}

void levada_env_set_interrupted(levada_env *env, bool (*interrupted)(void))
{
    if (env == NULL) env = env_get_default();
    if (env != NULL) atomic_store(&env->interrupted, interrupted);
}

int32_t levada_env_cpus(const levada_env *env)
{
    return levada_wait_list_cpus(levada_env_wait_list(env));
}

bool levada_env_is_interrupted(const levada_env *env)
{
    levada_env      *own = (levada_env *)(uintptr_t)env_or_default(env);
    env_interrupted *interrupted = own ? atomic_load(&own->interrupted) : NULL;

    return interrupted && interrupted();
}

levada_status levada_env_set_io(levada_env *env, const levada_io_options *options,
                                levada_error *err)
{
    levada_io_options all = LEVADA_IO_OPTIONS_INIT;

    LEVADA_TRY(levada_require(options != NULL, "options", err));
    LEVADA_TRY(levada_env_have(env, err));
    LEVADA_TRY(LEVADA_VERSIONED_READ(all, options, levada_io_options, err));
    if (all.attempts < 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "attempts=%d must be at least 1",
                           (int)all.attempts);
    }
    if (all.deadline < 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "deadline=%lld must be at least 1 nanosecond", (long long)all.deadline);
    }
    if (all.read_ahead < INT64_C(1) << 20) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "read_ahead=%lld must be at least 1,048,576 bytes",
                           (long long)all.read_ahead);
    }
    env_take_io((levada_env *)(uintptr_t)env_or_default(env), &all);
    return LEVADA_OK;
}

levada_io_options levada_env_io(const levada_env *env)
{
    levada_io_options io = LEVADA_IO_OPTIONS_INIT;
    levada_env       *own = (levada_env *)(uintptr_t)env_or_default(env);

    if (!own) return io;
    if (own->base) own = own->base;
    io.attempts = atomic_load_explicit(&own->attempts, memory_order_relaxed);
    io.deadline = atomic_load_explicit(&own->deadline, memory_order_relaxed);
    io.read_ahead = atomic_load_explicit(&own->read_ahead, memory_order_relaxed);
    return io;
}

int32_t levada_env_late_decode(const levada_env *env)
{
    env = env_or_default(env);
    if (env == NULL) return LEVADA_LATE_DECODE_AUTO;
    return atomic_load_explicit(&((levada_env *)(uintptr_t)env)->late_decode, memory_order_relaxed);
}

void levada_env_begin_loading(levada_env *env) { levada_mutex_lock(&env->loading); }

void levada_env_end_loading(levada_env *env) { levada_mutex_unlock(&env->loading); }

const levada_plugin_info *levada_env_plugin(const levada_env *env, const char *name,
                                            const char *path)
{
    env = env_or_default(env);
    if (env == NULL) return NULL;
    if (env->base != NULL) env = env->base;
    const env_plugin *plugin = atomic_load_explicit(&env->plugins, memory_order_acquire);
    for (; plugin != NULL; plugin = plugin->older) {
        const char *have = name != NULL ? plugin->info.name : plugin->info.path;
        if (strcmp(have, name != NULL ? name : path) == 0) return &plugin->info;
    }
    return NULL;
}

levada_status levada_env_make_plugin(const levada_env *env, const char *name, const char *path,
                                     int64_t version, levada_plugin_info **out, levada_error *err)
{
    const levada_plugin_info *known = levada_env_plugin(env, name, NULL);
    size_t                    n = strlen(name) + 1, size = n + strlen(path) + 1;

    if (known != NULL) {
        return levada_fail(err, LEVADA_EALREADY_EXISTS,
                           "a plug-in '%s' is loaded already, from %s", name, known->path);
    }
    env_plugin *plugin = levada_alloc(sizeof(*plugin) + size);
    if (plugin == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    memcpy(plugin->text, name, n);
    memcpy(plugin->text + n, path, size - n);
    plugin->info = (levada_plugin_info){plugin->text, plugin->text + n, version};
    *out = &plugin->info;
    return LEVADA_OK;
}

void levada_env_take_plugin(levada_env *env, levada_plugin_info *info)
{
    env_plugin *plugin = (env_plugin *)info;

    plugin->older = atomic_load_explicit(&env->plugins, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&env->plugins, &plugin->older, plugin,
                                                  memory_order_release, memory_order_relaxed)) {}
}

LEVADA_VERSIONED_INIT(levada_env_options_init, levada_env_options, LEVADA_ENV_OPTIONS_INIT)
LEVADA_VERSIONED_INIT(levada_io_options_init, levada_io_options, LEVADA_IO_OPTIONS_INIT)
