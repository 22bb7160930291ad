/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes and errors.
 *
 * Every call that can go wrong returns a levada_status and takes a levada_error as its last
 * parameter. The code says how the caller can react; the text says what happened and where.
 * A levada_error belongs to the caller, may be NULL, never allocates and may be copied freely, so
 * that an error can travel through queues together with the data that it belongs to. There is no
 * global and no thread-local error.
 *
 * Its size never changes: members that are added take from `reserved`, which is zero until then.
 * Languages that cannot read this header call levada_error_create and the functions that return
 * the members, and do not depend on the layout.
 */
#ifndef LEVADA_ERROR_H
#define LEVADA_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LEVADA_API __attribute__((visibility("default")))
#define LEVADA_MUST_USE __attribute__((warn_unused_result))
#define LEVADA_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define LEVADA_API
#define LEVADA_MUST_USE
#define LEVADA_PRINTF(fmt, first)
#endif

/* X(name, value, text): the one list of codes. Names, texts and Python classes derive from it. */
#define LEVADA_STATUS_MAP(X)                                                       \
    X(OK, 0, "ok")                                                                 \
    X(END, 1, "end of data")                                                       \
    X(AGAIN, 2, "not now, ask again")                                              \
    X(ECANCELLED, -1, "cancelled")                                                 \
    X(EUNKNOWN, -2, "unknown error")                                               \
    X(EINVALID_ARGUMENT, -3, "invalid argument")                                   \
    X(EDEADLINE_EXCEEDED, -4, "deadline exceeded")                                 \
    X(ENOT_FOUND, -5, "not found")                                                 \
    X(EALREADY_EXISTS, -6, "already exists")                                       \
    X(EPERMISSION_DENIED, -7, "permission denied")                                 \
    X(ERESOURCE_EXHAUSTED, -8, "resource exhausted")                               \
    X(EFAILED_PRECONDITION, -9, "failed precondition")                             \
    X(EABORTED, -10, "aborted")                                                    \
    X(EOUT_OF_RANGE, -11, "out of range")                                          \
    X(EUNIMPLEMENTED, -12, "unimplemented")                                        \
    X(EINTERNAL, -13, "internal error")                                            \
    X(EUNAVAILABLE, -14, "unavailable")                                            \
    X(EDATA_LOSS, -15, "data loss")

typedef enum levada_status {
#define LEVADA_STATUS_ENUM(name, value, text) LEVADA_##name = (value),
    LEVADA_STATUS_MAP(LEVADA_STATUS_ENUM)
#undef LEVADA_STATUS_ENUM
} levada_status;

typedef struct levada_error {
    levada_status code;         /* LEVADA_OK when clear                                   */
    char          stage[60];    /* path such as "2.shuffle", "" where not known; so below */
    char          file[512];    /* of a longer path the end, after an ellipsis            */
    char          key[64];
    int64_t       record;       /* number in the file, -1 where not known                 */
    int64_t       offset;       /* byte position in the file, -1 where not known          */
    char          message[512]; /* always terminated                                      */
    uint8_t       reserved[112];
} levada_error;

#define LEVADA_ERROR_INIT                                  \
    {                                                      \
        LEVADA_OK, { 0 }, { 0 }, { 0 }, -1, -1, { 0 }, { 0 } \
    }

/* Bytes that hold the text of any error: char text[LEVADA_ERROR_TEXT]; */
#define LEVADA_ERROR_TEXT 1280

/* Fills *err (clearing its place) and returns code. The only maker of errors: one breakpoint. */
LEVADA_API LEVADA_PRINTF(3, 4) levada_status
    levada_fail(levada_error *err, levada_status code, const char *fmt, ...);

/* Prepends "prefix: " to the message; code and place stay. Does nothing on a clear error. */
LEVADA_API LEVADA_PRINTF(2, 3) void levada_error_wrap(levada_error *err, const char *fmt, ...);

/* Sets the unknown parts of the place. NULL and -1 do not change a part. */
LEVADA_API void levada_error_place(levada_error *err, const char *stage, const char *file,
                                   int64_t record, int64_t offset);

/* "stage · file record 3 at byte 96: message", written into text (always terminated); returns text.
 */
LEVADA_API const char *levada_error_text(const levada_error *err, char *text, size_t size);

LEVADA_API void levada_error_clear(levada_error *err);

/* A clear error on the heap, for languages that cannot declare one; NULL without memory. */
LEVADA_API levada_error *levada_error_create(void);
/* Frees it and sets *err to NULL; accepts NULL. */
LEVADA_API void levada_error_destroy(levada_error **err);

/* The members of an error. Texts are borrowed, and valid until the error changes. For NULL: OK,
 * NULL and -1. */
LEVADA_API levada_status levada_error_code(const levada_error *err);
LEVADA_API const char   *levada_error_message(const levada_error *err);
LEVADA_API const char   *levada_error_stage(const levada_error *err);
LEVADA_API const char   *levada_error_file(const levada_error *err);
LEVADA_API const char   *levada_error_key(const levada_error *err);
LEVADA_API int64_t       levada_error_record(const levada_error *err);
LEVADA_API int64_t       levada_error_offset(const levada_error *err);

/* "EDATA_LOSS" and "data loss"; "?" for a number that is not a code. */
LEVADA_API const char *levada_status_name(levada_status status);
LEVADA_API const char *levada_status_text(levada_status status);

/* Leaves the function with any status but LEVADA_OK, so END and AGAIN travel the same way. */
#define LEVADA_TRY(expr)                                  \
    do {                                                  \
        levada_status levada_try_ = (expr);               \
        if (levada_try_ != LEVADA_OK) return levada_try_; \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif
