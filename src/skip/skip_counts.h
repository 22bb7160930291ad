/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was left out, how often and why.
 */
#ifndef LEVADA_SKIP_SKIP_COUNTS_H
#define LEVADA_SKIP_SKIP_COUNTS_H

#include <levada/error.h>

#include <stdatomic.h>

#define LEVADA_RUN_NOTES 64
/* The message of a note that names a file without a record: nothing was skipped there. */
#define LEVADA_FILE_EMPTY "there is no record in the file"

/* What was left out at one place; the budget of `errors=` counts there, in the order of records. */
typedef struct levada_skip_counts {
    atomic_llong bad;        /* records; a place of damage in a file counts as one              */
    atomic_llong seen;       /* good and bad ones that stages saw                               */
    atomic_llong given;      /* combiners that open pipes: good ones, in the order of their turns */
    atomic_llong pulled;    /* SERIAL stages: what their input gave before a restore             */
    atomic_llong unseen;    /* of files, beyond `bad`: estimated for a budget in percent         */
    atomic_llong damaged;   /* bytes                                                             */
    atomic_llong missing, empty; /* files */
    atomic_llong dropped;   /* records that stages left out by design, such as drop_remainder    */
} levada_skip_counts;

/* Losses upstream of some place, as of the records that have passed it. */
typedef struct levada_losses {
    int64_t skipped, damaged_bytes, missing, empty, dropped;
} levada_losses;

/* Why something was left out, and where that is counted. */
typedef struct levada_note {
    levada_error        why;
    const levada_skip_counts *of;
    int64_t             number; /* in the order of all of a run, restored ones included */
} levada_note;

/* Adds the other losses so many times. */
void levada_losses_add(levada_losses *to, const levada_losses *more, int64_t times);

#endif
