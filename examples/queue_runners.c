/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two producers fill a queue, the main thread trains on batches of it, a coordinator stops them:
 *
 *     count ──► op0 ──┐
 *                     ├──► queue (32 elements) ──► dequeue_many(64) ──► main
 *     count ──► op1 ──┘
 *
 * The end travels with the data: a producer that has no more says LEVADA_END, the last of them
 * closes the queue, and main gets what is left and then EOUT_OF_RANGE. A stop travels against it:
 * a thread that fails asks the coordinator, which cancels the queue, so that nobody stays blocked.
 */
#include <levada/levada.h>
#include <stdio.h>

typedef struct producer {
    levada_queue *queue;
    int64_t       next, end;
} producer;

/* Called again and again by a thread of the runner's, until it says anything but OK. */
static levada_status produce(void *user, levada_error *err)
{
    producer   *p = user;
    const void *element = &p->next; /* one component: a number */

    if (p->next == p->end) return LEVADA_END;
    LEVADA_TRY(levada_queue_enqueue_rows(p->queue, 1, &element, LEVADA_FOREVER, NULL, err));
    p->next++;
    return LEVADA_OK;
}

/* Batches until the queue is closed and empty; the last one may be smaller (up_to). */
static levada_status train(levada_queue *queue, int64_t *sum, levada_error *err)
{
    for (levada_tensor *batch = NULL;; levada_tensor_unref(&batch)) {
        LEVADA_TRY(levada_queue_dequeue_many(queue, 64, true, &batch, LEVADA_FOREVER, err));
        const int64_t *numbers = levada_tensor_data(batch);
        for (int64_t i = 0; i < levada_tensor_shape(batch)->dims[0]; i++) *sum += numbers[i];
    }
}

int main(void)
{
    const levada_dtype          dtype = LEVADA_INT64;
    const levada_shape          scalar = { 0, { 0 } };
    levada_queue_options        what = LEVADA_QUEUE_OPTIONS_INIT;
    levada_queue_runner_options how = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;
    producer                    p[] = { { NULL, 0, 1000 }, { NULL, 1000, 3000 } };
    levada_enqueue_op           ops[] = { { produce, &p[0], NULL }, { produce, &p[1], NULL } };
    levada_queue               *queue = NULL;
    levada_queue_runner        *runner = NULL;
    levada_coordinator         *coord = NULL;
    levada_error                err = LEVADA_ERROR_INIT;
    int64_t                     sum = 0;

    what.capacity = 32;
    what.ncomponents = 1;
    what.dtypes = &dtype;
    what.shapes = &scalar;
    how.nops = 2;
    how.ops = ops;
    if (levada_coordinator_create(NULL, NULL, 0, &coord, &err) != LEVADA_OK) return 1;
    levada_status st = levada_queue_create(NULL, &what, &queue, &err);
    p[0].queue = p[1].queue = queue;
    if (st == LEVADA_OK) st = levada_queue_runner_create(queue, &how, &runner, &err);
    if (st == LEVADA_OK) st = levada_queue_runner_start(runner, coord, &err);
    if (st == LEVADA_OK) st = train(queue, &sum, &err); /* ends with EOUT_OF_RANGE: all is well */
    /* Ask for the stop, wait, and hear what went wrong first, here or in any thread. */
    if (levada_coordinator_request_stop(coord, &err, NULL) != LEVADA_OK) return 1;
    st = levada_coordinator_join(coord, INT64_C(10000000000), false, &err);
    printf("sum: %lld %s\n", (long long)sum, st == LEVADA_OK ? "" : err.message);
    levada_queue_runner_destroy(&runner);
    levada_queue_unref(&queue);
    levada_coordinator_destroy(&coord);
    return st == LEVADA_OK && sum == 4498500 ? 0 : 1;
}
