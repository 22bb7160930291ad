/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repeat - the input several times, or forever. Each time is an opening of its own:
 * shuffles above it draw another order.
 */

#include "registry/stage_core.h"

#include <levada/stage.h>

typedef struct repeat_args {
    int64_t count;
} repeat_args;

typedef struct repeat_state {
    int64_t done;  /* rounds that have ended          */
    int64_t given; /* records of the current one */
} repeat_state;

static const levada_arg repeat_options[] = {
    LEVADA_ARG(INT, repeat_args, count, .positional = true, .min = 0, .max = INT64_MAX,
               .doc = "number of passes; null = forever"),
    LEVADA_ARG_END,
};

static bool repeat_over(const repeat_state *s, const repeat_args *a)
{
    return a->count != LEVADA_NULL_INT && s->done >= a->count;
}

/* Returns true if the current pass is the last one. */
static bool repeat_last(const repeat_state *s, const repeat_args *a)
{
    return a->count != LEVADA_NULL_INT && s->done + 1 >= a->count;
}

static levada_status repeat_next(void *state, const void *args, levada_input *in,
                                 levada_block **out, levada_error *err)
{
    repeat_state *s = state;
    levada_status st = repeat_over(s, args) ? LEVADA_END : levada_input_next(in, out, err);

    while (st == LEVADA_END && !repeat_over(s, args)) {
        bool empty = s->given == 0;

        /* AGAIN: the next call finds the end again. */
        if (!empty && !repeat_last(s, args)) LEVADA_TRY(levada_input_rewind(in, err));
        s->done++;
        s->given = 0;
        if (empty || repeat_over(s, args)) return LEVADA_END; /* nothing, again and again */
        st = levada_input_next(in, out, err);
    }
    if (st == LEVADA_OK) s->given += levada_block_rows(*out);
    return st;
}

static levada_status repeat_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const repeat_state *s = state;

    LEVADA_TRY(levada_state_put_i64(to, "done", s->done, err));
    return levada_state_put_i64(to, "given", s->given, err);
}

static levada_status repeat_restore(void *state, levada_state_reader *from, levada_error *err)
{
    repeat_state *s = state;
    int64_t       done, given;

    LEVADA_TRY(levada_state_get_count(from, "done", LEVADA_COUNT_LIMIT, &done, err));
    LEVADA_TRY(levada_state_get_count(from, "given", LEVADA_COUNT_LIMIT, &given, err));
    s->done = done;
    s->given = given;
    return LEVADA_OK;
}

static void repeat_vary(const void *args, levada_traits *traits)
{
    int64_t count = ((const repeat_args *)args)->count;

    traits->repeats = count == LEVADA_NULL_INT ? INT64_MAX : count;
}

static int64_t repeat_count(const void *args, int64_t n)
{
    int64_t count = ((const repeat_args *)args)->count;

    return count >= 0 && (n == 0 || count <= INT64_MAX / n) ? n * count : -1;
}

const levada_stage_def levada_stage_repeat = {
    .struct_size = sizeof(levada_stage_def),
    .name = "repeat",
    .doc = "repeats the input several times, or forever",
    .example = "range:5 | repeat:2",
    .mode = LEVADA_MODE_SERIAL,
    .traits =
        LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_NONE, .divides = true,
                      .never_rejects = true, .count = repeat_count, .vary = repeat_vary),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_PASS),
    .args = repeat_options,
    .args_size = sizeof(repeat_args),
    .state_size = sizeof(repeat_state),
    .state_version = 1,
    .next = repeat_next,
    .save = repeat_save,
    .restore = repeat_restore,
};
