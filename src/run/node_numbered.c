/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbered sources: the core walks the numbers of the records and asks the source for blocks of
 * them. The order of shuffle_records is a permutation that is computed (base/permutation.h), so the
 * position is the number of records before it, and the state does not grow with the source. For a
 * rank in step the node emits keys (run/keyed.h).
 */
#include "base/alloc.h"
#include "base/permutation.h"
#include "base/random.h"
#include "base/sort.h"
#include "run/plan.h"
#include "run/stage_state.h"
#include "tensor/block_priv.h"

#include <string.h>

/* The state of the source follows it, aligned as the memory. */
typedef struct numbered {
    const levada_source_def *def;
    int64_t                  first, n; /* it emits n records from number `first` on */
    levada_permutation       order;    /* of these, if they are shuffled            */
    bool                     shuffled;
} numbered;

#define NUMBERED_MOST 65536 /* records in a block */
#define NUMBERED_HEAD ((sizeof(numbered) + 63) / 64 * 64)

static numbered *numbered_of(const levada_node *it) { return levada_stage_state_of(it); }

static void *numbered_state(const levada_node *it)
{
    return (char *)levada_stage_state_of(it) + NUMBERED_HEAD;
}

static levada_status numbered_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for numbers of records");
}

/* -- records by their numbers */

/* Returns true if the origins are already what at() accepts. */
static bool numbered_ascends(const levada_origin *origins, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        if (origins[i - 1].record >= origins[i].record) return false;
    }
    return true;
}

static int64_t numbered_count(const levada_node *it)
{
    return numbered_of(it)->def->count(it->at->args);
}

static levada_status numbered_check(int64_t number, int64_t count, levada_error *err)
{
    if (number >= 0 && number < count) return LEVADA_OK;
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       "record %lld does not exist: the source has %lld", (long long)number,
                       (long long)count);
}

/* Asks for the records of `numbers`, which ascend: a DATA block without origins. */
static levada_status numbered_ask(levada_node *it, const int64_t *numbers, int64_t n,
                                  levada_block **out, levada_error *err)
{
    const levada_source_def *def = numbered_of(it)->def;
    levada_status            st;

    LEVADA_TRY(def->at(numbered_state(it), it->at->args, numbers, n, out, err));
    if ((*out)->n == n && (*out)->kind == LEVADA_BLOCK_DATA) return LEVADA_OK;
    st = levada_fail(err, LEVADA_EINTERNAL,
                     "at() must return a record for each number, got %lld for %lld",
                     (long long)(*out)->n, (long long)n);
    levada_block_unref(out);
    return st;
}

/* Names the rows of *block in the order of the answer; its rejects go with them. */
static levada_status numbered_arrange(const levada_sort_entry *wanted, const int32_t *rows,
                                      int64_t n, levada_block **block, levada_error *err)
{
    levada_block *from = *block, *made = NULL;

    LEVADA_TRY(levada_block_select(from, rows, n, &made, err));
    made->rejects = from->rejects;
    made->nrejects = from->nrejects;
    from->rejects = NULL;
    from->nrejects = 0;
    for (int32_t i = 0; i < made->nrejects; i++) {
        made->rejects[i].row = (int32_t)wanted[made->rejects[i].row].position;
    }
    levada_block_unref(block);
    *block = made;
    return LEVADA_OK;
}

/* Writes the origins of a block; those of neighbors take no memory. */
static levada_status numbered_put(levada_node *it, const levada_origin *origins,
                                  levada_block *block, levada_error *err)
{
    int64_t i = 1;

    while (i < block->n && origins[i].record == origins[0].record + i &&
           origins[i].pass == origins[0].pass) {
        i++;
    }
    if (i < block->n || block->n == 0 || block->origins.each || block->origins.begin) {
        return levada_block_put_origins(levada_env_pool(it->run->env), block, origins, 1, err);
    }
    levada_block_drop_origin_parts(block);
    block->origins.first = origins[0];
    return LEVADA_OK;
}

/* Space for one answer. */
typedef struct numbered_answer {
    levada_sort_entry *wanted;  /* numbers and their rows, sorted     */
    int64_t           *numbers; /* ascending, each once; m of them    */
    int32_t           *rows;    /* of each origin, in the answer of m */
    levada_origin     *sorted;  /* an origin of each number           */
    int64_t            m;
} numbered_answer;

