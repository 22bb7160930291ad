/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar - samples of tar archives, as WebDataset names them: members that follow each other and whose
 * names are the same up to the first dot of their last part are one sample, "a/b.jpg" and
 * "a/b.cls". What follows that dot is the name of a field.
 *
 * The format frames samples: all members of one, with their headers. The decoder looks for the
 * fields on any thread; their bytes stay where they are. Folders and links are passed over. Blocks
 * of zeros end a sample, and are passed over too: archives may follow each other in one file. But
 * zeros may also be what is left of members, so a header after them is noted, as is an archive that
 * ends without them.
 */
#include "base/alloc.h"
#include "base/hash.h"
#include "rows/strings_put.h"
#include "source/tar_member.h"

#include <levada/builder.h>
#include <levada/source.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { TAR_FIELDS = 256, TAR_TEXT = 65536 }; /* columns, and fields of a sample */
enum { TAR_USTAR = 48 }; /* bits of a header that says ustar: a sum alone is found by accident */
/* Bytes of zeros that end an archive, at most: two blocks, and padding to 10,240 bytes. */
enum { TAR_END = 2 * LEVADA_TAR_BLOCK + 10240 };

#define TAR_MORE                                                                                 \
    "a header after zeros: a second archive, or zeros were written over members before it"
#define TAR_ZEROS "the archive ends with more zeros than usual: members may be missing"
#define TAR_SORT "; the members of a sample must follow one another: tar --sort=name"
#define TAR_NO_END "the archive lacks the zeros at its end: members may be missing"

typedef struct tar_args {
    levada_texts fields;
} tar_args;

static const levada_arg tar_options[] = {
    LEVADA_ARG(TEXTS, tar_args, fields,
               .doc = "fields to return as columns: jpg, cls, ...; a sample without one of them is "
                      "a bad record; null = the names and values of all fields, ragged"),
    LEVADA_ARG_END
};

/* Returns the number of bytes of the name up to the dot that ends the key. */
static int32_t tar_key(const levada_tar_member *m)
{
    const char *slash = m->length > 0 ? memrchr(m->name, '/', (size_t)m->length) : NULL;
    int32_t     at = slash ? (int32_t)(slash - m->name) + 1 : 0;

    while (at < m->length && m->name[at] != '.') at++;
    return at;
}

/* -- samples */

/* The keys of a file, by their hashes: all up to TAR_SEEN / 2 of them, else as many of those whose
 * lowest bits are zero. An archive that is not sorted has many keys twice. */
enum { TAR_SEEN = 16384 };

typedef struct tar_watch {
    uint64_t seen[TAR_SEEN], thinned[TAR_SEEN]; /* 0 = free */
    uint64_t zero;                              /* bits of the hashes that are kept */
    int32_t  n;
    int64_t  next, back, record; /* back: keys that came back, the first one with this record */
    char     key[64], text[320];
} tar_watch;

/* What is known of the next sample. */
typedef struct tar_state {
    levada_tar_member members[2], *member; /* one that is read, and the last one with a name */
    const char       *key;
    int32_t           nkey; /* -1 = no member of it has been seen */
    /* -- of a search after damage */
    bool    searching, described; /* described: the next header belongs to the damage */
    int64_t passing;              /* bytes that belong to it */
    /* -- of a sample that is skipped, because it is too long */
    bool     leaving;
    int64_t  left_key; /* -1 = no member of it has been seen */
    uint64_t left_hash;
    tar_watch watch;
} tar_state;

static bool tar_same(const tar_state *s, int32_t nkey)
{
    return s->nkey == nkey && memcmp(s->key, s->member->name, (size_t)nkey) == 0;
}

/* Reads a member, and leaves the key of the one before where it is. */
static levada_tar_kind tar_read(tar_state *s, const uint8_t *data, int64_t size, bool at_end)
{
    s->member = &s->members[s->nkey >= 0 && s->key == s->members[0].own];
    return levada_tar_read(data, size, at_end, true, s->member);
}

