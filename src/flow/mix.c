/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mix - records drawn from the inputs by weight.
 *
 * Draw number i is a function of (seed, epoch, pass, i). If weights are shares of tokens, no number
 * is drawn: the next record is from the input that has the least tokens for its weight, so at each
 * moment the shares are right up to one record. An input without weight is not drawn from: one that
 * has ended drops out, and the draw that met its end is made again among the others. Of batches,
 * whole ones are drawn.
 *
 * A state names its inputs, so that it fits a mixture of others: those with a name of the state
 * continue, others begin, and if weights or names differ, the tokens are counted from there on.
 *
 * Weights by step are phases. A phase begins with the draw of its number, or as soon as the one
 * before has no input to draw from. Tokens are counted from its begin.
 */

#include "base/alloc.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"
#include "batch/length.h"
#include "description/columns.h"
#include "option/value_priv.h"
#include "registry/combiner.h"
#include "registry/env_priv.h"
#include "run/context.h"
#include "run/input_cursor.h"
#include "run/plan.h"
#include "state/damaged.h"
#include "tensor/encoded.h"
#include "tensor/merge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MIX_MOST 256

enum { MIX_ALL_EXHAUSTED, MIX_FIRST_EXHAUSTED, MIX_ALL_READ };

typedef struct mix_args {
    const levada_value *weights;
    double              temperature;
    const char         *by;
    int64_t             stop, epoch_size, seed;
    levada_texts        names;
} mix_args;

typedef struct mix_input {
    levada_input      *in;
    levada_cursor      cursor;
    levada_merge_input rows;
    double             weight; /* in this phase; 0 once the input has ended           */
    bool               ended;  /* nothing is drawn from it any more                   */
    bool               read;   /* to its end, at least once                           */
    bool               again;  /* it began again, and nothing has come of it since    */
    int64_t            drawn, tokens; /* in the pass; in the phase */
    int64_t           *lengths; /* of the rows of the block; NULL if tokens do not count */
    int64_t            capacity;
} mix_input;

typedef struct mix_state {
    const levada_context *context;
    const mix_args       *args;
    mix_input            *inputs;
    int32_t               n;
    bool                  batched;
    double                sum; /* of the weights */
    int64_t               ordinal, phase;
    levada_merge          merge; /* the block that is being made; empty between two calls */
} mix_state;

static const levada_arg mix_options[] = {
    LEVADA_ARG(VALUE, mix_args, weights,
               .doc = "one number for each input, at least 0; null = equal weights; or "
                      "[[step, weights], ...]: weights that apply from this record (batch) of the "
                      "pass on; the first step is 0"),
    LEVADA_ARG(FLOAT, mix_args, temperature, .otherwise = "1",
               .doc = "more than 1 makes weights more equal: weight ** (1 / temperature)"),
    LEVADA_ARG(TEXT, mix_args, by, .otherwise = "records",
               .doc = "records = weights are shares of records (batches); or a field: weights are "
                      "shares of tokens, and a record has as many tokens as the field is long, or "
                      "as the value of an integer field"),
    LEVADA_ARG(CHOICE, mix_args, stop, .choices = "all_exhausted|first_exhausted|all_read",
               .doc = "all_exhausted: draw from the other inputs when one ends, until all have "
                      "ended; first_exhausted: end when the first input ends; all_read: restart "
                      "inputs that end, until each was read once"),
    LEVADA_ARG(INT, mix_args, epoch_size, .min = 1, .max = INT64_MAX,
               .doc = "maximum number of records (batches) in an epoch; null = no limit"),
    LEVADA_ARG(TEXTS, mix_args, names,
               .doc = "a name of each input, for the statistics; null = input0, input1, ..."),
    LEVADA_ARG(INT, mix_args, seed, .min = 0, .max = INT64_MAX,
               .doc = "seed of this stage; null = the seed of the iterator"),
    LEVADA_ARG_END
};

/* -- phases */

static bool mix_has_phases(const mix_args *a)
{
    return a->weights && levada_value_count(a->weights) > 0 &&
           levada_value_kind_of(levada_value_item(a->weights, 0)) == LEVADA_VALUE_LIST;
}

