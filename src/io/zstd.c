/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd (RFC 8878): frames one after the other, skippable ones too.
 */
#include <levada/filter.h>

#include <zstd.h>
#include <zstd_errors.h>

typedef struct zstd_state {
    ZSTD_DCtx *decoder;
    ZSTD_CCtx *encoder;
    int64_t    made, taken;
    bool       between; /* nothing of a frame is pending */
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

static levada_status zstd_decode(void *state, levada_filter_step *step, levada_error *err)
{
    zstd_state    *s = state;
    ZSTD_inBuffer  in = {step->in, step->in_size, 0};
    ZSTD_outBuffer out = {step->out, step->out_size, 0};

    step->finished = s->between && step->in_ended && step->in_size == 0;
    while (!step->finished) {
        size_t before = in.pos, wrote = out.pos;
        size_t left = ZSTD_decompressStream(s->decoder, &out, &in);

        if (ZSTD_isError(left)) return zstd_failed(left, err);
        if (in.pos != before || out.pos != wrote) s->between = left == 0;
        step->finished = s->between && step->in_ended && in.pos == in.size;
        if (in.pos == before && out.pos == wrote) break;
        if (in.pos == in.size || out.pos == out.size) break;
    }
    step->used = in.pos;
    step->made = out.pos;
    s->taken += (int64_t)in.pos;
    s->made += (int64_t)out.pos;
    if (step->finished || step->made > 0 || in.pos < in.size || !step->in_ended) return LEVADA_OK;
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

static levada_status zstd_encode(void *state, levada_filter_step *step, levada_error *err)
{
    zstd_state       *s = state;
    ZSTD_inBuffer     in = {step->in, step->in_size, 0};
    ZSTD_outBuffer    out = {step->out, step->out_size, 0};
    ZSTD_EndDirective mode = step->in_ended ? ZSTD_e_end
                             : step->flush  ? ZSTD_e_flush
                                            : ZSTD_e_continue;
    size_t            left = ZSTD_compressStream2(s->encoder, &out, &in, mode);

    if (ZSTD_isError(left)) return zstd_failed(left, err);
    step->used = in.pos;
    step->made = out.pos;
    step->finished = step->in_ended && left == 0 && in.pos == in.size;
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
};
