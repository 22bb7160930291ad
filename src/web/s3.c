/* SPDX-License-Identifier: Apache-2.0 */
#include "web/s3.h"

#include "web/names.h"

#include <stdio.h>
#include <string.h>

/*
 * s3://BUCKET/KEY. The settings are those of the AWS tools: AWS_ACCESS_KEY_ID,
 * AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION or AWS_DEFAULT_REGION, and
 * AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL for other stores. Without keys the request is not signed,
 * for public buckets.
 */

/* Writes the URL of a bucket: a host of its own at AWS, unless its name has a dot, which no
 * certificate covers; the first part of the path elsewhere. */
static bool s3_host(const char *bucket, size_t size, const char *region, levada_web_target *out)
{
    char endpoint[1024];
    int  n = (int)size, used;

    if (!levada_web_setting("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "", endpoint,
                            sizeof endpoint)) {
        return false;
    }
    if (*endpoint) {
        size_t end = strlen(endpoint);

        while (end > 0 && endpoint[end - 1] == '/') endpoint[--end] = '\0';
        used = snprintf(out->url, sizeof out->url, "%s/%.*s", endpoint, n, bucket);
    } else if (memchr(bucket, '.', size)) {
        used = snprintf(out->url, sizeof out->url, "https://s3.%s.amazonaws.com/%.*s", region, n,
                        bucket);
    } else {
        used = snprintf(out->url, sizeof out->url, "https://%.*s.s3.%s.amazonaws.com", n, bucket,
                        region);
    }
    return used > 0 && (size_t)used < sizeof out->url;
}

static levada_status s3_keys(const char *region, levada_web_target *out, levada_error *err)
{
    char access[256], secret[256];

    if (!levada_web_setting("AWS_ACCESS_KEY_ID", NULL, "", access, sizeof access) ||
        !levada_web_setting("AWS_SECRET_ACCESS_KEY", NULL, "", secret, sizeof secret) ||
        !levada_web_setting("AWS_SESSION_TOKEN", NULL, "", out->session, sizeof out->session)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a key in the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, "
                           "AWS_SESSION_TOKEN) is too long; the most are %zu, %zu and %zu bytes",
                           sizeof access - 1, sizeof secret - 1, sizeof out->session - 1);
    }
    if (!*access || !*secret) {
        out->session[0] = '\0';
        return LEVADA_OK;
    }
    (void)snprintf(out->keys, sizeof out->keys, "%s:%s", access, secret);
    (void)snprintf(out->signature, sizeof out->signature, "aws:amz:%s:s3", region);
    return LEVADA_OK;
}

levada_status levada_s3_bucket(const char *path, levada_web_target *out, levada_error *err)
{
    const char *bucket = strstr(path, "://") + 3, *slash = bucket + strcspn(bucket, "/");
    char        region[64];

    if (slash == bucket)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a name in S3 must begin with s3://BUCKET/, got '%.200s'", path);
    if (!levada_web_setting("AWS_REGION", "AWS_DEFAULT_REGION", "us-east-1", region,
                            sizeof region) ||
        !s3_host(bucket, (size_t)(slash - bucket), region, out)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the name of the bucket, of the region or of the endpoint is too long");
    }
    return s3_keys(region, out, err);
}

static levada_status s3_locate(const char *path, levada_web_target *out, levada_error *err)
{
    const char *slash = strchr(strstr(path, "://") + 3, '/');

    if (!slash || !slash[1]) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a name in S3 must be s3://BUCKET/KEY, got '%.200s'", path);
    }
    LEVADA_TRY(levada_s3_bucket(path, out, err));
    return levada_web_append_key(out, slash, err);
}

LEVADA_WEB_OPENER(s3, "objects in S3 and in stores that speak its protocol", s3_locate,
                  levada_s3_list);
