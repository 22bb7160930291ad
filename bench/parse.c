/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in memory to columns, 256 at a time: the decoder by itself, as its peers in
 * baseline_parse.c. A is padded as well, by the function of padded_batch, which is why this
 * program looks inside the library.
 */
#include "harness.h"

#include "base/kernels.h"
#include "tensor/pad.h"

#include <levada/levada.h>

#include <stdio.h>
#include <string.h>

enum { PARSE_BATCH = 256, PARSE_TEXT = 4096, PARSE_SCALARS = 40 };

typedef struct parse_state {
    levada_decoding *decoding;
    const void     **strings;
    size_t          *sizes;
    int64_t          n;
    levada_spec     *padded; /* NULL: columns as they are */
    levada_padding   how[2];
} parse_state;

static void parse_check(levada_status status, const levada_error *err)
{
    char text[512];

    if (status != LEVADA_OK) levada_bench_die("levada", levada_error_text(err, text, sizeof text));
}

static void parse_index(parse_state *s, const char *path)
{
    levada_bench_file file = levada_bench_file_load(path);

    for (int turn = 0; turn < 2; ++turn) { /* count, then note */
        if (turn == 1) {
            s->strings = levada_bench_alloc((size_t)s->n * sizeof *s->strings);
            s->sizes = levada_bench_alloc((size_t)s->n * sizeof *s->sizes);
            s->n = 0;
        }
        for (size_t at = 0; at + 16 <= file.size; ++s->n) {
            uint64_t size;

            memcpy(&size, file.data + at, sizeof size);
            if (turn == 1) {
                s->strings[s->n] = file.data + at + 12;
                s->sizes[s->n] = (size_t)size;
            }
            at += (size_t)size + 16;
        }
    }
}

static parse_state *parse_open(const levada_bench_args *args, const char *features)
{
    parse_state  *s = levada_bench_alloc(sizeof *s);
    levada_value *options = NULL;
    levada_error  err = LEVADA_ERROR_INIT;

    parse_index(s, args->path);
    parse_check(levada_value_parse(features, &options, &err), &err);
    parse_check(levada_decoding_open(NULL, "parse_example", options, &s->decoding, &err), &err);
    levada_value_destroy(&options);
    return s;
}

static void *parse_open_a(const levada_bench_args *args)
{
    parse_state  *s = parse_open(args, "{spec:{tokens:{kind:VarLen,dtype:int64},"
                                       "label:{kind:FixedLen,shape:[],dtype:int64}}}");
    levada_field  fields[2];
    levada_block *first = NULL;
    levada_error  err = LEVADA_ERROR_INIT;

    parse_check(levada_decoding_run(s->decoding, s->strings, s->sizes, 1, &first, &err), &err);
    for (int i = 0; i < 2; ++i) {
        const levada_field *field = levada_spec_field(levada_block_spec(first), i);

        parse_check(levada_pad_field(field, &fields[i], &err), &err);
        for (int d = 0; d < LEVADA_MAX_DIMS; ++d) s->how[i].dims[d] = -1;
    }
    parse_check(levada_spec_create(fields, 2, 0, &s->padded, &err), &err);
    levada_block_unref(&first);
    return s;
}

static void *parse_open_b(const levada_bench_args *args)
{
    char   text[PARSE_TEXT];
    size_t used = (size_t)snprintf(text, sizeof text, "{spec:{");

    for (int k = 0; k < PARSE_SCALARS; ++k)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "%sf%02d:{kind:FixedLen,shape:[],dtype:%s}", k > 0 ? "," : "", k,
                                 k % 2 == 1 ? "float32" : "int64");
    snprintf(text + used, sizeof text - used, "}}");
    return parse_open(args, text);
}

static void *parse_open_f(const levada_bench_args *args)
{
    return parse_open(args, "{spec:{feat:{kind:FixedLen,shape:[512],dtype:float32},"
                            "label:{kind:FixedLen,shape:[],dtype:int64}}}");
}

