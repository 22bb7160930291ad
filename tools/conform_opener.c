/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: openers, on the file that their descriptor names as an example.
 */
#include "conform.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define OPENER_MOST (INT64_C(1) << 22) /* bytes of an example that are read */
#define OPENER_GUARD 16

typedef struct opener_reading {
    const levada_opener_def *def;
    void                    *file;
    int64_t                  piece;
    levada_cli_buffer        bytes;
    levada_status            st;
    levada_error             err;
} opener_reading;

/* Returns true if there is a file to try. */
static bool opener_begin(levada_conform *c)
{
    c->note[0] = c->what[0] = c->where[0] = 0;
    c->known = true;
    if (c->opener->example) return true;
    (void)snprintf(c->what, sizeof c->what, "it has no example, so that nothing can be read");
    levada_conform_look(c, "the member example of its descriptor: the name of a file");
    return false;
}

static levada_status opener_open(const levada_conform *c, const char *path, void **out,
                                 levada_error *err)
{
    return c->opener->open(c->opener->user, path, NULL, out, err);
}

/* One read. INTERNAL, which no opener returns, for a step that the contract does not allow. */
static levada_status opener_read(opener_reading *r, int64_t at, int64_t *made)
{
    char *data = levada_cli_buffer_reserve(&r->bytes, (size_t)r->piece + OPENER_GUARD);

    *made = -1;
    memset(data + r->piece, 0xA5, OPENER_GUARD);
    LEVADA_TRY(r->def->read_at(r->file, at, (uint8_t *)data, r->piece, made, &r->err));
    for (int i = 0; i < OPENER_GUARD; i++) {
        if ((uint8_t)data[r->piece + i] == 0xA5) continue;
        return levada_fail(&r->err, LEVADA_EINTERNAL, "it writes beyond the %lld bytes of data",
                           (long long)r->piece);
    }
    if (*made >= 0 && *made <= r->piece) return LEVADA_OK;
    return levada_fail(&r->err, LEVADA_EINTERNAL, "*made is %lld of %lld", (long long)*made,
                       (long long)r->piece);
}

/* Returns the whole file in pieces; a short one must be the last one. */
static void *opener_read_all(void *reading)
{
    opener_reading *r = reading;
    int64_t         at = 0, made = 0, size = 0;

    r->st = r->def->size(r->file, &size, &r->err);
    while (r->st == LEVADA_OK && at < OPENER_MOST) {
        r->st = opener_read(r, at, &made);
        if (r->st != LEVADA_OK || made == 0) break;
        r->bytes.size += (size_t)made;
        at += made;
        if (made < r->piece && at < size) {
            r->st = levada_fail(&r->err, LEVADA_EINTERNAL,
                                "a read of %lld bytes ends at %lld of %lld", (long long)r->piece,
                                (long long)at, (long long)size);
        }
    }
    if (r->st == LEVADA_OK && at < OPENER_MOST && at != size) {
        r->st = levada_fail(&r->err, LEVADA_EINTERNAL, "size() is %lld, the file has %lld bytes",
                            (long long)size, (long long)at);
    }
    if (r->bytes.size > OPENER_MOST) r->bytes.size = OPENER_MOST;
    return NULL;
}

static levada_conform_verdict opener_compare(levada_conform *c, const opener_reading *r)
{
    levada_conform_look(c, "read_at(): *made < size only at the end of the file");
    if (r->st != LEVADA_OK) {
        char call[64];

        (void)snprintf(call, sizeof call, "in pieces of %lld bytes", (long long)r->piece);
        return levada_conform_failed(c, call, &r->err);
    }
    if (c->plain.size != r->bytes.size ||
        (r->bytes.size && memcmp(c->plain.at, r->bytes.at, r->bytes.size) != 0)) {
        return levada_conform_broken(c, "other bytes in pieces of %lld", (long long)r->piece);
    }
    c->where[0] = 0;
    return LEVADA_CONFORM_GOOD;
}