static void numbered_answer_clear(numbered_answer *x)
{
    levada_free(x->wanted);
    levada_free(x->numbers);
    levada_free(x->rows);
    levada_free(x->sorted);
}

static levada_status numbered_sort(numbered_answer *x, const levada_origin *origins, int64_t n,
                                   int64_t count, levada_error *err)
{
    x->wanted = levada_alloc((size_t)n * 2 * sizeof *x->wanted + 1); /* twice, for the sort */
    x->numbers = levada_alloc((size_t)n * sizeof *x->numbers + 1);
    x->rows = levada_alloc((size_t)n * sizeof *x->rows + 1);
    x->sorted = levada_alloc((size_t)n * sizeof *x->sorted + 1);
    if (!x->wanted || !x->numbers || !x->rows || !x->sorted) return numbered_memory(err);
    for (int64_t i = 0; i < n; i++) {
        LEVADA_TRY(numbered_check(origins[i].record, count, err));
        x->wanted[i] = (levada_sort_entry){ origins[i].record, (uint32_t)i };
    }
    if (!numbered_ascends(origins, n)) levada_sort(x->wanted, x->wanted + n, n);
    for (int64_t i = 0; i < n; i++) {
        const levada_sort_entry *w = &x->wanted[i];

        if (x->m == 0 || x->numbers[x->m - 1] != w->value) {
            x->sorted[x->m] = origins[w->position];
            x->numbers[x->m++] = w->value;
        }
        x->rows[w->position] = (int32_t)(x->m - 1);
    }
    return LEVADA_OK;
}

/* Fetches the records of these origins, in their order; equal numbers are asked for once, and
 * differ in their origins (a repeat). */
static levada_status numbered_fetch(levada_node *it, const levada_origin *origins, int64_t n,
                                    levada_block **out, levada_error *err)
{
    levada_pool    *pool = levada_env_pool(it->run->env);
    numbered_answer x = { 0 };
    levada_block   *made = NULL, *copy = NULL;
    bool            once;
    levada_status   st = numbered_sort(&x, origins, n, numbered_count(it), err);

    once = x.m == n;
    if (st == LEVADA_OK) st = numbered_ask(it, x.numbers, x.m, &made, err);
    if (st == LEVADA_OK && once) st = numbered_put(it, x.sorted, made, err);
    if (st == LEVADA_OK && !(once && numbered_ascends(origins, n))) {
        st = numbered_arrange(x.wanted, x.rows, n, &made, err);
    }
    if (st == LEVADA_OK && !once) {
        st = levada_block_gather(pool, made, &copy, err);
        if (st == LEVADA_OK) st = levada_block_put_origins(pool, copy, origins, 1, err);
        levada_block_unref(&made);
        made = copy;
    }
    numbered_answer_clear(&x);
    if (st == LEVADA_OK) *out = made;
    else levada_block_unref(&made);
    return st;
}

/* Fetches records that were good before, so that a bad record is an error. */
static levada_status numbered_fetch_good(levada_node *it, const levada_origin *origins, int64_t n,
                                         levada_block **out, levada_error *err)
{
    levada_reject *bad;
    levada_status  st = numbered_fetch(it, origins, n, out, err);

    if (st == LEVADA_AGAIN) return levada_fail(err, LEVADA_ECANCELLED, "interrupted by a signal");
    if (st != LEVADA_OK || (*out)->nrejects == 0) return st;
    bad = &(*out)->rejects[0];
    levada_run_place(it->run, it->path, *out, bad->row, &bad->why);
    st = bad->why.code;
    if (err) *err = bad->why;
    levada_block_unref(out);
    return st;
}

/* -- keys in place of records */

static levada_status numbered_lengths(void *user, int32_t k, const levada_origin *origins,
                                      int64_t n, int64_t *out, levada_error *err)
{
    const levada_node *it = user;
    const int64_t     *lengths = levada_keyed_lengths(it->at,
                                                      levada_spec_field(it->edge.spec, k)->name);
    int64_t            count = numbered_count(it);

    for (int64_t i = 0; i < n; i++) {
        LEVADA_TRY(numbered_check(origins[i].record, count, err));
        out[i] = lengths[origins[i].record];
    }
    return LEVADA_OK;
}

