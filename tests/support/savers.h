/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State savers of small examples whose content follows from their number k and the step t: the
 * sequence "tokens" has k * 10000 + t, the context "id" has k, the states "h" (3 floats) and "c"
 * (an integer) begin with 0 and k, and every segment adds 1.
 */
#ifndef LEVADA_TESTS_SAVERS_H
#define LEVADA_TESTS_SAVERS_H

#include <levada/state_saver.h>

#define TEST_SAVER_H 3

/* Of that batch_size and num_unroll; everything else is the default. */
levada_state_saver_options test_saver_options(int64_t batch_size, int64_t num_unroll);
/* Adds the fields to the options. */
levada_state_saver *test_saver_of(const levada_state_saver_options *options);
levada_state_saver *test_saver(int64_t batch_size, int64_t num_unroll);

/* Example k of that number of steps, all real. Its key is "k" and the number. */
levada_status test_saver_insert(levada_state_saver *saver, int64_t k, int64_t steps,
                                int64_t ordinal, bool reserved, int64_t timeout,
                                levada_error *err);
void test_saver_put(levada_state_saver *saver, int64_t k, int64_t steps);
/* A batch of n (-1 = the saver's), whose content is checked. NULL: none at once, or the status. */
levada_segment_batch *test_saver_take(levada_state_saver *saver, int64_t n);
levada_segment_batch *test_saver_wait(levada_state_saver *saver, int64_t n, int64_t timeout,
                                      levada_status *status, levada_error *err);
/* Rows of a batch: number and segment. */
int64_t test_batch_rows(levada_segment_batch *batch, int64_t *k, int64_t *segment);
/* "k1/0 k2/0": rows of a batch as text; "" for NULL. */
const char *test_batch_text(levada_segment_batch *batch, char *text);
/* Adds 1 to every state and saves all. */
levada_status test_batch_save(levada_segment_batch *batch, levada_error *err);
/* take, expect these rows, save, destroy. */
void test_saver_step(levada_state_saver *saver, int64_t n, const char *rows);
levada_state_saver_stats test_saver_stats(const levada_state_saver *saver);

#endif
