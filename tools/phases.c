/* SPDX-License-Identifier: Apache-2.0 */
#include "phases.h"

#include "escape.h"
#include "json.h"
#include "pipe.h"
#include <levada/value.h>

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum {
    PHASES_MOST = 64,
    PHASES_BLOCKS = 1024 /* from one look at the statistics to the next */
};

typedef struct phases_part {
    const levada_dataset *dataset; /* up to here */
    const char           *name, *what;
    double                seconds; /* of all up to here */
} phases_part;

typedef struct phases_work {
    phases_part     part[PHASES_MOST];
    int32_t         n;
    int32_t         source;     /* where the source stands among the stages of a run's statistics */
    int64_t         records;    /* that it hands out */
    levada_dataset *unverified; /* a reference, or NULL */
} phases_work;

static void phases_add(phases_work *w, const levada_dataset *dataset, const char *what)
{
    w->part[w->n++] = (phases_part){ .dataset = dataset,
                                     .name = levada_dataset_name(dataset),
                                     .what = what,
                                     .seconds = -1 };
}

/* The source without its check of payloads, where it has one. */
static levada_status phases_source(phases_work *w, const levada_dataset *source, levada_error *err)
{
    const levada_value *verify = levada_value_get(levada_dataset_options(source), "verify");
    levada_value       *changes = NULL;
    levada_status       st;

    if (!verify || !levada_value_as_bool(verify)) {
        phases_add(w, source, "");
        return LEVADA_OK;
    }
    st = levada_value_parse("{verify:false}", &changes, err);
    if (st == LEVADA_OK) {
        st = levada_dataset_remake(source, changes, NULL, 0, &w->unverified, err);
    }
    levada_value_destroy(&changes);
    if (st != LEVADA_OK) return st;
    phases_add(w, w->unverified, ": read, frame");
    phases_add(w, source, ": checksum");
    return LEVADA_OK;
}

/* Finds the phases from the source, or the last combiner, to the end. */
static levada_status phases_find(phases_work *w, const levada_dataset *dataset, levada_error *err)
{
    const levada_dataset *chain[PHASES_MOST];
    int32_t               n = 0;

    for (; dataset; dataset = levada_dataset_input(dataset, 0)) {
        if (n == PHASES_MOST - 1) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "--phases: more than %d stages",
                               PHASES_MOST - 1);
        }
        chain[n++] = dataset;
        if (levada_dataset_inputs(dataset) != 1) break;
    }
    if (levada_dataset_inputs(chain[n - 1]) > 0) phases_add(w, chain[n - 1], "");
    else LEVADA_TRY(phases_source(w, chain[n - 1], err));
    while (--n > 0) phases_add(w, chain[n - 1], "");
    return LEVADA_OK;
}

/* The source, or the last combiner, is the last stage of the shortest run, and stands at the same
 * place in the longer ones. */
static levada_status phases_count(phases_work *w, levada_iter *it, bool shortest, bool ended,
                                  levada_error *err)
{
    levada_value       *stats = NULL;
    const levada_value *stages;
    char               *text = NULL;
    int64_t             records;

    LEVADA_TRY(levada_iter_stats(it, &text, err));
    LEVADA_TRY(levada_cli_json_take(&text, &stats, err));
    stages = levada_cli_json_get(stats, "stages");
    if (shortest) w->source = (int32_t)levada_value_count(stages) - 1;
    records = levada_cli_json_int(levada_value_item(stages, w->source), "records");
    levada_value_destroy(&stats);
    if (shortest && ended) w->records = records;
    if (shortest || (ended ? records == w->records : records <= w->records)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "--phases: %s emits %" PRId64 " records alone and %" PRId64
                       " in the pipeline: measure without the stages that repeat it or stop it",
                       w->part[0].name, w->records, records);
}

