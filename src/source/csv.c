/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv - rows of CSV files as typed columns: CsvDataset of TensorFlow
 * (core/kernels/data/experimental/csv_dataset_op.cc).
 *
 * The format frames rows (rows/csv_rows.h). The decoder splits them into fields on any thread, and
 * matches columns by name with a header (csv_fit.h). Empty lines are not rows, and a byte order
 * mark is not part of the first one.
 */
#include "base/alloc.h"
#include "base/text.h"
#include "files/bytes.h"
#include "files/glob.h"
#include "rows/csv_dtypes.h"
#include "rows/csv_fit.h"
#include "rows/csv_header.h"
#include "rows/csv_infer.h"
#include "rows/csv_rows.h"
#include "option/value_priv.h"
#include "registry/env_priv.h"
#include "registry/registry.h"

#include <levada/source.h>
#include <string.h>

enum { CSV_INFER_MOST = 65536 };

typedef struct csv_state {
    const levada_kernels *kernels;
    int64_t               limit;   /* max_record_bytes */
    bool                  heading; /* the next row is the header of the file */
    bool                  first;   /* of the file: a mark of UTF-8 may be there */
    int64_t               to_skip; /* lines at the start of the file */
    levada_csv_long       row;     /* over the limit, while it is passed over */
} csv_state;

static const levada_arg csv_options[] = {
    LEVADA_ARG(VALUE, levada_csv_args, record_defaults,
               .doc =
                   LEVADA_CSV_DEFAULTS "; null = one column 'fields' with the strings of each row"),
    LEVADA_ARG(BOOL, levada_csv_args, header, .otherwise = "false",
               .doc = "the first row of every file is a header with the names of the columns"),
    LEVADA_ARG(VALUE, levada_csv_args, dtypes,
               .doc = "{name: entry of record_defaults} for some columns of the header; the others "
                      "are inferred"),
    LEVADA_ARG(VALUE, levada_csv_args, dates,
               .doc = "{name: s, ms, us or ns}: columns of dates and times in ISO 8601, which "
                      "become int64 since 1970-01-01 UTC in that unit; a missing value is NaT, "
                      "the least int64. Short for dtypes with datetime64[unit]; the other columns "
                      "are inferred"),
    LEVADA_ARG(BOOL, levada_csv_args, infer, .otherwise = "false",
               .doc = "infer record_defaults and header from the first rows of the first file when "
                      "the dataset is created; the pipeline then contains them"),
    LEVADA_ARG(INT, levada_csv_args, infer_rows, .otherwise = "1000",
               .doc =
                   "number of rows that infer reads, 1 to 65,536; it reads at most 1 KiB for each "
                   "row, and at least 1 MiB"),
    LEVADA_ARG(CHOICE, levada_csv_args, header_columns, .choices = "all|any",
               .doc = "columns that the header of each file must have, in any order: all = the "
                      "columns of record_defaults; any = a column that the header lacks has its "
                      "default, and other columns are ignored"),
    LEVADA_ARG(CHOICE, levada_csv_args, misplaced_quotes, .choices = "resync|tensorflow",
               .doc = "what ends a field after a misplaced quote inside quotes: resync = the first "
                      "line end that completes the fields of the row, or a line end before a whole "
                      "row; tensorflow = a quote directly before a delimiter or a line end, as in "
                      "CsvDataset"),
    LEVADA_ARG(INT, levada_csv_args, skip_rows, .otherwise = "0", .min = 0, .max = INT64_MAX,
               .doc = "lines to skip at the start of every file, before the header"),
    LEVADA_ARG(TEXT, levada_csv_args, comment,
               .doc = "character that begins a line of comment, which is not a row; null = none"),
    LEVADA_CSV_OPTIONS,
    LEVADA_ARG_END
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
    if (a->comment && (strlen(a->comment) != 1 || strchr("\r\n", *a->comment) ||
                       *a->comment == delim || *a->comment == *a->quote_char))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "comment must be one character that is not field_delim, quote_char or "
                           "a newline, got '%.20s'",
                           a->comment);
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
    ((csv_state *)state)->limit = context->max_record_bytes;
    return LEVADA_OK;
}

