/* SPDX-License-Identifier: Apache-2.0 */
#include "train/reader_priv.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/versioned.h"

#include <string.h>

enum { READER_ROWS = 256, READER_LEAST_ROWS = 16, READER_MOST_ROWS = 65536 };

/* -- making and freeing ------------------------------------------------------------------------ */

static levada_status reader_fill(levada_reader *r, levada_env *env,
                                 const levada_reader_options *options, levada_error *err)
{
    const levada_field fields[] = { { .name = "key", .dtype = LEVADA_BYTES },
                                    { .name = "value", .dtype = LEVADA_BYTES } };
    levada_wait_list        *wait_list = levada_env_wait_list(env);
    const char        *name = options->name;

    LEVADA_TRY(levada_reader_file_init(&r->file, env, options, err));
    LEVADA_TRY(levada_spec_create(fields, 2, LEVADA_SPEC_PLAIN, &r->spec, err));
    r->name = levada_strdup(name ? name : levada_reader_kind_name(options->kind));
    if (!r->name || !wait_list) return levada_reader_short(err);
    LEVADA_TRY(levada_lock_init(&r->lock, LEVADA_LOCK_LIST, err));
    r->has_lock = true;
    r->wait_list = levada_wait_list_ref(wait_list);
    levada_site_init(&r->site, r->wait_list, r->name);
    return LEVADA_OK;
}

