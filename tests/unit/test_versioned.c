/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every struct of the public headers that begins with struct_size is refused where its size cannot
 * be right. Argument of the program: the folder of the public headers. The last test searches them
 * for structs that have no case here; it is skipped without the argument.
 */
#include "base/versioned.h"
#include "conformance/fault.h"
#include "files/opener.h"
#include "support/buckets.h"
#include "support/fields.h"
#include "support/files.h"
#include "support/register.h"
#include "support/versioned.h"

#include <levada/levada.h>

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NUMBERS_BYTES (32 << 20) /* that a call with one number may take */

static const char *headers;

/* -- one call for each struct ------------------------------------------------------------------ */

static levada_status use_env(const void *options, levada_error *err)
{
    levada_env   *env = NULL;
    levada_status st = levada_env_create(options, &env, err);

    levada_env_destroy(&env);
    return st;
}

static levada_status use_io(const void *options, levada_error *err)
{
    levada_env   *env = NULL;
    levada_status st;

    assert_int_equal(levada_env_create(NULL, &env, NULL), LEVADA_OK);
    st = levada_env_set_io(env, options, err);
    levada_env_destroy(&env);
    return st;
}

static levada_status use_iter(const void *options, levada_error *err)
{
    levada_dataset *dataset = NULL;
    levada_iter    *it = NULL;
    levada_status   st;

    assert_int_equal(levada_dataset_parse(NULL, "range:3", &dataset, NULL), LEVADA_OK);
    st = levada_iter_open(dataset, options, &it, err);
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
    return st;
}

static levada_status use_queue(const void *options, levada_error *err)
{
    levada_queue *queue = NULL;
    levada_status st = levada_queue_create(NULL, options, &queue, err);

    levada_queue_unref(&queue);
    return st;
}

static levada_status use_barrier(const void *options, levada_error *err)
{
    levada_barrier *barrier = NULL;
    levada_status   st = levada_barrier_create(NULL, options, &barrier, err);

    levada_barrier_unref(&barrier);
    return st;
}

static const levada_dtype int64_type = LEVADA_INT64;
static const levada_shape scalar = { 0, { 0 } };

static levada_status use_take(const void *how, levada_error *err)
{
    levada_barrier_options o = LEVADA_BARRIER_OPTIONS_INIT;
    levada_barrier        *barrier = NULL;
    levada_tensor         *indices = NULL, *keys = NULL, *values = NULL;
    levada_status          st;

    o.ncomponents = 1;
    o.dtypes = &int64_type;
    o.shapes = &scalar;
    assert_int_equal(levada_barrier_create(NULL, &o, &barrier, NULL), LEVADA_OK);
    st = levada_barrier_take_many(barrier, how, &indices, &keys, &values, err);
    levada_tensor_unref(&indices);
    levada_tensor_unref(&keys);
    levada_tensor_unref(&values);
    levada_barrier_unref(&barrier);
    return st;
}

static levada_status end(void *user, levada_error *err)
{
    (void)user;
    (void)err;
    return LEVADA_END;
}

static levada_status use_looper(const void *options, levada_error *err)
{
    levada_coordinator *coordinator = NULL;
    levada_status       st;

    assert_int_equal(levada_coordinator_create(NULL, NULL, 0, &coordinator, NULL), LEVADA_OK);
    st = levada_looper_start(coordinator, options, err);
    assert_int_equal(levada_coordinator_request_stop(coordinator, NULL, NULL), LEVADA_OK);
    assert_int_equal(levada_coordinator_join(coordinator, LEVADA_FOREVER, false, NULL), LEVADA_OK);
    levada_coordinator_destroy(&coordinator);
    return st;
}

static levada_status use_runner(const void *options, levada_error *err)
{
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;
    levada_queue        *queue = NULL;
    levada_queue_runner *runner = NULL;
    levada_status        st;

    o.ncomponents = 1;
    o.dtypes = &int64_type;
    assert_int_equal(levada_queue_create(NULL, &o, &queue, NULL), LEVADA_OK);
    st = levada_queue_runner_create(queue, options, &runner, err);
    levada_queue_runner_destroy(&runner);
    levada_queue_unref(&queue);
    return st;
}

