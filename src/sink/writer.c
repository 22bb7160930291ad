/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/process.h"
#include "base/text.h"
#include "registry/env_priv.h"
#include "registry/registry.h"
#include "sink/writer_priv.h"
#include <levada/output.h>
#include <levada/writer.h>

#include <string.h>
#include <strings.h>

#define WRITER_BUFFER (256 * 1024)
#define WRITER_DIRECT (64 * 1024) /* a larger record is not copied first */

struct levada_writer {
    unsigned                 process; /* that it belongs to (base/process.h) */
    levada_env              *env; /* a reference */
    const levada_kernels    *kernels;
    char                    *path;
    levada_output           *output;
    const levada_filter_def *filter; /* NULL = plain */
    void                    *state;
    bool                     encoding, closed;
    int32_t                  threads; /* that the encoder may create */
    uint8_t                 *held; /* WRITER_BUFFER bytes: records not passed on yet */
    size_t                   nheld;
    uint8_t                 *packed; /* WRITER_BUFFER bytes: made by the filter */
    levada_error             failed; /* once not clear, repeated */
};

/* -- bytes to the output */

static levada_status writer_put(levada_writer *w, const uint8_t *data, size_t size)
{
    return levada_output_write(w->output, data, size, &w->failed);
}

/* Compresses until everything is taken, and flushed or finished where that is asked for. */
static levada_status writer_encode(levada_writer *w, const uint8_t *data, size_t size, bool flush,
                                   bool finish)
{
    levada_filter_step step = {.in = data, .in_size = size, .in_ended = finish, .flush = flush};
    bool               done = false;

    while (!done) {
        levada_status st;

        step.out = w->packed;
        step.out_size = WRITER_BUFFER;
        step.used = step.made = 0;
        st = w->filter->encode(w->state, &step, &w->failed);
        if (st == LEVADA_OK) st = writer_put(w, w->packed, step.made);
        if (st != LEVADA_OK) {
            levada_error_place(&w->failed, NULL, w->path, -1, -1);
            return st;
        }
        if (step.used > 0) step.in += step.used; /* it may be NULL */
        step.in_size -= step.used;
        done = finish ? step.finished : step.in_size == 0 && (!flush || step.made < WRITER_BUFFER);
    }
    return LEVADA_OK;
}

static levada_status writer_pass_on(levada_writer *w, const uint8_t *data, size_t size)
{
    if (size == 0) return LEVADA_OK;
    return w->filter ? writer_encode(w, data, size, false, false) : writer_put(w, data, size);
}

static levada_status writer_drain(levada_writer *w)
{
    size_t n = w->nheld;

    w->nheld = 0;
    return writer_pass_on(w, w->held, n);
}

static levada_status writer_add(levada_writer *w, const void *data, size_t size)
{
    if (size > WRITER_BUFFER - w->nheld) LEVADA_TRY(writer_drain(w));
    if (size > WRITER_DIRECT) {
        LEVADA_TRY(writer_drain(w));
        return writer_pass_on(w, data, size);
    }
    if (size > 0) memcpy(w->held + w->nheld, data, size);
    w->nheld += size;
    return LEVADA_OK;
}

/* -- opening */

static levada_status writer_choose(levada_writer *w, const char *compression, int32_t level,
                                   levada_error *err)
{
    char lower[48] = "";

    if (!compression || *compression == '\0' || strcasecmp(compression, "none") == 0) {
        return LEVADA_OK;
    }
    for (size_t i = 0; i + 1 < sizeof lower && compression[i] != '\0'; i++) {
        lower[i] = compression[i];
        if (lower[i] >= 'A' && lower[i] <= 'Z') lower[i] = (char)(lower[i] + 32);
    }
    w->filter = levada_registry_filter(w->env, lower);
    if (!w->filter || !w->filter->encode) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "compression='%s' must be none, gzip, zlib or zstd", compression);
    }
    w->state = levada_alloc_zero(w->filter->state_size);
    w->packed = levada_alloc(WRITER_BUFFER);
    if (!w->state || !w->packed) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a writer");
    }
    LEVADA_TRY(w->filter->open_encoder(w->state, level, w->threads, err));
    w->encoding = true;
    return LEVADA_OK;
}

static levada_status writer_fill(levada_writer *w, const char *path, const char *compression,
                                 int32_t level, levada_error *err)
{
    w->path = levada_strdup(path);
    w->held = levada_alloc(WRITER_BUFFER);
    if (!w->path || !w->held) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a writer");
    }
    LEVADA_TRY(writer_choose(w, compression, level, err));
    return levada_output_open(path, &w->output, err);
}

