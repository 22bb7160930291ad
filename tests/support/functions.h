/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the user, for tests of what calls them:
 *
 *     c:numbers   a source: `value` 0 to 9, three records a block; can be saved
 *     c:twice     `value` (the first column, int64) times two
 *     c:half      half of it, a float64
 *     c:hasty     as twice, but every other call answers AGAIN
 *     c:odd       whether the first column is odd, as `keep`
 *     c:longer    a bad one: one record more than it got
 *     c:spread    for flat_map: makes value % 3 records of each, 10 * value + k
 *     c:picky     as twice, but rejects values that can be divided by five
 *     c:choosy    the same with seven
 *     c:liar      says that it is pure, and returns other values each time
 *     c:sum       not pure: the sum of all values so far; can be saved
 */
#ifndef LEVADA_TESTS_SUPPORT_FUNCTIONS_H
#define LEVADA_TESTS_SUPPORT_FUNCTIONS_H

#include <levada/env.h>

/* Puts them into the table of the environment. */
void t_functions_add(levada_env *env);
/* A set-up of a group of tests: the functions are known to t_iter_env(), and there is a folder. */
int t_functions_set_up(void **state);
/* Uses of functions that were opened and not closed. */
int t_functions_open(void);

/* The integers of column `name` in all records of `text`, at block sizes 1, 7 and 256. */
void t_expect_i64(const char *text, const char *name, const int64_t *want, int64_t n);

/* Publishes a block of one int64 column `value` with n rows: those of `from`, or the numbers from
 * `first` on where `from` is NULL. */
levada_status t_numbers_block(const int64_t *from, int64_t first, int64_t n, levada_block **out,
                              levada_error *err);

#endif