static levada_status use_reader(const void *options, levada_error *err)
{
    levada_reader *reader = NULL;
    levada_status  st = levada_reader_create(NULL, options, &reader, err);

    levada_reader_destroy(&reader);
    return st;
}

static levada_status use_verify(const void *options, levada_error *err)
{
    levada_verify_result result = LEVADA_VERIFY_RESULT_INIT;

    return levada_inspect_verify(NULL, t_path("a.txt"), options, &result, err);
}

static levada_status use_index(const void *options, levada_error *err)
{
    return levada_inspect_index(NULL, t_path("a.txt"), options, NULL, err);
}

static levada_status use_report(const void *options, levada_error *err)
{
    static const int64_t lengths[] = { 3, 5 };
    char                *text = NULL;
    levada_status        st = levada_padding_report(lengths, 2, options, &text, err);

    levada_string_free(&text);
    return st;
}

/* Two that are filled in: a copy has the tail of the caller's. */
static levada_status use_result(const void *result, levada_error *err)
{
    unsigned char copy[1024];
    size_t        size, after;
    levada_status st;

    memcpy(&size, result, sizeof size);
    memcpy(copy, result, sizeof copy);
    st = levada_inspect_verify(NULL, t_path("a.txt"), NULL, (levada_verify_result *)(void *)copy,
                               err);
    memcpy(&after, copy, sizeof after);
    assert_int_equal(after, size);
    return st;
}

static levada_status use_kind(const void *kind, levada_error *err)
{
    unsigned char copy[1024];

    memcpy(copy, kind, sizeof copy);
    return levada_inspect_kind(NULL, t_path("a.txt"), NULL, (levada_file_kind *)(void *)copy, err);
}

static levada_status use_traits(const void *traits, levada_error *err)
{
    levada_dataset *dataset = NULL;
    unsigned char   copy[1024];
    levada_status   st;

    memcpy(copy, traits, sizeof copy);
    assert_int_equal(levada_dataset_parse(NULL, "range:3", &dataset, NULL), LEVADA_OK);
    st = levada_dataset_traits(dataset, (levada_traits *)(void *)copy, err);
    levada_dataset_unref(&dataset);
    return st;
}

static levada_status use_divide(const void *options, levada_error *err)
{
    levada_dataset *dataset = NULL, *part = NULL;
    levada_status   st;

    assert_int_equal(levada_dataset_parse(NULL, "range:3", &dataset, NULL), LEVADA_OK);
    st = levada_dataset_divide(dataset, options, &part, err);
    levada_dataset_unref(&part);
    levada_dataset_unref(&dataset);
    return st;
}

static levada_status use_arrow(const void *options, levada_error *err)
{
    levada_dataset    *dataset = NULL;
    struct ArrowSchema schema;
    levada_spec       *spec = NULL;
    levada_status      st;

    assert_int_equal(levada_dataset_parse(NULL, "range:3", &dataset, NULL), LEVADA_OK);
    assert_int_equal(levada_arrow_export_spec(levada_dataset_spec(dataset), &schema, NULL),
                     LEVADA_OK);
    st = levada_arrow_import_spec(&schema, options, &spec, err);
    levada_spec_unref(&spec);
    schema.release(&schema);
    levada_dataset_unref(&dataset);
    return st;
}

static levada_status call(void *run, const levada_block *in, levada_block **out, levada_error *err)
{
    (void)run;
    (void)in;
    (void)out;
    (void)err;
    return LEVADA_END;
}

static levada_status use_function(const void *def, levada_error *err)
{
    levada_function *function = NULL;
    levada_status    st = levada_function_create(def, NULL, &function, err);

    levada_function_unref(&function);
    return st;
}

static levada_status use_def(levada_family family, const void *def, levada_error *err)
{
    levada_env   *env = NULL;
    levada_status st;

    assert_int_equal(levada_env_create(NULL, &env, NULL), LEVADA_OK);
    st = t_register(env, family, def, NULL, err);
    levada_env_destroy(&env);
    return st;
}