/* Returns true if this member belongs to a sample. One that is cut has a name if its header is
 * whole. */
static bool tar_is_named(levada_tar_kind kind, const levada_tar_member *m)
{
    return kind == LEVADA_TAR_FILE || kind == LEVADA_TAR_PARTIAL ||
           (kind == LEVADA_TAR_CUT && m->length > 0);
}

static void tar_emit(levada_spans *out, int64_t begin, int64_t end)
{
    out->begin[out->n] = (int32_t)begin;
    out->end[out->n++] = (int32_t)end;
}

/* Frames samples; *at = the member that ended the walk, `kind` what it is. */
static levada_tar_kind tar_walk(tar_state *s, const uint8_t *data, int64_t size, bool at_end,
                                levada_spans *out, int64_t *at)
{
    levada_tar_kind kind = LEVADA_TAR_NOTHING;
    int64_t         begin = 0;

    s->nkey = -1;
    for (*at = 0; *at < size; *at += s->member->total) {
        kind = tar_read(s, data + *at, size - *at, at_end);
        if (tar_is_named(kind, s->member)) {
            int32_t nkey = tar_key(s->member);

            if (s->nkey < 0 && begin > 0) break; /* the first sample begins at data[0] */
            if (s->nkey >= 0 && !tar_same(s, nkey)) {
                tar_emit(out, begin, *at);
                begin = *at;
                if (out->n == out->capacity) break;
            }
            s->nkey = nkey;
            s->key = s->member->name;
        } else if (kind == LEVADA_TAR_NOTHING) {
            if (s->nkey >= 0) tar_emit(out, begin, *at);
            begin = *at;
            break;
        } else if (s->nkey < 0 && kind < LEVADA_TAR_CUT) {
            begin = *at + s->member->total; /* nothing of a sample yet */
        }
        if (kind >= LEVADA_TAR_CUT) break;
    }
    out->used = begin;
    return kind;
}

/* Passes zeros at the beginning. While their end is not in sight, some stay, from which the next
 * call sees that there were zeros, and whether there were too many. */
static bool tar_pass_zeros(const uint8_t *data, int64_t size, bool at_end, levada_spans *out)
{
    int64_t zeros = levada_tar_zeros(data, size);
    bool    magic, more = size - zeros >= LEVADA_TAR_BLOCK;

    if (zeros == 0) return false;
    out->used = zeros;
    if (more && levada_tar_is_header(data + zeros, &magic)) out->note = TAR_MORE;
    if (more || (at_end && zeros <= TAR_END)) return true;
    if (at_end) {
        out->note = TAR_ZEROS;
        return true;
    }
    out->used -= zeros <= TAR_END ? zeros : TAR_END + LEVADA_TAR_BLOCK;
    return true;
}

/* Finishes a file that ends after a whole member. The sample that an archive without an end may
 * have lost members of comes alone, with the note. */
static void tar_finish(const tar_state *s, int64_t size, levada_spans *out)
{
    if (out->n > 0) return;
    if (s->nkey >= 0) tar_emit(out, out->used, size);
    out->used = size;
    out->note = TAR_NO_END;
}

