/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd (RFC 8878): frames one after the other, skippable ones too.
 */
#include <levada/filter.h>

#include <zstd.h>
#include <zstd_errors.h>

#include <pthread.h>
#include <signal.h>

enum { ZSTD_WORKERS = 16 }; /* most threads of an encoder: each holds some MiB */

typedef struct zstd_state {
    ZSTD_DCtx *decoder;
    ZSTD_CCtx *encoder;
    bool       workers; /* threads of libzstd compress */
    int64_t    made, taken;
    size_t     hint;    /* bytes that the decoder wants next                       */
    bool       between; /* nothing of a frame is pending                           */
    bool       full;    /* the output was full: the decoder may hold decoded bytes */
    size_t     failed;  /* error that is reported after the bytes before it; 0 = none */
} zstd_state;

static int32_t zstd_probe(const uint8_t *data, size_t size)
{
    if (size < 4) return 0;
    if (data[1] == 0xb5 && data[2] == 0x2f && data[3] == 0xfd && data[0] == 0x28) return 32;
    if ((data[0] & 0xf0) != 0x50 || data[1] != 0x2a || data[2] != 0x4d || data[3] != 0x18) return 0;
    return 28;
}

static levada_status zstd_open(void *state, levada_error *err)
{
    zstd_state *s = state;

    s->decoder = ZSTD_createDCtx();
    s->between = true;
    if (!s->decoder) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "zstd: no memory");
    return LEVADA_OK;
}

static void zstd_close(void *state)
{
    zstd_state *s = state;

    (void)ZSTD_freeDCtx(s->decoder);
    s->decoder = NULL;
}

static levada_status zstd_reset(void *state, levada_error *err)
{
    zstd_state *s = state;

    s->made = s->taken = 0;
    s->between = true;
    s->full = false;
    s->failed = 0;
    if (ZSTD_isError(ZSTD_DCtx_reset(s->decoder, ZSTD_reset_session_only))) {
        return levada_fail(err, LEVADA_EINTERNAL, "zstd: no reset");
    }
    return LEVADA_OK;
}

static levada_status zstd_failed(size_t code, levada_error *err)
{
    bool memory = ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation;

    return levada_fail(err, memory ? LEVADA_ERESOURCE_EXHAUSTED : LEVADA_EDATA_LOSS, "zstd: %s",
                       ZSTD_getErrorName(code));
}

/* After a wrong checksum the frame is complete, and another one may follow. */
static levada_status zstd_report(zstd_state *s, levada_filter_step *step, levada_error *err)
{
    size_t code = s->failed;

    step->finished = ZSTD_getErrorCode(code) == ZSTD_error_checksum_wrong;
    if (step->finished) LEVADA_TRY(zstd_reset(s, err));
    return zstd_failed(code, err);
}

/* Bytes to pass in the next call. A call that fails does not say what it wrote, so one call decodes
 * one block at most: never a whole frame, and never a block and the header after it. */
static size_t zstd_piece(const zstd_state *s)
{
    const size_t header = 3; /* of a block; the hint for a block includes the next one */

    if (s->full) return 0;
    if (s->between) return 1;
    return s->hint > header ? s->hint - header : s->hint > 0 ? s->hint : 1;
}

/* One call of the decoder. False when it made no progress. */
static bool zstd_call(zstd_state *s, ZSTD_inBuffer *in, ZSTD_outBuffer *out, size_t size)
{
    size_t before = in->pos, wrote = out->pos, piece = zstd_piece(s), left;
    bool   flushed = s->full;

    in->size = size - in->pos < piece ? size : in->pos + piece;
    left = ZSTD_decompressStream(s->decoder, out, in);
    if (ZSTD_isError(left)) {
        s->failed = left;
        in->pos = in->size;
        return false;
    }
    s->hint = left;
    s->full = out->pos == out->size;
    if (in->pos != before || out->pos != wrote) s->between = left == 0;
    return in->pos != before || out->pos != wrote || flushed;
}

