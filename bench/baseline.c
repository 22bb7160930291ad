/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Baselines of our own in place of peers that cannot be linked here. "tf" means TensorFlow's way:
 * one string per record with a copy, hashed keys, a varint at a time, values pushed onto vectors
 * and copied once more into the batch; without TensorFlow's dispatch, tensors and locks, so these
 * are kinder than the real thing.
 */
#include "baseline.h"

const levada_bench_work levada_bench_works[] = {
    {"read", levada_bench_open_stream, levada_bench_read, NULL},
    {"frame", levada_bench_open_stream, levada_bench_frame, NULL},
    {"span_scan", levada_bench_open_stream, levada_bench_span_scan, NULL},
    {"tf_scan", levada_bench_open_stream, levada_bench_tf_scan, NULL},
    {"zlib", levada_bench_open_inflate, levada_bench_zlib, NULL},
    {"igzip", levada_bench_open_inflate, levada_bench_igzip, NULL},
    {"tf_parse_a", levada_bench_open_a, levada_bench_parse, NULL},
    {"tf_parse_b", levada_bench_open_b, levada_bench_parse, NULL},
    {"tf_parse_f", levada_bench_open_f, levada_bench_parse, NULL},
    {"tf_batch_a", levada_bench_open_a, levada_bench_batch, NULL},
    {"tf_batch_b", levada_bench_open_b, levada_bench_batch, NULL},
    {"tf_batch_f", levada_bench_open_f, levada_bench_batch, NULL},
    {"copy_records", levada_bench_open_copy, levada_bench_copy, NULL},
    {"pad", levada_bench_open_pad, levada_bench_pad, NULL},
    {"pad_a", levada_bench_open_pad_a, levada_bench_pad_a, NULL},
    {NULL, NULL, NULL, NULL},
};
