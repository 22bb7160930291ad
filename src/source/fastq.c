/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fastq - reads of a sequencer: "@id", letters, "+", and one quality character for each letter.
 *
 *     @read1 description
 *     ACGT
 *     +
 *     !FF?
 *
 * Letters and qualities may have several lines; the quality of one line of letters is one line,
 * because '@' is also a quality. After damage, reading continues at the next line that begins with
 * '@' and starts a complete record.
 */
#include "base/alloc.h"
#include "source/sequence_lines.h"

#include <string.h>

typedef struct fastq_state {
    bool skipping; /* in a record that exceeds max_record_bytes       */
    bool within;   /* after resync(): the window begins within a line */
} fastq_state;

/* The parts of a record; positions from its mark on. */
typedef struct fastq_record {
    int64_t     header_end, letters, plus, plus_end, quality, end;
    int64_t     nletters;
    const char *wrong; /* NULL = nothing */
} fastq_record;

enum { FASTQ_CUT = 0, FASTQ_WHOLE = 1, FASTQ_WRONG = -1 };

#define FASTQ_SURE 25 /* bits of a whole record: more than any text has */
#define FASTQ_HEAD 1024

static int fastq_wrong(fastq_record *r, const char *what)
{
    r->wrong = what;
    return FASTQ_WRONG;
}

/* Reads the lines of letters, and the line with "+". */
static int fastq_letters(const uint8_t *data, int64_t size, bool at_end, fastq_record *r,
                         int64_t *lines)
{
    int64_t at = r->letters, end = 0;

    for (*lines = 0;; (*lines)++) {
        int64_t next = levada_sequence_line(data, size, at, at_end, &end);

        if (at < size && data[at] == '@') return fastq_wrong(r, "no '+' line before the next '@'");
        if (next < 0) return at_end ? fastq_wrong(r, "the file ends in a record") : FASTQ_CUT;
        if (data[at] == '+') {
            r->plus = at;
            r->plus_end = end;
            r->quality = next;
            return FASTQ_WHOLE;
        }
        r->nletters += end - at;
        at = next;
    }
}

/* Reads the record whose mark is data[0]. */
static int fastq_read(const uint8_t *data, int64_t size, bool at_end, fastq_record *r)
{
    int64_t lines = 0, end = 0, n = 0, at;
    int     found;

    *r = (fastq_record){ 0 };
    r->letters = levada_sequence_line(data, size, 0, at_end, &r->header_end);
    if (r->letters < 0) return FASTQ_CUT;
    if (data[0] != '@') return fastq_wrong(r, "a record must begin with '@'");
    found = fastq_letters(data, size, at_end, r, &lines);
    if (found != FASTQ_WHOLE) return found;
    for (at = r->quality; n < r->nletters;) {
        int64_t next = levada_sequence_line(data, size, at, at_end, &end);

        if (next < 0 && at_end) return fastq_wrong(r, "the file ends in a record");
        if (next < 0) return FASTQ_CUT;
        n += end - at;
        at = next;
        if (n > r->nletters || (lines == 1 && n != r->nletters))
            return fastq_wrong(r, "sequence and quality must have the same length");
    }
    r->end = at;
    return FASTQ_WHOLE;
}

/* Bits of a record at data[0], by its first FASTQ_HEAD bytes alone, so that the result does not
 * depend on the size of windows. A record that is longer may still be one, which says little. */
static int32_t fastq_bits(const uint8_t *data, int64_t size)
{
    fastq_record r;
    int          found = fastq_read(data, size < FASTQ_HEAD ? size : FASTQ_HEAD, false, &r);

    if (found == FASTQ_WHOLE && r.nletters > 0) return FASTQ_SURE;
    return found == FASTQ_WRONG ? 0 : 1;
}

static int32_t fastq_probe(const uint8_t *data, int64_t size)
{
    int64_t at = levada_sequence_blank(data, size, 0);

    return at < size && data[at] == '@' ? fastq_bits(data + at, size - at) : 0;
}

static levada_status fastq_seek(void *state, const void *args, int64_t offset, int64_t size,
                                levada_error *err)
{
    (void)args, (void)offset, (void)size, (void)err;
    *(fastq_state *)state = (fastq_state){ 0 };
    return LEVADA_OK;
}