static levada_status tar_next(void *state, const void *args, const uint8_t *data, int64_t size,
                              bool at_end, levada_spans *out, levada_error *err)
{
    tar_state      *s = state;
    int64_t         at;
    levada_tar_kind kind;

    (void)args;
    out->n = 0;
    out->need = 0;
    s->searching = s->leaving = false;
    if (tar_pass_zeros(data, size, at_end, out)) return LEVADA_OK;
    kind = tar_walk(s, data, size, at_end, out, &at);
    if (out->n == out->capacity || kind == LEVADA_TAR_NOTHING) return LEVADA_OK;
    if (at >= size && kind < LEVADA_TAR_CUT) {
        if (at_end) tar_finish(s, size, out);
        return LEVADA_OK;
    }
    if (out->n > 0 || (out->used > 0 && kind == LEVADA_TAR_CUT && !at_end)) return LEVADA_OK;
    if (out->used > 0 && tar_is_named(kind, s->member)) return LEVADA_OK; /* after folders */
    if (kind == LEVADA_TAR_REFUSED)
        return levada_fail(err, LEVADA_EUNIMPLEMENTED, "%s", s->member->wrong);
    if (kind == LEVADA_TAR_BAD)
        return levada_fail(err, LEVADA_EDATA_LOSS, "%s (at byte %lld of the sample)",
                           s->member->wrong, (long long)(at - out->used));
    out->need = at - out->used + s->member->total;
    if (!at_end) return LEVADA_OK;
    out->need = 0;
    return levada_fail(err, LEVADA_EDATA_LOSS,
                       "the archive ends inside a member: %lld of %lld bytes",
                       (long long)(size - at), (long long)s->member->total);
}

static int32_t tar_probe(const uint8_t *data, int64_t size)
{
    bool magic;

    if (size < LEVADA_TAR_BLOCK || !levada_tar_is_header(data, &magic)) return 0;
    return magic ? TAR_USTAR : 20;
}

/* Passes over what the damage has described, from data[at] on: headers up to that of a member, and
 * its bytes. Where a header is not in sight it stops a byte before that, where the search
 * continues.
 */
static int64_t tar_pass_described(tar_state *s, const uint8_t *data, int64_t size, int64_t at,
                                  bool at_end)
{
    bool magic;

    for (;;) {
        int64_t n = s->passing < size - at ? s->passing : size - at;

        at += n;
        s->passing -= n;
        if (s->passing > 0 || !s->described) return at;
        if (size - at < LEVADA_TAR_BLOCK) {
            if (at_end) return size;
            s->passing = at > 1;
            return at > 1 ? at - 1 : 1;
        }
        s->described = levada_tar_is_header(data + at, &magic);
        if (!s->described) return at; /* the damage continues */
        s->passing = levada_tar_length(data + at);
        s->described = levada_tar_extension(data + at) > 0;
    }
}

/* Finds the damaged header, after the good members of its sample, and good headers that describe
 * it. */
static int64_t tar_find_damage(tar_state *s, const uint8_t *data, int64_t size, bool at_end)
{
    int64_t at = 0, n;
    bool    magic;

    s->described = false;
    s->passing = 0;
    s->nkey = -1;
    while (at < size && (at > 0 || tar_probe(data, size) == TAR_USTAR) &&
           tar_read(s, data + at, size - at, at_end) < LEVADA_TAR_CUT) {
        at += s->member->total;
    }
    while (size - at >= LEVADA_TAR_BLOCK && levada_tar_is_header(data + at, &magic) &&
           (n = levada_tar_extension(data + at)) > 0 && n < size - at) {
        at += n;
        s->described = true;
    }
    return at;
}

static int64_t tar_resync(void *state, const void *args, const uint8_t *data, int64_t size,
                          bool at_end)
{
    tar_state *s = state;
    int64_t    at = 0, found;
    bool       magic;

    (void)args;
    if (s->searching && (s->passing > 0 || s->described))
        return tar_pass_described(s, data, size, 0, at_end);
    if (!s->searching) at = tar_find_damage(s, data, size, at_end);
    if (!s->searching && s->described && size - at >= LEVADA_TAR_BLOCK &&
        levada_tar_is_header(data + at, &magic)) {
        s->searching = true;
        return tar_pass_described(s, data, size, at, at_end);
    }
    s->described = false;
    if (at >= size) return size;
    found = levada_tar_find(data + at + 1, size - at - 1) + 1;
    if (found > 0) {
        s->described = !s->searching && levada_tar_is_described(data + at, found);
        s->searching = true;
        return tar_pass_described(s, data, size, at + found, at_end);
    }
    s->searching = true;
    if (at_end) return size;
    return at + 1 > size - LEVADA_TAR_BLOCK + 1 ? at + 1 : size - LEVADA_TAR_BLOCK + 1;
}