levada_status levada_writer_open_on(levada_env *env, const char *path, const char *compression,
                                    int32_t level, int32_t threads, levada_writer **out,
                                    levada_error *err)
{
    levada_writer *w;
    levada_status  st;

    LEVADA_TRY(levada_require(path != NULL, "path", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_env_have(env, err));
    w = levada_alloc_zero(sizeof *w);
    if (!w) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a writer");
    w->threads = threads;
    w->process = levada_process();
    w->env = levada_env_ref(env);
    w->kernels = levada_env_kernels(w->env);
    st = writer_fill(w, path, compression, level, err);
    if (st == LEVADA_OK) {
        *out = w;
    } else {
        levada_writer_destroy(&w);
    }
    return st;
}

levada_status levada_writer_open(levada_env *env, const char *path, const char *compression,
                                 int32_t level, levada_writer **out, levada_error *err)
{
    return levada_writer_open_on(env, path, compression, level, 0, out, err);
}

/* -- records */

static levada_status writer_ready(const levada_writer *w, levada_error *err)
{
    LEVADA_TRY(LEVADA_USABLE(w, "writer", err));
    if (w->failed.code != LEVADA_OK) {
        if (err) *err = w->failed;
        return w->failed.code;
    }
    if (!w->closed) return LEVADA_OK;
    (void)levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                      "the writer of %s is closed; open another one to write", w->path);
    return LEVADA_EFAILED_PRECONDITION;
}

static levada_status writer_report(const levada_writer *w, levada_status st, levada_error *err)
{
    if (st != LEVADA_OK && err) *err = w->failed;
    return st;
}

static void writer_number(uint8_t *at, uint64_t value, int size)
{
    for (int i = 0; i < size; i++) at[i] = (uint8_t)(value >> 8 * i);
}

levada_status levada_writer_write(levada_writer *w, const void *record, size_t size,
                                  levada_error *err)
{
    uint8_t       head[12], foot[4];
    levada_status st;

    LEVADA_TRY(writer_ready(w, err));
    if (size > (size_t)LEVADA_RECORD_LIMIT) {
        (void)levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                          "a record of %zu bytes is longer than %lld, the most that levada reads",
                          size, (long long)LEVADA_RECORD_LIMIT);
        levada_error_place(err, NULL, w->path, -1, -1);
        return LEVADA_EINVALID_ARGUMENT;
    }
    writer_number(head, size, 8);
    writer_number(head + 8, levada_crc32c_mask(w->kernels->crc32c(0, head, 8)), 4);
    writer_number(foot, levada_crc32c_mask(w->kernels->crc32c(0, record, size)), 4);
    st = writer_add(w, head, sizeof head);
    if (st == LEVADA_OK) st = writer_add(w, record, size);
    if (st == LEVADA_OK) st = writer_add(w, foot, sizeof foot);
    return writer_report(w, st, err);
}

levada_status levada_writer_append(levada_writer *w, const void *bytes, size_t size,
                                   levada_error *err)
{
    LEVADA_TRY(levada_require(bytes != NULL || size == 0, "bytes", err));
    LEVADA_TRY(levada_require_size(size, "size", err));
    LEVADA_TRY(writer_ready(w, err));
    return writer_report(w, writer_add(w, bytes, size), err);
}

levada_status levada_writer_flush(levada_writer *w, levada_error *err)
{
    levada_status st;

    LEVADA_TRY(writer_ready(w, err));
    st = writer_drain(w);
    if (st == LEVADA_OK && w->filter) st = writer_encode(w, NULL, 0, true, false);
    return writer_report(w, st, err);
}

/* Passes the last bytes to the output. */
static levada_status writer_finish(levada_writer *w)
{
    if (w->closed) return LEVADA_OK;
    w->closed = true;
    LEVADA_TRY(writer_drain(w));
    return w->filter ? writer_encode(w, NULL, 0, false, true) : LEVADA_OK;
}

levada_status levada_writer_prepare(levada_writer *w, levada_error *err)
{
    levada_status st;

    LEVADA_TRY(writer_ready(w, err));
    st = writer_finish(w);
    if (st == LEVADA_OK) st = levada_output_prepare(w->output, &w->failed);
    return writer_report(w, st, err);
}

levada_status levada_writer_close(levada_writer *w, levada_error *err)
{
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(w, "writer", err));
    if (w->failed.code != LEVADA_OK) return writer_report(w, w->failed.code, err);
    if (!w->output) return LEVADA_OK;
    st = writer_finish(w);
    if (st == LEVADA_OK) st = levada_output_commit(w->output, &w->failed);
    levada_output_destroy(&w->output); /* where anything failed nothing remains */
    return writer_report(w, st, err);
}

void levada_writer_destroy(levada_writer **writer)
{
    levada_writer *w = writer ? *writer : NULL;

    if (!w) return;
    *writer = NULL;
    /* Threads that the child of a fork does not have would be waited for. */
    if (w->encoding && (w->threads == 0 || LEVADA_OURS(w))) w->filter->close_encoder(w->state);
    levada_output_destroy(&w->output);
    levada_free(w->state);
    levada_free(w->packed);
    levada_free(w->held);
    levada_free(w->path);
    levada_env_unref(&w->env);
    levada_free(w);
}
