/* SPDX-License-Identifier: Apache-2.0 */
#include "run/absent.h"

#include "base/alloc.h"
#include "base/text.h"
#include "state/state_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
    ABSENT_NAMES = 8, /* of a message */
    ABSENT_HAVE = 160 /* bytes of the names that the records have */
};

struct levada_absent_decoder {
    char         path[LEVADA_STATE_PATH];
    levada_spec *spec;
    bool        *there;
    char         have[ABSENT_HAVE];
    int64_t      records;
    bool         ended;
};

/* Returns true if two paths differ in numbers of slots only: "1.interleave/0/2.parse_example". */
static bool absent_same_path(const char *a, const char *b)
{
    bool begins = true; /* a name of the path */

    while (*a || *b) {
        if (begins && isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            size_t m = strspn(a, "0123456789"), n = strspn(b, "0123456789");

            if (a[m] == '/' && b[n] == '/') {
                a += m;
                b += n;
            }
        }
        if (*a != *b) return false;
        begins = *a == '/';
        a++, b++;
    }
    return true;
}

static levada_absent_decoder *absent_find(levada_absent *to, const char *path,
                                            const levada_spec *spec)
{
    levada_absent_decoder *d;

    for (int32_t i = 0; i < to->n; i++) {
        if (absent_same_path(to->decoders[i].path, path)) return &to->decoders[i];
    }
    if (!levada_reserve(&to->decoders, &to->capacity, to->n + 1, sizeof *d)) return NULL;
    d = &to->decoders[to->n];
    *d = (levada_absent_decoder){ 0 };
    d->there = levada_alloc_zero((size_t)levada_spec_count(spec) + 1);
    if (!d->there) return NULL;
    d->spec = levada_spec_ref(spec);
    snprintf(d->path, sizeof d->path, "%s", path);
    to->n++;
    return d;
}

void levada_absent_add(levada_absent *to, const char *path, const levada_spec *spec,
                        const bool *there, const char *have, int64_t records, bool ended)
{
    levada_absent_decoder *d = absent_find(to, path, spec);

    if (!d) to->failed = true;
    if (!d) return;
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        int32_t at = there[i] ? levada_spec_find(d->spec, levada_spec_field(spec, i)->name) : -1;

        if (at >= 0) d->there[at] = true;
    }
    if (!d->have[0]) snprintf(d->have, sizeof d->have, "%s", have);
    d->ended = d->ended || ended;
    d->records += records;
}

/* Writes "'a', 'b' and 3 more": the columns that are not there. Returns their number. */
static int32_t absent_list(const levada_absent_decoder *d, levada_text *to)
{
    int32_t n = 0;

    for (int32_t i = 0; i < levada_spec_count(d->spec); i++) {
        if (d->there[i] || n++ >= ABSENT_NAMES) continue;
        levada_text_format(to, "%s'%.60s'", n > 1 ? ", " : "",
                           levada_spec_field(d->spec, i)->name);
    }
    if (n > ABSENT_NAMES) levada_text_format(to, " and %d more", (int)(n - ABSENT_NAMES));
    return n;
}

levada_status levada_absent_note(const levada_absent *absent, int32_t i, levada_error *why,
                                  levada_error *err)
{
    const levada_absent_decoder *d = &absent->decoders[i];
    levada_text                   names = { 0 };
    int32_t                       n = d->ended && d->records > 0 ? absent_list(d, &names) : 0;
    levada_status                 st = LEVADA_OK;

    if (names.failed) {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a note");
    } else if (n > 0) {
        (void)levada_fail(why, LEVADA_ENOT_FOUND,
                          "%s %s %s in none of %lld records; the records have %s",
                          n > 1 ? "fields" : "field", names.at, n > 1 ? "were" : "was",
                          (long long)d->records, d->have[0] ? d->have : "no fields");
        levada_error_place(why, d->path, NULL, -1, -1);
    }
    levada_text_clear(&names);
    return st;
}

void levada_absent_clear(levada_absent *absent)
{
    for (int32_t i = 0; i < absent->n; i++) {
        levada_spec_unref(&absent->decoders[i].spec);
        levada_free(absent->decoders[i].there);
    }
    levada_free(absent->decoders);
    *absent = (levada_absent){ 0 };
}
