/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment connects the library to the program: memory for data, log, CPU level, plug-ins
 * and named functions. Create it first and pass it to parse, append, load and open; NULL means the
 * default environment. Everything created from it holds a reference, so its owner may destroy it at
 * any time. Any thread may call all functions.
 *
 * Example:
 *
 *     levada_env_options options = LEVADA_ENV_OPTIONS_INIT;
 *     levada_env        *env = NULL;
 *     char              *text = NULL;
 *
 *     options.max_bytes = 1 << 30; // buffers of at most 1 GiB
 *     LEVADA_TRY(levada_env_create(&options, &env, err));
 *     LEVADA_TRY(levada_config_describe(env, &text, err)); // version, CPU level, libraries
 *     levada_string_free(&text);
 *     levada_env_destroy(&env);
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
    LEVADA_CPU_AUTO, /* the best level of this machine */
    LEVADA_CPU_PORTABLE,
    LEVADA_CPU_SSE42,
    LEVADA_CPU_AVX2,
    LEVADA_CPU_AVX512
} levada_cpu_level;

/* Severity of a line of the log. */
typedef enum levada_log_level {
    LEVADA_LOG_DEBUG,   /* for authors of stages                                 */
    LEVADA_LOG_INFO,    /* an action, such as a plug-in that was loaded          */
    LEVADA_LOG_WARNING, /* an unexpected result, such as a file without a record */
    LEVADA_LOG_ERROR    /* a loss that no call returns as an error               */
} levada_log_level;

typedef struct levada_env_options {
    size_t           struct_size;
    levada_cpu_level cpu;       /* highest level of kernels to use               */
    int64_t          max_bytes; /* limit of pooled buffers in use; -1 = no limit */
    /* Allocate and free data buffers (64-byte aligned); NULL = the C library. `size` is the size
     * that was requested. */
    void *(*alloc)(void *user, size_t size);
    void (*free)(void *user, void *memory, size_t size);
    /* Writes one line, without a newline, to the log; NULL = no log. Several threads may call it at
     * the same time, and with locks held, so it must not call levada. */
    void (*log)(void *user, levada_log_level level, const char *line);
    void *user;
    /* Finds a function that a pipeline refers to and that is not in the table of the environment;
     * {"py": "module:qualname"} has the kind "py". *out receives a reference. Called on the thread
     * that parses the pipeline. NULL = only functions of the table exist. */
    levada_status (*resolve)(void *user, const char *kind, const char *name,
                             levada_function **out, levada_error *err);
    levada_log_level log_level; /* lines of lower levels are skipped */
} levada_env_options;

#define LEVADA_ENV_OPTIONS_INIT                                                        \
    {                                                                                  \
        sizeof(levada_env_options), LEVADA_CPU_AUTO, -1, NULL, NULL, NULL, NULL, NULL, \
            LEVADA_LOG_INFO                                                            \
    }
/* Sets *all to its defaults, for languages without macros; size is sizeof(levada_env_options). */
LEVADA_API void levada_env_options_init(levada_env_options *all, size_t size);

/* Creates an environment with the built-in stages, sources, formats and decoders. */
LEVADA_API LEVADA_MUST_USE levada_status levada_env_create(const levada_env_options *options,
                                                           levada_env **out, levada_error *err);
LEVADA_API void levada_env_destroy(levada_env **env);

/* Options of reading from storage that answers late (opener.h, preferred_bytes). */
typedef struct levada_io_options {
    size_t  struct_size;
    int32_t attempts;   /* tries of a request that fails temporarily, at least 1 */
    int64_t deadline;   /* limit of all attempts of a request together, in nanoseconds */
    int64_t read_ahead; /* limit of the bytes that all open files buffer, at least 1 MiB */
} levada_io_options;

#define LEVADA_IO_OPTIONS_INIT                                                        \
    {                                                                                 \
        sizeof(levada_io_options), 5, INT64_C(120000000000), INT64_C(64) << 20 \
    }
/* Sets *all to its defaults, for languages without macros; size is sizeof(levada_io_options). */
LEVADA_API void levada_io_options_init(levada_io_options *all, size_t size);
/* Sets the options for files that are opened from now on. EINVALID_ARGUMENT names the option that
 * is out of range. Any thread. */
LEVADA_API LEVADA_MUST_USE levada_status levada_env_set_io(levada_env              *env,
                                                           const levada_io_options *options,
                                                           levada_error            *err);

/* Adds a named function to the table that pipelines refer to; the environment keeps a reference. A
 * later function of the same kind and name replaces it. */
LEVADA_API LEVADA_MUST_USE levada_status levada_env_add_function(levada_env            *env,
                                                                 const levada_function *function,
                                                                 levada_error          *err);
/* Finds a function by kind and name; *out receives a reference. Returns ENOT_FOUND if neither the
 * table nor `resolve` has it. */
LEVADA_API LEVADA_MUST_USE levada_status levada_env_find_function(levada_env      *env,
                                                                  const char      *kind,
                                                                  const char      *name,
                                                                  levada_function **out,
                                                                  levada_error    *err);

/* Loads a plug-in (a shared object that exports levada_plugin_main, plugin.h) and registers all of
 * its names, or none if the call fails. Loading the same path again does nothing. A loaded library
 * is never unloaded. Any thread may call it, except from levada_plugin_main, because one library is
 * loaded at a time and other calls wait for it. *name_out (may be NULL) is borrowed for the life of
 * the environment. Returns ENOT_FOUND if the file does not exist, EINVALID_ARGUMENT if it is not a
 * plug-in or has an invalid descriptor, EALREADY_EXISTS if another library has registered a
 * name. */
LEVADA_API LEVADA_MUST_USE levada_status levada_plugin_load(levada_env *env, const char *path,
                                                            const char **name_out,
                                                            levada_error *err);

struct levada_host;
struct levada_plugin;
typedef levada_status (*levada_plugin_entry)(const struct levada_host *host,
                                             struct levada_plugin *plugin, levada_error *err);

/* Registers sources, formats, decoders, stages and filters of the program itself: calls `entry`,
 * which does what levada_plugin_main does in a plug-in (plugin.h), and registers all names or none.
 * Registering the same function again does nothing. Descriptors must be constant for the life of
 * the process. */
LEVADA_API LEVADA_MUST_USE levada_status levada_plugin_register(levada_env         *env,
                                                                levada_plugin_entry entry,
                                                                const char        **name_out,
                                                                levada_error       *err);

/* Describes this build and this machine as a JSON object; free it with levada_string_free:
 * {"version","cpu" (level of the environment's kernels),"cpu_detected","simd","futex","debug",
 *  "isal","simdjson","zlib","zstd" (version, or null if not built in)}. Without isal, zlib reads
 * gzip 2.5 times slower. Without zlib, zstd or simdjson, their files (or lines of JSON) cannot
 * be read. */
LEVADA_API LEVADA_MUST_USE levada_status levada_config_describe(levada_env *env, char **out,
                                                                levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