typedef struct args {
    int64_t count;
} args;

/* The first row of a table, and the end of it after the bytes that this row says it has. */
static levada_status use_arg(const void *row, levada_error *err)
{
    unsigned char    table[2048] = { 0 };
    levada_stage_def def = levada_registry_find(NULL, "batch")->def.stage;

    memcpy(table, row, 1024);
    def.name = "batch_of_test";
    def.args = (const levada_arg *)(const void *)table;
    def.args_size = sizeof(args);
    return use_def(LEVADA_FAMILY_STAGE, &def, err);
}

/* -- the structs ------------------------------------------------------------------------------- */

typedef struct versioned_case {
    const char *name;
    size_t      size;
    levada_status (*use)(const void *theirs, levada_error *err); /* NULL: a descriptor */
    union {
        levada_env_options          env;
        levada_io_options           io;
        levada_iter_options         iter;
        levada_queue_options        queue;
        levada_barrier_options      barrier;
        levada_barrier_take         take;
        levada_looper_options       looper;
        levada_queue_runner_options runner;
        levada_reader_options       reader;
        levada_bucket_options       bucket;
        levada_bucket_counts        counts;
        levada_watchdog_options     watchdog;
        levada_state_saver_options  saver;
        levada_state_saver_stats    stats;
        levada_saver_example        example;
        levada_segment_view         view;
        levada_wait                 wait;
        levada_verify_options       verify;
        levada_index_options        index;
        levada_padding_report_options report;
        levada_batch_sizes          sizes;
        levada_batch_padding        padding;
        levada_verify_result        result;
        levada_file_kind            kind;
        levada_traits               traits;
        levada_divide_options       divide;
        levada_arrow_options        arrow;
        levada_write_options        write;
        levada_write_result         written;
        levada_function_def         function;
        levada_stage_def            stage;
        levada_format_def           format;
        levada_source_def           source;
        levada_decoder_def          decoder;
        levada_filter_def           filter;
        levada_opener_def           opener;
        levada_arg                  arg;
    } as;
} versioned_case;

static test_source             no_elements;
static const int64_t           one = 1;
static const levada_enqueue_op nothing = { end, NULL, NULL };

