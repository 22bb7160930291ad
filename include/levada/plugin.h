/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plug-ins add your own formats, sources, decoders, stages, byte filters, openers and functions
 * (such as costs), without rebuilding levada.
 *
 * A plug-in is a shared object that exports levada_plugin_main and does not link against levada. It
 * receives a table of functions. This header maps the usual names to that table, so the code of a
 * plug-in reads like built-in code. One C file of a plug-in includes this header with
 *
 *     #define LEVADA_PLUGIN_MAIN
 *     #include <levada/plugin.h>
 *
 * and its other files include the header without the macro.
 *
 * A program that links levada can register its own descriptors without a shared object: it passes a
 * function like levada_plugin_main, of any name, to levada_plugin_register (env.h). Its file
 * defines LEVADA_PLUGIN_HOST_SIDE in place of LEVADA_PLUGIN_MAIN, so that the usual names are the
 * functions of the library; levada_plugin_table() has the entries that the library does not export.
 *
 * New entries are only added at the end of the table. A plug-in runs with every host whose table is
 * at least as long as the table that it was compiled with; in an older host LEVADA_PLUGIN_BEGIN
 * returns an error with the reason. Descriptors must be constant for the life of the process. If a
 * descriptor is rejected, or levada_plugin_main fails, nothing is registered and the library is
 * unloaded. A library that was loaded is never unloaded. If the default of an option is a
 * sub-pipeline, it may contain stages of this plug-in in any order, except for stages whose own
 * defaults contain this stage.
 *
 * Example:
 *
 *     static levada_status mine_main(const levada_host *host, levada_plugin *plugin,
 *                                    levada_error *err)
 *     {
 *         LEVADA_PLUGIN_BEGIN(host, plugin, "mine", 1); // name and version
 *         return host->add_stage(plugin, &same_stage, err); // the example of stage.h
 *     }
 */
#ifndef LEVADA_PLUGIN_H
#define LEVADA_PLUGIN_H

#include <levada/decoder.h>
#include <levada/filter.h>
#include <levada/opener.h>
#include <levada/rowstore.h>
#include <levada/source.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LEVADA_PLUGIN_ABI 5

typedef struct levada_bytes levada_bytes;

/* The properties of a plug-in, which levada_plugin_main fills in. */
typedef struct levada_plugin {
    size_t      struct_size;
    int64_t     abi;     /* set by the host, then LEVADA_PLUGIN_ABI as compiled    */
    size_t      needs;   /* bytes of the table that the plug-in uses               */
    const char *name;    /* name of the library, which datasets that need it store */
    int64_t     version; /* version of the descriptors, from 1                     */
    void       *host;    /* set by the host; used by add_*                         */
} levada_plugin;

