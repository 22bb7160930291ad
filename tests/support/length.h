/* SPDX-License-Identifier: Apache-2.0 */
/* How long tests that make random trials run: `make ci-full` makes ten times as many. */
#ifndef LEVADA_TESTS_SUPPORT_LENGTH_H
#define LEVADA_TESTS_SUPPORT_LENGTH_H

#include <stdint.h>

/* LEVADA_TEST_LENGTH of the environment, 1 where it is not set: the factor of counts of trials. */
int64_t t_length(void);

#endif
