/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv - rows of CSV files as typed columns: CsvDataset of TensorFlow
 * (core/kernels/data/experimental/csv_dataset_op.cc).
 *
 * The format frames rows: a row ends with LF, CR LF, CR or the file, outside of quotes. The decoder
 * splits them into fields on any thread. A quote opens a field only where one begins, and closes it
 * only where a delimiter or the end of the row follows. So a quote at another place is an error of
 * its row, and the rows after it are read as if it were not there.
 */
#include "base/alloc.h"
#include "files/bytes.h"
#include "files/glob.h"
#include "rows/csv_infer.h"
#include "registry/env_priv.h"

#include <levada/source.h>
#include <string.h>

enum { CSV_MARKS = 1024 };

typedef struct csv_state {
    const levada_kernels *kernels;
    bool                  heading; /* the next row is the header of the file */
} csv_state;

static const levada_arg csv_options[] = {
    LEVADA_ARG(VALUE, levada_csv_args, record_defaults,
               .doc = "one entry per column: a dtype (float32, float64, int32, int64, string; the "
                      "field is required), or {dtype: ..., default: ...}; null = one column "
                      "'fields' with the strings of each row"),
    LEVADA_ARG(BOOL, levada_csv_args, header, .otherwise = "false",
               .doc = "skip the first row of every file"),
    LEVADA_ARG(BOOL, levada_csv_args, infer, .otherwise = "false",
               .doc =
                   "find record_defaults, columns and header in the first 1000 rows of the first "
                   "file when the dataset is made, and write them into the description"),
    LEVADA_CSV_OPTIONS, LEVADA_ARG_END
};

static levada_status csv_check(const void *args, levada_spec **out, levada_error *err)
{
    const levada_csv_args *a = args;
    char                   delim = a->field_delim[0];

    if (delim == '\n' || delim == '\r' || (delim == '"' && a->use_quote_delim)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field_delim cannot be a newline or the quote");
    }
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
    uint8_t        delim;
    bool           quotes, quoted, at_end;
    bool           cut; /* what the last byte means, the next one says */
} csv_rows;

/* A quote: it opens or closes a field, stands for one in it, or is an error of the row. */
static void csv_quote(csv_rows *w, int64_t at)
{
    uint8_t next;

    if (!w->quoted) {
        w->quoted = at == w->row || w->data[at - 1] == w->delim;
        return;
    }
    if (at + 1 == w->size) {
        w->quoted = !w->at_end;
        w->cut = !w->at_end;
        return;
    }
    next = w->data[at + 1];
    if (next == '"') w->past = at + 2;
    else w->quoted = next != w->delim && next != '\n' && next != '\r';
}

static void csv_newline(csv_rows *w, int64_t at)
{
    levada_spans *out = w->out;
    bool          last = at + 1 == w->size, cr = w->data[at] == '\r';

    if (cr && last && !w->at_end) {
        w->cut = true;
        return;
    }
    out->begin[out->n] = (int32_t)w->row;
    out->end[out->n++] = (int32_t)at;
    w->row = w->past = at + 1 + (cr && !last && w->data[at + 1] == '\n');
}

/* Finds rows until the window ends, or `capacity` rows are found. False: a quote is an error of its
 * row, and the quotes have to be followed one by one. */