static levada_status csv_seek(void *state, const void *args, int64_t offset, int64_t size,
                              levada_error *err)
{
    csv_state *s = state;

    (void)size, (void)err;
    s->first = offset == 0;
    s->heading = offset == 0 && ((const levada_csv_args *)args)->header;
    s->to_skip = offset == 0 ? ((const levada_csv_args *)args)->skip_rows : 0;
    s->row = (levada_csv_long){ 0 };
    return LEVADA_OK;
}

/* Returns the position after the line at data[at], or `at` if the window does not hold its end. */
static int64_t csv_pass_line(const uint8_t *data, int64_t at, int64_t size, bool at_end)
{
    int64_t end = levada_csv_line_end(data, at, size);

    if (end == size || (data[end] == '\r' && end + 1 == size)) return at_end ? size : at;
    return levada_csv_line_after(data, end, size);
}

/* Returns the number of bytes that begin no row: the mark of UTF-8, skipped lines, comments and
 * empty lines. *cut: more bytes are needed to know. */
static int64_t csv_no_row(csv_state *s, const levada_csv_framing *framing, const uint8_t *data,
                          int64_t size, bool at_end, bool *cut)
{
    int64_t n = 0;

    if (s->first) n = levada_utf8_mark(data, size);
    s->first = s->first && n == 0;
    while (n < size && !*cut) {
        bool    line = s->to_skip > 0 || levada_csv_is_comment(framing, data, n);
        int64_t next = line ? csv_pass_line(data, n, size, at_end) : n + 1;

        if (!line && data[n] != '\n' && data[n] != '\r') break;
        *cut = next == n;
        s->to_skip -= s->to_skip > 0 && next > n;
        n = next;
    }
    return n;
}

static levada_status csv_next(void *state, const void *args, const uint8_t *data, int64_t size,
                              bool at_end, levada_spans *out, levada_error *err)
{
    csv_state               *s = state;
    const levada_csv_framing framing = levada_csv_framing_of(args, s->kernels, s->limit);
    bool                     cut = s->first && size < 3 && !at_end;
    levada_status            st;

    out->n = 0;
    out->need = 0;
    out->used = cut ? 0 : csv_no_row(s, &framing, data, size, at_end, &cut);
    if (out->used > 0 || cut) return LEVADA_OK;
    s->first = false;
    st = levada_csv_rows_find(&framing, data, size, at_end, s->heading ? 1 : out->capacity, out,
                              err);
    if (s->heading && out->n > 0) { /* columns are compared with the first row (csv_fit.h) */
        s->heading = false;
        out->n = 0;
    }
    return st;
}

static int64_t csv_resync(void *state, const void *args, const uint8_t *data, int64_t size,
                          bool at_end)
{
    const csv_state         *s = state;
    const levada_csv_framing framing = levada_csv_framing_of(args, s->kernels, s->limit);

    return levada_csv_rows_resync(&framing, data, size, at_end);
}

static int64_t csv_leave_out(void *state, const void *args, const uint8_t *data, int64_t size,
                             bool at_end, bool *done)
{
    csv_state               *s = state;
    const levada_csv_framing framing = levada_csv_framing_of(args, s->kernels, s->limit);

    s->heading = false;
    return levada_csv_long_pass(&s->row, &framing, data, size, at_end, done);
}

/* Returns 1 bit for text: nothing marks a CSV file, so that any other evidence wins. */
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