static void parse_pass(void *state, levada_bench_count *count)
{
    const parse_state *s = state;
    levada_error       err = LEVADA_ERROR_INIT;

    for (int64_t at = 0; at < s->n; at += PARSE_BATCH) {
        int64_t       n = s->n - at < PARSE_BATCH ? s->n - at : PARSE_BATCH;
        levada_block *block = NULL, *padded = NULL;

        parse_check(levada_decoding_run(s->decoding, s->strings + at, s->sizes + at, n, &block,
                                        &err),
                    &err);
        if (s->padded != NULL) {
            parse_check(levada_pad_block(levada_env_pool(NULL), block, s->padded,
                                         s->how, &padded, NULL, &err),
                        &err);
            count->check += (uint64_t)levada_block_bytes(padded);
        }
        count->records += n;
        count->check += (uint64_t)levada_block_bytes(block);
        levada_block_unref(&padded);
        levada_block_unref(&block);
    }
}

/* -- frames that stay in the cache, checked again and again: what checksums cost without a read.
 * A reader with threads walks over the headers in order, and checks payloads on any thread. */

enum { PARSE_CACHED = 192 << 10, PARSE_TURNS = 256, PARSE_SLACK = 64 };

typedef struct parse_frames {
    uint8_t *data; /* with slack on both sides */
    size_t   size;
    int32_t *begin, *end;
    bool     twice;
} parse_frames;

static void *parse_open_check(const levada_bench_args *args)
{
    levada_bench_file file = levada_bench_file_load(args->path);
    parse_frames     *f = levada_bench_alloc(sizeof *f);

    f->twice = args->user != NULL;
    f->size = file.size < PARSE_CACHED ? file.size : PARSE_CACHED;
    f->data = (uint8_t *)levada_bench_alloc(f->size + 2 * PARSE_SLACK) + PARSE_SLACK;
    memcpy(f->data, file.data, f->size);
    f->begin = levada_bench_alloc(2 * (f->size / 16 + PARSE_SLACK) * sizeof *f->begin);
    f->end = f->begin + f->size / 16 + PARSE_SLACK;
    return f;
}

static void parse_check_pass(void *state, levada_bench_count *count)
{
    const parse_frames   *f = state;
    const levada_kernels *kernels = levada_kernels_for(LEVADA_CPU_AUTO);

    for (int i = 0; i < PARSE_TURNS; ++i) {
        levada_frame_check  how = f->twice ? LEVADA_FRAME_CHECK_LENGTH : LEVADA_FRAME_CHECK_ALL;
        levada_frame_result r = kernels->frame_tfrecord(f->data, f->size, how, f->begin, f->end,
                                                        (int32_t)(f->size / 16));

        if (f->twice) {
            r = kernels->frame_tfrecord(f->data, f->size, LEVADA_FRAME_CHECK_ALL, f->begin, f->end,
                                        r.records);
        }
        count->records += r.records;
        count->bytes += (int64_t)r.used;
        count->check += (uint64_t)r.used;
    }
}

/* -- lines that stay in the cache, found again and again */

static void parse_lines_pass(void *state, levada_bench_count *count)
{
    const parse_frames   *f = state;
    const levada_kernels *kernels = levada_kernels_for(LEVADA_CPU_AUTO);

    for (int i = 0; i < PARSE_TURNS; ++i) {
        int64_t n = kernels->line_index(f->data, f->size, f->begin, f->end,
                                        (int64_t)(f->size / 16));

        count->records += n;
        count->bytes += f->begin[n];
        count->check += (uint64_t)n;
    }
}

const levada_bench_work levada_bench_works[] = {
    {"check", parse_open_check, parse_check_pass, NULL},
    {"check_twice", parse_open_check, parse_check_pass, "headers first"},
    {"lines", parse_open_check, parse_lines_pass, NULL},
    {"parse_a", parse_open_a, parse_pass, NULL},
    {"parse_b", parse_open_b, parse_pass, NULL},
    {"parse_f", parse_open_f, parse_pass, NULL},
    {NULL, NULL, NULL, NULL},
};
