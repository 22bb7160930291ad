/* SPDX-License-Identifier: Apache-2.0 */
/* How long tests that make random trials run: `make ci-full` makes ten times as many. */
#ifndef LEVADA_TESTS_SUPPORT_LENGTH_H
#define LEVADA_TESTS_SUPPORT_LENGTH_H

#include <stdint.h>

/* The factor of counts of trials: LEVADA_TEST_LENGTH in the environment, 1 where it is not set.
 * Ends the program with status 1 where the value is not an integer of at least 1, so that no test
 * passes because it tried nothing. */
int64_t t_length(void);

#endif
