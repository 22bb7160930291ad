/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call for each of these structs that begin with struct_size: LEVADA_OK for a good one. At
 * least 1024 bytes can be read.
 */
#ifndef LEVADA_TESTS_VERSIONED_H
#define LEVADA_TESTS_VERSIONED_H

#include <levada/error.h>

levada_status test_use_watchdog(const void *options, levada_error *err);
levada_status test_use_wait(const void *wait, levada_error *err);
levada_status test_use_saver(const void *options, levada_error *err);
levada_status test_use_stats(const void *stats, levada_error *err);
levada_status test_use_example(const void *example, levada_error *err);
levada_status test_use_view(const void *view, levada_error *err);
levada_status test_use_write(const void *options, levada_error *err);
levada_status test_use_written(const void *result, levada_error *err);
levada_status test_use_sizes(const void *sizes, levada_error *err);
levada_status test_use_padding(const void *how, levada_error *err);

#endif
