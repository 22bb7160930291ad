/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment: everything from outside the library (memory for data, log, CPU level,
 * plug-ins, named functions). It is created first and passed to parse, append, load and open; NULL
 * means the default environment. Everything created from it holds a reference, so it may be
 * destroyed by its owner at any time. All functions may be called from any thread.
 */
#ifndef LEVADA_ENV_H
#define LEVADA_ENV_H

#include <levada/function.h>
#include <levada/version.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_env levada_env;

typedef enum levada_cpu_level {
    LEVADA_CPU_AUTO, /* the best that this machine has */
    LEVADA_CPU_PORTABLE,
    LEVADA_CPU_SSE42,
    LEVADA_CPU_AVX2,
    LEVADA_CPU_AVX512
} levada_cpu_level;

/* How much a line of the log matters. */
typedef enum levada_log_level {
    LEVADA_LOG_DEBUG,   /* for authors of stages                                            */
    LEVADA_LOG_INFO,    /* what was done: a plug-in was loaded                              */
    LEVADA_LOG_WARNING, /* the result may be unintended: a file without a record       */
    LEVADA_LOG_ERROR    /* something was lost, and no call returns it as an error           */
} levada_log_level;

typedef struct levada_env_options {
    size_t           struct_size;
    levada_cpu_level cpu;       /* highest level of kernels to use                           */
    int64_t          max_bytes; /* of pooled buffers at one time, -1 = no limit              */
    /* Memory of data buffers (64-byte aligned); NULL = the C library. `size` is what was asked. */
    void *(*alloc)(void *user, size_t size);
    void (*free)(void *user, void *memory, size_t size);
    /* One line for the log, without a newline. NULL = silent. Called from any thread, by several at
     * a time, with locks held: it must not call levada. */
    void (*log)(void *user, levada_log_level level, const char *line);
    void *user;
    /* A function that a description names and that is not in the table of the environment:
     * {"py": "module:qualname"} asks with kind "py". *out gets a reference. NULL = there is no
     * other. Called on the thread that reads the description. */
    levada_status (*resolve)(void *user, const char *kind, const char *name,
                             levada_function **out, levada_error *err);
    levada_log_level log_level; /* lines of lower levels are skipped  */
} levada_env_options;

#define LEVADA_ENV_OPTIONS_INIT                                                        \
    {                                                                                  \
        sizeof(levada_env_options), LEVADA_CPU_AUTO, -1, NULL, NULL, NULL, NULL, NULL, \
            LEVADA_LOG_INFO                                                            \
    }
/* The same for languages without macros; size is sizeof(levada_env_options). */
LEVADA_API void levada_env_options_init(levada_env_options *all, size_t size);

LEVADA_API LEVADA_MUST_USE levada_status levada_env_create(const levada_env_options *options,
                                                           levada_env **out, levada_error *err);
LEVADA_API void levada_env_destroy(levada_env **env);

/* Puts a function with a name into the table in which descriptions are looked up; the environment
 * keeps a reference. A later one of the same kind and name takes its place. */
LEVADA_API LEVADA_MUST_USE levada_status levada_env_add_function(levada_env            *env,
                                                                 const levada_function *function,
                                                                 levada_error          *err);
/* *out gets a reference. ENOT_FOUND naming it where neither the table nor `resolve` has it. */
LEVADA_API LEVADA_MUST_USE levada_status levada_env_find_function(levada_env      *env,
                                                                  const char      *kind,
                                                                  const char      *name,
                                                                  levada_function **out,
                                                                  levada_error    *err);

/* Loads a plug-in (a shared object that exports levada_plugin_main, plugin.h) and registers all
 * of its names, or none if it fails. Loading the same path again does nothing. A loaded library
 * is never unloaded. Any thread, but not from levada_plugin_main: one library is loaded at a time,
 * and other calls wait for it. *name_out (may be NULL) is borrowed for the life of the environment.
 * Errors: ENOT_FOUND (no such file), EINVALID_ARGUMENT (not a plug-in, or a descriptor that is
 * refused: the message says why), EALREADY_EXISTS (a name that another library has taken). */
LEVADA_API LEVADA_MUST_USE levada_status levada_plugin_load(levada_env *env, const char *path,
                                                            const char **name_out,
                                                            levada_error *err);

struct levada_host;
struct levada_plugin;
typedef levada_status (*levada_plugin_entry)(const struct levada_host *host,
                                             struct levada_plugin *plugin, levada_error *err);

/* The same for sources, formats, decoders, stages and filters of the program itself: calls `entry`,
 * which does what levada_plugin_main does in a plug-in (plugin.h), and registers everything or
 * nothing. Registering the same function again does nothing. Descriptors must be constant for the
 * life of the process. */
LEVADA_API LEVADA_MUST_USE levada_status levada_plugin_register(levada_env         *env,
                                                                levada_plugin_entry entry,
                                                                const char        **name_out,
                                                                levada_error       *err);

/* What this build and this machine have, as a JSON object; free it with levada_string_free:
 * {"version","cpu" (level of the environment's kernels),"cpu_detected","simd","futex","debug",
 *  "isal","simdjson","zlib","zstd" (the version that it was built with, null = without it)}.
 * Without isal gzip is read through zlib, 2.5 times slower; without zlib or zstd those files cannot
 * be read, nor lines of JSON without simdjson. */
LEVADA_API LEVADA_MUST_USE levada_status levada_config_describe(levada_env *env, char **out,
                                                                levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
