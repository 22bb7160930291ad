/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: formats and damaged files. A record of the file of the example is
 * overwritten, or the file ends inside it. Records before that place are returned, damage is
 * EDATA_LOSS, and a format that can find the next record after it finds the very next one.
 */
#include "conform.h"

#include <levada/output.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAMAGE_PLACES 24            /* records that are damaged, one at a time */
#define DAMAGE_FILE ((size_t)1 << 20) /* most bytes of the example's file       */
#define DAMAGE_CUTS 4               /* records after which the reading is interrupted */
#define DAMAGE_PROBES 200           /* heads of random bytes                   */
#define DAMAGE_HEAD 4096
#define DAMAGE_SLACK 64
#define DAMAGE_SURE 16 /* bits: one random head in 65,536 may pass */

/* The file of the example and its records. */
typedef struct damage_case {
    levada_conform   *c;
    levada_env       *env; /* without a log: skipped records are expected */
    char              path[128];
    levada_cli_buffer bytes;  /* as the format sees them, intact */
    levada_cli_buffer starts; /* int64_t: where each record begins */
} damage_case;

/* -- running */

static levada_status damage_open(const damage_case *x, const char *errors, int32_t threads,
                                 int32_t block_rows, levada_iter **out, levada_error *err)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *dataset = NULL;
    levada_status       st = levada_dataset_parse(x->env, x->c->example, &dataset, err);

    o.errors = errors;
    o.threads = threads;
    o.block_rows = block_rows;
    if (st == LEVADA_OK) st = levada_iter_open(dataset, &o, out, err);
    levada_dataset_unref(&dataset);
    return st;
}

static levada_status damage_read(const damage_case *x, const char *errors, int32_t threads,
                                 int32_t block_rows, levada_conform_rows *to, levada_error *err)
{
    levada_iter  *it = NULL;
    levada_status st = damage_open(x, errors, threads, block_rows, &it, err);

    if (st == LEVADA_OK) st = levada_conform_read(it, -1, to, err);
    levada_iter_close(&it);
    return st;
}

/* -- the intact file */

static bool damage_load(damage_case *x)
{
    FILE *file = fopen(x->path, "rb");

    if (!file) return false;
    x->bytes.size = fread(levada_cli_buffer_reserve(&x->bytes, DAMAGE_FILE), 1, DAMAGE_FILE, file);
    (void)fclose(file);
    return x->bytes.size < DAMAGE_FILE;
}

/* Returns whether a path is that of the case, after it has become that of a new case. */
static bool damage_is_path(damage_case *x, const char *path)
{
    if (!path || strchr(path, '/')) return false;
    if (x->path[0]) return strcmp(path, x->path) == 0;
    return (size_t)snprintf(x->path, sizeof x->path, "%s", path) < sizeof x->path;
}

/* Notes the records of a block. Returns false if they are not of one plain file in this folder. */
static bool damage_note(damage_case *x, const levada_iter *it, const levada_block *block)
{
    bool good = true;

    for (int64_t i = 0; good && i < levada_block_rows(block); i++) {
        levada_origin origin = levada_block_origin(block, i);
        char         *path = NULL;

        good = levada_iter_origin_file(it, &origin, &path, NULL) == LEVADA_OK &&
               origin.offset >= 0 && damage_is_path(x, path);
        levada_string_free(&path);
        if (good) levada_cli_add(&x->starts, &origin.offset, sizeof origin.offset);
    }
    return good;
}

static int64_t damage_start(const damage_case *x, int64_t record)
{
    int64_t at;

    if ((size_t)record * sizeof at >= x->starts.size) return (int64_t)x->bytes.size;
    memcpy(&at, x->starts.at + (size_t)record * sizeof at, sizeof at);
    return at;
}

/* Returns true if the example can be damaged: ascending records of one small file, which is not
 * compressed. */
