/* SPDX-License-Identifier: Apache-2.0 */
#include <levada/binding.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/refs.h"
#include "base/versioned.h"
#include "runtime/barrier_priv.h"

#include <string.h>

/* -- making and freeing ------------------------------------------------------------------------ */

static levada_status barrier_check(int32_t n, const levada_dtype *dtypes,
                                   const levada_shape *shapes, levada_error *err)
{
    char text[LEVADA_SHAPE_TEXT];

    if (n < 1 || n > LEVADA_BARRIER_COMPONENTS || dtypes == NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a barrier must have 1 to %d components, got %d",
                           LEVADA_BARRIER_COMPONENTS, (int)n);
    }
    for (int32_t i = 0; i < n; i++) {
        if (!levada_dtype_is_bytes(dtypes[i]) && levada_dtype_size(dtypes[i]) == 0) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "dtype %d of component %d is unknown",
                               (int)dtypes[i], (int)i);
        }
        if (shapes == NULL || shapes[i].rank < 0) continue;
        if (!levada_shape_known(&shapes[i])) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "all shapes must be fully defined; shape %d is %s", (int)i,
                               levada_shape_print(&shapes[i], text));
        }
        if (shapes[i].rank >= LEVADA_MAX_DIMS || levada_shape_count(&shapes[i]) < 0) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "shape %d is too large: %s", (int)i,
                               levada_shape_print(&shapes[i], text));
        }
        if (levada_shape_count(&shapes[i]) == 0) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "Empty tensors are not supported, but received shape %s at index %d",
                               levada_shape_print(&shapes[i], text), (int)i);
        }
    }
    return LEVADA_OK;
}

static void barrier_free(levada_barrier *barrier)
{
    LEVADA_ASSERT(barrier->takes.head == NULL && atomic_load(&barrier->held) == 0);
    levada_barrier_drop_incomplete(barrier);
    for (int64_t i = 0; i < barrier->nready; i++) {
        levada_barrier_entry_free(barrier, barrier->ready[i]);
    }
    levada_lock_clear(&barrier->lock);
    levada_wait_list_unref(&barrier->wait_list);
    if (barrier->pool != NULL) levada_pool_unref(&barrier->pool);
    levada_free(barrier->dtypes);
    levada_free(barrier->shapes);
    levada_free(barrier->is_ref);
    levada_free(barrier->at);
    levada_free(barrier->width);
    levada_free(barrier->name);
    levada_free(barrier->shared_name);
    levada_free(barrier->buckets);
    levada_free(barrier->ready);
    levada_free(barrier);
}

static bool barrier_alloc(levada_barrier *b, levada_env *env, size_t n, const char *name,
                          const char *shared_name)
{
    b->pool = levada_env_pool(env);
    if (b->pool != NULL) levada_pool_ref(b->pool);
    b->wait_list = levada_env_wait_list(env);
    if (b->wait_list != NULL) levada_wait_list_ref(b->wait_list);
    b->dtypes = levada_alloc(n * sizeof(*b->dtypes));
    b->shapes = levada_alloc(n * sizeof(*b->shapes));
    b->is_ref = levada_alloc(n * sizeof(*b->is_ref));
    b->at = levada_alloc(n * sizeof(*b->at));
    b->width = levada_alloc(n * sizeof(*b->width));
    b->name = levada_strdup(name != NULL ? name : "barrier");
    if (shared_name != NULL) b->shared_name = levada_strdup(shared_name);
    return b->pool != NULL && b->wait_list != NULL && b->dtypes != NULL && b->shapes != NULL &&
           b->is_ref != NULL && b->at != NULL && b->width != NULL && b->name != NULL &&
           (shared_name == NULL || b->shared_name != NULL);
}

static void barrier_fill(levada_barrier *b, int32_t n, const levada_dtype *dtypes,
                         const levada_shape *shapes)
{
    b->ncomponents = n;
    b->has_shapes = shapes != NULL;
    b->input_index = INT64_MIN;
    for (int32_t i = 0; i < n; i++) {
        b->dtypes[i] = levada_dtype_is_bytes(dtypes[i]) ? LEVADA_BYTES : dtypes[i];
        b->shapes[i] = shapes != NULL ? shapes[i] : (levada_shape){ -1, { 0 } };
        b->is_ref[i] = levada_dtype_is_bytes(dtypes[i]) || !levada_shape_known(&b->shapes[i]);
        b->width[i] = b->is_ref[i] ? sizeof(levada_tensor *)
                                   : (size_t)(levada_shape_count(&b->shapes[i]) *
                                              levada_dtype_size(dtypes[i]));
    }
    levada_barrier_layout(b);
}

