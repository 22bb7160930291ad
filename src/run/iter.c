/* SPDX-License-Identifier: Apache-2.0 */
#include "run/iter.h"

#include <levada/binding.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/text.h"
#include "base/versioned.h"
#include "run/remix.h"
#include "run/workers.h"
#include "runtime/park.h"
#include "tensor/block_priv.h"

#include <string.h>

/* -- one owner at a time. Relaxed: the owners order their calls themselves, not by this. */

void levada_iter_enter(levada_iter *it)
{
    unsigned long long self, other = 0;

    atomic_fetch_add(&it->calls, 1);
    if (!LEVADA_DEBUG) return;
    self = levada_thread_number();
    (void)atomic_compare_exchange_strong_explicit(&it->inside, &other, self, memory_order_relaxed,
                                                  memory_order_relaxed);
    LEVADA_ASSERT(other == 0 || other == self); /* else two threads use one iterator */
    it->depth++;
}

void levada_iter_leave(levada_iter *it)
{
    if (LEVADA_DEBUG && --it->depth == 0) {
        atomic_store_explicit(&it->inside, 0, memory_order_relaxed);
    }
    atomic_fetch_sub(&it->calls, 1);
}

void levada_iter_look(const levada_iter *it)
{
    atomic_fetch_add(&it->self->calls, 1);
    levada_mutex_lock(&it->self->lock);
}

void levada_iter_look_end(const levada_iter *it)
{
    levada_mutex_unlock(&it->self->lock);
    atomic_fetch_sub(&it->self->calls, 1);
}

/* -- open, next, close */

static levada_status iter_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an iterator");
}

static levada_status iter_init(levada_iter *it, const levada_iter_options *options,
                                 levada_error *err)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;

    if (options) {
        LEVADA_TRY(LEVADA_VERSIONED_READ(o, options, levada_iter_options, err));
    }
    if (o.errors) {
        it->errors = levada_strdup(o.errors);
        if (!it->errors) return iter_memory(err);
        o.errors = it->errors;
    }
    it->options = o;
    it->self = it;
    it->process = levada_process();
    return levada_mutex_init(&it->lock, LEVADA_LOCK_HANDLE, err);
}

levada_status levada_iter_open(const levada_dataset *dataset, const levada_iter_options *options,
                               levada_iter **out, levada_error *err)
{
    levada_iter  *it;
    levada_status st;

    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    it = levada_alloc_zero(sizeof *it);
    st = it ? iter_init(it, options, err) : iter_memory(err);
    if (st == LEVADA_OK) {
        st = levada_run_create(dataset, &it->options, &it->run, &it->root, err);
        if (st != LEVADA_OK) levada_mutex_clear(&it->lock);
    }
    if (st != LEVADA_OK) {
        if (it) levada_free(it->errors);
        levada_free(it);
        return st;
    }
    *out = it;
    return LEVADA_OK;
}

void levada_iter_close(levada_iter **iter)
{
    levada_iter *it = iter ? *iter : NULL;
    bool         ours = LEVADA_OURS(it);

    if (!it) return;
    *iter = NULL;
    if (!ours && atomic_load(&it->calls) > 0) return; /* a call of the parent was changing it */
    levada_iter_enter(it);
    LEVADA_ASSERT(it->depth == 1); /* not from within its own next() */
    if (ours || !it->run->workers || levada_workers_abandon(it->run->workers)) {
        levada_run_destroy(&it->run, &it->root);
    }
    levada_trace_destroy(&it->trace);
    levada_mutex_clear(&it->lock);
    levada_free(it->errors);
    levada_free(it);
}

/* Returns the next block with a row, after everything that was skipped before it was counted. */
static levada_status iter_pull(levada_iter *it, levada_block **out, levada_error *err)
{
    levada_item   item = { 0 };
    levada_status st;

    it->run->interrupted = false;
    LEVADA_TRY(levada_run_check_cancelled(it->run, err));
    if (it->run->workers) LEVADA_TRY(levada_workers_start(it->run->workers, err));
    while (levada_item_rows(&item) == 0) {
        levada_item_clear(&item);
        LEVADA_TRY(levada_node_next(it->root, LEVADA_HINT_ANY, &item, err));
        if (item.rejects.n) LEVADA_TRY(levada_node_commit_rejects(it->root, &item, err));
    }
    st = levada_block_gather(levada_env_pool(it->run->env), item.block, out, err);
    levada_item_clear(&item);
    return st;
}

