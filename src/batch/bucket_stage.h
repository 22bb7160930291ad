/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucket_by_sequence_length from the inside. Its files:
 *
 *     bucket_by_sequence_length.c  options, checks, the stage
 *     bucket_policy.c              which batch a record joins, with boundaries
 *     bucket_boundaries.c          boundaries as data: reading and finding
 *     choice.c                     choosing boundaries while data flows
 *     bucket_index.c               choosing them from the lengths of an index
 *     bucket_keys.c                ranks that place keys, and read only their own records
 *     lookahead.c                  batches from a sorted window, without boundaries
 *     truncation.c                 cutting records that are longer than the budget
 */
#ifndef LEVADA_BATCH_BUCKET_STAGE_H
#define LEVADA_BATCH_BUCKET_STAGE_H

#include "description/columns.h"
#include "batch/cost_function.h"
#include "batch/lookahead.h"
#include "batch/padding.h"
#include "run/keyed.h"

#define LEVADA_BUCKETS_MOST 65534

typedef enum levada_too_long {
    LEVADA_TOO_LONG_ERROR,
    LEVADA_TOO_LONG_TRUNCATE,
    LEVADA_TOO_LONG_SKIP,
    LEVADA_TOO_LONG_ALONE
} levada_too_long;

typedef struct levada_bucket_stage_args {
    levada_texts        length;
    const levada_value *boundaries; /* numbers or pairs; NULL = chosen */
    levada_ints         batch_sizes;
    int64_t             max_tokens;
    const levada_value *cost; /* a word or a function; NULL = linear */
    int64_t             num_buckets, lookahead, too_long, pad_to_multiple, padding_side;
    const levada_value *padded_shapes, *padding_values;
    bool                pad_to_bucket_boundary, no_padding, drop_remainder;
    levada_ints         ranks; /* rank and world size; none = there are no ranks */
    int64_t             tail;
} levada_bucket_stage_args;

enum { LEVADA_BUCKET_TAIL_PAD, LEVADA_BUCKET_TAIL_DROP };

/* Boundaries: n - 1 numbers, or n - 1 pairs, of n buckets. All-zero has one bucket less than any:
 * levada_buckets_set makes it valid. */
typedef struct levada_buckets {
    int64_t   n;     /* buckets */
    int64_t  *at;    /* owned */
    bool      pairs; /* a record belongs in the first bucket that both of its lengths fit */
    uint16_t *table; /* the bucket of each small length */
} levada_buckets;

/* Reads the option. Every boundary is checked. `out` is all-zero or cleared. */
LEVADA_MUST_USE levada_status levada_buckets_read(const levada_value *boundaries, int64_t fields,
                                                  levada_buckets *out, levada_error *err);
/* Sets the boundaries from n numbers; replaces the content of `out`. */
LEVADA_MUST_USE levada_status levada_buckets_set(levada_buckets *out, const int64_t *at, int64_t n,
                                                 levada_error *err);
void levada_buckets_clear(levada_buckets *buckets);
/* Updates the index; call it after a boundary was changed. */
void levada_buckets_index(levada_buckets *buckets);
/* Returns the bucket of a record with these lengths. Numbers bound their sum. */
int64_t levada_buckets_find(const levada_buckets *buckets, const int64_t *keys, int64_t nkeys);
/* Returns the sum of the lengths, limited to INT64_MAX. */
int64_t levada_lengths_sum(const int64_t *keys, int64_t nkeys);

/* Boundaries that fit the lengths of an index, if there is one; else they follow the data. Then the
 * last LEVADA_CHOICE_WINDOW lengths are kept. The first choice is made from LEVADA_CHOICE_FIRST of
 * them. Another one is considered when their number has doubled, and each LEVADA_CHOICE_PERIOD
 * lengths; it is adopted if it saves a tenth of the padding.
 */
#define LEVADA_CHOICE_FIRST 4096
#define LEVADA_CHOICE_WINDOW 8192
#define LEVADA_CHOICE_PERIOD 65536
#define LEVADA_CHOICE_BUCKETS 16 /* unless num_buckets says otherwise */

typedef struct levada_choice {
    int64_t  buckets, multiple;
    bool     once;   /* the shapes of batches must not change after the first choice */
    bool     made;   /* there is a choice */
    bool     fixed;  /* it is made from an index, for good */
    bool     pending; /* it will be, when the function of costs can be called */
    uint64_t lengths; /* a hash of all that the index has */
    char     why[LEVADA_INDEX_WHY]; /* it is not made from an index */
    int64_t  seen;   /* lengths */
    int64_t *window; /* a ring of the last ones */
} levada_choice;

LEVADA_MUST_USE levada_status levada_choice_open(levada_choice *choice, int64_t buckets,
                                                 int64_t multiple, bool once, levada_error *err);
void levada_choice_close(levada_choice *choice);
/* Notes the length of a record. True if it is time to choose. */
static inline bool levada_choice_add(levada_choice *choice, int64_t length)
{
    int64_t most = length < INT32_MAX ? length : INT32_MAX; /* no batch could be longer */

    choice->window[choice->seen++ % LEVADA_CHOICE_WINDOW] = most > 0 ? most : 0;
    if (!choice->made) return choice->seen >= LEVADA_CHOICE_FIRST;
    return !choice->once && choice->seen % LEVADA_CHOICE_FIRST == 0 &&
           ((choice->seen & (choice->seen - 1)) == 0 || choice->seen % LEVADA_CHOICE_PERIOD == 0);
}
/* Chooses. *changed: `buckets` has other boundaries now. */
LEVADA_MUST_USE levada_status levada_choice_make(levada_choice *choice, levada_buckets *buckets,
                                                 bool *changed, levada_error *err);
