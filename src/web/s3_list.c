/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the objects of a bucket: GET with list-type=2, page by page, of at most 1,000 keys each.
 * The answer is XML whose keys are percent-encoded on request, so that looking for their tags is
 * enough to read it.
 */
#include "web/s3.h"

#include "base/alloc.h"
#include "base/text.h"
#include "web/names.h"

#include <stdlib.h>
#include <string.h>

typedef struct s3_page {
    const char *bucket; /* up to the slash after it: "s3://name/" */
    size_t      nbucket;
    char        token[2048]; /* of the next page; "" = there is none */
} s3_page;

/* Finds the text between <tag> and </tag> from `at` on; NULL = there is none. */
static const char *s3_tag(const char *at, const char *tag, size_t *size)
{
    size_t      n = strlen(tag);
    const char *end;

    while ((at = strchr(at, '<')) != NULL) {
        at++;
        if (strncmp(at, tag, n) != 0 || at[n] != '>') continue;
        at += n + 1;
        end = strchr(at, '<');
        if (!end) return NULL;
        *size = (size_t)(end - at);
        return at;
    }
    return NULL;
}

static int s3_digit(char c)
{
    const char *digits = "0123456789abcdef0123456789ABCDEF", *at = c ? strchr(digits, c) : NULL;

    return at ? (int)((at - digits) % 16) : -1;
}

/* Adds a key without its percent signs. */
static void s3_decode(const char *key, size_t size, levada_text *to)
{
    for (size_t i = 0; i < size; i++) {
        int high = i + 2 < size ? s3_digit(key[i + 1]) : -1;
        int low = i + 2 < size ? s3_digit(key[i + 2]) : -1;

        if (key[i] == '%' && high >= 0 && low >= 0) {
            levada_text_char(to, (char)(16 * high + low));
            i += 2;
        } else {
            levada_text_char(to, key[i] == '+' ? ' ' : key[i]);
        }
    }
}

/* Passes on the keys of an answer, and notes the next page. */
static levada_status s3_read(s3_page *page, const char *xml, levada_list_add *add, void *to,
                             levada_error *err)
{
    levada_text name = { 0 };
    const char *key = xml, *token;
    size_t      size = 0;

    if (!strstr(xml, "<ListBucketResult"))
        return levada_fail(err, LEVADA_EUNIMPLEMENTED, "the server does not list objects");
    while ((key = s3_tag(key, "Key", &size)) != NULL) {
        levada_status st;

        levada_text_add(&name, page->bucket, page->nbucket);
        s3_decode(key, size, &name);
        st = name.failed ? levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a name")
                         : add(to, name.at, err);
        levada_text_clear(&name);
        if (st != LEVADA_OK) return st;
    }
    token = s3_tag(xml, "NextContinuationToken", &size);
    if (token && size >= sizeof page->token)
        return levada_fail(err, LEVADA_EUNIMPLEMENTED, "the token of the next page is too long");
    if (token) memcpy(page->token, token, size);
    page->token[token ? size : 0] = '\0';
    return LEVADA_OK;
}

/* Appends the query of a page. Its names are in order, as its signature needs them. */
static levada_status s3_query(const s3_page *page, const char *prefix, levada_web_target *out,
                              levada_error *err)
{
    LEVADA_TRY(levada_web_append(out, "/?", err));
    if (*page->token) {
        LEVADA_TRY(levada_web_append(out, "continuation-token=", err));
        LEVADA_TRY(levada_web_append_value(out, page->token, err));
        LEVADA_TRY(levada_web_append(out, "&", err));
    }
    LEVADA_TRY(levada_web_append(out, "encoding-type=url&list-type=2&prefix=", err));
    return levada_web_append_value(out, prefix, err);
}

levada_status levada_s3_list(void *user, const char *prefix, const levada_cancel *cancel,
                             levada_list_add *add, void *to, levada_error *err)
{
    levada_web_target *target = levada_alloc(sizeof *target);
    const char        *slash = strchr(strstr(prefix, "://") + 3, '/');
    s3_page            page = { .bucket = prefix };
    levada_status      st = LEVADA_OK;

    (void)user;
    if (!target) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a list");
    if (!slash) {
        levada_free(target);
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "a pattern in S3 must be s3://BUCKET/..., with * after the bucket, got %.100s", prefix);
    }
    page.nbucket = (size_t)(slash - prefix) + 1;
    do {
        char *xml = NULL;

        memset(target, 0, sizeof *target);
        st = levada_s3_bucket(prefix, target, err);
        if (st == LEVADA_OK) st = s3_query(&page, slash + 1, target, err);
        if (st == LEVADA_OK) st = levada_web_fetch(target, cancel, &xml, err);
        if (st == LEVADA_OK) st = s3_read(&page, xml, add, to, err);
        levada_free(xml);
    } while (st == LEVADA_OK && *page.token);
    levada_free(target);
    return st;
}
