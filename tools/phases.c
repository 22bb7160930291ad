/* SPDX-License-Identifier: Apache-2.0 */
#include "phases.h"

#include "escape.h"
#include "pipe.h"
#include <levada/value.h>

#include <inttypes.h>
#include <string.h>

enum { PHASES_MOST = 64 };

typedef struct phases_part {
    const levada_dataset *dataset; /* up to here */
    const char           *name, *what;
    double                seconds; /* of all up to here */
    int64_t               records; /* that come out there */
} phases_part;

typedef struct phases_work {
    phases_part     part[PHASES_MOST];
    int32_t         n;
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

/* From the source, or the last combiner, to the end. */
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

static levada_status phases_run(phases_part *part, const levada_cli_args *args, levada_error *err)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it = NULL;
    levada_block       *block = NULL;
    double              begin = levada_cli_now(), seconds;
    int64_t             records = 0;
    levada_status       st;

    options.threads = 1;
    options.seed = levada_cli_number(args, "seed", 1);
    options.epoch = levada_cli_number(args, "epoch", 0);
    options.errors = levada_cli_value(args, "errors");
    st = levada_iter_open(part->dataset, &options, &it, err);
    while (st == LEVADA_OK && (st = levada_iter_next(it, &block, err)) == LEVADA_OK) {
        records += levada_block_rows(block);
        levada_block_unref(&block);
        if (levada_cli_stopped()) st = levada_fail(err, LEVADA_ECANCELLED, "interrupted");
    }
    levada_iter_close(&it);
    seconds = levada_cli_now() - begin;
    if (part->seconds < 0 || seconds < part->seconds) part->seconds = seconds;
    part->records = records;
    return st == LEVADA_END ? LEVADA_OK : st;
}

static double phases_of(const phases_work *w, int32_t i, double records)
{
    double before = i > 0 ? w->part[i - 1].seconds : 0;

    return (w->part[i].seconds - before) / records * 1e9;
}

static void phases_print(const phases_work *w, bool json, levada_cli_buffer *out)
{
    double records = w->part[0].records > 0 ? (double)w->part[0].records : 1;
    double all = w->part[w->n - 1].seconds / records * 1e9;
    int    width = 32; /* of the longest phase */

    for (int32_t i = 0; i < w->n; i++) {
        int size = (int)(strlen(w->part[i].name) + strlen(w->part[i].what));

        if (size > width) width = size;
    }
    if (json) levada_cli_printf(out, "{\"records\":%" PRId64 ",\"phases\":[", w->part[0].records);
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
            st = phases_run(&w.part[i], args, &err);
        }
    }
    if (st == LEVADA_OK) phases_print(&w, levada_cli_flag(args, "json"), out);
    else status = levada_cli_fail(&err);
    levada_dataset_unref(&w.unverified);
    levada_cli_pipe_close(&p);
    return status;
}