static int64_t mix_phases(const mix_args *a)
{
    return mix_has_phases(a) ? levada_value_count(a->weights) : 1;
}

/* Returns the number of the first draw of a phase. */
static int64_t mix_begin(const mix_args *a, int64_t phase)
{
    const levada_value *one = mix_has_phases(a) ? levada_value_item(a->weights, phase) : NULL;

    return one ? levada_value_as_int(levada_value_item(one, 0)) : 0;
}

/* Returns the numbers of a phase; NULL = equal weights. */
static const levada_value *mix_numbers(const mix_args *a, int64_t phase)
{
    if (!mix_has_phases(a)) return a->weights;
    return levada_value_item(levada_value_item(a->weights, phase), 1);
}

static double mix_weight(const mix_args *a, int64_t phase, int32_t i)
{
    const levada_value *numbers = mix_numbers(a, phase);
    double              w = numbers ? levada_value_as_float(levada_value_item(numbers, i)) : 1.0;

    return a->temperature == 1 || w <= 0 ? w : pow(w, 1 / a->temperature);
}

static levada_status mix_check_phase(const mix_args *a, int64_t phase, levada_error *err)
{
    const levada_value *one = levada_value_item(a->weights, phase);
    bool pair = levada_value_kind_of(one) == LEVADA_VALUE_LIST && levada_value_count(one) == 2;
    char shown[LEVADA_VALUE_SHOWN];

    if (!pair || levada_value_kind_of(levada_value_item(one, 0)) != LEVADA_VALUE_INT ||
        levada_value_kind_of(levada_value_item(one, 1)) != LEVADA_VALUE_LIST) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "weights[%lld] must be [step, [a number for each input]], got %s",
                           (long long)phase, levada_value_shown(one, LEVADA_PRINT_TEXT, shown));
    }
    if (phase ? mix_begin(a, phase) > mix_begin(a, phase - 1) : mix_begin(a, phase) == 0) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "weights[%lld]: step %lld must be %s", (long long)phase,
                       (long long)mix_begin(a, phase), phase ? "more than the one before" : "0");
}

static levada_status mix_check_numbers(const levada_value *weights, int32_t n, levada_error *err)
{
    double sum = 0;

    if (!weights) return LEVADA_OK;
    if (levada_value_count(weights) != n) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "len(weights)=%lld must be the number of inputs, %d",
                           (long long)levada_value_count(weights), n);
    }
    for (int32_t i = 0; i < n; i++) {
        char                shown[LEVADA_VALUE_SHOWN];
        const levada_value *v = levada_value_item(weights, i);
        levada_value_kind   kind = levada_value_kind_of(v);
        double              w = levada_value_as_float(v);

        if ((kind != LEVADA_VALUE_INT && kind != LEVADA_VALUE_FLOAT) || !(w >= 0) || w > 1e300) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "weights[%d] must be a number of at least 0, got %s",
                               i, levada_value_shown(v, LEVADA_PRINT_TEXT, shown));
        }
        sum += w;
    }
    if (sum > 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "at least one weight must be more than 0, but all are 0");
}

static levada_status mix_check_weights(const mix_args *a, int32_t n, levada_error *err)
{
    for (int64_t phase = 0; phase < mix_phases(a); phase++) {
        if (mix_has_phases(a)) LEVADA_TRY(mix_check_phase(a, phase, err));
        LEVADA_TRY(mix_check_numbers(mix_numbers(a, phase), n, err));
    }
    return LEVADA_OK;
}

static bool mix_by_tokens(const mix_args *a) { return strcmp(a->by, "records") != 0; }

static levada_status mix_check_names(const levada_texts *names, levada_error *err)
{
    for (int64_t i = 0; i < names->n; i++) {
        for (int64_t k = 0; k < i; k++) {
            if (strcmp(names->at[i], names->at[k]) != 0) continue;
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "names[%lld] and names[%lld] are both '%s': names of inputs must "
                               "differ", (long long)k, (long long)i, names->at[i]);
        }
    }
    return LEVADA_OK;
}