/* Finds the rows of the first bytes of a file; none where more bytes may complete the first. */
static levada_status csv_sample_rows(csv_sample *s, const levada_csv_args *a, levada_env *env,
                                     int64_t made, bool at_end, levada_strings *rows,
                                     levada_error *err)
{
    csv_state      state = { .kernels = levada_env_kernels(env), .first = true,
                              .to_skip = a->skip_rows };
    const uint8_t *at = s->bytes + CSV_SLACK, *stop = at + made;
    levada_spans   spans = { .begin = s->begin, .end = s->end, .capacity = s->nrows,
                             .stride = s->nrows + CSV_SLACK };

    while (spans.n == 0) {
        LEVADA_TRY(csv_next(&state, a, at, stop - at, at_end, &spans, err));
        if (spans.n > 0 || (spans.used == 0 && !at_end && made < s->most)) break;
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

/* Reads as many bytes as the rows take: the writer of a pipe may be waiting for an answer. */
static levada_status csv_look(csv_sample *s, const levada_csv_args *a, levada_env *env,
                              const char *path, const levada_bytes_options *how,
                              levada_strings *rows, levada_error *err)
{
    levada_bytes        *bytes = NULL;
    int64_t              made = 0, n = 1;
    levada_status        st = csv_sample_open(s, a, err);

    rows->n = 0;
    if (st == LEVADA_OK) st = levada_bytes_open(env, path, how, &bytes, err);
    while (st == LEVADA_OK && n > 0 && made < s->most && rows->n < s->nrows) {
        st = levada_bytes_read_least(bytes, s->bytes + CSV_SLACK + made, s->most - made, 1, &n,
                                     err);
        if (st == LEVADA_EDATA_LOSS && made > 0) { /* the run reports it */
            levada_error_clear(err);
            st = LEVADA_OK;
        }
        made += n;
        if (st == LEVADA_OK) st = csv_sample_rows(s, a, env, made, n == 0, rows, err);
    }
    levada_bytes_close(&bytes);
    return st;
}

static levada_status csv_infer_path(levada_env *env, const levada_csv_args *a, const char *path,
                                    const char *compression, const levada_value *options,
                                    levada_value **out, levada_error *err)
{
    levada_bytes_options how = {
        .compression = compression,
        .probe = csv_probe,
        .encoding = levada_value_as_text(levada_value_get(options, "encoding"), NULL),
    };
    csv_sample     sample = { 0 };
    levada_strings rows;
    levada_status  st;

    st = csv_look(&sample, a, env, path, &how, &rows, err);
    if (st == LEVADA_OK) st = levada_csv_infer(a, env, &rows, options, out, err);
    csv_sample_close(&sample);
    return st;
}

static levada_status csv_infer_columns(levada_env *env, const levada_csv_args *a,
                                       const levada_texts *files, const char *compression,
                                       const levada_value *options, levada_value **out,
                                       levada_error *err)
{
    levada_files           found = { 0 };
    levada_spec           *spec = NULL; /* of the other options: that they are good */
    bool                   named = levada_csv_is_named(a);
    levada_error           why = LEVADA_ERROR_INIT;
    levada_status          st;

    if (!a->infer && (!a->header || !a->record_defaults || a->columns.n > 0)) return LEVADA_OK;
    if (a->infer && (a->record_defaults || a->select_cols.n > 0 || a->columns.n > 0))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "infer=true, dtypes and dates cannot be combined with "
                           "record_defaults, columns or select_cols");
    LEVADA_TRY(csv_check(a, &spec, err));
    levada_spec_unref(&spec);
    st = levada_files_find(env, files, &found, &why);
    if (st == LEVADA_OK && found.n == 0)
        st = levada_fail(&why, LEVADA_EINVALID_ARGUMENT, "the list of files is empty");
    if (st == LEVADA_OK)
        st = csv_infer_path(env, a, found.path[0], compression, options, out, &why);
    if (st != LEVADA_OK && found.n > 0) levada_error_place(&why, NULL, found.path[0], -1, -1);
    levada_files_clear(&found);
    if (named && st != LEVADA_ERESOURCE_EXHAUSTED) return LEVADA_OK; /* the run reports it */
    if (st != LEVADA_OK && err) *err = why;
    return st;
}

/* Recognizes "a.tsv" and "a.tsv.gz". */
static bool csv_is_tabbed(const char *path)
{
    const char *found = strstr(path, ".tsv");

    while (found && found[4] && found[4] != '.' && found[4] != '-')
        found = strstr(found + 4, ".tsv");
    return found && !strchr(found, '/');
}

/* Sets map[key] to a copy of the value, or to a tab if the key is that of the delimiter. */
static levada_status csv_copy_option(levada_value *map, const char *key, const levada_value *value,
                                     levada_error *err)
{
    bool          delim = strcmp(key, "field_delim") == 0;
    levada_value *copy = delim ? levada_value_text("\t", 1) : levada_value_copy(value);
    levada_status st = copy ? levada_value_set(map, key, &copy, err)
                            : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");

    levada_value_destroy(&copy);
    return st;
}

/* Makes the options with a tab in place of the default delimiter, if all files are .tsv files. */
static levada_status csv_tabs(const levada_csv_args *a, const levada_texts *files,
                              const levada_value *options, levada_value **out, levada_error *err)
{
    levada_value *copy;
    bool          tabs = files->n > 0 && strcmp(a->field_delim, ",") == 0;
    levada_status st;

    for (int64_t i = 0; i < files->n; i++) tabs = tabs && csv_is_tabbed(files->at[i]);
    if (!tabs) return LEVADA_OK;
    copy = levada_value_map();
    st = copy ? LEVADA_OK : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (int64_t i = 0; st == LEVADA_OK && i < levada_value_count(options); i++)
        st = csv_copy_option(copy, levada_value_key(options, i), levada_value_item(options, i),
                             err);
    if (st == LEVADA_OK) *out = copy;
    else levada_value_destroy(&copy);
    return st;
}

static levada_status csv_infer(levada_env *env, const void *args, const levada_texts *files,
                               const char *compression, const levada_value *options,
                               levada_value **out, levada_error *err)
{
    levada_csv_args a = *(const levada_csv_args *)args;
    levada_value   *tabs = NULL;
    levada_status   st;

    a.infer = a.infer || levada_csv_is_declared(&a);
    LEVADA_TRY(csv_tabs(&a, files, options, &tabs, err));
    if (tabs) a.field_delim = "\t";
    st = csv_infer_columns(env, &a, files, compression, tabs ? tabs : options, out, err);
    if (st == LEVADA_OK && !*out) {
        *out = tabs;
        tabs = NULL;
    }
    levada_value_destroy(&tabs);
    return st;
}

/* -- columns */

typedef struct csv_columns_state {
    levada_csv     csv;
    levada_csv_fit fit;
} csv_columns_state;

/* Implements levada_csv_heading. Most headers are short. */
static levada_status csv_heading(const levada_csv_args *a, const levada_context *context,
                                 const char *path, const levada_file_args *source,
                                 levada_value **names, levada_error *err)
{
    levada_bytes_options how = { .compression = source->compression, .probe = csv_probe,
                                 .encoding = source->encoding };
    levada_status        st = LEVADA_OK;

    for (int64_t most = CSV_HEADING; *names == NULL && most <= CSV_SAMPLE; most *= 16) {
        csv_sample     sample = { .most = most };
        levada_strings rows;

        levada_error_clear(err);
        st = csv_look(&sample, a, context->env, path, &how, &rows, err);
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

static const char *const csv_suffixes[] = { ".csv", ".tsv", NULL };

const levada_format_def levada_format_csv = {
    .struct_size = sizeof(levada_format_def),
    .name = "csv",
    .doc = "reads rows of CSV files, one column per field",
    .example =
        "csv:people.csv,record_defaults=[string,int32,{dtype:float32,default:0}],"
        "columns=[name,age,height],header=true",
    .example_files = csv_files,
    .fields = LEVADA_FIELDS("row"),
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
    .leave_out = csv_leave_out,
    .decoder = &csv_columns,
    .lines = true,
    .infer = csv_infer,
};
