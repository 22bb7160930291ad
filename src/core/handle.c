/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user holds: a node on top of the tree that gives whole blocks (never selections), and the
 * calls that concern all of it.
 */
#include <levada/binding.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/text.h"
#include "base/versioned.h"
#include "core/iter_priv.h"
#include "runtime/park.h"
#include "tensor/block_priv.h"

#include <string.h>

typedef struct handle {
    levada_iter_options options;
    char               *errors; /* copy of options.errors */
    levada_mutex        lock; /* guards the tree against being swapped while others look at it */
    bool                cancelled;
    bool                restored; /* records that came before are not counted */
    levada_run         *restoring; /* the run that a restore makes, and its root; NULL = none */
    levada_iter        *restoring_root;
    atomic_int          calls; /* calls of any thread that are running, for the child of a fork */
    /* Debug builds: the thread that is in a call of its owner, 0 = none, and how deep. */
    atomic_ullong inside;
    int           depth;
} handle;

/* -- one owner at a time. Relaxed: the owners order their calls themselves, not by this. */

void levada_handle_enter(const levada_iter *it)
{
    handle            *h = it->self;
    unsigned long long self, other = 0;

    atomic_fetch_add(&h->calls, 1);
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

    if (LEVADA_DEBUG && --h->depth == 0) {
        atomic_store_explicit(&h->inside, 0, memory_order_relaxed);
    }
    atomic_fetch_sub(&h->calls, 1);
}

/* The same for calls of any thread. */
static void handle_look(handle *h)
{
    atomic_fetch_add(&h->calls, 1);
    levada_mutex_lock(&h->lock);
}

static void handle_look_end(handle *h)
{
    levada_mutex_unlock(&h->lock);
    atomic_fetch_sub(&h->calls, 1);
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
    if (st == LEVADA_OK) levada_stats_padding(it->run, *out, 1);
    levada_block_unref(&block);
    if (st == LEVADA_END && !((handle *)it->self)->restored) levada_stats_conclude(it);
    levada_handle_leave(it);
    return st;
}

static void handle_close(levada_iter *it)
{
    handle *h = it->self;
    bool    ours = LEVADA_OURS(it);

    if (!ours && atomic_load(&h->calls) > 0) {
        it->ninputs = 0; /* a call of the parent was changing it: it stays */
        return;
    }
    levada_handle_enter(it);
    LEVADA_ASSERT(h->depth == 1); /* not from within its own next() */
    if (ours || !it->run->crew || levada_crew_abandon(it->run->crew)) {
        levada_run_destroy(&it->run, it->inputs);
    }
    it->ninputs = 0;
    levada_mutex_clear(&h->lock);
    levada_free(h->errors);
    levada_free(h);
}

static const levada_node_ops handle_ops = { .next = handle_next, .close = handle_close };

bool levada_node_is_handle(const levada_iter *it) { return it->ops == &handle_ops; }

static levada_status handle_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for an iterator");
}

static levada_status handle_init(handle *h, const levada_iter_options *options, levada_error *err)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;

    if (options) {
        LEVADA_TRY(LEVADA_VERSIONED_READ(o, options, levada_iter_options, err));
    }
    if (o.errors) {
        h->errors = levada_strdup(o.errors);
        if (!h->errors) return handle_memory(err);
        o.errors = h->errors;
    }
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
    it->rounds = 1;
    it->process = levada_process();
    it->self = h;
    it->inputs = inputs;
    it->ninputs = 1;
    it->spec = inputs[0]->spec;
    it->at = it->run->dataset;
    *out = it;
    return LEVADA_OK;
}

void levada_iter_close(levada_iter **it)
{
    if (it) levada_node_destroy(it);
}

static levada_status handle_next_until(levada_iter *it, int64_t nanoseconds, bool soft,
                                       levada_block **out, levada_error *err)
{
    int64_t       now = levada_now();
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_handle_enter(it);
    if (nanoseconds >= 0) {
        it->run->deadline = nanoseconds > INT64_MAX - now ? INT64_MAX : now + nanoseconds;
    }
    it->run->pulls = 0;
    it->run->soft = soft;
    st = levada_iter_next(it, out, err);
    it->run->deadline = -1;
    levada_handle_leave(it);
    return st;
}

levada_status levada_iter_next_within(levada_iter *it, int64_t nanoseconds, levada_block **out,
                                      levada_error *err)
{
    return handle_next_until(it, nanoseconds, false, out, err);
}

levada_status levada_iter_next_slice(levada_iter *it, int64_t nanoseconds, levada_block **out,
                                     levada_error *err)
{
    return handle_next_until(it, nanoseconds, true, out, err);
}

