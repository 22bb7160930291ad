/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readings - a source that reads files by itself: records of an int64 and the sum of its bytes.
 *
 *     cc -shared -fPIC -I include plugins/example/readings.c -o readings.so
 *     levada --plugin ./readings.so head 'readings:day-*.bin'
 *
 * The core expands the patterns of the option `files`. The source tells it the file, number and
 * byte of each record, and rejects a record whose sum is wrong, so that errors, record_keys and the
 * policy errors=skip work as for a built-in format. (A file format would be shorter here:
 * prefixed.c is one. Write a source for files that are not a sequence of frames.)
 */
#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

#include <string.h>

enum { READINGS_BYTES = 12, READINGS_ROWS = 256 };

typedef struct readings_args {
    levada_texts files;
} readings_args;

typedef struct readings_state {
    const levada_context *context;
    levada_bytes         *bytes; /* the file that is open, or NULL */
    int64_t               file, record, nfiles;
} readings_state;

static const levada_arg readings_options[] = {
    LEVADA_ARG(TEXTS, readings_args, files, .required = true, .positional = true, .paths = true,
               .doc = "paths and patterns of the files"),
    LEVADA_ARG_END
};

static levada_status readings_check(const void *args, levada_spec **out, levada_error *err)
{
    levada_field field = { .name = "value", .dtype = LEVADA_INT64 };

    (void)args;
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status readings_open(void *state, const void *args, const levada_context *context,
                                   levada_error *err)
{
    readings_state *s = state;

    (void)err;
    s->context = context;
    s->nfiles = ((const readings_args *)args)->files.n; /* paths: the core has expanded patterns */
    return LEVADA_OK;
}

static void readings_close(void *state)
{
    levada_bytes_close(&((readings_state *)state)->bytes);
}

/* Reads up to `size` bytes of the current file, from its next record on; 0 at its end. */
static levada_status readings_read(readings_state *s, const char *path, uint8_t *data, int64_t size,
                                   int64_t *made, levada_error *err)
{
    *made = 0;
    if (!s->bytes) {
        LEVADA_TRY(levada_bytes_open(s->context->env, path, NULL, &s->bytes, err));
        LEVADA_TRY(levada_bytes_seek(s->bytes, s->record * READINGS_BYTES, err));
    }
    return levada_bytes_read(s->bytes, data, size, made, err);
}

/* Why a record is bad; NULL = it is good. */
static const char *readings_fault(const uint8_t *p, int64_t size, int64_t *value)
{
    uint64_t number = 0;
    uint32_t sum = 0, given;

    *value = 0;
    if (size < READINGS_BYTES) return "the file ends in a record";
    given = p[8] | (uint32_t)p[9] << 8 | (uint32_t)p[10] << 16 | (uint32_t)p[11] << 24;
    for (int i = 7; i >= 0; i--) {
        number = number << 8 | p[i];
        sum += p[i];
    }
    if (sum != given) return "the sum of the bytes is wrong";
    memcpy(value, &number, sizeof number);
    return NULL;
}

/* Row i of a block, from the bytes of its record. */
static levada_status readings_row(const readings_state *s, levada_builder *b, int64_t i,
                                  const uint8_t *p, int64_t size, levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;
    int64_t      value, record = s->record + i;
    const char  *fault = readings_fault(p, size, &value);

    LEVADA_TRY(levada_builder_push_i64(b, 0, value, err));
    LEVADA_TRY(levada_builder_origin(b, i, (int32_t)s->file, record, record * READINGS_BYTES,
                                     err));
    if (!fault) return LEVADA_OK;
    (void)levada_fail(&why, LEVADA_EDATA_LOSS, "%s", fault);
    return levada_builder_reject(b, i, &why, err); /* the core adds file, record and byte */
}

static levada_status readings_block(readings_state *s, const uint8_t *data, int64_t size,
                                    levada_block **out, levada_error *err)
{
    levada_builder *b = NULL;
    levada_status   st;
    int64_t         n = (size + READINGS_BYTES - 1) / READINGS_BYTES;

    st = levada_builder_create(s->context->env, s->context->out, -1, &b, err);
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        st = readings_row(s, b, i, data + i * READINGS_BYTES, size - i * READINGS_BYTES, err);
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    if (st == LEVADA_OK) s->record += n;
    return st;
}

static levada_status readings_next(void *state, const void *args, levada_block **out,
                                   levada_error *err)
{
    const readings_args *a = args;
    readings_state      *s = state;
    int64_t              rows = s->context->block_rows, made = 0;
    uint8_t              data[READINGS_ROWS * READINGS_BYTES];

    if (rows > READINGS_ROWS) rows = READINGS_ROWS;
    while (s->file < s->nfiles) {
        LEVADA_TRY(readings_read(s, a->files.at[s->file], data, rows * READINGS_BYTES, &made, err));
        if (made > 0) return readings_block(s, data, made, out, err);
        readings_close(s);
        s->file++;
        s->record = 0;
    }
    return LEVADA_END;
}

static levada_status readings_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const readings_state *s = state;

    LEVADA_TRY(levada_state_put_i64(to, "file", s->file, err));
    return levada_state_put_i64(to, "record", s->record, err);
}

static levada_status readings_restore(void *state, levada_state_reader *from, levada_error *err)
{
    readings_state *s = state;
    int64_t         file, record;

    LEVADA_TRY(levada_state_get_count(from, "file", s->nfiles, &file, err));
    LEVADA_TRY(levada_state_get_count(from, "record", LEVADA_COUNT_LIMIT / READINGS_BYTES,
                                      &record, err));
    readings_close(s);
    s->file = file;
    s->record = record;
    return LEVADA_OK;
}

static const levada_example_file readings_files[] = {
    { "day-1.bin", "\1\0\0\0\0\0\0\0" "\1\0\0\0" "\2\1\0\0\0\0\0\0" "\3\0\0\0", 24 },
    { "day-2.bin", "\5\0\0\0\0\0\0\0" "\5\0\0\0", 12 },
    { NULL, NULL, 0 }
};

static const levada_source_def readings = {
    .struct_size = sizeof(levada_source_def),
    .name = "readings",
    .doc = "int64 values with sums of their bytes",
    .example = "readings:day-*.bin",
    .example_files = readings_files,
    .args = readings_options,
    .args_size = sizeof(readings_args),
    .state_size = sizeof(readings_state),
    .state_version = 1,
    .check = readings_check,
    .open = readings_open,
    .close = readings_close,
    .next = readings_next,
    .save = readings_save,
    .restore = readings_restore,
};

levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "readings", 1);
    return host->add_source(plugin, &readings, err);
}
