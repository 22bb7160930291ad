/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Epoch receipts that are added up, and compared with what a dataset delivers: a run of it makes
 * the receipt that is expected, and the list of all files and ranges.
 */
#include <levada/receipt.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "inspect/receipt_diff.h"
#include "registry/env_priv.h"
#include "run/iter.h"

#include <string.h>

#define RECEIPTS_EPOCHS 1000000
#define RECEIPTS_SLICE INT64_C(100000000) /* nanoseconds between two looks for a signal */

typedef struct receipts_file {
    levada_receipt_place place;
    char                *name;
} receipts_file;

typedef struct receipts_audit {
    levada_iter          *it;
    levada_file_hashes    known;
    levada_receipt        expected;
    receipts_file        *files;
    levada_receipt_place *ranges;
    int64_t               nfiles, nranges, files_capacity, ranges_capacity;
    int64_t              *slots; /* numbers of ranges + 1 by their hashes, 0 = none */
    int64_t               nslots; /* a power of two */
    int64_t               file;   /* of the last record */
    levada_status         status;
    levada_error         *why;
} receipts_audit;

static void receipts_clear(receipts_audit *c)
{
    for (int64_t i = 0; i < c->nfiles; i++) levada_free(c->files[i].name);
    levada_free(c->files);
    levada_free(c->ranges);
    levada_free(c->slots);
}

static levada_status receipts_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a receipt");
}

/* -- the places of the records */

static void receipts_count(levada_receipt_place *place, int64_t number)
{
    if (place->records == 0 || number < place->first) place->first = number;
    if (place->records == 0 || number > place->last) place->last = number;
    place->records++;
}

/* Finds the file with this hash, or makes it. */
static levada_status receipts_find_file(receipts_audit *c, uint64_t hash, const levada_origin *of)
{
    char       *path = NULL;
    receipts_file  made = { .place = { .hash = hash, .file = c->nfiles } };

    if (c->file < c->nfiles && c->files[c->file].place.hash == hash) return LEVADA_OK;
    for (c->file = 0; c->file < c->nfiles; c->file++) {
        if (c->files[c->file].place.hash == hash) return LEVADA_OK;
    }
    if (!levada_reserve(&c->files, &c->files_capacity, c->nfiles + 1, sizeof made)) {
        return receipts_memory(c->why);
    }
    if (levada_iter_origin_file(c->it, of, &path, c->why) < 0) return c->why->code;
    made.name = path ? levada_strdup(levada_base_name(path)) : NULL;
    if (path && !made.name) {
        levada_string_free(&path);
        return receipts_memory(c->why);
    }
    levada_string_free(&path);
    c->files[c->nfiles++] = made;
    return LEVADA_OK;
}

static int64_t *receipts_slot(const receipts_audit *c, uint64_t hash)
{
    int64_t at = (int64_t)(hash >> 20) & (c->nslots - 1);

    while (c->slots[at] && c->ranges[c->slots[at] - 1].hash != hash)
        at = (at + 1) & (c->nslots - 1);
    return &c->slots[at];
}

/* Reserves space for one range more. */
static levada_status receipts_grow(receipts_audit *c)
{
    int64_t  n = c->nslots ? 2 * c->nslots : 1024;
    int64_t *slots;

    if (!levada_reserve(&c->ranges, &c->ranges_capacity, c->nranges + 1, sizeof *c->ranges)) {
        return receipts_memory(c->why);
    }
    if (2 * c->nranges < c->nslots) return LEVADA_OK;
    slots = levada_alloc_zero((size_t)n * sizeof *slots);
    if (!slots) return receipts_memory(c->why);
    levada_free(c->slots);
    c->slots = slots;
    c->nslots = n;
    for (int64_t i = 0; i < c->nranges; i++) *receipts_slot(c, c->ranges[i].hash) = i + 1;
    return LEVADA_OK;
}

static levada_status receipts_record(receipts_audit *c, uint64_t file, int64_t number)
{
    levada_receipt_place made = { .hash = levada_receipt_range(file, number), .file = c->file,
                                  .range = true };
    int64_t             *slot;

    receipts_count(&c->files[c->file].place, number);
    LEVADA_TRY(receipts_grow(c));
    slot = receipts_slot(c, made.hash);
    if (*slot == 0) {
        c->ranges[c->nranges++] = made;
        *slot = c->nranges;
    }
    receipts_count(&c->ranges[*slot - 1], number);
    return LEVADA_OK;
}

static void receipts_visit(void *self, uint64_t file, const levada_origin *first,
                        const levada_origin *each, int64_t n)
{
    receipts_audit *c = self;

    if (each) levada_receipt_add_each(&c->expected, file, each, n);
    else levada_receipt_add(&c->expected, file, first->record, n);
    if (c->status == LEVADA_OK) c->status = receipts_find_file(c, file, first);
    for (int64_t i = 0; i < n && c->status == LEVADA_OK; i++) {
        c->status = receipts_record(c, file, each ? each[i].record : first->record + i);
    }
}

