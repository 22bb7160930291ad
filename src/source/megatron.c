/* SPDX-License-Identifier: Apache-2.0 */
/*
 * megatron - token sequences of Megatron-LM: NAME.bin has the tokens, and NAME.idx shows where
 * sequences and documents are.
 *
 *     "MMIDIDX\0\0", version u64 = 1, code of the dtype u8, sequences n u64, documents d u64,
 *     n lengths i32, n positions in bytes i64, d first sequences of documents i64, the last being n
 *
 * Records are known from the index alone, so the format is read with index=true.
 */
#include "base/alloc.h"
#include "description/dataset_priv.h"
#include "files/glob.h"
#include "option/value_priv.h"
#include "rows/infer.h"
#include "rows/numbers_put.h"
#include "source/beside.h"

#include <string.h>

enum { MEGATRON_HEAD = 34 };

typedef struct megatron_args {
    levada_dtype dtype;
    bool         documents;
} megatron_args;

static const levada_arg megatron_options[] = {
    LEVADA_ARG(DTYPE, megatron_args, dtype,
               .doc = "dtype of the tokens; if it is set, the .idx file must have the same dtype"),
    LEVADA_ARG(BOOL, megatron_args, documents, .otherwise = "false",
               .doc = "a record is a document with all its sequences, not one sequence"),
    LEVADA_ARG_END,
};

/* By code; 0 = none. */
static const levada_dtype megatron_dtypes[] = {
    LEVADA_NONE,  LEVADA_UINT8,   LEVADA_INT8,    LEVADA_INT16, LEVADA_INT32,
    LEVADA_INT64, LEVADA_FLOAT64, LEVADA_FLOAT32, LEVADA_UINT16
};

typedef struct megatron_index {
    levada_bytes *bytes;
    levada_dtype  dtype;
    int64_t       sequences, documents;
    /* -- loaded */
    uint8_t *lengths, *positions, *firsts;
} megatron_index;

static int64_t megatron_i32(const uint8_t *p)
{
    return (int32_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                     (uint32_t)p[3] << 24);
}

/* Reads a number of 4 or 8 bytes. */
static int64_t megatron_number(const uint8_t *p, int bytes)
{
    if (bytes == 4) return megatron_i32(p);
    return (int64_t)((uint64_t)(uint32_t)megatron_i32(p) | (uint64_t)megatron_i32(p + 4) << 32);
}

static levada_status megatron_head(const uint8_t *head, int64_t size, megatron_index *out,
                                   levada_error *err)
{
    size_t codes = sizeof megatron_dtypes / sizeof *megatron_dtypes;

    if (memcmp(head, "MMIDIDX\0\0", 9) != 0)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "not an index of Megatron: it must begin with MMIDIDX");
    if (megatron_number(head + 9, 8) != 1)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the index has version %lld; levada reads version 1",
                           (long long)megatron_number(head + 9, 8));
    if (head[17] == 0 || head[17] >= codes)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "unknown dtype code %d; levada reads codes 1 to %d",
                           head[17], (int)codes - 1);
    out->dtype = megatron_dtypes[head[17]];
    out->sequences = megatron_number(head + 18, 8);
    out->documents = megatron_number(head + 26, 8);
    if (out->sequences < 0 || out->sequences > size / 12 || out->documents < 0 ||
        out->documents > size / 8)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "%lld sequences and %lld documents exceed the index of %lld bytes",
                           (long long)out->sequences, (long long)out->documents, (long long)size);
    return LEVADA_OK;
}

static levada_status megatron_open(levada_env *env, const char *path, megatron_index *out,
                                   levada_error *err)
{
    uint8_t      *head = NULL;
    int64_t       size;
    levada_status st = LEVADA_OK;

    LEVADA_TRY(levada_beside_open(env, path, ".bin", ".idx", &out->bytes, err));
    size = levada_bytes_mark_of(out->bytes).size;
    if (size >= 0 && size < MEGATRON_HEAD)
        st = levada_fail(err, LEVADA_EDATA_LOSS, "it has %lld bytes, and its heading alone has %d",
                         (long long)size, (int)MEGATRON_HEAD);
    if (st == LEVADA_OK) st = levada_beside_read(out->bytes, 0, MEGATRON_HEAD, &head, err);
    if (st == LEVADA_OK) st = megatron_head(head, size, out, err);
    levada_free(head);
    if (st != LEVADA_OK) levada_error_wrap(err, "its .idx file");
    return st;
}

