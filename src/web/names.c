/* SPDX-License-Identifier: Apache-2.0 */
#include "web/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

levada_status levada_web_locate_url(const char *path, levada_web_target *out, levada_error *err)
{
    const char *host = strstr(path, "://") + 3;
    const char *slash = strchr(host, '/'), *at = strchr(host, '@');

    if (at && (!slash || at < slash)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the URL has a user or a password, which states and messages would "
                           "show; put them into ~/.netrc");
    }
    if (strlen(path) >= sizeof out->url) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the URL has %zu characters; the most are %zu", strlen(path),
                           sizeof out->url - 1);
    }
    memcpy(out->url, path, strlen(path) + 1);
    return LEVADA_OK;
}

bool levada_web_setting(const char *name, const char *other, const char *otherwise, char *out,
                        size_t size)
{
    const char *value = getenv(name);
    int         used;

    if ((!value || !*value) && other) value = getenv(other);
    if (!value || !*value) value = otherwise;
    used = snprintf(out, size, "%s", value);
    return used >= 0 && (size_t)used < size;
}

#define NAMES_PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

/* Appends a text, with all characters but those of `plain` escaped. */
static levada_status names_append(levada_web_target *target, const char *key, const char *plain,
                                  levada_error *err)
{
    size_t used = strlen(target->url);

    for (; *key; key++) {
        if (used + 4 > sizeof target->url) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the URL of the name has more than %zu bytes",
                               sizeof target->url - 1);
        }
        if (strchr(plain, *key)) target->url[used++] = *key;
        else used += (size_t)snprintf(target->url + used, 4, "%%%02X", (unsigned char)*key);
    }
    target->url[used] = '\0';
    return LEVADA_OK;
}

levada_status levada_web_append_key(levada_web_target *target, const char *key, levada_error *err)
{
    return names_append(target, key, NAMES_PLAIN "/", err);
}

levada_status levada_web_append_value(levada_web_target *target, const char *value,
                                      levada_error *err)
{
    return names_append(target, value, NAMES_PLAIN, err);
}

levada_status levada_web_append(levada_web_target *target, const char *text, levada_error *err)
{
    return names_append(target, text, NAMES_PLAIN "/?=&", err);
}