static levada_status numbered_keys(levada_node *it, const levada_origin *origins, int64_t n,
                                   levada_block **out, levada_error *err)
{
    return levada_keys_create(levada_env_pool(it->run->env), it->edge.spec, origins, n,
                              numbered_lengths, it, out, err);
}

/* -- operations */

static int32_t numbered_pass(const levada_node *it)
{
    return (int32_t)(it->context.pass & INT32_MAX);
}

/* Returns how many records a block has at most. */
static int64_t numbered_rows(const levada_node *it)
{
    const levada_source_def *def = numbered_of(it)->def;
    int64_t                  rows = it->context.block_rows, preferred = 0;

    if (!it->run->sized && def->preferred) preferred = def->preferred(it->at->args);
    if (preferred > NUMBERED_MOST) preferred = NUMBERED_MOST;
    return preferred > rows ? preferred : rows;
}

static levada_status numbered_next(levada_node *it, levada_hint hint, levada_item *out,
                                   levada_error *err)
{
    levada_stage_state *s = it->self;
    const numbered     *x = numbered_of(it);
    int64_t             n = x->n - s->emitted;
    levada_origin      *origins;
    levada_status       st;

    (void)hint;
    if (n <= 0) return LEVADA_END;
    if (n > numbered_rows(it)) n = numbered_rows(it);
    LEVADA_TRY(levada_run_check_cancelled(it->run, err));
    origins = levada_alloc((size_t)n * sizeof *origins);
    if (!origins) return numbered_memory(err);
    for (int64_t i = 0; i < n; i++) {
        int64_t place = s->emitted + i;

        if (x->shuffled) place = (int64_t)levada_permutation_at(&x->order, (uint64_t)place);
        origins[i] = (levada_origin){
            .source = it->source, .pass = numbered_pass(it), .record = x->first + place,
            .offset = -1
        };
    }
    st = levada_node_emits_keys(it) ? numbered_keys(it, origins, n, &out->block, err)
                                    : numbered_fetch(it, origins, n, &out->block, err);
    levada_free(origins);
    if (st == LEVADA_OK) s->emitted += n;
    return st;
}

/* Draws the order of this pass and epoch. */
static void numbered_draw(const levada_node *it, numbered *x)
{
    uint64_t key = levada_random_key(it->context.seed, (uint64_t)it->context.epoch);

    key = levada_random_draw(key, (uint64_t)it->source, (uint64_t)numbered_pass(it));
    x->order = levada_permutation_of((uint64_t)x->n, key);
}

static levada_status numbered_open(levada_node *it, void *state, levada_error *err)
{
    const levada_number_args *args = levada_op_numbers(it->at->op, it->at->args);
    const levada_source_def  *def = &it->at->op->def.source;
    numbered                 *x = state;
    int64_t                   end;

    x->def = def;
    LEVADA_TRY(levada_numbers_choose(args, def->count(it->at->args), &x->first, &end, err));
    x->n = end - x->first;
    x->shuffled = args->shuffle_records;
    numbered_draw(it, x);
    if (!def->open) return LEVADA_OK;
    return def->open((char *)state + NUMBERED_HEAD, it->at->args, &it->context, err);
}

static void numbered_close(void *state)
{
    const levada_source_def *def = ((numbered *)state)->def;

    if (def && def->close) def->close((char *)state + NUMBERED_HEAD);
}

static void numbered_cancel(void *state)
{
    const levada_source_def *def = ((numbered *)state)->def;

    if (def->cancel) def->cancel((char *)state + NUMBERED_HEAD);
}

static levada_status numbered_save(levada_node *it, levada_state_writer *to, levada_error *err)
{
    LEVADA_TRY(levada_state_put_i64(to, "#emitted", ((levada_stage_state *)it->self)->emitted,
                                    err));
    LEVADA_TRY(levada_state_put_i64(to, "count", numbered_count(it), err));
    if (levada_node_emits_keys(it)) LEVADA_TRY(levada_state_put_i64(to, "numbers", 1, err));
    return levada_stage_state_save(it, to, err);
}

static levada_status numbered_rewind(levada_node *it, bool read_to_end, levada_error *err)
{
    numbered *x = numbered_of(it);

    ((levada_stage_state *)it->self)->emitted = 0;
    if (!x->def->rewind) return levada_stage_state_rewind(it, read_to_end, err);
    numbered_draw(it, x);
    return x->def->rewind(numbered_state(it), it->at->args, err);
}