/* Chooses for good, from these lengths (ascending) and how often each occurs. */
LEVADA_MUST_USE levada_status levada_choice_fix(levada_choice *choice, levada_buckets *buckets,
                                                const int64_t *lengths, const int64_t *counts,
                                                int64_t n, levada_error *err);
/* Moves the last boundary up, so that a record of this length, less than 2^30, is in a bucket that
 * ends there: to the next power of two that the budget allows, so that few shapes are added. */
LEVADA_MUST_USE levada_status levada_choice_widen(const levada_choice *choice,
                                                  levada_buckets *buckets, const levada_cost *cost,
                                                  int64_t length, levada_error *err);
/* Reports the boundaries as they are now: for levada_iter_explain, and if they were made now, in
 * the log. */
void levada_choice_report(const levada_choice *choice, const levada_buckets *buckets,
                          const levada_context *context, bool made);
LEVADA_MUST_USE levada_status levada_choice_save(const levada_choice  *choice,
                                                 const levada_buckets *buckets,
                                                 levada_state_writer *to, levada_error *err);
LEVADA_MUST_USE levada_status levada_choice_restore(levada_choice *choice, levada_buckets *buckets,
                                                    levada_state_reader *from, levada_error *err);

/* Records over the budget, cut. A record whose cost alone is over it loses the end of each field of
 * `length` that is longer than `limit`. */
typedef struct levada_truncation {
    const levada_texts *fields;
    const levada_cost  *cost;
    int64_t             limit;
} levada_truncation;

/* Computes the longest length that all fields of a record may have within the budget; 0 if none. */
LEVADA_MUST_USE levada_status levada_truncation_limit(const levada_cost *cost, int64_t *limit,
                                                      levada_error *err);
/* Checks that the fields are sequences. */
LEVADA_MUST_USE levada_status levada_truncation_check(const levada_texts *fields,
                                                      const levada_spec *in, levada_error *err);
/* Limits the lengths of one record. */
LEVADA_MUST_USE levada_status levada_truncation_lengths(const levada_truncation *t,
                                                        int64_t *lengths, levada_error *err);
/* Makes the block without the cut ends: a new reference to `in` if nothing is cut. */
LEVADA_MUST_USE levada_status levada_truncation_apply(const levada_truncation *t,
                                                      levada_pool *pool, const levada_block *in,
                                                      levada_block **out, levada_error *err);

/* -- the stage */

typedef struct levada_bucket_stage_rule {
    int64_t     size; /* records of a batch, without a budget */
    levada_cost cost;
} levada_bucket_stage_rule;

/* Groups are buckets, or those of the look-ahead; after them comes one for a record that is too
 * long for any other batch. */
typedef struct levada_bucket_stage {
    levada_grouping           grouping; /* first, as its hooks expect */
    const levada_bucket_stage_args *args;
    levada_cost               cost; /* without the boundary of a bucket */
    levada_truncation         truncation;
    levada_padding_plan       plan;
    levada_derived            flagged; /* the columns with is_padding */
    /* Of next(): */
    int64_t               alone;     /* the last group */
    int64_t               fits;      /* lengths up to this fit in the budget; one field only */
    levada_bucket_stage_rule   *rules;     /* of each bucket */
    levada_buckets        buckets;
    levada_choice         choice;
    int64_t               recalled;  /* arrivals that the choice has seen before */
    levada_lookahead      ahead;
    levada_cost_function *function;
} levada_bucket_stage;

extern const levada_grouping_policy levada_bucket_stage_policy,
    levada_bucket_stage_lookahead_policy;

/* Sets the rule and the layout of one bucket, whose group must be empty. */
LEVADA_MUST_USE levada_status levada_bucket_stage_set_rule(levada_bucket_stage *s, int64_t bucket,
                                                           levada_error *err);
/* Chooses the boundaries from the index of the files, if that has the lengths. At open; a cost that
 * is a function cannot be computed there, so that the choice is pending then. */
LEVADA_MUST_USE levada_status levada_bucket_stage_choose_indexed(levada_bucket_stage  *s,
                                                                 const levada_context *context,
                                                                 levada_error         *err);
/* Makes the choice that is pending, before the first record is placed. AGAIN: call again. */
LEVADA_MUST_USE levada_status levada_bucket_stage_choose_pending(levada_bucket_stage  *s,
                                                                 const levada_context *context,
                                                                 levada_error         *err);
/* Rules and layouts of the boundaries as they are now. All groups must be empty. */
LEVADA_MUST_USE levada_status levada_bucket_stage_set_rules(levada_bucket_stage *s,
                                                            levada_error        *err);
/* Returns true if keys can take the place of records, for ranks (run/keyed.h). */
bool levada_bucket_stage_needs(const void *args, const levada_spec *in, levada_needed *out);
LEVADA_MUST_USE levada_status levada_bucket_stage_divide(const void *args, const levada_rank *rank,
                                                         levada_value **changes, levada_error *err);
/* Returns EDATA_LOSS if a record of the batch has other lengths than the keys by which it was
 * chosen. */
LEVADA_MUST_USE levada_status levada_bucket_stage_check_keys(const levada_bucket_stage *s,
                                                                const levada_block        *batch,
                                                                levada_error              *err);
bool levada_bucket_stage_is_bounded(const levada_bucket_stage_args *args);
bool levada_bucket_stage_has_budget(const levada_bucket_stage_args *args);

#endif
