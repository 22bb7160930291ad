/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interleave - a pipe for each record of the input, and their records in turn: `cycle_length` pipes
 * are open, and each emits `block_length` records before the next one's turn. The next record of
 * the input gets the slot of a pipe that has ended. The output depends on the input alone.
 *
 * Records are passed on as a selection of the blocks of the pipes; of pipes that emit batches, a
 * batch counts as a record.
 */
#include "base/alloc.h"
#include "base/random.h"
#include "description/columns.h"
#include "registry/combiner.h"
#include "run/input_cursor.h"
#include "run/absent.h"
#include "run/pipe.h"
#include "state/damaged.h"
#include "tensor/merge.h"

#include <stdio.h>
#include <string.h>

/* Records of one round; and for pipes in pipes, so that they seldom meet. */
#define INTERLEAVE_ROUND (UINT64_C(1) << 20)
#define INTERLEAVE_NESTED UINT64_C(1299709)
#define INTERLEAVE_DEPTH 2

typedef struct interleave_args {
    const levada_dataset *pipe;
    int64_t               cycle_length, block_length;
} interleave_args;

typedef struct interleave_slot {
    levada_block   *record; /* of the input: one row; NULL = the slot is free       */
    levada_dataset *pipe;   /* filled in with it                                    */
    levada_node    *node;
    int64_t         ordinal; /* number of the record: makes the pipe's randomness its own */
    levada_cursor   cursor; /* on the node                                          */
    levada_merge_input rows; /* of its block, once that has the columns of all      */
} interleave_slot;

typedef struct interleave_state {
    const levada_context  *context;
    const interleave_args *args;
    levada_input           *in;
    levada_cursor          input;
    bool                   input_ended, batched;
    /* numbers of sources: of the first slot; of each slot */
    int32_t                source, sources;
    int32_t                n, open;      /* slots; those that are not free */
    int64_t                admitted; /* records of the input so far */
    int64_t                emitted;    /* records, as the skip counts has it between two blocks */
    int32_t                turn;
    int64_t                taken; /* records of this turn */
    interleave_slot       *slots;
    levada_absent         found; /* by the decoders of all pipes of this pass             */
    levada_absent        *absent; /* that of the outermost combiner: here, if it is this one */
    levada_merge           merge; /* the block that is being made; empty between two calls */
    bool                   lockable;
    levada_mutex           lock; /* where a slot's node comes or goes, and cancel() looks at it */
} interleave_state;

static const levada_arg interleave_options[] = {
    LEVADA_ARG(PIPE, interleave_args, pipe, .required = true, .positional = true,
               .doc = "sub-pipeline to open for each record; {field} in its text is replaced by "
                      "the value of that field"),
    LEVADA_ARG(INT, interleave_args, cycle_length, .otherwise = "4", .min = 1, .max = 4096,
               .doc = "number of sub-pipelines that are open at the same time"),
    LEVADA_ARG(INT, interleave_args, block_length, .otherwise = "1", .min = 1, .max = INT64_MAX,
               .doc = "number of consecutive records from one sub-pipeline"),
    LEVADA_ARG_END,
};

/* Refuses here what cannot be opened, not at the first record. */
static levada_status interleave_check_nested(const interleave_args *a, levada_error *err)
{
    int64_t sources = a->cycle_length * levada_pipe_sources(a->pipe);

    if (1 + levada_pipe_depth(a->pipe) > INTERLEAVE_DEPTH) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "sub-pipelines are nested more than %d deep", INTERLEAVE_DEPTH);
    }
    if (sources > LEVADA_PIPE_SOURCES) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "cycle_length=%lld: more than %lld sources would be open at the same "
                           "time",
                           (long long)a->cycle_length, (long long)LEVADA_PIPE_SOURCES);
    }
    return LEVADA_OK;
}

