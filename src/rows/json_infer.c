/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/json_infer.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "rows/infer.h"
#include "rows/json_columns.h"

#include <math.h>
#include <string.h>

enum { INFER_FIELDS = 4096, INFER_PATH = 512, INFER_NESTING = 32, INFER_SLACK = 64 };

/* Stands in paths for a list: "messages", INFER_LIST, ".role". No name has it. */
#define INFER_LIST '\1'

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
    bool     mixed;      /* lists and single values, or lists of several levels */
    int64_t  nulls;      /* in lists */
    int64_t  owner;      /* the field of the list of objects that it is a member of; -1 = none */
    int64_t  objects;    /* of a list of objects */
    int64_t  records;    /* or objects, with a value other than null */
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
    int64_t             at;             /* the field of the list that is looked at */
    int64_t             owner, object;  /* the list of objects around it, and which object it is */
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
    char   shown[INFER_PATH];
    size_t n = 0;

    for (; *path; path++)
        if (*path != INFER_LIST) shown[n++] = *path;
    shown[n] = '\0';
    job->st = levada_fail(job->why, LEVADA_EINVALID_ARGUMENT,
                          "fields=auto: field '%.80s' %s; pass the fields to read", shown, what);
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
                        .nested = job->nesting > 1, .owner = job->owner };
    memcpy(path, job->path, job->used + 1);
    return f;
}

/* Returns the field of the current path; NULL = refused. Records often have their fields in one
 * order. */
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
        infer_refuse(job, job->path, "is one of more than 4,096 fields");
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

static bool infer_is_number(const infer_field *f) { return (f->seen & INFER_NUMBER) == f->seen; }

/* Notes what was seen of a field; false: no dtype holds it. */
static bool infer_fits(infer_job *job, infer_field *f)
{
    f->mixed = f->mixed || (f->lists > 0 && f->depth >= 0 && f->depth != f->lists);
    if (!infer_is_number(f) || !(f->seen & INFER_FLOAT)) return true;
    if (!(f->seen & (INFER_WIDE | INFER_BIG))) return true;
    return infer_refuse(job, f->path, "mixes floats with integers beyond 2^53");
}

/* Returns the levels of lists around a field and in it. */
static int32_t infer_depth(const infer_job *job, const infer_field *f)
{
    int32_t depth = f->lists;

    for (; f->owner >= 0; depth += f->lists) f = infer_fields(job) + f->owner;
    return depth;
}

/* Returns true if no column holds the values of a field: then the JSON of each is text. */
static bool infer_whole(const infer_job *job, const infer_field *f)
{
    bool several = !infer_is_number(f) && (f->seen & (f->seen - 1)) != 0;

    return f->mixed || several || infer_depth(job, f) > LEVADA_JSON_DEPTH ||
           (f->nulls > 0 && f->seen != INFER_MAP);
}

static bool infer_object(infer_job *job, levada_json_value value);

/* Looks at an object in a list, whose members are fields of the list. */
static bool infer_listed(infer_job *job, levada_json_value value)
{
    const size_t  used = job->used;
    const int32_t level = job->level;
    const int64_t at = job->at, owner = job->owner, object = job->object;
    bool          good;

    if (used + (size_t)level + 1 >= INFER_PATH)
        return infer_refuse(job, job->path, "has a member with a name of more than 511 bytes");
    memset(job->path + used, INFER_LIST, (size_t)level);
    job->used = used + (size_t)level;
    job->path[job->used] = '\0';
    job->owner = at;
    job->object = infer_fields(job)[at].objects++;
    job->level = 0;
    good = infer_object(job, value);
    job->used = used;
    job->path[used] = '\0';
    job->level = level;
    job->at = at;
    job->owner = owner;
    job->object = object;
    return good;
}