static bool csv_index(csv_rows *w, const levada_kernels *kernels, int32_t capacity)
{
    levada_quoted how = { .delim = w->delim, .quotes = w->quotes, .rows = true };
    int32_t       mark[CSV_MARKS + LEVADA_KERNEL_SLACK];
    size_t        scanned = 0;

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
    const uint8_t set[4] = { '\n', '\r', w->quotes ? '"' : '\n', '\n' };
    int32_t       mark[CSV_MARKS + LEVADA_KERNEL_SLACK];
    size_t        scanned = 0;

    for (int64_t from = 0; from < w->size && !w->cut; from += (int64_t)scanned) {
        int64_t n = kernels->byte_index(w->data + from, (size_t)(w->size - from), set, mark,
                                        CSV_MARKS, &scanned);

        for (int64_t i = 0; i < n && !w->cut; i++) {
            int64_t at = from + mark[i];

            if (at < w->past) continue;
            if (w->data[at] == '"' && w->quotes) csv_quote(w, at);
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

static levada_status csv_next(void *state, const void *args, const uint8_t *data, int64_t size,
                              bool at_end, levada_spans *out, levada_error *err)
{
    const levada_csv_args *a = args;
    csv_state             *s = state;
    int32_t                capacity = s->heading ? 1 : out->capacity;
    const csv_rows begin = { data, size, out, 0, 0, (uint8_t)a->field_delim[0], a->use_quote_delim,
                             false, at_end, false };
    csv_rows      w = begin;
    levada_status st = LEVADA_OK;

    out->n = 0;
    out->need = 0;
    if (!csv_index(&w, s->kernels, capacity)) {
        out->n = 0;
        w = begin;
        csv_walk(&w, s->kernels, capacity);
    }
    if (at_end && out->n < capacity && w.row < size) st = csv_end(&w, err);
    if (s->heading && out->n > 0) {
        s->heading = false;
        out->n = 0;
    }
    out->used = w.row;
    return st;
}

/* Nothing marks a CSV file, so other evidence wins; but text does not contradict it. */
static int32_t csv_probe(const uint8_t *data, int64_t size)
{
    return size > 0 && !memchr(data, '\0', (size_t)size) ? 1 : 0;
}

/* -- the option infer */

/* The rows of the first bytes of a file. */
static levada_status csv_sample(const levada_csv_args *a, levada_env *env, const uint8_t *head,
                                int64_t size, bool whole, const levada_value *options,
                                levada_value **out, levada_error *err)
{
    enum { ROWS = LEVADA_CSV_INFER_ROWS };
    csv_state      state = { .kernels = levada_env_kernels(env) };
    int32_t        begin[ROWS + 64], end[ROWS + 64], bytes[ROWS];
    const uint8_t *data[ROWS];
    levada_spans   spans = { .begin = begin, .end = end, .capacity = ROWS, .stride = ROWS + 64 };
    levada_strings rows = { .data = data, .size = bytes };

    LEVADA_TRY(csv_next(&state, a, head, size, whole, &spans, err));
    if (spans.n == 0)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           size == 0 ? "infer: the file is empty"
                                     : "infer: the first row is longer than 1 MiB");
    for (rows.n = 0; rows.n < spans.n; rows.n++) {
        data[rows.n] = head + begin[rows.n];
        bytes[rows.n] = end[rows.n] - begin[rows.n];
    }
    return levada_csv_infer(a, env, &rows, options, out, err);
}

static levada_status csv_infer(levada_env *env, const void *args, const levada_texts *files,
                               const char *compression, const levada_value *options,
                               levada_value **out, levada_error *err)
{
    enum { HEAD = 1 << 20, SLACK = 64 };
    const levada_csv_args *a = args;
    levada_bytes_options   how = { .compression = compression, .probe = csv_probe };
    levada_files           found = { 0 };
    levada_bytes          *bytes = NULL;
    uint8_t               *head = NULL;
    levada_spec           *spec = NULL; /* of the other options: that they are good */
    int64_t                made = 0;
    levada_status          st;

    if (!a->infer) return LEVADA_OK;
    if (a->record_defaults || a->select_cols.n > 0 || a->columns.n > 0)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "infer finds record_defaults and columns, and takes all fields: omit "
                           "record_defaults, columns and select_cols");
    LEVADA_TRY(csv_check(args, &spec, err));
    levada_spec_unref(&spec);
    st = levada_files_find(files, &found, err);
    head = levada_alloc_zero(HEAD + 2 * SLACK);
    if (st == LEVADA_OK && !head)
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory to infer columns");
    if (st == LEVADA_OK && found.n == 0)
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT, "infer: there are no files");
    if (st == LEVADA_OK) st = levada_bytes_open(env, found.path[0], &how, &bytes, err);
    if (st == LEVADA_OK) st = levada_bytes_read(bytes, head + SLACK, HEAD, &made, err);
    if (st == LEVADA_OK)
        st = csv_sample(a, env, head + SLACK, made, made < HEAD, options, out, err);
    if (st != LEVADA_OK && found.n > 0) levada_error_place(err, NULL, found.path[0], -1, -1);
    levada_bytes_close(&bytes);
    levada_free(head);
    levada_files_clear(&found);
    return st;
}

/* -- columns */

static levada_status csv_columns_open(void *state, const void *args,
                                      const levada_context *context, levada_error *err)
{
    levada_status st = levada_csv_open(state, args, true, context, err);

    if (st != LEVADA_OK) levada_csv_close(state);
    return st;
}

static void csv_columns_close(void *state) { levada_csv_close(state); }

static levada_status csv_columns_decode(void *state, const void *args, const levada_strings *in,
                                        levada_builder *out, levada_error *err)
{
    return levada_csv_decode(state, args, in, out, err);
}

static const levada_decoder_def csv_columns = {
    .struct_size = sizeof(levada_decoder_def),
    .state_size = sizeof(levada_csv),
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

const levada_format_def levada_format_csv = {
    .struct_size = sizeof(levada_format_def),
    .name = "csv",
    .doc = "reads rows of CSV files, one column per field",
    .example =
        "csv:people.csv,record_defaults=[string,int32,{dtype:float32,default:0}],header=true",
    .example_files = csv_files,
    .field = "row",
    .args = csv_options,
    .args_size = sizeof(levada_csv_args),
    .state_size = sizeof(csv_state),
    .open = csv_open,
    .probe = csv_probe,
    .seek = csv_seek,
    .next = csv_next,
    .decoder = &csv_columns,
    .lines = true,
    .infer = csv_infer,
};