static levada_status interleave_check(const void *args, const levada_spec *const *in, int32_t nin,
                                      levada_spec **out, levada_error *err)
{
    const levada_dataset *pipe = ((const interleave_args *)args)->pipe;

    (void)nin;
    LEVADA_TRY(levada_spec_want_records(in[0], err));
    LEVADA_TRY(levada_pipe_check(pipe, in[0], err));
    LEVADA_TRY(interleave_check_nested(args, err));
    *out = levada_spec_ref(levada_dataset_spec(pipe));
    return LEVADA_OK;
}

/* Numbers for the sources of all slots. A restart keeps them. */
static levada_status interleave_claim(interleave_state *s, levada_error *err)
{
    levada_node *node = s->context->node;
    levada_run  *run = node->run;
    int64_t      sources = levada_pipe_sources(s->args->pipe);

    if (s->context->pass == 0) {
        if (s->n * sources > levada_run_sources_left(run)) {
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "interleave has more than %lld sources; name fewer files in each "
                               "record", (long long)LEVADA_PIPE_SOURCES);
        }
        node->source = run->sources;
        node->first_pass = run->inner ? run->inner->pass : 0;
        run->sources += (int32_t)(s->n * sources);
    }
    s->sources = (int32_t)sources;
    s->source = node->source;
    return LEVADA_OK;
}

static levada_status interleave_open(void *state, const void *args, const levada_context *context,
                                     levada_input *const *in, int32_t nin, levada_error *err)
{
    interleave_state *s = state;

    (void)nin;
    s->context = context;
    s->args = args;
    s->in = in[0];
    s->n = (int32_t)s->args->cycle_length;
    s->absent = context->node->run->inner ? context->node->run->inner->absent : &s->found;
    s->batched = levada_spec_flags_of(context->out) & LEVADA_SPEC_BATCHED;
    LEVADA_TRY(interleave_claim(s, err));
    LEVADA_TRY(levada_mutex_init(&s->lock, LEVADA_LOCK_NODE, err));
    s->lockable = true;
    s->slots = levada_alloc_zero((size_t)s->n * sizeof *s->slots);
    return s->slots ? LEVADA_OK
                    : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a stage");
}

/* Puts a node into a slot, or takes it out of it. What is cancelled by then hears of it here. */
static void interleave_swap(interleave_state *s, interleave_slot *slot, levada_node **node)
{
    levada_node *was;

    levada_mutex_lock(&s->lock);
    was = slot->node;
    slot->node = *node;
    if (slot->node && levada_run_is_cancelled(s->context->node->run)) {
        levada_node_cancel(slot->node);
    }
    levada_mutex_unlock(&s->lock);
    *node = was;
}

static void interleave_free_slot(interleave_state *s, interleave_slot *slot)
{
    levada_node *gone = NULL;

    levada_cursor_clear(&slot->cursor);
    levada_merge_input_clear(&slot->rows);
    if (slot->node) {
        levada_node_add_absent(slot->node, s->absent);
        s->open--;
        interleave_swap(s, slot, &gone);
    }
    levada_node_destroy(&gone);
    levada_dataset_unref(&slot->pipe);
    levada_block_unref(&slot->record);
}

static void interleave_close(void *state)
{
    interleave_state *s = state;

    for (int32_t i = 0; s->slots && i < s->n; i++) interleave_free_slot(s, &s->slots[i]);
    levada_cursor_clear(&s->input);
    levada_free(s->slots);
    levada_merge_clear(&s->merge);
    levada_absent_clear(&s->found);
    if (s->lockable) levada_mutex_clear(&s->lock);
}

static void interleave_cancel(void *state)
{
    interleave_state *s = state;

    levada_mutex_lock(&s->lock);
    for (int32_t i = 0; i < s->n; i++) {
        if (s->slots[i].node) levada_node_cancel(s->slots[i].node);
    }
    levada_mutex_unlock(&s->lock);
}

/* -- slots */

