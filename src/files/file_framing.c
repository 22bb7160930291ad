/* SPDX-License-Identifier: Apache-2.0 */
/* What framing needs besides bytes: the state of a format, and memory for frames. */
#include "base/alloc.h"
#include "files/file_reader_priv.h"
#include "registry/env_priv.h"

levada_status levada_framing_make_state(const levada_framing *f, void **out, levada_error *err)
{
    void         *state = levada_alloc_zero(f->format->state_size + 1);
    levada_status st = LEVADA_OK;

    if (!state) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a format");
    if (f->format->open) st = f->format->open(state, f->args, f->context, err);
    if (st != LEVADA_OK) {
        levada_free(state);
        return st;
    }
    *out = state;
    return LEVADA_OK;
}

void levada_framing_free_state(const levada_framing *f, void **state)
{
    if (*state && f->format->close) f->format->close(*state);
    levada_free(*state);
    *state = NULL;
}

levada_status levada_framing_enter(const levada_framing *f, void *state, int64_t offset,
                                   int64_t size, levada_error *err)
{
    return f->format->seek ? f->format->seek(state, f->args, offset, size, err) : LEVADA_OK;
}

levada_status levada_framing_next(const levada_framing *f, void *state, const uint8_t *data,
                                  int64_t size, bool at_end, levada_spans *out, levada_error *err)
{
    return f->format->next(state, f->args, data, size, at_end, out, err);
}

levada_status levada_framed_reserve(levada_framed *f, const levada_framing *by, int32_t n,
                                    levada_error *err)
{
    int64_t        entries = (int64_t)n + LEVADA_KERNEL_SLACK;
    int64_t        arrays = 2 * (int64_t)by->ncolumns + (by->format->frames ? 1 : 0);
    bool alone = f->index && atomic_load_explicit(&f->index->refs, memory_order_acquire) == 1;

    if (alone && f->stride >= entries) return LEVADA_OK;
    levada_buffer_unref(&f->index);
    LEVADA_TRY(levada_buffer_create(levada_env_pool(by->context->env),
                                    arrays * entries * (int64_t)sizeof *f->begin, &f->index,
                                    err));
    f->stride = (int32_t)entries;
    f->begin = (void *)f->index->data;
    f->end = f->begin + by->ncolumns * entries;
    f->frame = by->format->frames ? f->end + by->ncolumns * entries : f->begin;
    return LEVADA_OK;
}
