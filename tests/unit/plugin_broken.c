/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plug-in with one defect under each name, and none under broken_not: what the conformance suite
 * must find. All but the last are sources of the ten numbers from 0.
 *
 *     broken_blocks     what it returns depends on the size of blocks
 *     broken_random     what it returns depends on what ran before
 *     broken_restore    skips a record after a restore
 *     broken_save       does not save what it changes
 *     broken_cancel     continues for a while when it is cancelled
 *     broken_stop       takes a cancel for the end
 *     broken_drop       drops what waits when it is cancelled
 *     broken_status     takes missing memory for the end
 *     broken_leak       never returns what it took
 *     broken_example    its example is that of another one
 *     broken_empty      its example returns nothing
 *     broken_threads    a PURE stage that counts blocks
 *     broken_one, _permutes, _divides, _count, _drawn
 *                       returns the first three records, and declares other traits
 *     broken_blind      chooses by values, and declares that it does not look at them
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

#define BROKEN_COUNT 10

typedef struct broken_state {
    const levada_context *context;
    int64_t               at;
    void                 *memory;
    atomic_bool           cancelled;
} broken_state;

static levada_status broken_check(const void *args, levada_spec **out, levada_error *err)
{
    levada_field value = { .name = "value", .dtype = LEVADA_INT64 };

    (void)args;
    return levada_spec_create(&value, 1, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status broken_open(void *state, const void *args, const levada_context *context,
                                 levada_error *err)
{
    broken_state *s = state;

    (void)args;
    s->context = context;
    s->memory = levada_alloc(16);
    return s->memory ? LEVADA_OK : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
}

static void broken_close(void *state) { levada_free(((broken_state *)state)->memory); }

/* The next numbers, at most n, each plus `more`. */
static levada_status broken_give(broken_state *s, int64_t most, int64_t more, levada_block **out,
                                 levada_error *err)
{
    levada_builder *b = NULL;
    int64_t         n = BROKEN_COUNT - s->at < most ? BROKEN_COUNT - s->at : most;
    levada_status   st;

    if (n <= 0) return LEVADA_END;
    LEVADA_TRY(levada_builder_create(s->context->env, s->context->out, n, &b, err));
    st = LEVADA_OK;
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        st = levada_builder_push_i64(b, 0, s->at + i + more, err);
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    if (st == LEVADA_OK) s->at += n;
    levada_builder_destroy(&b);
    return st;
}

static levada_status broken_next(void *state, const void *args, levada_block **out,
                                 levada_error *err)
{
    broken_state *s = state;

    (void)args;
    return broken_give(s, s->context->block_rows, 0, out, err);
}

static levada_status broken_save(const void *state, levada_state_writer *to, levada_error *err)
{
    return levada_state_put_i64(to, "at", ((const broken_state *)state)->at, err);
}

static levada_status broken_restore(void *state, levada_state_reader *from, levada_error *err)
{
    return levada_state_get_count(from, "at", BROKEN_COUNT, &((broken_state *)state)->at, err);
}

/* -- the defects */

static levada_status blocks_next(void *state, const void *args, levada_block **out,
                                 levada_error *err)
{
    broken_state *s = state;
    int64_t       rows = s->context->block_rows;

    (void)args;
    return broken_give(s, rows, s->at >= 7 && rows == 7 ? 1 : 0, out, err);
}

static levada_status random_next(void *state, const void *args, levada_block **out,
                                 levada_error *err)
{
    static atomic_llong runs;
    broken_state       *s = state;

    (void)args;
    return broken_give(s, s->context->block_rows, s->at == 0 ? atomic_fetch_add(&runs, 1) : 0, out,
                       err);
}

static levada_status restore_restore(void *state, levada_state_reader *from, levada_error *err)
{
    broken_state *s = state;

    LEVADA_TRY(broken_restore(state, from, err));
    if (s->at > 0 && s->at < BROKEN_COUNT) s->at++;
    return LEVADA_OK;
}

static levada_status save_save(const void *state, levada_state_writer *to, levada_error *err)
{
    (void)state;
    return levada_state_put_i64(to, "at", 0, err);
}

static pthread_t loader; /* the thread that loaded the plug-in */

/* At record 7: other threads than the loader's are those that the suite cancels; they wait for it.
 */
static void wait_for_cancel(const broken_state *s)
{
    const struct timespec some = { 0, 10000000 };
    bool                  waits = s->at == 7 && !pthread_equal(pthread_self(), loader);

    for (int i = 0; waits && i < 1000 && !levada_context_cancelled(s->context); i++) {
        (void)nanosleep(&some, NULL);
    }
}

static levada_status cancel_next(void *state, const void *args, levada_block **out,
                                 levada_error *err)
{
    broken_state         *s = state;
    const struct timespec long_time = { 3, 300000000 };

    wait_for_cancel(s);
    if (atomic_load(&s->cancelled)) (void)nanosleep(&long_time, NULL);
    return broken_next(state, args, out, err);
}

static void cancel_cancel(void *state) { atomic_store(&((broken_state *)state)->cancelled, true); }

static levada_status stop_next(void *state, const void *args, levada_block **out,
                               levada_error *err)
{
    broken_state *s = state;

    wait_for_cancel(s);
    if (s->at == 7 && levada_context_cancelled(s->context)) return LEVADA_END;
    return broken_next(state, args, out, err);
}

static levada_status drop_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const broken_state *s = state;
    bool                dropped = atomic_load(&s->cancelled);

    return levada_state_put_i64(to, "at", dropped ? BROKEN_COUNT : s->at, err);
}

static levada_status status_next(void *state, const void *args, levada_block **out,
                                 levada_error *err)
{
    levada_status st = broken_next(state, args, out, err);

    return st == LEVADA_ERESOURCE_EXHAUSTED ? LEVADA_END : st;
}

/* Into a list that nobody frees: a leak checker reaches it, and leaves it to the suite. */
static void leak_close(void *state)
{
    static _Atomic(void *) kept;
    broken_state          *s = state;

    if (s->memory) *(void **)s->memory = atomic_exchange(&kept, s->memory);
}

/* -- a stage */

static levada_status threads_apply(void *state, const void *args, const levada_block *in,
                                   levada_block **out, levada_error *err)
{
    int64_t *blocks = state;
    int32_t  rows[256];
    int64_t  n = levada_block_rows(in);

    (void)args;
    if (++*blocks > 1) n--; /* its state is scratch memory: one for each thread */
    for (int32_t i = 0; i < n; i++) rows[i] = i;
    return levada_block_select(in, rows, n, out, err);
}

static const levada_stage_def threads = {
    .struct_size = sizeof(levada_stage_def),
    .name = "broken_threads",
    .doc = "counts blocks",
    .example = "range:20 | broken_threads",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_SUBSET),
    .state_size = sizeof(int64_t),
    .apply = threads_apply,
};

