/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In place of web.c, in a build without the headers of libcurl.
 */
#include "web/web.h"

levada_status levada_web_open(void *user, const char *path, const levada_cancel *cancel,
                              void **out, levada_error *err)
{
    (void)user, (void)path, (void)cancel, (void)out;
    return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                       "this build of levada has no http, https, s3 and hf: it was built without "
                       "the headers of libcurl (on Debian: libcurl4-openssl-dev)");
}

void levada_web_close(void *file) { (void)file; }

levada_status levada_web_size(void *file, int64_t *out, levada_error *err)
{
    return levada_web_open(NULL, NULL, NULL, file ? (void **)(void *)out : NULL, err);
}

levada_status levada_web_read_at(void *file, int64_t offset, uint8_t *data, int64_t size,
                                 int64_t *made, levada_error *err)
{
    (void)offset, (void)data, (void)size, (void)made;
    return levada_web_open(NULL, NULL, NULL, (void **)file, err);
}

const char *levada_web_version(void *file)
{
    (void)file;
    return NULL;
}

int64_t levada_web_look(void *user, const char *path)
{
    (void)user, (void)path;
    return -1;
}

levada_status levada_web_fetch(const levada_web_target *target, const levada_cancel *cancel,
                               char **out, levada_error *err)
{
    (void)target;
    return levada_web_open(NULL, NULL, cancel, (void **)(void *)out, err);
}
