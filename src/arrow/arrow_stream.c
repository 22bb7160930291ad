/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks as an Arrow stream. The type is that of the dataset; where it is not known before the
 * first record, that of the first block.
 */
#include "arrow/arrow_plan.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "run/iter.h"
#include "tensor/tensor_priv.h"

#include <errno.h>
#include <string.h>

typedef struct stream_held {
    levada_arrow_next next;
    void (*close)(void *user);
    void         *user;
    levada_spec  *spec;    /* of all blocks; NULL or open before `learned` */
    levada_block *first;   /* read for its spec and not returned yet       */
    bool          learned, ended;
    levada_status st;      /* a failure, which is repeated                 */
    char          text[LEVADA_ERROR_TEXT];
} stream_held;

static int stream_errno(levada_status st)
{
    switch (st) {
    case LEVADA_OK: return 0;
    case LEVADA_ERESOURCE_EXHAUSTED: return ENOMEM;
    case LEVADA_EINVALID_ARGUMENT: return EINVAL;
    case LEVADA_ECANCELLED: return ECANCELED;
    case LEVADA_EUNIMPLEMENTED: return ENOSYS;
    default: return EIO;
    }
}

static int stream_fail(stream_held *s, levada_status st, const levada_error *err)
{
    s->st = st;
    (void)levada_error_text(err, s->text, sizeof s->text);
    return stream_errno(st);
}

/* Reads the next block; *out is NULL at the end. */
static levada_status stream_read(stream_held *s, levada_block **out, levada_error *err)
{
    levada_status st = LEVADA_END;

    *out = s->first;
    s->first = NULL;
    if (*out) return LEVADA_OK;
    if (!s->ended) st = s->next(s->user, out, err);
    if (st != LEVADA_END) return st;
    s->ended = true;
    return LEVADA_OK;
}

static levada_status stream_learn(stream_held *s, levada_error *err)
{
    if (s->learned) return LEVADA_OK;
    if (!s->spec || (levada_spec_flags_of(s->spec) & LEVADA_SPEC_OPEN)) {
        LEVADA_TRY(stream_read(s, &s->first, err));
        if (s->first) {
            levada_spec_unref(&s->spec);
            s->spec = levada_spec_ref(levada_block_spec(s->first));
        }
    }
    if (!s->spec) LEVADA_TRY(levada_spec_create(NULL, 0, 0, &s->spec, err));
    s->learned = true;
    return LEVADA_OK;
}

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    stream_held  *s = stream->private_data;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st = s->st;

    if (st != LEVADA_OK) return stream_errno(st);
    st = stream_learn(s, &err);
    if (st == LEVADA_OK) st = levada_arrow_export_spec(s->spec, out, &err);
    return st == LEVADA_OK ? 0 : stream_fail(s, st, &err);
}

static levada_status stream_export(stream_held *s, const levada_block *block,
                                   struct ArrowArray *out, levada_error *err)
{
    char shown[LEVADA_SPEC_DIFFERENCE];

    if (!levada_spec_equal(levada_block_spec(block), s->spec)) {
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "all blocks of an Arrow stream must have the same fields, but %s; declare "
            "them with a spec",
            levada_spec_difference(s->spec, levada_block_spec(block), shown));
    }
    return levada_arrow_export_block(block, out, err);
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    stream_held  *s = stream->private_data;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_block *block = NULL;
    levada_status st = s->st;

    if (st != LEVADA_OK) return stream_errno(st);
    memset(out, 0, sizeof *out);
    st = stream_learn(s, &err);
    if (st == LEVADA_OK) st = stream_read(s, &block, &err);
    if (st == LEVADA_OK && block) st = stream_export(s, block, out, &err);
    levada_block_unref(&block);
    return st == LEVADA_OK ? 0 : stream_fail(s, st, &err);
}

static const char *stream_last_error(struct ArrowArrayStream *stream)
{
    const stream_held *s = stream->private_data;

    return s->st == LEVADA_OK ? NULL : s->text;
}

static void stream_release(struct ArrowArrayStream *stream)
{
    stream_held *s = stream->private_data;

    levada_block_unref(&s->first);
    levada_spec_unref(&s->spec);
    s->close(s->user);
    levada_free(s);
    stream->release = NULL;
}

levada_status levada_arrow_export_blocks(const levada_spec *spec, levada_arrow_next next,
                                         void (*close)(void *user), void *user,
                                         struct ArrowArrayStream *out, levada_error *err)
{
    LEVADA_TRY(levada_require(next != NULL, "next", err));
    LEVADA_TRY(levada_require(close != NULL, "close", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    stream_held *s = levada_alloc_zero(sizeof *s);

    if (!s) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a stream");
    s->next = next;
    s->close = close;
    s->user = user;
    s->spec = spec ? levada_spec_ref(spec) : NULL;
    *out = (struct ArrowArrayStream){ .get_schema = stream_schema,
                                      .get_next = stream_next,
                                      .get_last_error = stream_last_error,
                                      .release = stream_release,
                                      .private_data = s };
    return LEVADA_OK;
}

/* -- iterators */

static levada_status stream_iter_next(void *it, levada_block **out, levada_error *err)
{
    return levada_iter_next(it, out, err);
}

static void stream_iter_close(void *user)
{
    levada_iter *it = user;

    levada_iter_close(&it);
}

levada_status levada_arrow_export_iter(levada_iter **taken, struct ArrowArrayStream *out,
                                       levada_error *err)
{
    LEVADA_TRY(levada_require(taken != NULL && *taken != NULL, "taken", err));
    LEVADA_TRY(levada_arrow_export_blocks((*taken)->root->edge.spec, stream_iter_next,
                                          stream_iter_close, *taken, out, err));
    *taken = NULL;
    return LEVADA_OK;
}
