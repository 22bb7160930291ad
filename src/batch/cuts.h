/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best cuts of a sorted window of records into batches: those with the least padding.
 *
 * A batch costs its number of records times the cost of its longest one, at most a budget, and a
 * price on top: a batch more must save more padding than that. Pure, any thread.
 */
#ifndef LEVADA_BATCH_CUTS_H
#define LEVADA_BATCH_CUTS_H

#include "base/compiler.h"
#include <levada/error.h>

#include <stdint.h>

/* Finds the cuts. each[i], ascending: what record i costs in a batch of which it is the longest. A
 * batch of one may exceed the budget. Writes where the batch that ends after record i - 1 begins
 * into begin[i], for i = 1 to n: the last batch is [begin[n], n), the one before it
 * [begin[begin[n]], begin[n]). */
LEVADA_MUST_USE levada_status levada_cuts_find(const double *each, int32_t n, double budget,
                                               double price, int32_t *begin, levada_error *err);

#endif
