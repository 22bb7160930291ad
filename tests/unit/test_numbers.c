/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each number that is an argument of an exported function is tried at -1, 0 and the ends of its
 * type, while the other arguments are valid: it means something, as its header says, or it is
 * refused. ci/gen_fields.py lists the arguments; the last test finds those that have no case here.
 */
#include "conformance/fault.h"
#include "support/buckets.h"
#include "support/fields.h"
#include "support/files.h"
#include "support/numbers.h"
#include "support/savers.h"

#include <levada/binding.h>
#include <levada/levada.h>
#include <levada/rowstore.h>
#include <levada/stage.h>

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define NUMBERS_BYTES (64 << 20) /* that a call may allocate */
#define NUMBERS_SECONDS 60       /* that all calls may take */
#define SECOND INT64_C(1000000000)

/* The values, and which of them are accepted. */
enum { LESS = 1, LEAST = 2, ZERO = 4, MOST = 8, ANY = 15 };
/* The upper end cannot be tried, as with sizes: it counts items of the caller's memory. */
enum { THEIRS = 16 };

typedef enum number_result {
    STATUS, /* OK if the value is accepted, else an error with the number */
    FOUND,  /* 0 unless the value is accepted                             */
    LOST,   /* -1 unless the value is accepted                            */
    QUIET   /* anything: it must only return                              */
} number_result;

static const float         floats[4] = { 1, 2, 3, 4 };
static const void *const   texts[2] = { "1", "22" };
static const size_t        sizes[2] = { 1, 2 };
static const int32_t       rows[4] = { 0, 1, 2, 3 };
static int32_t             columns[1] = { 1 };
static const levada_status clean[1] = { LEVADA_EOUT_OF_RANGE };
static const levada_shape  any_shape = { 1, { 2 } };
static levada_example_values values = { .dtype = LEVADA_INT64,
                                        .count = 2,
                                        .i64 = test_few_numbers };

/* -- what some calls need besides -------------------------------------------------------------- */

#define MUST(call) assert_int_equal((call), LEVADA_OK)

static levada_status import_rows(int64_t first, int64_t n, levada_error *err)
{
    struct ArrowSchema schema;
    struct ArrowArray  array;
    levada_spec       *spec = NULL;
    levada_block      *made = NULL;
    levada_status      st;

    MUST(levada_arrow_export_spec(levada_block_spec(valid.block), &schema, NULL));
    MUST(levada_arrow_export_block(valid.block, &array, NULL));
    MUST(levada_arrow_import_spec(&schema, NULL, &spec, NULL));
    st = levada_arrow_import_block(NULL, spec, &schema, &array, first, n, NULL, &made, err);
    levada_block_unref(&made);
    levada_spec_unref(&spec);
    array.release(&array);
    schema.release(&schema);
    return st;
}

static levada_status pick_rows(int32_t count, int64_t n, levada_error *err)
{
    struct ArrowSchema schema;
    struct ArrowArray  array;
    levada_arrow_rows *held = NULL;
    levada_block      *made = NULL;
    levada_status      st;

    MUST(levada_arrow_export_spec(levada_block_spec(valid.block), &schema, NULL));
    MUST(levada_arrow_export_block(valid.block, &array, NULL));
    MUST(levada_arrow_hold(&schema, &array, NULL, &held, NULL));
    st = levada_arrow_pick(NULL, &held, count, NULL, &(int64_t){ 0 }, n, &made, err);
    levada_block_unref(&made);
    levada_arrow_rows_unref(&held);
    return st;
}

/* Calls one of the functions on receipts with a number. */
static levada_status with_receipt(int64_t number, bool merge, levada_error *err)
{
    char         *receipt = NULL;
    levada_status st;

    MUST(levada_iter_delivered(valid.it, &receipt, NULL));
    st = merge ? levada_receipts_merge((const char *const *)&receipt, number, &valid.made_text,
                                       err)
               : levada_receipts_check(valid.it, receipt, number, &valid.made_text, err);
    levada_string_free(&receipt);
    return st;
}

static bool go_on(void *user)
{
    (void)user;
    return true;
}

static levada_status name_of(void *user, int64_t timeout, levada_tensor **name, levada_error *err)
{
    (void)user;
    (void)timeout;
    (void)err;
    *name = levada_tensor_ref(valid.name);
    return LEVADA_OK;
}

static levada_status used(void *user, levada_reader_found *found, levada_error *err)
{
    (void)user;
    (void)found;
    (void)err;
    return LEVADA_OK;
}

/* A call that waits for 1 ms, with a poll every `every` nanoseconds. */
static int64_t polled(int64_t every)
{
    levada_queue_set_poll(valid.empty, go_on, NULL, every);
    return levada_queue_dequeue(valid.empty, valid.made, 1000000, NULL) ==
           LEVADA_EDEADLINE_EXCEEDED;
}

static int64_t polled_barrier(int64_t every)
{
    levada_barrier_take how = LEVADA_BARRIER_TAKE_INIT;

    how.n = 1;
    how.timeout = 1000000;
    levada_barrier_set_poll(valid.barrier, go_on, NULL, every);
    return levada_barrier_take_many(valid.barrier, &how, &valid.made[0], &valid.made[1],
                                    &valid.made[2], NULL) == LEVADA_EDEADLINE_EXCEEDED;
}

static int64_t polled_coordinator(int64_t every)
{
    levada_coordinator_clear_stop(valid.coordinator);
    levada_coordinator_set_poll(valid.coordinator, go_on, NULL, every);
    return !levada_coordinator_wait_for_stop(valid.coordinator, 1000000);
}