static versioned_case cases[] = {
    { "levada_env_options", sizeof(levada_env_options), use_env,
      { .env = LEVADA_ENV_OPTIONS_INIT } },
    { "levada_io_options", sizeof(levada_io_options), use_io, { .io = LEVADA_IO_OPTIONS_INIT } },
    { "levada_iter_options", sizeof(levada_iter_options), use_iter,
      { .iter = LEVADA_ITER_OPTIONS_INIT } },
    { "levada_queue_options", sizeof(levada_queue_options), use_queue,
      { .queue = LEVADA_QUEUE_OPTIONS_INIT } },
    { "levada_barrier_options", sizeof(levada_barrier_options), use_barrier,
      { .barrier = LEVADA_BARRIER_OPTIONS_INIT } },
    { "levada_barrier_take", sizeof(levada_barrier_take), use_take,
      { .take = LEVADA_BARRIER_TAKE_INIT } },
    { "levada_looper_options", sizeof(levada_looper_options), use_looper,
      { .looper = LEVADA_LOOPER_OPTIONS_INIT } },
    { "levada_queue_runner_options", sizeof(levada_queue_runner_options), use_runner,
      { .runner = LEVADA_QUEUE_RUNNER_OPTIONS_INIT } },
    { "levada_reader_options", sizeof(levada_reader_options), use_reader,
      { .reader = LEVADA_READER_OPTIONS_INIT } },
    { "levada_bucket_options", sizeof(levada_bucket_options), test_bucket_use_options,
      { .bucket = LEVADA_BUCKET_OPTIONS_INIT } },
    { "levada_bucket_counts", sizeof(levada_bucket_counts), test_bucket_use_counts,
      { .counts = LEVADA_BUCKET_COUNTS_INIT } },
    { "levada_watchdog_options", sizeof(levada_watchdog_options), test_use_watchdog,
      { .watchdog = LEVADA_WATCHDOG_OPTIONS_INIT } },
    { "levada_wait", sizeof(levada_wait), test_use_wait, { .wait = LEVADA_WAIT_INIT } },
    { "levada_state_saver_options", sizeof(levada_state_saver_options), test_use_saver,
      { .saver = LEVADA_STATE_SAVER_OPTIONS_INIT } },
    { "levada_state_saver_stats", sizeof(levada_state_saver_stats), test_use_stats,
      { .stats = LEVADA_STATE_SAVER_STATS_INIT } },
    { "levada_saver_example", sizeof(levada_saver_example), test_use_example,
      { .example = LEVADA_SAVER_EXAMPLE_INIT } },
    { "levada_segment_view", sizeof(levada_segment_view), test_use_view,
      { .view = LEVADA_SEGMENT_VIEW_INIT } },
    { "levada_padding_report_options", sizeof(levada_padding_report_options), use_report,
      { .report = LEVADA_PADDING_REPORT_OPTIONS_INIT } },
    { "levada_batch_sizes", sizeof(levada_batch_sizes), test_use_sizes,
      { .sizes = LEVADA_BATCH_SIZES_INIT } },
    { "levada_batch_padding", sizeof(levada_batch_padding), test_use_padding,
      { .padding = LEVADA_BATCH_PADDING_INIT } },
    { "levada_verify_options", sizeof(levada_verify_options), use_verify,
      { .verify = LEVADA_VERIFY_OPTIONS_INIT } },
    { "levada_index_options", sizeof(levada_index_options), use_index,
      { .index = LEVADA_INDEX_OPTIONS_INIT } },
    { "levada_verify_result", sizeof(levada_verify_result), use_result,
      { .result = LEVADA_VERIFY_RESULT_INIT } },
    { "levada_write_options", sizeof(levada_write_options), test_use_write,
      { .write = LEVADA_WRITE_OPTIONS_INIT } },
    { "levada_write_result", sizeof(levada_write_result), test_use_written,
      { .written = LEVADA_WRITE_RESULT_INIT } },
    { "levada_file_kind", sizeof(levada_file_kind), use_kind, { .kind = LEVADA_FILE_KIND_INIT } },
    { "levada_arrow_options", sizeof(levada_arrow_options), use_arrow,
      { .arrow = LEVADA_ARROW_OPTIONS_INIT } },
    { "levada_divide_options", sizeof(levada_divide_options), use_divide,
      { .divide = LEVADA_DIVIDE_OPTIONS_INIT } },
    { "levada_traits", sizeof(levada_traits), use_traits, { .env = { 0 } } },
    { "levada_function_def", sizeof(levada_function_def), use_function, { .env = { 0 } } },
    { "levada_stage_def", sizeof(levada_stage_def), NULL, { .env = { 0 } } },
    { "levada_format_def", sizeof(levada_format_def), NULL, { .env = { 0 } } },
    { "levada_source_def", sizeof(levada_source_def), NULL, { .env = { 0 } } },
    { "levada_decoder_def", sizeof(levada_decoder_def), NULL, { .env = { 0 } } },
    { "levada_filter_def", sizeof(levada_filter_def), NULL, { .env = { 0 } } },
    { "levada_opener_def", sizeof(levada_opener_def), NULL, { .env = { 0 } } },
    { "levada_arg", sizeof(levada_arg), use_arg, { .env = { 0 } } },
};
#define CASES (sizeof cases / sizeof *cases)

/* The library fills these in, and the other side looks at how much of them there is. */
static const char *const filled_in[] = { "levada_context", "levada_host", "levada_plugin" };

static versioned_case *of(const char *name)
{
    for (size_t i = 0; i < CASES; i++) {
        if (strcmp(cases[i].name, name) == 0) return &cases[i];
    }
    return NULL;
}