static levada_status zstd_decode(void *state, levada_filter_step *step, levada_error *err)
{
    zstd_state    *s = state;
    ZSTD_inBuffer  in = {step->in, 0, 0};
    ZSTD_outBuffer out = {step->out, step->out_size, 0};

    step->used = step->made = 0;
    step->finished = s->between && step->in_ended && step->in_size == 0;
    if (s->failed != 0) return zstd_report(s, step, err);
    while (!step->finished && (s->full || in.pos < step->in_size) &&
           zstd_call(s, &in, &out, step->in_size)) {
        step->finished = s->between && step->in_ended && in.pos == step->in_size;
        if (s->full) break;
    }
    step->used = in.pos;
    step->made = out.pos;
    s->taken += (int64_t)in.pos;
    s->made += (int64_t)out.pos;
    if (s->failed != 0 && step->made == 0) return zstd_report(s, step, err);
    if (s->failed != 0 || step->finished || step->made > 0 || in.pos < step->in_size ||
        !step->in_ended) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EDATA_LOSS,
                       "zstd: the stream ends early, after %lld compressed bytes "
                       "(%lld decompressed)",
                       (long long)s->taken, (long long)s->made);
}

static levada_status zstd_open_encoder(void *state, int32_t level, levada_error *err)
{
    zstd_state *s = state;
    int         chosen = level < 0 ? ZSTD_CLEVEL_DEFAULT : (int)level;

    if (chosen > ZSTD_maxCLevel()) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "level=%d must be from -1 to %d",
                           (int)level, ZSTD_maxCLevel());
    }
    s->encoder = ZSTD_createCCtx();
    if (!s->encoder) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "zstd: no memory");
    (void)ZSTD_CCtx_setParameter(s->encoder, ZSTD_c_compressionLevel, chosen);
    (void)ZSTD_CCtx_setParameter(s->encoder, ZSTD_c_checksumFlag, 1);
    return LEVADA_OK;
}

/* libzstd cuts its input into jobs whose size depends on the level alone. A libzstd that was built
 * without threads stays as it is. */
static levada_status zstd_encode_threads(void *state, int32_t threads, levada_error *err)
{
    zstd_state *s = state;
    int         n = threads < ZSTD_WORKERS ? (int)threads : ZSTD_WORKERS;

    (void)err;
    s->workers = !ZSTD_isError(ZSTD_CCtx_setParameter(s->encoder, ZSTD_c_nbWorkers, n));
    return LEVADA_OK;
}

/* The first call starts the workers, which must not receive signals. */
static size_t zstd_compress(const zstd_state *s, ZSTD_outBuffer *out, ZSTD_inBuffer *in,
                            ZSTD_EndDirective mode)
{
    sigset_t all, before;
    size_t   left;

    if (!s->workers) return ZSTD_compressStream2(s->encoder, out, in, mode);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    left = ZSTD_compressStream2(s->encoder, out, in, mode);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return left;
}

static ZSTD_EndDirective zstd_mode(const zstd_state *s, const levada_filter_step *step)
{
    bool pending =
        s->workers && step->in_size > 0; /* a job would end wherever the buffer is full */

    if (pending || (!step->in_ended && !step->flush)) return ZSTD_e_continue;
    return step->in_ended ? ZSTD_e_end : ZSTD_e_flush;
}

static levada_status zstd_encode(void *state, levada_filter_step *step, levada_error *err)
{
    zstd_state       *s = state;
    ZSTD_inBuffer     in = {step->in, step->in_size, 0};
    ZSTD_outBuffer    out = {step->out, step->out_size, 0};
    ZSTD_EndDirective mode = zstd_mode(s, step);
    size_t            left = zstd_compress(s, &out, &in, mode);

    if (ZSTD_isError(left)) return zstd_failed(left, err);
    step->used = in.pos;
    step->made = out.pos;
    step->finished = mode == ZSTD_e_end && left == 0 && in.pos == in.size;
    return LEVADA_OK;
}

static void zstd_close_encoder(void *state)
{
    zstd_state *s = state;

    (void)ZSTD_freeCCtx(s->encoder);
    s->encoder = NULL;
}

const levada_filter_def levada_filter_zstd = {
    .struct_size = sizeof(levada_filter_def),
    .name = "zstd",
    .doc = "zstd, also of several frames",
    .suffix = ".zst",
    .state_size = sizeof(zstd_state),
    .probe = zstd_probe,
    .open = zstd_open,
    .close = zstd_close,
    .reset = zstd_reset,
    .decode = zstd_decode,
    .open_encoder = zstd_open_encoder,
    .encode = zstd_encode,
    .close_encoder = zstd_close_encoder,
    .encode_threads = zstd_encode_threads,
};
