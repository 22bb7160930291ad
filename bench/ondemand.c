/* SPDX-License-Identifier: Apache-2.0 */
/* Row 19b: simdjson, line after line of a file that is read in chunks. */
#define _GNU_SOURCE /* memrchr */
#include "ondemand.h"
#include "harness.h"

#include <string.h>

typedef struct ondemand_state {
    levada_bench_stream stream;
    void               *parser;
    int64_t (*texts)(void *parser, const uint8_t *data, size_t size, int64_t *lines);
} ondemand_state;

static void *ondemand_open(const levada_bench_args *args)
{
    ondemand_state *s = levada_bench_alloc(sizeof *s);

    levada_bench_stream_open(&s->stream, args->path);
    s->parser = levada_bench_ondemand_create();
    s->texts = levada_bench_ondemand_texts;
    return s;
}

static void *whole_open(const levada_bench_args *args)
{
    ondemand_state *s = levada_bench_alloc(sizeof *s);

    levada_bench_stream_open(&s->stream, args->path);
    s->parser = levada_bench_whole_create();
    s->texts = levada_bench_whole_texts;
    return s;
}

static void ondemand_pass(void *state, levada_bench_count *count)
{
    ondemand_state      *s = state;
    levada_bench_stream *in = &s->stream;

    levada_bench_stream_rewind(in);
    while (levada_bench_stream_need(in, 1) > 0) {
        const uint8_t *data = in->data + in->begin;
        const uint8_t *last = memrchr(data, '\n', in->end - in->begin);
        int64_t        texts;

        if (!last) levada_bench_die("simdjson", "a line is longer than a chunk");
        texts = s->texts(s->parser, data, (size_t)(last + 1 - data), &count->records);
        if (texts < 0) levada_bench_die("simdjson", "a line without a text");
        count->check += (uint64_t)texts;
        count->bytes += last + 1 - data;
        in->begin += (size_t)(last + 1 - data);
        (void)levada_bench_stream_need(in,
                                       in->capacity); /* the rest of a line moves to the front */
    }
}

const levada_bench_work levada_bench_works[] = {
    { "texts", ondemand_open, ondemand_pass, NULL },
    { "whole", whole_open, ondemand_pass, NULL },
    { NULL, NULL, NULL, NULL },
};
