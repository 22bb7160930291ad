/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/npy.h"

#include "base/compiler.h"

#include <string.h>

enum { NPY_MOST_HEADER = 1 << 16 };

/* The rest of the header. */
typedef struct npy_text {
    const char *at, *end;
} npy_text;

static void npy_spaces(npy_text *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\n' || *t->at == '\t')) t->at++;
}

/* Skips white space and `token`, if that comes next. */
static bool npy_accept(npy_text *t, const char *token)
{
    size_t n = strlen(token);

    npy_spaces(t);
    if ((size_t)(t->end - t->at) < n || memcmp(t->at, token, n) != 0) return false;
    t->at += n;
    return true;
}

/* Reads a string in quotes, without escapes. */
static bool npy_string(npy_text *t, char *to, size_t capacity)
{
    char   quote;
    size_t n = 0;

    npy_spaces(t);
    if (t->at == t->end || (*t->at != '\'' && *t->at != '"')) return false;
    for (quote = *t->at++; t->at < t->end && *t->at != quote; t->at++) {
        if (n + 1 == capacity || *t->at == '\\') return false;
        to[n++] = *t->at;
    }
    to[n] = '\0';
    return t->at++ < t->end;
}

static bool npy_dim(npy_text *t, int64_t *out)
{
    const char *first;

    npy_spaces(t);
    *out = 0;
    for (first = t->at; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
        if (*out > INT32_MAX) return false;
        *out = *out * 10 + (*t->at - '0');
    }
    if (t->at == first || (*first == '0' && t->at > first + 1)) return false;
    (void)npy_accept(t, "L"); /* of Python 2 */
    return *out <= INT32_MAX;
}

/* Reads a tuple: (), (3,), (3, 4) or (3, 4,). */
static bool npy_shape(npy_text *t, levada_npy *out)
{
    bool comma = true;

    if (!npy_accept(t, "(")) return false;
    for (out->ndim = 0; !npy_accept(t, ")"); out->ndim++) {
        if (!comma || out->ndim == LEVADA_MAX_DIMS || !npy_dim(t, &out->dims[out->ndim]))
            return false;
        comma = npy_accept(t, ",");
    }
    return out->ndim != 1 || comma;
}

static levada_status npy_dtype(const char *descr, levada_npy *out, levada_error *why)
{
    static const struct {
        const char  *name;
        levada_dtype dtype;
    } known[] = {
        { "b1", LEVADA_BOOL },      { "i1", LEVADA_INT8 },       { "u1", LEVADA_UINT8 },
        { "i2", LEVADA_INT16 },     { "u2", LEVADA_UINT16 },     { "i4", LEVADA_INT32 },
        { "u4", LEVADA_UINT32 },    { "i8", LEVADA_INT64 },      { "u8", LEVADA_UINT64 },
        { "f2", LEVADA_FLOAT16 },   { "f4", LEVADA_FLOAT32 },    { "f8", LEVADA_FLOAT64 },
        { "c8", LEVADA_COMPLEX64 }, { "c16", LEVADA_COMPLEX128 },
    };

    out->big_endian = *descr == '>';
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!*descr || !strchr("<>|", *descr) || strcmp(descr + 1, known[i].name) != 0) continue;
        out->dtype = known[i].dtype;
        return LEVADA_OK;
    }
    return levada_fail(why, LEVADA_EINVALID_ARGUMENT, "dtype '%s' of a .npy array is not supported",
                       descr);
}

/* Reads one entry of the dict. `seen` has a bit for each key. */
static levada_status npy_entry(npy_text *t, levada_npy *out, unsigned *seen, levada_error *why)
{
    char     key[16] = "", descr[16];
    unsigned bit = 0;
    bool     good = npy_string(t, key, sizeof key) && npy_accept(t, ":");

    if (good && strcmp(key, "descr") == 0) {
        bit = 1;
        if (npy_accept(t, "["))
            return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                               "a .npy array of structures is not supported; save an array for "
                               "each field");
        good = npy_string(t, descr, sizeof descr);
        if (good) LEVADA_TRY(npy_dtype(descr, out, why));
    } else if (good && strcmp(key, "fortran_order") == 0) {
        bit = 2;
        out->fortran = npy_accept(t, "True");
        good = out->fortran || npy_accept(t, "False");
    } else if (good && strcmp(key, "shape") == 0) {
        bit = 4;
        good = npy_shape(t, out);
    } else {
        good = false;
    }
    if (!good || *seen & bit)
        return levada_fail(why, LEVADA_EDATA_LOSS, "damaged .npy header at '%.15s'", key);
    *seen |= bit;
    return LEVADA_OK;
}

static levada_status npy_dict(npy_text *t, levada_npy *out, levada_error *why)
{
    unsigned seen = 0;
    bool     comma = npy_accept(t, "{");

    while (comma && !npy_accept(t, "}")) {
        LEVADA_TRY(npy_entry(t, out, &seen, why));
        comma = npy_accept(t, ",");
        if (!comma && npy_accept(t, "}")) break;
        if (!comma)
            return levada_fail(why, LEVADA_EDATA_LOSS,
                               "damaged .npy header: ',' or '}' must follow an "
                               "entry");
    }
    npy_spaces(t);
    if (seen == 7 && t->at == t->end) return LEVADA_OK;
    return levada_fail(why, LEVADA_EDATA_LOSS, "damaged .npy header: it is not a dict of descr, "
                                               "fortran_order and shape");
}

/* Checks that exactly the values of the shape follow. */
static levada_status npy_fits(levada_npy *out, int64_t rest, levada_error *why)
{
    int64_t size = levada_dtype_size(out->dtype);

    out->count = 1;
    for (int32_t i = 0; i < out->ndim; i++) {
        if (LEVADA_MUL_OVERFLOW(out->count, out->dims[i], &out->count)) out->count = INT64_MAX;
    }
    for (int32_t i = 0; i < out->ndim; i++) {
        if (out->dims[i] == 0) out->count = 0;
    }
    if (out->count <= rest / size && out->count * size == rest) return LEVADA_OK;
    return levada_fail(why, LEVADA_EDATA_LOSS, "a .npy array of %lld values of %lld bytes has %lld "
                       "bytes of values", (long long)out->count, (long long)size, (long long)rest);
}

levada_status levada_npy_read(const uint8_t *data, int32_t size, levada_npy *out,
                              levada_error *why)
{
    int64_t  begin, header = 0;
    npy_text text;

    *out = (levada_npy){ 0 };
    if (size < 8 || memcmp(data, "\x93NUMPY", 6) != 0)
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                           "not a .npy array: it must begin with \\x93NUMPY");
    if (data[6] < 1 || data[6] > 3 || data[7] != 0)
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                           ".npy version %d.%d is not supported; levada reads 1.0 to 3.0",
                           data[6], data[7]);
    begin = data[6] == 1 ? 10 : 12;
    for (int64_t i = begin; i > 8 && begin <= size; i--) header = header << 8 | data[i - 1];
    if (begin > size || header > size - begin || header > NPY_MOST_HEADER)
        return levada_fail(why, LEVADA_EDATA_LOSS,
                           "truncated .npy header: %lld bytes, then %lld of the file; at most %d",
                           (long long)header, (long long)(size - begin), NPY_MOST_HEADER);
    text.at = (const char *)data + begin;
    text.end = text.at + header;
    LEVADA_TRY(npy_dict(&text, out, why));
    out->values = data + begin + header;
    return npy_fits(out, size - begin - header, why);
}