/* Opens the pipe of slot->record; on failure the slot is free. Its sources are opened for the
 * n-th time, n from the number of the record, so that no two records have the same origin. */
static levada_status interleave_start(interleave_state *s, int32_t i, levada_error *err)
{
    interleave_slot  *slot = &s->slots[i];
    uint64_t          round = (uint64_t)s->context->pass * INTERLEAVE_ROUND +
                     (uint64_t)s->context->node->first_pass * INTERLEAVE_NESTED;
    char              prefix[LEVADA_STATE_PATH];
    levada_pipe_place place = {
        .name = s->context->node->at->op->name,
        .prefix = prefix,
        .source = s->source + i * s->sources,
        .pass = (int32_t)((round + (uint64_t)slot->ordinal) & INT32_MAX),
        .salt = levada_random_key(round + 1, (uint64_t)slot->ordinal),
        .skips = s->context->node->place.counts,
        .absent = s->absent,
        .puller = s->context->node->puller,
    };
    levada_node  *node = NULL;
    levada_status st;

    if (snprintf(prefix, sizeof prefix, "%s/%d/", s->context->node->path, (int)i) >
        LEVADA_STATE_PREFIX) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "sub-pipelines are nested too deeply: their path exceeds %d bytes",
                           LEVADA_STATE_PREFIX);
    }
    st = levada_pipe_bind(s->args->pipe, slot->record, 0, &slot->pipe, err);
    if (st == LEVADA_OK) {
        st = levada_pipe_open(s->context->node->run, slot->pipe, &place, &node, err);
    }
    if (st == LEVADA_OK) {
        node->consumer = s->context->node;
        interleave_swap(s, slot, &node);
        s->open++;
    } else {
        interleave_free_slot(s, slot);
    }
    return st;
}

/* Admits the next record of the input to a free slot. */
static levada_status interleave_admit(interleave_state *s, bool hurry, levada_error *err)
{
    interleave_slot *slot = &s->slots[s->turn];
    levada_block    *picked = NULL;
    int32_t          row;
    levada_status    st;

    LEVADA_TRY(levada_cursor_fill_hurried(&s->input, s->in, hurry, err));
    row = (int32_t)s->input.row;
    LEVADA_TRY(levada_block_select(s->input.block, &row, 1, &picked, err));
    st = levada_block_gather(levada_env_pool(s->context->env), picked, &slot->record, err);
    levada_block_unref(&picked);
    slot->ordinal = s->admitted;
    if (st == LEVADA_OK) st = interleave_start(s, s->turn, err);
    if (st != LEVADA_OK) return st;
    s->input.row++;
    s->admitted++;
    return LEVADA_OK;
}

static void interleave_advance(interleave_state *s)
{
    s->turn = (s->turn + 1) % s->n;
    s->taken = 0;
}

/* Makes the block of the cursor ready: its columns are those of all. */
static levada_status interleave_ready(const interleave_state *s, interleave_slot *slot,
                                      levada_error *err)
{
    LEVADA_TRY(levada_columns_adapt(levada_env_pool(s->context->env), s->context->out,
                                    &slot->cursor.block, err));
    return levada_merge_switch(&slot->rows, slot->cursor.block, err);
}

/* Makes sure that the cursor of the slot has a record. */
static levada_status interleave_fill(const interleave_state *s, interleave_slot *slot, bool hurry,
                                     levada_error *err)
{
    if (!slot->cursor.block || slot->cursor.row == slot->cursor.block->n) {
        slot->rows.block = NULL; /* until there was memory for the next one */
        levada_node_report_emitted(s->context->node, s->emitted);
        LEVADA_TRY(levada_cursor_fill_hurried(&slot->cursor, slot->node, hurry, err));
    }
    return slot->rows.block ? LEVADA_OK : interleave_ready(s, slot, err);
}

/* Finds the slot whose turn it is, with a record: OK, END of all, or what went wrong. `hurry`:
 * levada_cursor_fill_hurried. */
