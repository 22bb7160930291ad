/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord: u64 length, masked CRC-32C of it, payload, masked CRC-32C of it, all little endian.
 */
#include "base/text.h"
#include "registry/env_priv.h"
#include "source/beside.h"
#include <levada/source.h>

#include <inttypes.h>
#include <string.h>

#define TFRECORD_HEADER 12
#define TFRECORD_EXTRA 16                     /* bytes of a record that are not payload */
#define TFRECORD_IMPOSSIBLE (UINT64_C(1) << 62) /* no file is as long                     */

typedef struct tfrecord_args {
    bool verify;
} tfrecord_args;

typedef struct tfrecord_state {
    const levada_kernels *kernels;
} tfrecord_state;

static const levada_arg tfrecord_options[] = {
    LEVADA_ARG(BOOL, tfrecord_args, verify, .otherwise = "true",
               .doc = "verify the checksums of payloads; checksums of lengths are always verified"),
    LEVADA_ARG_END,
};

static uint32_t tfrecord_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t tfrecord_u64(const uint8_t *p)
{
    return (uint64_t)tfrecord_u32(p) | (uint64_t)tfrecord_u32(p + 4) << 32;
}

/* Returns true if a length with its checksum is here. */
static bool tfrecord_header(const levada_kernels *kernels, const uint8_t *p)
{
    return tfrecord_u32(p + 8) == levada_crc32c_mask(kernels->crc32c(0, p, 8));
}

static levada_status tfrecord_open(void *state, const void *args, const levada_context *context,
                                   levada_error *err)
{
    (void)args;
    (void)err;
    ((tfrecord_state *)state)->kernels = levada_env_kernels(context->env);
    return LEVADA_OK;
}

static int32_t tfrecord_probe(const uint8_t *data, int64_t size)
{
    if (size < TFRECORD_HEADER) return 0;
    return tfrecord_header(levada_kernels_for(LEVADA_CPU_AUTO), data) ? 32 : 0;
}

/* Returns true if these bytes are text, as in a file of lines that was taken for a TFRecord file.
 * The last character may be cut. */
static bool tfrecord_is_text(const uint8_t *p, int64_t size)
{
    if (levada_utf8_check((const char *)p, (size_t)size) + 4 <= (size_t)size) return false;
    for (int64_t i = 0; i < size; i++) {
        bool space = p[i] == '\n' || p[i] == '\r' || p[i] == '\t';

        if ((p[i] < ' ' && !space) || p[i] == 0x7f) return false;
    }
    return true;
}

static levada_status tfrecord_wrong(const tfrecord_state *s, const char *what, const uint8_t *data,
                                    uint64_t size, levada_error *err)
{
    bool text = size == 8 && tfrecord_is_text(data, TFRECORD_HEADER);

    return levada_fail(err, LEVADA_EDATA_LOSS,
                       "%s%s checksum 0x%08" PRIx32 ", expected 0x%08" PRIx32,
                       text ? "not a TFRecord (looks like text): " : "", what,
                       s->kernels->crc32c(0, data, (size_t)size),
                       levada_crc32c_unmask(tfrecord_u32(data + size)));
}

/* Reports that the file, or what can be in it, ends inside a record. */
static levada_status tfrecord_cut(const levada_frame_result *r, const uint8_t *at, int64_t left,
                                  bool at_end, levada_error *err)
{
    if (left >= TFRECORD_HEADER && r->need >= TFRECORD_IMPOSSIBLE) {
        return levada_fail(err, LEVADA_EDATA_LOSS, "a length of %" PRIu64 " bytes is impossible",
                           tfrecord_u64(at));
    }
    if (!at_end) return LEVADA_OK;
    if (left < TFRECORD_HEADER) {
        return levada_fail(err, LEVADA_EDATA_LOSS, "truncated header: %d of %d bytes", (int)left,
                           TFRECORD_HEADER);
    }
    return levada_fail(err, LEVADA_EDATA_LOSS, "truncated record: %" PRId64 " of %" PRIu64 " bytes",
                       left, r->need);
}