static int64_t polled_saver(int64_t every)
{
    levada_state_saver_set_poll(valid.saver, go_on, NULL, every);
    return levada_state_saver_next(valid.saver, 3, 1000000, &valid.made_batch, NULL) ==
           LEVADA_EDEADLINE_EXCEEDED;
}

static int64_t polled_reader(int64_t every)
{
    levada_reader_set_poll(valid.reader, go_on, NULL, every);
    return levada_reader_read(valid.reader, valid.names, SECOND, &valid.made[0], &valid.made[1],
                              NULL) == LEVADA_OK;
}

/* Late decoding of whatever number: a pipeline with a batch still runs. */
static int64_t decoded_late(levada_late_decode how)
{
    levada_dataset *dataset = NULL;
    levada_iter    *it = NULL;
    levada_status   st;

    levada_env_set_late_decode(valid.env, how);
    MUST(levada_dataset_parse(valid.env, "range:4|batch:2", &dataset, NULL));
    MUST(levada_iter_open(dataset, NULL, &it, NULL));
    st = levada_iter_next(it, &valid.made_block, NULL);
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
    return st == LEVADA_OK ? 0 : 1;
}

/* The next batch of a bucket whose test_elements have come. */
static levada_status bucket_next(int64_t timeout, levada_error *err)
{
    int32_t index = 0;

    MUST(levada_bucket_start(valid.bucket, NULL, NULL));
    return levada_bucket_next(valid.bucket, &index, NULL, valid.made, timeout, err);
}

static levada_status bucket_put(int64_t timeout, levada_error *err)
{
    levada_tensor *components[4] = { NULL };
    levada_status  st;

    MUST(test_source_next(&test_elements, components, NULL));
    st = levada_bucket_put(valid.bucket, components, timeout, err);
    for (int i = 0; i < 4; i++) levada_tensor_unref(&components[i]);
    return st;
}

/* The column n, which is also the number of the bucket. */
static levada_status put_block(int64_t timeout, levada_error *err)
{
    static const levada_dtype int64_type = LEVADA_INT64;
    static const levada_shape scalar = { 0, { 0 } };
    static const int64_t      size = 8;
    levada_bucket_options     o = test_bucket_options(&test_elements, 4, &size);
    levada_bucket            *bucket;
    levada_status             st;

    o.ncomponents = 1;
    o.dtypes = &int64_type;
    o.shapes = &scalar;
    o.key_component = 0;
    bucket = test_bucket(&o);
    st = levada_bucket_put_block(bucket, valid.block, columns, timeout, err);
    levada_bucket_destroy(&bucket);
    return st;
}

static levada_status bucket_run(int32_t i, levada_error *err)
{
    levada_bucket_close(valid.bucket, true);
    return levada_bucket_run(valid.bucket, i, err);
}

static levada_status insert(int64_t timeout, levada_error *err)
{
    return test_saver_insert(valid.saver, 5, 1, INT64_MIN, false, timeout, err);
}

static levada_status begin_list(size_t size, levada_error *err)
{
    return levada_example_begin_list_key(valid.example, "key", size, err);
}

static levada_status view_values(int64_t item, levada_error *err)
{
    levada_example_values got;

    return levada_example_view_values(valid.view, levada_example_view_at(valid.view, 0), item, &got,
                                      err);
}

static levada_status boundaries(int64_t n, int64_t buckets, int64_t multiple, levada_error *err)
{
    int64_t out[4], nout;

    return levada_optimal_boundaries(test_few_numbers, test_few_numbers, n, buckets, multiple, out,
                                     &nout, err);
}

static levada_status reject(int64_t row, levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;

    (void)levada_fail(&why, LEVADA_EDATA_LOSS, "bad");
    return levada_builder_reject(valid.builder, row, &why, err);
}

static levada_status refuse(int64_t unread, levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;
    levada_status st;

    (void)levada_fail(&why, LEVADA_EDATA_LOSS, "bad");
    st = levada_context_reject(&valid.context, valid.row, unread, &why, err);
    return st == LEVADA_EDATA_LOSS ? LEVADA_OK : st;
}

static int64_t dims(int32_t field)
{
    int64_t all[LEVADA_MAX_DIMS] = { 1, 1, 1, 1, 1, 1, 1, 1 };

    levada_builder_dims(valid.builder, field, all);
    return 0;
}

static int64_t text_of(size_t size)
{
    levada_error err = LEVADA_ERROR_INIT;
    char         text[LEVADA_ERROR_TEXT];

    (void)levada_fail(&err, LEVADA_EDATA_LOSS, "bad");
    return levada_error_text(&err, text, size) != text;
}

static int64_t placed(int64_t record, int64_t offset)
{
    levada_error err = LEVADA_ERROR_INIT;
    char         text[LEVADA_ERROR_TEXT];

    (void)levada_fail(&err, LEVADA_EDATA_LOSS, "bad");
    levada_error_place(&err, "s", "f", record, offset);
    return levada_error_text(&err, text, sizeof text) != text || err.record < -1 ||
           err.offset < -1;
}

static int64_t token_of(uint64_t token)
{
    levada_error err = LEVADA_ERROR_INIT;

    levada_error_set_token(&err, token);
    return levada_error_token(&err) == token;
}

static levada_status first_of(levada_dataset *dataset, int64_t number, levada_error *err)
{
    return levada_inspect_record(dataset, number, &valid.made_block, err);
}