void levada_iter_unread(levada_iter *it, levada_block **block)
{
    if (!LEVADA_OURS(it) || !block || !*block) return;
    levada_handle_enter(it);
    levada_stats_recount(it, *block, 0, -1);
    levada_node_unread(it->inputs[0], block);
    levada_handle_leave(it);
}

static void handle_cancel_run(levada_run *run, levada_iter *root)
{
    atomic_store(&run->cancelled, true);
    levada_node_cancel(root);
}

void levada_iter_cancel(levada_iter *it)
{
    handle *h;

    if (!LEVADA_OURS(it)) return;
    h = it->self;
    handle_look(h);
    h->cancelled = true;
    if (h->restoring) handle_cancel_run(h->restoring, h->restoring_root);
    handle_cancel_run(it->run, it->inputs[0]);
    if (it->run->crew) levada_crew_wake(it->run->crew);
    handle_look_end(h);
}

/* -- save and restore */

static levada_status handle_gather_state(levada_iter *it, levada_state_writer *w, char *json,
                                         levada_error *err)
{
    levada_iter   top = { .path = "dataset", .version = 0 };
    levada_status st;

    w->node = &top;
    LEVADA_TRY(levada_state_put_bytes(w, "json", json, strlen(json), err));
    LEVADA_TRY(levada_stats_save(it, w, err));
    LEVADA_TRY(levada_node_save(it->inputs[0], w, err));
    LEVADA_TRY(levada_node_save_late(it->inputs[0], w, err));
    w->node = &top;
    levada_mutex_lock(&it->run->noting);
    st = levada_file_marks_put(&it->run->marks, NULL, w, err);
    levada_mutex_unlock(&it->run->noting);
    return st;
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

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(size != NULL, "size", err));
    levada_handle_enter(it);
    st = handle_save(it, out, size, err);
    levada_handle_leave(it);
    return st;
}

/* The rest of the block goes back for as long as the state is gathered. */
static levada_status handle_save_at(levada_iter *it, const levada_block *last, int64_t row,
                                    char **out, size_t *size, levada_error *err)
{
    levada_iter  *root = it->inputs[0];
    bool          batch = levada_spec_flags_of(it->spec) & LEVADA_SPEC_BATCHED;
    levada_status st;

    if (row < 0 || row > last->n || (batch && row > 0 && row < last->n)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "row=%lld must be %s%lld",
                           (long long)row, batch ? "0 or " : "0 to ", (long long)last->n);
    }
    if (row == last->n) return handle_save(it, out, size, err);
    if (root->unread.block) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the block was taken back: save without it");
    }
    LEVADA_TRY(levada_block_slice(levada_env_pool(it->run->env), last, row, last->n - row,
                                  &root->unread.block, err));
    levada_stats_recount(it, last, row, -1);
    st = handle_save(it, out, size, err);
    levada_stats_recount(it, last, row, 1);
    levada_cursor_clear(&root->unread);
    return st;
}

levada_status levada_iter_save_at(levada_iter *it, const levada_block *last, int64_t row,
                                  char **out, size_t *size, levada_error *err)
{
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(last != NULL, "last", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(size != NULL, "size", err));
    levada_handle_enter(it);
    st = handle_save_at(it, last, row, out, size, err);
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
    from->node = &top;
    LEVADA_TRY(levada_state_get_bytes(from, "json", &saved, &size, err));
    LEVADA_TRY(levada_dataset_json(it->run->dataset, &json, err));
    st = memcmp(fingerprint, from->head.fingerprint, sizeof fingerprint) == 0
             ? levada_shards_check(json, saved, size, err)
             : handle_differs(json, saved, size, err);
    levada_string_free(&json);
    return st;
}

/* A new tree takes the place of the old one, which was not touched until here. */
static void handle_swap(levada_iter *it, levada_run *run, levada_iter *root,
                        const int64_t counts[LEVADA_RECEIVED_COUNTS])
{
    handle      *h = it->self;
    levada_run  *old_run = it->run;
    levada_iter *old_root = it->inputs[0];

    levada_mutex_lock(&h->lock);
    it->run = run;
    it->inputs[0] = root;
    if (h->cancelled) atomic_store(&run->cancelled, true);
    levada_mutex_unlock(&h->lock);
    levada_stats_set(it, counts);
    it->at = run->dataset;
    it->spec = root->spec;
    it->ended = false;
    it->stuck = LEVADA_OK;
    levada_run_destroy(&old_run, &old_root);
}

/* The files that pipes opened which are not open now. Nobody else knows the new run yet. */
static levada_status handle_restore_marks(levada_run *run, levada_state_reader *from,
                                          levada_error *err)
{
    levada_iter top = { .path = "dataset", .version = 0 };

    from->node = &top;
    return levada_file_marks_get_paths(run, from, err);
}

