/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes and errors.
 *
 * Every call that can fail returns a levada_status and accepts a levada_error as its last
 * parameter. The code tells the caller how to react; the text explains what happened and where. A
 * levada_error belongs to the caller, may be NULL, never allocates and may be copied, so that an
 * error can pass through queues together with its data. Errors are never global or thread-local.
 *
 * The size of levada_error never changes, because new members use space of `reserved`, which is
 * zero until then. Languages that cannot read this header call levada_error_create and the
 * functions that return the members, so they do not depend on the layout.
 *
 * Example:
 *
 *     levada_error    why = LEVADA_ERROR_INIT;
 *     levada_dataset *dataset = NULL;
 *     char            text[LEVADA_ERROR_TEXT];
 *
 *     if (levada_dataset_parse(NULL, "rnge:10", &dataset, &why) != LEVADA_OK)
 *         puts(levada_error_text(&why, text, sizeof text)); // ... did you mean 'range'?
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

/* X(name, value, text): the list of codes, from which names, texts and Python classes are made. */
#define LEVADA_STATUS_MAP(X)                                                       \
    X(OK, 0, "ok")                                                                 \
    X(END, 1, "end of data")                                                       \
    X(AGAIN, 2, "not ready; call again")                                              \
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
    levada_status code;         /* LEVADA_OK when clear                                */
    char          stage[60];    /* path such as "2.shuffle", "" if not known; so below */
    char          file[512];    /* path, "..." and its end if it is long; URL: no query */
    char          key[64];
    int64_t       record;       /* number in the file, -1 if not known        */
    int64_t       offset;       /* byte position in the file, -1 if not known */
    char          message[512]; /* always terminated                          */
    uint64_t      token;        /* the caller's, for example of an exception; 0 = none */
    uint8_t       reserved[104];
} levada_error;

#define LEVADA_ERROR_INIT                                     \
    {                                                         \
        LEVADA_OK, { 0 }, { 0 }, { 0 }, -1, -1, { 0 }, 0, { 0 } \
    }

/* Size of a buffer that holds the text of any error: char text[LEVADA_ERROR_TEXT]; */
#define LEVADA_ERROR_TEXT 1280

/* Fills *err, clears its location and returns `code`. All errors are made here, so one breakpoint
 * finds every error. */
LEVADA_API LEVADA_PRINTF(3, 4) levada_status
    levada_fail(levada_error *err, levada_status code, const char *fmt, ...);

/* Prepends "prefix: " to the message and keeps code and location. Does nothing to a clear error. */
LEVADA_API LEVADA_PRINTF(2, 3) void levada_error_wrap(levada_error *err, const char *fmt, ...);

/* Sets the parts of the location that are not known yet. NULL and -1 do not change a part. */
LEVADA_API void levada_error_place(levada_error *err, const char *stage, const char *file,
                                   int64_t record, int64_t offset);

/* Writes "stage · file record 3 at byte 96: message" to `text` (always terminated); returns
 * `text`. */
LEVADA_API const char *levada_error_text(const levada_error *err, char *text, size_t size);

/* Makes the error empty again, without code, message and place. */
LEVADA_API void levada_error_clear(levada_error *err);

/* Allocates a clear error, for languages that cannot declare one; NULL if out of memory. */
LEVADA_API levada_error *levada_error_create(void);
/* Frees the error and sets *err to NULL; accepts NULL. */
LEVADA_API void levada_error_destroy(levada_error **err);

/* Return the members of an error. Strings are borrowed and valid until the error changes. For a
 * NULL error they return OK, NULL and -1. */
LEVADA_API levada_status levada_error_code(const levada_error *err);
LEVADA_API const char   *levada_error_message(const levada_error *err);
LEVADA_API const char   *levada_error_stage(const levada_error *err);
LEVADA_API const char   *levada_error_file(const levada_error *err);
LEVADA_API const char   *levada_error_key(const levada_error *err);
LEVADA_API int64_t       levada_error_record(const levada_error *err);
LEVADA_API int64_t       levada_error_offset(const levada_error *err);
LEVADA_API uint64_t      levada_error_token(const levada_error *err); /* 0 for NULL */
/* Sets the token, by which a binding finds again what the error stands for. levada copies it with
 * the error and never reads it; levada_fail sets it to 0. */
LEVADA_API void levada_error_set_token(levada_error *err, uint64_t token);

/* Return the name ("EDATA_LOSS") or the text ("data loss") of a code; "?" for a number that is not
 * a code. */
LEVADA_API const char *levada_status_name(levada_status status);
LEVADA_API const char *levada_status_text(levada_status status);

/* Returns from the function with any status except LEVADA_OK, including END and AGAIN. */
#define LEVADA_TRY(expr)                                  \
    do {                                                  \
        levada_status levada_try_ = (expr);               \
        if (levada_try_ != LEVADA_OK) return levada_try_; \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif
