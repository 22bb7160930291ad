/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/json_infer.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "rows/infer.h"
#include "rows/json_columns.h"

#include <math.h>
#include <string.h>

enum { INFER_FIELDS = 4096, INFER_PATH = 512, INFER_NESTING = 32, INFER_SLACK = 64 };

/* What the values of a field are, as bits. */
enum {
    INFER_BOOL = 1,
    INFER_INT = 2,
    INFER_WIDE = 4, /* an integer that float64 does not hold */
    INFER_BIG = 8,  /* an integer that int64 does not hold */
    INFER_FLOAT = 16,
    INFER_TEXT = 32,
    INFER_MAP = 64,
    INFER_NUMBER = INFER_INT | INFER_WIDE | INFER_BIG | INFER_FLOAT
};

typedef struct infer_field {
    char    *path; /* owned */
    size_t   size;
    uint64_t hash;
    bool     nested;     /* a member of an object inside the record */
    uint32_t seen;
    int32_t  lists;      /* the deepest level at which a list was seen, from 1 on */
    int32_t  depth;      /* of the values in lists; -1 = none yet */
    int64_t  records;    /* with a value other than null */
    int64_t  last;       /* the last one of them */
} infer_field;

typedef struct infer_job {
    levada_json_parser  parser;
    levada_json_array   text;   /* of one record, with readable bytes after it */
    levada_json_array   fields; /* infer_field, in the order of their first record */
    int64_t             next;   /* the field that is expected next */
    int64_t             record;
    char                path[INFER_PATH]; /* of the member that is looked at */
    size_t              used;
    int32_t             nesting, level; /* objects and lists around it */
    infer_field        *at;             /* the field of the list that is looked at */
    levada_status       st; /* of the record, and what is wrong with it */
    levada_error       *why;
} infer_job;

static levada_status infer_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while inferring fields");
}

/* Ends the walk: false, as its functions return. */
static bool infer_refuse(infer_job *job, const char *path, const char *what)
{
    job->st = levada_fail(job->why, LEVADA_EINVALID_ARGUMENT,
                          "fields=auto: field '%.80s' %s; pass the fields to read", path, what);
    return false;
}

/* -- the fields of a record */

static infer_field *infer_fields(const infer_job *job) { return job->fields.at; }

static infer_field *infer_add(infer_job *job, uint64_t hash)
{
    infer_field *f;
    char        *path = levada_alloc(job->used + 1);

    if (!path || !levada_reserve(&job->fields.at, &job->fields.capacity, job->fields.n + 1,
                                 sizeof *f)) {
        levada_free(path);
        job->st = infer_short(job->why);
        return NULL;
    }
    f = infer_fields(job) + job->fields.n++;
    *f = (infer_field){ .path = path, .size = job->used, .hash = hash, .depth = -1, .last = -1,
                        .nested = job->nesting > 1 };
    memcpy(path, job->path, job->used + 1);
    return f;
}

/* The field of the current path; NULL = refused. Records often have their fields in one order. */
static infer_field *infer_find(infer_job *job)
{
    uint64_t     hash = levada_hash64(job->path, job->used, 0);
    int64_t      n = job->fields.n;
    infer_field *f = NULL;

    for (int64_t i = 0; i < n && !f; i++) {
        infer_field *one = infer_fields(job) + (job->next + i) % n;

        if (one->hash == hash && one->size == job->used &&
            memcmp(one->path, job->path, job->used) == 0)
            f = one;
    }
    if (!f && n == INFER_FIELDS) {
        infer_refuse(job, job->path, "is one of more than 4096");
        return NULL;
    }
    if (!f) f = infer_add(job, hash);
    if (!f) return NULL;
    if (f->nested != (job->nesting > 1)) {
        infer_refuse(job, job->path, "is a name with a dot, and also a member of an object");
        return NULL;
    }
    job->next = f - infer_fields(job) + 1;
    return f;
}

static uint32_t infer_kind(infer_job *job, levada_json_value value)
{
    static const uint32_t kinds[] = {
        [LEVADA_JSON_BOOL] = INFER_BOOL, [LEVADA_JSON_INT] = INFER_INT,
        [LEVADA_JSON_BIG] = INFER_BIG,   [LEVADA_JSON_FLOAT] = INFER_FLOAT,
        [LEVADA_JSON_TEXT] = INFER_TEXT, [LEVADA_JSON_MAP] = INFER_MAP,
    };
    const int64_t    exact = 1LL << 53;
    levada_json_kind kind = levada_json_kind_of(value);
    int64_t          i = kind == LEVADA_JSON_INT ? levada_json_as_int(value) : 0;

    if (kind == LEVADA_JSON_BIG && !levada_json_parser_odd(&job->parser, value).integer)
        return INFER_FLOAT;
    return kinds[kind] | (i > exact || i < -exact ? INFER_WIDE : 0);
}