static atomic_int *barrier_refs(void *object) { return &((levada_barrier *)object)->refs; }

static levada_status barrier_unlike(const levada_barrier *have, const char *what, int32_t component,
                                    const char *has, const char *asked, levada_error *err)
{
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "shared barrier '%s' has other component %s: component %d is %s, but the "
                       "call requested %s",
                       have->shared_name, what, (int)component, has, asked);
}

static levada_status barrier_compare(const levada_barrier *have, const levada_barrier *want,
                                     levada_error *err)
{
    char a[LEVADA_SHAPE_TEXT], b[LEVADA_SHAPE_TEXT];

    if (have->ncomponents != want->ncomponents) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "shared barrier '%s' has %d component types, but the call requested %d",
                           have->shared_name, (int)have->ncomponents, (int)want->ncomponents);
    }
    for (int32_t i = 0; i < have->ncomponents; i++) {
        if (have->dtypes[i] == want->dtypes[i]) continue;
        return barrier_unlike(have, "types", i, levada_dtype_name(have->dtypes[i]),
                              levada_dtype_name(want->dtypes[i]), err);
    }
    for (int32_t i = 0; i < have->ncomponents; i++) {
        if (levada_shape_equal(&have->shapes[i], &want->shapes[i])) continue;
        return barrier_unlike(have, "shapes", i, levada_shape_print(&have->shapes[i], a),
                              levada_shape_print(&want->shapes[i], b), err);
    }
    return LEVADA_OK;
}

levada_status levada_barrier_create(levada_env *env, const levada_barrier_options *options,
                                    levada_barrier **out, levada_error *err)
{
    levada_barrier_options all = LEVADA_BARRIER_OPTIONS_INIT;
    levada_barrier        *b, *have = NULL;
    levada_status          status = LEVADA_OK;

    LEVADA_TRY(levada_require(options != NULL, "options", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(LEVADA_VERSIONED_READ(all, options, levada_barrier_options, err));
    LEVADA_TRY(barrier_check(all.ncomponents, all.dtypes, all.shapes, err));
    b = levada_alloc_zero(sizeof(*b));
    if (b == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    atomic_init(&b->refs, 1);
    b->process = levada_process();
    if (!barrier_alloc(b, env, (size_t)all.ncomponents, all.name, all.shared_name) ||
        levada_lock_init(&b->lock, LEVADA_LOCK_QUEUE, NULL) != LEVADA_OK) {
        barrier_free(b);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    barrier_fill(b, all.ncomponents, all.dtypes, all.shapes);
    levada_site_init(&b->site, b->wait_list, b->name);
    b->site.watched = true;
    b->shared = (levada_shared){ NULL, "barrier", b->shared_name, b };
    if (all.shared_name != NULL) have = levada_wait_list_share(b->wait_list, &b->shared,
                                                               barrier_refs);
    if (have != NULL) {
        status = barrier_compare(have, b, err);
        barrier_free(b);
        b = have;
        if (status != LEVADA_OK) levada_barrier_unref(&b);
    }
    if (status == LEVADA_OK) *out = b;
    return status;
}

levada_barrier *levada_barrier_ref(levada_barrier *barrier)
{
    if (barrier != NULL) levada_refs_add(&barrier->refs);
    return barrier;
}

/* Abandons the barrier, as queue_abandon does. */
static void barrier_abandon(levada_barrier *b)
{
    if (!levada_lock_is_free(&b->lock)) return;
    b->takes = (levada_line){ 0 };
    atomic_store(&b->held, 0);
    barrier_free(b);
}

void levada_barrier_unref(levada_barrier **barrier)
{
    levada_barrier *b = barrier != NULL ? *barrier : NULL;
    bool            last;

    if (b == NULL) return;
    *barrier = NULL;
    if (b->shared_name != NULL) last = levada_wait_list_drop(b->wait_list, &b->shared, &b->refs);
    else last = levada_refs_drop(&b->refs);
    if (last && LEVADA_OURS(b)) barrier_free(b);
    else if (last) barrier_abandon(b);
}

/* -- inserting --------------------------------------------------------------------------------- */

/* One call: its keys and, where the component is a reference, its rows. */
typedef struct barrier_insert {
    const levada_tensor   *keys, *values;
    int32_t                component;
    int64_t                n;
    levada_tensor        **rows; /* references, or NULL */
    levada_barrier_entry **entries;
    levada_barrier_entry  *made; /* new ones, newest first */
} barrier_insert;

static levada_status barrier_check_insert(const levada_barrier *b, const barrier_insert *in,
                                          levada_error *err)
{
    const levada_tensor *keys = in->keys, *values = in->values;
    char                 x[LEVADA_SHAPE_TEXT], y[LEVADA_SHAPE_TEXT];

    if (in->component < 0 || in->component >= b->ncomponents) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "The component ID is out of range %d >= num_components (= %d)",
                           (int)in->component, (int)b->ncomponents);
    }
    if (!levada_dtype_is_bytes(keys->dtype) || keys->shape.rank != 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "keys must be byte strings [n], got %s%s",
                           levada_dtype_name(keys->dtype), levada_shape_print(&keys->shape, x));
    }
    levada_shape want = levada_shape_rows(&b->shapes[in->component], keys->count);
    if (values->dtype != b->dtypes[in->component]) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Type mismatch in component %d. Expected %s, got %s", (int)in->component,
                           levada_dtype_name(b->dtypes[in->component]),
                           levada_dtype_name(values->dtype));
    }
    if (keys->count > 0 && values->count == 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Tensors with no elements are not supported: component %d has shape %s",
                           (int)in->component, levada_shape_print(&values->shape, x));
    }
    if (values->shape.rank < 1 || values->shape.dims[0] != keys->count ||
        !levada_shape_allows(&want, &values->shape)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Shape mismatch in component %d for %lld keys. Expected %s, got %s",
                           (int)in->component, (long long)keys->count, levada_shape_print(&want, x),
                           levada_shape_print(&values->shape, y));
    }
    return LEVADA_OK;
}

