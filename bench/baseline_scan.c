/* SPDX-License-Identifier: Apache-2.0 */
/* TFRecord: the read() and framing limits, a scan over spans, and a scan that copies as TF does. */
#include "baseline.h"

#include <stdlib.h>
#include <string.h>

enum {
    SCAN_HEAD = 12,
    SCAN_FOOT = 4
};

static uint64_t baseline_scan_u64(const uint8_t *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t baseline_scan_u32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static void baseline_scan_verify(const uint8_t *data, size_t size, uint32_t stored)
{
    if (levada_bench_masked(levada_bench_crc32c(data, size)) != stored)
        levada_bench_die("damaged record", "checksum");
}

void *levada_bench_open_stream(const levada_bench_args *args)
{
    levada_bench_stream *stream = levada_bench_alloc(sizeof *stream);

    levada_bench_stream_open(stream, args->path);
    return stream;
}

void levada_bench_read(void *state, levada_bench_count *count)
{
    levada_bench_stream *stream = state;

    levada_bench_stream_rewind(stream);
    while (levada_bench_stream_need(stream, 1) > 0) {
        count->bytes += (int64_t)(stream->end - stream->begin);
        count->check += stream->data[stream->begin];
        count->records += 1;
        stream->begin = stream->end;
    }
}

void levada_bench_frame(void *state, levada_bench_count *count)
{
    levada_bench_stream *stream = state;

    levada_bench_stream_rewind(stream);
    while (levada_bench_stream_need(stream, SCAN_HEAD + SCAN_FOOT) > 0) {
        size_t whole = baseline_scan_u64(stream->data + stream->begin) + SCAN_HEAD + SCAN_FOOT;
        if (levada_bench_stream_need(stream, whole) < whole)
            levada_bench_die("damaged record", "cut off");
        stream->begin += whole;
        count->records += 1;
        count->bytes += (int64_t)whole;
    }
}

void levada_bench_span_scan(void *state, levada_bench_count *count)
{
    levada_bench_stream *stream = state;

    levada_bench_stream_rewind(stream);
    while (levada_bench_stream_need(stream, SCAN_HEAD + SCAN_FOOT) > 0) {
        const uint8_t *at = stream->data + stream->begin;
        size_t         size = baseline_scan_u64(at);
        size_t         whole = size + SCAN_HEAD + SCAN_FOOT;

        baseline_scan_verify(at, 8, baseline_scan_u32(at + 8));
        if (levada_bench_stream_need(stream, whole) < whole)
            levada_bench_die("damaged record", "cut off");
        at = stream->data + stream->begin + SCAN_HEAD;
        baseline_scan_verify(at, size, baseline_scan_u32(at + size));
        stream->begin += whole;
        count->records += 1;
        count->bytes += (int64_t)whole;
    }
}

/* Copies `size` bytes out of the buffered stream, as a buffered input stream does. */
static int baseline_scan_copy(levada_bench_stream *stream, uint8_t *to, size_t size)
{
    if (levada_bench_stream_need(stream, size) < size)
        return 0;
    memcpy(to, stream->data + stream->begin, size);
    stream->begin += size;
    return 1;
}

int levada_bench_tf_read(levada_bench_stream *stream, levada_bench_string *out)
{
    uint8_t head[SCAN_HEAD];

    if (!baseline_scan_copy(stream, head, sizeof head))
        return 0;
    baseline_scan_verify(head, 8, baseline_scan_u32(head + 8));
    out->size = baseline_scan_u64(head);
    out->data = malloc(out->size + SCAN_FOOT);
    if (out->data == NULL || !baseline_scan_copy(stream, out->data, out->size + SCAN_FOOT))
        levada_bench_die("damaged record", "cut off");
    baseline_scan_verify(out->data, out->size, baseline_scan_u32(out->data + out->size));
    return 1;
}

void levada_bench_tf_scan(void *state, levada_bench_count *count)
{
    levada_bench_stream *stream = state;
    levada_bench_string  record;

    levada_bench_stream_rewind(stream);
    while (levada_bench_tf_read(stream, &record)) {
        count->records += 1;
        count->bytes += (int64_t)record.size + SCAN_HEAD + SCAN_FOOT;
        count->check += record.data[0];
        free(record.data);
    }
}
