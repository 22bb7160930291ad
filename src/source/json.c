/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json - the objects of one list that is a JSON document, or a member of it, as typed columns.
 *
 * A frame is the ',' before an element (before the first one: all of the document up to it) and the
 * element; the last one includes the rest of the document, which is checked with it. So a ',' is
 * at the position of every checkpoint but the first, and a list without an end is damage of its
 * last element.
 *
 * An element with good brackets and quotes is one record, which the decoder rejects if it is bad
 * JSON. Otherwise the list is damaged there. If elements begin on lines of their own, reading
 * continues at the next one: after the same line end, ',' and indent as those before the damaged
 * element, or, if these are damaged too, after the line with the smallest indent. If they do not,
 * nothing says which bracket begins the next element. Elements of other lists are no records: the
 * rest is skipped if the list of field= was not found, and after a line with its ']'.
 */
#include "base/text.h"
#include "registry/env_priv.h"
#include "rows/json_list.h"
#include "rows/json_rows.h"

#include <levada/source.h>
#include <string.h>

enum { JSON_SEPARATOR = 128 };

typedef struct json_args {
    levada_json_args rows; /* first */
    const char      *field;
} json_args;

typedef struct json_state {
    bool    begins; /* the next byte is the first one of the file */
    uint8_t separator[JSON_SEPARATOR]; /* before the element that is damaged */
    int64_t nseparator;                /* 0 = unknown                        */
    bool    ended; /* no element of the list follows the damage */
} json_state;

static const levada_arg json_options[] = {
    LEVADA_ARG(VALUE, levada_json_args, fields,
               .doc = LEVADA_JSON_FIELDS "; null = one column 'line'"),
    LEVADA_ARG(TEXT, json_args, field,
               .doc = "the member of the document that is the list: data for {\"data\": [...]}; "
                      "null = the document is the list"),
    LEVADA_JSON_INVALID, LEVADA_ARG_END
};

static levada_status json_seek(void *state, const void *args, int64_t offset, int64_t size,
                               levada_error *err)
{
    (void)args, (void)size, (void)err;
    *(json_state *)state = (json_state){ .begins = offset == 0 };
    return LEVADA_OK;
}

/* A step of the search for elements in a window. */
typedef struct json_window {
    const uint8_t *data;
    int64_t        size, at;
    bool           at_end;
    int64_t        element, end; /* of the element that was found  */
    const char    *wrong;
} json_window;

typedef enum json_found {
    JSON_ELEMENT,
    JSON_LAST,   /* an element, and the document ends after it */
    JSON_CLOSED, /* the list has no element                    */
    JSON_MORE,
    JSON_WRONG
} json_found;

static json_found json_no(json_window *w, const char *why)
{
    w->wrong = why;
    return JSON_WRONG;
}

/* Passes the rest of the document after the ']' at w->at. */
static json_found json_close(json_window *w, const char *field, json_found found)
{
    int64_t end;

    if (!w->at_end) return JSON_MORE;
    end = levada_json_list_end(field, w->data, w->at + 1, w->size, &w->wrong);
    if (end == 0) return json_no(w, "the document has no end");
    return end < 0 ? JSON_WRONG : found;
}

/* Finds the element after w->at, where `begins` says that the document begins. */
static json_found json_find(json_window *w, const char *field, bool begins)
{
    if (begins) {
        w->at = levada_json_list_begin(field, w->data, w->size, w->at_end, &w->wrong);
        if (w->at <= 0) return w->at < 0 ? JSON_WRONG : JSON_MORE;
    }
    w->at = levada_json_list_space(w->data, w->at, w->size);
    if (w->at == w->size) return JSON_MORE;
    if (begins && w->data[w->at] == ']') return json_close(w, field, JSON_CLOSED);
    if (!begins) {
        if (w->data[w->at] != ',') return json_no(w, "a ',' or ']' must follow an element");
        w->at = levada_json_list_space(w->data, w->at + 1, w->size);
        if (w->at == w->size) return JSON_MORE;
    }
    w->element = w->at;
    w->end = levada_json_list_value(w->data, w->at, w->size, w->at_end, &w->wrong);
    if (w->end <= 0) return w->end < 0 ? JSON_WRONG : JSON_MORE;
    w->at = levada_json_list_space(w->data, w->end, w->size);
    if (w->at == w->size) return JSON_MORE;
    if (w->data[w->at] == ']') return json_close(w, field, JSON_LAST);
    return JSON_ELEMENT; /* what follows is of the next frame */
}

/* Remembers what is before a damaged element that begins a line. */
static void json_remember(json_state *s, const json_window *w, int64_t frame)
{
    const uint8_t *data = w->data;
    int64_t        from = frame, n;
    bool           line = false;

    s->nseparator = 0;
    if (w->element < 0) return;
    if (s->begins) { /* after the '[' */
        for (from = w->element; data[from - 1] != '['; from--) continue;
        from--;
    }
    n = w->element - from;
    if (n > JSON_SEPARATOR) return;
    for (int64_t i = from; i < w->element; i++) {
        s->separator[i - from] = s->begins && i == from ? ',' : data[i];
        line = line || data[i] == '\n';
    }
    s->nseparator = line ? n : 0;
}

static levada_status json_damage(json_state *s, const char *field, const json_window *w,
                                 int64_t frame, levada_error *err)
{
    json_remember(s, w, frame);
    s->ended = field && s->begins && w->element < 0;
    return levada_fail(err, LEVADA_EDATA_LOSS, "invalid JSON document: %s",
                       w->wrong ? w->wrong : "it ends inside of the list of records");
}