levada_status levada_reader_create(levada_env *env, const levada_reader_options *options,
                                   levada_reader **out, levada_error *err)
{
    levada_reader_options all = LEVADA_READER_OPTIONS_INIT;
    levada_reader        *r;
    levada_status         st;

    LEVADA_TRY(levada_require(options != NULL, "options", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(LEVADA_VERSIONED_READ(all, options, levada_reader_options, err));
    r = levada_alloc_zero(sizeof *r);
    if (!r) return levada_reader_short(err);
    r->process = levada_process();
    levada_error_clear(&r->failed);
    st = reader_fill(r, env, &all, err);
    if (st == LEVADA_OK) *out = r;
    else levada_reader_destroy(&r);
    return st;
}

static void reader_drop_parts(levada_reader *r)
{
    for (int32_t i = 0; i < r->nparts; i++) levada_block_unref(&r->parts[i]);
    r->nparts = 0;
    r->row = r->held = r->bytes = 0;
}

/* The file that is open, and what came of it. */
void levada_reader_forget(levada_reader *r)
{
    reader_drop_parts(r);
    levada_reader_file_close(&r->file);
    r->named = r->open = r->begun = false;
    levada_error_clear(&r->failed);
    levada_tensor_unref(&r->path);
}

void levada_reader_destroy(levada_reader **reader)
{
    levada_reader *r = reader ? *reader : NULL;

    if (!r) return;
    *reader = NULL;
    /* In the child of a fork: a call of another thread that was changing it never ends there. */
    if (!LEVADA_OURS(r) && (!levada_lock_is_free(&r->lock) || r->busy)) return;
    LEVADA_ASSERT(!r->busy); /* nobody is in a call */
    levada_reader_forget(r);
    levada_free(r->parts);
    levada_reader_file_clear(&r->file);
    levada_spec_unref(&r->spec);
    if (r->has_lock) levada_lock_clear(&r->lock);
    if (r->wait_list) levada_wait_list_unref(&r->wait_list);
    levada_free(r->name);
    levada_free(r);
}

/* -- turns ------------------------------------------------------------------------------------- */

/* Whether the turn came in time. The site is not watched: nobody else ends this wait. */
static bool reader_wait(levada_reader *r, levada_waiter *waiter, int64_t until)
{
    bool mine;

    if (levada_waiter_wait(waiter, &r->site, "its turn", -1, until) == LEVADA_WAIT_DONE) {
        return true;
    }
    levada_lock_take(&r->lock);
    mine = waiter->linked;
    if (mine) levada_line_remove(&r->turns, waiter);
    levada_lock_give(&r->lock);
    if (mine) levada_waiter_clear(waiter);
    else levada_waiter_settle(waiter);
    return !mine;
}

levada_status levada_reader_enter(levada_reader *r, int64_t timeout, levada_error *err)
{
    levada_waiter waiter = { 0 };
    bool          waits;

    levada_lock_take(&r->lock);
    waits = r->busy;
    r->busy = true;
    if (waits && timeout != 0 && timeout != LEVADA_AT_ONCE) {
        levada_line_append(&r->turns, &waiter);
        levada_waiter_prepare(&waiter);
    }
    levada_lock_give(&r->lock);
    if (!waits) return LEVADA_OK;
    if (timeout == LEVADA_AT_ONCE) return LEVADA_AGAIN;
    if (timeout != 0 && reader_wait(r, &waiter, levada_until(timeout))) return LEVADA_OK;
    return levada_fail(err, LEVADA_EDEADLINE_EXCEEDED, "%s: another call had its turn",
                       r->name);
}

/* Counts what the call gave; the next one in line has its turn. */
void levada_reader_leave(levada_reader *r, int64_t produced)
{
    levada_woken woken = { 0 };

    levada_lock_take(&r->lock);
    r->produced += produced;
    r->busy = r->turns.head != NULL;
    if (r->busy) levada_waiter_finish(&r->turns, r->turns.head, LEVADA_OK, &woken);
    levada_lock_give(&r->lock);
    levada_wake(&woken);
}

static void reader_finished(levada_reader *r)
{
    levada_lock_take(&r->lock);
    r->finished++;
    levada_lock_give(&r->lock);
}

/* -- names ------------------------------------------------------------------------------------- */

const char *levada_reader_path(const levada_reader *r, size_t *size)
{
    *size = r->path ? (size_t)levada_tensor_bytes(r->path) : 0;
    return r->path ? levada_tensor_data(r->path) : "";
}

levada_status levada_reader_check(levada_reader *r, levada_queue *queue, levada_error *err)
{
    const levada_queue_options *o;

    LEVADA_TRY(LEVADA_USABLE(r, "reader", err));
    LEVADA_TRY(levada_require(queue != NULL, "queue", err));
    o = levada_queue_info(queue);
    if (o->ncomponents == 1 && o->dtypes[0] == LEVADA_BYTES) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "a reader takes names from a queue of one component of strings; '%s' has %d,"
                       " the first of %s",
                       o->name, (int)o->ncomponents, levada_dtype_name(o->dtypes[0]));
}

static levada_status reader_take_name(levada_reader *r, levada_queue *queue, int64_t timeout,
                                      int64_t until, levada_error *err)
{
    levada_tensor *name = NULL;
    int64_t        left = until >= 0 ? until - levada_now() : timeout;

    if (until >= 0 && left < 0) left = 0;
    LEVADA_TRY(levada_queue_dequeue(queue, &name, left, err));
    if (levada_tensor_count(name) != 1) {
        levada_status st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                                       "a queue of file names gave %lld of them at once",
                                       (long long)levada_tensor_count(name));

        levada_tensor_unref(&name);
        return st;
    }
    levada_tensor_unref(&r->path);
    r->path = name;
    r->named = true;
    return LEVADA_OK;
}

/* -- files ------------------------------------------------------------------------------------- */

/* The file cannot be opened, which says nothing about the next one. */
static bool reader_passes(levada_status st)
{
    return st == LEVADA_ENOT_FOUND || st == LEVADA_EPERMISSION_DENIED ||
           st == LEVADA_EINVALID_ARGUMENT || st == LEVADA_EUNIMPLEMENTED;
}

/* Before anything came of a file it can be opened again, where memory was short. */
static levada_status reader_give_up(levada_reader *r, levada_status st, const levada_error *why,
                                    levada_error *err)
{
    bool again = !r->begun && st == LEVADA_ERESOURCE_EXHAUSTED;

    levada_reader_file_close(&r->file);
    if (r->begun || (!again && !reader_passes(st))) r->failed = *why;
    r->open = false;
    r->named = again;
    if (err) *err = *why;
    return st;
}

