/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files from web servers and object stores with HTTP, through libcurl.
 *
 * The openers http, https, s3 and hf differ only in how a name becomes a request: each is one file
 * with a function `locate` and a descriptor made by LEVADA_WEB_OPENER. The request is a GET of a
 * range. The first one opens the file: its answer has the first bytes, the size and the ETag, which
 * later requests send as If-Match, so that a file that is replaced while it is read is an error and
 * never a mixture. Without a strong ETag, the date of the last change takes its place
 * (If-Unmodified-Since); without both, only the size is compared.
 *
 * libcurl is opened at the first request (curl.h), so programs that read local files do not load
 * it. Redirects are followed, but not by signed requests, whose keys are for one host; the token of
 * a bearer goes to the first host only. files/remote.h requests the ranges, several at a time, and
 * repeats those that fail for a while.
 *
 * Errors: EINVALID_ARGUMENT (a redirect that is not followed), ENOT_FOUND (404, 410),
 * EPERMISSION_DENIED (401, 403), EFAILED_PRECONDITION (412, another ETag or size), EUNIMPLEMENTED
 * (no libcurl; a server that ignores ranges, for files over 64 MiB), EUNAVAILABLE (all else). A
 * server that says Retry-After is not asked again before, up to a minute.
 *
 * Threads: any; the connections of a process are shared and no thread waits for another. A child of
 * a fork makes its own. Credentials are read from the environment when a file is opened, and appear
 * in no message.
 */
#ifndef LEVADA_WEB_WEB_H
#define LEVADA_WEB_WEB_H

#include <levada/opener.h>

#define LEVADA_WEB_URL 4096

/* How a file is requested. */
typedef struct levada_web_target {
    char url[LEVADA_WEB_URL];
    char token[2048];  /* of a bearer; "" = none */
    char session[4096]; /* x-amz-security-token; "" = none */
    char keys[512];    /* "access:secret" of a signature; "" = not signed */
    char signature[128]; /* "aws:amz:REGION:s3" */
} levada_web_target;

/* Finds the target of a name. EINVALID_ARGUMENT: the name is not complete. */
typedef levada_status levada_web_locate(const char *path, levada_web_target *out,
                                        levada_error *err);

/* What the descriptors have in common; `user` is a levada_web_scheme. */
typedef struct levada_web_scheme {
    levada_web_locate *locate;
} levada_web_scheme;

levada_status levada_web_open(void *user, const char *path, const levada_cancel *cancel,
                              void **out, levada_error *err);
void          levada_web_close(void *file);
levada_status levada_web_size(void *file, int64_t *out, levada_error *err);
levada_status levada_web_read_at(void *file, int64_t offset, uint8_t *data, int64_t size,
                                 int64_t *made, levada_error *err);
const char   *levada_web_version(void *file);
int64_t       levada_web_look(void *user, const char *path);

/* Requests a text, of at most 64 MiB, that levada_free frees. */
LEVADA_MUST_USE levada_status levada_web_fetch(const levada_web_target *target,
                                               const levada_cancel *cancel, char **out,
                                               levada_error *err);

#define LEVADA_WEB_OPENER(scheme_name, text, locate_function, list_function)     \
    const levada_opener_def levada_opener_##scheme_name = {                      \
        .struct_size = sizeof(levada_opener_def),                                \
        .name = #scheme_name,                                                    \
        .doc = (text),                                                           \
        .user = (void *)(uintptr_t)&(const levada_web_scheme){ (locate_function) }, \
        .open = levada_web_open,                                                 \
        .close = levada_web_close,                                               \
        .size = levada_web_size,                                                 \
        .read_at = levada_web_read_at,                                           \
        .version = levada_web_version,                                           \
        .look = levada_web_look,                                                 \
        .shared = true,                                                          \
        .preferred_bytes = INT64_C(8) << 20,                                     \
        .list = (list_function),                                                 \
    }

#endif