/* Records that were dropped count, at most as many as there can be. */
static int64_t dropped(int64_t records)
{
    levada_value *stats = NULL;
    char         *json = NULL;
    int64_t       n;

    levada_context_dropped(&valid.context, records);
    MUST(levada_iter_stats(valid.it, &json, NULL));
    MUST(levada_value_parse(json, &stats, NULL));
    n = levada_value_as_int(levada_value_get(stats, "dropped_records"));
    levada_value_destroy(&stats);
    levada_string_free(&json);
    return n;
}

/* One value into a column of its own. */
static levada_status push(const levada_field *field, double value)
{
    levada_spec    *spec = NULL;
    levada_builder *b = NULL;
    levada_status   st;

    MUST(levada_spec_create(field, 1, LEVADA_SPEC_PLAIN, &spec, NULL));
    MUST(levada_builder_create(NULL, spec, -1, &b, NULL));
    st = levada_builder_push_f64(b, 0, value, NULL);
    levada_builder_destroy(&b);
    levada_spec_unref(&spec);
    return st;
}

/* -- the calls --------------------------------------------------------------------------------- */

#define V64 value
#define V32 ((int32_t)value)
#define VSIZE ((size_t)value)
#define OFFSETS ((int32_t *[2]){ NULL, NULL })

/* X(function, argument, what its result means, the values that are accepted, the call) */
#define NUMBERS_1(X)                                                                             \
    X(levada_barrier_insert_many, component, STATUS, ZERO,                                       \
      levada_barrier_insert_many(valid.barrier, V32, valid.strings, valid.vector, err))          \
    X(levada_queue_set_poll, every, FOUND, ANY, polled(V64))                                     \
    X(levada_barrier_set_poll, every, FOUND, ANY, polled_barrier(V64))                           \
    X(levada_state_saver_set_poll, every, FOUND, ANY, polled_saver(V64))                         \
    X(levada_reader_set_poll, every, FOUND, ANY, polled_reader(V64))                             \
    X(levada_coordinator_set_poll, every, FOUND, ANY, polled_coordinator(V64))                   \
    X(levada_coordinator_join_member, number, STATUS, ZERO | MOST,                               \
      levada_coordinator_join_member(valid.coordinator, V64, 0, false, err))                     \
    X(levada_coordinator_join_member, grace, STATUS, ANY,                                        \
      levada_coordinator_join_member(valid.coordinator, 0, V64, false, err))                     \
    X(levada_block_note, i, FOUND, 0, (intptr_t)levada_block_note(valid.block, V32))             \
    X(levada_reader_find, n, STATUS, ZERO | MOST,                                                \
      levada_reader_find(valid.identity, name_of, NULL, V64, 0, used, NULL, err))                \
    X(levada_reader_find, timeout, STATUS, ANY,                                                  \
      levada_reader_find(valid.identity, name_of, NULL, 1, V64, used, NULL, err))                \
    X(levada_env_set_late_decode, how, FOUND, 0, decoded_late((levada_late_decode)V32))          \
    X(levada_arrow_import_block, first, STATUS, ZERO, import_rows(V64, 0, err))                  \
    X(levada_arrow_import_block, n, STATUS, ZERO, import_rows(0, V64, err))                      \
    X(levada_arrow_pick, count, STATUS, MOST, pick_rows(V32, 0, err))                            \
    X(levada_arrow_pick, n, STATUS, ZERO, pick_rows(1, V64, err))                                \
    X(levada_block_at, i, FOUND, ZERO, (intptr_t)levada_block_at(valid.block, V32))              \
    X(levada_block_origin, row, LOST, ZERO, levada_block_origin(valid.last, V64).source)         \
    X(levada_block_origin_part, row, LOST, ZERO,                                                 \
      levada_block_origin_part(valid.last, V64, 0).source)                                       \
    X(levada_block_origin_part, part, LOST, ZERO,                                                \
      levada_block_origin_part(valid.last, 0, V32).source)                                       \
    X(levada_column_bytes, row, FOUND, ZERO,                                                     \
      (intptr_t)levada_column_bytes(levada_block_at(valid.block, 2), V64, &(int64_t){ 0 }))      \
    X(levada_column_dim, d, LOST, ZERO, levada_column_dim(levada_block_at(valid.block, 1), V32)) \
    X(levada_column_length, row, FOUND, ZERO,                                                    \
      levada_column_length(levada_block_at(valid.block, 0), V64))                                \
    X(levada_column_begins, level, FOUND, ZERO,                                                  \
      (intptr_t)levada_column_begins(levada_block_at(valid.block, 0), V32))                      \
    X(levada_column_ends, level, FOUND, ZERO,                                                    \
      (intptr_t)levada_column_ends(levada_block_at(valid.block, 0), V32))                        \
    X(levada_bucket_next, timeout, STATUS, LESS | LEAST | MOST, bucket_next(V64, err))           \
    X(levada_bucket_put, timeout, STATUS, ANY, bucket_put(V64, err))                             \
    X(levada_bucket_put_block, timeout, STATUS, ANY, put_block(V64, err))                        \
    X(levada_bucket_run, i, STATUS, 0, bucket_run(V32, err))                                     \
    X(levada_bucket_index, key, STATUS, ZERO,                                                    \
      levada_bucket_index(valid.bucket, V64, &(int32_t){ 0 }, err))                              \
    X(levada_bucket_queue, i, FOUND, LESS | ZERO, (intptr_t)levada_bucket_queue(valid.bucket, V32))

