/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd (RFC 8878): frames one after the other, skippable ones too.
 *
 * An encoder with threads makes a frame of each piece of its input, whose size depends on the level
 * alone, and each thread makes one frame. The threads of libzstd would share one frame, but libzstd
 * 1.5.4 crashes when memory runs out while it starts them.
 */
#include "base/alloc.h"
#include "runtime/lock.h"
#include <levada/filter.h>

#include <zstd.h>
#include <zstd_errors.h>

#include <string.h>

enum { ZSTD_THREADS = 16, ZSTD_JOBS = ZSTD_THREADS + 1 };
enum { ZSTD_PIECE = 4 << 20, ZSTD_LARGE_PIECE = 16 << 20, ZSTD_LARGE_LEVEL = 13 };

/* A frame that is made, of `size` bytes of `in`; `made` is the result of libzstd. */
typedef struct zstd_job {
    levada_thread thread;
    ZSTD_CCtx    *encoder;
    uint8_t      *in, *out;
    size_t        size, made, given;
    bool          running;
} zstd_job;

typedef struct zstd_state {
    ZSTD_DCtx *decoder;
    ZSTD_CCtx *encoder;
    zstd_job  *jobs;    /* ZSTD_JOBS, a ring; NULL = the encoder makes one frame of all */
    int        level, threads;
    int        first, started; /* jobs that were started and not all given */
    bool       any;            /* a frame was started                      */
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
    if (!s->decoder) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "zstd: out of memory");
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
        return levada_fail(err, LEVADA_EINTERNAL,
                           "internal error: zstd cannot be reset; please report it");
    }
    return LEVADA_OK;
}

static levada_status zstd_failed(size_t code, levada_error *err)
{
    bool memory = ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation;

    return levada_fail(err, memory ? LEVADA_ERESOURCE_EXHAUSTED : LEVADA_EDATA_LOSS, "zstd: %s",
                       ZSTD_getErrorName(code));
}

/* Reports a wrong checksum, after which the frame is complete and another one may follow. */
static levada_status zstd_report(zstd_state *s, levada_filter_step *step, levada_error *err)
{
    size_t code = s->failed;

    step->finished = ZSTD_getErrorCode(code) == ZSTD_error_checksum_wrong;
    if (step->finished) LEVADA_TRY(zstd_reset(s, err));
    return zstd_failed(code, err);
}

/* Counts the bytes to pass in the next call. A call that fails does not say what it wrote, so
 * one call decodes one block at most: never a whole frame, and never a block and the header
 * after it. */
static size_t zstd_piece(const zstd_state *s)
{
    const size_t header = 3; /* of a block; the hint for a block includes the next one */

    if (s->full) return 0;
    if (s->between) return 1;
    return s->hint > header ? s->hint - header : s->hint > 0 ? s->hint : 1;
}

/* Calls one call of the decoder. False when it made no progress. */
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

static levada_status zstd_create_encoder(int level, ZSTD_CCtx **out, levada_error *err)
{
    *out = ZSTD_createCCtx();
    if (!*out) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "zstd: out of memory");
    (void)ZSTD_CCtx_setParameter(*out, ZSTD_c_compressionLevel, level);
    (void)ZSTD_CCtx_setParameter(*out, ZSTD_c_checksumFlag, 1);
    return LEVADA_OK;
}

/* Opens an encoder; with threads it writes frames of pieces, which do not depend on the number of
 * threads. */
static levada_status zstd_open_encoder(void *state, int32_t level, int32_t threads,
                                       levada_error *err)
{
    zstd_state *s = state;
    int         chosen = level < 0 ? ZSTD_CLEVEL_DEFAULT : (int)level;
    levada_status st;

    if (chosen > ZSTD_maxCLevel()) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "level=%d must be from -1 to %d",
                           (int)level, ZSTD_maxCLevel());
    }
    s->level = chosen;
    s->threads = threads < ZSTD_THREADS ? (int)threads : ZSTD_THREADS;
    s->jobs = threads > 0 ? levada_alloc_zero(ZSTD_JOBS * sizeof *s->jobs) : NULL;
    if (threads > 0 && !s->jobs) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "zstd: out of memory");
    }
    st = zstd_create_encoder(chosen, &s->encoder, err);
    if (st == LEVADA_OK) return LEVADA_OK;
    levada_free(s->jobs);
    s->jobs = NULL;
    return st;
}

/* -- one frame */

static levada_status zstd_encode_stream(const zstd_state *s, levada_filter_step *step,
                                        levada_error *err)
{
    ZSTD_inBuffer     in = {step->in, step->in_size, 0};
    ZSTD_outBuffer    out = {step->out, step->out_size, 0};
    ZSTD_EndDirective mode = step->in_ended ? ZSTD_e_end
                             : step->flush  ? ZSTD_e_flush
                                            : ZSTD_e_continue;
    size_t            left = ZSTD_compressStream2(s->encoder, &out, &in, mode);

    if (ZSTD_isError(left)) return zstd_failed(left, err);
    step->used = in.pos;
    step->made = out.pos;
    step->finished = mode == ZSTD_e_end && left == 0 && in.pos == in.size;
    return LEVADA_OK;
}