/* Whether a column can hold all that was seen of a field. */
static bool infer_fits(infer_job *job, const infer_field *f)
{
    bool list = f->lists > 0;

    if (list && f->seen & INFER_MAP) return infer_refuse(job, f->path, "is a list of objects");
    if (f->lists > LEVADA_JSON_DEPTH)
        return infer_refuse(job, f->path, "has lists of more than two levels");
    if (list && f->depth >= 0 && f->depth != f->lists)
        return infer_refuse(job, f->path, "mixes lists and single values");
    if (f->seen & (INFER_WIDE | INFER_BIG) && f->seen & INFER_FLOAT)
        return infer_refuse(job, f->path, "mixes floats with integers beyond 2^53");
    if ((f->seen & INFER_NUMBER) == f->seen || (f->seen & (f->seen - 1)) == 0) return true;
    return infer_refuse(job, f->path, "has values of several types");
}

static bool infer_object(infer_job *job, levada_json_value value);

static bool infer_item(void *user, levada_json_value value)
{
    infer_job       *job = user;
    infer_field     *f = job->at;
    levada_json_kind kind = levada_json_kind_of(value);
    bool             good;

    if (kind == LEVADA_JSON_NULL) return infer_refuse(job, f->path, "is a list with null");
    if (kind != LEVADA_JSON_LIST) {
        f->seen |= infer_kind(job, value);
        f->depth = job->level;
        return infer_fits(job, f);
    }
    if (++job->level > f->lists) f->lists = job->level;
    good = infer_fits(job, f) && levada_json_each(value, infer_item, job);
    job->level--;
    return good;
}

static bool infer_value(infer_job *job, levada_json_value value)
{
    infer_field     *f = infer_find(job);
    levada_json_kind kind = levada_json_kind_of(value);

    if (!f) return false;
    if (kind == LEVADA_JSON_NULL) return true;
    f->records += f->last != job->record;
    f->last = job->record;
    job->at = f;
    return infer_item(job, value) && (kind != LEVADA_JSON_MAP || infer_object(job, value));
}

static bool infer_member(void *user, const char *name, size_t size, levada_json_value value)
{
    infer_job *job = user;
    size_t     before = job->used;
    bool       dot = job->nesting > 1, good;
    bool       inside = dot || levada_json_kind_of(value) == LEVADA_JSON_MAP;

    if (before + dot + size >= INFER_PATH)
        return infer_refuse(job, job->path, "has a member with a name of more than 511 bytes");
    if (dot) job->path[job->used++] = '.';
    memcpy(job->path + job->used, name, size);
    job->used += size;
    job->path[job->used] = '\0';
    if (size == 0 || memchr(name, '\0', size) || (inside && memchr(name, '.', size)))
        good = infer_refuse(job, job->path, "has a name that is empty or has a dot or a zero byte");
    else good = infer_value(job, value);
    job->used = before;
    job->path[before] = '\0';
    return good;
}

static bool infer_object(infer_job *job, levada_json_value value)
{
    bool good;

    if (job->nesting == INFER_NESTING)
        return infer_refuse(job, job->path, "has objects of more than 32 levels");
    job->nesting++;
    good = levada_json_each_member(value, infer_member, job);
    job->nesting--;
    return good;
}

/* A levada_infer_look. The parser reads bytes after the text. */
static levada_status infer_record(void *user, const uint8_t *data, int64_t size, levada_error *err)
{
    infer_job        *job = user;
    levada_json_value root;
    const char       *wrong;

    if (!levada_reserve(&job->text.at, &job->text.capacity, size + INFER_SLACK, 1))
        return infer_short(err);
    if (size > 0) memcpy(job->text.at, data, (size_t)size);
    memset((uint8_t *)job->text.at + size, 0, INFER_SLACK);
    LEVADA_TRY(levada_json_parser_read(&job->parser, job->text.at, (size_t)size, &wrong, &root,
                                       err));
    if (wrong) return levada_fail(err, LEVADA_EDATA_LOSS, "invalid JSON: %s", wrong);
    if (levada_json_kind_of(root) != LEVADA_JSON_MAP)
        return levada_fail(err, job->record > 0 ? LEVADA_EDATA_LOSS : LEVADA_EINVALID_ARGUMENT,
                           "fields=auto: the record is not an object; omit fields (spec=None of "
                           "lv.open) to read lines");
    job->why = err;
    job->st = LEVADA_OK;
    job->next = 0;
    (void)infer_object(job, root);
    job->record++;
    return job->st;
}