/* Returns true if the member that was read last belongs to the sample that is skipped. */
static bool tar_leaves(tar_state *s, levada_tar_kind kind)
{
    int32_t  nkey;
    uint64_t hash;

    if (kind == LEVADA_TAR_OTHER) return true;
    if (!tar_is_named(kind, s->member)) return false;
    nkey = tar_key(s->member);
    hash = levada_hash64(s->member->name, (size_t)nkey, 0);
    if (s->left_key >= 0) return s->left_key == nkey && s->left_hash == hash;
    s->left_key = nkey;
    s->left_hash = hash;
    return true;
}

/* Skips a sample that is too long, with all of its members. */
static int64_t tar_leave_out(void *state, const void *args, const uint8_t *data, int64_t size,
                             bool at_end, bool *done)
{
    tar_state *s = state;
    int64_t    at = 0;

    (void)args;
    if (!s->leaving) s->left_key = -1, s->passing = 0;
    s->leaving = true;
    s->nkey = -1;
    for (;;) {
        levada_tar_kind kind;
        int64_t         n = s->passing < size - at ? s->passing : size - at;

        at += n;
        s->passing -= n;
        *done = at_end && s->passing < LEVADA_TAR_BLOCK; /* padding may be missing */
        if (s->passing > 0 || at == size) return at;
        kind = tar_read(s, data + at, size - at, at_end);
        if (kind == LEVADA_TAR_CUT && s->member->length == 0 && !at_end &&
            s->member->total <= TAR_TEXT) {
            return at; /* the header is not all there */
        }
        *done = !tar_leaves(s, kind) && (s->member->total <= TAR_TEXT || kind != LEVADA_TAR_CUT);
        if (*done) return at;
        s->passing = (s->member->total + LEVADA_TAR_BLOCK - 1) / LEVADA_TAR_BLOCK *
                     LEVADA_TAR_BLOCK;
    }
}

/* -- keys that come back */

static bool tar_see(uint64_t *seen, uint64_t hash)
{
    size_t slot = hash >> 40 & (TAR_SEEN - 1);

    while (seen[slot] && seen[slot] != hash) slot = (slot + 1) & (TAR_SEEN - 1);
    if (seen[slot]) return true;
    seen[slot] = hash;
    return false;
}

static void tar_thin(tar_watch *w)
{
    while (w->n > TAR_SEEN / 2) {
        w->zero = w->zero << 1 | 1;
        w->n = 0;
        memset(w->thinned, 0, sizeof w->thinned);
        for (int32_t i = 0; i < TAR_SEEN; i++) {
            if (w->seen[i] && !(w->seen[i] & w->zero)) w->n += !tar_see(w->thinned, w->seen[i]);
        }
        memcpy(w->seen, w->thinned, sizeof w->seen);
    }
}

static void tar_watch_sample(tar_watch *w, const uint8_t *data, int64_t size, int64_t record)
{
    levada_tar_member m;
    levada_tar_kind   kind = levada_tar_read(data, size, true, false, &m);
    int32_t           nkey;
    uint64_t          hash;

    if (kind != LEVADA_TAR_FILE && kind != LEVADA_TAR_PARTIAL) return;
    nkey = tar_key(&m);
    hash = levada_hash64(m.name, (size_t)nkey, 0) | UINT64_C(1) << 63;
    if (hash & w->zero) return;
    if (!tar_see(w->seen, hash)) {
        w->n++;
        tar_thin(w);
    } else if (w->back++ == 0) {
        w->record = record;
        (void)snprintf(w->key, sizeof w->key, "%.*s", nkey < 60 ? (int)nkey : 60, m.name);
    }
}