/* The functions of the host. An entry exists if it is within the first struct_size bytes. */
typedef struct levada_host {
    size_t struct_size;
    /* Register a descriptor; only while levada_plugin_main runs. They return EINVALID_ARGUMENT if
     * the descriptor is invalid, and EALREADY_EXISTS if the name is registered. Loading fails with
     * the first rejected descriptor, even if levada_plugin_main returns OK. */
    levada_status (*add_stage)(levada_plugin *plugin, const levada_stage_def *def,
        levada_error *err);
    levada_status (*add_format)(levada_plugin *plugin, const levada_format_def *def,
        levada_error *err);
    levada_status (*add_source)(levada_plugin *plugin, const levada_source_def *def,
        levada_error *err);
    levada_status (*add_decoder)(levada_plugin *plugin, const levada_decoder_def *def,
        levada_error *err);
    levada_status (*add_filter)(levada_plugin *plugin, const levada_filter_def *def,
        levada_error *err);
    /* The functions of the same names, prefixed levada_. */
    levada_status (*fail)(levada_error *err, levada_status code, const char *fmt, ...);
    void (*error_wrap)(levada_error *err, const char *fmt, ...);
    void (*error_place)(levada_error *err, const char *stage, const char *file, int64_t record,
        int64_t offset);
    levada_status (*spec_create)(const levada_field *fields, int32_t n, int32_t flags,
        levada_spec **out, levada_error *err);
    levada_spec *(*spec_ref)(const levada_spec *spec);
    void (*spec_unref)(levada_spec **spec);
    int32_t (*spec_count)(const levada_spec *spec);
    const levada_field *(*spec_field)(const levada_spec *spec, int32_t i);
    int32_t (*spec_find)(const levada_spec *spec, const char *name);
    int32_t (*spec_flags_of)(const levada_spec *spec);
    int64_t (*dtype_size)(levada_dtype dtype);
    const char *(*dtype_name)(levada_dtype dtype);
    levada_dtype (*dtype_find)(const char *name);
    levada_block *(*block_ref)(const levada_block *block);
    void (*block_unref)(levada_block **block);
    int64_t (*block_rows)(const levada_block *block);
    const levada_spec *(*block_spec)(const levada_block *block);
    const levada_column *(*block_column)(const levada_block *block, const char *name);
    const levada_column *(*block_at)(const levada_block *block, int32_t i);
    levada_origin (*block_origin)(const levada_block *block, int64_t row);
    levada_status (*block_select)(const levada_block *block, const int32_t *rows, int64_t n,
        levada_block **out, levada_error *err);
    const uint8_t *(*column_bytes)(const levada_column *column, int64_t row, int64_t *size);
    int64_t (*column_dim)(const levada_column *column, int32_t d);
    int64_t (*column_length)(const levada_column *column, int64_t row);
    levada_status (*builder_create)(levada_env *env, const levada_spec *spec, int64_t rows,
        levada_builder **out, levada_error *err);
    void (*builder_destroy)(levada_builder **builder);
    void (*builder_dims)(levada_builder *b, int32_t field, const int64_t *dims);
    levada_status (*builder_offsets)(levada_builder *b, int32_t field, int32_t level, int64_t n,
        int32_t **out, levada_error *err);
    levada_status (*builder_ranges)(levada_builder *b, int32_t field, int32_t level, int64_t n,
        int32_t **begin, int32_t **end, levada_error *err);
    levada_status (*builder_values)(levada_builder *b, int32_t field, int64_t count, void **out,
        levada_error *err);
    levada_status (*builder_lengths)(levada_builder *b, int32_t field, int32_t **out,
        levada_error *err);
    void (*builder_share_values)(levada_builder *b, int32_t field, const uint8_t *values,
        const levada_buffer *owner);
    void (*builder_share)(levada_builder *b, int32_t field, const levada_column *column);
    levada_status (*builder_push_bytes)(levada_builder *b, int32_t field, const void *data,
        int64_t size, levada_error *err);
    levada_status (*builder_push_i64)(levada_builder *b, int32_t field, int64_t value,
        levada_error *err);
    levada_status (*builder_push_f64)(levada_builder *b, int32_t field, double value,
        levada_error *err);
    levada_status (*builder_end_row)(levada_builder *b, int32_t field, levada_error *err);
    levada_status (*builder_reject)(levada_builder *b, int64_t row, const levada_error *why,
        levada_error *err);
    levada_status (*builder_publish)(levada_builder **builder, levada_block **out,
        levada_error *err);
    levada_status (*cursor_fill)(levada_cursor *cur, levada_input *in, levada_error *err);
    levada_status (*cursor_take)(levada_cursor *cur, int64_t limit, levada_block **out,
        levada_error *err);
    void (*cursor_clear)(levada_cursor *cur);
    levada_status (*cursor_save)(const levada_cursor *cur, levada_state_writer *to,
        const char *key, levada_error *err);
    levada_status (*cursor_restore)(levada_cursor *cur, levada_state_reader *from,
        const char *key, levada_error *err);
    levada_status (*rowstore_create)(const levada_context *context, levada_rowstore **out,
        levada_error *err);
    void (*rowstore_destroy)(levada_rowstore **store);
    int64_t (*rowstore_count)(const levada_rowstore *store);
    levada_status (*rowstore_add)(levada_rowstore *store, const levada_block *block,
        int64_t first, int64_t n, uint32_t *slots, levada_error *err);
    levada_status (*rowstore_take)(levada_rowstore *store, const uint32_t *slots, int64_t n,
        levada_block **out, levada_error *err);
    levada_status (*rowstore_peek)(const levada_rowstore *store, const uint32_t *slots,
        int64_t n, levada_block **out, levada_error *err);
    levada_status (*rowstore_save)(const levada_rowstore *store, const uint32_t *slots,
        int64_t n, levada_state_writer *to, const char *key, levada_error *err);
    levada_status (*rowstore_restore)(levada_rowstore *store, levada_state_reader *from,
        const char *key, int64_t n, uint32_t **slots_out, levada_error *err);
    void (*slots_free)(uint32_t **slots);
    levada_status (*input_next)(levada_input *in, levada_block **out, levada_error *err);
    levada_status (*input_rewind)(levada_input *in, levada_error *err);
    void (*context_dropped)(const levada_context *context, int64_t records);
    levada_status (*state_put_i64)(levada_state_writer *to, const char *key, int64_t value,
        levada_error *err);
    levada_status (*state_put_bytes)(levada_state_writer *to, const char *key, const void *bytes,
        size_t size, levada_error *err);
    levada_status (*state_put_i64s)(levada_state_writer *to, const char *key,
        const int64_t *values, int64_t n, levada_error *err);
    levada_status (*state_get_i64)(levada_state_reader *from, const char *key, int64_t *out,
        levada_error *err);
    levada_status (*state_get_bytes)(levada_state_reader *from, const char *key,
        const void **out, size_t *size, levada_error *err);
    levada_status (*state_get_i64s)(levada_state_reader *from, const char *key,
        const int64_t **out, int64_t *n, levada_error *err);
    bool (*state_has)(const levada_state_reader *from, const char *key);
    levada_value_kind (*value_kind_of)(const levada_value *value);
    bool (*value_as_bool)(const levada_value *value);
    int64_t (*value_as_int)(const levada_value *value);
    double (*value_as_float)(const levada_value *value);
    const char *(*value_as_text)(const levada_value *value, size_t *size);
    int64_t (*value_count)(const levada_value *value);
    const levada_value *(*value_item)(const levada_value *value, int64_t i);
    const char *(*value_key)(const levada_value *map, int64_t i);
    const levada_value *(*value_get)(const levada_value *map, const char *key);
    const levada_function_def *(*function_info)(const levada_function *function);

    /* -- from here on: added after the first version */

    /* Allocate small objects: not cleared, cleared, or resized (the old memory stays valid on
     * failure). They return NULL if out of memory; then return ERESOURCE_EXHAUSTED. Free this
     * memory, and no other, with `free`. Use builders for the data of records. */
    void *(*alloc)(size_t size);
    void *(*alloc_zero)(size_t size);
    void *(*realloc)(void *memory, size_t size);
    void (*free)(void *memory);
    char *(*strdup)(const char *text);
    /* Computes count * size + extra; returns false and leaves *out unchanged on overflow. */
    bool (*size_of)(size_t count, size_t size, size_t extra, size_t *out);
    /* Random numbers without a generator: number `counter` is a function of a key, so there is no
     * state to save. The key of a stage is random_key(context->seed, context->epoch). */
    uint64_t (*random_key)(uint64_t seed, uint64_t epoch);
    uint64_t (*random_at)(uint64_t key, uint64_t counter);
    uint64_t (*random_draw)(uint64_t seed, uint64_t epoch, uint64_t counter); /* at(key(..), n) */
    uint64_t (*random_below)(uint64_t bits, uint64_t bound); /* 64 bits to 0 <= result < bound */
    double (*random_unit)(uint64_t bits);                    /* 64 bits to 0 <= result < 1     */
    levada_status (*context_reject)(const levada_context *context, const levada_block *record,
        int64_t unread, const levada_error *why, levada_error *err);
    bool (*context_cancelled)(const levada_context *context);
    void (*context_log)(const levada_context *context, levada_log_level level,
        const char *fmt, ...);
    const char *(*error_text)(const levada_error *err, char *text, size_t size);
    void (*error_clear)(levada_error *err);
    const char *(*status_name)(levada_status status);
    const char *(*status_text)(levada_status status);
    bool (*spec_equal)(const levada_spec *a, const levada_spec *b);
    bool (*block_exclusive)(const levada_block *block);
    int64_t (*block_bytes)(const levada_block *block);
    const int64_t *(*column_i64)(const levada_column *column);
    const int32_t *(*column_i32)(const levada_column *column);
    const float *(*column_f32)(const levada_column *column);
    const double *(*column_f64)(const levada_column *column);
    const uint8_t *(*column_u8)(const levada_column *column);
    levada_status (*value_parse_json)(const char *text, size_t size, levada_value **out,
        levada_error *err);
    void (*value_destroy)(levada_value **value);
    /* Opens a file and decompresses it, for sources that read files themselves (a format receives
     * windows of bytes). compression is NULL (by content), "none", or the name of a filter. One
     * owner, one thread. Errors contain the name of the file. */
    levada_status (*bytes_open)(levada_env *env, const char *path, const char *compression,
        levada_bytes **out, levada_error *err);
    void (*bytes_close)(levada_bytes **bytes);
    /* Reads up to `size` bytes: *made < size only at the end of the file or before damage, which
     * the next call reports; *made = 0 only at the end. */
    levada_status (*bytes_read)(levada_bytes *bytes, void *data, int64_t size, int64_t *made,
        levada_error *err);
    /* Continues at this offset of the decompressed bytes. Returns EOUT_OF_RANGE after the end. */
    levada_status (*bytes_seek)(levada_bytes *bytes, int64_t offset, levada_error *err);
    int64_t (*bytes_offset)(const levada_bytes *bytes);
    levada_status (*state_get_count)(levada_state_reader *from, const char *key, int64_t most,
        int64_t *out, levada_error *err);
    levada_status (*context_gather)(const levada_context *context, const levada_block *block,
        levada_block **out, levada_error *err);
    int64_t (*column_inner)(const levada_column *column);
    int32_t (*block_origin_parts)(const levada_block *block);
    levada_origin (*block_origin_part)(const levada_block *block, int64_t row, int32_t part);
    levada_status (*input_peek)(levada_input *in, const levada_block **out, levada_error *err);
    /* Registers an opener. Its scheme may be the name of another kind of descriptor. */
    levada_status (*add_opener)(levada_plugin *plugin, const levada_opener_def *def,
        levada_error *err);
    bool (*cancel_requested)(const levada_cancel *cancel);
    /* Registers a function of blocks (function.h) for options that accept functions, written as {c:
     * NAME} in a pipeline, such as cost={c: NAME} of bucket_by_sequence_length. def->kind is "c";
     * def and its strings are copied. Returns EALREADY_EXISTS if the name is registered. */
    levada_status (*add_function)(levada_plugin *plugin, const levada_function_def *def,
        void *user, levada_error *err);
    /* Returns the size of the file, for formats with a trailer; -1 if it is compressed. */
    int64_t (*bytes_size)(const levada_bytes *bytes);
    levada_status (*builder_origin)(levada_builder *b, int64_t row, int32_t file, int64_t record,
        int64_t offset, levada_error *err);
} levada_host;

