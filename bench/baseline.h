/* SPDX-License-Identifier: Apache-2.0 */
/* The works of the baseline program: what a straightforward reader does, and what is the limit. */
#ifndef LEVADA_BENCH_BASELINE_H
#define LEVADA_BENCH_BASELINE_H

#include "harness.h"

/* A record as a TF-style reader hands it out: a string of its own. */
typedef struct levada_bench_string {
    uint8_t *data; /* from malloc; freed by the taker */
    size_t   size;
} levada_bench_string;

/* Returns the next record, verified, in memory of its own; 0 at the end of the file. */
int levada_bench_tf_read(levada_bench_stream *stream, levada_bench_string *out);

/* baseline_scan.c */
void *levada_bench_open_stream(const levada_bench_args *args);
void  levada_bench_read(void *state, levada_bench_count *count);
void  levada_bench_frame(void *state, levada_bench_count *count);
void  levada_bench_span_scan(void *state, levada_bench_count *count);
void  levada_bench_tf_scan(void *state, levada_bench_count *count);

/* baseline_inflate.c */
void *levada_bench_open_inflate(const levada_bench_args *args);
void  levada_bench_zlib(void *state, levada_bench_count *count);
void  levada_bench_igzip(void *state, levada_bench_count *count);

/* baseline_parse.c */
void *levada_bench_open_a(const levada_bench_args *args);
void *levada_bench_open_b(const levada_bench_args *args);
void *levada_bench_open_f(const levada_bench_args *args);
void  levada_bench_parse(void *state, levada_bench_count *count);
void  levada_bench_batch(void *state, levada_bench_count *count);
/* Returns where the tokens of each row of file A begin, and where the last ones end. */
int64_t *levada_bench_offsets(const levada_bench_args *args, int64_t *rows);

/* baseline_pad.c */
void *levada_bench_open_copy(const levada_bench_args *args);
void  levada_bench_copy(void *state, levada_bench_count *count);
void *levada_bench_open_pad(const levada_bench_args *args);
void  levada_bench_pad(void *state, levada_bench_count *count);
void *levada_bench_open_pad_a(const levada_bench_args *args);
void  levada_bench_pad_a(void *state, levada_bench_count *count);

#endif