static levada_status barrier_prepare(const levada_barrier *b, barrier_insert *in,
                                     levada_error *err)
{
    size_t n = (size_t)in->n * sizeof(void *);

    in->entries = levada_alloc(n);
    if (b->is_ref[in->component]) in->rows = levada_alloc_zero(n);
    if (in->entries == NULL || (b->is_ref[in->component] && in->rows == NULL)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for %lld keys",
                           (long long)in->n);
    }
    for (int64_t i = 0; in->rows != NULL && i < in->n; i++) {
        LEVADA_TRY(levada_tensor_row(b->pool, in->values, i, &in->rows[i], err));
    }
    return LEVADA_OK;
}

static levada_status barrier_key_fail(const levada_barrier *b, levada_status code, const char *what,
                                      const uint8_t *key, int32_t size, levada_error *err)
{
    return levada_fail(err, code, "Barrier '%s'%s: key '%.*s'", b->name, what,
                       size > 64 ? 64 : (int)size, (const char *)key);
}

/* Finds or makes the entry of key i; returns an error if the key may not be named. */
static levada_status barrier_name_locked(levada_barrier *b, barrier_insert *in, int64_t i,
                                         levada_error *err)
{
    const int32_t        *at = in->keys->offsets + i;
    const uint8_t        *key = in->keys->data + at[0];
    int32_t               size = at[1] - at[0];
    uint64_t              hash = levada_hash64(key, (size_t)size, 0);
    levada_barrier_entry *e = levada_barrier_find(b, key, size, hash);

    if (e == NULL && b->closed) {
        return barrier_key_fail(b, LEVADA_ECANCELLED, " is closed and takes no new keys", key, size,
                                err);
    }
    if (e == NULL) {
        e = levada_barrier_add(b, key, size, hash);
        if (e == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                          "out of memory for a key");
        e->made = in->made;
        in->made = e;
    } else if (e->call == b->call) {
        return barrier_key_fail(b, LEVADA_EINVALID_ARGUMENT, ": a key occurs twice in one call",
                                key, size, err);
    } else if (e->data[in->component]) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Key %.*s already has a value for component %d in barrier %s",
                           size > 64 ? 64 : (int)size, (const char *)key, (int)in->component,
                           b->name);
    }
    e->call = b->call;
    in->entries[i] = e;
    return LEVADA_OK;
}

/* Stores values that are known to fit; complete keys become ready. */
static void barrier_store_locked(levada_barrier *b, barrier_insert *in)
{
    int32_t c = in->component;
    size_t  width = b->width[c];

    for (int64_t i = 0; i < in->n; i++) {
        levada_barrier_entry *e = in->entries[i];

        if (in->rows != NULL) {
            memcpy(e->data + b->at[c], &in->rows[i], sizeof(in->rows[i]));
            in->rows[i] = NULL;
        } else {
            memcpy(e->data + b->at[c], in->values->data + (size_t)i * width, width);
        }
        e->data[c] = 1;
        if (--e->missing > 0) continue;
        levada_barrier_remove(b, e);
        levada_barrier_push(b, e);
    }
    if (in->made != NULL) b->input_index++;
}