static bool damage_prepare(damage_case *x)
{
    const levada_conform_faults *faults = x->c->faults;
    levada_iter                 *it = NULL;
    levada_block                *block = NULL;
    bool                         usable = x->c->own_files && !x->c->want.batches;

    usable = usable && faults->open(faults->user, &x->env, NULL) == LEVADA_OK;
    usable = usable && damage_open(x, NULL, 1, 256, &it, NULL) == LEVADA_OK;

    while (usable && levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        usable = damage_note(x, it, block);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    usable = usable && x->path[0] && damage_load(x);
    for (int64_t i = 0; usable && i < x->c->want.n; i++) {
        usable = damage_start(x, i) < damage_start(x, i + 1);
    }
    return usable;
}

static void damage_clear(damage_case *x)
{
    levada_cli_buffer_clear(&x->bytes);
    levada_cli_buffer_clear(&x->starts);
    levada_env_destroy(&x->env);
}

/* -- comparing */

static void damage_unit(const levada_conform_rows *rows, int64_t i, size_t *begin, size_t *end)
{
    const size_t *ends = (const size_t *)(const void *)rows->ends.at;

    *begin = i > 0 ? ends[i * rows->cells - 1] : 0;
    *end = ends[(i + 1) * rows->cells - 1];
}

/* Returns true if n records of `got` from number `at` on are those of `want` from number `from` on.
 * */
static bool damage_alike(const levada_conform_rows *want, int64_t from,
                         const levada_conform_rows *got, int64_t at, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        size_t begin, end, other, last;

        if (at + i < 0 || at + i >= got->n) return false;
        damage_unit(want, from + i, &begin, &end);
        damage_unit(got, at + i, &other, &last);
        if (end - begin != last - other) return false;
        if (memcmp(want->bytes.at + begin, got->bytes.at + other, end - begin) != 0) return false;
    }
    return true;
}

/* Records that damage in `record` does not touch, from the first one on. */
static int64_t damage_intact(const damage_case *x, int64_t record)
{
    return x->c->def->open_ended && record > 0 ? record - 1 : record;
}

/* -- one damaged file */

static levada_conform_verdict damage_broken(const damage_case *x, int64_t record, const char *what,
                                            const char *where)
{
    levada_conform_look(x->c, where);
    return levada_conform_broken(x->c, "with damage in record %lld of %s: %s", (long long)record,
                                 x->path, what);
}

/* Damage ends the run at its place, or is not noticed. *noticed says which. With
 * EINVALID_ARGUMENT, seek() may refuse the size of a truncated file, and a format with a decoder
 * may reject a damaged row, as decoders do. */
static levada_conform_verdict damage_failing(const damage_case *x, int64_t record, bool cut,
                                             bool *noticed)
{
    levada_conform_rows    got = { 0 };
    levada_error           err = LEVADA_ERROR_INIT;
    levada_status          st = damage_read(x, "fail", 1, 256, &got, &err);
    levada_conform_verdict verdict = LEVADA_CONFORM_GOOD;
    char                   text[LEVADA_ERROR_TEXT];

    *noticed = st != LEVADA_END;
    if (*noticed && cut && x->c->def->seek && got.n == 0 &&
        st == LEVADA_EINVALID_ARGUMENT) {
        verdict = LEVADA_CONFORM_GOOD;
    } else if (*noticed && st != LEVADA_EDATA_LOSS
               && !(x->c->def->decoder && st == LEVADA_EINVALID_ARGUMENT)) {
        verdict = damage_broken(x, record, levada_error_text(&err, text, sizeof text),
                                "next(): damage is EDATA_LOSS, which error policies skip");
    } else if (!damage_alike(&x->c->want, 0, &got, 0, damage_intact(x, record))) {
        verdict = damage_broken(x, record, "a record before it is missing or changed",
                                "next(): records before the damage are in spans");
    }
    levada_conform_rows_clear(&got);
    return verdict;
}

/* Checks that any threads and blocks return the same records. */
static levada_conform_verdict damage_steady(const damage_case *x, int64_t record,
                                            const levada_conform_rows *want)
{
    static const int32_t   how[][2] = { { 1, 1 }, { 2, 7 } };
    levada_conform_verdict verdict = LEVADA_CONFORM_GOOD;

    for (size_t i = 0; verdict == LEVADA_CONFORM_GOOD && i < sizeof how / sizeof how[0]; i++) {
        levada_conform_rows got = { 0 };
        levada_error        err = LEVADA_ERROR_INIT;
        char                text[512];

        if (damage_read(x, "skip", how[i][0], how[i][1], &got, &err) != LEVADA_END ||
            levada_conform_rows_differ(want, &got, text, sizeof text)) {
            verdict = damage_broken(x, record, "other records with other threads and block sizes",
                                    "resync(): its result follows from the bytes alone");
        }
        levada_conform_rows_clear(&got);
    }
    return verdict;
}