/* -- frames of pieces */

static size_t zstd_piece_size(const zstd_state *s)
{
    return s->level < ZSTD_LARGE_LEVEL ? ZSTD_PIECE : ZSTD_LARGE_PIECE;
}

/* Returns the job that is being filled. */
static zstd_job *zstd_filling(const zstd_state *s)
{
    return &s->jobs[(s->first + s->started) % (s->threads + 1)];
}

static void zstd_job_run(void *user)
{
    zstd_job *job = user;

    job->made = ZSTD_compress2(job->encoder, job->out, ZSTD_compressBound(job->size), job->in,
                               job->size);
}

static levada_status zstd_job_prepare(const zstd_state *s, zstd_job *job, levada_error *err)
{
    if (!job->encoder) LEVADA_TRY(zstd_create_encoder(s->level, &job->encoder, err));
    if (!job->in) job->in = levada_alloc(zstd_piece_size(s));
    if (!job->out) job->out = levada_alloc(ZSTD_compressBound(zstd_piece_size(s)));
    if (job->in && job->out) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "zstd: out of memory");
}

static void zstd_job_fill(const zstd_state *s, zstd_job *job, levada_filter_step *step)
{
    size_t n = zstd_piece_size(s) - job->size, left = step->in_size - step->used;

    if (n > left) n = left;
    if (n > 0) memcpy(job->in + job->size, step->in + step->used, n);
    job->size += n;
    step->used += n;
}

/* Runs the job on a thread of its own, or here if no thread can be started. */
static void zstd_job_start(zstd_state *s, zstd_job *job)
{
    job->given = 0;
    job->running = s->threads > 1 &&
                   levada_thread_start(&job->thread, zstd_job_run, job, NULL) == LEVADA_OK;
    if (!job->running) zstd_job_run(job);
    s->started++;
    s->any = true;
}

/* Passes the oldest frame to the output; waits until it is made. */
static levada_status zstd_job_give(zstd_state *s, levada_filter_step *step, levada_error *err)
{
    zstd_job *job = &s->jobs[s->first];
    size_t    n = step->out_size - step->made;

    if (job->running) levada_thread_join(&job->thread);
    job->running = false;
    if (ZSTD_isError(job->made)) return zstd_failed(job->made, err);
    if (n > job->made - job->given) n = job->made - job->given;
    if (n > 0) memcpy(step->out + step->made, job->out + job->given, n);
    job->given += n;
    step->made += n;
    if (job->given < job->made) return LEVADA_OK;
    job->size = 0;
    s->first = (s->first + 1) % (s->threads + 1);
    s->started--;
    return LEVADA_OK;
}

static levada_status zstd_encode_pieces(zstd_state *s, levada_filter_step *step, levada_error *err)
{
    bool over = false;

    while (!over && step->made < step->out_size) {
        zstd_job *job = zstd_filling(s);
        bool      all, due;

        if (step->used < step->in_size || !s->any) LEVADA_TRY(zstd_job_prepare(s, job, err));
        if (step->used < step->in_size) zstd_job_fill(s, job, step);
        all = (step->in_ended || step->flush) && step->used == step->in_size;
        due = job->size == zstd_piece_size(s) || (all && job->size > 0) ||
              (all && step->in_ended && !s->any);
        if (due && s->started < s->threads) zstd_job_start(s, job);
        else if (s->started > 0 && (due || all)) LEVADA_TRY(zstd_job_give(s, step, err));
        else over = true;
    }
    step->finished = over && step->in_ended;
    return LEVADA_OK;
}

static levada_status zstd_encode(void *state, levada_filter_step *step, levada_error *err)
{
    zstd_state *s = state;

    step->used = step->made = 0;
    step->finished = false;
    return s->jobs ? zstd_encode_pieces(s, step, err) : zstd_encode_stream(s, step, err);
}

static void zstd_close_encoder(void *state)
{
    zstd_state *s = state;

    for (int i = 0; s->jobs && i < ZSTD_JOBS; i++) {
        zstd_job *job = &s->jobs[i];

        if (job->running) levada_thread_join(&job->thread);
        (void)ZSTD_freeCCtx(job->encoder);
        levada_free(job->in);
        levada_free(job->out);
    }
    levada_free(s->jobs);
    s->jobs = NULL;
    (void)ZSTD_freeCCtx(s->encoder);
    s->encoder = NULL;
}

const levada_filter_def levada_filter_zstd = {
    .struct_size = sizeof(levada_filter_def),
    .name = "zstd",
    .doc = "zstd, with one or several frames",
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
};