static levada_status mix_check_options(const mix_args *a, const levada_spec *in, int32_t n,
                                       levada_error *err)
{
    LEVADA_TRY(mix_check_weights(a, n, err));
    if (!(a->temperature > 0) || a->temperature > 1e6) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "temperature=%g must be more than 0, and at most 1,000,000",
                           a->temperature);
    }
    if (a->names.n && a->names.n != n) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "len(names)=%lld must be the number of inputs, %d",
                           (long long)a->names.n, n);
    }
    LEVADA_TRY(mix_check_names(&a->names, err));
    return mix_by_tokens(a) ? levada_length_check(a->by, in, err) : LEVADA_OK;
}

/* Names a field that one input has in another form, or not at all. */
static levada_status mix_differs(const levada_spec *first, const levada_spec *other, int32_t input,
                                 levada_error *err)
{
    for (int32_t k = 0; k < levada_spec_count(first) + levada_spec_count(other); k++) {
        bool                is_first = k < levada_spec_count(first);
        int32_t             i = is_first ? k : k - levada_spec_count(first);
        const levada_field *f = levada_spec_field(is_first ? first : other, i), *g;
        const levada_spec  *with = is_first ? other : first;

        g = levada_spec_field(with, levada_spec_find(with, f->name));
        if (!g) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the fields of all inputs must be equal: input %d has '%s', input "
                               "%d has not; use select to make them equal",
                               is_first ? 0 : input, f->name, is_first ? input : 0);
        }
        if (f->dtype == g->dtype && f->depth == g->depth && f->ndim == g->ndim &&
            memcmp(f->dims, g->dims, sizeof(f->dims[0]) * f->ndim) == 0) {
            continue;
        }
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the fields of all inputs must be equal: '%s' of input %d is %s with %d "
                           "ragged levels and %d dimensions, of input 0 %s with %d and %d%s; use "
                           "cast, or map, to make them equal",
                           f->name, input, levada_dtype_name(g->dtype), g->depth, g->ndim,
                           levada_dtype_name(f->dtype), f->depth, f->ndim,
                           f->depth == g->depth && f->ndim == g->ndim && f->dtype == g->dtype
                               ? " of other sizes"
                               : "");
    }
    return levada_fail(
        err, LEVADA_EINVALID_ARGUMENT,
        "input %d has different fields than input 0: their order or padding differs; "
        "use select to make them equal",
        input);
}

static levada_status mix_check(const void *args, const levada_spec *const *in, int32_t nin,
                               levada_spec **out, levada_error *err)
{
    const mix_args *a = args;
    int32_t         flags = 0;

    if (nin > MIX_MOST) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "mix must have at most %d inputs, got %d", MIX_MOST, nin);
    }
    LEVADA_TRY(levada_spec_want_alike(in, nin, &flags, err));
    for (int32_t i = 1; i < nin; i++) {
        bool open = (levada_spec_flags_of(in[0]) | levada_spec_flags_of(in[i])) & LEVADA_SPEC_OPEN;

        if (open || levada_spec_equal(in[0], in[i])) continue;
        return mix_differs(in[0], in[i], i, err);
    }
    LEVADA_TRY(mix_check_options(a, in[0], nin, err));
    *out = levada_spec_ref(in[0]);
    return LEVADA_OK;
}

static void mix_sum(mix_state *s)
{
    s->sum = 0;
    for (int32_t i = 0; i < s->n; i++) s->sum += s->inputs[i].weight;
}

static void mix_enter(mix_state *s, const mix_args *a, int64_t phase)
{
    s->phase = phase;
    for (int32_t i = 0; i < s->n; i++) {
        s->inputs[i].weight = s->inputs[i].ended ? 0 : mix_weight(a, phase, i);
        s->inputs[i].tokens = 0;
    }
    mix_sum(s);
}

/* Counts a draw, which may be the last one of its phase. */
static void mix_count(mix_state *s, const mix_args *a)
{
    s->ordinal++;
    if (s->phase + 1 < mix_phases(a) && s->ordinal >= mix_begin(a, s->phase + 1)) {
        mix_enter(s, a, s->phase + 1);
    }
}

