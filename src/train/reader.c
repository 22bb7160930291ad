/* SPDX-License-Identifier: Apache-2.0 */
#include "train/reader_priv.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/versioned.h"
#include "registry/env_priv.h"

#include <levada/binding.h>
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

/* Checks the options, and numbers that a reader of another kind would use. */
static levada_status reader_check(const levada_reader_options *o, levada_error *err)
{
    const struct {
        const char *name;
        int64_t     value;
    } numbers[] = { { "skip_header_lines", o->skip_header_lines },
                    { "record_bytes", o->record_bytes },
                    { "header_bytes", o->header_bytes },
                    { "footer_bytes", o->footer_bytes },
                    { "hop_bytes", o->hop_bytes } };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].value >= 0) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s=%lld must not be negative",
                           numbers[i].name, (long long)numbers[i].value);
    }
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
    LEVADA_TRY(levada_env_have(env, err));
    LEVADA_TRY(LEVADA_VERSIONED_READ(all, options, levada_reader_options, err));
    LEVADA_TRY(reader_check(&all, err));
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

/* Forgets the file that is open, and what came of it. */
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

levada_status levada_reader_enter(levada_reader *r, int64_t timeout, levada_error *err)
{
    levada_wait_end end = LEVADA_WAIT_LATE;
    levada_waiter   waiter = { 0 };
    bool            waits;

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
    if (timeout != 0) {
        end = levada_line_wait(&r->turns, &r->lock, &waiter, &r->site, "its turn",
                               levada_until(timeout));
    }
    if (end == LEVADA_WAIT_DONE) return LEVADA_OK;
    if (end == LEVADA_WAIT_FORKED) return levada_process_refuse("reader", err);
    if (end == LEVADA_WAIT_STOPPED) {
        return levada_fail(err, LEVADA_ECANCELLED, "%s: interrupted before its turn", r->name);
    }
    return levada_fail(err, LEVADA_EDEADLINE_EXCEEDED, "%s: another call had its turn",
                       r->name);
}

/* Counts what the call returned; the next one in line has its turn. */
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
    if (o->ncomponents == 1 && levada_dtype_is_bytes(o->dtypes[0])) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "a reader takes names from a queue of one component of strings; '%s' has %d,"
                       " the first of %s",
                       o->name, (int)o->ncomponents, levada_dtype_name(o->dtypes[0]));
}

levada_status levada_reader_dequeue(void *queue, int64_t timeout, levada_tensor **name,
                                    levada_error *err)
{
    return levada_queue_dequeue(queue, name, timeout, err);
}

/* Where names come from, and for how long a call may wait there. */
typedef struct reader_source {
    levada_reader_names names;
    void               *user;
    int64_t             timeout, until;
} reader_source;

static levada_status reader_take_name(levada_reader *r, const reader_source *from,
                                      levada_error *err)
{
    levada_tensor *name = NULL;
    int64_t        left = from->until >= 0 ? from->until - levada_now() : from->timeout;

    if (from->until >= 0 && left < 0) left = 0;
    LEVADA_TRY(from->names(from->user, left, &name, err));
    if (!levada_dtype_is_bytes(levada_tensor_dtype(name)) || levada_tensor_count(name) != 1) {
        levada_status st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                                       "expected one file name, got %lld x %s",
                                       (long long)levada_tensor_count(name),
                                       levada_dtype_name(levada_tensor_dtype(name)));

        levada_tensor_unref(&name);
        return st;
    }
    levada_tensor_unref(&r->path);
    r->path = name;
    r->named = true;
    return LEVADA_OK;
}

/* -- files ------------------------------------------------------------------------------------- */

/* Passes over a file that cannot be opened, which says nothing about the next one. */
static bool reader_passes(levada_status st)
{
    return st == LEVADA_ENOT_FOUND || st == LEVADA_EPERMISSION_DENIED ||
           st == LEVADA_EINVALID_ARGUMENT || st == LEVADA_EUNIMPLEMENTED;
}