#define NUMBERS_2(X)                                                                             \
    X(levada_builder_create, rows, STATUS, LESS | ZERO,                                          \
      levada_builder_create(valid.env, levada_block_spec(valid.block), V64, &valid.made_builder,  \
                            err))                                                                 \
    X(levada_builder_dims, field, FOUND, 0, dims(V32))                                           \
    X(levada_builder_offsets, field, STATUS, ZERO,                                               \
      levada_builder_offsets(valid.builder, V32, 0, 4, OFFSETS, err))                             \
    X(levada_builder_offsets, level, STATUS, ZERO,                                               \
      levada_builder_offsets(valid.builder, 0, V32, 4, OFFSETS, err))                             \
    X(levada_builder_offsets, n, STATUS, ZERO,                                                   \
      levada_builder_offsets(valid.builder, 0, 0, V64, OFFSETS, err))                             \
    X(levada_builder_ranges, field, STATUS, ZERO,                                                \
      levada_builder_ranges(valid.builder, V32, 0, 4, OFFSETS, OFFSETS, err))                     \
    X(levada_builder_ranges, level, STATUS, ZERO,                                                \
      levada_builder_ranges(valid.builder, 0, V32, 4, OFFSETS, OFFSETS, err))                     \
    X(levada_builder_ranges, n, STATUS, ZERO,                                                    \
      levada_builder_ranges(valid.builder, 0, 0, V64, OFFSETS, OFFSETS, err))                     \
    X(levada_builder_values, field, STATUS, ZERO,                                                \
      levada_builder_values(valid.builder, V32, 4, &(void *){ NULL }, err))                       \
    X(levada_builder_values, count, STATUS, ZERO,                                                \
      levada_builder_values(valid.builder, 0, V64, &(void *){ NULL }, err))                       \
    X(levada_builder_lengths, field, STATUS, ZERO,                                               \
      levada_builder_lengths(valid.builder, V32, OFFSETS, err))                                   \
    X(levada_builder_share_values, field, QUIET, ANY,                                            \
      (levada_builder_share_values(valid.builder, V32, levada_block_at(valid.block, 0)->values,   \
                                   levada_block_at(valid.block, 0)->owner),                       \
       0))                                                                                        \
    X(levada_builder_share, field, QUIET, ANY,                                                   \
      (levada_builder_share(valid.builder, V32, levada_block_at(valid.block, 0)), 0))             \
    X(levada_builder_push_bytes, field, STATUS, 0,                                               \
      levada_builder_push_bytes(valid.builder, V32, "a", 1, err))                                 \
    X(levada_builder_push_bytes, size, STATUS, ZERO | THEIRS,                                    \
      levada_builder_push_bytes(valid.builder, 1, "a", V64, err))                                 \
    X(levada_builder_push_i64, field, STATUS, ZERO,                                              \
      levada_builder_push_i64(valid.builder, V32, 1, err))                                        \
    X(levada_builder_push_i64, value, STATUS, ANY,                                               \
      levada_builder_push_i64(valid.builder, 0, V64, err))                                        \
    X(levada_builder_push_f64, field, STATUS, 0,                                                 \
      levada_builder_push_f64(valid.builder, V32, 1, err))                                        \
    X(levada_builder_end_row, field, STATUS, ZERO,                                                \
      levada_builder_end_row(valid.builder, V32, err))                                            \
    X(levada_builder_reject, row, STATUS, ZERO, reject(V64, err))                                \
    X(levada_builder_origin, row, STATUS, ZERO,                                                  \
      levada_builder_origin(valid.builder, V64, 0, 0, -1, err))                                  \
    X(levada_builder_origin, file, STATUS, ZERO | MOST,                                          \
      levada_builder_origin(valid.builder, 0, V32, 0, -1, err))                                  \
    X(levada_builder_origin, record, STATUS, ZERO,                                               \
      levada_builder_origin(valid.builder, 0, 0, V64, -1, err))                                  \
    X(levada_builder_origin, offset, STATUS, LESS | ZERO,                                        \
      levada_builder_origin(valid.builder, 0, 0, 0, V64, err))                                   \
    X(levada_coordinator_create, n, STATUS, ZERO | THEIRS,                                       \
      levada_coordinator_create(valid.env, clean, V32, &valid.made_coordinator, err))             \
    X(levada_coordinator_wait_for_stop, timeout, FOUND, ANY,                                     \
      levada_coordinator_wait_for_stop(valid.coordinator, V64))                                   \
    X(levada_coordinator_error, i, FOUND, 0,                                                     \
      (intptr_t)levada_coordinator_error(valid.coordinator, V32))                                 \
    X(levada_coordinator_join, grace, STATUS, ANY,                                               \
      levada_coordinator_join(valid.coordinator, V64, false, err))                                \
    X(levada_queue_runner_wait, timeout, STATUS, ANY,                                            \
      levada_queue_runner_wait(valid.runner, V64, err))                                           \
    X(levada_queue_runner_error, i, FOUND, 0,                                                    \
      (intptr_t)levada_queue_runner_error(valid.runner, V32))                                     \
    X(levada_dataset_append, ninputs, STATUS, THEIRS,                                            \
      levada_dataset_append(valid.env, "cast", NULL, (const levada_dataset *const *)&valid.range, \
                            V32, &valid.made_dataset, err))                                       \
    X(levada_dataset_remake, ninputs, STATUS, THEIRS,                                            \
      levada_dataset_remake(valid.taken, NULL, (const levada_dataset *const *)&valid.range, V32,  \
                            &valid.made_dataset, err))                                            \
    X(levada_dataset_input, i, FOUND, 0, (intptr_t)levada_dataset_input(valid.range, V32))