static levada_status mix_open(void *state, const void *args, const levada_context *context,
                              levada_input *const *in, int32_t nin, levada_error *err)
{
    mix_state *s = state;

    s->context = context;
    s->args = args;
    s->batched = levada_spec_flags_of(context->out) & LEVADA_SPEC_BATCHED;
    s->inputs = levada_alloc_zero((size_t)nin * sizeof *s->inputs + 1);
    if (!s->inputs) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                       "out of memory while mixing inputs");
    s->n = nin;
    for (int32_t i = 0; i < nin; i++) s->inputs[i].in = in[i];
    mix_enter(s, args, 0);
    return LEVADA_OK;
}

static void mix_close(void *state)
{
    mix_state *s = state;

    for (int32_t i = 0; i < s->n; i++) {
        levada_cursor_clear(&s->inputs[i].cursor);
        levada_merge_input_clear(&s->inputs[i].rows);
        levada_free(s->inputs[i].lengths);
    }
    levada_merge_clear(&s->merge);
    levada_free(s->inputs);
}

static uint64_t mix_key(const mix_state *s, const mix_args *a)
{
    return levada_random_key(levada_draw_key(s->context, a->seed), (uint64_t)s->context->pass);
}

/* Returns the input of a random draw. */
static mix_input *mix_draw_record(const mix_state *s, uint64_t key)
{
    double     at = levada_random_unit(levada_random_at(key, (uint64_t)s->ordinal)) * s->sum;
    mix_input *last = NULL;

    for (int32_t i = 0; i < s->n; i++) {
        mix_input *input = &s->inputs[i];

        if (input->weight <= 0) continue;
        last = input;
        if (at < input->weight) break;
        at -= input->weight;
    }
    return last; /* rounding: the last one that is left */
}

/* Returns the input with the least tokens for its weight; the first of several. */
static mix_input *mix_draw_tokens(const mix_state *s)
{
    mix_input *least = NULL;

    for (int32_t i = 0; i < s->n; i++) {
        mix_input *input = &s->inputs[i];

        if (input->weight <= 0) continue;
        if (!least || (double)input->tokens / input->weight < (double)least->tokens / least->weight)
            least = input;
    }
    return least;
}

/* Returns the input of the next draw, or NULL when the epoch is over. */
static mix_input *mix_draw(mix_state *s, const mix_args *a, uint64_t key)
{
    mix_input *input;

    if (a->epoch_size != LEVADA_NULL_INT && s->ordinal >= a->epoch_size) return NULL;
    while (!(input = mix_by_tokens(a) ? mix_draw_tokens(s) : mix_draw_record(s, key))) {
        if (s->phase + 1 == mix_phases(a)) return NULL;
        mix_enter(s, a, s->phase + 1);
    }
    return input;
}

static void mix_drop(mix_input *input)
{
    input->ended = true;
    input->weight = 0;
}

/* Returns true if an input has a weight now or later. */
static bool mix_wanted(const mix_state *s, const mix_args *a, int32_t i)
{
    for (int64_t phase = s->phase; phase < mix_phases(a); phase++) {
        if (mix_weight(a, phase, i) > 0) return true;
    }
    return false;
}

static bool mix_all_read(const mix_state *s, const mix_args *a)
{
    for (int32_t i = 0; i < s->n; i++) {
        if (!s->inputs[i].read && mix_wanted(s, a, i)) return false;
    }
    return true;
}

/* Handles the end of an input: OK if there may be others to draw from, or it begins again. */
static levada_status mix_ended(mix_state *s, const mix_args *a, mix_input *input,
                               levada_error *err)
{
    if (a->stop == MIX_ALL_READ && !input->again) {
        input->read = true;
        if (!mix_all_read(s, a)) {
            LEVADA_TRY(levada_input_rewind(input->in, err)); /* AGAIN: its end is met again */
            input->again = true;
            return LEVADA_OK;
        }
    }
    if (a->stop == MIX_FIRST_EXHAUSTED || (a->stop == MIX_ALL_READ && mix_all_read(s, a))) {
        for (int32_t i = 0; i < s->n; i++) mix_drop(&s->inputs[i]);
    }
    mix_drop(input); /* even if it began again, and is empty */
    mix_sum(s);
    return LEVADA_OK;
}