static levada_status phases_read(phases_work *w, levada_iter *it, bool shortest, levada_error *err)
{
    levada_block *block = NULL;
    levada_status st;

    for (int64_t n = 1; (st = levada_iter_next(it, &block, err)) == LEVADA_OK; n++) {
        levada_block_unref(&block);
        if (levada_cli_stopped()) return levada_fail(err, LEVADA_ECANCELLED, "interrupted");
        if (n % PHASES_BLOCKS == 0) LEVADA_TRY(phases_count(w, it, shortest, false, err));
    }
    return st == LEVADA_END ? LEVADA_OK : st;
}

static double phases_now(const levada_cli_args *args)
{
    return levada_cli_flag(args, "cpu") ? (double)clock() / CLOCKS_PER_SEC : levada_cli_now();
}

static levada_status phases_run(phases_work *w, int32_t i, const levada_cli_args *args,
                                levada_error *err)
{
    phases_part        *part = &w->part[i];
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it = NULL;
    double              begin = phases_now(args), seconds;
    levada_status       st;

    options.threads = 1;
    options.seed = levada_cli_number(args, "seed", 1);
    options.epoch = levada_cli_number(args, "epoch", 0);
    options.errors = levada_cli_value(args, "errors");
    options.max_record_bytes = levada_cli_record_bytes(args);
    st = levada_iter_open(part->dataset, &options, &it, err);
    if (st == LEVADA_OK) st = phases_read(w, it, i == 0, err);
    seconds = phases_now(args) - begin;
    if (st == LEVADA_OK) st = phases_count(w, it, i == 0, true, err);
    levada_iter_close(&it);
    if (part->seconds < 0 || seconds < part->seconds) part->seconds = seconds;
    return st;
}

static double phases_of(const phases_work *w, int32_t i, double records)
{
    double before = i > 0 ? w->part[i - 1].seconds : 0;

    return (w->part[i].seconds - before) / records * 1e9;
}

static void phases_print(const phases_work *w, bool json, levada_cli_buffer *out)
{
    double records = w->records > 0 ? (double)w->records : 1;
    double all = w->part[w->n - 1].seconds / records * 1e9;
    int    width = 32; /* of the longest phase */

    for (int32_t i = 0; i < w->n; i++) {
        int size = (int)(strlen(w->part[i].name) + strlen(w->part[i].what));

        if (size > width) width = size;
    }
    if (json) levada_cli_printf(out, "{\"records\":%" PRId64 ",\"phases\":[", w->records);
    else levada_cli_printf(out, "%-*s %12s %7s\n", width, "phase", "ns/record", "share");
    for (int32_t i = 0; i < w->n; i++) {
        double      ns = phases_of(w, i, records);
        const char *name = w->part[i].name, *what = w->part[i].what;

        if (json) {
            levada_cli_printf(out, "%s{\"phase\":\"%s%s\",\"nanoseconds\":%.1f}", i ? "," : "",
                              name, what, ns);
        } else {
            levada_cli_printf(out, "%s%-*s %12.1f %5.1f %%\n", name, width - (int)strlen(name),
                              what, ns, all > 0 ? 100 * ns / all : 0.0);
        }
    }
    if (json) levada_cli_printf(out, "],\"nanoseconds\":%.1f}\n", all);
    else levada_cli_printf(out, "%-*s %12.1f\n", width, "all", all);
}

levada_cli_status levada_cli_phases(levada_env *env, const levada_cli_args *args, int64_t runs,
                                    levada_cli_buffer *out)
{
    levada_cli_pipe   p = { 0 };
    phases_work       w = { 0 };
    levada_error      err = LEVADA_ERROR_INIT;
    levada_cli_status status = levada_cli_pipe_open(&p, env, args->words[0], args);
    levada_status     st;

    if (status != LEVADA_CLI_DONE) return status;
    st = phases_find(&w, p.dataset, &err);
    for (int64_t run = 0; st == LEVADA_OK && run < runs; run++) { /* in turns: speeds drift */
        for (int32_t i = 0; st == LEVADA_OK && i < w.n; i++) {
            st = phases_run(&w, i, args, &err);
        }
    }
    if (st == LEVADA_OK) phases_print(&w, levada_cli_flag(args, "json"), out);
    else status = levada_cli_fail(&err);
    levada_dataset_unref(&w.unverified);
    levada_cli_pipe_close(&p);
    return status;
}
