/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dtypes, fields and specs: the types of the columns of a block.
 *
 * A spec is an immutable, reference-counted list of fields. It is created once, with a dataset or a
 * block, and shared by every block that has these columns. A field at depth 0 is FIXED ([n,
 * dims...]), at depth 1 to 4 RAGGED; an element of dtype LEVADA_BYTES or LEVADA_TEXT is a byte
 * string. Any thread may call all functions.
 *
 * Example:
 *
 *     levada_field fields[] = {{.name = "id", .dtype = LEVADA_INT64},
 *                              {.name = "tokens", .dtype = LEVADA_INT32, .depth = 1}};
 *     levada_spec *spec = NULL;
 *
 *     LEVADA_TRY(levada_spec_create(fields, 2, LEVADA_SPEC_PLAIN, &spec, err));
 *     int32_t tokens = levada_spec_find(spec, "tokens"); // 1
 *     levada_spec_unref(&spec);
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
    LEVADA_BYTES, /* byte strings; "string" in the text of pipelines */
    LEVADA_TEXT   /* byte strings that are UTF-8; in memory like LEVADA_BYTES */
} levada_dtype;

/* Returns true for LEVADA_BYTES and LEVADA_TEXT, whose columns have the same layout. */
static inline bool levada_dtype_is_bytes(levada_dtype dtype)
{
    return dtype == LEVADA_BYTES || dtype == LEVADA_TEXT;
}

/* Returns the bytes of one element; 0 for LEVADA_BYTES, LEVADA_TEXT and LEVADA_NONE. */
LEVADA_API int64_t levada_dtype_size(levada_dtype dtype);
/* Returns the name ("int64", "string"); "?" for LEVADA_NONE. */
LEVADA_API const char *levada_dtype_name(levada_dtype dtype);
/* Returns the dtype of this name ("string" and "bytes" are LEVADA_BYTES); LEVADA_NONE if the name
 * is unknown. */
LEVADA_API levada_dtype levada_dtype_find(const char *name);

#define LEVADA_MAX_DIMS 8
#define LEVADA_MAX_DEPTH 4

/* The type of a column. dims[0..ndim) are the dimensions of one record's innermost value. */
typedef struct levada_field {
    const char  *name;
    levada_dtype dtype;
    uint8_t      depth;                 /* ragged levels, 0..LEVADA_MAX_DEPTH           */
    uint8_t      ndim;                  /* dimensions after the ragged levels           */
    bool         padded;                /* made by padding: the column has lengths      */
    bool         left;                  /* padded: the padding precedes the values      */
    int64_t      dims[LEVADA_MAX_DIMS]; /* -1 = set by each block                       */
    uint8_t      pad[16];               /* padding value as one element; zero for bytes */
    /* Lists of objects, as of JSON: if object[l] is k > 0, an item of level l is an object, and the
     * rest of the name after its k-th dot names a member of it. The members of an object, such as
     * messages.role and messages.content, have the same ranges down to level l. */
    uint8_t object[LEVADA_MAX_DEPTH];
} levada_field;

typedef struct levada_spec levada_spec;

typedef enum levada_spec_flags {
    LEVADA_SPEC_PLAIN   = 0,
    LEVADA_SPEC_OPEN    = 1, /* more fields may appear; not known before the first record */
    LEVADA_SPEC_BATCHED = 2  /* blocks are batches, made by a batching stage              */
} levada_spec_flags;

/* Creates a spec of n fields (n may be 0); copies fields and names. Names must be unique; `flags`
 * is a sum of levada_spec_flags. */
LEVADA_API LEVADA_MUST_USE levada_status levada_spec_create(const levada_field *fields, int32_t n,
                                                            int32_t flags, levada_spec **out,
                                                            levada_error *err);
LEVADA_API levada_spec *levada_spec_ref(const levada_spec *spec);
LEVADA_API void levada_spec_unref(levada_spec **spec);

/* Returns the number of fields. */
LEVADA_API int32_t levada_spec_count(const levada_spec *spec);
/* Returns field i, borrowed for the life of the spec. */
LEVADA_API const levada_field *levada_spec_field(const levada_spec *spec, int32_t i);
/* Returns the index of the field of that name, or -1. */
LEVADA_API int32_t levada_spec_find(const levada_spec *spec, const char *name);
/* Returns the levada_spec_flags of the spec. */
LEVADA_API int32_t levada_spec_flags_of(const levada_spec *spec);
/* Returns true if fields, order, dtypes, depths and dims are equal. */
LEVADA_API bool levada_spec_equal(const levada_spec *a, const levada_spec *b);
#ifdef __cplusplus
}
#endif

#endif
