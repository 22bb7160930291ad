/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fasta - sequences of biology: a line ">id description", and lines of letters.
 *
 * The format frames records: from ">" up to the line end before the next line that begins with ">".
 * Blank lines between records belong to none. The decoder joins the lines.
 */
#include "base/alloc.h"
#include "source/sequence_lines.h"

#include <string.h>

typedef struct fasta_state {
    bool skipping; /* in a record that exceeds max_record_bytes */
    bool within;   /* after resync(): the window begins within a line */
} fasta_state;

static int32_t fasta_probe(const uint8_t *data, int64_t size)
{
    int64_t at = levada_sequence_blank(data, size, 0);

    return at + 1 < size && data[at] == '>' && data[at + 1] > ' ' ? 1 : 0;
}

static levada_status fasta_seek(void *state, const void *args, int64_t offset, int64_t size,
                                levada_error *err)
{
    (void)args, (void)offset, (void)size, (void)err;
    *(fasta_state *)state = (fasta_state){ 0 };
    return LEVADA_OK;
}

static int64_t fasta_resync(void *state, const void *args, const uint8_t *data, int64_t size,
                            bool at_end)
{
    int64_t at = levada_sequence_find(data, size, 0, '>');

    (void)args;
    if (at < 0) at = levada_sequence_rest(data, size, at_end);
    ((fasta_state *)state)->within = data[at - 1] != '\n';
    return at;
}

/* Returns the end of the record whose mark is at `at`, after the line end of its last line that is
 * not blank; -1 if the window does not hold it. */
static int64_t fasta_end(const uint8_t *data, int64_t size, int64_t at, bool at_end)
{
    int64_t next = levada_sequence_find(data, size, at, '>'), end;

    if (next < 0 && !at_end) return -1;
    if (next < 0) next = size;
    for (end = next; data[end - 1] == '\n' || data[end - 1] == '\r';) end--;
    if (end < next && data[end] == '\r') end++;
    return end < next && data[end] == '\n' ? end + 1 : end;
}

static int64_t fasta_leave_out(void *state, const void *args, const uint8_t *data, int64_t size,
                               bool at_end, bool *done)
{
    fasta_state *s = state;
    int64_t      from = s->skipping ? 0 : levada_sequence_blank(data, size, 0);
    int64_t      next = levada_sequence_find(data, size, from, '>');

    (void)args;
    *done = next > 0 || at_end;
    s->skipping = !*done;
    return next > 0 ? next : levada_sequence_rest(data, size, at_end);
}

static levada_status fasta_next(void *state, const void *args, const uint8_t *data, int64_t size,
                                bool at_end, levada_spans *out, levada_error *err)
{
    fasta_state *s = state;
    int64_t      at = 0, mark = 0;
    int32_t      n = 0;
    bool         within = s->within;

    (void)args;
    out->n = 0;
    out->need = 0;
    s->within = false;
    for (; n < out->capacity; n++) {
        int64_t end;

        mark = levada_sequence_blank(data, size, at);
        if (n == 0 && mark > 0 && (mark < size || at_end)) {
            out->used = mark;
            return LEVADA_OK;
        }
        if (mark == size || data[mark] != '>' || (within && mark == 0)) break;
        end = fasta_end(data, size, mark, at_end);
        if (end < 0) break;
        out->begin[n] = (int32_t)mark;
        out->end[n] = (int32_t)(at = end);
    }
    out->n = n;
    out->used = at;
    if (n > 0) return LEVADA_OK; /* damage returns with the next call */
    if (mark == size || (data[mark] == '>' && !(within && mark == 0))) return LEVADA_OK;
    return levada_fail(err, LEVADA_EDATA_LOSS, "a record must begin with '>', got byte 0x%02x",
                       data[mark]);
}

static levada_status fasta_foreign(levada_env *env, const void *args, const char *path,
                                   levada_index_sink *to, levada_error *err)
{
    (void)args;
    return levada_sequence_index(env, path, false, to, err);
}

/* -- columns */

typedef struct fasta_columns {
    levada_text_span *spans; /* ids, then descriptions */
    int64_t           capacity;
} fasta_columns;