/* -- stages that declare what they do not do */

static levada_status three_next(void *state, const void *args, levada_input *in, levada_block **out,
                                levada_error *err)
{
    int64_t      *given = state;
    levada_cursor cur = { 0 };
    levada_status st;

    (void)args;
    if (*given >= 3) return LEVADA_END;
    st = levada_cursor_fill(&cur, in, err);
    if (st == LEVADA_OK) st = levada_cursor_take(&cur, 3 - *given, out, err);
    if (st == LEVADA_OK) *given += levada_block_rows(*out);
    levada_cursor_clear(&cur);
    return st;
}

static levada_status three_save(const void *state, levada_state_writer *to, levada_error *err)
{
    return levada_state_put_i64(to, "given", *(const int64_t *)state, err);
}

static levada_status three_restore(void *state, levada_state_reader *from, levada_error *err)
{
    return levada_state_get_i64(from, "given", state, err);
}

static int64_t three_count(const void *args, int64_t n)
{
    (void)args;
    return n;
}

static levada_status blind_apply(void *state, const void *args, const levada_block *in,
                                 levada_block **out, levada_error *err)
{
    const levada_column *column = levada_block_at(in, 0);
    int32_t              rows[256];
    int64_t              n = 0;

    (void)state, (void)args;
    for (int32_t i = 0; i < levada_block_rows(in); i++) {
        if (levada_column_i64(column)[i] % 3 == 0) rows[n++] = i;
    }
    return levada_block_select(in, rows, n, out, err);
}