#define NUMBERS_3(X)                                                                             \
    X(levada_error_place, record, FOUND, 0, placed(V64, 1))                                      \
    X(levada_error_place, offset, FOUND, 0, placed(1, V64))                                      \
    X(levada_error_set_token, token, FOUND, ANY, token_of((uint64_t)V64))                        \
    X(levada_fail, code, QUIET, ANY, levada_fail(err, (levada_status)V32, "bad"))                \
    X(levada_error_text, size, FOUND, 0, text_of(VSIZE))                                         \
    X(levada_status_name, status, QUIET, ANY, strlen(levada_status_name((levada_status)V32)))    \
    X(levada_status_text, status, QUIET, ANY, strlen(levada_status_text((levada_status)V32)))    \
    X(levada_example_add_i64, n, STATUS, ZERO | THEIRS,                                          \
      levada_example_add_i64(valid.example, "b", test_few_numbers, V64, err))                      \
    X(levada_example_add_f32, n, STATUS, ZERO | THEIRS,                                          \
      levada_example_add_f32(valid.example, "b", floats, V64, err))                                \
    X(levada_example_add_bytes, n, STATUS, ZERO | THEIRS,                                        \
      levada_example_add_bytes(valid.example, "b", texts, sizes, V64, err))                        \
    X(levada_example_add_values, key_size, STATUS, ZERO,                                         \
      levada_example_add_values(valid.example, "key", VSIZE, &values, err))                        \
    X(levada_example_begin_list_key, key_size, STATUS, ZERO, begin_list(VSIZE, err))             \
    X(levada_decode_strings, n, STATUS, ZERO | THEIRS,                                             \
      levada_decode_strings(valid.env, "decode_raw", valid.options, texts, sizes, V64,             \
                            &valid.made_block, err))                                               \
    X(levada_decoding_run, n, STATUS, ZERO | THEIRS,                                               \
      levada_decoding_run(valid.decoding, texts, sizes, V64, &valid.made_block, err))              \
    X(levada_example_view_parse, size, STATUS, ANY,                                              \
      levada_example_view_parse(valid.view, "", VSIZE, &(levada_example_kind){ 0 }, err))          \
    X(levada_example_view_at, i, FOUND, ZERO, (intptr_t)levada_example_view_at(valid.view, V64))   \
    X(levada_example_view_values, item, STATUS, ZERO, view_values(V64, err))                     \
    X(levada_inspect_record, number, STATUS, ZERO, first_of(valid.lines, V64, err))                \
    X(levada_iter_next_within, nanoseconds, STATUS, ANY,                                         \
      levada_iter_next_within(valid.unread, V64, &valid.made_block, err))                          \
    X(levada_iter_next_slice, nanoseconds, STATUS, ANY,                                          \
      levada_iter_next_slice(valid.unread, V64, &valid.made_block, err))                           \
    X(levada_iter_save_at, row, STATUS, ZERO,                                                    \
      levada_iter_save_at(valid.it, valid.last, V64, &valid.made_text, &(size_t){ 0 }, err))       \
    X(levada_iter_restore, size, STATUS, 0,                                                        \
      levada_iter_restore(valid.it, valid.state, VSIZE, err))                                      \
    X(levada_iter_restore_mix, size, STATUS, 0,                                                    \
      levada_iter_restore_mix(valid.it, valid.state, VSIZE, err))                                  \
    X(levada_iter_receipt, step, STATUS, ANY,                                                    \
      levada_iter_receipt(valid.it, valid.last, V64, &(levada_batch_receipt){ 0 }, err))           \
    X(levada_iter_replay, size, STATUS, 0,                                                         \
      levada_iter_replay(valid.it, valid.state, VSIZE, 0, &valid.made_block, err))                 \
    X(levada_iter_replay, step, STATUS, ZERO,                                                      \
      levada_iter_replay(valid.it, NULL, 0, V64, &valid.made_block, err))                          \
    X(levada_iter_seek, step, STATUS, 0, levada_iter_seek(valid.it, V64, &valid.made_block, err))  \
    X(levada_state_delivered, size, STATUS, 0,                                                     \
      levada_state_delivered(valid.env, valid.state, VSIZE, &valid.made_text, err))                \
    X(levada_receipts_merge, n, STATUS, ZERO | THEIRS, with_receipt(V64, true, err))              \
    X(levada_receipts_check, epochs, STATUS, ZERO, with_receipt(V64, false, err))                  \
    X(levada_iter_opened_file, i, STATUS, 0,                                                     \
      levada_iter_opened_file(valid.it, V32, &(levada_origin){ 0 }, &valid.made_text, err))        \
    X(levada_iter_source, i, LOST, ZERO, levada_iter_source(valid.it, V32))                      \
    X(levada_optimal_boundaries, n, STATUS, ZERO | THEIRS, boundaries(V64, 2, 1, err))           \
    X(levada_optimal_boundaries, num_buckets, STATUS, MOST, boundaries(4, V64, 1, err))          \
    X(levada_optimal_boundaries, multiple_of, STATUS, 0, boundaries(4, 2, V64, err))             \
    X(levada_length_histogram_add, n, STATUS, ZERO | THEIRS,                                     \
      levada_length_histogram_add(valid.histogram, test_few_numbers, V64, err))                    \
    X(levada_padding_report, n, STATUS, ZERO | THEIRS,                                           \
      levada_padding_report(test_few_numbers, V64, NULL, &valid.made_text, err))                   \
    X(levada_dataset_open, nfiles, STATUS, THEIRS,                                               \
      levada_dataset_open(valid.env, test_patterns, V32, NULL, false, &valid.made_dataset, err))   \
    X(levada_output_write, size, STATUS, ZERO, levada_output_write(valid.output, "a", VSIZE, err)) \
    X(levada_output_save, size, STATUS, ZERO, levada_output_save(t_path("o"), "a", VSIZE, err))

