/* SPDX-License-Identifier: Apache-2.0 */
/* One text field of JSON lines through simdjson (ondemand_simdjson.cpp): on demand, which validates
 * no more than it passes, and by whole documents. */
#ifndef LEVADA_BENCH_ONDEMAND_H
#define LEVADA_BENCH_ONDEMAND_H

#include <stddef.h>
#include <stdint.h>

void *levada_bench_ondemand_create(void);
void *levada_bench_whole_create(void);

/* Returns the bytes of the field "text" in all lines of data[0, size), of which 64 after it are
 * readable. *lines counts them. -1: a line is not JSON or has no such text. */
int64_t levada_bench_ondemand_texts(void *parser, const uint8_t *data, size_t size, int64_t *lines);
int64_t levada_bench_whole_texts(void *parser, const uint8_t *data, size_t size, int64_t *lines);

#endif
