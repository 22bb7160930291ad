/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment from the inside. It owns what all datasets and queues that use it share: the pool
 * of buffers, the kernels of the CPU, the registry of names, the functions that were registered,
 * the list of plug-ins, the wait list and the log callback. It is counted and may be used by any
 * thread.
 */
#ifndef LEVADA_REGISTRY_ENV_PRIV_H
#define LEVADA_REGISTRY_ENV_PRIV_H

#include "base/kernels.h"
#include "tensor/pool.h"
#include <levada/env.h>

/* Returns the kernels of an environment; NULL means the default environment everywhere here.
 * Borrowed. */
const levada_kernels *levada_env_kernels(const levada_env *env);
/* Returns true if the calling thread was interrupted, as levada_env_set_interrupted says. */
bool levada_env_is_interrupted(const levada_env *env);
/* Counts the CPUs of the process. */
int32_t levada_env_cpus(const levada_env *env);
/* Returns the options of levada_env_set_io. */
levada_io_options levada_env_io(const levada_env *env);
/* Returns the levada_late_decode of the environment. */
int32_t levada_env_late_decode(const levada_env *env);
/* Passes one line to the log callback, if there is one for that level. */
LEVADA_PRINTF(3, 4)
void levada_env_log(const levada_env *env, levada_log_level level, const char *fmt, ...);
bool levada_env_logs(const levada_env *env, levada_log_level level);

/* A library that was loaded, and is never unloaded; the strings live as long as the environment. */
typedef struct levada_plugin_info {
    const char *name, *path;
    int64_t     version;
} levada_plugin_info;

/* Begins to load a library; one library is loaded at a time, and other callers wait meanwhile. env
 * is not NULL here. Hold no other lock. */
void levada_env_begin_loading(levada_env *env);
void levada_env_end_loading(levada_env *env);
/* Makes an entry that nobody sees, which is freed with levada_free or taken. Returns
 * EALREADY_EXISTS if the name is there. */
LEVADA_MUST_USE levada_status levada_env_make_plugin(const levada_env *env, const char *name,
                                                     const char *path, int64_t version,
                                                     levada_plugin_info **out, levada_error *err);
void levada_env_take_plugin(levada_env *env, levada_plugin_info *plugin);
/* n functions, which nobody finds until they are taken; or freed. EALREADY_EXISTS: one of these
 * names is there. */
typedef struct levada_env_function levada_env_function;
LEVADA_MUST_USE levada_status levada_env_make_functions(const levada_env       *env,
                                                        levada_function *const *functions,
                                                        int64_t n, levada_env_function **out,
                                                        levada_error *err);
void levada_env_take_functions(levada_env *env, levada_env_function **functions);
void levada_env_free_functions(levada_env_function **functions);
/* Finds a plug-in by name, or by path if name is NULL; NULL if there is none. */
const levada_plugin_info *levada_env_plugin(const levada_env *env, const char *name,
                                            const char *path);

/* The table of names: registry.c knows what is in it. Made by levada_env_create. */
struct levada_registry;
struct levada_registry *levada_env_registry(const levada_env *env);
/* Makes an environment that has these names and shares everything else with `env`, which it keeps;
 * takes *names over. For looking at pipelines, not for running them. */
LEVADA_MUST_USE levada_status levada_env_view(levada_env *env, struct levada_registry **names,
                                              levada_env **out, levada_error *err);

/* Returns ERESOURCE_EXHAUSTED if `env` is NULL and no memory is left to create the default
 * environment. Public functions call it first: afterwards no lookup in `env` fails for lack of
 * it. */
LEVADA_MUST_USE levada_status levada_env_have(const levada_env *env, levada_error *err);

/* What lasts as long as the environment: pipes that were read (files/pipes.h). `destroy` frees it.
 */
typedef struct levada_env_kept {
    struct levada_env_kept *older;
    void (*destroy)(struct levada_env_kept *kept);
} levada_env_kept;
/* Returns the newest entry, or NULL; any thread may look while others add. */
levada_env_kept *levada_env_kept_first(const levada_env *env);
void             levada_env_keep(levada_env *env, levada_env_kept *kept); /* takes it */

levada_env *levada_env_ref(levada_env *env); /* NULL returns the default one */
void        levada_env_unref(levada_env **env);

#endif
