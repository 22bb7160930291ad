/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plug-ins: formats, sources, decoders, stages and byte filters of one's own, without a fork and
 * without a rebuild.
 *
 * A plug-in is a shared object that exports levada_plugin_main and links nothing of levada: it is
 * handed a table of functions, and this header maps the usual names to that table, so its code
 * reads like built-in code. A plug-in has one C file that includes this header with
 *
 *     #define LEVADA_PLUGIN_MAIN
 *     #include <levada/plugin.h>
 *
 * (other files of it include the header without the macro). The table only grows at its end; a
 * plug-in that needs more than the host has is refused when it is loaded. Descriptors must be
 * constant for the life of the process. Loading is all or nothing: where one descriptor is refused,
 * or levada_plugin_main fails, nothing is registered and the library is unloaded again; one that
 * was loaded is never unloaded. Until then its names are not there: the default of an option that
 * is a pipe can't use a stage of the same plug-in.
 */
#ifndef LEVADA_PLUGIN_H
#define LEVADA_PLUGIN_H

#include <levada/decoder.h>
#include <levada/filter.h>
#include <levada/rowstore.h>
#include <levada/source.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LEVADA_PLUGIN_ABI 1

/* What levada_plugin_main fills in. */
typedef struct levada_plugin {
    size_t      struct_size;
    int64_t     abi;     /* LEVADA_PLUGIN_ABI as compiled                        */
    size_t      needs;   /* sizeof(levada_host) as compiled                      */
    const char *name;    /* of the library: a dataset that needs it names it     */
    int64_t     version; /* of its descriptors, from 1                           */
    void       *host;    /* the host's; passed back to add_*                     */
} levada_plugin;

/* What the host offers. */
typedef struct levada_host {
    size_t struct_size;
    /* Register a descriptor; only while levada_plugin_main runs. EINVALID_ARGUMENT: it breaks the
     * contract, the message says how; EALREADY_EXISTS: the name is taken. Loading fails with the
     * first refusal, even where levada_plugin_main returns OK. */
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
    levada_status (*cursor_fill)(levada_cursor *cur, levada_iter *in, levada_error *err);
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
    levada_status (*iter_next)(levada_iter *it, levada_block **out, levada_error *err);
    levada_status (*iter_rewind)(levada_iter *in, levada_error *err);
    void (*context_dropped)(const levada_context *context, int64_t records);
    void (*context_padded)(const levada_context *context, int64_t all, int64_t payload);
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
} levada_host;

/* The one exported function: fill in *plugin (LEVADA_PLUGIN_BEGIN does), register, return OK. */
LEVADA_API levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin,
                                            levada_error *err);

#ifndef LEVADA_PLUGIN_HOST_SIDE

#ifdef LEVADA_PLUGIN_MAIN
const levada_host *levada_plugin_host;
#else
extern const levada_host *levada_plugin_host;
#endif

/* The first statement of levada_plugin_main. */
#define LEVADA_PLUGIN_BEGIN(host_table, plugin_out, plugin_name, plugin_version) \
    do {                                                                         \
        levada_plugin_host = (host_table);                                       \
        (plugin_out)->abi = LEVADA_PLUGIN_ABI;                                   \
        (plugin_out)->needs = sizeof(levada_host);                               \
        (plugin_out)->name = (plugin_name);                                      \
        (plugin_out)->version = (plugin_version);                                \
    } while (0)