#define NUMBERS_4(X)                                                                             \
    X(levada_queue_enqueue, timeout, STATUS, ANY,                                                \
      levada_queue_enqueue(valid.full, &valid.scalar, V64, err))                                   \
    X(levada_queue_enqueue_many, timeout, STATUS, ANY,                                           \
      levada_queue_enqueue_many(valid.full, &valid.vector, V64, NULL, err))                        \
    X(levada_queue_dequeue, timeout, STATUS, ANY,                                                \
      levada_queue_dequeue(valid.full, valid.made, V64, err))                                      \
    X(levada_queue_dequeue_many, n, STATUS, ZERO,                                                \
      levada_queue_dequeue_many(valid.full, V64, false, valid.made, 0, err))                       \
    X(levada_queue_dequeue_many, timeout, STATUS, ANY,                                           \
      levada_queue_dequeue_many(valid.full, 2, false, valid.made, V64, err))                       \
    X(levada_queue_enqueue_rows, n, STATUS, ZERO | THEIRS,                                       \
      levada_queue_enqueue_rows(valid.full, V64, (const void *const[]){ test_few_numbers }, 0,     \
                                NULL, err))                                                        \
    X(levada_queue_enqueue_rows, timeout, STATUS, ANY,                                           \
      levada_queue_enqueue_rows(valid.full, 2, (const void *const[]){ test_few_numbers }, V64,     \
                                NULL, err))                                                        \
    X(levada_queue_dequeue_rows, n, STATUS, ZERO | THEIRS,                                       \
      levada_queue_dequeue_rows(valid.full, V64, false, (void *const[]){ valid.numbers }, 0, NULL, \
                                err))                                                              \
    X(levada_queue_dequeue_rows, timeout, STATUS, ANY,                                           \
      levada_queue_dequeue_rows(valid.full, 2, false, (void *const[]){ valid.numbers }, V64, NULL, \
                                err))                                                              \
    X(levada_queue_enqueue_block, first, STATUS, ZERO,                                           \
      levada_queue_enqueue_block(valid.full, valid.block, columns, V64, 0, NULL, err))             \
    X(levada_queue_enqueue_block, timeout, STATUS, ANY,                                          \
      levada_queue_enqueue_block(valid.full, valid.block, columns, 0, V64, NULL, err))             \
    X(levada_queue_close, timeout, STATUS, ANY, levada_queue_close(valid.full, false, V64, err))   \
    X(levada_reader_read, timeout, STATUS, ANY,                                                  \
      levada_reader_read(valid.reader, valid.names, V64, &valid.made[0], &valid.made[1], err))     \
    X(levada_reader_read_up_to, n, STATUS, MOST,                                                 \
      levada_reader_read_up_to(valid.reader, valid.names, V64, 0, &valid.made_block, err))         \
    X(levada_reader_read_up_to, timeout, STATUS, ANY,                                            \
      levada_reader_read_up_to(valid.reader, valid.names, 2, V64, &valid.made_block, err))         \
    X(levada_reader_read_from, timeout, STATUS, ANY,                                             \
      levada_reader_read_from(valid.identity, name_of, NULL, V64, &valid.made[0], &valid.made[1],  \
                              err))                                                                \
    X(levada_reader_read_up_to_from, n, STATUS, MOST,                                            \
      levada_reader_read_up_to_from(valid.identity, name_of, NULL, V64, 0, &valid.made_block,      \
                                    err))                                                          \
    X(levada_reader_read_up_to_from, timeout, STATUS, ANY,                                       \
      levada_reader_read_up_to_from(valid.identity, name_of, NULL, 1, V64, &valid.made_block,      \
                                    err))                                                          \
    X(levada_reader_try_reset, timeout, STATUS, ANY,                                             \
      levada_reader_try_reset(valid.reader, V64, err))                                             \
    X(levada_reader_restore_state, size, STATUS, 0,                                              \
      levada_reader_restore_state(valid.identity, "a", VSIZE, err))                                \
    X(levada_rowstore_add, first, STATUS, ZERO,                                                  \
      levada_rowstore_add(valid.store, valid.block, V64, 2, valid.slots + 4, err))                 \
    X(levada_rowstore_add, n, STATUS, ZERO,                                                      \
      levada_rowstore_add(valid.store, valid.block, 0, V64, valid.slots + 4, err))                 \
    X(levada_rowstore_take, n, STATUS, THEIRS,                                                   \
      levada_rowstore_take(valid.store, valid.slots, V64, &valid.made_block, err))                 \
    X(levada_rowstore_peek, n, STATUS, THEIRS,                                                   \
      levada_rowstore_peek(valid.store, valid.slots, V64, &valid.made_block, err))                 \
    X(levada_rowstore_save, n, STATUS, ZERO | THEIRS,                                            \
      levada_rowstore_save(valid.store, valid.slots, V64, &valid.to, "k", err))                    \
    X(levada_rowstore_restore, n, STATUS, ZERO,                                                  \
      levada_rowstore_restore(valid.store, &valid.from, "n", V64, &valid.made_slots, err))

