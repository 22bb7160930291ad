/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two parts of the opener of S3 share: s3.c finds the request for an object, s3_list.c
 * lists the names in a bucket.
 */
#ifndef LEVADA_WEB_S3_H
#define LEVADA_WEB_S3_H

#include "web/web.h"

/* Sets the URL of the bucket, without a slash at its end, and the keys. */
LEVADA_MUST_USE levada_status levada_s3_bucket(const char *path, levada_web_target *out,
                                               levada_error *err);
/* Lists the objects of a bucket, as `list` of levada_opener_def. */
levada_status levada_s3_list(void *user, const char *prefix, const levada_cancel *cancel,
                             levada_list_add *add, void *to, levada_error *err);

#endif