static void iter_fail(levada_iter *it, levada_status st, const levada_error *why)
{
    it->why = *why;
    /* Whether the iterator was cancelled is looked up each time. */
    if (st != LEVADA_ECANCELLED || !levada_run_is_cancelled(it->run)) it->stuck = st;
}

levada_status levada_iter_next(levada_iter *it, levada_block **out, levada_error *err)
{
    levada_error  why = LEVADA_ERROR_INIT;
    levada_status st;
    int64_t       began;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    if (it->stuck != LEVADA_OK && err) *err = it->why;
    if (it->stuck != LEVADA_OK) return it->stuck;
    if (it->ended) return LEVADA_END;
    levada_iter_enter(it);
    began = levada_now();
    st = iter_pull(it, out, &why);
    if (st == LEVADA_OK) levada_stats_recount(it, *out, 0, 1);
    levada_stats_waited(it->run, began, st == LEVADA_OK ? (*out)->n : -1);
    it->ended = st == LEVADA_END;
    if (it->ended && !it->restored && !it->quiet) levada_stats_conclude(it);
    if (st < 0) iter_fail(it, st, &why);
    if ((st < 0 || why.code == LEVADA_AGAIN) && err) *err = why;
    levada_iter_leave(it);
    return st;
}

static levada_status iter_next_until(levada_iter *it, int64_t nanoseconds, bool soft,
                                       levada_block **out, levada_error *err)
{
    int64_t       now = levada_now();
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_iter_enter(it);
    if (nanoseconds >= 0) {
        it->run->deadline = nanoseconds > INT64_MAX - now ? INT64_MAX : now + nanoseconds;
    }
    it->run->pulls = 0;
    it->run->soft = soft;
    st = levada_iter_next(it, out, err);
    it->run->deadline = -1;
    levada_iter_leave(it);
    return st;
}

levada_status levada_iter_next_within(levada_iter *it, int64_t nanoseconds, levada_block **out,
                                      levada_error *err)
{
    return iter_next_until(it, nanoseconds, false, out, err);
}

levada_status levada_iter_next_slice(levada_iter *it, int64_t nanoseconds, levada_block **out,
                                     levada_error *err)
{
    return iter_next_until(it, nanoseconds, true, out, err);
}

void levada_iter_unread(levada_iter *it, levada_block **block)
{
    levada_item item = { 0 };

    if (!LEVADA_OURS(it) || !block || !*block) return;
    levada_iter_enter(it);
    levada_stats_recount(it, *block, 0, -1);
    item.block = *block;
    *block = NULL;
    levada_node_unread(it->root, &item);
    levada_iter_leave(it);
}

const levada_spec *levada_iter_feeds(const levada_iter *it)
{
    const levada_node *fed = LEVADA_OURS(it) ? levada_node_fed(it->root) : NULL;

    return fed ? fed->fed : NULL;
}

levada_status levada_iter_feed(levada_iter *it, const levada_block *back, levada_error *err)
{
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(back != NULL, "back", err));
    if (it->stuck != LEVADA_OK && err) *err = it->why;
    if (it->stuck != LEVADA_OK) return it->stuck;
    levada_iter_enter(it);
    st = levada_node_feed(it->root, back, err);
    levada_iter_leave(it);
    return st;
}

levada_status levada_iter_rewind(levada_iter *it, levada_error *err)
{
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    levada_iter_enter(it);
    st = levada_input_rewind(it->root, err);
    if (st == LEVADA_OK) {
        it->ended = false;
        it->stuck = LEVADA_OK;
    }
    levada_iter_leave(it);
    return st;
}

static void iter_cancel_run(levada_run *run, levada_node *root)
{
    atomic_store(&run->cancelled, true);
    levada_node_cancel(root);
}

