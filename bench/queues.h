/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of 8-byte items side by side: ours, two that stand for what is usual, moodycamel's. */
#ifndef LEVADA_BENCH_QUEUES_H
#define LEVADA_BENCH_QUEUES_H

#include <stdint.h>

typedef struct levada_bench_queue {
    void *(*create)(int64_t capacity);
    void *(*create_shuffle)(int64_t capacity); /* NULL: has none */
    void (*destroy)(void *queue);
    /* All n, waiting as needed. */
    void (*push)(void *queue, const int64_t *items, int64_t n);
    void (*pop)(void *queue, int64_t *items, int64_t n);
} levada_bench_queue;

/* A ring under a mutex with two condition variables: fast, but in no order among those who wait. */
extern const levada_bench_queue levada_bench_cond_queue;
/* TensorFlow's way (queue_base.cc): each call is an attempt with closures in a list, tried under
 * the lock, with a notification for its caller; elements in a list. Without its tensors and
 * dispatch. */
extern const levada_bench_queue levada_bench_tf_queue;
/* moodycamel::BlockingConcurrentQueue (queues_moodycamel.cpp), where it is installed. It promises
 * less: it has no bound, and items of different producers are in no order. */
extern const levada_bench_queue levada_bench_moodycamel_queue;
/* Limits: a ring of one producer and one consumer that waits by looking, and an array from which
 * one thread draws at random. Neither has a lock. */
extern const levada_bench_queue levada_bench_bare_queue;
extern const levada_bench_queue levada_bench_bare_shuffle;

#endif