/* The function that a plug-in exports. It fills in *plugin (with LEVADA_PLUGIN_BEGIN), registers
 * descriptors and returns OK. */
LEVADA_API levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin,
                                            levada_error *err);

#ifdef LEVADA_PLUGIN_HOST_SIDE

/* Returns the table that levada_plugin_load and levada_plugin_register pass, which is never freed.
 * `levada check` runs a plug-in with a copy in which allocations fail. */
LEVADA_API const levada_host *levada_plugin_table(void);

#define LEVADA_PLUGIN_HOST_(host_table) ((void)(host_table))

#else

#ifdef LEVADA_PLUGIN_MAIN
const levada_host *levada_plugin_host;
#else
extern const levada_host *levada_plugin_host;
#endif

#define LEVADA_PLUGIN_HOST_(host_table) (levada_plugin_host = (host_table))

#endif /* LEVADA_PLUGIN_HOST_SIDE */

/* The bytes of the table that the plug-in uses. To support older hosts, define it before you
 * include this header, as offsetof(levada_host, E), and use neither E nor any later entry. */
#ifndef LEVADA_PLUGIN_NEEDS
#define LEVADA_PLUGIN_NEEDS sizeof(levada_host)
#endif

/* The first statement of levada_plugin_main. If the host's table is incompatible or too short, it
 * returns from levada_plugin_main before any entry is called, and the host reports the reason. */
#define LEVADA_PLUGIN_BEGIN(host_table, plugin_out, plugin_name, plugin_version)          \
    do {                                                                                  \
        bool levada_fits_ = (plugin_out)->abi == LEVADA_PLUGIN_ABI                        \
                            && (host_table)->struct_size >= LEVADA_PLUGIN_NEEDS;          \
        LEVADA_PLUGIN_HOST_(host_table);                                                  \
        (plugin_out)->abi = LEVADA_PLUGIN_ABI;                                            \
        (plugin_out)->needs = LEVADA_PLUGIN_NEEDS;                                        \
        (plugin_out)->name = (plugin_name);                                               \
        (plugin_out)->version = (plugin_version);                                         \
        LEVADA_TRY(levada_fits_ ? LEVADA_OK : LEVADA_EUNIMPLEMENTED);                     \
    } while (0)

#ifndef LEVADA_PLUGIN_HOST_SIDE
#include <levada/plugin_names.h>
#endif

#ifdef __cplusplus
}
#endif

#endif
