/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv - rows of CSV files as typed columns: CsvDataset of TensorFlow
 * (core/kernels/data/experimental/csv_dataset_op.cc).
 *
 * The format frames rows: a row ends with LF, CR LF, CR or the file, outside of quotes. The decoder
 * splits them into fields on any thread, and matches columns by name with a header (csv_fit.h).
 * Empty lines are not rows, and a byte order mark is not part of the first one. A quote opens a
 * field only where one begins, and closes it only where a delimiter or the end of the row follows.
 * A quote at another place is an error of its row. Inside quotes it breaks the row: nobody knows
 * whether later quotes open or close. Such a row ends at the first line end where it has all its
 * fields, or before a line that is a whole row by itself.
 */
#include "base/alloc.h"
#include "files/bytes.h"
#include "files/glob.h"
#include "rows/csv_fit.h"
#include "rows/csv_header.h"
#include "rows/csv_infer.h"
#include "registry/env_priv.h"
#include "registry/registry.h"

#include <levada/source.h>
#include <string.h>

enum { CSV_MARKS = 1024, CSV_INFER_MOST = 65536 };

typedef struct csv_state {
    const levada_kernels *kernels;
    bool                  heading; /* the next row is the header of the file */
    bool                  first;   /* of the file: a mark of UTF-8 may be there */
} csv_state;

static const levada_arg csv_options[] = {
    LEVADA_ARG(VALUE, levada_csv_args, record_defaults,
               .doc = LEVADA_CSV_DEFAULTS
               "; null = one column 'fields' with the strings of each row"),
    LEVADA_ARG(BOOL, levada_csv_args, header, .otherwise = "false",
               .doc = "the first row of every file is a header with the names of the columns"),
    LEVADA_ARG(BOOL, levada_csv_args, infer, .otherwise = "false",
               .doc =
                   "infer record_defaults and header from the first rows of the first file when "
                   "the dataset is created; the pipeline then contains them"),
    LEVADA_ARG(INT, levada_csv_args, infer_rows, .otherwise = "1000",
               .doc = "rows that infer reads, 1 to 65536, from 1 KiB for each of them, at least "
                      "1 MiB"),
    LEVADA_ARG(CHOICE, levada_csv_args, header_columns, .choices = "all|any",
               .doc = "columns that the header of each file must have, in any order: all = those "
                      "of record_defaults; any = a column that it lacks has its default, and "
                      "other columns are ignored"),
    LEVADA_CSV_OPTIONS, LEVADA_ARG_END
};

static levada_status csv_check(const void *args, levada_spec **out, levada_error *err)
{
    const levada_csv_args *a = args;
    char                   delim = a->field_delim[0];

    if (delim == '\n' || delim == '\r')
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "field_delim cannot be a newline");
    if (a->use_quote_delim && *a->quote_char == *a->field_delim) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field_delim cannot be the quote, got '%s' for both", a->quote_char);
    }
    if (a->header_columns && !a->infer && (!a->header || a->columns.n > 0))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "header_columns=any needs header=true, and record_defaults in place of "
                           "columns to name them");
    if (a->infer_rows < 1 || a->infer_rows > CSV_INFER_MOST)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "infer_rows must be from 1 to %d, got %lld", CSV_INFER_MOST,
                           (long long)a->infer_rows);
    return levada_csv_spec(a, out, err);
}

/* -- rows */

static levada_status csv_open(void *state, const void *args, const levada_context *context,
                              levada_error *err)
{
    (void)args, (void)err;
    ((csv_state *)state)->kernels = levada_env_kernels(context->env);
    return LEVADA_OK;
}

static levada_status csv_seek(void *state, const void *args, int64_t offset, levada_error *err)
{
    (void)err;
    ((csv_state *)state)->first = offset == 0;
    ((csv_state *)state)->heading = offset == 0 && ((const levada_csv_args *)args)->header;
    return LEVADA_OK;
}

/* A window while its rows are found. */
typedef struct csv_rows {
    const uint8_t *data;
    int64_t        size;
    levada_spans  *out;
    int64_t        row; /* begins here */
    int64_t        past; /* marks before this are used up: second bytes of "" and CR LF */
    levada_csv_rules rules;
    bool           quoted, at_end;
    bool           cut;    /* what the last bytes mean, the next ones say */
    bool           broken; /* a quote is misplaced in the row */
    int64_t        columns; /* fields of a good row; 0 = unknown */
    int64_t        fields, counted; /* of the broken row before the byte `counted` */
} csv_rows;