/* Opens the example again and reads it; the first reading is what others are compared with. */
static levada_conform_verdict opener_try(levada_conform *c, int64_t piece, bool first)
{
    opener_reading         r = { .def = c->opener, .piece = piece, .err = LEVADA_ERROR_INIT };
    levada_conform_verdict verdict;
    int64_t                look = -1;

    if (opener_open(c, c->opener->example, &r.file, &r.err) != LEVADA_OK) {
        return levada_conform_failed(c, "open", &r.err);
    }
    (void)opener_read_all(&r);
    c->opener->close(r.file);
    if (first && r.st == LEVADA_OK) levada_cli_add(&c->plain, r.bytes.at, r.bytes.size);
    verdict = opener_compare(c, &r);
    if (c->opener->look) look = c->opener->look(c->opener->user, c->opener->example);
    if (verdict == LEVADA_CONFORM_GOOD && look >= 0 && look < OPENER_MOST &&
        look != (int64_t)r.bytes.size) {
        levada_conform_look(c, "look(): the size of a file, -1 = not known");
        verdict = levada_conform_broken(c, "look() returns %lld, the file has %lld bytes",
                                        (long long)look, (long long)r.bytes.size);
    }
    levada_cli_buffer_clear(&r.bytes);
    return verdict;
}

static levada_conform_verdict opener_pieces(levada_conform *c)
{
    static const int64_t   pieces[] = { 65536, 1000, 7, 1 };
    levada_conform_verdict verdict = LEVADA_CONFORM_GOOD;

    if (!opener_begin(c)) return LEVADA_CONFORM_SKIPPED;
    c->plain.size = 0;
    for (size_t i = 0; verdict == LEVADA_CONFORM_GOOD && i < 4; i++) {
        verdict = opener_try(c, pieces[i], i == 0);
    }
    (void)snprintf(c->note, sizeof c->note, "%lld bytes", (long long)c->plain.size);
    return verdict;
}

/* Policies skip files that are missing, so they must be told apart. */
static levada_conform_verdict opener_missing(levada_conform *c)
{
    levada_error  err = LEVADA_ERROR_INIT;
    void         *file = NULL;
    char          path[512];
    levada_status st;

    if (!opener_begin(c)) return LEVADA_CONFORM_SKIPPED;
    (void)snprintf(path, sizeof path, "%s.levada-check-missing", c->opener->example);
    st = opener_open(c, path, &file, &err);
    if (st == LEVADA_OK) c->opener->close(file);
    if (st == LEVADA_ENOT_FOUND) return LEVADA_CONFORM_GOOD;
    levada_conform_look(c, "open(): a missing file is ENOT_FOUND");
    return levada_conform_broken(c, "open() of %s returns %s", path, levada_status_name(st));
}

/* Several threads read one open file, if the descriptor says that they may. */
static levada_conform_verdict opener_threads(levada_conform *c)
{
    opener_reading         r[4];
    pthread_t              threads[4];
    levada_error           err = LEVADA_ERROR_INIT;
    levada_conform_verdict verdict = LEVADA_CONFORM_GOOD;
    void                  *file = NULL;
    int                    n = 0;

    if (!opener_begin(c)) return LEVADA_CONFORM_SKIPPED;
    if (!c->opener->shared) {
        (void)snprintf(c->note, sizeof c->note, "not tried: it is not shared");
        return verdict;
    }
    if (opener_open(c, c->opener->example, &file, &err) != LEVADA_OK) {
        return levada_conform_failed(c, "open", &err);
    }
    for (; n < 4; n++) {
        r[n] = (opener_reading){ .def = c->opener, .file = file, .piece = 7 + n,
                                 .err = LEVADA_ERROR_INIT };
        if (pthread_create(&threads[n], NULL, opener_read_all, &r[n]) != 0) break;
    }
    for (int i = 0; i < n; i++) {
        (void)pthread_join(threads[i], NULL);
        if (verdict == LEVADA_CONFORM_GOOD) verdict = opener_compare(c, &r[i]);
        levada_cli_buffer_clear(&r[i].bytes);
    }
    c->opener->close(file);
    return verdict;
}

const levada_conform_check levada_conform_opener_checks[] = {
    { "read", "reads the same bytes in pieces of every size", opener_pieces },
    { "missing", "reports a missing file", opener_missing },
    { "shared", "is read by several threads", opener_threads },
    { NULL, NULL, NULL },
};