/* Checks what is left when damage is skipped. `rest`: intact records after the damaged one. */
static levada_conform_verdict damage_skipping(const damage_case *x, int64_t record, int64_t rest,
                                              bool noticed)
{
    levada_conform_rows    got = { 0 };
    levada_error           err = LEVADA_ERROR_INIT;
    levada_status          st = damage_read(x, "skip", 1, 256, &got, &err);
    bool                   finds = noticed && x->c->def->resync;
    levada_conform_verdict verdict = LEVADA_CONFORM_GOOD;
    char                   text[LEVADA_ERROR_TEXT];

    if (st != LEVADA_END) {
        verdict = damage_broken(x, record, levada_error_text(&err, text, sizeof text),
                                "next() and resync(): errors=skip passes over damage");
    } else if (!damage_alike(&x->c->want, 0, &got, 0, damage_intact(x, record))) {
        verdict = damage_broken(x, record, "a record before it is missing or changed",
                                "next(): records before the damage are in spans");
    } else if (finds && !damage_alike(&x->c->want, record + 1, &got, got.n - rest, rest)) {
        verdict = damage_broken(x, record, "a record after it is missing or changed",
                                "resync(): the position of the next valid record");
    } else {
        verdict = damage_steady(x, record, &got);
    }
    levada_conform_rows_clear(&got);
    return verdict;
}

/* What a file shows whose record has other content, or which ends inside that record. */
typedef levada_conform_verdict (*damage_judge)(const damage_case *x, int64_t record, bool cut);

static levada_conform_verdict damage_passed_over(const damage_case *x, int64_t record, bool cut)
{
    int64_t                rest = cut ? 0 : x->c->want.n - record - 1;
    bool                   noticed = false;
    levada_conform_verdict verdict = damage_failing(x, record, cut, &noticed);

    if (verdict != LEVADA_CONFORM_GOOD) return verdict;
    return damage_skipping(x, record, rest, noticed);
}

static levada_conform_verdict damage_one(const damage_case *x, int64_t record, int fill,
                                         damage_judge judge)
{
    int64_t                begin = damage_start(x, record), end = damage_start(x, record + 1);
    size_t                 size = fill < 0 ? (size_t)(begin + end) / 2 : x->bytes.size;
    levada_cli_buffer      bytes = { 0 };
    levada_error           err = LEVADA_ERROR_INIT;
    levada_conform_verdict verdict;

    levada_cli_add(&bytes, x->bytes.at, size);
    if (fill >= 0 && x->c->def->lines && end > begin && bytes.at[end - 1] == '\n')
        end--; /* text continues at the next line */
    if (fill >= 0) memset(bytes.at + begin, fill, (size_t)(end - begin));
    if (levada_output_save(x->path, bytes.at, bytes.size, &err) != LEVADA_OK) {
        verdict = levada_conform_failed(x->c, "cannot damage the file", &err);
    } else {
        verdict = judge(x, record, fill < 0);
    }
    levada_cli_buffer_clear(&bytes);
    return verdict;
}

static levada_conform_verdict damage_all(damage_case *x, damage_judge judge)
{
    static const int       fills[] = { 0, 0xFF, 'x', -1 };
    int64_t                n = x->c->want.n, step = 1 + n / DAMAGE_PLACES, done = 0;
    levada_error           err = LEVADA_ERROR_INIT;
    levada_conform_verdict verdict = LEVADA_CONFORM_GOOD;

    for (int64_t i = 0; i < n; i += step) {
        for (size_t k = 0; k < sizeof fills / sizeof fills[0]; k++) {
            if (verdict == LEVADA_CONFORM_GOOD) verdict = damage_one(x, i, fills[k], judge);
            done++;
        }
    }
    if (levada_output_save(x->path, x->bytes.at, x->bytes.size, &err) != LEVADA_OK) {
        verdict = levada_conform_failed(x->c, "cannot restore the file", &err);
    }
    (void)snprintf(x->c->note, sizeof x->c->note, "%lld damaged files", (long long)done);
    return verdict;
}

static levada_conform_verdict damage_run(levada_conform *c, damage_judge judge)
{
    damage_case            x = { .c = c };
    levada_conform_verdict verdict = levada_conform_prepare(c);

    if (verdict == LEVADA_CONFORM_GOOD) {
        if (damage_prepare(&x)) verdict = damage_all(&x, judge);
        else (void)snprintf(c->note, sizeof c->note, "not tried: no small file in example_files");
    }
    damage_clear(&x);
    return verdict;
}

levada_conform_verdict levada_conform_damage(levada_conform *c)
{
    return damage_run(c, damage_passed_over);
}

/* -- places */

/* Reads `cut` records, saves, and reads the rest in another iterator. */
static levada_status damage_resume(const damage_case *x, int64_t cut, levada_conform_rows *to,
                                   levada_error *err)
{
    levada_iter  *it = NULL, *other = NULL;
    char         *bytes = NULL;
    size_t        size = 0;
    levada_status st = damage_open(x, "skip", 1, 1, &it, err);

    if (st == LEVADA_OK) st = levada_conform_read(it, cut, to, err);
    if (st == LEVADA_OK) st = levada_iter_save(it, &bytes, &size, err);
    if (st == LEVADA_OK) st = damage_open(x, "skip", 1, 1, &other, err);
    if (st == LEVADA_OK) st = levada_iter_restore(other, bytes, size, err);
    if (st == LEVADA_OK) st = levada_conform_read(other, -1, to, err);
    levada_string_free(&bytes);
    levada_iter_close(&it);
    levada_iter_close(&other);
    return st;
}