static levada_status mix_measure(mix_input *input, const mix_args *a, levada_error *err)
{
    const levada_block *block = input->cursor.block;

    if (!mix_by_tokens(a)) return LEVADA_OK;
    if (!levada_reserve(&input->lengths, &input->capacity, block->n, sizeof *input->lengths)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while mixing inputs");
    }
    return levada_length_measure(a->by, block, input->lengths, 1, err);
}

/* Makes sure that the input holds an unused record or batch, with the columns of all. END: it has
 * ended, and what is drawn may be another. `hurry`: levada_cursor_fill_hurried. */
static levada_status mix_fill(mix_state *s, const mix_args *a, mix_input *input, bool hurry,
                              levada_error *err)
{
    levada_cursor *c = &input->cursor;
    levada_status  st;

    input->rows.block = NULL;
    st = levada_cursor_fill_hurried(c, input->in, hurry, err);
    if (st == LEVADA_END) LEVADA_TRY(mix_ended(s, a, input, err));
    LEVADA_TRY(st);
    input->again = false;
    if (c->row == 0) {
        LEVADA_TRY(levada_columns_adapt(levada_env_pool(s->context->env), s->context->out,
                                        &c->block, err));
    }
    LEVADA_TRY(mix_measure(input, a, err));
    return levada_merge_switch(&input->rows, c->block, err);
}

/* Emits the next batch of the input that is drawn, whole. */
static levada_status mix_batch(mix_state *s, const mix_args *a, uint64_t key, levada_block **out,
                               levada_error *err)
{
    mix_input *input;

    while ((input = mix_draw(s, a, key)) != NULL) {
        levada_status st = mix_fill(s, a, input, false, err);

        if (st == LEVADA_END) continue;
        LEVADA_TRY(st);
        input->drawn++;
        for (int64_t i = 0; input->lengths && i < input->cursor.block->n; i++) {
            input->tokens += input->lengths[i];
        }
        mix_count(s, a);
        *out = input->cursor.block;
        input->cursor.block = NULL;
        return LEVADA_OK;
    }
    return LEVADA_END;
}

/* Emits records; whatever stops it is returned again after the records before it. */
static levada_status mix_records(mix_state *s, const mix_args *a, uint64_t key,
                                 levada_block **out, levada_error *err)
{
    levada_status st;

    LEVADA_TRY(levada_merge_begin(&s->merge, levada_env_pool(s->context->env),
                                  s->context->block_rows, err));
    while (s->merge.n < s->merge.capacity) {
        mix_input *input = mix_draw(s, a, key);

        if (!input) break;
        if (!input->rows.block || input->cursor.row == input->rows.block->n) {
            st = mix_fill(s, a, input, s->merge.n > 0, err);
            if (st == LEVADA_END) continue;
            if (st != LEVADA_OK && s->merge.n > 0) break;
            LEVADA_TRY(st);
        }
        if (input->lengths) input->tokens += input->lengths[input->cursor.row];
        input->drawn++;
        levada_merge_row(&s->merge, &input->rows, input->cursor.row++);
        mix_count(s, a);
    }
    return s->merge.n > 0 ? levada_merge_end(&s->merge, out, err) : LEVADA_END;
}

static void mix_show(const mix_state *s, const mix_args *a)
{
    static const char *const names[] = { "input0", "input1", "input2", "input3",
                                         "input4", "input5", "input6", "input7" };
    const int32_t            most = (int32_t)(sizeof names / sizeof names[0]);

    for (int32_t i = 0; i < s->n && i < most; i++) {
        const char *name = a->names.n ? a->names.at[i] : names[i];

        levada_context_set_gauge(s->context, i, name, s->inputs[i].drawn, false);
    }
}

static levada_status mix_next(void *state, const void *args, levada_block **out, levada_error *err)
{
    mix_state    *s = state;
    uint64_t      key = mix_key(s, args);
    levada_status st = s->batched ? mix_batch(s, args, key, out, err)
                                  : mix_records(s, args, key, out, err);

    mix_show(s, args);
    return st;
}

/* -- saving */

#define MIX_COUNTS 4 /* of each input: ended, drawn, tokens, read; the names of their entries */
static const char *const mix_counts[MIX_COUNTS] = { "ended", "drawn", "tokens", "read" };