static const char *tar_watch_records(void *state, const uint8_t *data, const levada_spans *spans,
                                     int64_t record)
{
    tar_watch *w = &((tar_state *)state)->watch;
    bool       odd = spans->n == 0 && w->back > 0;

    for (int32_t i = 0; i < spans->n; i++) {
        if (i == 0 && record < w->next) memset(w, 0, sizeof *w);
        tar_watch_sample(w, data + spans->begin[i], spans->end[i] - spans->begin[i], record + i);
    }
    w->next = record + spans->n;
    if (odd)
        (void)snprintf(w->text, sizeof w->text,
                       "%s%lld of its keys are repeated after other samples, first '%s' at record "
                       "%lld, so their members are in several samples; sort it with tar "
                       "--sort=name",
                       w->zero ? "at least " : "", (long long)w->back, w->key,
                       (long long)w->record);
    if (spans->n == 0) w->next = INT64_MAX; /* the next file begins with nothing */
    return odd ? w->text : NULL;
}

/* -- columns */

/* Scratch of a worker: the fields of one row, and the values of all rows. */
typedef struct tar_columns {
    levada_tar_member first, member; /* first: of the row */
    int32_t           n, nkey, used; /* used: of text */
    char              text[TAR_TEXT];
    int32_t           name[TAR_FIELDS], nname[TAR_FIELDS]; /* in text */
    levada_text_span  value[TAR_FIELDS];
    levada_text_span *values; /* with fields: field c of row r is values[c * rows + r] */
    int64_t           capacity, total;
} tar_columns;

static levada_status tar_check(const void *args, levada_spec **out, levada_error *err)
{
    const levada_texts *wanted = &((const tar_args *)args)->fields;
    levada_field        fields[TAR_FIELDS + 1] = {
        { .name = "key", .dtype = LEVADA_BYTES },
        { .name = "names", .dtype = LEVADA_BYTES, .depth = 1 },
        { .name = "values", .dtype = LEVADA_BYTES, .depth = 1 },
    };

    if (wanted->n > TAR_FIELDS)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "fields must list at most %d fields, got %lld",
                           TAR_FIELDS, (long long)wanted->n);
    for (int64_t i = 0; i < wanted->n; i++)
        fields[i + 1] = (levada_field){ .name = wanted->at[i], .dtype = LEVADA_BYTES };
    return levada_spec_create(fields, wanted->n > 0 ? (int32_t)wanted->n + 1 : 3,
                              LEVADA_SPEC_PLAIN, out, err);
}

static void tar_columns_close(void *state) { levada_free(((tar_columns *)state)->values); }

static bool tar_is_name(const tar_columns *c, int32_t i, const char *name, int32_t size,
                        bool any_case)
{
    const char *at = c->text + c->name[i];

    if (c->nname[i] != size) return false;
    return any_case ? strncasecmp(at, name, (size_t)size) == 0
                    : memcmp(at, name, (size_t)size) == 0;
}

/* Returns the number of the field with this name; -1 = there is none, or there are several. */
static int32_t tar_find(const tar_columns *c, const char *name, int32_t size, bool any_case)
{
    int32_t found = -1;

    for (int32_t i = 0; i < c->n; i++) {
        if (!tar_is_name(c, i, name, size, any_case)) continue;
        if (found >= 0) return -1;
        found = i;
    }
    return found;
}

/* Adds one more field of the row. Returns what is wrong with it, or NULL. */
static const char *tar_add(tar_columns *c, const levada_tar_member *m, const uint8_t *row)
{
    int32_t nkey = tar_key(m), from = nkey < m->length ? nkey + 1 : nkey, size = m->length - from;

    if (c->n == 0) c->nkey = nkey;
    if (c->n == TAR_FIELDS || c->used + size > TAR_TEXT) 
        return "a sample must have at most 256 members, and 64 KiB of names";
    memcpy(c->text + c->used, m->name + from, (size_t)size);
    if (tar_find(c, m->name + from, size, false) >= 0)
        return "a sample has two members of one name";
    c->name[c->n] = c->used;
    c->nname[c->n] = size;
    c->value[c->n++] = (levada_text_span){ row + m->data, (int32_t)m->size, false };
    c->used += size;
    return NULL;
}