/* Finds the next record after `at`, or what may become one in a larger window; -1 = none. */
static int64_t fastq_find(const uint8_t *data, int64_t size, int64_t at)
{
    while ((at = levada_sequence_find(data, size, at, '@')) > 0) {
        if (fastq_bits(data + at, size - at) > 0) return at;
    }
    return -1;
}

static int64_t fastq_resync(void *state, const void *args, const uint8_t *data, int64_t size,
                            bool at_end)
{
    int64_t at = fastq_find(data, size, 0);

    (void)args;
    if (at < 0) at = levada_sequence_rest(data, size, at_end);
    ((fastq_state *)state)->within = data[at - 1] != '\n';
    return at;
}

static int64_t fastq_leave_out(void *state, const void *args, const uint8_t *data, int64_t size,
                               bool at_end, bool *done)
{
    fastq_state *s = state;
    int64_t      from = s->skipping ? 0 : levada_sequence_blank(data, size, 0);
    int64_t      next = fastq_find(data, size, from);

    (void)args;
    *done = next > 0 || at_end;
    s->skipping = !*done;
    return next > 0 ? next : levada_sequence_rest(data, size, at_end);
}

static levada_status fastq_next(void *state, const void *args, const uint8_t *data, int64_t size,
                                bool at_end, levada_spans *out, levada_error *err)
{
    fastq_state *s = state;
    fastq_record r = { 0 };
    int64_t      at = 0;
    int          found = FASTQ_CUT;
    int32_t      n = 0;
    bool         within = s->within;

    (void)args;
    out->n = 0;
    out->used = out->need = 0;
    s->within = false;
    if (within && data[0] == '@')
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "a record must end before the next '@', and its quality is missing");
    for (; n < out->capacity; n++) {
        int64_t mark = levada_sequence_blank(data, size, at);

        if (n == 0 && mark > 0 && (mark < size || at_end)) {
            out->used = mark;
            return LEVADA_OK;
        }
        if (mark == size) break;
        found = fastq_read(data + mark, size - mark, at_end, &r);
        if (found != FASTQ_WHOLE) break;
        out->begin[n] = (int32_t)mark;
        out->end[n] = (int32_t)(at = mark + r.end);
    }
    out->n = n;
    out->used = at;
    if (n > 0 || found != FASTQ_WRONG) return LEVADA_OK; /* damage returns with the next call */
    return levada_fail(err, LEVADA_EDATA_LOSS, "%s", r.wrong);
}

static levada_status fastq_foreign(levada_env *env, const void *args, const char *path,
                                   levada_index_sink *to, levada_error *err)
{
    (void)args;
    return levada_sequence_index(env, path, true, to, err);
}

/* -- columns */

typedef struct fastq_columns {
    levada_text_span *ids;
    fastq_record     *records;
    int64_t           ids_capacity, records_capacity;
} fastq_columns;

static levada_status fastq_check(const void *args, levada_spec **out, levada_error *err)
{
    const levada_field fields[] = {
        { .name = "id", .dtype = LEVADA_BYTES },
        { .name = "seq", .dtype = LEVADA_BYTES },
        { .name = "qual", .dtype = LEVADA_BYTES },
    };

    (void)args;
    return levada_spec_create(fields, 3, LEVADA_SPEC_PLAIN, out, err);
}

static void fastq_columns_close(void *state)
{
    fastq_columns *c = state;

    levada_free(c->ids);
    levada_free(c->records);
}

/* Parses a row; one with nothing in it takes the place of one that is not a record. */
static levada_status fastq_parse(fastq_columns *c, const levada_strings *in, int64_t row,
                                 levada_builder *out, levada_error *err)
{
    fastq_record    *r = &c->records[row];
    const uint8_t   *data = in->data[row];
    levada_text_span rest;
    int64_t          named;
    levada_error     why = LEVADA_ERROR_INIT;

    if (fastq_read(data, in->size[row], true, r) != FASTQ_WHOLE) {
        (void)levada_fail(&why, LEVADA_EDATA_LOSS, "%s", r->wrong ? r->wrong : "it has no record");
        *r = (fastq_record){ 0 };
        c->ids[row] = (levada_text_span){ 0 };
        return levada_builder_reject(out, row, &why, err);
    }
    levada_sequence_header(data, r->header_end, &c->ids[row], &rest);
    named = r->plus_end - r->plus;
    if (named == 1 || (named == r->header_end &&
                       memcmp(data + 1, data + r->plus + 1, (size_t)named - 1) == 0)) {
        return LEVADA_OK;
    }
    (void)levada_fail(
        &why, LEVADA_EDATA_LOSS, "'%.*s': the '+' line must be empty or repeat the header",
        c->ids[row].size < 100 ? c->ids[row].size : 100, (const char *)c->ids[row].at);
    return levada_builder_reject(out, row, &why, err);
}

