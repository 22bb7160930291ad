/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in a row: start, start + step, ...
 */
#include <levada/source.h>

typedef struct range_args {
    int64_t count, start, stop, step;
} range_args;

static const levada_arg range_options[] = {
    LEVADA_ARG(INT, range_args, count, .positional = true, .min = 0, .max = INT64_MAX,
               .doc = "count of numbers; null = all before stop"),
    LEVADA_ARG(INT, range_args, start, .otherwise = "0", .doc = "the first number"),
    LEVADA_ARG(INT, range_args, stop,
               .doc = "end of the range, which is not returned; null = count determines it"),
    LEVADA_ARG(INT, range_args, step, .otherwise = "1",
               .doc = "difference of consecutive numbers; may be negative, but not 0"),
    LEVADA_ARG_END,
};

/* Returns how many steps fit between start and an end that is not reached; -1 = more than
 * INT64_MAX. */
static int64_t range_steps(const range_args *a)
{
    bool     up = a->step > 0;
    uint64_t size = up ? (uint64_t)a->step : 0 - (uint64_t)a->step;
    uint64_t way = up ? (uint64_t)a->stop - (uint64_t)a->start
                      : (uint64_t)a->start - (uint64_t)a->stop;

    if (up ? a->start >= a->stop : a->start <= a->stop) return 0;
    way = (way - 1) / size;
    return way >= (uint64_t)INT64_MAX ? -1 : (int64_t)way + 1;
}

/* Returns true if the last of `count` numbers is an int64. */
static bool range_fits(const range_args *a, int64_t count)
{
    bool     up = a->step > 0;
    uint64_t size = up ? (uint64_t)a->step : 0 - (uint64_t)a->step;
    uint64_t space = up ? (uint64_t)INT64_MAX - (uint64_t)a->start
                       : (uint64_t)a->start - (uint64_t)INT64_MIN;

    return count <= 1 || space / size >= (uint64_t)count - 1;
}

static int64_t range_count(const void *args)
{
    const range_args *a = args;

    return a->count != LEVADA_NULL_INT ? a->count : range_steps(a);
}

static levada_status range_check(const void *args, levada_spec **out, levada_error *err)
{
    const range_args *a = args;
    levada_field      field = { .name = "value", .dtype = LEVADA_INT64 };
    bool              count = a->count != LEVADA_NULL_INT, stop = a->stop != LEVADA_NULL_INT;

    if (a->step == 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "step=0 must not be 0");
    }
    if (count == stop) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "set exactly one of count and stop, got %s", count ? "both" : "neither");
    }
    if (range_count(a) < 0 || !range_fits(a, range_count(a))) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the last number is beyond 64 bits; lower stop, count or step");
    }
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status range_open(void *state, const void *args, const levada_context *context,
                                levada_error *err)
{
    (void)args, (void)err;
    *(const levada_context **)state = context;
    return LEVADA_OK;
}

static levada_status range_at(void *state, const void *args, const int64_t *records, int64_t n,
                              levada_block **out, levada_error *err)
{
    const levada_context *context = *(const levada_context **)state;
    const range_args     *a = args;
    levada_builder       *b = NULL;
    void                 *values = NULL;
    levada_status         st;

    LEVADA_TRY(levada_builder_create(context->env, context->out, n, &b, err));
    st = levada_builder_values(b, 0, n, &values, err);
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        ((int64_t *)values)[i] = a->start + records[i] * a->step;
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    return st;
}

const levada_source_def levada_source_range = {
    .struct_size = sizeof(levada_source_def),
    .name = "range",
    .doc = "returns consecutive numbers",
    .example = "range:10",
    .args = range_options,
    .args_size = sizeof(range_args),
    .state_size = sizeof(const levada_context *),
    .state_version = 1,
    .check = range_check,
    .open = range_open,
    .at = range_at,
    .count = range_count,
};
