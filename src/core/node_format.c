/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves of the tree that read files: formats driven by the file reader.
 */
#include "base/alloc.h"
#include "core/iter_priv.h"

typedef struct format_node {
    levada_file_reader *reader;
    int32_t             opening;
} format_node;

static levada_status format_next(levada_iter *it, levada_block **out, levada_error *err)
{
    return levada_file_reader_next(((format_node *)it->self)->reader, out, err);
}

static levada_status format_save(levada_iter *it, levada_state_writer *to, levada_error *err)
{
    format_node *f = it->self;

    LEVADA_TRY(levada_state_put_i64(to, "#opening", f->opening, err));
    LEVADA_TRY(levada_state_put_i64(to, "#ended", it->ended, err));
    return levada_file_reader_save(f->reader, to, err);
}

static levada_status format_restore(levada_iter *it, levada_state_reader *from, levada_error *err)
{
    format_node *f = it->self;
    int64_t      opening, ended;

    LEVADA_TRY(levada_state_get_i64(from, "#opening", &opening, err));
    LEVADA_TRY(levada_state_get_i64(from, "#ended", &ended, err));
    LEVADA_TRY(levada_file_reader_restore(f->reader, from, err));
    f->opening = (int32_t)opening;
    it->ended = ended != 0;
    return LEVADA_OK;
}

static levada_status format_rewind(levada_iter *it, levada_error *err)
{
    format_node *f = it->self;

    (void)err;
    levada_file_reader_rewind(f->reader, ++f->opening, it->run->epoch);
    return LEVADA_OK;
}

static levada_status format_reread(levada_iter *it, const levada_origin *origins, int64_t n,
                                   levada_block **out, levada_error *err)
{
    return levada_file_reader_reread(((format_node *)it->self)->reader, origins, n, out, err);
}

static const char *format_file(const levada_iter *it, int32_t shard)
{
    return levada_file_reader_file(((const format_node *)it->self)->reader, shard);
}

static void format_progress(const levada_iter *it, int64_t *done, int64_t *total)
{
    levada_file_reader_progress(((const format_node *)it->self)->reader, done, total);
}

static void format_close(levada_iter *it)
{
    format_node *f = it->self;

    if (!f) return;
    levada_file_reader_destroy(&f->reader);
    levada_free(f);
}

static const levada_node_ops format_ops = {
    .next = format_next,
    .save = format_save,
    .restore = format_restore,
    .rewind = format_rewind,
    .reread = format_reread,
    .file = format_file,
    .progress = format_progress,
    .close = format_close,
};

bool levada_node_is_format(const levada_iter *it) { return it->ops == &format_ops; }

levada_file_reader_counts levada_node_damage(const levada_iter *it)
{
    return levada_file_reader_counted(((const format_node *)it->self)->reader);
}

levada_status levada_node_format(levada_run *run, const levada_dataset *at, levada_iter **out,
                                 levada_error *err)
{
    levada_iter  *it = NULL;
    format_node  *f;
    levada_status st;

    LEVADA_TRY(levada_node_create(run, at, &format_ops, &it, err));
    f = levada_alloc_zero(sizeof *f);
    it->self = f;
    st = f ? levada_file_reader_create(&it->context, at->op, at->args, levada_run_leaf(run, it),
                                       &f->reader, err)
           : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a reader");
    if (st == LEVADA_OK && run->inner) { /* n-th opening of a source of that number */
        f->opening = run->inner->opening;
        levada_file_reader_rewind(f->reader, f->opening, run->epoch);
    }
    if (st == LEVADA_OK) st = levada_file_reader_policy(f->reader, run->errors, err);
    if (st != LEVADA_OK) {
        levada_node_destroy(&it);
        return st;
    }
    it->version = 1;
    *out = it;
    return LEVADA_OK;
}
