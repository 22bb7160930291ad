/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user holds: a node on top of the tree that gives whole blocks (never selections), and the
 * calls that concern all of it.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/text.h"
#include "core/iter_priv.h"
#include "runtime/park.h"
#include "tensor/block_priv.h"

#include <string.h>

typedef struct handle {
    levada_iter_options options;
    char               *errors; /* copy of options.errors */
    levada_mutex        lock; /* guards the tree against being swapped while others look at it */
    bool                cancelled;
    /* Debug builds: the thread that is in a call of its owner, 0 = none, and how deep. */
    atomic_ullong inside;
    int           depth;
} handle;

/* -- one owner at a time. Relaxed: the owners order their calls themselves, not by this. */

void levada_handle_enter(const levada_iter *it)
{
    handle            *h = it->self;
    unsigned long long self, other = 0;

    if (!LEVADA_DEBUG) return;
    self = levada_thread_number();
    (void)atomic_compare_exchange_strong_explicit(&h->inside, &other, self, memory_order_relaxed,
                                                  memory_order_relaxed);
    LEVADA_ASSERT(other == 0 || other == self); /* else two threads use one iterator */
    h->depth++;
}

void levada_handle_leave(const levada_iter *it)
{
    handle *h = it->self;

    if (!LEVADA_DEBUG || --h->depth > 0) return;
    atomic_store_explicit(&h->inside, 0, memory_order_relaxed);
}

static levada_status handle_next(levada_iter *it, levada_block **out, levada_error *err)
{
    levada_block *block = NULL;
    levada_status st = LEVADA_OK;

    levada_handle_enter(it);
    it->run->interrupted = false;
    if (it->run->crew) st = levada_crew_start(it->run->crew, err);
    if (st == LEVADA_OK) st = levada_iter_next(it->inputs[0], &block, err);
    if (st == LEVADA_OK) {
        st = levada_block_gather(levada_env_pool(it->run->env), block, out, err);
    }
    levada_block_unref(&block);
    levada_handle_leave(it);
    return st;
}

static void handle_close(levada_iter *it)
{
    handle *h = it->self;

    levada_handle_enter(it);
    LEVADA_ASSERT(h->depth == 1); /* not from within its own next() */
    levada_run_destroy(&it->run, it->inputs);
    it->ninputs = 0;
    levada_mutex_clear(&h->lock);
    levada_free(h->errors);
    levada_free(h);
}

static const levada_node_ops handle_ops = { .next = handle_next, .close = handle_close };

static levada_status handle_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for an iterator");
}

static levada_status handle_init(handle *h, const levada_iter_options *options, levada_error *err)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;

    if (options) {
        memcpy(&o, options, options->struct_size < sizeof o ? options->struct_size : sizeof o);
    }
    if (o.errors) {
        h->errors = levada_strdup(o.errors);
        if (!h->errors) return handle_memory(err);
        o.errors = h->errors;
    }
    o.struct_size = sizeof o;
    h->options = o;
    return levada_mutex_init(&h->lock, LEVADA_LOCK_HANDLE, err);
}

levada_status levada_iter_open(const levada_dataset *dataset, const levada_iter_options *options,
                               levada_iter **out, levada_error *err)
{
    levada_iter  *it;
    handle       *h;
    levada_iter **inputs;
    levada_status st;

    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    it = levada_alloc_zero(sizeof *it);
    h = levada_alloc_zero(sizeof *h);
    inputs = levada_alloc_zero(sizeof(*inputs));
    st = it && h && inputs ? handle_init(h, options, err) : handle_memory(err);
    if (st == LEVADA_OK) {
        st = levada_run_create(dataset, &h->options, &it->run, inputs, err);
        if (st != LEVADA_OK) levada_mutex_clear(&h->lock);
    }
    if (st != LEVADA_OK) {
        if (h) levada_free(h->errors);
        levada_free(it);
        levada_free(h);
        levada_free(inputs);
        return st;
    }
    it->ops = &handle_ops;
    it->self = h;
    it->inputs = inputs;
    it->ninputs = 1;
    it->spec = inputs[0]->spec;
    it->at = it->run->dataset;
    *out = it;
    return LEVADA_OK;
}

void levada_iter_close(levada_iter **it) { levada_node_destroy(it); }

