/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idx - the format of MNIST: a heading, then numbers of one shape for each record.
 *
 *     cc -shared -fPIC -I include plugins/example/idx.c -o idx.so
 *     levada --plugin ./idx.so head 'idx:t10k-images-idx3-ubyte.gz,shape=[28,28]'
 *
 * The heading is 0, 0, the type of the numbers, the number of dimensions, and each of them in four
 * bytes, big endian: first the number of records, then the shape. A run that was saved continues in
 * the middle of a file, where no heading is: so the shape is an option, and the heading has to
 * agree with it. A file that was cut between two records has to be noticed elsewhere.
 */
#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

#include <string.h>

enum { IDX_BYTES = 8, IDX_MOST = 1 << 24 };

typedef struct idx_args {
    levada_ints shape;
} idx_args;

typedef struct idx_state {
    int64_t at; /* bytes of the file that were framed */
} idx_state;

static const levada_arg idx_options[] = {
    LEVADA_ARG(INTS, idx_args, shape, .min = 1, .max = 65535,
               .doc = "dimensions of a record; null = a single number"),
    LEVADA_ARG_END
};

static int64_t idx_heading(const idx_args *a) { return 8 + 4 * a->shape.n; }

/* Returns the number of bytes of a record; 0 if there are too many. */
static int64_t idx_record(const idx_args *a)
{
    int64_t bytes = 1;

    for (int64_t i = 0; i < a->shape.n && bytes <= IDX_MOST; i++) bytes *= a->shape.at[i];
    return bytes <= IDX_MOST ? bytes : 0;
}

/* -- the format: where records are */

static levada_status idx_seek(void *state, const void *args, int64_t offset, int64_t size,
                              levada_error *err)
{
    (void)args, (void)size, (void)err;
    ((idx_state *)state)->at = offset;
    return LEVADA_OK;
}

static levada_status idx_check_heading(const idx_args *a, const uint8_t *data, levada_error *err)
{
    if (data[0] != 0 || data[1] != 0 || data[2] != IDX_BYTES || data[3] != 1 + a->shape.n) {
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "the heading must be 00 00 08 %02x (uint8, %lld dimensions and their "
                           "number), got %02x %02x %02x %02x",
                           (unsigned)(1 + a->shape.n), (long long)a->shape.n, data[0], data[1],
                           data[2], data[3]);
    }
    for (int64_t i = 0; i < a->shape.n; i++) {
        const uint8_t *p = data + 8 + 4 * i;
        int64_t        size = (int64_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];

        if (size == a->shape.at[i]) continue;
        return levada_fail(err, LEVADA_EDATA_LOSS, "dimension %lld of the file is %lld, not %lld",
                           (long long)i, (long long)size, (long long)a->shape.at[i]);
    }
    return LEVADA_OK;
}

static levada_status idx_next(void *state, const void *args, const uint8_t *data, int64_t size,
                              bool at_end, levada_spans *out, levada_error *err)
{
    const idx_args *a = args;
    idx_state      *s = state;
    int64_t         heading = idx_heading(a), record = idx_record(a), need;

    need = s->at == 0 ? heading : record;
    if (s->at == 0 && size >= heading) {
        LEVADA_TRY(idx_check_heading(a, data, err));
        s->at = out->used = heading; /* a heading is not a record */
        return LEVADA_OK;
    }
    for (; s->at > 0 && out->n < out->capacity && size - out->used >= record; out->n++) {
        out->begin[out->n] = (int32_t)out->used;
        out->end[out->n] = (int32_t)(out->used += record);
    }
    s->at += out->used;
    if (out->n > 0 || (size == 0 && s->at > 0)) return LEVADA_OK;
    out->need = need;
    if (!at_end) return LEVADA_OK;
    return levada_fail(err, LEVADA_EDATA_LOSS, "%lld bytes of %lld: the file ends too early",
                       (long long)size, (long long)need);
}

/* -- the columns: what records are */

static levada_status idx_check(const void *args, levada_spec **out, levada_error *err)
{
    const idx_args *a = args;
    levada_field    field = { .name = "value", .dtype = LEVADA_UINT8 };

    if (a->shape.n > LEVADA_MAX_DIMS || idx_record(a) == 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "shape must have at most %d dimensions and %d numbers", LEVADA_MAX_DIMS,
                           IDX_MOST);
    }
    for (int64_t i = 0; i < a->shape.n; i++) field.dims[field.ndim++] = a->shape.at[i];
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status idx_decode(void *state, const void *args, const levada_strings *in,
                                levada_builder *out, levada_error *err)
{
    int64_t record = idx_record(args);
    void   *values = NULL;

    (void)state;
    LEVADA_TRY(levada_builder_values(out, 0, in->n * record, &values, err));
    for (int64_t i = 0; i < in->n; i++) {
        memcpy((uint8_t *)values + i * record, in->data[i], (size_t)record);
    }
    return LEVADA_OK;
}

static const levada_decoder_def idx_columns = {
    .struct_size = sizeof(levada_decoder_def),
    .check = idx_check,
    .decode = idx_decode,
};

static const levada_example_file idx_files[] = {
    { "digits.idx", "\0\0\10\2" "\0\0\0\3" "\0\0\0\2" "\1\2" "\3\4" "\5\6", 18 },
    { NULL, NULL, 0 }
};

static const levada_format_def idx = {
    .struct_size = sizeof(levada_format_def),
    .name = "idx",
    .doc = "uint8 records of one shape, as MNIST has them",
    .example = "idx:digits.idx,shape=[2]",
    .example_files = idx_files,
    .fields = LEVADA_FIELDS("record"),
    .args = idx_options,
    .args_size = sizeof(idx_args),
    .state_size = sizeof(idx_state),
    .seek = idx_seek,
    .next = idx_next,
    .decoder = &idx_columns,
};

levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "idx", 1);
    return host->add_format(plugin, &idx, err);
}