void levada_iter_cancel(levada_iter *it)
{
    if (!LEVADA_OURS(it)) return;
    levada_iter_look(it);
    it->cancelled = true;
    if (it->restoring) iter_cancel_run(it->restoring, it->restoring_root);
    iter_cancel_run(it->run, it->root);
    if (it->run->workers) levada_workers_wake(it->run->workers);
    levada_iter_look_end(it);
}

/* -- save and restore */

/* Gathers the state of a run as one of a dataset, which has its paths. */
static levada_status iter_gather_state(const levada_dataset *dataset, levada_run *run,
                                       levada_node  *root,
                                       const levada_received *received,
                                       levada_state_writer *w, levada_error *err)
{
    char         *json = NULL;
    levada_status st;

    LEVADA_TRY(levada_dataset_json(dataset, &json, err));
    w->scope = (levada_state_scope)LEVADA_STATE_DATASET;
    st = levada_state_put_bytes(w, "json", json, strlen(json), err);
    levada_string_free(&json);
    if (st == LEVADA_OK) st = levada_stats_put(received, w, err);
    if (st == LEVADA_OK) st = levada_node_save(root, w, err);
    if (st == LEVADA_OK) st = levada_node_save_live_facts(root, w, err);
    if (st != LEVADA_OK) return st;
    levada_mutex_lock(&run->noting);
    st = levada_file_marks_put(&run->marks, NULL, w, err);
    levada_mutex_unlock(&run->noting);
    return st;
}

static levada_status iter_save(levada_iter *it, char **out, size_t *size, levada_error *err)
{
    levada_state_writer w = { 0 };
    levada_state_head   head = { .seed = it->run->seed, .epoch = it->run->epoch };
    levada_received received;
    levada_status       st;

    if (it->stuck != LEVADA_OK) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the iterator has failed: restore it or close it (%s)", it->why.message);
    }
    LEVADA_TRY(levada_dataset_fingerprint(it->run->dataset, head.fingerprint, err));
    levada_stats_get(it, &received);
    st = iter_gather_state(it->run->dataset, it->run, it->root, &received, &w, err);
    if (st == LEVADA_OK) st = levada_records_materialize(&w, it->run->env, &it->run->names, err);
    if (st == LEVADA_OK) st = levada_state_encode(&w, &head, it->run->env, out, size, err);
    levada_state_writer_clear(&w);
    return st;
}

levada_status levada_iter_save(levada_iter *it, char **out, size_t *size, levada_error *err)
{
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(size != NULL, "size", err));
    levada_iter_enter(it);
    st = iter_save(it, out, size, err);
    levada_iter_leave(it);
    return st;
}

/* Saves the position after `row` rows of the last block, whose rest goes back for as long as the
 * state is gathered. */
static levada_status iter_save_at(levada_iter *it, const levada_block *last, int64_t row,
                                    char **out, size_t *size, levada_error *err)
{
    levada_inlet *inlet = &it->root->inlet;
    levada_item   rest = { 0 };
    bool          batch = levada_spec_flags_of(it->root->edge.spec) & LEVADA_SPEC_BATCHED;
    levada_status st;

    if (row < 0 || row > last->n || (batch && row > 0 && row < last->n)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "row=%lld must be %s%lld",
                           (long long)row, batch ? "0 or " : "0 to ", (long long)last->n);
    }
    if (row == last->n) return iter_save(it, out, size, err);
    if (inlet->returned) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the block was returned to the iterator; use levada_iter_save");
    }
    LEVADA_TRY(levada_block_slice(levada_env_pool(it->run->env), last, row, last->n - row,
                                  &rest.block, err));
    levada_inlet_return(inlet, &rest);
    levada_stats_recount(it, last, row, -1);
    st = iter_save(it, out, size, err);
    levada_stats_recount(it, last, row, 1);
    (void)levada_inlet_take(inlet, &rest);
    levada_item_clear(&rest);
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
    levada_iter_enter(it);
    st = iter_save_at(it, last, row, out, size, err);
    levada_iter_leave(it);
    return st;
}

/* Where a text in JSON is: the last complete names before that place. */
typedef struct iter_place {
    const char *op, *key; /* the values of "op" and of the last key; NULL = none */
    int         key_size; /* of the name, which ends three bytes before its value */
} iter_place;