/* -- the option */

static const char *infer_dtype(const infer_field *f, bool missing)
{
    bool list = f->lists > 0;

    if (f->seen & (INFER_TEXT | INFER_BIG) || (f->seen == 0 && !list)) return "string";
    if (f->seen & INFER_BOOL) return "bool";
    return f->seen & INFER_FLOAT || (missing && !list) ? "float64" : "int64";
}

/* {dtype: ..., default: ...} */
static levada_status infer_default(levada_value **type, bool text, levada_error *err)
{
    levada_value *map = levada_value_map();
    levada_status st = map ? LEVADA_OK : infer_short(err);

    if (st == LEVADA_OK) st = levada_value_set(map, "dtype", type, err);
    if (st == LEVADA_OK)
        st = levada_infer_set(map, "default",
                              text ? levada_value_text("", 0) : levada_value_float(NAN), err);
    if (st == LEVADA_OK) *type = map;
    else levada_value_destroy(&map);
    return st;
}

static levada_status infer_one(infer_job *job, const infer_field *f, levada_value *fields,
                               levada_error *err)
{
    bool          missing = f->records < job->record;
    const char   *dtype = infer_dtype(f, missing);
    levada_value *type;
    levada_status st = LEVADA_OK;

    job->why = err;
    if (missing && f->lists == 0 && f->seen & (INFER_BOOL | INFER_WIDE) &&
        !(f->seen & INFER_BIG)) {
        infer_refuse(job, f->path, f->seen & INFER_BOOL
                                       ? "is a bool that some records lack"
                                       : "has integers beyond 2^53, and some records lack it");
        return job->st;
    }
    type = levada_value_text(dtype, strlen(dtype));
    for (int32_t i = 0; i < f->lists && type; i++) {
        levada_value *list = levada_value_list();

        if (list) st = levada_value_push(list, &type, err);
        levada_value_destroy(&type);
        type = list;
        if (st != LEVADA_OK) levada_value_destroy(&type);
    }
    if (st == LEVADA_OK && type && missing && f->lists == 0)
        st = infer_default(&type, strcmp(dtype, "string") == 0, err);
    if (st == LEVADA_OK) return levada_infer_set(fields, f->path, type, err);
    levada_value_destroy(&type);
    return st;
}

static levada_status infer_all(infer_job *job, levada_value *fields, levada_error *err)
{
    int64_t n = 0;

    for (int64_t i = 0; i < job->fields.n; i++) {
        const infer_field *f = infer_fields(job) + i;

        if (f->seen == INFER_MAP) continue; /* its members are the fields */
        LEVADA_TRY(infer_one(job, f, fields, err));
        n++;
    }
    if (n > 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       job->record == 0 ? "fields=auto: the input has no records; pass the fields"
                                        : "fields=auto: the first records have no fields; pass "
                                          "the fields");
}

static void infer_clear(infer_job *job)
{
    for (int64_t i = 0; i < job->fields.n; i++) levada_free(infer_fields(job)[i].path);
    levada_free(job->fields.at);
    levada_free(job->text.at);
    levada_json_parser_close(&job->parser);
}

levada_status levada_json_infer(const levada_dataset *input, const char *field, bool replace,
                                levada_value **out, levada_error *err)
{
    infer_job     job = { 0 };
    levada_value *fields = levada_value_map(), *map = levada_value_map();
    int64_t       records = 0;
    levada_status st = fields && map ? LEVADA_OK : infer_short(err);

    if (st == LEVADA_OK) st = levada_json_parser_open(&job.parser, replace, err);
    if (st == LEVADA_OK)
        st = levada_infer_records(input, field, infer_record, &job, &records, err);
    if (st == LEVADA_OK) st = infer_all(&job, fields, err);
    if (st == LEVADA_OK) st = levada_value_set(map, "fields", &fields, err);
    if (st == LEVADA_OK) {
        *out = map;
        map = NULL;
    }
    levada_value_destroy(&fields);
    levada_value_destroy(&map);
    infer_clear(&job);
    return st;
}