/* Collects the fields of a row. The reader has checked the headers. */
static const char *tar_row(tar_columns *c, const uint8_t *row, int32_t size)
{
    const char        *wrong = NULL;
    levada_tar_member *m = &c->first;

    c->n = c->used = c->nkey = 0;
    for (int64_t at = 0; at < size && !wrong; at += m->total) {
        levada_tar_kind kind;

        m = c->n == 0 ? &c->first : &c->member;
        kind = levada_tar_read(row + at, size - at, true, false, m);
        if (kind == LEVADA_TAR_FILE) wrong = tar_add(c, m, row + at);
        else if (kind == LEVADA_TAR_PARTIAL) wrong = m->wrong;
        else if (kind >= LEVADA_TAR_CUT) wrong = "the members have changed";
        if (kind == LEVADA_TAR_PARTIAL && c->n == 0) c->nkey = tar_key(m);
    }
    return wrong;
}

static levada_status tar_reject(levada_builder *out, int64_t row, const tar_columns *c,
                                const char *what, const char *name, levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;
    int          n = c->nkey < 100 ? (int)c->nkey : 100;

    (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT, "sample '%.*s': %s%.60s%s", n, c->first.name,
                      what, name, *name ? TAR_SORT : "");
    return levada_builder_reject(out, row, &why, err);
}

/* Puts all names of a row; its values are kept for later. */
static levada_status tar_put_names(tar_columns *c, levada_builder *out, levada_error *err)
{
    if (!levada_reserve(&c->values, &c->capacity, c->total + c->n + 1, sizeof *c->values))
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory for the fields of a block");
    for (int32_t i = 0; i < c->n; i++) {
        LEVADA_TRY(levada_builder_push_bytes(out, 1, c->text + c->name[i], c->nname[i], err));
        c->values[c->total++] = c->value[i];
    }
    return levada_builder_end_row(out, 1, err);
}

static levada_status tar_decode_all(tar_columns *c, const levada_strings *in, levada_builder *out,
                                    levada_error *err)
{
    int32_t *offsets = NULL;

    c->total = 0;
    LEVADA_TRY(levada_builder_offsets(out, 2, 0, in->n, &offsets, err));
    offsets[0] = 0;
    for (int64_t row = 0; row < in->n; row++) {
        const char *wrong = tar_row(c, in->data[row], in->size[row]);

        if (wrong) LEVADA_TRY(tar_reject(out, row, c, wrong, "", err));
        LEVADA_TRY(levada_builder_push_bytes(out, 0, c->first.name, c->nkey, err));
        LEVADA_TRY(tar_put_names(c, out, err));
        offsets[row + 1] = (int32_t)c->total;
    }
    return levada_strings_put(out, 2, 1, c->values, c->total, in->owner, err);
}

/* Picks the wanted fields of a row. */
static levada_status tar_pick(tar_columns *c, const levada_texts *wanted, int64_t rows, int64_t row,
                              const char *wrong, levada_builder *out, levada_error *err)
{
    for (int64_t i = 0; i < wanted->n; i++) {
        int32_t size = (int32_t)strlen(wanted->at[i]);
        int32_t at = wrong ? -1 : tar_find(c, wanted->at[i], size, false);

        if (!wrong && at < 0) at = tar_find(c, wanted->at[i], size, true);
        c->values[i * rows + row] = at < 0 ? (levada_text_span){ 0 } : c->value[at];
        if (wrong || at >= 0) continue;
        LEVADA_TRY(tar_reject(out, row, c, "no member for the field ", wanted->at[i], err));
        wrong = "";
    }
    return LEVADA_OK;
}