static bool infer_item(void *user, levada_json_value value)
{
    infer_job       *job = user;
    infer_field     *f = infer_fields(job) + job->at;
    levada_json_kind kind = levada_json_kind_of(value);
    bool             good;

    if (kind == LEVADA_JSON_NULL) {
        f->nulls++;
        return true;
    }
    if (kind != LEVADA_JSON_LIST) {
        f->seen |= infer_kind(job, value);
        f->depth = job->level;
        if (!infer_fits(job, f)) return false;
        return kind != LEVADA_JSON_MAP || job->level == 0 || infer_listed(job, value);
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
    f->records += f->last != job->object;
    f->last = job->object;
    job->at = f - infer_fields(job);
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
    if (size == 0 || memchr(name, '\0', size) || memchr(name, INFER_LIST, size) ||
        (inside && memchr(name, '.', size)))
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

/* Implements levada_infer_look. Copies the record, because the parser reads bytes after the text.
 */
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
    job->next = job->level = 0;
    job->owner = -1;
    job->object = job->record;
    (void)infer_object(job, root);
    job->record++;
    return job->st;
}

/* -- the option */

static const char *infer_dtype(const infer_field *f, bool whole, bool missing)
{
    bool list = f->lists > 0;

    if (whole || f->seen & (INFER_TEXT | INFER_BIG) || (f->seen == 0 && !list)) return "text";
    if (f->seen & INFER_BOOL) return "bool";
    return f->seen & INFER_FLOAT || (missing && !list) ? "float64" : "int64";
}

/* Makes {dtype: ..., default: ...}. */
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

/* Puts the type, which it owns, into lists. */
static levada_status infer_wrap(levada_value **type, int32_t lists, levada_error *err)
{
    for (int32_t i = 0; i < lists; i++) {
        levada_value *list = levada_value_list();
        levada_status st = list ? levada_value_push(list, type, err) : infer_short(err);

        if (st != LEVADA_OK) {
            levada_value_destroy(&list);
            return st;
        }
        *type = list;
    }
    return LEVADA_OK;
}

/* Returns the number of records, or of objects of its list, that could have the field. */
static int64_t infer_most(const infer_job *job, const infer_field *f)
{
    const infer_field *owner = f->owner < 0 ? NULL : infer_fields(job) + f->owner;

    return owner ? owner->objects + owner->nulls : job->record;
}

/* Enters a field under its name, which is the end of its path. */
static levada_status infer_one(infer_job *job, const infer_field *f, const char *name,
                               levada_value *fields, levada_error *err)
{
    bool          missing = f->records < infer_most(job, f), whole = infer_whole(job, f);
    bool          odd = f->lists == 0 && f->seen & (INFER_BOOL | INFER_WIDE) &&
               !(f->seen & INFER_BIG) && missing && !whole; /* no default */
    int32_t       lists = whole ? 0 : f->lists;
    const char   *dtype = infer_dtype(f, whole || (odd && f->owner >= 0), missing);
    levada_value *type;
    levada_status st = LEVADA_OK;

    job->why = err;
    if (odd && f->owner < 0) {
        infer_refuse(job, f->path, f->seen & INFER_BOOL
                                       ? "is a bool that some records lack"
                                       : "has integers beyond 2^53, and some records lack it");
        return job->st;
    }
    type = levada_value_text(dtype, strlen(dtype));
    if (!type) return infer_short(err);
    st = infer_wrap(&type, lists, err);
    if (st == LEVADA_OK && missing && lists == 0)
        st = infer_default(&type, strcmp(dtype, "text") == 0, err);
    if (st == LEVADA_OK) return levada_infer_set(fields, name, type, err);
    levada_value_destroy(&type);
    return st;
}

/* Returns true if the field is a member of something that is text as a whole. */
static bool infer_inside_whole(const infer_job *job, const infer_field *f)
{
    for (int64_t i = 0; i < job->fields.n; i++) {
        const infer_field *g = infer_fields(job) + i;

        if (g->size < f->size && infer_whole(job, g) && memcmp(g->path, f->path, g->size) == 0 &&
            (f->path[g->size] == '.' || f->path[g->size] == INFER_LIST))
            return true;
    }
    return false;
}

static levada_status infer_group(infer_job *job, const char *prefix, size_t size,
                                 levada_value *fields, int64_t *n, levada_error *err);

/* Enters the list of objects that the field `f` is a member of, with all of its members. */
static levada_status infer_list(infer_job *job, const infer_field *f, size_t from,
                                levada_value *fields, int64_t *n, levada_error *err)
{
    const char   *list = strchr(f->path + from, INFER_LIST), *inside = list;
    char          name[INFER_PATH];
    levada_value *map;
    levada_status st;

    while (*inside == INFER_LIST) inside++;
    memcpy(name, f->path + from, (size_t)(list - f->path) - from);
    name[(size_t)(list - f->path) - from] = '\0';
    if (levada_value_get(fields, name)) return LEVADA_OK; /* by another member */
    map = levada_value_map();
    if (!map) return infer_short(err);
    st = infer_group(job, f->path, (size_t)(inside + 1 - f->path), map, n, err);
    if (st == LEVADA_OK) st = infer_wrap(&map, (int32_t)(inside - list), err);
    if (st == LEVADA_OK) return levada_infer_set(fields, name, map, err);
    levada_value_destroy(&map);
    return st;
}

/* Enters the fields whose paths begin with prefix[0, size). */
static levada_status infer_group(infer_job *job, const char *prefix, size_t size,
                                 levada_value *fields, int64_t *n, levada_error *err)
{
    for (int64_t i = 0; i < job->fields.n; i++) {
        const infer_field *f = infer_fields(job) + i;

        if (f->size <= size || memcmp(f->path, prefix, size) != 0) continue;
        if (f->seen == INFER_MAP && !infer_whole(job, f)) continue; /* its members are the fields */
        if (infer_inside_whole(job, f)) continue;
        if (strchr(f->path + size, INFER_LIST))
            LEVADA_TRY(infer_list(job, f, size, fields, n, err));
        else LEVADA_TRY(infer_one(job, f, f->path + size, fields, err));
        (*n)++;
    }
    return LEVADA_OK;
}

static levada_status infer_all(infer_job *job, levada_value *fields, levada_error *err)
{
    int64_t n = 0;

    LEVADA_TRY(infer_group(job, "", 0, fields, &n, err));
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
    if (st == LEVADA_OK) {
        st = infer_all(&job, fields, err);
        if (st != LEVADA_OK) levada_infer_name_file(input, err);
    }
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