static levada_status barrier_insert_locked(levada_barrier *b, barrier_insert *in, levada_error *err)
{
    levada_status status = LEVADA_OK;
    int64_t       wanted = b->nready + atomic_load(&b->held) + in->n;

    if (b->cancelled) {
        return levada_fail(err, LEVADA_ECANCELLED,
                           "Barrier '%s' is closed. Pending enqueues cancelled: 1", b->name);
    }
    b->call++;
    for (int64_t i = 0; i < in->n && status == LEVADA_OK; i++) {
        status = barrier_name_locked(b, in, i, err);
    }
    if (status == LEVADA_OK && !levada_barrier_reserve(b, wanted)) {
        status = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for complete keys");
    }
    if (status == LEVADA_OK) {
        barrier_store_locked(b, in);
        return LEVADA_OK;
    }
    while (in->made != NULL) {
        levada_barrier_entry *e = in->made;

        in->made = e->made;
        levada_barrier_remove(b, e);
        levada_barrier_entry_free(b, e);
    }
    return status;
}

levada_status levada_barrier_insert_many(levada_barrier *barrier, int32_t component,
                                         const levada_tensor *keys, const levada_tensor *values,
                                         levada_error *err)
{
    barrier_insert in = { .keys = keys, .values = values, .component = component };
    levada_woken   woken = { 0 };
    levada_status  status;

    LEVADA_TRY(LEVADA_USABLE(barrier, "barrier", err));
    LEVADA_TRY(levada_require(keys != NULL, "keys", err));
    LEVADA_TRY(levada_require(values != NULL, "values", err));
    in.n = keys->count;
    LEVADA_TRY(barrier_check_insert(barrier, &in, err));
    status = barrier_prepare(barrier, &in, err);
    if (status == LEVADA_OK) {
        levada_lock_take(&barrier->lock);
        status = barrier_insert_locked(barrier, &in, err);
        levada_barrier_settle(barrier, &woken);
        levada_lock_give(&barrier->lock);
        levada_wake(&woken);
    }
    for (int64_t i = 0; in.rows != NULL && i < in.n; i++) levada_tensor_unref(&in.rows[i]);
    levada_free(in.rows);
    levada_free(in.entries);
    return status;
}

/* -- closing and looking ----------------------------------------------------------------------- */

levada_status levada_barrier_close(levada_barrier *barrier, bool cancel_pending, levada_error *err)
{
    levada_woken woken = { 0 };
    bool         again;

    LEVADA_TRY(LEVADA_USABLE(barrier, "barrier", err));
    levada_lock_take(&barrier->lock);
    again = barrier->cancelled || (barrier->closed && !cancel_pending);
    if (!again) {
        barrier->closed = true;
        if (cancel_pending) {
            barrier->cancelled = true;
            levada_barrier_drop_incomplete(barrier);
        }
        levada_barrier_settle(barrier, &woken);
    }
    levada_lock_give(&barrier->lock);
    levada_wake(&woken);
    if (!again) return LEVADA_OK;
    return levada_fail(err, LEVADA_ECANCELLED, "Barrier '%s' is already closed", barrier->name);
}

static int64_t barrier_count(const levada_barrier *barrier, const int64_t *what)
{
    levada_barrier *b = (levada_barrier *)(uintptr_t)barrier;
    int64_t         n;

    levada_lock_take(&b->lock);
    n = *what;
    levada_lock_give(&b->lock);
    return n;
}

int64_t levada_barrier_ready_size(const levada_barrier *barrier)
{
    return LEVADA_OURS(barrier) ? barrier_count(barrier, &barrier->nready) : 0;
}

int64_t levada_barrier_incomplete_size(const levada_barrier *barrier)
{
    return LEVADA_OURS(barrier) ? barrier_count(barrier, &barrier->nincomplete) : 0;
}

void levada_barrier_set_poll(levada_barrier *barrier, bool (*poll)(void *user), void *user,
                             int64_t every)
{
    if (LEVADA_OURS(barrier)) levada_site_ask(&barrier->site, poll, user, every);
}

void levada_barrier_set_accept(levada_barrier *barrier, bool (*accept)(void *user), void *user)
{
    if (LEVADA_OURS(barrier)) levada_site_accept(&barrier->site, accept, user);
}

LEVADA_VERSIONED_INIT(levada_barrier_options_init, levada_barrier_options,
                      LEVADA_BARRIER_OPTIONS_INIT)