static levada_status fasta_check(const void *args, levada_spec **out, levada_error *err)
{
    const levada_field fields[] = {
        { .name = "id", .dtype = LEVADA_BYTES },
        { .name = "description", .dtype = LEVADA_BYTES },
        { .name = "seq", .dtype = LEVADA_BYTES },
    };

    (void)args;
    return levada_spec_create(fields, 3, LEVADA_SPEC_PLAIN, out, err);
}

static void fasta_columns_close(void *state) { levada_free(((fasta_columns *)state)->spans); }

static levada_status fasta_sequences(const fasta_columns *c, const levada_strings *in,
                                     levada_builder *out, levada_error *err)
{
    int32_t *offsets = NULL;
    uint8_t *values = NULL;
    int64_t  total = 0;

    for (int64_t i = 0; i < in->n; i++) total += in->size[i];
    if (total > INT32_MAX)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "more than 2 GiB in one block; lower block_rows");
    LEVADA_TRY(levada_builder_offsets(out, 2, 0, in->n, &offsets, err));
    LEVADA_TRY(levada_builder_values(out, 2, total, (void **)&values, err));
    offsets[0] = 0;
    for (int64_t i = 0; i < in->n; i++) {
        const uint8_t *row = in->data[i];
        int64_t        end = 0, size = in->size[i];
        int64_t        from = size ? levada_sequence_line(row, size, 0, true, &end) : 0;
        int64_t made = levada_sequence_join(row + from, size - from, true, values + offsets[i]);

        offsets[i + 1] = offsets[i] + (int32_t)(made < 0 ? 0 : made);
        if (made >= 0) continue;
        LEVADA_TRY(levada_sequence_reject(out, i, &c->spans[i], from - 1 - made,
                                          row[from - 1 - made], err));
    }
    return LEVADA_OK;
}

static levada_status fasta_decode(void *state, const void *args, const levada_strings *in,
                                  levada_builder *out, levada_error *err)
{
    fasta_columns *c = state;

    (void)args;
    if (!levada_reserve(&c->spans, &c->capacity, 2 * in->n + 1, sizeof *c->spans))
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for headers");
    for (int64_t i = 0; i < in->n; i++) {
        int64_t end = 0;

        if (in->size[i]) (void)levada_sequence_line(in->data[i], in->size[i], 0, true, &end);
        levada_sequence_header(in->data[i], end, &c->spans[i], &c->spans[in->n + i]);
    }
    LEVADA_TRY(levada_strings_put(out, 0, 0, c->spans, in->n, in->owner, err));
    LEVADA_TRY(levada_strings_put(out, 1, 0, c->spans + in->n, in->n, in->owner, err));
    return fasta_sequences(c, in, out, err);
}

static const levada_decoder_def fasta_columns_def = {
    .struct_size = sizeof(levada_decoder_def),
    .state_size = sizeof(fasta_columns),
    .check = fasta_check,
    .close = fasta_columns_close,
    .decode = fasta_decode,
};

static const levada_example_file fasta_files[] = {
    { "genes.fa", ">g1 first gene\nACGT\nAC\n\n>g2\n\n>g3 soft masked\r\nacGT\r\n\r\n\n>g4\nNNN",
      62 },
    { NULL, NULL, 0 },
};

static const char *const fasta_suffixes[] = { ".fa", ".fasta", ".fna", ".faa", ".ffn", NULL };

const levada_format_def levada_format_fasta = {
    .struct_size = sizeof(levada_format_def),
    .name = "fasta",
    .doc = "reads sequences of FASTA files",
    .example = "fasta:genes.fa",
    .example_files = fasta_files,
    .fields = LEVADA_FIELDS("record"),
    .suffixes = fasta_suffixes,
    .state_size = sizeof(fasta_state),
    .probe = fasta_probe,
    .seek = fasta_seek,
    .next = fasta_next,
    .resync = fasta_resync,
    .leave_out = fasta_leave_out,
    .foreign = fasta_foreign,
    .lines = true,
    .open_ended = true,
    .decoder = &fasta_columns_def,
};