static levada_status reader_reserve(levada_reader *r, levada_error *err)
{
    return levada_reserve(&r->parts, &r->capacity, r->nparts + 1, sizeof *r->parts)
               ? LEVADA_OK
               : levada_reader_short(err);
}

int64_t levada_reader_bytes(const levada_block *block, int64_t first, int64_t last)
{
    const levada_level *level = &levada_block_at(block, 0)->level[0];
    int64_t             bytes = 0;

    for (int64_t i = first; i < last; i++) bytes += level->end[i] - level->begin[i];
    return bytes;
}

/* One more block of the file; END at its end, with nothing open any more. */
levada_status levada_reader_pull(levada_reader *r, levada_error *err)
{
    levada_error  why = LEVADA_ERROR_INIT;
    levada_block *block = NULL;
    size_t        size;
    const char   *name = levada_reader_path(r, &size);
    levada_status st;

    LEVADA_TRY(reader_reserve(r, err));
    st = levada_reader_file_next(&r->file, name, size, &block, &why);
    if (st < 0) return reader_give_up(r, st, &why, err);
    r->begun = true;
    if (st == LEVADA_OK) {
        r->parts[r->nparts++] = block;
        r->held += levada_block_rows(block);
        r->bytes += levada_reader_bytes(block, 0, levada_block_rows(block));
    }
    if (st == LEVADA_END || levada_reader_kind_whole(r->file.options.kind)) {
        levada_reader_file_close(&r->file);
        r->named = r->open = false;
        reader_finished(r);
    }
    return st;
}

static levada_status reader_open(levada_reader *r, int64_t rows, levada_error *err)
{
    levada_error  why = LEVADA_ERROR_INIT;
    size_t        size;
    const char   *name = levada_reader_path(r, &size);
    levada_status st;

    if (rows < READER_LEAST_ROWS) rows = READER_LEAST_ROWS;
    if (rows > READER_MOST_ROWS) rows = READER_MOST_ROWS;
    r->begun = false;
    st = levada_reader_file_open(&r->file, name, size, (int32_t)rows, &why);
    if (st != LEVADA_OK) return reader_give_up(r, st, &why, err);
    r->open = true;
    return LEVADA_OK;
}

/* Until there is a record. */
levada_status levada_reader_advance(levada_reader *r, levada_queue *queue, int64_t rows,
                                    int64_t timeout, int64_t until, levada_error *err)
{
    while (r->held == 0) {
        levada_status st;

        if (r->failed.code != LEVADA_OK) {
            if (err) *err = r->failed;
            return r->failed.code;
        }
        if (!r->named) LEVADA_TRY(reader_take_name(r, queue, timeout, until, err));
        if (!r->open) LEVADA_TRY(reader_open(r, rows, err));
        st = levada_reader_pull(r, err);
        if (st != LEVADA_OK && st != LEVADA_END) return st;
    }
    return LEVADA_OK;
}

/* The first n rows are the caller's now. */
void levada_reader_pass(levada_reader *r, int64_t n)
{
    int32_t gone = 0;

    r->held -= n;
    while (n > 0) {
        int64_t rows = levada_block_rows(r->parts[gone]), last = r->row + n;

        if (last > rows) last = rows;
        r->bytes -= levada_reader_bytes(r->parts[gone], r->row, last);
        n -= last - r->row;
        r->row = last;
        if (last < rows) break;
        levada_block_unref(&r->parts[gone++]);
        r->row = 0;
    }
    r->nparts -= gone;
    memmove(r->parts, r->parts + gone, (size_t)r->nparts * sizeof(levada_block *));
}

/* -- keys -------------------------------------------------------------------------------------- */

int64_t levada_reader_key_size(const levada_reader *r, const levada_block *block, int64_t row)
{
    size_t  name;
    int64_t number, size;

    (void)levada_reader_path(r, &name);
    size = (int64_t)name;
    if (levada_reader_kind_whole(r->file.options.kind)) return size;
    number = levada_reader_file_number(&r->file, block, row);
    for (size += 2; number > 9; number /= 10) size++;
    return size;
}

