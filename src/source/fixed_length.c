/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of one length, with no frame. The records of a file begin after its header, hop_bytes
 * from each other, and end before its footer. Everything follows from a position in the file, so
 * that a record can be found again from its offset, and a gap from any byte in it.
 */
#include "files/window.h"
#include <levada/source.h>

typedef struct fixed_length_args {
    int64_t record_bytes, header_bytes, footer_bytes, hop_bytes;
    bool    drop_partial;
} fixed_length_args;

typedef struct fixed_length_state {
    int64_t at; /* position of the next window in the file */
} fixed_length_state;

static const levada_arg fixed_length_options[] = {
    LEVADA_ARG(SIZE, fixed_length_args, record_bytes, .required = true, .min = 1,
               .max = INT64_MAX, .doc = "length of a record"),
    LEVADA_ARG(SIZE, fixed_length_args, header_bytes, .otherwise = "0", .min = 0,
               .max = INT64_MAX, .doc = "bytes to skip at the start of every file"),
    LEVADA_ARG(SIZE, fixed_length_args, footer_bytes, .otherwise = "0", .min = 0,
               .max = INT64_MAX, .doc = "bytes to skip at the end of every file"),
    LEVADA_ARG(SIZE, fixed_length_args, hop_bytes, .otherwise = "0", .min = 0,
               .max = INT64_MAX,
               .doc = "bytes from the start of a record to the start of the next; records overlap "
                      "if this is less than record_bytes, and bytes are skipped if it is more; 0 = "
                      "record_bytes"),
    LEVADA_ARG(BOOL, fixed_length_args, drop_partial, .otherwise = "false",
               .doc = "drop an incomplete record at the end of a file; false = it is an error"),
    LEVADA_ARG_END,
};

static int64_t fixed_length_hop(const fixed_length_args *a)
{
    return a->hop_bytes > 0 ? a->hop_bytes : a->record_bytes;
}

/* Counts records that begin and end in this many bytes, the first one at their beginning. */
static int64_t fixed_length_records(const fixed_length_args *a, int64_t size)
{
    return size < a->record_bytes ? 0 : (size - a->record_bytes) / fixed_length_hop(a) + 1;
}

/* Opens the format. A record and what could be the footer, which are looked at together, must fit
 * in memory. */
static levada_status fixed_length_open(void *state, const void *args,
                                       const levada_context *context, levada_error *err)
{
    const fixed_length_args *a = args;
    int64_t                  most = context->max_record_bytes;

    (void)state;
    if (most < LEVADA_CHUNK) most = LEVADA_CHUNK; /* so much passes always */
    if (a->footer_bytes <= most && a->record_bytes <= most - a->footer_bytes) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                       "record_bytes=%lld and footer_bytes=%lld exceed "
                       "max_record_bytes=%lld (--max-record-bytes, in Python max_bytes)",
                       (long long)a->record_bytes, (long long)a->footer_bytes, (long long)most);
}

/* Returns the bytes of the last record in the rest after n hops, if records overlap. */
static int64_t fixed_length_overlap(const fixed_length_args *a, int64_t n)
{
    int64_t more = a->record_bytes - fixed_length_hop(a);

    return n > 0 && more > 0 ? more : 0;
}

static levada_status fixed_length_check_size(const void *args, int64_t size, levada_error *err)
{
    const fixed_length_args *a = args;
    int64_t front = a->header_bytes, hop = fixed_length_hop(a);
    int64_t body = size < front ? -1 : size - front - a->footer_bytes; /* no sum overflows */
    int64_t n = fixed_length_records(a, body), left = body - n * hop;

    if (a->drop_partial) return LEVADA_OK;
    if (body < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a file of %lld bytes is too short for header_bytes=%lld and "
                           "footer_bytes=%lld",
                           (long long)size, (long long)front,
                           (long long)a->footer_bytes);
    }
    if (left <= fixed_length_overlap(a, n)) return LEVADA_OK;
    (void)levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                      "%lld bytes between header_bytes=%lld and footer_bytes=%lld: the remainder "
                      "of %lld is less than record_bytes=%lld",
                      (long long)body, (long long)front, (long long)a->footer_bytes,
                      (long long)left, (long long)a->record_bytes);
    levada_error_place(err, NULL, NULL, n, front + n * hop);
    return LEVADA_EINVALID_ARGUMENT;
}