levada_status levada_iter_next_within(levada_iter *it, int64_t nanoseconds, levada_block **out,
                                      levada_error *err)
{
    int64_t       now = levada_now();
    levada_status st;

    LEVADA_TRY(levada_require(it != NULL, "it", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_handle_enter(it);
    if (nanoseconds >= 0) {
        it->run->deadline = nanoseconds > INT64_MAX - now ? INT64_MAX : now + nanoseconds;
    }
    it->run->pulls = 0;
    st = levada_iter_next(it, out, err);
    it->run->deadline = -1;
    levada_handle_leave(it);
    return st;
}

void levada_iter_unread(levada_iter *it, levada_block **block)
{
    levada_handle_enter(it);
    atomic_fetch_sub_explicit(&it->records, levada_block_rows(*block), memory_order_relaxed);
    atomic_fetch_sub_explicit(&it->blocks, 1, memory_order_relaxed);
    levada_node_unread(it->inputs[0], block);
    levada_handle_leave(it);
}

void levada_iter_cancel(levada_iter *it)
{
    handle *h = it->self;

    levada_mutex_lock(&h->lock);
    h->cancelled = true;
    atomic_store(&it->run->cancelled, true);
    levada_node_cancel(it->inputs[0]);
    if (it->run->crew) levada_crew_wake(it->run->crew);
    levada_mutex_unlock(&h->lock);
}

/* -- save and restore */

static levada_status handle_gather_state(levada_iter *it, levada_state_writer *w, char *json,
                                         levada_error *err)
{
    levada_iter top = { .path = "dataset", .version = 0 };

    w->node = &top;
    LEVADA_TRY(levada_state_put_bytes(w, "json", json, strlen(json), err));
    return levada_node_save(it->inputs[0], w, err);
}

static levada_status handle_save(levada_iter *it, char **out, size_t *size, levada_error *err)
{
    levada_state_writer w = { 0 };
    levada_state_head   head = { .seed = it->run->seed, .epoch = it->run->epoch };
    char               *json = NULL;
    levada_status       st;

    if (it->stuck != LEVADA_OK) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the iterator has failed: restore it or close it (%s)", it->why.message);
    }
    LEVADA_TRY(levada_dataset_fingerprint(it->run->dataset, head.fingerprint, err));
    LEVADA_TRY(levada_dataset_json(it->run->dataset, &json, err));
    st = handle_gather_state(it, &w, json, err);
    if (st == LEVADA_OK) st = levada_records_spell(&w, it->run, err);
    if (st == LEVADA_OK) st = levada_state_encode(&w, &head, it->run->env, out, size, err);
    levada_state_writer_clear(&w);
    levada_string_free(&json);
    return st;
}

levada_status levada_iter_save(levada_iter *it, char **out, size_t *size, levada_error *err)
{
    levada_status st;

    LEVADA_TRY(levada_require(it != NULL, "it", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(size != NULL, "size", err));
    levada_handle_enter(it);
    st = handle_save(it, out, size, err);
    levada_handle_leave(it);
    return st;
}

/* The first place where two descriptions differ, with a little of what stands before it. */
static levada_status handle_differs(const char *now, const char *saved, size_t size,
                                    levada_error *err)
{
    size_t at = 0, from, now_size = strlen(now);

    while (at < size && at < now_size && now[at] == saved[at]) at++;
    from = at > 40 ? at - 40 : 0;
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       "the state was saved from another dataset: it had ...%.*s, this one has "
                       "...%.*s",
                       (int)(size - from < 80 ? size - from : 80), saved + from, 80, now + from);
}

static levada_status handle_fits(levada_iter *it, levada_state_reader *from, levada_error *err)
{
    levada_iter   top = { .path = "dataset", .version = 0 };
    uint8_t       fingerprint[16];
    const void   *saved = NULL;
    size_t        size = 0;
    char         *json = NULL;
    levada_status st;

    LEVADA_TRY(levada_dataset_fingerprint(it->run->dataset, fingerprint, err));
    if (memcmp(fingerprint, from->head.fingerprint, sizeof fingerprint) == 0) return LEVADA_OK;
    from->node = &top;
    LEVADA_TRY(levada_state_get_bytes(from, "json", &saved, &size, err));
    LEVADA_TRY(levada_dataset_json(it->run->dataset, &json, err));
    st = handle_differs(json, saved, size, err);
    levada_string_free(&json);
    return st;
}

/* A new tree takes the place of the old one, which was not touched until here. */
static void handle_swap(levada_iter *it, levada_run *run, levada_iter *root)
{
    handle      *h = it->self;
    levada_run  *old_run = it->run;
    levada_iter *old_root = it->inputs[0];

    levada_mutex_lock(&h->lock);
    it->run = run;
    it->inputs[0] = root;
    if (h->cancelled) atomic_store(&run->cancelled, true);
    levada_mutex_unlock(&h->lock);
    it->at = run->dataset;
    it->spec = root->spec;
    it->ended = false;
    it->stuck = LEVADA_OK;
    levada_run_destroy(&old_run, &old_root);
}

static levada_status handle_restore(levada_iter *it, const void *bytes, size_t size,
                                    levada_error *err)
{
    handle             *h = it->self;
    levada_iter_options o = h->options;
    levada_state_reader from;
    levada_run         *run = NULL;
    levada_iter        *root = NULL;
    levada_status       st;

    LEVADA_TRY(levada_state_decode(bytes, size, it->run->env, &from, err));
    o.seed = from.head.seed;
    o.epoch = from.head.epoch;
    st = handle_fits(it, &from, err);
    if (st == LEVADA_OK) st = levada_run_create(it->run->dataset, &o, &run, &root, err);
    if (st == LEVADA_OK) st = levada_node_restore(root, &from, err);
    levada_state_reader_clear(&from);
    if (st != LEVADA_OK) {
        levada_run_destroy(&run, &root);
        return st;
    }
    handle_swap(it, run, root);
    return LEVADA_OK;
}

levada_status levada_iter_restore(levada_iter *it, const void *bytes, size_t size,
                                  levada_error *err)
{
    levada_status st;

    LEVADA_TRY(levada_require(it != NULL, "it", err));
    LEVADA_TRY(levada_require(bytes != NULL || size == 0, "bytes", err));
    levada_handle_enter(it);
    st = handle_restore(it, bytes, size, err);
    levada_handle_leave(it);
    return st;
}

/* -- where things come from */

const char *levada_run_file(const levada_run *run, int32_t leaf, int32_t shard)
{
    bool               listed = leaf >= 0 && leaf < LEVADA_RUN_LEAVES;
    const levada_iter *node = listed ? run->leaf[leaf] : NULL;

    return node && node->ops->file ? node->ops->file(node, shard) : NULL;
}

const char *levada_iter_file(const levada_iter *it, int32_t leaf, int32_t shard)
{
    return levada_run_file(it->run, leaf, shard);
}

levada_status levada_iter_find_file(const levada_iter *it, int32_t leaf, int32_t shard, char **out,
                                    levada_error *err)
{
    handle     *h;
    const char *path;
    bool        copied;

    LEVADA_TRY(levada_require(it != NULL, "it", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    h = it->self;
    *out = NULL;
    levada_mutex_lock(&h->lock);
    path = levada_iter_file(it, leaf, shard);
    if (path) *out = levada_strdup(path);
    copied = !path || *out;
    levada_mutex_unlock(&h->lock);
    return copied ? LEVADA_OK
                  : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a path");
}

void levada_iter_progress(const levada_iter *it, int64_t *done, int64_t *total)
{
    handle *h = it->self;

    *done = 0;
    *total = 0;
    levada_mutex_lock(&h->lock);
    for (int32_t i = 0; i < it->run->told && i < LEVADA_RUN_LEAVES; i++) {
        int64_t d = 0, t = -1;

        if (it->run->leaf[i] && it->run->leaf[i]->ops->progress) {
            it->run->leaf[i]->ops->progress(it->run->leaf[i], &d, &t);
        }
        *done += d;
        *total = t < 0 || *total < 0 ? -1 : *total + t;
    }
    levada_mutex_unlock(&h->lock);
}

levada_status levada_iter_report(levada_iter *it, char **out, levada_error *err)
{
    handle     *h;
    levada_text text = { 0 };

    LEVADA_TRY(levada_require(it != NULL, "it", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    h = it->self;
    levada_text_put(&text, "{\"threads\":[");
    levada_mutex_lock(&h->lock);
    if (it->run->crew) levada_crew_report(it->run->crew, &text);
    levada_mutex_unlock(&h->lock);
    levada_text_put(&text, "]}");
    return levada_text_steal(&text, out, err);
}