/* Options without which a call fails anyway. */
static void complete(void)
{
    levada_env *env = NULL;

    of("levada_queue_options")->as.queue.ncomponents = 1;
    of("levada_queue_options")->as.queue.dtypes = &int64_type;
    of("levada_barrier_options")->as.barrier.ncomponents = 1;
    of("levada_barrier_options")->as.barrier.dtypes = &int64_type;
    of("levada_barrier_options")->as.barrier.shapes = &scalar;
    of("levada_barrier_take")->as.take.timeout = 0;
    of("levada_looper_options")->as.looper.run = end;
    of("levada_queue_runner_options")->as.runner.nops = 1;
    of("levada_queue_runner_options")->as.runner.ops = &nothing;
    of("levada_bucket_options")->as.bucket = test_bucket_options(&no_elements, 1, &one);
    of("levada_function_def")->as.function =
        (levada_function_def){ .struct_size = sizeof(levada_function_def), .kind = "c",
                               .call = call };
    assert_int_equal(levada_env_create(NULL, &env, NULL), LEVADA_OK);
#define COPY(word, family)                                                     \
    of("levada_" #family "_def")->as.family =                                  \
        levada_registry_find(env, word)->def.family;                           \
    of("levada_" #family "_def")->as.family.name = word "_of_test";            \
    of("levada_" #family "_def")->as.family.args = NULL
    COPY("batch", stage);
    COPY("tfrecord", format);
    COPY("range", source);
    COPY("parse_example", decoder);
#undef COPY
    of("levada_filter_def")->as.filter = *levada_registry_filter(env, "gzip");
    of("levada_filter_def")->as.filter.name = "gzip_of_test";
    of("levada_opener_def")->as.opener = *levada_opener_find(env, "/local");
    of("levada_opener_def")->as.opener.name = "opener_of_test";
    of("levada_arg")->as.arg = (levada_arg)LEVADA_ARG(INT, args, count, .doc = "a number");
    levada_env_destroy(&env);
    t_write_file(t_path("a.txt"), "one\ntwo\n", 8);
}

/* -- claims ------------------------------------------------------------------------------------ */

/* The struct with that struct_size, and `last` as the byte at its end. */
static levada_status use(const versioned_case *c, size_t size, unsigned char last,
                         levada_error *err)
{
    _Alignas(16) unsigned char theirs[1024] = { 0 };

    memcpy(theirs, &c->as, c->size);
    memcpy(theirs, &size, sizeof size);
    if (last != 0) theirs[size - 1] = last;
    for (int f = 0; !c->use; f++) {
        char name[40];

        (void)snprintf(name, sizeof name, "levada_%s_def", levada_family_name((levada_family)f));
        if (strcmp(name, c->name) == 0) return use_def((levada_family)f, theirs, err);
    }
    return c->use(theirs, err);
}

static void refuses(const versioned_case *c, size_t size, unsigned char last)
{
    levada_error err = LEVADA_ERROR_INIT;

    if (use(c, size, last, &err) != LEVADA_EINVALID_ARGUMENT || !strstr(err.message, c->name)) {
        fail_msg("%s with struct_size=%zu: '%s'", c->name, size, err.message);
    }
}

static void accepts(const versioned_case *c, size_t size)
{
    levada_error err = LEVADA_ERROR_INIT;

    if (use(c, size, 0, &err) != LEVADA_OK) {
        fail_msg("%s with struct_size=%zu: '%s'", c->name, size, err.message);
    }
}

static void a_struct_of_our_size_or_a_longer_one_with_zeros_is_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        accepts(&cases[i], cases[i].size);
        accepts(&cases[i], cases[i].size + 24);
    }
}

static void a_size_that_no_struct_has_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        refuses(&cases[i], 0, 0);
        refuses(&cases[i], sizeof(size_t) - 1, 0);
        refuses(&cases[i], SIZE_MAX, 0);
    }
}

static void members_that_we_do_not_know_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        refuses(&cases[i], cases[i].size + 1, 7);
        refuses(&cases[i], cases[i].size + 24, 1);
    }
}