/* Gives up a file before anything came of it, so that it can be opened again if memory was short.
 * */
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

/* Pulls one more block of the file; END at its end, with nothing open any more. */
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

/* Reads until there is a record. */
static levada_status reader_advance(levada_reader *r, const reader_source *from, int64_t rows,
                                    levada_error *err)
{
    while (r->held == 0) {
        levada_status st;

        if (r->failed.code != LEVADA_OK) {
            if (err) *err = r->failed;
            return r->failed.code;
        }
        if (!r->named) LEVADA_TRY(reader_take_name(r, from, err));
        if (!r->open) LEVADA_TRY(reader_open(r, rows, err));
        st = levada_reader_pull(r, err);
        if (st != LEVADA_OK && st != LEVADA_END) return st;
    }
    return LEVADA_OK;
}

/* Passes the first n rows to the caller. */
static void reader_pass(levada_reader *r, int64_t n)
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

int64_t levada_reader_number(const levada_reader *r, const levada_block *block, int64_t row)
{
    if (levada_reader_kind_whole(r->file.options.kind)) return -1;
    return levada_reader_file_number(&r->file, block, row);
}

int64_t levada_reader_key_size(size_t name, int64_t number)
{
    int64_t size = (int64_t)name;

    if (number < 0) return size;
    for (size += 2; number > 9; number /= 10) size++;
    return size;
}

void levada_reader_key_write(const char *name, size_t length, int64_t number, uint8_t *to,
                             int64_t size)
{
    uint8_t *end = to + size;

    if (length > 0) memcpy(to, name, length);
    to += length;
    if (to == end) return;
    *to++ = ':';
    for (; end > to; number /= 10) *--end = (uint8_t)('0' + number % 10);
}

/* -- records ----------------------------------------------------------------------------------- */

typedef levada_status (*reader_use)(void *user, levada_reader_found *found, levada_error *err);

static levada_status reader_find_one(levada_reader *r, reader_use use, void *user,
                                     levada_error *err)
{
    const levada_block *block = r->parts[0];
    levada_reader_found found = { .number = levada_reader_number(r, block, r->row) };

    found.name = levada_reader_path(r, &found.name_size);
    found.value = levada_column_bytes(levada_block_at(block, 0), r->row, &found.size);
    LEVADA_TRY(use(user, &found, err));
    reader_pass(r, 1);
    return LEVADA_OK;
}

static levada_status reader_find_many(levada_reader *r, int64_t n, int64_t *rows, reader_use use,
                                      void *user, levada_error *err)
{
    levada_reader_found found = { 0 };
    levada_status       st = levada_reader_block(r, n, rows, &found.block, err);

    if (st == LEVADA_OK) st = use(user, &found, err);
    levada_block_unref(&found.block);
    if (st == LEVADA_OK) reader_pass(r, *rows);
    return st;
}

/* Returns true if a call for n records has to read a file, or to wait for its name. */
static bool reader_would_read(const levada_reader *r, int64_t n)
{
    if (r->held == 0) return r->failed.code == LEVADA_OK;
    return r->held < n && r->open;
}

levada_status levada_reader_find(levada_reader *reader, levada_reader_names names,
                                 void *names_user, int64_t n, int64_t timeout, reader_use use,
                                 void *user, levada_error *err)
{
    reader_source from = { names, names_user, timeout, levada_until(timeout) };
    int64_t       rows = n > 0 ? 0 : 1;
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(reader, "reader", err));
    LEVADA_TRY(levada_require(names != NULL || timeout == LEVADA_AT_ONCE, "names", err));
    LEVADA_TRY(levada_require(use != NULL, "use", err));
    LEVADA_TRY(levada_require_range(n, 0, INT64_MAX, "n", err));
    LEVADA_TRY(levada_reader_enter(reader, timeout, err));
    if (timeout == LEVADA_AT_ONCE && reader_would_read(reader, n)) {
        st = LEVADA_AGAIN;
    } else {
        st = reader_advance(reader, &from, n > 0 ? n : READER_ROWS, err);
    }
    if (st == LEVADA_OK) {
        st = n > 0 ? reader_find_many(reader, n, &rows, use, user, err)
                   : reader_find_one(reader, use, user, err);
    }
    levada_reader_leave(reader, st == LEVADA_OK ? rows : 0);
    return st;
}