static levada_status megatron_load(megatron_index *x, levada_error *err)
{
    int64_t at = MEGATRON_HEAD, n = x->sequences;

    LEVADA_TRY(levada_beside_read(x->bytes, at, 4 * n, &x->lengths, err));
    LEVADA_TRY(levada_beside_read(x->bytes, at + 4 * n, 8 * n, &x->positions, err));
    return levada_beside_read(x->bytes, at + 12 * n, 8 * x->documents, &x->firsts, err);
}

static void megatron_close(megatron_index *x)
{
    levada_bytes_close(&x->bytes);
    levada_free(x->lengths);
    levada_free(x->positions);
    levada_free(x->firsts);
}

/* Adds sequences [first, end) as one record, from *last on. */
static levada_status megatron_add(const megatron_index *x, int64_t first, int64_t end,
                                  levada_index_sink *to, int64_t *last, levada_error *err)
{
    int64_t from = *last, at = from, width = levada_dtype_size(x->dtype);

    for (int64_t i = first; i < end; i++) {
        int64_t length = megatron_number(x->lengths + 4 * i, 4);
        int64_t place = megatron_number(x->positions + 8 * i, 8);

        if (place != at)
            return levada_fail(err, LEVADA_EDATA_LOSS,
                               "sequence %lld begins at byte %lld of the .bin file, but the "
                               "sequences before it end at byte %lld",
                               (long long)i, (long long)place, (long long)at);
        if (length < 0 || at > INT64_MAX - length * width)
            return levada_fail(err, LEVADA_EDATA_LOSS,
                               "sequence %lld must have a number of tokens in [0, 2^63), got %lld",
                               (long long)i, (long long)length);
        at += length * width;
    }
    *last = at;
    return to->add(to, from, at - from, (at - from) / width, err);
}

/* Adds all records; *last is where the last one ends. */
static levada_status megatron_records(const megatron_index *x, bool documents,
                                      levada_index_sink *to, int64_t *last, levada_error *err)
{
    int64_t first = 0;

    if (documents && x->documents == 0 && x->sequences > 0)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "%lld sequences are in no document; pass documents=false",
                           (long long)x->sequences);
    for (int64_t i = 0; !documents && i < x->sequences; i++)
        LEVADA_TRY(megatron_add(x, i, i + 1, to, last, err));
    for (int64_t i = 0; documents && i < x->documents; i++) {
        int64_t end = megatron_number(x->firsts + 8 * i, 8);

        if (end < first || end > x->sequences || (i == 0 && end != 0) ||
            (i + 1 == x->documents && end != x->sequences))
            return levada_fail(err, LEVADA_EDATA_LOSS,
                               "document %lld begins at sequence %lld, but documents must ascend "
                               "up to sequence %lld",
                               (long long)i, (long long)end, (long long)x->sequences);
        if (i > 0) LEVADA_TRY(megatron_add(x, first, end, to, last, err));
        first = end;
    }
    return LEVADA_OK;
}

/* Checks that the file of tokens has none after the last sequence; a file that is cut has damaged
 * records. */
static levada_status megatron_check_end(levada_env *env, const char *path, int64_t end,
                                        levada_error *err)
{
    levada_bytes *bytes = NULL;
    int64_t       size;

    LEVADA_TRY(levada_beside_open(env, path, "", "", &bytes, err));
    size = levada_bytes_mark_of(bytes).size;
    levada_bytes_close(&bytes);
    if (size <= end) return LEVADA_OK;
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       "its sequences end at byte %lld, but the .bin file has %lld bytes",
                       (long long)end, (long long)size);
}

static levada_status megatron_foreign(levada_env *env, const void *args, const char *path,
                                      levada_index_sink *to, levada_error *err)
{
    const megatron_args *a = args;
    megatron_index       x = { 0 };
    int64_t              last = 0;
    levada_status        st = megatron_open(env, path, &x, err);

    if (st != LEVADA_OK) {
        megatron_close(&x);
        return st;
    }
    if (a->dtype != x.dtype)
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT, "the tokens are %s, but dtype=%s",
                         levada_dtype_name(x.dtype), levada_dtype_name(a->dtype));
    if (st == LEVADA_OK) st = megatron_load(&x, err);
    to->field = "tokens";
    if (st == LEVADA_OK) st = megatron_records(&x, a->documents, to, &last, err);
    if (st == LEVADA_OK) st = megatron_check_end(env, path, last, err);
    if (st != LEVADA_OK) levada_error_wrap(err, "its .idx file");
    megatron_close(&x);
    return st;
}