static levada_status fixed_length_seek(void *state, const void *args, int64_t offset, int64_t size,
                                       levada_error *err)
{
    ((fixed_length_state *)state)->at = offset;
    return size < 0 ? LEVADA_OK : fixed_length_check_size(args, size, err);
}

/* Counts the bytes from a position to the next one where a record begins. */
static int64_t fixed_length_gap(const fixed_length_args *a, int64_t at)
{
    int64_t hop = fixed_length_hop(a), over;

    if (at <= a->header_bytes) return a->header_bytes - at;
    over = (at - a->header_bytes) % hop;
    return over > 0 ? hop - over : 0;
}

/* Ends the file, which has no further record. */
static levada_status fixed_length_end(const fixed_length_args *a, int64_t at, int64_t size,
                                      levada_spans *out, levada_error *err)
{
    levada_status st = fixed_length_check_size(a, at + size, err);

    if (st != LEVADA_OK) {
        if (err) err->code = LEVADA_EDATA_LOSS;
        return LEVADA_EDATA_LOSS;
    }
    out->used = size;
    return LEVADA_OK;
}

static levada_status fixed_length_next(void *state, const void *args, const uint8_t *data,
                                       int64_t size, bool at_end, levada_spans *out,
                                       levada_error *err)
{
    const fixed_length_args *a = args;
    fixed_length_state      *s = state;
    int64_t                  hop = fixed_length_hop(a), gap = fixed_length_gap(a, s->at);
    int64_t body = size - a->footer_bytes; /* the rest could be the footer, or is it */
    int64_t n = gap > 0 ? 0 : fixed_length_records(a, body), used;
    int32_t step = n > 1 ? (int32_t)hop : 0, length = n > 0 ? (int32_t)a->record_bytes : 0;
    levada_status st = LEVADA_OK;

    (void)data;
    if (n > out->capacity) n = out->capacity;
    for (int32_t i = 0; i < n; i++) {
        out->begin[i] = i * step;
        out->end[i] = i * step + length;
    }
    out->n = (int32_t)n;
    out->need = 0;
    used = gap > 0 ? gap : n * hop;
    out->used = body < 0 ? 0 : used < body ? used : body;
    if (n == 0 && out->used == 0) {
        /* Where a record has begun the file has to hold all of it; else it may end at any byte. */
        bool begun = body > fixed_length_overlap(a, s->at - a->header_bytes);

        if (at_end) {
            st = fixed_length_end(a, s->at, size, out, err);
        } else if (begun && !a->drop_partial) {
            out->need = a->record_bytes + a->footer_bytes;
        }
    }
    s->at += out->used;
    return st;
}

/* Computes positions, which follow from the size alone. */
static levada_status fixed_length_foreign(levada_env *env, const void *args, const char *path,
                                          levada_index_sink *to, levada_error *err)
{
    const fixed_length_args *a = args;
    int64_t at = a->header_bytes, hop = fixed_length_hop(a), n;

    (void)env, (void)path;
    LEVADA_TRY(fixed_length_check_size(args, to->size, err));
    n = at > to->size ? 0 : fixed_length_records(a, to->size - at - a->footer_bytes);
    for (int64_t i = 0; i < n; i++, at += hop)
        LEVADA_TRY(to->add(to, at, i + 1 < n ? hop : to->size - at, 0, err));
    return LEVADA_OK;
}

const levada_format_def levada_format_fixed_length = {
    .struct_size = sizeof(levada_format_def),
    .name = "fixed_length",
    .doc = "reads records of fixed length",
    .example = "fixed_length:images.bin,record_bytes=4",
    .fields = LEVADA_FIELDS("record"),
    .args = fixed_length_options,
    .args_size = sizeof(fixed_length_args),
    .state_size = sizeof(fixed_length_state),
    .open = fixed_length_open,
    .seek = fixed_length_seek,
    .next = fixed_length_next,
    .counted = true,
    .foreign = fixed_length_foreign,
};
