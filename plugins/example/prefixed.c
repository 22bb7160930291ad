/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefixed - a file format and a decoder of one's own, those of docs/adding-a-source.md and
 * docs/adding-a-decoder.md:
 *
 *     cc -shared -fPIC -I include plugins/example/prefixed.c -o prefixed.so
 */
#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

#include <string.h>

/* A file of records, each with its length in front: 4 bytes, little endian. */
static levada_status prefixed_next(void *state, const void *args, const uint8_t *data, int64_t size,
                                   bool at_end, levada_spans *out, levada_error *err)
{
    int64_t at = 0, need = 0;
    int32_t n = 0;

    (void)state, (void)args;
    while (n < out->capacity && at < size) {
        const uint8_t *p = data + at; /* 64 bytes after the window can be read, too */
        int64_t length = (int64_t)p[0] | p[1] << 8 | p[2] << 16 | (int64_t)p[3] << 24;

        need = size - at < 4 ? 4 : 4 + length;
        if (size - at < need) break;
        out->begin[n] = (int32_t)at + 4;
        out->end[n++] = (int32_t)(at += need);
        need = 0;
    }
    out->n = n;
    out->used = at;
    out->need = n == 0 ? need : 0;
    if (!at_end || need == 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EDATA_LOSS, "%lld bytes of %lld: the file ends in a record",
                       (long long)(size - at), (long long)need);
}

/* What the example reads; the conformance suite writes it to a folder of its own. */
static const levada_example_file prefixed_files[] = {
    { "points.bin", "\20\0\0\0" "\1\0\0\0\0\0\0\0" "\0\0\200?" "\0\0\0@"
                    "\20\0\0\0" "\2\0\0\0\0\0\0\0" "\0\0\0@" "\0\0\200?", 40 },
    { NULL, NULL, 0 },
};

static const levada_format_def prefixed = {
    .struct_size = sizeof(levada_format_def),
    .name = "prefixed",
    .doc = "records with their length in front",
    .example = "prefixed:points.bin",
    .example_files = prefixed_files,
    .fields = LEVADA_FIELDS("record"),
    .next = prefixed_next,
};

/* The columns of the result. */
static levada_status point_check(const void *args, levada_spec **out, levada_error *err)
{
    static const levada_field fields[] = {
        { .name = "id", .dtype = LEVADA_INT64 },
        { .name = "xy", .dtype = LEVADA_FLOAT32, .ndim = 1, .dims = { 2 } },
    };

    (void)args;
    return levada_spec_create(fields, 2, LEVADA_SPEC_PLAIN, out, err);
}

/* A record is one int64 and two float32. One of another size is bad; the others go on. */
static levada_status point_decode(void *state, const void *args, const levada_strings *in,
                                  levada_builder *out, levada_error *err)
{
    void        *id = NULL, *xy = NULL;
    levada_error why = LEVADA_ERROR_INIT;

    (void)state, (void)args;
    LEVADA_TRY(levada_builder_values(out, 0, in->n, &id, err));
    LEVADA_TRY(levada_builder_values(out, 1, in->n * 2, &xy, err));
    for (int64_t i = 0; i < in->n; i++) {
        uint8_t record[16] = { 0 }; /* a bad one leaves well-formed values, too */

        if (in->size[i] == 16) memcpy(record, in->data[i], 16);
        memcpy((uint8_t *)id + i * 8, record, 8);
        memcpy((uint8_t *)xy + i * 8, record + 8, 8);
        if (in->size[i] == 16) continue;
        (void)levada_fail(&why, LEVADA_EDATA_LOSS, "a point of %d bytes, not 16", in->size[i]);
        LEVADA_TRY(levada_builder_reject(out, i, &why, err));
    }
    return LEVADA_OK;
}

static const levada_decoder_def decode_point = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "decode_point",
    .doc = "an int64 and two float32",
    .example = "prefixed:points.bin | decode_point",
    .example_files = prefixed_files,
    .field = "record",
    .check = point_check,
    .decode = point_decode,
};

levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "prefixed", 1);
    LEVADA_TRY(host->add_format(plugin, &prefixed, err));
    return host->add_decoder(plugin, &decode_point, err);
}