#define levada_fail (levada_plugin_host->fail)
#define levada_error_wrap (levada_plugin_host->error_wrap)
#define levada_error_place (levada_plugin_host->error_place)
#define levada_spec_create (levada_plugin_host->spec_create)
#define levada_spec_ref (levada_plugin_host->spec_ref)
#define levada_spec_unref (levada_plugin_host->spec_unref)
#define levada_spec_count (levada_plugin_host->spec_count)
#define levada_spec_field (levada_plugin_host->spec_field)
#define levada_spec_find (levada_plugin_host->spec_find)
#define levada_spec_flags_of (levada_plugin_host->spec_flags_of)
#define levada_dtype_size (levada_plugin_host->dtype_size)
#define levada_dtype_name (levada_plugin_host->dtype_name)
#define levada_dtype_find (levada_plugin_host->dtype_find)
#define levada_block_ref (levada_plugin_host->block_ref)
#define levada_block_unref (levada_plugin_host->block_unref)
#define levada_block_rows (levada_plugin_host->block_rows)
#define levada_block_spec (levada_plugin_host->block_spec)
#define levada_block_column (levada_plugin_host->block_column)
#define levada_block_at (levada_plugin_host->block_at)
#define levada_block_origin (levada_plugin_host->block_origin)
#define levada_block_select (levada_plugin_host->block_select)
#define levada_column_bytes (levada_plugin_host->column_bytes)
#define levada_column_dim (levada_plugin_host->column_dim)
#define levada_column_length (levada_plugin_host->column_length)
#define levada_builder_create (levada_plugin_host->builder_create)
#define levada_builder_destroy (levada_plugin_host->builder_destroy)
#define levada_builder_dims (levada_plugin_host->builder_dims)
#define levada_builder_offsets (levada_plugin_host->builder_offsets)
#define levada_builder_ranges (levada_plugin_host->builder_ranges)
#define levada_builder_values (levada_plugin_host->builder_values)
#define levada_builder_lengths (levada_plugin_host->builder_lengths)
#define levada_builder_share_values (levada_plugin_host->builder_share_values)
#define levada_builder_share (levada_plugin_host->builder_share)
#define levada_builder_push_bytes (levada_plugin_host->builder_push_bytes)
#define levada_builder_push_i64 (levada_plugin_host->builder_push_i64)
#define levada_builder_push_f64 (levada_plugin_host->builder_push_f64)
#define levada_builder_end_row (levada_plugin_host->builder_end_row)
#define levada_builder_reject (levada_plugin_host->builder_reject)
#define levada_builder_publish (levada_plugin_host->builder_publish)
#define levada_cursor_fill (levada_plugin_host->cursor_fill)
#define levada_cursor_take (levada_plugin_host->cursor_take)
#define levada_cursor_clear (levada_plugin_host->cursor_clear)
#define levada_cursor_save (levada_plugin_host->cursor_save)
#define levada_cursor_restore (levada_plugin_host->cursor_restore)
#define levada_rowstore_create (levada_plugin_host->rowstore_create)
#define levada_rowstore_destroy (levada_plugin_host->rowstore_destroy)
#define levada_rowstore_count (levada_plugin_host->rowstore_count)
#define levada_rowstore_add (levada_plugin_host->rowstore_add)
#define levada_rowstore_take (levada_plugin_host->rowstore_take)
#define levada_rowstore_peek (levada_plugin_host->rowstore_peek)
#define levada_rowstore_save (levada_plugin_host->rowstore_save)
#define levada_rowstore_restore (levada_plugin_host->rowstore_restore)
#define levada_slots_free (levada_plugin_host->slots_free)
#define levada_iter_next (levada_plugin_host->iter_next)
#define levada_iter_rewind (levada_plugin_host->iter_rewind)
#define levada_context_dropped (levada_plugin_host->context_dropped)
#define levada_context_padded (levada_plugin_host->context_padded)
#define levada_state_put_i64 (levada_plugin_host->state_put_i64)
#define levada_state_put_bytes (levada_plugin_host->state_put_bytes)
#define levada_state_put_i64s (levada_plugin_host->state_put_i64s)
#define levada_state_get_i64 (levada_plugin_host->state_get_i64)
#define levada_state_get_bytes (levada_plugin_host->state_get_bytes)
#define levada_state_get_i64s (levada_plugin_host->state_get_i64s)
#define levada_state_has (levada_plugin_host->state_has)
#define levada_value_kind_of (levada_plugin_host->value_kind_of)
#define levada_value_as_bool (levada_plugin_host->value_as_bool)
#define levada_value_as_int (levada_plugin_host->value_as_int)
#define levada_value_as_float (levada_plugin_host->value_as_float)
#define levada_value_as_text (levada_plugin_host->value_as_text)
#define levada_value_count (levada_plugin_host->value_count)
#define levada_value_item (levada_plugin_host->value_item)
#define levada_value_key (levada_plugin_host->value_key)
#define levada_value_get (levada_plugin_host->value_get)
#define levada_function_info (levada_plugin_host->function_info)

#endif /* LEVADA_PLUGIN_HOST_SIDE */

#ifdef __cplusplus
}
#endif

#endif