/* Wherever the reading of the file is interrupted, it continues with the next record. The records
 * after a place that next() passes over are those whose places go wrong first. */
static levada_conform_verdict damage_found_again(const damage_case *x, int64_t record, bool cut)
{
    levada_conform_rows    want = { 0 };
    levada_error           err = LEVADA_ERROR_INIT;
    levada_conform_verdict verdict = LEVADA_CONFORM_GOOD;
    int64_t                after = 1, most;

    (void)cut;
    if (damage_read(x, "skip", 1, 256, &want, &err) != LEVADA_END)
        want.n = 0; /* "damage" says it */
    for (most = want.n < DAMAGE_CUTS ? want.n : DAMAGE_CUTS; after <= most; after++) {
        levada_conform_rows got = { 0 };
        char                text[512];

        if (damage_resume(x, after, &got, &err) != LEVADA_END ||
            levada_conform_rows_differ(&want, &got, text, sizeof text)) {
            verdict = damage_broken(x, record, "other records where reading resumes at a record",
                                    "next(): the frame of the first record begins at data[0]; "
                                    "bytes before it are used up by a call that returns n = 0");
        }
        levada_conform_rows_clear(&got);
        if (verdict != LEVADA_CONFORM_GOOD) break;
    }
    levada_conform_rows_clear(&want);
    return verdict;
}

levada_conform_verdict levada_conform_places(levada_conform *c)
{
    return damage_run(c, damage_found_again);
}

/* -- probe */

/* Bits for a head, which has slack on both sides and no byte more. */
static int32_t damage_bits(const levada_conform *c, const char *head, size_t size)
{
    uint8_t *memory = calloc(1, size + (size_t)2 * DAMAGE_SLACK);
    int32_t  bits = 0;

    if (!memory) return 0;
    if (size) memcpy(memory + DAMAGE_SLACK, head, size);
    bits = c->def->probe(memory + DAMAGE_SLACK, (int64_t)size);
    free(memory);
    return bits;
}

/* Random bytes are not this format, more surely than a few of its bits. */
static levada_conform_verdict damage_random(levada_conform *c)
{
    char     head[DAMAGE_HEAD];
    uint64_t draw = 11;

    for (int k = 0; k < DAMAGE_PROBES; k++) {
        for (size_t i = 0; i < sizeof head; i++) {
            draw = draw * 6364136223846793005u + 1442695040888963407u;
            head[i] = (char)(draw >> 56);
        }
        if (damage_bits(c, head, sizeof head) >= DAMAGE_SURE) {
            levada_conform_look(c, "probe(): bits that were verified, 0 = it is not this");
            return levada_conform_broken(c, "probe() accepts random bytes as this format");
        }
    }
    return LEVADA_CONFORM_GOOD;
}

levada_conform_verdict levada_conform_probe(levada_conform *c)
{
    damage_case            x = { .c = c };
    levada_conform_verdict verdict = levada_conform_prepare(c);

    if (verdict != LEVADA_CONFORM_GOOD) return verdict;
    if (!c->def->probe) {
        (void)snprintf(c->note, sizeof c->note, "not tried: it has no probe()");
        return verdict;
    }
    (void)damage_bits(c, "", 0); /* an empty file */
    verdict = damage_random(c);
    if (verdict == LEVADA_CONFORM_GOOD && damage_prepare(&x)) {
        size_t size = x.bytes.size < DAMAGE_HEAD ? x.bytes.size : DAMAGE_HEAD;

        if (damage_bits(c, x.bytes.at, size) <= 0) {
            levada_conform_look(c, "probe(): bits that were verified, 0 = it is not this");
            verdict = levada_conform_broken(c, "probe() does not recognize %s", x.path);
        }
        for (size_t i = 0; i < size; i++) (void)damage_bits(c, x.bytes.at, i);
    }
    damage_clear(&x);
    return verdict;
}

const levada_conform_check levada_conform_format_checks[] = {
    { "damage", "passes over damage and truncated files", levada_conform_damage },
    { "places", "finds records again where reading resumes", levada_conform_places },
    { "probe", "is recognized by its first bytes", levada_conform_probe },
    { NULL, NULL, NULL },
};