static void the_message_says_what_to_do(void **state)
{
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;
    levada_error         err = LEVADA_ERROR_INIT;

    (void)state;
    o.struct_size = 0;
    assert_int_equal(use_queue(&o, &err), LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message, "struct_size=0 of levada_queue_options must be "
                                     "sizeof(levada_queue_options)");
}

static void rows_of_a_table_have_one_size(void **state)
{
    levada_arg table[] = { LEVADA_ARG(INT, args, count, .doc = "a number"),
                           LEVADA_ARG(INT, args, count, .doc = "a number"), LEVADA_ARG_END };
    levada_stage_def def = of("levada_stage_def")->as.stage;
    levada_error     err = LEVADA_ERROR_INIT;

    (void)state;
    def.args = table;
    def.args_size = sizeof(args);
    table[1].name = "other";
    assert_int_equal(use_def(LEVADA_FAMILY_STAGE, &def, &err), LEVADA_OK);
    table[1].struct_size -= 8;
    assert_int_equal(use_def(LEVADA_FAMILY_STAGE, &def, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "option 'other': struct_size="));
}

/* -- numbers ----------------------------------------------------------------------------------- */

enum { LESS = 1, LEAST = 2, MOST = 4, ANY = 7 }; /* -1 and the ends of the type */

/* What means something, as the headers say. Any other value of these is an error that names it. */
static const struct {
    const char *of, *name;
    int         accepted;
} meanings[] = {
    { "levada_barrier_take", "timeout", ANY },          /* a time; negative is forever */
    { "levada_bucket_options", "keep_component", LESS }, /* none */
    { "levada_bucket_options", "capacity", LESS | MOST },
    { "levada_looper_options", "interval", LESS | MOST },
    { "levada_env_options", "max_bytes", LESS | MOST },
    { "levada_io_options", "attempts", MOST },
    { "levada_io_options", "deadline", MOST },
    { "levada_io_options", "read_ahead", MOST },
    { "levada_verify_options", "expect_good", LESS | MOST },
    { "levada_verify_options", "max_record_bytes", MOST },
    { "levada_index_options", "max_record_bytes", MOST },
    { "levada_iter_options", "seed", LESS | MOST },
    { "levada_iter_options", "epoch", MOST },
    { "levada_iter_options", "max_record_bytes", MOST },
    { "levada_queue_options", "capacity", ANY },
    { "levada_queue_options", "max_bytes", ANY },
    { "levada_queue_options", "min_after_dequeue", MOST }, /* of the kind SHUFFLE only */
    { "levada_queue_options", "seed", ANY },
    { "levada_reader_options", "skip_header_lines", MOST }, /* of other kinds than the default */
    { "levada_reader_options", "record_bytes", MOST },
    { "levada_reader_options", "header_bytes", MOST },
    { "levada_reader_options", "footer_bytes", MOST },
    { "levada_reader_options", "hop_bytes", MOST },
    { "levada_state_saver_options", "batch_size", MOST },
    { "levada_state_saver_options", "capacity", LESS | MOST },
    { "levada_state_saver_options", "state_timeout", MOST },
    { "levada_batch_padding", "width", LESS },
    { "levada_watchdog_options", "limit", MOST },
    { "levada_divide_options", "count", MOST },
    { "levada_write_options", "level", LESS | MOST }, /* a file without compression */
    { "levada_write_options", "records_per_file", MOST },
    { "levada_write_options", "bytes_per_file", MOST },
    { "levada_write_options", "threads", MOST },
};

static int accepted(const test_field *f)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (strcmp(meanings[i].of, f->of) == 0 && strcmp(meanings[i].name, f->name) == 0)
            return meanings[i].accepted;
    }
    return 0;
}

