/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/cuts.h"

#include "base/alloc.h"

/*
 * Let least[j] be the least cost of the first j records. The last of their batches begins at an i:
 *
 *   least[j] = min over i < j of  least[i] + (j - i) * each[j - 1] + price
 *
 * where (j - i) * each[j - 1] is within the budget. The costs ascend, so a later beginning that is
 * better than an earlier one for some j stays better for all larger j. The beginnings that are the
 * best for some j therefore wait in a queue, each with the first j for which it is.
 *
 * A beginning between two records of the same cost is needed only after a batch that is full: any
 * other batch would take the second record too, and the cost would not rise.
 */
typedef struct cuts_begin {
    int32_t i, from; /* the best beginning for j = from and on, until that of the next one */
    int32_t reach;   /* the last j within the budget */
} cuts_begin;

typedef struct cuts_job {
    const double *each;
    double        budget, price;
    double       *least; /* n + 1 */
    cuts_begin   *queue; /* n + 1 */
    int32_t       n;
} cuts_job;

/* Returns the last j such that records [i, j) are within the budget, which is not before `from`. */
static int32_t cuts_reach(const cuts_job *c, int32_t i, int32_t from)
{
    int32_t j = from > i ? from : i + 1;

    while (j < c->n && (double)(j + 1 - i) * c->each[j] <= c->budget) j++;
    return j;
}

/* Returns true if the later beginning is at least as good for j. */
static bool cuts_is_better(const cuts_job *c, const cuts_begin *later, const cuts_begin *earlier,
                           int32_t j)
{
    if (j > earlier->reach) return true;
    return c->least[later->i] + (double)(j - later->i) * c->each[j - 1] <=
           c->least[earlier->i] + (double)(j - earlier->i) * c->each[j - 1];
}

/* Returns the first j after the last record of `later` for which it is better. */
static int32_t cuts_from(const cuts_job *c, const cuts_begin *later, const cuts_begin *earlier)
{
    int32_t low = later->i + 1, high = earlier->reach + 1;

    if (low < earlier->from) low = earlier->from;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;

        if (cuts_is_better(c, later, earlier, middle)) high = middle;
        else low = middle + 1;
    }
    return low;
}

static void cuts_run(const cuts_job *c, int32_t *begin)
{
    cuts_begin *first = c->queue, *end = c->queue;
    cuts_begin  next = { .i = 0, .from = 1, .reach = cuts_reach(c, 0, 0) };

    c->least[0] = 0;
    *end++ = next;
    for (int32_t j = 1; j <= c->n; j++) {
        while (first + 1 < end && first[1].from <= j) first++;
        begin[j] = first->i;
        c->least[j] = c->least[first->i] + (double)(j - first->i) * c->each[j - 1] + c->price;
        if (j == c->n) break;
        if (c->each[j] <= c->each[j - 1] && first->reach > j) continue;
        next = (cuts_begin){ .i = j, .from = j + 1, .reach = cuts_reach(c, j, next.reach) };
        while (end[-1].from > j && cuts_is_better(c, &next, end - 1, end[-1].from)) end--;
        next.from = cuts_from(c, &next, end - 1);
        if (next.from <= c->n) *end++ = next;
    }
}

levada_status levada_cuts_find(const double *each, int32_t n, double budget, double price,
                               int32_t *begin, levada_error *err)
{
    cuts_job c = {
        .each = each,
        .budget = budget,
        .price = price,
        .least = levada_alloc((size_t)(n + 1) * sizeof *c.least),
        .queue = levada_alloc((size_t)(n + 1) * sizeof *c.queue),
        .n = n,
    };
    levada_status st = LEVADA_OK;

    if (c.least && c.queue) cuts_run(&c, begin);
    else st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a window");
    levada_free(c.least);
    levada_free(c.queue);
    return st;
}