/* Returns the number of bytes of the string whose quote is at `text`, with its quotes. */
static size_t iter_string(const char *text, const char *end)
{
    const char *at = text + 1;

    while (at < end && *at != '"') at += *at == '\\' && at + 1 < end ? 2 : 1;
    return (size_t)(at - text) + 1;
}

/* Returns the number of bytes of the value at `text`. */
static int iter_value(const char *text, const char *end)
{
    const char *at = text;
    int32_t     depth = 0;

    while (at < end && (depth > 0 || !strchr(",]}", *at))) {
        depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
        at += *at == '"' ? iter_string(at, end) : 1;
    }
    return (int)((at < end ? at : end) - text);
}

static iter_place iter_find(const char *text, size_t size)
{
    iter_place found = { 0 };
    const char  *end = text + size;

    for (const char *at = text; at < end;) {
        size_t n = *at == '"' ? iter_string(at, end) : 1;

        if (*at == '"' && n < (size_t)(end - at) && at[n] == ':') {
            found.key = at + n + 1;
            found.key_size = (int)n - 2;
            if (n == 4 && memcmp(at, "\"op\"", 4) == 0) found.op = at + n + 1;
        }
        at += n;
    }
    return found;
}

/* What is shown of a value: of a long one the part around the byte where it differs. */
typedef struct iter_part {
    const char *dots, *text;
    int         size;
} iter_part;

static iter_part iter_shown(const char *value, int size, const char *at)
{
    const int   most = 60, before = 40;
    const char *from = size > most && at - value > before ? at - before : value;
    int         left = size - (int)(from - value);

    while (from > value && left > 0 && (*from & 0xC0) == 0x80) from++, left--; /* inside UTF-8 */
    return (iter_part){ from > value ? "..." : "", from, left < most ? left : most };
}

/* Names the first stage or option in which two descriptions differ. */
static levada_status iter_differs(const char *now, const char *saved, size_t size,
                                    levada_error *err)
{
    size_t       at = 0, now_size = strlen(now);
    iter_place place;
    iter_part  was, is;
    const char  *new;
    int          was_size, is_size, op_size;

    while (at < size && at < now_size && now[at] == saved[at]) at++;
    place = iter_find(saved, at);
    new = place.key ? now + (place.key - saved) : now;
    was_size = place.key ? iter_value(place.key, saved + size) : 0;
    is_size = iter_value(new, now + now_size);
    if (!place.op || (was_size == is_size && memcmp(new, place.key, (size_t)is_size) == 0)) {
        size_t from = at > 40 ? at - 40 : 0;

        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the checkpoint belongs to another pipeline: it had ...%.*s, this one "
                           "has ...%.*s",
                           (int)(size - from < 80 ? size - from : 80), saved + from, 80,
                           now + from);
    }
    was = iter_shown(place.key, was_size, saved + at);
    is = iter_shown(new, is_size, now + at);
    if (place.op == place.key) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the checkpoint belongs to another pipeline: a stage was %s%.*s when it "
                           "was saved, is %s%.*s now",
                           was.dots, was.size, was.text, is.dots, is.size, is.text);
    }
    op_size = iter_value(place.op, saved + size) - 2;
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       "the checkpoint belongs to another pipeline: %.*s: %.*s was %s%.*s when it "
                       "was saved, is %s%.*s now",
                       op_size, place.op + 1, place.key_size, place.key - 2 - place.key_size,
                       was.dots, was.size, was.text, is.dots, is.size, is.text);
}

/* Checks that a dataset is the one that was saved with this fingerprint and JSON. */
static levada_status iter_fits(levada_iter *it, const uint8_t fingerprint[16], const char *saved,
                               size_t size, levada_error *err)
{
    uint8_t       own[16];
    char         *json = NULL;
    levada_status st;

    LEVADA_TRY(levada_dataset_fingerprint(it->run->dataset, own, err));
    LEVADA_TRY(levada_dataset_json(it->run->dataset, &json, err));
    st = memcmp(own, fingerprint, sizeof own) == 0
             ? levada_shards_check(it->run->env, json, saved, size, err)
             : iter_differs(json, saved, size, err);
    levada_string_free(&json);
    return st;
}