/* The rules for all fields of a row. */
static levada_csv_rules csv_line_rules(const levada_csv_args *a)
{
    levada_csv_rules rules = levada_csv_rules_of(a);

    rules.wanted = NULL;
    rules.nwanted = 0;
    return rules;
}

/* Fields of a good row; 0 where they are not known. */
static int64_t csv_width(const levada_csv_args *a)
{
    bool known = a->record_defaults && a->select_cols.n == 0 && !a->header_columns;

    return known ? levada_value_count(a->record_defaults) : 0;
}

/* -- rows with misplaced quotes */

static int64_t csv_line_end(const uint8_t *data, int64_t from, int64_t size)
{
    while (from < size && data[from] != '\n' && data[from] != '\r') from++;
    return from;
}

/* After the newline at data[at]. */
static int64_t csv_after(const uint8_t *data, int64_t at, int64_t size)
{
    return at + 1 + (data[at] == '\r' && at + 1 < size && data[at + 1] == '\n');
}

/* Is the line a row of `columns` fields by itself? */
static bool csv_is_row(const csv_rows *w, int64_t begin, int64_t end)
{
    int64_t n;
    int32_t at;

    return end > begin &&
           !levada_csv_split(&w->rules, w->data + begin, (int32_t)(end - begin), NULL, 0, &n,
                    &at) &&
           n == w->columns;
}

/* The quote at data[at] is misplaced: notes the fields before it. */
static void csv_break(csv_rows *w, int64_t at)
{
    int32_t place;

    w->quoted = false;
    w->broken = true;
    (void)levada_csv_split(&w->rules, w->data + w->row, (int32_t)(at + 2 - w->row), NULL, 0,
                           &w->fields, &place);
    w->counted = w->row + place;
    w->fields++;
}

/* Does the broken row end at this newline? */
static bool csv_ends_broken(csv_rows *w, int64_t at)
{
    int64_t begin = csv_after(w->data, at, w->size), end;

    for (; w->counted < at; w->counted++) w->fields += w->data[w->counted] == w->rules.delim;
    if (w->fields >= w->columns) return true;
    end = csv_line_end(w->data, begin, w->size);
    w->cut = end == w->size && !w->at_end;
    return !w->cut && csv_is_row(w, begin, end);
}

/* -- framing */

/* A quote: it opens or closes a field, stands for one in it, or is an error of the row. */
static void csv_quote(csv_rows *w, int64_t at)
{
    uint8_t next;

    if (w->broken) return;
    if (!w->quoted) {
        w->quoted = at == w->row || w->data[at - 1] == w->rules.delim;
        return;
    }
    if (at + 1 == w->size) {
        w->quoted = !w->at_end;
        w->cut = !w->at_end;
        return;
    }
    next = w->data[at + 1];
    if (next == w->rules.quote) w->past = at + 2;
    else if (next == w->rules.delim || next == '\n' || next == '\r') w->quoted = false;
    else csv_break(w, at);
}

static void csv_newline(csv_rows *w, int64_t at)
{
    levada_spans *out = w->out;
    bool          last = at + 1 == w->size, cr = w->data[at] == '\r';

    if (cr && last && !w->at_end) {
        w->cut = true;
        return;
    }
    if (w->broken && !csv_ends_broken(w, at)) return;
    w->broken = false;
    out->begin[out->n] = (int32_t)w->row;
    out->end[out->n] = (int32_t)at;
    out->n += at > w->row;
    w->row = w->past = csv_after(w->data, at, w->size);
}

/* Finds rows until the window ends, or `capacity` rows are found. False: a quote is an error of its
 * row, and the quotes have to be followed one by one. */
static bool csv_index(csv_rows *w, const levada_kernels *kernels, int32_t capacity)
{
    levada_quoted how = { .delim = w->rules.delim, .quotes = w->rules.quotes, .rows = true };
    int32_t       mark[CSV_MARKS + LEVADA_KERNEL_SLACK];
    size_t        scanned = 0;

    if (w->rules.quotes && w->rules.quote != '"') return false;
    for (int64_t from = 0; from < w->size && !w->cut; from += (int64_t)scanned) {
        int64_t n = kernels->quoted_index(w->data + from, (size_t)(w->size - from), &how, mark,
                                          CSV_MARKS, &scanned);

        if (n < 0) return false;
        for (int64_t i = 0; i < n && !w->cut; i++) {
            if (from + mark[i] < w->past) continue;
            csv_newline(w, from + mark[i]);
            if (w->out->n == capacity) return true;
        }
    }
    w->quoted = how.open;
    return true;
}

