/* SPDX-License-Identifier: Apache-2.0 */
/* What framing needs besides bytes: the state of a format, and memory for frames. */
#include "base/alloc.h"
#include "files/file_reader_priv.h"
#include "registry/env_priv.h"

levada_status levada_file_reader_make_state(const levada_file_reader *r, void **out,
                                            levada_error *err)
{
    void         *state = levada_alloc_zero(r->format->state_size + 1);
    levada_status st = LEVADA_OK;

    if (!state) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a format");
    if (r->format->open) st = r->format->open(state, r->args, r->context, err);
    if (st != LEVADA_OK) {
        levada_free(state);
        return st;
    }
    *out = state;
    return LEVADA_OK;
}

void levada_file_reader_free_state(const levada_file_reader *r, void **state)
{
    if (*state && r->format->close) r->format->close(*state);
    levada_free(*state);
    *state = NULL;
}

levada_status levada_file_reader_enter(const levada_file_reader *r, void *state, int64_t offset,
                                       int64_t size, levada_error *err)
{
    return r->format->seek ? r->format->seek(state, r->args, offset, size, err) : LEVADA_OK;
}

levada_status levada_framed_reserve(levada_framed *f, const levada_file_reader *r, int32_t n,
                                    levada_error *err)
{
    int64_t        entries = (int64_t)n + LEVADA_KERNEL_SLACK;
    int64_t        arrays = 2 * (int64_t)r->ncolumns + (r->format->frames ? 1 : 0);
    bool alone = f->index && atomic_load_explicit(&f->index->refs, memory_order_acquire) == 1;

    if (alone && f->stride >= entries) return LEVADA_OK;
    levada_buffer_unref(&f->index);
    LEVADA_TRY(levada_buffer_create(levada_env_pool(r->context->env),
                                    arrays * entries * (int64_t)sizeof *f->begin, &f->index,
                                    err));
    f->stride = (int32_t)entries;
    f->begin = (void *)f->index->data;
    f->end = f->begin + r->ncolumns * entries;
    f->frame = r->format->frames ? f->end + r->ncolumns * entries : f->begin;
    return LEVADA_OK;
}