static levada_status tar_decode_fields(tar_columns *c, const levada_texts *wanted,
                                       const levada_strings *in, levada_builder *out,
                                       levada_error *err)
{
    if (!levada_reserve(&c->values, &c->capacity, wanted->n * in->n + 1, sizeof *c->values))
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory for the fields of a block");
    for (int64_t row = 0; row < in->n; row++) {
        const char *wrong = tar_row(c, in->data[row], in->size[row]);

        if (wrong) LEVADA_TRY(tar_reject(out, row, c, wrong, "", err));
        LEVADA_TRY(levada_builder_push_bytes(out, 0, c->first.name, c->nkey, err));
        LEVADA_TRY(tar_pick(c, wanted, in->n, row, wrong, out, err));
    }
    for (int64_t i = 0; i < wanted->n; i++) {
        LEVADA_TRY(levada_strings_put(out, (int32_t)i + 1, 0, c->values + i * in->n, in->n,
                                      in->owner, err));
    }
    return LEVADA_OK;
}

static levada_status tar_decode(void *state, const void *args, const levada_strings *in,
                                levada_builder *out, levada_error *err)
{
    const levada_texts *wanted = &((const tar_args *)args)->fields;

    if (wanted->n == 0) return tar_decode_all(state, in, out, err);
    return tar_decode_fields(state, wanted, in, out, err);
}

static const levada_decoder_def tar_columns_def = {
    .struct_size = sizeof(levada_decoder_def),
    .state_size = sizeof(tar_columns),
    .check = tar_check,
    .close = tar_columns_close,
    .decode = tar_decode,
};

/* Members as they stand in an archive, for the example. */
typedef struct tar_example {
    char name[100], owner[24], size[12], time[12], sum[8], type, link[100], magic[8], rest[247];
    char data[512];
} tar_example;

#define TAR_MEMBER(file, length, checksum, content)                                             \
    {                                                                                           \
        .name = file, .size = length, .sum = checksum, .type = '0', .magic = "ustar",           \
        .data = content                                                                         \
    }

static const tar_example tar_members[] = {
    TAR_MEMBER("a.cls", "00000000001", "003501", "0"),
    TAR_MEMBER("a.txt", "00000000005", "003543", "first"),
    TAR_MEMBER("b.txt", "00000000006", "003545", "second"),
    TAR_MEMBER("b.cls", "00000000001", "003502", "1"),
    TAR_MEMBER("c/d.cls", "00000000001", "003726", "2"),
    TAR_MEMBER("c/d.txt", "00000000001", "003764", "x"),
    TAR_MEMBER("e.cls", "00000000001", "003505", "3"),
    TAR_MEMBER("e.txt", "00000000001", "003543", "y"),
};

static const levada_example_file tar_files[] = {
    { "samples.tar", (const char *)tar_members, sizeof tar_members },
    { NULL, NULL, 0 },
};

static const char *const tar_suffixes[] = { ".tar", ".tgz", NULL };

const levada_format_def levada_format_tar = {
    .struct_size = sizeof(levada_format_def),
    .name = "tar",
    .doc = "reads samples of tar archives, in the naming of WebDataset",
    .example = "tar:samples.tar,fields=[txt,cls]",
    .example_files = tar_files,
    .fields = LEVADA_FIELDS("members"),
    .suffixes = tar_suffixes,
    .args = tar_options,
    .args_size = sizeof(tar_args),
    .state_size = sizeof(tar_state),
    .probe = tar_probe,
    .next = tar_next,
    .resync = tar_resync,
    .leave_out = tar_leave_out,
    .resync_bits = TAR_USTAR,
    .decoder = &tar_columns_def,
    .open_ended = true,
    .watch = tar_watch_records,
};