static levada_status tfrecord_next(void *state, const void *args, const uint8_t *data,
                                   int64_t size, bool at_end, levada_spans *out, levada_error *err)
{
    const tfrecord_state *s = state;
    const tfrecord_args  *a = args;
    bool                  all = a->verify && !out->later;
    levada_frame_check    check = all ? LEVADA_FRAME_CHECK_ALL : LEVADA_FRAME_CHECK_LENGTH;
    levada_frame_result   r = s->kernels->frame_tfrecord(data, (size_t)size, check, out->begin,
                                                         out->end, out->capacity);
    const uint8_t        *at = data + r.used;

    out->unchecked = a->verify && out->later;
    out->n = r.records;
    out->used = (int64_t)r.used;
    out->need = 0;
    switch (r.status) {
    case LEVADA_FRAME_OK: return LEVADA_OK;
    case LEVADA_FRAME_INCOMPLETE:
        out->need = r.need < TFRECORD_IMPOSSIBLE ? out->used + (int64_t)r.need : 0;
        return tfrecord_cut(&r, at, size - out->used, at_end, err);
    case LEVADA_FRAME_BAD_LENGTH_CRC: return tfrecord_wrong(s, "length", at, 8, err);
    case LEVADA_FRAME_BAD_DATA_CRC: break;
    }
    if (out->n == 0) out->need = (int64_t)r.need;
    return tfrecord_wrong(s, "payload", at + TFRECORD_HEADER, r.need - TFRECORD_EXTRA, err);
}

/* Returns true if a record can begin here. A length below 1 TiB keeps most positions from costing a
 * checksum. */
static bool tfrecord_begins(const tfrecord_state *s, const uint8_t *p)
{
    return (p[5] | p[6] | p[7]) == 0 && tfrecord_header(s->kernels, p);
}

static int64_t tfrecord_resync(void *state, const void *args, const uint8_t *data, int64_t size,
                               bool at_end)
{
    const tfrecord_state *s = state;
    int64_t               last = size - TFRECORD_HEADER;

    (void)args;
    if (size >= TFRECORD_HEADER && tfrecord_begins(s, data)) {
        /* Only the payload is damaged when another record, or the end, follows its length. A
         * payload may hold records of its own: they are not what is looked for. */
        uint64_t whole = tfrecord_u64(data) + TFRECORD_EXTRA;

        if (whole == (uint64_t)size && at_end) return size;
        if (whole <= (uint64_t)size && size - (int64_t)whole >= TFRECORD_HEADER &&
            tfrecord_begins(s, data + whole)) {
            return (int64_t)whole;
        }
    }
    for (int64_t i = 1; i <= last; i++) {
        if (tfrecord_begins(s, data + i)) return i;
    }
    return at_end ? size : last + 1 > 1 ? last + 1 : 1;
}

/* -- FILE.idx, as tfrecord2idx of DALI writes it: lines of an offset and a size */

typedef struct tfrecord_index {
    levada_index_sink *to;
    int64_t            end; /* of the last record */
} tfrecord_index;

static levada_status tfrecord_index_line(void *user, const int64_t *line, levada_error *err)
{
    tfrecord_index *x = user;

    if (line[1] < 0 || line[2] >= 0 || line[0] != x->end || line[1] > x->to->size - x->end)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "the record at byte %lld with %lld bytes does not follow byte %lld in a "
                           "file of %lld bytes; make the index again with tfrecord2idx",
                           (long long)line[0], (long long)line[1], (long long)x->end,
                           (long long)x->to->size);
    x->end += line[1];
    return x->to->add(x->to, line[0], line[1], 0, err);
}

static levada_status tfrecord_foreign(levada_env *env, const void *args, const char *path,
                                      levada_index_sink *to, levada_error *err)
{
    tfrecord_index x = { .to = to };

    (void)args;
    LEVADA_TRY(levada_beside_lines(env, path, ".idx", false, tfrecord_index_line, &x, err));
    return levada_beside_check_end(env, path, x.end, err);
}

static const char *const tfrecord_suffixes[] = { ".tfrecord", ".tfrecords", ".tfrec", "_tfrecord",
                                                 NULL };

const levada_format_def levada_format_tfrecord = {
    .struct_size = sizeof(levada_format_def),
    .name = "tfrecord",
    .doc = "reads records of TFRecord files",
    .example = "tfrecord:examples.tfrecord",
    .fields = LEVADA_FIELDS("record"),
    .suffixes = tfrecord_suffixes,
    .args = tfrecord_options,
    .args_size = sizeof(tfrecord_args),
    .state_size = sizeof(tfrecord_state),
    .open = tfrecord_open,
    .probe = tfrecord_probe,
    .next = tfrecord_next,
    .resync = tfrecord_resync,
    .foreign = tfrecord_foreign,
};