/* Puts a new tree in the place of the old one, which was not touched until here. */
static void iter_swap(levada_iter *it, levada_run *run, levada_node *root,
                        const levada_received *received)
{
    levada_run *old_run = it->run;
    levada_node *old_root = it->root;

    levada_mutex_lock(&it->lock);
    it->run = run;
    it->root = root;
    atomic_store(&run->meter.trace, atomic_load(&old_run->meter.trace));
    if (it->cancelled) atomic_store(&run->cancelled, true);
    levada_stats_set(it, received);
    levada_mutex_unlock(&it->lock);
    it->ended = false;
    it->stuck = LEVADA_OK;
    levada_run_destroy(&old_run, &old_root);
}

/* Makes known, or forgets, the run that a cancel of the iterator has to reach, too. */
static void iter_restoring(levada_iter *it, levada_run *run, levada_node *root)
{
    levada_mutex_lock(&it->lock);
    it->restoring = run;
    it->restoring_root = root;
    if (run && it->cancelled) iter_cancel_run(run, root);
    levada_mutex_unlock(&it->lock);
}

/* Makes a run of a dataset at the position of a state. A cancel reaches it until it is forgotten
 * (iter_restoring). */
static levada_status iter_build(levada_iter *it, const levada_dataset *dataset, int32_t threads,
                                levada_state_reader *from, levada_run **run, levada_node **root,
                                levada_error *err)
{
    levada_iter_options o = it->options;
    levada_status       st;

    o.seed = from->head.seed;
    o.epoch = from->head.epoch;
    o.threads = threads;
    if (dataset != it->run->dataset) o.block_rows = 1; /* it draws no more than it must */
    LEVADA_TRY(levada_run_create(dataset, &o, run, root, err));
    iter_restoring(it, *run, *root);
    (*run)->resumed = true;
    from->names = &(*run)->names;
    st = levada_file_marks_get_paths(&(*run)->marks, (*run)->env, &(*run)->cancelled, from,
                                     err); /* of closed pipes */
    if (st == LEVADA_OK) st = levada_node_restore(*root, from, err);
    if (st == LEVADA_OK) st = levada_state_check_asked(from, err);
    if (st == LEVADA_OK) st = levada_run_check_cancelled(*run, err);
    if (st == LEVADA_OK) return LEVADA_OK;
    iter_restoring(it, NULL, NULL);
    levada_run_destroy(run, root);
    return st;
}

/* Encodes the state of a tree that was prepared for the dataset of the iterator. */
static levada_status iter_save_remixed(levada_iter *it, levada_run *run, levada_node *root,
                                       const levada_received *received, char **out,
                                       size_t *size, levada_error *err)
{
    levada_state_writer w = { 0 };
    levada_state_head   head = { .seed = run->seed, .epoch = run->epoch };
    levada_status       st = levada_dataset_fingerprint(it->run->dataset, head.fingerprint, err);

    if (st == LEVADA_OK) st = iter_gather_state(it->run->dataset, run, root, received, &w, err);
    if (st == LEVADA_OK) {
        levada_remix_drop(root, it->run->dataset, &w);
        st = levada_records_materialize(&w, run->env, &run->names, err);
    }
    if (st == LEVADA_OK) st = levada_state_encode(&w, &head, run->env, out, size, err);
    levada_state_writer_clear(&w);
    return st;
}

/* Reads the dataset of a state, and checks that only mixtures differ. */
static levada_status iter_read_dataset(levada_iter *it, const void *json, size_t size,
                                       levada_dataset **out, levada_error *err)
{
    levada_text     text = { 0 };
    levada_dataset *like = NULL;
    char           *found = NULL;
    uint8_t         fingerprint[16];
    levada_status   st;

    levada_text_add(&text, json, size);
    if (text.failed) return iter_memory(err);
    st = levada_dataset_parse(it->run->env, text.at, out, err);
    levada_text_clear(&text);
    if (st != LEVADA_OK) levada_error_wrap(err, "the pipeline of the checkpoint cannot be made");
    if (st == LEVADA_OK) st = levada_remix_dataset(*out, it->run->dataset, &like, err);
    if (st == LEVADA_OK) st = levada_dataset_fingerprint(like, fingerprint, err);
    if (st == LEVADA_OK) st = levada_dataset_json(like, &found, err);
    if (st == LEVADA_OK) st = iter_fits(it, fingerprint, found, strlen(found), err);
    if (st == LEVADA_OK) st = levada_remix_check(it->run->dataset, err);
    levada_string_free(&found);
    levada_dataset_unref(&like);
    if (st != LEVADA_OK) levada_dataset_unref(out);
    return st;
}

