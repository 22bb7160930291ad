/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of what aborts: in a child process, so that the test continues.
 */
#ifndef LEVADA_TESTS_DEATHS_H
#define LEVADA_TESTS_DEATHS_H

/* Expects that run(user) aborts and that `text` is in what it wrote to standard error. */
void test_aborts(void (*run)(void *user), void *user, const char *text);

#endif