/* Makes the key of the cursor on input i, and the path that it is at: that of the input, if it has
 * a name. */
static levada_status mix_place(const mix_state *s, int32_t i, char key[24],
                               char path[LEVADA_STATE_PATH], levada_error *err)
{
    const char *combiner = s->context->node->path;

    if (s->args->names.n) {
        snprintf(key, 24, "input");
        return levada_node_input_path(combiner, s->args->names.at[i], path, err);
    }
    snprintf(key, 24, "input%d", i);
    snprintf(path, LEVADA_STATE_PATH, "%s", combiner);
    return LEVADA_OK;
}

static levada_status mix_save_cursor(const mix_state *s, int32_t i, levada_state_writer *to,
                                     levada_error *err)
{
    const char   *before = to->scope.path;
    char          key[24], path[LEVADA_STATE_PATH];
    levada_status st;

    LEVADA_TRY(mix_place(s, i, key, path, err));
    to->scope.path = path;
    st = levada_input_cursor_save(&s->inputs[i].cursor, s->inputs[i].in, to, key, err);
    to->scope.path = before;
    return st;
}

/* Sets *out to a number that differs where weights or names do. */
static levada_status mix_hash(const mix_args *a, int64_t *out, levada_error *err)
{
    levada_text text = { 0 };

    if (a->weights) levada_value_print(&text, a->weights, LEVADA_PRINT_JSON);
    levada_text_format(&text, " %.17g", a->temperature);
    for (int64_t i = 0; i < a->names.n; i++) levada_text_format(&text, " %s", a->names.at[i]);
    if (text.failed) {
        levada_text_clear(&text);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a checkpoint");
    }
    *out = (int64_t)(levada_hash64(text.at, text.size, 0) >> 1);
    levada_text_clear(&text);
    return LEVADA_OK;
}

/* Saves what the inputs are called, each name with its zero, and the weights. */
static levada_status mix_save_names(const mix_args *a, levada_state_writer *to, levada_error *err)
{
    levada_text   text = { 0 };
    int64_t       hash = 0;
    levada_status st;

    if (!a->names.n) return LEVADA_OK;
    LEVADA_TRY(mix_hash(a, &hash, err));
    LEVADA_TRY(levada_state_put_i64(to, "mixture", hash, err));
    for (int64_t i = 0; i < a->names.n; i++) {
        levada_text_add(&text, a->names.at[i], strlen(a->names.at[i]) + 1);
    }
    st = text.failed ? levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                   "out of memory for a checkpoint")
                     : levada_state_put_bytes(to, "names", text.at, text.size, err);
    levada_text_clear(&text);
    return st;
}

static levada_status mix_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const mix_state *s = state;
    int64_t          counts[MIX_COUNTS][MIX_MOST];

    for (int32_t i = 0; i < s->n; i++) {
        counts[0][i] = s->inputs[i].ended;
        counts[1][i] = s->inputs[i].drawn;
        counts[2][i] = s->inputs[i].tokens;
        counts[3][i] = s->inputs[i].read + 2 * s->inputs[i].again;
        LEVADA_TRY(mix_save_cursor(s, i, to, err));
    }
    for (int k = 0; k < MIX_COUNTS; k++) {
        LEVADA_TRY(levada_state_put_i64s(to, mix_counts[k], counts[k], s->n, err));
    }
    LEVADA_TRY(mix_save_names(s->args, to, err));
    if (s->phase) LEVADA_TRY(levada_state_put_i64(to, "phase", s->phase, err));
    return levada_state_put_i64(to, "ordinal", s->ordinal, err);
}

/* What a state has of the inputs. */
typedef struct mix_saved {
    const int64_t *counts[MIX_COUNTS]; /* of each; NULL = not saved, by an earlier version */
    const char    *names[MIX_MOST];    /* NULL = they have none */
    int64_t        n;
    bool           same; /* inputs and weights are those of the stage */
} mix_saved;