static void try_number(const versioned_case *c, const test_field *f, int which)
{
    versioned_case changed = *c;
    levada_error   err = LEVADA_ERROR_INIT;
    levada_status  st;
    char           number[32];
    int64_t        least = f->size == 4 ? INT32_MIN : INT64_MIN;
    int64_t        value = which == LESS ? -1 : which == LEAST ? least : -1 - least;
    int32_t        narrow = (int32_t)value;

    memcpy((char *)&changed.as + f->at, f->size == 4 ? (void *)&narrow : (void *)&value, f->size);
    fault_arm(INT64_MAX);
    st = use(&changed, c->size, 0, &err);
    (void)fault_disarm();
    (void)snprintf(number, sizeof number, "%lld", (long long)value);
    if (fault_bytes() > NUMBERS_BYTES) {
        fail_msg("%s.%s=%s takes %lld bytes", f->of, f->name, number, (long long)fault_bytes());
    }
    if (st == LEVADA_OK && !(accepted(f) & which)) {
        fail_msg("%s.%s=%s is accepted", f->of, f->name, number);
    }
    if (st == LEVADA_EINVALID_ARGUMENT && !strstr(err.message, number)) {
        fail_msg("%s.%s=%s: %s", f->of, f->name, number, err.message);
    }
}

static void numbers_mean_something_or_are_refused(void **state)
{
    (void)state;
    for (const test_field *f = test_fields; f->of; f++) {
        const versioned_case *c = of(f->of);

        bool                  counts = c && c->use == test_use_saver && f->name[0] == 'n' &&
                      strcmp(f->name, "num_unroll") != 0; /* of lists, which the call sets */

        if (!c || counts ||
            (!strstr(f->of, "_options") && c->use != use_take && c->use != test_use_padding))
            continue;
        for (int which = LESS; which <= MOST; which *= 2) try_number(c, f, which);
    }
}

#define SAME_INIT(type, initializer)                                            \
    do {                                                                        \
        static const type want = initializer;                                      \
        unsigned char theirs[1024];                                             \
        memset(theirs, 0xAB, sizeof theirs);                                    \
        type##_init((type *)(void *)theirs, sizeof(type) + 8);                  \
        assert_memory_equal(theirs + 8, (const char *)&want + 8, sizeof want - 8); \
        assert_int_equal(*(size_t *)(void *)theirs, sizeof want + 8);           \
        for (size_t i = 0; i < 8; i++) assert_int_equal(theirs[sizeof want + i], 0); \
        assert_int_equal(theirs[sizeof want + 8], 0xAB);                        \
        type##_init(NULL, sizeof want);                                         \
    } while (0)

/* Its name is a literal, which may be stored twice. */
static void the_function_of_loopers_initializes_as_the_macro_does(void **state)
{
    levada_looper_options want = LEVADA_LOOPER_OPTIONS_INIT, got;

    (void)state;
    memset(&got, 0xAB, sizeof got);
    levada_looper_options_init(&got, sizeof got);
    assert_string_equal(got.name, want.name);
    got.name = want.name;
    assert_memory_equal(&got, &want, sizeof want);
}