/* The same for any quotes. */
static void csv_walk(csv_rows *w, const levada_kernels *kernels, int32_t capacity)
{
    const uint8_t set[4] = { '\n', '\r', w->rules.quotes ? w->rules.quote : '\n', '\n' };
    int32_t       mark[CSV_MARKS + LEVADA_KERNEL_SLACK];
    size_t        scanned = 0;

    for (int64_t from = 0; from < w->size && !w->cut; from += (int64_t)scanned) {
        int64_t n = kernels->byte_index(w->data + from, (size_t)(w->size - from), set, mark,
                                        CSV_MARKS, &scanned);

        for (int64_t i = 0; i < n && !w->cut; i++) {
            int64_t at = from + mark[i];

            if (at < w->past) continue;
            if (w->data[at] == set[2] && w->rules.quotes) csv_quote(w, at);
            else if (!w->quoted) csv_newline(w, at);
            if (w->out->n == capacity) return;
        }
    }
}

/* The last row has no newline. Where it is still in quotes, the file is damaged there. */
static levada_status csv_end(csv_rows *w, levada_error *err)
{
    if (w->quoted) {
        if (w->out->n > 0) return LEVADA_OK; /* with the next call */
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "Reached end of file without closing quoted field in record");
    }
    w->out->begin[w->out->n] = (int32_t)w->row;
    w->out->end[w->out->n++] = (int32_t)w->size;
    w->row = w->size;
    return LEVADA_OK;
}

/* Bytes that begin no row: the mark of UTF-8, and empty lines. */
static int64_t csv_no_row(csv_state *s, const uint8_t *data, int64_t size)
{
    int64_t n = 0;

    if (s->first && size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) n = 3;
    else while (n < size && (data[n] == '\n' || data[n] == '\r')) n++;
    if (n > 0) s->first = false;
    return n;
}

static levada_status csv_next(void *state, const void *args, const uint8_t *data, int64_t size,
                              bool at_end, levada_spans *out, levada_error *err)
{
    const levada_csv_args *a = args;
    csv_state             *s = state;
    int32_t                capacity = s->heading ? 1 : out->capacity;
    const csv_rows begin = { .data = data, .size = size, .out = out, .at_end = at_end,
                             .rules = csv_line_rules(a), .columns = csv_width(a) };
    csv_rows      w = begin;
    levada_status st = LEVADA_OK;

    out->n = 0;
    out->need = 0;
    out->used = csv_no_row(s, data, size);
    if (out->used > 0 || (s->first && size < 3 && !at_end)) return LEVADA_OK;
    s->first = false;
    if (!csv_index(&w, s->kernels, capacity)) {
        out->n = 0;
        w = begin;
        csv_walk(&w, s->kernels, capacity);
    }
    if (at_end && out->n < capacity && w.row < size) st = csv_end(&w, err);
    if (s->heading && out->n > 0) { /* columns are compared with the first row (csv_fit.h) */
        s->heading = false;
        out->n = 0;
    }
    out->used = w.row;
    return st;
}

/* After a quote that nothing closes: the next line that is a whole row by itself. One field does
 * not
 * tell a row from a line of the text in quotes. */
static int64_t csv_resync(void *state, const void *args, const uint8_t *data, int64_t size,
                          bool at_end)
{
    const levada_csv_args *a = args;
    const csv_rows w = { .data = data, .rules = csv_line_rules(a), .columns = csv_width(a) };
    int64_t        end = csv_line_end(data, 0, size);

    (void)state;
    while (end < size && w.columns > 1) {
        int64_t begin = csv_after(data, end, size);

        end = csv_line_end(data, begin, size);
        if ((end < size || at_end) && csv_is_row(&w, begin, end)) return begin;
        if (end == size && !at_end) return begin;
    }
    return size;
}

/* Nothing marks a CSV file, so other evidence wins; but text does not contradict it. */
static int32_t csv_probe(const uint8_t *data, int64_t size)
{
    return size > 0 && !memchr(data, '\0', (size_t)size) ? 1 : 0;
}

/* -- options from the first rows of a file */

/* The memory of a sample: the first bytes of a file, and where rows are in them. */
typedef struct csv_sample {
    uint8_t        *bytes;
    int32_t        *begin, *end, *size;
    const uint8_t **data;
    int64_t         most;  /* bytes */
    int32_t         nrows; /* at most */
} csv_sample;

