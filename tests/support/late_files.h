/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of tests/conformance/test_late.c: Examples that are SequenceExamples as well, whose
 * lists have every size and form (good.tfrecord), with bad ones among them (bad.tfrecord), and
 * feature lists of long steps (steps.tfrecord). 40 records each.
 */
#ifndef LEVADA_TESTS_LATE_FILES_H
#define LEVADA_TESTS_LATE_FILES_H

/* Group set-up: t_functions_set_up() and the files. */
int t_late_set_up(void **state);

#endif