static void functions_initialize_as_the_macros_do(void **state)
{
    (void)state;
    SAME_INIT(levada_env_options, LEVADA_ENV_OPTIONS_INIT);
    SAME_INIT(levada_io_options, LEVADA_IO_OPTIONS_INIT);
    SAME_INIT(levada_iter_options, LEVADA_ITER_OPTIONS_INIT);
    SAME_INIT(levada_queue_options, LEVADA_QUEUE_OPTIONS_INIT);
    SAME_INIT(levada_barrier_options, LEVADA_BARRIER_OPTIONS_INIT);
    SAME_INIT(levada_barrier_take, LEVADA_BARRIER_TAKE_INIT);
    SAME_INIT(levada_queue_runner_options, LEVADA_QUEUE_RUNNER_OPTIONS_INIT);
    SAME_INIT(levada_reader_options, LEVADA_READER_OPTIONS_INIT);
    SAME_INIT(levada_bucket_options, LEVADA_BUCKET_OPTIONS_INIT);
    SAME_INIT(levada_bucket_counts, LEVADA_BUCKET_COUNTS_INIT);
    SAME_INIT(levada_watchdog_options, LEVADA_WATCHDOG_OPTIONS_INIT);
    SAME_INIT(levada_wait, LEVADA_WAIT_INIT);
    SAME_INIT(levada_state_saver_options, LEVADA_STATE_SAVER_OPTIONS_INIT);
    SAME_INIT(levada_state_saver_stats, LEVADA_STATE_SAVER_STATS_INIT);
    SAME_INIT(levada_saver_example, LEVADA_SAVER_EXAMPLE_INIT);
    SAME_INIT(levada_segment_view, LEVADA_SEGMENT_VIEW_INIT);
    SAME_INIT(levada_padding_report_options, LEVADA_PADDING_REPORT_OPTIONS_INIT);
    SAME_INIT(levada_batch_sizes, LEVADA_BATCH_SIZES_INIT);
    SAME_INIT(levada_batch_padding, LEVADA_BATCH_PADDING_INIT);
    SAME_INIT(levada_verify_options, LEVADA_VERIFY_OPTIONS_INIT);
    SAME_INIT(levada_index_options, LEVADA_INDEX_OPTIONS_INIT);
    SAME_INIT(levada_verify_result, LEVADA_VERIFY_RESULT_INIT);
    SAME_INIT(levada_write_options, LEVADA_WRITE_OPTIONS_INIT);
    SAME_INIT(levada_arrow_options, LEVADA_ARROW_OPTIONS_INIT);
    SAME_INIT(levada_divide_options, LEVADA_DIVIDE_OPTIONS_INIT);
    SAME_INIT(levada_write_result, LEVADA_WRITE_RESULT_INIT);
    SAME_INIT(levada_file_kind, LEVADA_FILE_KIND_INIT);
}

/* -- nothing is forgotten ---------------------------------------------------------------------- */

static bool known(const char *name)
{
    for (size_t i = 0; i < sizeof filled_in / sizeof *filled_in; i++) {
        if (strcmp(filled_in[i], name) == 0) return true;
    }
    return of(name) != NULL;
}

/* Structs of one header whose first member is struct_size; all of them have a case. */
static int count_structs(const char *path)
{
    t_bytes text = t_read_file(path);
    char    name[64], member[64];
    int     n = 0;

    t_add(&text, "", 1);
    for (const char *at = (const char *)text.at; (at = strstr(at, "typedef struct ")); at++) {
        if (sscanf(at, "typedef struct %63[a-z_0-9] { size_t %63[a-z_]", name, member) != 2 ||
            strcmp(member, "struct_size") != 0) {
            continue;
        }
        n++;
        if (!known(name)) fail_msg("%s of %s has no case in this test", name, path);
    }
    t_clear(&text);
    return n;
}

static void each_struct_of_the_headers_has_a_case(void **state)
{
    DIR           *folder;
    struct dirent *entry;
    char           path[4096];
    int            n = 0;

    (void)state;
    if (!headers) skip();
    folder = opendir(headers);
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        if (!strstr(entry->d_name, ".h")) continue;
        (void)snprintf(path, sizeof path, "%s/%s", headers, entry->d_name);
        n += count_structs(path);
    }
    (void)closedir(folder);
    assert_int_equal(n, CASES + sizeof filled_in / sizeof *filled_in);
}

static int set_up(void **state)
{
    int st = t_folder_set_up(state);

    complete();
    return st;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_struct_of_our_size_or_a_longer_one_with_zeros_is_accepted),
        cmocka_unit_test(a_size_that_no_struct_has_is_refused),
        cmocka_unit_test(members_that_we_do_not_know_are_refused),
        cmocka_unit_test(the_message_says_what_to_do),
        cmocka_unit_test(rows_of_a_table_have_one_size),
        cmocka_unit_test(numbers_mean_something_or_are_refused),
        cmocka_unit_test(functions_initialize_as_the_macros_do),
        cmocka_unit_test(the_function_of_loopers_initializes_as_the_macro_does),
        cmocka_unit_test(each_struct_of_the_headers_has_a_case),
    };

    if (argc >= 2) headers = argv[1];
    return cmocka_run_group_tests(tests, set_up, t_folder_tear_down);
}