static levada_status json_next(void *state, const void *args, const uint8_t *data, int64_t size,
                               bool at_end, levada_spans *out, levada_error *err)
{
    json_state  *s = state;
    json_window  w = { .data = data, .size = size, .at_end = at_end };
    const char  *field = ((const json_args *)args)->field;
    json_found   found = JSON_ELEMENT;

    out->n = 0;
    out->used = out->need = 0;
    if (size == 0) return LEVADA_OK;
    while (out->n < out->capacity) {
        w.at = out->used;
        w.element = -1;
        found = json_find(&w, field, s->begins && out->n == 0);
        if (found > JSON_LAST) break;
        out->frame[out->n] = (int32_t)out->used;
        out->begin[out->n] = (int32_t)w.element;
        out->end[out->n++] = (int32_t)w.end;
        out->used = found == JSON_LAST ? size : w.end;
        if (found == JSON_LAST) break;
    }
    if (found == JSON_CLOSED) out->used = size;
    s->begins = s->begins && out->used == 0;
    if (found == JSON_WRONG || (found == JSON_MORE && at_end))
        return json_damage(s, field, &w, out->used, err);
    return LEVADA_OK;
}

/* Returns the number of bytes from the ',' at `at` to a '{' that begins a line, or 0. */
static int64_t json_separates(const uint8_t *data, int64_t at, int64_t size, int64_t *indent)
{
    int64_t k = at + 1, line = -1;

    if (data[at] != ',') return 0;
    for (; k < size && strchr(" \t\r\n", data[k]) && data[k]; k++)
        if (data[k] == '\n') line = k;
    *indent = k - line;
    return line > at && k < size && data[k] == '{' && k - at <= JSON_SEPARATOR ? k - at : 0;
}

/* Learns what is between the elements: the separator with the smallest indent, as objects inside of
 * elements have larger ones. False where no line begins with an object. */
static bool json_learn(json_state *s, const uint8_t *data, int64_t size)
{
    int64_t least = INT64_MAX, indent = 0;

    for (int64_t i = 0; i < size; i++) {
        int64_t n = json_separates(data, i, size, &indent);

        if (n == 0 || indent >= least) continue;
        least = indent;
        s->nseparator = n;
        memcpy(s->separator, data + i, (size_t)n);
    }
    return s->nseparator > 0;
}

/* Returns true if the line after the line end at `at` begins with a ']' and has a smaller indent
 * than the elements of the list. */
static bool json_closes(const json_state *s, const uint8_t *data, int64_t at)
{
    int64_t n = s->nseparator, indent = 0, k = 0;

    if (data[at] != '\n') return false;
    while (s->separator[n - 1 - indent] != '\n') indent++;
    while (k < indent && (data[at + 1 + k] == ' ' || data[at + 1 + k] == '\t')) k++;
    return k < indent && data[at + 1 + k] == ']';
}

static int64_t json_resync(void *state, const void *args, const uint8_t *data, int64_t size,
                           bool at_end)
{
    json_state *s = state;
    bool        known = s->nseparator > 0;
    int64_t     n, last;

    s->begins = false;
    if (s->ended) return size;
    /* A document with more than the list may have another list with such lines. */
    if (!known && (((const json_args *)args)->field || !json_learn(s, data, size))) return size;
    n = s->nseparator;
    last = size - n - 1;
    for (int64_t i = 1; i <= last; i++) {
        if ((data[i - 1] == '}' || !known) && data[i + n] == '{' &&
            memcmp(data + i, s->separator, (size_t)n) == 0)
            return i;
        s->ended = known && json_closes(s, data, i);
        if (s->ended) return size;
    }
    return at_end ? size : last > 0 ? last : 0; /* where data[0] is the '}' */
}

/* Returns 1 bit for a bracket first, or for the ',' before an element. */
static int32_t json_probe(const uint8_t *data, int64_t size)
{
    int64_t at = levada_utf8_mark(data, size);

    at = levada_json_list_space(data, at, size);
    return at < size && (data[at] == '[' || data[at] == '{' || data[at] == ',') ? 1 : 0;
}

static levada_status json_infer(levada_env *env, const void *args, const levada_texts *files,
                                const char *compression, const levada_value *options,
                                levada_value **out, levada_error *err)
{
    (void)files, (void)compression;
    return levada_json_rows_infer(env, "json", args, options, out, err);
}

static const levada_example_file json_files[] = {
    { "notes.json",
      "[\n  {\"id\": 1, \"text\": \"caf\\u00e9\", \"tokens\": [5, 6, 7]},\n"
      "  {\"id\": 2, \"text\": \"]\"},\n"
      "  {\"id\": 3, \"text\": \"x\", \"tokens\": [], \"meta\": {\"lang\": \"pt\"}}\n]\n",
      148 },
    { NULL, NULL, 0 },
};

const levada_format_def levada_format_json = {
    .struct_size = sizeof(levada_format_def),
    .name = "json",
    .doc = "reads JSON documents that are lists of objects, one column per field",
    .example = "json:notes.json,fields={id:int64,text:text,tokens:[int64]}",
    .example_files = json_files,
    .fields = LEVADA_FIELDS("line"),
    .finds = "fields",
    .args = json_options,
    .args_size = sizeof(json_args),
    .state_size = sizeof(json_state),
    .probe = json_probe,
    .seek = json_seek,
    .next = json_next,
    .resync = json_resync,
    .decoder = &levada_json_rows,
    .frames = true,
    .lines = true,
    .infer = json_infer,
};