/* Makes known, or forgets, the run that a cancel of the iterator has to reach, too. */
static void handle_restoring(levada_iter *it, levada_run *run, levada_iter *root)
{
    handle *h = it->self;

    levada_mutex_lock(&h->lock);
    h->restoring = run;
    h->restoring_root = root;
    if (run && h->cancelled) handle_cancel_run(run, root);
    levada_mutex_unlock(&h->lock);
}

static levada_status handle_restore(levada_iter *it, const void *bytes, size_t size,
                                    levada_error *err)
{
    handle             *h = it->self;
    levada_iter_options o = h->options;
    levada_state_reader from;
    levada_run         *run = NULL;
    levada_iter        *root = NULL;
    int64_t             counts[LEVADA_RECEIVED_COUNTS];
    levada_status       st;

    LEVADA_TRY(levada_state_decode(bytes, size, it->run->env, &from, err));
    o.seed = from.head.seed;
    o.epoch = from.head.epoch;
    st = handle_fits(it, &from, err);
    if (st == LEVADA_OK) st = levada_stats_load(&from, counts, err);
    if (st == LEVADA_OK) st = levada_run_create(it->run->dataset, &o, &run, &root, err);
    handle_restoring(it, run, root);
    if (st == LEVADA_OK) st = handle_restore_marks(run, &from, err);
    if (st == LEVADA_OK) st = levada_node_restore(root, &from, err);
    if (st == LEVADA_OK) st = levada_run_check_cancelled(run, err);
    handle_restoring(it, NULL, NULL);
    levada_state_reader_clear(&from);
    if (st != LEVADA_OK) {
        levada_run_destroy(&run, &root);
        return st;
    }
    handle_swap(it, run, root, counts);
    return LEVADA_OK;
}

levada_status levada_iter_restore(levada_iter *it, const void *bytes, size_t size,
                                  levada_error *err)
{
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(bytes != NULL || size == 0, "bytes", err));
    levada_handle_enter(it);
    st = handle_restore(it, bytes, size, err);
    if (st == LEVADA_OK) ((handle *)it->self)->restored = true;
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
    return LEVADA_OURS(it) ? levada_run_file(it->run, leaf, shard) : NULL;
}

levada_status levada_iter_find_file(const levada_iter *it, int32_t leaf, int32_t shard, char **out,
                                    levada_error *err)
{
    handle     *h;
    const char *path;
    bool        copied;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    h = it->self;
    *out = NULL;
    handle_look(h);
    path = levada_iter_file(it, leaf, shard);
    if (path) *out = levada_strdup(path);
    copied = !path || *out;
    handle_look_end(h);
    return copied ? LEVADA_OK
                  : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a path");
}

levada_status levada_iter_origin_file(const levada_iter *it, const levada_origin *of, char **out,
                                      levada_error *err)
{
    handle       *h;
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(of != NULL, "of", err));
    LEVADA_TRY(levada_iter_find_file(it, of->leaf, of->shard, out, err));
    if (*out) return LEVADA_OK;
    h = it->self;
    levada_mutex_lock(&h->lock);
    st = levada_file_names_copy(it->run, of, out, err);
    levada_mutex_unlock(&h->lock);
    return st;
}

levada_status levada_iter_opened_file(const levada_iter *it, int32_t i, levada_origin *of,
                                      char **out, levada_error *err)
{
    handle       *h;
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(of != NULL, "of", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    h = it->self;
    levada_mutex_lock(&h->lock);
    st = levada_file_names_at(it->run, i, of, out, err);
    levada_mutex_unlock(&h->lock);
    return st;
}

void levada_iter_progress(const levada_iter *it, int64_t *done, int64_t *total)
{
    handle *h;

    if (done) *done = 0;
    if (total) *total = 0;
    if (!LEVADA_OURS(it) || !done || !total) return;
    h = it->self;
    handle_look(h);
    for (int32_t i = 0; i < it->run->told && i < LEVADA_RUN_LEAVES; i++) {
        int64_t d = 0, t = -1;

        if (it->run->leaf[i] && it->run->leaf[i]->ops->progress) {
            it->run->leaf[i]->ops->progress(it->run->leaf[i], &d, &t);
        }
        *done += d;
        *total = t < 0 || *total < 0 ? -1 : *total + t;
    }
    handle_look_end(h);
}

levada_status levada_iter_report(levada_iter *it, char **out, levada_error *err)
{
    handle     *h;
    levada_text text = { 0 };

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    h = it->self;
    levada_text_put(&text, "{\"threads\":[");
    handle_look(h);
    if (it->run->crew) levada_crew_report(it->run->crew, &text);
    handle_look_end(h);
    levada_text_put(&text, "]}");
    return levada_text_steal(&text, out, err);
}

LEVADA_VERSIONED_INIT(levada_iter_options_init, levada_iter_options, LEVADA_ITER_OPTIONS_INIT)