/* Runs the iterator. */
static levada_status receipts_run(receipts_audit *c)
{
    levada_block *block = NULL;
    levada_status st = LEVADA_OK;

    while (st == LEVADA_OK || st == LEVADA_AGAIN) {
        st = levada_iter_next_slice(c->it, RECEIPTS_SLICE, &block, c->why);
        if (st == LEVADA_AGAIN && levada_env_is_interrupted(c->it->run->env)) {
            return levada_fail(c->why, LEVADA_ECANCELLED, "interrupted");
        }
        if (st != LEVADA_OK) continue;
        c->expected.rows +=
             (uint64_t)levada_delivery_walk(&c->known, c->it->run, block, 0, receipts_visit, c);
        levada_block_unref(&block);
        st = c->status;
    }
    return st == LEVADA_END ? LEVADA_OK : st;
}

/* -- the report */

static void receipts_print(const receipts_audit *c, const levada_receipt *given, int64_t epochs,
                        const levada_receipt_diff *diff, levada_text *text)
{
    int64_t named = 0;
    bool    complete = diff->nfound == 0 && diff->named && given->unknown == 0 &&
                    given->rows == c->expected.rows * (uint64_t)epochs;

    for (int64_t i = 0; i < c->nfiles; i++) named += c->files[i].name != NULL;
    levada_text_format(text,
                       "{\"complete\":%s,\"epochs\":%lld,\"delivered\":%lld,\"expected\":%lld,"
                       "\"skipped\":%lld,\"unknown\":%lld,\"files\":%lld,\"differences\":[",
                       complete ? "true" : "false", (long long)epochs, (long long)given->rows,
                       (long long)(c->expected.rows * (uint64_t)epochs),
                       (long long)given->skipped, (long long)given->unknown,
                       (long long)named);
    for (int64_t i = 0; i < diff->nfound; i++) {
        const levada_receipt_found *f = &diff->found[i];
        const char                 *name = c->files[f->file].name;

        levada_text_put(text, i ? ",{\"file\":" : "{\"file\":");
        if (name) levada_text_json(text, name, strlen(name));
        else levada_text_put(text, "null");
        levada_text_format(text, ",\"first\":%lld,\"last\":%lld,\"records\":%lld,\"all\":%s}",
                           (long long)f->first, (long long)f->last, (long long)f->records,
                           f->all ? "true" : "false");
    }
    levada_text_format(text, "],\"named\":%s}", diff->named ? "true" : "false");
}

/* Compares, and reports. */
static levada_status receipts_report(const receipts_audit *c, const levada_receipt *given,
                                     int64_t epochs, char **out, levada_error *err)
{
    int64_t               n = c->nfiles + c->nranges;
    levada_receipt_place *places = levada_alloc((size_t)(n + 1) * sizeof *places);
    levada_receipt_diff   diff = { .left = *given, .places = places, .n = n };
    levada_text           text = { 0 };
    levada_status         st;

    if (!places) return receipts_memory(err);
    for (int64_t i = 0; i < c->nfiles; i++) places[i] = c->files[i].place;
    if (c->nranges) memcpy(places + c->nfiles, c->ranges, (size_t)c->nranges * sizeof *places);
    levada_receipt_merge(&diff.left, &c->expected, -epochs);
    st = levada_receipt_explain(&diff, err);
    if (st == LEVADA_OK) receipts_print(c, given, epochs, &diff, &text);
    levada_free(diff.found);
    levada_free(places);
    return st == LEVADA_OK ? levada_text_steal(&text, out, err) : st;
}

/* Returns the number of epochs whose records are nearest to those of a receipt, at least 1. */
static int64_t receipts_epochs(const levada_receipt *given, const levada_receipt *expected)
{
    int64_t one = (int64_t)expected->rows, all = (int64_t)given->rows;
    int64_t epochs = one > 0 ? all / one + (all % one > one / 2) : 1;

    return epochs < 1 ? 1 : epochs;
}

levada_status levada_receipts_check(levada_iter *it, const char *receipt, int64_t epochs,
                                    char **out, levada_error *err)
{
    levada_error   why = LEVADA_ERROR_INIT;
    levada_receipt given;
    receipts_audit c = { .it = it, .why = &why };
    levada_status  st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(receipt != NULL, "receipt", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    if (epochs < 0 || epochs > RECEIPTS_EPOCHS) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "epochs=%lld must be from 0 to %d",
                           (long long)epochs, RECEIPTS_EPOCHS);
    }
    LEVADA_TRY(levada_receipt_parse(receipt, &given, err));
    st = receipts_run(&c);
    if (st != LEVADA_OK && err) *err = why;
    if (epochs == 0) epochs = receipts_epochs(&given, &c.expected);
    if (st == LEVADA_OK) st = receipts_report(&c, &given, epochs, out, err);
    receipts_clear(&c);
    return st;
}

levada_status levada_receipts_merge(const char *const *receipts, int64_t n, char **out,
                                    levada_error *err)
{
    levada_receipt sum = { 0 }, one;
    levada_text    text = { 0 };

    LEVADA_TRY(levada_require(receipts != NULL || n == 0, "receipts", err));
    if (n < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "n=%lld must be at least 0",
                           (long long)n);
    }
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    for (int64_t i = 0; i < n; i++) {
        LEVADA_TRY(levada_require(receipts[i] != NULL, "receipts", err));
        LEVADA_TRY(levada_receipt_parse(receipts[i], &one, err));
        levada_receipt_merge(&sum, &one, 1);
    }
    levada_receipt_print(&sum, &text);
    return levada_text_steal(&text, out, err);
}