/* -- options that the index determines */

static levada_status megatron_copy(const levada_value *options, levada_value *map,
                                   levada_error *err)
{
    for (int64_t i = 0; i < levada_value_count(options); i++) {
        const char *key = levada_value_key(options, i);

        if (strcmp(key, "dtype") == 0 || strcmp(key, "index") == 0) continue;
        LEVADA_TRY(
            levada_infer_set(map, key, levada_value_copy(levada_value_item(options, i)), err));
    }
    return LEVADA_OK;
}

static levada_status megatron_set(const levada_value *options, levada_dtype dtype,
                                  levada_value **out, levada_error *err)
{
    const char   *name = levada_dtype_name(dtype);
    levada_value *map = levada_value_map();
    levada_status st = map ? megatron_copy(options, map, err)
                           : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");

    if (st == LEVADA_OK)
        st = levada_infer_set(map, "dtype", levada_value_text(name, strlen(name)), err);
    if (st == LEVADA_OK) st = levada_infer_set(map, "index", levada_value_bool(true), err);
    if (st == LEVADA_OK) *out = map;
    else levada_value_destroy(&map);
    return st;
}

static levada_status megatron_infer(levada_env *env, const void *args, const levada_texts *files,
                                    const char *compression, const levada_value *options,
                                    levada_value **out, levada_error *err)
{
    levada_dtype   dtype = ((const megatron_args *)args)->dtype;
    megatron_index x = { .dtype = dtype };
    levada_files   found = { 0 };
    levada_status  st = LEVADA_OK;

    (void)compression;
    if (dtype != LEVADA_NONE && levada_value_as_bool(levada_value_get(options, "index")))
        return LEVADA_OK;
    if (dtype == LEVADA_NONE) {
        LEVADA_TRY(levada_files_find(env, files, &found, err));
        st = megatron_open(env, found.path[0], &x, err);
        if (st != LEVADA_OK) levada_error_place(err, NULL, found.path[0], -1, -1);
    }
    if (st == LEVADA_OK) st = megatron_set(options, x.dtype, out, err);
    megatron_close(&x);
    levada_files_clear(&found);
    return st;
}

/* -- columns */

static levada_status megatron_check(const void *args, levada_spec **out, levada_error *err)
{
    const megatron_args *a = args;
    levada_field field = { .name = "tokens", .dtype = a->dtype, .depth = 1 };

    if (a->dtype == LEVADA_NONE) field.dtype = LEVADA_INT32; /* until it is inferred */
    if (levada_dtype_is_bytes(field.dtype))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "dtype=string must be a dtype of numbers, such as int32 or uint16");
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status megatron_decode(void *state, const void *args, const levada_strings *in,
                                     levada_builder *out, levada_error *err)
{
    (void)state;
    return levada_numbers_put(out, 0, in,
                              levada_dtype_size(((const megatron_args *)args)->dtype), err);
}

static const levada_decoder_def megatron_columns = {
    .struct_size = sizeof(levada_decoder_def),
    .check = megatron_check,
    .decode = megatron_decode,
};

/* Sequences of 3, 2 and 1 tokens in two documents. */
static const levada_example_file megatron_files[] = {
    { "tokens.bin", "\1\0\2\0\3\0\4\0\5\0\6\0", 12 },
    { "tokens.idx",
      "MMIDIDX\0\0" "\1\0\0\0\0\0\0\0" "\10" "\3\0\0\0\0\0\0\0" "\3\0\0\0\0\0\0\0"
      "\3\0\0\0" "\2\0\0\0" "\1\0\0\0"
      "\0\0\0\0\0\0\0\0" "\6\0\0\0\0\0\0\0" "\12\0\0\0\0\0\0\0"
      "\0\0\0\0\0\0\0\0" "\1\0\0\0\0\0\0\0" "\3\0\0\0\0\0\0\0",
      94 },
    { NULL, NULL, 0 },
};

const levada_format_def levada_format_megatron = {
    .struct_size = sizeof(levada_format_def),
    .name = "megatron",
    .doc = "reads token sequences of Megatron-LM (.bin and .idx)",
    .example = "megatron:tokens.bin",
    .example_files = megatron_files,
    .fields = LEVADA_FIELDS("record"),
    .args = megatron_options,
    .args_size = sizeof(megatron_args),
    .decoder = &megatron_columns,
    .infer = megatron_infer,
    .foreign = megatron_foreign,
};