/* Makes column `column` of lines: letters or qualities. */
static levada_status fastq_lines(const fastq_columns *c, const levada_strings *in, int32_t column,
                                 int64_t total, levada_builder *out, levada_error *err)
{
    int32_t *offsets = NULL;
    uint8_t *values = NULL;

    LEVADA_TRY(levada_builder_offsets(out, column, 0, in->n, &offsets, err));
    LEVADA_TRY(levada_builder_values(out, column, total, (void **)&values, err));
    offsets[0] = 0;
    for (int64_t i = 0; i < in->n; i++) {
        const fastq_record *r = &c->records[i];
        int64_t             from = column == 1 ? r->letters : r->quality;
        int64_t             size = (column == 1 ? r->plus : r->end) - from, made;

        made = levada_sequence_join(in->data[i] + from, size, false, values + offsets[i]);
        offsets[i + 1] = offsets[i] + (int32_t)(made < 0 ? 0 : made);
        if (made >= 0) continue;
        from += -1 - made;
        LEVADA_TRY(levada_sequence_reject(out, i, &c->ids[i], from, in->data[i][from], err));
    }
    return LEVADA_OK;
}

static levada_status fastq_decode(void *state, const void *args, const levada_strings *in,
                                  levada_builder *out, levada_error *err)
{
    fastq_columns *c = state;
    int64_t        total = 0;

    (void)args;
    if (!levada_reserve(&c->ids, &c->ids_capacity, in->n + 1, sizeof *c->ids) ||
        !levada_reserve(&c->records, &c->records_capacity, in->n + 1, sizeof *c->records))
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for headers");
    for (int64_t i = 0; i < in->n; i++) total += in->size[i];
    if (total > INT32_MAX)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "more than 2 GiB in one block; lower block_rows");
    for (int64_t i = 0; i < in->n; i++) LEVADA_TRY(fastq_parse(c, in, i, out, err));
    LEVADA_TRY(levada_strings_put(out, 0, 0, c->ids, in->n, in->owner, err));
    LEVADA_TRY(fastq_lines(c, in, 1, total, out, err));
    return fastq_lines(c, in, 2, total, out, err);
}

static const levada_decoder_def fastq_columns_def = {
    .struct_size = sizeof(levada_decoder_def),
    .state_size = sizeof(fastq_columns),
    .check = fastq_check,
    .close = fastq_columns_close,
    .decode = fastq_decode,
};

static const levada_example_file fastq_files[] = {
    { "reads.fq",
      "@r1 1:N:0\nACGT\n+\n!@F?\n\n@r2\nAC\nG\n+r2\n@@\nI\n\n"
      "@r3\n\n+\n\n@r4\r\nnt\r\n+\r\nII",
      64 },
    { NULL, NULL, 0 },
};

static const char *const fastq_suffixes[] = { ".fq", ".fastq", NULL };

const levada_format_def levada_format_fastq = {
    .struct_size = sizeof(levada_format_def),
    .name = "fastq",
    .doc = "reads sequences and qualities of FASTQ files",
    .example = "fastq:reads.fq",
    .example_files = fastq_files,
    .fields = LEVADA_FIELDS("record"),
    .suffixes = fastq_suffixes,
    .state_size = sizeof(fastq_state),
    .probe = fastq_probe,
    .seek = fastq_seek,
    .next = fastq_next,
    .resync = fastq_resync,
    .leave_out = fastq_leave_out,
    .foreign = fastq_foreign,
    .lines = true,
    .decoder = &fastq_columns_def,
};