int64_t levada_reader_key_bytes(const levada_reader_found *found, uint8_t *to)
{
    int64_t size;

    if (!found) return 0;
    size = levada_reader_key_size(found->name_size, found->number);
    if (to) levada_reader_key_write(found->name, found->name_size, found->number, to, size);
    return size;
}

typedef struct reader_pair {
    levada_pool    *pool;
    levada_tensor **key, **value;
} reader_pair;

/* Makes a scalar whose bytes are to be written. */
static levada_status reader_scalar(levada_pool *pool, int64_t size, levada_tensor **out,
                                   levada_error *err)
{
    const levada_shape scalar = { 0, { 0 } };

    LEVADA_TRY(levada_tensor_make_strings(pool, &scalar, size, out, err));
    (*out)->offsets[0] = 0;
    (*out)->offsets[1] = (int32_t)size;
    return LEVADA_OK;
}

static levada_status reader_use_pair(void *user, levada_reader_found *found, levada_error *err)
{
    const reader_pair *to = user;
    levada_tensor     *key = NULL, *value = NULL;
    levada_status      st;

    LEVADA_TRY(reader_scalar(to->pool, levada_reader_key_bytes(found, NULL), &key, err));
    st = reader_scalar(to->pool, found->size, &value, err);
    if (st != LEVADA_OK) {
        levada_tensor_unref(&key);
        return st;
    }
    (void)levada_reader_key_bytes(found, key->data);
    if (found->size > 0) memcpy(value->data, found->value, (size_t)found->size);
    *to->key = key;
    *to->value = value;
    return LEVADA_OK;
}

levada_status levada_reader_read_from(levada_reader *reader, levada_reader_names names,
                                      void *user, int64_t timeout, levada_tensor **key,
                                      levada_tensor **value, levada_error *err)
{
    reader_pair to = { NULL, key, value };

    LEVADA_TRY(LEVADA_USABLE(reader, "reader", err));
    LEVADA_TRY(levada_require(key != NULL, "key", err));
    LEVADA_TRY(levada_require(value != NULL, "value", err));
    to.pool = levada_env_pool(reader->file.env);
    return levada_reader_find(reader, names, user, 0, timeout, reader_use_pair, &to, err);
}

levada_status levada_reader_read(levada_reader *reader, levada_queue *queue, int64_t timeout,
                                 levada_tensor **key, levada_tensor **value, levada_error *err)
{
    LEVADA_TRY(levada_reader_check(reader, queue, err));
    return levada_reader_read_from(reader, levada_reader_dequeue, queue, timeout, key, value, err);
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

levada_status levada_reader_try_reset(levada_reader *reader, int64_t timeout, levada_error *err)
{
    LEVADA_TRY(LEVADA_USABLE(reader, "reader", err));
    LEVADA_TRY(levada_reader_enter(reader, timeout, err));
    levada_reader_forget(reader);
    levada_reader_set_counts(reader, 0, 0);
    levada_reader_leave(reader, 0);
    return LEVADA_OK;
}

void levada_reader_reset(levada_reader *reader)
{
    while (LEVADA_OURS(reader) &&
           levada_reader_try_reset(reader, LEVADA_FOREVER, NULL) != LEVADA_OK) continue;
}

void levada_reader_set_poll(levada_reader *reader, bool (*ask)(void *user), void *user,
                            int64_t every)
{
    if (LEVADA_OURS(reader)) levada_site_ask(&reader->site, ask, user, every);
}

LEVADA_VERSIONED_INIT(levada_reader_options_init, levada_reader_options, LEVADA_READER_OPTIONS_INIT)