static levada_status interleave_slot_next(interleave_state *s, bool hurry, interleave_slot **out,
                                          levada_error *err)
{
    for (;;) {
        interleave_slot *slot = &s->slots[s->turn];
        levada_status    st;

        if (slot->node) {
            st = interleave_fill(s, slot, hurry, err);
            if (st == LEVADA_OK) *out = slot;
            if (st != LEVADA_END) return st;
            interleave_free_slot(s, slot);
            interleave_advance(s);
        } else if (!s->input_ended) {
            st = interleave_admit(s, hurry, err);
            if (st != LEVADA_OK && st != LEVADA_END) return st;
            s->input_ended = st == LEVADA_END;
        } else if (s->open == 0) {
            return LEVADA_END;
        } else {
            interleave_advance(s);
        }
    }
}

/* -- output */

static levada_status interleave_batch(interleave_state *s, levada_block **out, levada_error *err)
{
    interleave_slot *slot = NULL;

    LEVADA_TRY(interleave_slot_next(s, false, &slot, err));
    LEVADA_TRY(levada_cursor_take(&slot->cursor, INT64_MAX, out, err));
    s->emitted += levada_block_rows(*out);
    if (++s->taken == s->args->block_length) interleave_advance(s);
    return LEVADA_OK;
}

/* Emits up to block_rows records in turn, and then again what stopped it. */
static levada_status interleave_records(interleave_state *s, levada_block **out,
                                        levada_error *err)
{
    levada_merge *merge = &s->merge;

    LEVADA_TRY(levada_merge_begin(merge, levada_env_pool(s->context->env), s->context->block_rows,
                                  err));
    while (merge->n < merge->capacity) {
        interleave_slot *slot = NULL;
        levada_status    st = interleave_slot_next(s, merge->n > 0, &slot, err);

        if (st != LEVADA_OK && merge->n == 0) return st;
        if (st != LEVADA_OK) break;
        levada_merge_row(merge, &slot->rows, slot->cursor.row++);
        s->emitted++;
        if (++s->taken == s->args->block_length) interleave_advance(s);
    }
    return levada_merge_end(merge, out, err);
}

static levada_status interleave_next(void *state, const void *args, levada_block **out,
                                     levada_error *err)
{
    interleave_state *s = state;
    levada_status     st;

    (void)args;
    s->emitted = levada_node_emitted(s->context->node);
    st = s->batched ? interleave_batch(s, out, err) : interleave_records(s, out, err);
    levada_node_report_emitted(s->context->node, s->emitted);
    if (st == LEVADA_END && s->context->pass == 0 && !s->context->node->run->resumed) {
        LEVADA_TRY(levada_node_report_absent(s->context->node, &s->found, err));
    }
    return st;
}

/* -- saving */

static levada_status interleave_save_slot(const interleave_state *s, int32_t i,
                                          levada_state_writer *to, levada_error *err)
{
    const interleave_slot *slot = &s->slots[i];
    char                   key[24];

    if (!slot->node) return LEVADA_OK;
    snprintf(key, sizeof key, "record%d", (int)i);
    LEVADA_TRY(levada_records_put(to, key, slot->record, err));
    snprintf(key, sizeof key, "ordinal%d", (int)i);
    LEVADA_TRY(levada_state_put_i64(to, key, slot->ordinal, err));
    snprintf(key, sizeof key, "rest%d", (int)i);
    LEVADA_TRY(levada_input_cursor_save(&slot->cursor, slot->node, to, key, err));
    return levada_node_save(slot->node, to, err);
}