enum { CSV_SLACK = 64, CSV_SAMPLE = 1 << 20, CSV_HEADING = 1 << 12 };

static void csv_sample_close(csv_sample *s)
{
    levada_free(s->bytes);
    levada_free(s->begin);
    levada_free(s->end);
    levada_free(s->size);
    levada_free(s->data);
}

static levada_status csv_sample_open(csv_sample *s, const levada_csv_args *a, levada_error *err)
{
    size_t n;

    s->nrows = a->infer ? (int32_t)a->infer_rows + 1 : 1; /* one is the header */
    if (s->most == 0)
        s->most = (int64_t)s->nrows << 10 > CSV_SAMPLE ? (int64_t)s->nrows << 10 : CSV_SAMPLE;
    n = (size_t)s->nrows + CSV_SLACK;
    s->bytes = levada_alloc_zero((size_t)s->most + 2 * CSV_SLACK);
    s->begin = levada_alloc(n * sizeof *s->begin);
    s->end = levada_alloc(n * sizeof *s->end);
    s->size = levada_alloc(n * sizeof *s->size);
    s->data = levada_alloc(n * sizeof *s->data);
    if (s->bytes && s->begin && s->end && s->size && s->data) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while inferring columns");
}

/* Finds the rows of the first bytes of a file. */
static levada_status csv_sample_rows(csv_sample *s, const levada_csv_args *a, levada_env *env,
                                     int64_t made, levada_strings *rows, levada_error *err)
{
    csv_state      state = { .kernels = levada_env_kernels(env), .first = true };
    const uint8_t *at = s->bytes + CSV_SLACK, *stop = at + made;
    levada_spans   spans = { .begin = s->begin, .end = s->end, .capacity = s->nrows,
                             .stride = s->nrows + CSV_SLACK };

    while (spans.n == 0) {
        LEVADA_TRY(csv_next(&state, a, at, stop - at, made < s->most, &spans, err));
        if (spans.n > 0) break;
        if (spans.used == 0)
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               at == stop ? "the file is empty: it has no header and no rows"
                                          : "the first row is longer than 1 MiB");
        at += spans.used;
    }
    for (int32_t i = 0; i < spans.n; i++) {
        s->data[i] = at + s->begin[i];
        s->size[i] = s->end[i] - s->begin[i];
    }
    *rows = (levada_strings){ .data = s->data, .size = s->size, .n = spans.n };
    return LEVADA_OK;
}

static levada_status csv_look(csv_sample *s, const levada_csv_args *a, levada_env *env,
                              const char *path, const char *compression, levada_strings *rows,
                              levada_error *err)
{
    levada_bytes_options how = { .compression = compression, .probe = csv_probe };
    levada_bytes        *bytes = NULL;
    int64_t              made = 0;
    levada_status        st = csv_sample_open(s, a, err);

    if (st == LEVADA_OK) st = levada_bytes_open(env, path, &how, &bytes, err);
    if (st == LEVADA_OK)
        st = levada_bytes_read(bytes, s->bytes + CSV_SLACK, s->most, &made, err);
    if (st == LEVADA_OK) st = csv_sample_rows(s, a, env, made, rows, err);
    levada_bytes_close(&bytes);
    return st;
}

static levada_status csv_infer_path(levada_env *env, const levada_csv_args *a, const char *path,
                                    const char *compression, const levada_value *options,
                                    levada_value **out, levada_error *err)
{
    csv_sample     sample = { 0 };
    levada_strings rows;
    levada_status  st;

    st = csv_look(&sample, a, env, path, compression, &rows, err);
    if (st == LEVADA_OK) st = levada_csv_infer(a, env, &rows, options, out, err);
    csv_sample_close(&sample);
    return st;
}

