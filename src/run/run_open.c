/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run from opening to the end: its settings, its tree and its workers.
 */
#include "base/alloc.h"
#include "base/random.h"
#include "description/dataset_priv.h"
#include "files/window.h"
#include "run/plan.h"
#include "run/workers.h"

#include <string.h>
#include <unistd.h>

#define RUN_OPEN_BLOCK_ROWS 256

/* Requires a seed, because each process would draw an order of its own, and shards of different
 * orders lose and repeat records. */
static levada_status run_open_seed(levada_run *run, int64_t seed, levada_error *err)
{
    const levada_dataset *drawing =
        seed < 0 ? levada_dataset_draws_before_shard(run->dataset) : NULL;

    if (seed < -1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "seed=%lld must be at least -1; -1 picks a seed", (long long)seed);
    }
    if (drawing) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "%s upstream of shard must have a seed, because otherwise each process "
                           "would shuffle differently, and records would be lost and repeated; set "
                           "seed= of the stage or of the iterator",
                           drawing->op->name);
    }
    run->seed = seed;
    if (seed < 0) {
        uint64_t draw = levada_random_draw((uint64_t)levada_now(), (uint64_t)getpid(),
                                           (uint64_t)(uintptr_t)run);

        run->seed = (int64_t)(draw >> 1);
    }
    return LEVADA_OK;
}

static levada_status run_open_options(levada_run *run, const levada_iter_options *given,
                                      levada_error *err)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;

    if (given) {
        size_t size = given->struct_size < sizeof o ? given->struct_size : sizeof o;

        memcpy(&o, given, size);
    }
    if (o.threads < 0 || o.threads > 256 || o.block_rows < 0 || o.block_rows > 65536) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "threads=%d must be 0..256 and block_rows=%d 0..65536", o.threads,
                           o.block_rows);
    }
    if (o.max_record_bytes < 0 || o.epoch < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "max_record_bytes=%lld and epoch=%lld must be at least 0",
                           (long long)o.max_record_bytes, (long long)o.epoch);
    }
    run->threads = o.threads ? o.threads : levada_cpu_count();
    run->block_rows = o.block_rows ? o.block_rows : RUN_OPEN_BLOCK_ROWS;
    run->sized = o.block_rows != 0;
    run->max_record_bytes = o.max_record_bytes > 0 ? o.max_record_bytes : LEVADA_RECORD_BYTES;
    run->epoch = o.epoch;
    LEVADA_TRY(run_open_seed(run, o.seed, err));
    LEVADA_TRY(levada_policy_parse(o.errors, &run->skips.policy, err));
    if (!o.errors) return LEVADA_OK;
    run->errors = levada_strdup(o.errors);
    return run->errors ? LEVADA_OK
                       : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for options");
}

levada_status levada_run_create(const levada_dataset *dataset, const levada_iter_options *options,
                                levada_run **out, levada_node **root, levada_error *err)
{
    levada_run   *run = levada_alloc_zero(sizeof *run);
    levada_status st;

    if (!run) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an iterator");
    st = levada_mutex_init(&run->pipes_lock, LEVADA_LOCK_PIPES, err);
    if (st == LEVADA_OK) {
        st = levada_mutex_init(&run->noting, LEVADA_LOCK_NOTING, err);
        if (st != LEVADA_OK) levada_mutex_clear(&run->pipes_lock);
    }
    if (st != LEVADA_OK) {
        levada_free(run);
        return st;
    }
    run->names.lock = run->skips.lock = &run->noting;
    run->dataset = levada_dataset_ref(dataset);
    run->env = levada_env_ref(dataset->env);
    run->deadline = -1;
    st = run_open_options(run, options, err);
    if (st == LEVADA_OK && run->threads > 1) st = levada_workers_create(run, err);
    if (st == LEVADA_OK) st = levada_plan_open(run, run->dataset, "", true, root, err);
    if (st != LEVADA_OK) {
        levada_run_destroy(&run, root);
        return st;
    }
    if (run->workers && levada_workers_idle(run->workers)) levada_workers_destroy(&run->workers);
    *out = run;
    return LEVADA_OK;
}

void levada_run_destroy(levada_run **run, levada_node **root)
{
    levada_run *r = *run;

    *run = NULL;
    if (!r) return;
    atomic_store(&r->cancelled, true);
    if (root && *root) levada_node_cancel(*root);
    if (r->workers) levada_workers_stop(r->workers);
    if (root) levada_node_destroy(root);
    levada_workers_destroy(&r->workers);
    levada_dataset_unref(&r->dataset);
    levada_env_unref(&r->env);
    levada_free(r->errors);
    levada_free(r->ranges);
    levada_skips_clear(&r->skips);
    levada_file_names_clear(&r->names);
    levada_file_marks_clear(&r->marks);
    levada_mutex_clear(&r->noting);
    levada_mutex_clear(&r->pipes_lock);
    levada_free(r);
}