static levada_status mix_read_names(mix_saved *saved, levada_state_reader *from, levada_error *err)
{
    const void *names = NULL;
    const char *at;
    size_t      size = 0;
    int64_t     n = 0;

    LEVADA_TRY(levada_state_get_bytes(from, "names", &names, &size, err));
    for (at = names; size > 0 && n < MIX_MOST; n++) {
        size_t length = strnlen(at, size);

        if (length == size) break;
        saved->names[n] = at;
        at += length + 1;
        size -= length + 1;
    }
    if (size == 0 && n == saved->n) return LEVADA_OK;
    return levada_state_damaged(from, "names", err, "not a name for each of %lld inputs",
                                (long long)saved->n);
}

/* Reads counts. Checkpoints of earlier versions lack all but the first, because those versions had
 * no option that needs them. */
static levada_status mix_read_counts(mix_saved *saved, levada_state_reader *from,
                                     levada_error *err)
{
    for (int k = 0; k < MIX_COUNTS; k++) {
        int64_t n = 0;

        if (k > 0 && !levada_state_has(from, mix_counts[1])) return LEVADA_OK;
        LEVADA_TRY(levada_state_get_i64s(from, mix_counts[k], &saved->counts[k], &n, err));
        if (k == 0) saved->n = n;
        for (int64_t i = 0; i < n && n == saved->n; i++) {
            int64_t one = saved->counts[k][i];

            if (one < 0 || one > LEVADA_COUNT_LIMIT) n = -1;
        }
        if (n == saved->n && n <= MIX_MOST) continue;
        return levada_state_damaged(from, mix_counts[k], err,
                                    "not a number for each of %lld inputs", (long long)saved->n);
    }
    return LEVADA_OK;
}

static levada_status mix_read(const mix_state *s, mix_saved *saved, levada_state_reader *from,
                              levada_error *err)
{
    int64_t now = 0, was = 0;

    *saved = (mix_saved){ .same = true };
    LEVADA_TRY(mix_read_counts(saved, from, err));
    if (s->args->names.n) {
        if (!saved->counts[1]) return levada_state_damaged(from, mix_counts[1], err, "is missing");
        LEVADA_TRY(mix_read_names(saved, from, err));
        LEVADA_TRY(mix_hash(s->args, &now, err));
        LEVADA_TRY(levada_state_get_count(from, "mixture", INT64_MAX, &was, err));
        saved->same = now == was;
    } else if (saved->n != s->n) {
        return levada_state_damaged(from, "ended", err, "%lld numbers for %d inputs",
                                    (long long)saved->n, (int)s->n);
    }
    return LEVADA_OK;
}

/* Returns the number that input i has in the state; -1: it is not there. */
static int64_t mix_find(const mix_state *s, const mix_saved *saved, int32_t i)
{
    if (!s->args->names.n) return i;
    for (int64_t k = 0; k < saved->n; k++) {
        if (strcmp(saved->names[k], s->args->names.at[i]) == 0) return k;
    }
    return -1;
}

static levada_status mix_restore_cursor(const mix_state *s, int32_t i, levada_state_reader *from,
                                        levada_error *err)
{
    const char   *before = from->scope.path;
    char          key[24], path[LEVADA_STATE_PATH];
    levada_status st;

    LEVADA_TRY(mix_place(s, i, key, path, err));
    from->scope.path = path;
    st = levada_input_cursor_restore(&s->inputs[i].cursor, s->inputs[i].in, from, key, err);
    from->scope.path = before;
    return st;
}

static levada_status mix_restore_input(const mix_state *s, int32_t i, const mix_saved *saved,
                                       levada_state_reader *from, levada_error *err)
{
    mix_input *input = &s->inputs[i];
    int64_t    k = mix_find(s, saved, i);

    if (k < 0) return LEVADA_OK; /* it begins */
    LEVADA_TRY(mix_restore_cursor(s, i, from, err));
    input->rows.block = NULL;
    input->ended = saved->counts[0][k];
    if (!saved->counts[1]) return LEVADA_OK;
    input->drawn = saved->counts[1][k];
    input->tokens = saved->same ? saved->counts[2][k] : 0;
    input->read = saved->counts[3][k] & 1;
    input->again = saved->counts[3][k] & 2;
    return LEVADA_OK;
}