/* Replaces a state by one of the dataset of the iterator, if its mixtures are other ones. */
static levada_status iter_remix(levada_iter *it, levada_state_reader *from, levada_error *err)
{
    uint8_t         own[16];
    levada_dataset *was = NULL;
    levada_run     *run = NULL;
    levada_node    *root = NULL;
    const void     *json = NULL;
    char           *bytes = NULL;
    size_t          size = 0;
    levada_received received;
    levada_status   st;

    LEVADA_TRY(levada_dataset_fingerprint(it->run->dataset, own, err));
    if (memcmp(own, from->head.fingerprint, sizeof own) == 0) return LEVADA_OK;
    LEVADA_TRY(levada_state_get_bytes(from, "json", &json, &size, err));
    LEVADA_TRY(iter_read_dataset(it, json, size, &was, err));
    st = levada_stats_load(from, &received, err);
    if (st == LEVADA_OK) st = iter_build(it, was, 1, from, &run, &root, err);
    levada_dataset_unref(&was);
    if (st == LEVADA_OK) st = levada_remix_prepare(root, it->run->dataset, err);
    if (st == LEVADA_OK) st = iter_save_remixed(it, run, root, &received, &bytes, &size, err);
    iter_restoring(it, NULL, NULL);
    levada_run_destroy(&run, &root);
    if (st != LEVADA_OK) return st;
    levada_state_reader_clear(from);
    st = levada_state_decode(bytes, size, it->run->env, from, err);
    from->scope = (levada_state_scope)LEVADA_STATE_DATASET;
    levada_string_free(&bytes);
    return st;
}

static levada_status iter_restore(levada_iter *it, levada_state_reader *from, bool mix,
                                  levada_error *err)
{
    levada_run  *run = NULL;
    levada_node *root = NULL;
    const void  *json = NULL;
    size_t       size = 0;
    levada_received received;

    from->scope = (levada_state_scope)LEVADA_STATE_DATASET;
    if (mix) LEVADA_TRY(iter_remix(it, from, err));
    LEVADA_TRY(levada_state_get_bytes(from, "json", &json, &size, err));
    LEVADA_TRY(iter_fits(it, from->head.fingerprint, json, size, err));
    LEVADA_TRY(levada_stats_load(from, &received, err));
    LEVADA_TRY(iter_build(it, it->run->dataset, it->options.threads, from, &run, &root, err));
    iter_restoring(it, NULL, NULL);
    iter_swap(it, run, root, &received);
    it->restored = true;
    return LEVADA_OK;
}

static levada_status iter_restore_bytes(levada_iter *it, const void *bytes, size_t size, bool mix,
                                        levada_error *err)
{
    levada_state_reader from;
    levada_status       st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(bytes != NULL || size == 0, "bytes", err));
    LEVADA_TRY(levada_require_size(size, "size", err));
    levada_iter_enter(it);
    st = levada_state_decode(bytes, size, it->run->env, &from, err);
    if (st == LEVADA_OK) {
        st = iter_restore(it, &from, mix, err);
        levada_state_reader_clear(&from);
    }
    levada_iter_leave(it);
    return st;
}

levada_status levada_iter_restore(levada_iter *it, const void *bytes, size_t size,
                                  levada_error *err)
{
    return iter_restore_bytes(it, bytes, size, false, err);
}

levada_status levada_iter_restore_mix(levada_iter *it, const void *bytes, size_t size,
                                      levada_error *err)
{
    return iter_restore_bytes(it, bytes, size, true, err);
}

/* -- where things come from */