#define THREE(word, ...)                                                                  \
    {                                                                                     \
        .struct_size = sizeof(levada_stage_def), .name = "broken_" #word,                 \
        .doc = "three records", .example = "range:10 | broken_" #word,                    \
        .mode = LEVADA_MODE_SERIAL, .traits = LEVADA_TRAITS(__VA_ARGS__),                 \
        .state_size = sizeof(int64_t), .state_version = 1, .next = three_next,            \
        .save = three_save, .restore = three_restore                                      \
    }

static const levada_stage_def stages[] = {
    THREE(one, .rows = LEVADA_ROWS_ONE_TO_ONE),
    THREE(permutes, .rows = LEVADA_ROWS_PERMUTES),
    THREE(divides, .rows = LEVADA_ROWS_SUBSET, .divides = true),
    THREE(count, .rows = LEVADA_ROWS_SUBSET, .count = three_count),
    THREE(drawn, .rows = LEVADA_ROWS_SUBSET, .random = LEVADA_RANDOM_BY_PASS),
    { .struct_size = sizeof(levada_stage_def),
      .name = "broken_blind",
      .doc = "some records",
      .example = "range:10,start=1 | broken_blind",
      .mode = LEVADA_MODE_PURE,
      .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_SUBSET, .reads = LEVADA_READS_NONE),
      .apply = blind_apply },
};

/* -- the entry */

/* Descriptors are constant for the life of the process. */
#define BROKEN(word, gives, ...)                                                          \
    {                                                                                     \
        .struct_size = sizeof(levada_source_def), .name = "broken_" #word,                \
        .doc = "ten numbers", .example = gives, .state_size = sizeof(broken_state),       \
        .state_version = 1, .check = broken_check, .open = broken_open, __VA_ARGS__       \
    }
#define BROKEN_CLOSE .close = broken_close
#define BROKEN_NEXT .next = broken_next
#define BROKEN_STATE .save = broken_save, .restore = broken_restore

static const levada_source_def sources[] = {
    BROKEN(not, "broken_not", BROKEN_CLOSE, BROKEN_NEXT, BROKEN_STATE),
    BROKEN(blocks, "broken_blocks", BROKEN_CLOSE, .next = blocks_next, BROKEN_STATE),
    BROKEN(random, "broken_random", BROKEN_CLOSE, .next = random_next, BROKEN_STATE),
    BROKEN(restore, "broken_restore", BROKEN_CLOSE, BROKEN_NEXT, .save = broken_save,
           .restore = restore_restore),
    BROKEN(save, "broken_save", BROKEN_CLOSE, BROKEN_NEXT, .save = save_save,
           .restore = broken_restore),
    BROKEN(cancel, "broken_cancel", BROKEN_CLOSE, .next = cancel_next, .cancel = cancel_cancel,
           BROKEN_STATE),
    BROKEN(stop, "broken_stop", BROKEN_CLOSE, .next = stop_next, BROKEN_STATE),
    BROKEN(drop, "broken_drop", BROKEN_CLOSE, BROKEN_NEXT, .cancel = cancel_cancel,
           .save = drop_save, .restore = broken_restore),
    BROKEN(status, "broken_status", BROKEN_CLOSE, .next = status_next, BROKEN_STATE),
    BROKEN(leak, "broken_leak", .close = leak_close, BROKEN_NEXT, BROKEN_STATE),
    BROKEN(example, "broken_not", BROKEN_CLOSE, BROKEN_NEXT, BROKEN_STATE),
    BROKEN(empty, "broken_empty | take:0", BROKEN_CLOSE, BROKEN_NEXT, BROKEN_STATE),
};

LEVADA_API levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin,
                                            levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "broken", 1);
    loader = pthread_self();
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        LEVADA_TRY(host->add_stage(plugin, &stages[i], err));
    }
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        LEVADA_TRY(host->add_source(plugin, &sources[i], err));
    }
    return host->add_stage(plugin, &threads, err);
}