void levada_reader_key_write(const levada_reader *r, const levada_block *block, int64_t row,
                             uint8_t *to, int64_t size)
{
    size_t      length;
    const char *name = levada_reader_path(r, &length);
    uint8_t    *end = to + size;
    int64_t     number;

    if (length > 0) memcpy(to, name, length);
    to += length;
    if (to == end) return;
    *to++ = ':';
    number = levada_reader_file_number(&r->file, block, row);
    for (; end > to; number /= 10) *--end = (uint8_t)('0' + number % 10);
}

/* -- one record -------------------------------------------------------------------------------- */

/* A scalar whose bytes are to be written. */
static levada_status reader_scalar(levada_reader *r, int64_t size, levada_tensor **out,
                                   levada_error *err)
{
    const levada_shape scalar = { 0, { 0 } };
    levada_pool       *pool = levada_env_pool(r->file.env);

    LEVADA_TRY(levada_tensor_make_strings(pool, &scalar, size, out, err));
    (*out)->offsets[0] = 0;
    (*out)->offsets[1] = (int32_t)size;
    return LEVADA_OK;
}

static levada_status reader_pair(levada_reader *r, levada_tensor **key, levada_tensor **value,
                                 levada_error *err)
{
    const levada_block *block = r->parts[0];
    int64_t             size = 0, key_size;
    const uint8_t      *bytes = levada_column_bytes(levada_block_at(block, 0), r->row, &size);
    levada_tensor      *k = NULL, *v = NULL;
    levada_status       st;

    key_size = levada_reader_key_size(r, block, r->row);
    LEVADA_TRY(reader_scalar(r, key_size, &k, err));
    st = reader_scalar(r, size, &v, err);
    if (st != LEVADA_OK) {
        levada_tensor_unref(&k);
        return st;
    }
    levada_reader_key_write(r, block, r->row, k->data, key_size);
    if (size > 0) memcpy(v->data, bytes, (size_t)size);
    *key = k;
    *value = v;
    return LEVADA_OK;
}

levada_status levada_reader_read(levada_reader *reader, levada_queue *queue, int64_t timeout,
                                 levada_tensor **key, levada_tensor **value, levada_error *err)
{
    int64_t       until = levada_until(timeout);
    levada_status st;

    LEVADA_TRY(levada_reader_check(reader, queue, err));
    LEVADA_TRY(levada_require(key != NULL, "key", err));
    LEVADA_TRY(levada_require(value != NULL, "value", err));
    LEVADA_TRY(levada_reader_enter(reader, timeout, err));
    st = levada_reader_advance(reader, queue, READER_ROWS, timeout, until, err);
    if (st == LEVADA_OK) st = reader_pair(reader, key, value, err);
    if (st == LEVADA_OK) levada_reader_pass(reader, 1);
    levada_reader_leave(reader, st == LEVADA_OK);
    return st;
}

/* -- counters ---------------------------------------------------------------------------------- */

static int64_t reader_look(levada_reader *r, const int64_t *counter)
{
    int64_t n;

    levada_lock_take(&r->lock);
    n = *counter;
    levada_lock_give(&r->lock);
    return n;
}

int64_t levada_reader_num_records_produced(levada_reader *reader)
{
    return LEVADA_OURS(reader) ? reader_look(reader, &reader->produced) : 0;
}

int64_t levada_reader_num_work_units_completed(levada_reader *reader)
{
    return LEVADA_OURS(reader) ? reader_look(reader, &reader->finished) : 0;
}

void levada_reader_set_counts(levada_reader *r, int64_t produced, int64_t finished)
{
    levada_lock_take(&r->lock);
    r->produced = produced;
    r->finished = finished;
    levada_lock_give(&r->lock);
}

void levada_reader_reset(levada_reader *reader)
{
    if (!LEVADA_OURS(reader)) return;
    LEVADA_BUG_ON(levada_reader_enter(reader, LEVADA_FOREVER, NULL) != LEVADA_OK);
    levada_reader_forget(reader);
    levada_reader_set_counts(reader, 0, 0);
    levada_reader_leave(reader, 0);
}

LEVADA_VERSIONED_INIT(levada_reader_options_init, levada_reader_options, LEVADA_READER_OPTIONS_INIT)