static levada_status csv_infer(levada_env *env, const void *args, const levada_texts *files,
                               const char *compression, const levada_value *options,
                               levada_value **out, levada_error *err)
{
    const levada_csv_args *a = args;
    levada_files           found = { 0 };
    levada_spec           *spec = NULL; /* of the other options: that they are good */
    bool                   named = levada_csv_is_named(a);
    levada_error           why = LEVADA_ERROR_INIT;
    levada_status          st;

    if (!a->infer && (!a->header || !a->record_defaults || a->columns.n > 0)) return LEVADA_OK;
    if (a->infer && (a->record_defaults || a->select_cols.n > 0 || a->columns.n > 0))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "infer=true cannot be combined with record_defaults, columns or "
                           "select_cols");
    LEVADA_TRY(csv_check(args, &spec, err));
    levada_spec_unref(&spec);
    st = levada_files_find(files, &found, &why);
    if (st == LEVADA_OK && found.n == 0)
        st = levada_fail(&why, LEVADA_EINVALID_ARGUMENT, "there are no files");
    if (st == LEVADA_OK)
        st = csv_infer_path(env, a, found.path[0], compression, options, out, &why);
    if (st != LEVADA_OK && found.n > 0) levada_error_place(&why, NULL, found.path[0], -1, -1);
    levada_files_clear(&found);
    if (named && st != LEVADA_ERESOURCE_EXHAUSTED) return LEVADA_OK; /* the run reports it */
    if (st != LEVADA_OK && err) *err = why;
    return st;
}

/* -- columns */

typedef struct csv_columns_state {
    levada_csv     csv;
    levada_csv_fit fit;
} csv_columns_state;

/* A levada_csv_heading. Most headers are short. */
static levada_status csv_heading(const levada_csv_args *a, const levada_context *context,
                                 const char *path, const char *compression, levada_value **names,
                                 levada_error *err)
{
    levada_status st = LEVADA_OK;

    for (int64_t most = CSV_HEADING; *names == NULL && most <= CSV_SAMPLE; most *= 16) {
        csv_sample     sample = { .most = most };
        levada_strings rows;

        levada_error_clear(err);
        st = csv_look(&sample, a, context->env, path, compression, &rows, err);
        if (st == LEVADA_OK)
            st = levada_csv_header_read(a, rows.data[0], rows.size[0], names, err);
        csv_sample_close(&sample);
        if (st != LEVADA_OK && st != LEVADA_EINVALID_ARGUMENT && st != LEVADA_EDATA_LOSS) break;
    }
    return st;
}

static void csv_columns_close(void *state)
{
    csv_columns_state *s = state;

    levada_csv_fit_close(&s->fit);
    levada_csv_close(&s->csv);
}

static levada_status csv_columns_open(void *state, const void *args,
                                      const levada_context *context, levada_error *err)
{
    csv_columns_state *s = state;
    const levada_op   *op = levada_registry_find(context->env, "csv");
    const void        *source = (const uint8_t *)args + op->core_offset;
    levada_status      st = levada_csv_open(&s->csv, args, true, context, err);

    if (st == LEVADA_OK)
        st = levada_csv_fit_open(&s->fit, args, source, context, csv_heading, err);
    if (st != LEVADA_OK) csv_columns_close(state);
    return st;
}

static levada_status csv_columns_decode(void *state, const void *args, const levada_strings *in,
                                        levada_builder *out, levada_error *err)
{
    csv_columns_state *s = state;
    levada_strings     rows;
    const char *const *refused;

    LEVADA_TRY(levada_csv_fit_rows(&s->fit, in, &rows, &refused, err));
    return levada_csv_decode(&s->csv, args, &rows, refused, out, err);
}

static const levada_decoder_def csv_columns = {
    .struct_size = sizeof(levada_decoder_def),
    .state_size = sizeof(csv_columns_state),
    .check = csv_check,
    .open = csv_columns_open,
    .close = csv_columns_close,
    .decode = csv_columns_decode,
};

static const levada_example_file csv_files[] = {
    { "people.csv", "name,age,height\nada,36,1.65\n\"grace\nh.\",85,\n\"\"\"\",1,2\r\nd,4,1e2",
      60 },
    { NULL, NULL, 0 }
};

static const char *const csv_suffixes[] = { ".csv", NULL };

const levada_format_def levada_format_csv = {
    .struct_size = sizeof(levada_format_def),
    .name = "csv",
    .doc = "reads rows of CSV files, one column per field",
    .example =
        "csv:people.csv,record_defaults=[string,int32,{dtype:float32,default:0}],"
        "columns=[name,age,height],header=true",
    .example_files = csv_files,
    .field = "row",
    .suffixes = csv_suffixes,
    .finds = "infer",
    .args = csv_options,
    .args_size = sizeof(levada_csv_args),
    .state_size = sizeof(csv_state),
    .open = csv_open,
    .probe = csv_probe,
    .seek = csv_seek,
    .next = csv_next,
    .resync = csv_resync,
    .decoder = &csv_columns,
    .lines = true,
    .infer = csv_infer,
};