/* Notes an input of the state that is not among those of the stage. */
static levada_status mix_note_removed(const mix_state *s, const mix_saved *saved, int64_t k,
                                      levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;

    (void)levada_fail(&why, LEVADA_EFAILED_PRECONDITION,
                      "the input '%s' was removed after %lld of its %s were drawn",
                      saved->names[k], (long long)saved->counts[1][k],
                      s->batched ? "batches" : "records");
    levada_error_place(&why, s->context->node->path, NULL, -1, -1);
    return levada_node_note_restored(s->context->node, &why, err);
}

/* Notes inputs that were removed, and ends all where one that ended would have ended them. */
static levada_status mix_compare_inputs(mix_state *s, const mix_saved *saved, levada_error *err)
{
    bool over = s->args->stop != MIX_ALL_EXHAUSTED;

    for (int64_t k = 0; k < saved->n; k++) {
        bool kept = false;

        over = over && saved->counts[0][k];
        for (int32_t i = 0; !kept && i < s->n; i++) kept = mix_find(s, saved, i) == k;
        if (!kept) LEVADA_TRY(mix_note_removed(s, saved, k, err));
    }
    for (int32_t i = 0; over && i < s->n; i++) s->inputs[i].ended = true;
    return LEVADA_OK;
}

/* Enters the phase of the state; of other weights that of the next draw. */
static levada_status mix_restore_phase(mix_state *s, const mix_saved *saved,
                                       levada_state_reader *from, levada_error *err)
{
    int64_t last = mix_phases(s->args) - 1, phase = 0, tokens[MIX_MOST];

    if (levada_state_has(from, "phase")) {
        LEVADA_TRY(levada_state_get_count(from, "phase", saved->same ? last : LEVADA_COUNT_LIMIT,
                                          &phase, err));
    }
    if (!saved->same) {
        for (phase = last; s->ordinal < mix_begin(s->args, phase);) phase--;
    }
    for (int32_t i = 0; i < s->n; i++) tokens[i] = s->inputs[i].tokens;
    mix_enter(s, s->args, phase);
    for (int32_t i = 0; i < s->n; i++) s->inputs[i].tokens = tokens[i];
    return LEVADA_OK;
}

static levada_status mix_restore(void *state, levada_state_reader *from, levada_error *err)
{
    mix_state *s = state;
    mix_saved  saved;
    int64_t    ordinal;

    if (levada_state_has(from, "n")) { /* version 1, with records that were drawn */
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the checkpoint was saved by an older version of the stage; use the "
                           "version of levada that saved it");
    }
    LEVADA_TRY(levada_state_get_count(from, "ordinal", LEVADA_COUNT_LIMIT, &ordinal, err));
    LEVADA_TRY(mix_read(s, &saved, from, err));
    for (int32_t i = 0; i < s->n; i++) LEVADA_TRY(mix_restore_input(s, i, &saved, from, err));
    LEVADA_TRY(mix_compare_inputs(s, &saved, err));
    s->ordinal = ordinal;
    return mix_restore_phase(s, &saved, from, err);
}

/* Marks that parts of the records do not end together, if the epoch ends by a number or by one
 * input. */
static void mix_vary(const void *args, levada_traits *traits)
{
    const mix_args *a = args;

    traits->divides = a->stop == MIX_ALL_EXHAUSTED && a->epoch_size == LEVADA_NULL_INT;
    if (a->stop == MIX_ALL_READ) traits->repeats = INT64_MAX;
}

const levada_combiner_def levada_combiner_mix = {
    .struct_size = sizeof(levada_combiner_def),
    .name = "mix",
    .doc = "draws records (batches) from several inputs by weight",
    .example = "mix(range:10; range:5,start=100):weights=[2,1],seed=3",
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_SUBSET, .reads = LEVADA_READS_NONE,
                            .random = LEVADA_RANDOM_BY_PASS, .drawn = "choice of inputs",
                            .divides = true, .vary = mix_vary),
    .late = LEVADA_LATE_PASS,
    .args = mix_options,
    .args_size = sizeof(mix_args),
    .state_size = sizeof(mix_state),
    .state_version = 2,
    .min_inputs = 1,
    .max_inputs = -1,
    .check = mix_check,
    .open = mix_open,
    .close = mix_close,
    .next = mix_next,
    .save = mix_save,
    .restore = mix_restore,
};