#define NUMBERS_5(X)                                                                             \
    X(levada_dtype_size, dtype, FOUND, 0, levada_dtype_size((levada_dtype)V32))                  \
    X(levada_dtype_name, dtype, QUIET, ANY, strlen(levada_dtype_name((levada_dtype)V32)))        \
    X(levada_spec_create, n, STATUS, ZERO | THEIRS,                                              \
      levada_spec_create(test_fields_of_builder, V32, LEVADA_SPEC_PLAIN, &valid.made_spec, err))   \
    X(levada_spec_create, flags, STATUS, ZERO,                                                   \
      levada_spec_create(test_fields_of_builder, 1, V32, &valid.made_spec, err))                   \
    X(levada_spec_field, i, FOUND, ZERO,                                                         \
      (intptr_t)levada_spec_field(levada_block_spec(valid.block), V32))                            \
    X(levada_context_dropped, records, FOUND, 0, dropped(V64))                                   \
    X(levada_context_reject, unread, STATUS, ZERO | MOST, refuse(V64, err))                      \
    X(levada_context_log, level, QUIET, ANY,                                                     \
      (levada_context_log(&valid.context, (levada_log_level)V32, "text"), 0))                      \
    X(levada_cursor_take, limit, STATUS, ZERO | MOST,                                              \
      levada_cursor_take(&valid.cursor, V64, &valid.made_block, err))                              \
    X(levada_block_select, n, STATUS, ZERO | THEIRS,                                             \
      levada_block_select(valid.block, rows, V64, &valid.made_block, err))                         \
    X(levada_state_put_i64, value, STATUS, ANY, levada_state_put_i64(&valid.to, "v", V64, err))    \
    X(levada_state_put_bytes, size, STATUS, ZERO,                                                \
      levada_state_put_bytes(&valid.to, "b", "a", VSIZE, err))                                     \
    X(levada_state_put_i64s, n, STATUS, ZERO | THEIRS,                                           \
      levada_state_put_i64s(&valid.to, "l", test_few_numbers, V64, err))                           \
    X(levada_state_get_count, most, STATUS, MOST,                                                \
      levada_state_get_count(&valid.from, "n", V64, &(int64_t){ 0 }, err))                         \
    X(levada_state_saver_reserve, timeout, STATUS, ANY,                                          \
      levada_state_saver_reserve(valid.saver, V64, err))                                           \
    X(levada_state_saver_insert, timeout, STATUS, ANY, insert(V64, err))                         \
    X(levada_state_saver_next, n, STATUS, LESS | ZERO,                                           \
      levada_state_saver_next(valid.saver, V64, 0, &valid.made_batch, err))                        \
    X(levada_state_saver_next, timeout, STATUS, ANY,                                             \
      levada_state_saver_next(valid.saver, 1, V64, &valid.made_batch, err))                        \
    X(levada_segment_batch_save, state, STATUS, 0,                                               \
      levada_segment_batch_save(valid.batch, V32, valid.vector, err))                              \
    X(levada_state_saver_save, extra_size, STATUS, ZERO,                                         \
      levada_state_saver_save(valid.saver, true, "a", VSIZE, &valid.made_text, &(size_t){ 0 },     \
                              err))                                                                \
    X(levada_state_saver_restore, size, STATUS, 0,                                               \
      levada_state_saver_restore(valid.saver, valid.saved, VSIZE, NULL, NULL, err))                \
    X(levada_tensor_create, dtype, STATUS, 0,                                                    \
      levada_tensor_create(valid.env, (levada_dtype)V32, &any_shape, test_few_numbers, valid.made, \
                           err))                                                                   \
    X(levada_tensor_wrap, dtype, STATUS, 0,                                                      \
      levada_tensor_wrap((levada_dtype)V32, &any_shape, test_few_numbers, NULL, NULL, valid.made,  \
                         err))                                                                     \
    X(levada_value_int, i, FOUND, ANY, (intptr_t)(valid.made_value = levada_value_int(V64)))       \
    X(levada_value_text, size, FOUND, ZERO,                                                      \
      (intptr_t)(valid.made_value = levada_value_text("a", VSIZE)))                                \
    X(levada_value_bytes, size, FOUND, ZERO,                                                     \
      (intptr_t)(valid.made_value = levada_value_bytes("a", VSIZE)))                               \
    X(levada_value_parse_json, size, STATUS, 0,                                                  \
      levada_value_parse_json("1", VSIZE, &valid.made_value, err))                                 \
    X(levada_value_set_int, i, STATUS, ANY, levada_value_set_int(valid.map, "i", V64, err))        \
    X(levada_value_item, i, FOUND, ZERO, (intptr_t)levada_value_item(valid.list, V64))             \
    X(levada_value_key, i, FOUND, ZERO, (intptr_t)levada_value_key(valid.map, V64))                \
    X(levada_watchdog_next, timeout, STATUS, 0,                                                  \
      levada_watchdog_next(valid.watchdog, V64, &(levada_wait)LEVADA_WAIT_INIT, err))              \
    X(levada_writer_open, level, STATUS, LESS | ZERO,                                            \
      levada_writer_open(valid.env, t_path("w"), "gzip", V32, &valid.made_writer, err))            \
    X(levada_writer_write, size, STATUS, ZERO, levada_writer_write(valid.writer, "a", VSIZE, err)) \
    X(levada_writer_append, size, STATUS, ZERO, levada_writer_append(valid.writer, "a", VSIZE, err))

#define NUMBERS(X) NUMBERS_1(X) NUMBERS_2(X) NUMBERS_3(X) NUMBERS_4(X) NUMBERS_5(X)

typedef struct number_case {
    const char   *function, *argument;
    number_result result;
    int           accepted;
    void (*call)(int64_t value, int64_t *out, levada_error *err);
} number_case;