static levada_status interleave_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const interleave_state *s = state;

    LEVADA_TRY(levada_state_put_i64(to, "admitted", s->admitted, err));
    LEVADA_TRY(levada_state_put_i64(to, "turn", s->turn, err));
    LEVADA_TRY(levada_state_put_i64(to, "taken", s->taken, err));
    LEVADA_TRY(levada_state_put_i64(to, "input_ended", s->input_ended, err));
    LEVADA_TRY(levada_cursor_save(&s->input, to, "input", err));
    for (int32_t i = 0; i < s->n; i++) LEVADA_TRY(interleave_save_slot(s, i, to, err));
    return LEVADA_OK;
}

static levada_status interleave_restore_slot(interleave_state *s, int32_t i,
                                             levada_state_reader *from, levada_error *err)
{
    interleave_slot *slot = &s->slots[i];
    char             key[24], origins[40];
    levada_block    *record = NULL;
    levada_status    st;

    interleave_free_slot(s, slot);
    snprintf(key, sizeof key, "record%d", (int)i);
    snprintf(origins, sizeof origins, "%s.origins", key);
    if (!levada_state_has(from, key) && !levada_state_has(from, origins)) return LEVADA_OK;
    LEVADA_TRY(levada_records_get(from, key, &record, err));
    st = record->n == 1 ? LEVADA_OK
                        : levada_state_damaged(from, key, err, "%lld records, 1 was expected",
                                               (long long)record->n);
    if (st == LEVADA_OK) {
        st = levada_block_gather(levada_env_pool(s->context->env), record, &slot->record, err);
    }
    levada_block_unref(&record);
    if (st != LEVADA_OK) return st;
    snprintf(key, sizeof key, "ordinal%d", (int)i);
    LEVADA_TRY(levada_state_get_count(from, key, LEVADA_COUNT_LIMIT, &slot->ordinal, err));
    LEVADA_TRY(interleave_start(s, i, err));
    LEVADA_TRY(levada_node_restore(slot->node, from, err));
    snprintf(key, sizeof key, "rest%d", (int)i);
    LEVADA_TRY(levada_input_cursor_restore(&slot->cursor, slot->node, from, key, err));
    return slot->cursor.block ? interleave_ready(s, slot, err) : LEVADA_OK;
}

static levada_status interleave_restore(void *state, levada_state_reader *from, levada_error *err)
{
    interleave_state *s = state;
    int64_t           admitted, turn, taken, input_ended;

    LEVADA_TRY(levada_state_get_count(from, "admitted", LEVADA_COUNT_LIMIT, &admitted, err));
    LEVADA_TRY(levada_state_get_count(from, "turn", s->n - 1, &turn, err));
    LEVADA_TRY(levada_state_get_count(from, "taken", s->args->block_length - 1, &taken, err));
    LEVADA_TRY(levada_state_get_count(from, "input_ended", 1, &input_ended, err));
    LEVADA_TRY(levada_cursor_restore(&s->input, from, "input", err));
    for (int32_t i = 0; i < s->n; i++) LEVADA_TRY(interleave_restore_slot(s, i, from, err));
    s->admitted = admitted;
    s->turn = (int32_t)turn;
    s->taken = taken;
    s->input_ended = input_ended != 0;
    return LEVADA_OK;
}

static int64_t interleave_copies(const void *args)
{
    return ((const interleave_args *)args)->cycle_length;
}

const levada_combiner_def levada_combiner_interleave = {
    .struct_size = sizeof(levada_combiner_def),
    .name = "interleave",
    .doc = "opens one sub-pipeline per input record and interleaves their records",
    .example = "files:[a.tfrecord,b.tfrecord] | interleave:(tfrecord:\"{path}\"),cycle_length=2",
    .args = interleave_options,
    .args_size = sizeof(interleave_args),
    .state_size = sizeof(interleave_state),
    .state_version = 1,
    .min_inputs = 1,
    .max_inputs = 1,
    .check = interleave_check,
    .open = interleave_open,
    .close = interleave_close,
    .next = interleave_next,
    .save = interleave_save,
    .restore = interleave_restore,
    .cancel = interleave_cancel,
    .copies = interleave_copies,
};
