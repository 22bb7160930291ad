/* SPDX-License-Identifier: Apache-2.0 */
/* Raw zstd: libzstd, streaming, in and out of reused buffers. Counts bytes of output. */
#include "harness.h"

#include <zstd.h>

enum { UNZSTD_OUT = 256 << 10 };

typedef struct unzstd_state {
    levada_bench_stream stream;
    ZSTD_DCtx          *context;
    uint8_t            *out;
} unzstd_state;

static void *unzstd_open(const levada_bench_args *args)
{
    unzstd_state *s = levada_bench_alloc(sizeof *s);

    levada_bench_stream_open(&s->stream, args->path);
    s->context = ZSTD_createDCtx();
    s->out = levada_bench_alloc(UNZSTD_OUT);
    if (!s->context) levada_bench_die("zstd", "init");
    return s;
}

static void unzstd_pass(void *state, levada_bench_count *count)
{
    unzstd_state        *s = state;
    levada_bench_stream *in = &s->stream;
    size_t               left = 1;

    levada_bench_stream_rewind(in);
    (void)ZSTD_DCtx_reset(s->context, ZSTD_reset_session_only);
    while (levada_bench_stream_need(in, 1) > 0) {
        ZSTD_inBuffer  from = { in->data + in->begin, in->end - in->begin, 0 };
        ZSTD_outBuffer to = { s->out, UNZSTD_OUT, 0 };

        left = ZSTD_decompressStream(s->context, &to, &from);
        if (ZSTD_isError(left)) levada_bench_die("zstd", ZSTD_getErrorName(left));
        in->begin += from.pos;
        count->records++;
        count->bytes += (int64_t)to.pos;
        count->check += to.pos > 0 ? s->out[to.pos - 1] : 0;
    }
    if (left != 0) levada_bench_die("zstd", "cut off");
}

const levada_bench_work levada_bench_works[] = {
    { "zstd", unzstd_open, unzstd_pass, NULL },
    { NULL, NULL, NULL, NULL },
};
