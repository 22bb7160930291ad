/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dtypes, fields and specs: the types of the columns of a block.
 *
 * A spec is an immutable, reference-counted list of fields. It is created once while a dataset is
 * described (or while a block is built) and shared by every block that has its shape. A field at
 * depth 0 is FIXED ([n, dims...]), at depth 1 to 4 RAGGED, and of dtype LEVADA_BYTES one byte
 * string an element. All functions may be called from any thread.
 */
#ifndef LEVADA_SPEC_H
#define LEVADA_SPEC_H

#include <levada/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, enum, bytes, DLPack code, NumPy type string) */
#define LEVADA_DTYPE_MAP(X)                 \
    X(bool, BOOL, 1, 6, "|b1")              \
    X(int8, INT8, 1, 0, "|i1")              \
    X(int16, INT16, 2, 0, "<i2")            \
    X(int32, INT32, 4, 0, "<i4")            \
    X(int64, INT64, 8, 0, "<i8")            \
    X(uint8, UINT8, 1, 1, "|u1")            \
    X(uint16, UINT16, 2, 1, "<u2")          \
    X(uint32, UINT32, 4, 1, "<u4")          \
    X(uint64, UINT64, 8, 1, "<u8")          \
    X(float16, FLOAT16, 2, 2, "<f2")        \
    X(bfloat16, BFLOAT16, 2, 4, "<u2")      \
    X(float32, FLOAT32, 4, 2, "<f4")        \
    X(float64, FLOAT64, 8, 2, "<f8")        \
    X(complex64, COMPLEX64, 8, 5, "<c8")    \
    X(complex128, COMPLEX128, 16, 5, "<c16")

typedef enum levada_dtype {
    LEVADA_NONE = 0, /* not known */
#define LEVADA_DTYPE_ENUM(name, NAME, bytes, code, numpy) LEVADA_##NAME,
    LEVADA_DTYPE_MAP(LEVADA_DTYPE_ENUM)
#undef LEVADA_DTYPE_ENUM
    LEVADA_BYTES /* byte strings; called "string" in descriptions */
} levada_dtype;

/* Bytes of one element; 0 for LEVADA_BYTES and LEVADA_NONE. */
LEVADA_API int64_t levada_dtype_size(levada_dtype dtype);
/* "int64", "string", "?" for LEVADA_NONE. */
LEVADA_API const char *levada_dtype_name(levada_dtype dtype);
/* By name ("string" and "bytes" are LEVADA_BYTES); LEVADA_NONE if there is none. */
LEVADA_API levada_dtype levada_dtype_find(const char *name);

#define LEVADA_MAX_DIMS 8
#define LEVADA_MAX_DEPTH 4

/* One column's type. dims[0..ndim) are the dimensions of one record's innermost value. */
typedef struct levada_field {
    const char  *name;
    levada_dtype dtype;
    uint8_t      depth;                 /* ragged levels, 0..LEVADA_MAX_DEPTH              */
    uint8_t      ndim;                  /* dimensions after the ragged levels              */
    bool         padded;                /* made by padding: the column carries lengths     */
    bool         left;                  /* padded: the padding precedes the values         */
    int64_t      dims[LEVADA_MAX_DIMS]; /* -1 = the block decides                          */
    uint8_t      pad[16];               /* padding value as one element; zero for bytes    */
} levada_field;

typedef struct levada_spec levada_spec;

typedef enum levada_spec_flags {
    LEVADA_SPEC_PLAIN   = 0,
    LEVADA_SPEC_OPEN    = 1, /* more fields may appear: not known before the first record */
    LEVADA_SPEC_BATCHED = 2  /* rows have left a batching stage                           */
} levada_spec_flags;

/* A spec of copies of n fields (names are copied too); n may be 0. Names must differ; `flags` is a
 * sum of levada_spec_flags. */
LEVADA_API LEVADA_MUST_USE levada_status levada_spec_create(const levada_field *fields, int32_t n,
                                                            int32_t flags, levada_spec **out,
                                                            levada_error *err);
LEVADA_API levada_spec *levada_spec_ref(const levada_spec *spec);
LEVADA_API void levada_spec_unref(levada_spec **spec);

LEVADA_API int32_t levada_spec_count(const levada_spec *spec);
/* Borrowed for the life of the spec. */
LEVADA_API const levada_field *levada_spec_field(const levada_spec *spec, int32_t i);
/* Index of the field of that name, or -1. */
LEVADA_API int32_t levada_spec_find(const levada_spec *spec, const char *name);
LEVADA_API int32_t levada_spec_flags_of(const levada_spec *spec);
/* True when fields, order, dtypes, depths and dims are equal. */
LEVADA_API bool levada_spec_equal(const levada_spec *a, const levada_spec *b);
#ifdef __cplusplus
}
#endif

#endif