#define CALL(function, argument, result, accepted, call)                                     \
    static void function##_##argument(int64_t value, int64_t *out, levada_error *err)         \
    {                                                                                          \
        (void)err;                                                                             \
        *out = (int64_t)(call);                                                                \
    }
NUMBERS(CALL)

#define CASE(function, argument, result, accepted, call) \
    { #function, #argument, result, accepted, function##_##argument },
static const number_case cases[] = { NUMBERS(CASE) };

#define CASES (sizeof cases / sizeof *cases)

/* -- claims ------------------------------------------------------------------------------------ */

static const test_argument *argument_of(const number_case *c)
{
    for (const test_argument *a = test_arguments; a->function; a++) {
        if (strcmp(a->function, c->function) == 0 && strcmp(a->name, c->argument) == 0) return a;
    }
    fail_msg("%s has no number %s", c->function, c->argument);
    return NULL;
}

static int64_t value_of(int which, size_t size)
{
    int64_t least = size == 4 ? INT32_MIN : INT64_MIN;

    return which == ZERO ? 0 : which == LESS ? -1 : which == LEAST ? least : -1 - least;
}

/* Whether the message has the number, as the type of the argument prints it. */
static bool names(const test_argument *a, int64_t value, const levada_error *err)
{
    char number[32];

    if (a->is_unsigned) (void)snprintf(number, sizeof number, "%zu", (size_t)value);
    else (void)snprintf(number, sizeof number, "%lld", (long long)value);
    return strstr(err->message, number) != NULL;
}

static bool try_number(const number_case *c, int which)
{
    const test_argument *a = argument_of(c);
    levada_error         err = LEVADA_ERROR_INIT;
    int64_t              value = value_of(which, a->size), got = 0;
    bool                 fine;
    const char          *what = NULL;

    test_valid_set_up();
    fault_arm(INT64_MAX);
    c->call(value, &got, &err);
    (void)fault_disarm();
    fine = c->result == STATUS ? got == LEVADA_OK || got == LEVADA_AGAIN
                               : got != (c->result == LOST ? -1 : 0);
    if (c->result == QUIET) fine = c->accepted & which;
    if (fault_bytes() > NUMBERS_BYTES) what = "allocates too much";
    else if (fine && !(c->accepted & which)) what = "is accepted";
    else if (got == LEVADA_EUNIMPLEMENTED) what = NULL; /* not in this build */
    else if (!fine && (c->accepted & which)) what = "is refused";
    else if (got == LEVADA_EINVALID_ARGUMENT && c->result == STATUS && value != 0 &&
             !names(a, value, &err))
        what = "is not in the message";
    if (what) {
        print_error("%s(%s=%lld) %s: %lld %s\n", c->function, c->argument, (long long)value, what,
                    (long long)got, err.message);
    }
    test_valid_tear_down();
    return what == NULL;
}

static void numbers_mean_something_or_are_refused(void **state)
{
    int wrong = 0;

    (void)state;
    (void)alarm(NUMBERS_SECONDS);
    for (size_t i = 0; i < CASES; i++) {
        for (int which = LESS; which <= MOST; which *= 2) {
            bool theirs = (cases[i].accepted & THEIRS) || argument_of(&cases[i])->is_unsigned;

            if (theirs && which == MOST) continue;
            wrong += !try_number(&cases[i], which);
        }
    }
    (void)alarm(0);
    assert_int_equal(wrong, 0);
}

static void floats_mean_something_or_are_refused(void **state)
{
    static const double all[] = { NAN, -INFINITY, INFINITY, -DBL_MAX, DBL_MAX, DBL_MIN, -0.0 };
    levada_field  single = { .name = "x", .dtype = LEVADA_FLOAT32 };
    levada_field  twice = { .name = "x", .dtype = LEVADA_FLOAT64 };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        levada_value *back = NULL;
        double        number;

        assert_int_equal(push(&single, all[i]),
                         fabs(all[i]) == DBL_MAX ? LEVADA_EINVALID_ARGUMENT : LEVADA_OK);
        assert_int_equal(push(&twice, all[i]), LEVADA_OK);
        test_valid_set_up();
        valid.made_value = levada_value_float(all[i]);
        assert_memory_equal(&(double){ levada_value_as_float(valid.made_value) }, &all[i], 8);
        MUST(levada_value_json(valid.made_value, &valid.made_text, NULL));
        MUST(levada_value_parse(valid.made_text, &back, NULL));
        number = levada_value_as_float(back);
        assert_true(isnan(all[i]) ? isnan(number) : number == all[i]);
        levada_value_destroy(&back);
        assert_int_equal(levada_value_set_float(valid.map, "f", all[i], NULL), LEVADA_OK);
        test_valid_tear_down();
    }
}

static void each_number_has_a_case(void **state)
{
    size_t n = 0;

    (void)state;
    for (const test_argument *a = test_arguments; a->function; a++) {
        bool found = strcmp(a->name, "size") == 0 && strstr(a->function, "_init") != NULL;

        for (size_t i = 0; i < CASES && !found; i++) {
            found = strcmp(a->function, cases[i].function) == 0 &&
                    strcmp(a->name, cases[i].argument) == 0;
        }
        if (!found && a->size != 0) fail_msg("%s: %s has no case here", a->function, a->name);
        n++;
    }
    assert_true(n > 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_mean_something_or_are_refused),
        cmocka_unit_test(floats_mean_something_or_are_refused),
        cmocka_unit_test(each_number_has_a_case),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