/* Returns an error if a rank that reads only its own records restores a checkpoint of one that
 * reads all, or the other way round. */
static levada_status numbered_check_keys(const levada_node *it, levada_state_reader *from,
                                         levada_error *err)
{
    bool keys = levada_node_emits_keys(it);

    if (levada_state_has(from, "numbers") == keys) return LEVADA_OK;
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       keys ? "the checkpoint was saved by a rank that reads all records, but this "
                              "rank reads only its own; omit lengths="
                            : "the checkpoint was saved by a rank that reads only its own "
                              "records, but this rank reads all; the line `reads` of explain() "
                              "shows why");
}

static levada_status numbered_restore(levada_node *it, levada_state_reader *from,
                                      levada_error *err)
{
    int64_t now = numbered_count(it), was, emitted;

    LEVADA_TRY(numbered_check_keys(it, from, err));
    LEVADA_TRY(levada_state_get_count(from, "count", LEVADA_COUNT_LIMIT, &was, err));
    if (was != now) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the source has %lld records, but had %lld when the checkpoint was "
                           "saved",
                           (long long)now, (long long)was);
    }
    LEVADA_TRY(levada_state_get_count(from, "#emitted", numbered_of(it)->n, &emitted, err));
    LEVADA_TRY(levada_stage_state_restore(it, from, err));
    if (it->context.pass != it->opened_as) LEVADA_TRY(numbered_rewind(it, false, err));
    ((levada_stage_state *)it->self)->emitted = emitted;
    return LEVADA_OK;
}

static levada_status numbered_read(levada_node *it, const levada_origin *origins, int64_t n,
                                   levada_read how, levada_block **out, levada_error *err)
{
    bool keys = levada_node_emits_keys(it) && how == LEVADA_READ_AGAIN;

    return keys ? numbered_keys(it, origins, n, out, err)
                : numbered_fetch_good(it, origins, n, out, err);
}

static levada_status numbered_locate(levada_node *it, int64_t number, levada_origin *out,
                                     levada_error *err)
{
    const numbered *x = numbered_of(it);

    if (number < 0 || number >= x->n) {
        return levada_fail(err, LEVADA_EOUT_OF_RANGE, "record %lld of %lld does not exist",
                           (long long)number, (long long)x->n);
    }
    *out = (levada_origin){ .source = it->source, .record = x->first + number, .offset = -1 };
    return LEVADA_OK;
}

/* Returns the option `name`, which errors and keys of records contain. */
static const char *numbered_file(const levada_node *it, int32_t shard)
{
    if (shard != 0) return NULL;
    return levada_value_as_text(levada_value_get(it->at->options, "name"), NULL);
}

static const levada_node_ops numbered_ops = {
    .kind = LEVADA_NODE_SOURCE,
    .next = numbered_next,
    .save = numbered_save,
    .restore = numbered_restore,
    .rewind = numbered_rewind,
    .cancel = levada_stage_state_cancel,
    .close = levada_stage_state_close,
    .access = &(const levada_access_ops){ .read = numbered_read, .locate = numbered_locate },
    .files = &(const levada_files_ops){ .name = numbered_file },
};

levada_status levada_node_numbered(levada_run *run, const levada_step *step, levada_node **out,
                                   levada_error *err)
{
    const levada_source_def *def = &step->at->op->def.source;
    const levada_stage_hooks hooks = { .state_size = NUMBERED_HEAD + def->state_size,
                                       .open = numbered_open,
                                       .close = numbered_close,
                                       .cancel = numbered_cancel };
    levada_node  *it = NULL;
    levada_status st;

    LEVADA_TRY(levada_node_create(run, step, &numbered_ops, &it, err));
    it->version = def->state_version;
    levada_run_add_source(run, it);
    it->context.pass = it->opened_as = run->inner ? run->inner->pass : 0;
    st = levada_stage_state_open(it, &hooks, err);
    if (st == LEVADA_OK && step->keyed) {
        const levada_needed *needed = &step->keyed->needed;
        levada_stage_state  *s = it->self;

        st = levada_spec_create_keys(needed->fields, needed->n, &s->keys, err);
        it->edge.spec = s->keys;
    }
    if (st != LEVADA_OK) {
        levada_node_destroy(&it);
        return st;
    }
    *out = it;
    return LEVADA_OK;
}