levada_status levada_iter_origin_file(const levada_iter *it, const levada_origin *of, char **out,
                                      levada_error *err)
{
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(of != NULL, "of", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_iter_look(it);
    st = levada_run_origin_file(it->run, of, out, err);
    levada_iter_look_end(it);
    return st;
}

levada_status levada_iter_opened_file(const levada_iter *it, int32_t i, levada_origin *of,
                                      char **out, levada_error *err)
{
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(of != NULL, "of", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_iter_look(it);
    st = levada_file_names_at(&it->run->names, i, of, out, err);
    levada_iter_look_end(it);
    return st;
}

int32_t levada_iter_source(const levada_iter *it, int32_t i)
{
    int32_t number = -1;

    if (!LEVADA_OURS(it)) return -1;
    levada_iter_look(it);
    if (i >= 0 && i < it->run->listed) number = it->run->source[i]->source;
    levada_iter_look_end(it);
    return number;
}

/* Adds up the progress of all sources. `total` may be NULL: to find it, files may have to be
 * measured. With the lock. */
static void iter_progress(const levada_iter *it, int64_t *done, int64_t *total)
{
    for (int32_t i = 0; i < it->run->listed; i++) {
        const levada_node *source = it->run->source[i];
        int64_t            d = 0, t = -1;

        if (source->ops->files && source->ops->files->progress) {
            source->ops->files->progress(source, &d, total ? &t : NULL);
        }
        *done += d;
        if (total) *total = t < 0 || *total < 0 ? -1 : *total + t;
    }
}

void levada_iter_progress(const levada_iter *it, int64_t *done, int64_t *total)
{
    if (done) *done = 0;
    if (total) *total = 0;
    if (!LEVADA_OURS(it) || !done || !total) return;
    levada_iter_look(it);
    iter_progress(it, done, total);
    levada_iter_look_end(it);
}

/* Prints the stages that show numbers, inputs first. */
static void iter_report_stages(const levada_node *it, levada_text *text)
{
    for (int32_t i = 0; i < it->ninputs; i++) iter_report_stages(it->inputs[i], text);
    if (!atomic_load(&it->shown.gauges[0].name)) return;
    if (text->at && text->at[text->size - 1] != '[') levada_text_char(text, ',');
    levada_text_put(text, "{\"path\":");
    levada_text_json(text, it->path, strlen(it->path));
    levada_stats_gauges(it, text);
    levada_text_char(text, '}');
}

levada_status levada_iter_report(levada_iter *it, char **out, levada_error *err)
{
    levada_text text = { 0 };

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_text_put(&text, "{\"threads\":[");
    levada_iter_look(it);
    if (it->run->workers) levada_workers_report(it->run->workers, &text);
    levada_text_put(&text, "],\"stages\":[");
    iter_report_stages(it->root, &text);
    levada_iter_look_end(it);
    levada_text_put(&text, "]}");
    return levada_text_steal(&text, out, err);
}

LEVADA_VERSIONED_INIT(levada_iter_options_init, levada_iter_options, LEVADA_ITER_OPTIONS_INIT)

levada_status levada_iter_stats(levada_iter *it, char **out, levada_error *err)
{
    levada_text text = { 0 };
    int64_t     done = 0;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_iter_look(it);
    iter_progress(it, &done, NULL);
    levada_stats_describe(it, done, &text);
    levada_iter_look_end(it);
    return levada_text_steal(&text, out, err);
}

levada_status levada_iter_trace(levada_iter *it, bool on, levada_error *err)
{
    levada_status st = LEVADA_OK;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    levada_iter_look(it);
    if (on && !it->trace) st = levada_trace_create(&it->trace, err);
    if (st == LEVADA_OK) atomic_store(&it->run->meter.trace, on ? it->trace : NULL);
    levada_iter_look_end(it);
    return st;
}

levada_status levada_iter_trace_json(levada_iter *it, char **out, levada_error *err)
{
    levada_text text = { 0 };

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_iter_look(it);
    if (it->trace) levada_trace_print(it->trace, &text);
    levada_iter_look_end(it);
    if (text.size == 0) return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                                           "no trace was started: call levada_iter_trace first");
    return levada_text_steal(&text, out, err);
}
