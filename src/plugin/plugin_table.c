/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the host that plug-ins are handed.
 */
#include "plugin/plugin.h"

#include "base/alloc.h"
#include "base/random.h"
#include "files/bytes.h"

static levada_status plugin_table_stage(levada_plugin *plugin, const levada_stage_def *def,
                                      levada_error *err)
{
    return levada_plugin_add(plugin, LEVADA_FAMILY_STAGE, def, err);
}

static levada_status plugin_table_format(levada_plugin *plugin, const levada_format_def *def,
                                       levada_error *err)
{
    return levada_plugin_add(plugin, LEVADA_FAMILY_FORMAT, def, err);
}

static levada_status plugin_table_source(levada_plugin *plugin, const levada_source_def *def,
                                       levada_error *err)
{
    return levada_plugin_add(plugin, LEVADA_FAMILY_SOURCE, def, err);
}

static levada_status plugin_table_decoder(levada_plugin *plugin, const levada_decoder_def *def,
                                        levada_error *err)
{
    return levada_plugin_add(plugin, LEVADA_FAMILY_DECODER, def, err);
}

static levada_status plugin_table_filter(levada_plugin *plugin, const levada_filter_def *def,
                                       levada_error *err)
{
    return levada_plugin_add(plugin, LEVADA_FAMILY_FILTER, def, err);
}

static levada_status plugin_table_opener(levada_plugin *plugin, const levada_opener_def *def,
                                         levada_error *err)
{
    return levada_plugin_add(plugin, LEVADA_FAMILY_OPENER, def, err);
}

static levada_status plugin_table_function(levada_plugin *plugin, const levada_function_def *def,
                                           void *user, levada_error *err)
{
    return levada_plugin_add_function(plugin, def, user, err);
}

static levada_status plugin_table_bytes_open(levada_env *env, const char *path,
                                             const char *compression, levada_bytes **out,
                                             levada_error *err)
{
    levada_bytes_options options = { .compression = compression };

    return levada_bytes_open(env, path, &options, out, err);
}

static int64_t plugin_table_bytes_size(const levada_bytes *bytes)
{
    int64_t left = levada_bytes_left(bytes);

    return left < 0 ? -1 : levada_bytes_offset(bytes) + left;
}

static const levada_host plugin_table = {
    .struct_size = sizeof(levada_host),
    .add_stage = plugin_table_stage,
    .add_format = plugin_table_format,
    .add_source = plugin_table_source,
    .add_decoder = plugin_table_decoder,
    .add_filter = plugin_table_filter,
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
    .input_next = levada_input_next,
    .input_rewind = levada_input_rewind,
    .context_dropped = levada_context_dropped,
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
    .alloc = levada_alloc,
    .alloc_zero = levada_alloc_zero,
    .realloc = levada_realloc,
    .free = levada_free,
    .strdup = levada_strdup,
    .size_of = levada_size_of,
    .random_key = levada_random_key,
    .random_at = levada_random_at,
    .random_draw = levada_random_draw,
    .random_below = levada_random_below,
    .random_unit = levada_random_unit,
    .context_reject = levada_context_reject,
    .context_cancelled = levada_context_cancelled,
    .context_log = levada_context_log,
    .error_text = levada_error_text,
    .error_clear = levada_error_clear,
    .status_name = levada_status_name,
    .status_text = levada_status_text,
    .spec_equal = levada_spec_equal,
    .block_exclusive = levada_block_exclusive,
    .block_bytes = levada_block_bytes,
    .column_i64 = levada_column_i64,
    .column_i32 = levada_column_i32,
    .column_f32 = levada_column_f32,
    .column_f64 = levada_column_f64,
    .column_u8 = levada_column_u8,
    .value_parse_json = levada_value_parse_json,
    .value_destroy = levada_value_destroy,
    .bytes_open = plugin_table_bytes_open,
    .bytes_close = levada_bytes_close,
    .bytes_read = levada_bytes_read,
    .bytes_seek = levada_bytes_seek,
    .bytes_offset = levada_bytes_offset,
    .state_get_count = levada_state_get_count,
    .context_gather = levada_context_gather,
    .column_inner = levada_column_inner,
    .block_origin_parts = levada_block_origin_parts,
    .block_origin_part = levada_block_origin_part,
    .input_peek = levada_input_peek,
    .add_opener = plugin_table_opener,
    .cancel_requested = levada_cancel_requested,
    .add_function = plugin_table_function,
    .bytes_size = plugin_table_bytes_size,
    .builder_origin = levada_builder_origin,
};

const levada_host *levada_plugin_table(void) { return &plugin_table; }
