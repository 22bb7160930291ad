/* SPDX-License-Identifier: Apache-2.0 */
/* Raw gzip: zlib and ISA-L, streaming, in and out of reused buffers. Counts bytes of output. */
#include "baseline.h"

#include <isa-l/igzip_lib.h>
#include <zlib.h>

enum {
    INFLATE_OUT = 256 << 10
};

typedef struct baseline_inflate {
    levada_bench_stream stream;
    uint8_t            *out;
} baseline_inflate;

void *levada_bench_open_inflate(const levada_bench_args *args)
{
    baseline_inflate *state = levada_bench_alloc(sizeof *state);

    levada_bench_stream_open(&state->stream, args->path);
    state->out = levada_bench_alloc(INFLATE_OUT);
    return state;
}

static void baseline_inflate_made(const baseline_inflate *state, size_t size,
                                  levada_bench_count *count)
{
    count->records += 1;
    count->bytes += (int64_t)size;
    count->check += size > 0 ? state->out[size - 1] : 0;
}

void levada_bench_zlib(void *state, levada_bench_count *count)
{
    baseline_inflate    *s = state;
    levada_bench_stream *in = &s->stream;
    z_stream             z = {0};
    int                  status = Z_OK;

    if (inflateInit2(&z, 31) != Z_OK)
        levada_bench_die("zlib", "init");
    levada_bench_stream_rewind(in);
    while (status == Z_OK && levada_bench_stream_need(in, 1) > 0) {
        z.next_in = in->data + in->begin;
        z.avail_in = (uInt)(in->end - in->begin);
        z.next_out = s->out;
        z.avail_out = INFLATE_OUT;
        status = inflate(&z, Z_NO_FLUSH);
        in->begin = in->end - z.avail_in;
        baseline_inflate_made(s, INFLATE_OUT - z.avail_out, count);
    }
    if (status != Z_STREAM_END)
        levada_bench_die("zlib", "inflate");
    inflateEnd(&z);
}

void levada_bench_igzip(void *state, levada_bench_count *count)
{
    static _Thread_local struct inflate_state z; /* 80 KiB: too large for a stack */
    baseline_inflate                         *s = state;
    levada_bench_stream                      *in = &s->stream;

    isal_inflate_init(&z);
    z.crc_flag = ISAL_GZIP;
    levada_bench_stream_rewind(in);
    while (z.block_state != ISAL_BLOCK_FINISH && levada_bench_stream_need(in, 1) > 0) {
        z.next_in = in->data + in->begin;
        z.avail_in = (uint32_t)(in->end - in->begin);
        z.next_out = s->out;
        z.avail_out = INFLATE_OUT;
        if (isal_inflate(&z) != ISAL_DECOMP_OK)
            levada_bench_die("igzip", "inflate");
        in->begin = in->end - z.avail_in;
        baseline_inflate_made(s, INFLATE_OUT - z.avail_out, count);
    }
    if (z.block_state != ISAL_BLOCK_FINISH)
        levada_bench_die("igzip", "cut off");
}
