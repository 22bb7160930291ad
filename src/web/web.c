/* SPDX-License-Identifier: Apache-2.0 */
#include "web/web.h"

#include "base/alloc.h"
#include "web/curl.h"
#include "web/names.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WEB_FIRST (INT64_C(256) << 10) /* bytes of the request that opens a file          */
#define WEB_WHOLE (INT64_C(64) << 20)  /* of a file that a server without ranges sends    */
#define WEB_TICK 20                    /* milliseconds between two looks at the token     */
#define WEB_SECONDS 10                 /* to connect, and with less than WEB_SLOW a second */
#define WEB_SLOW 1024
#define WEB_RETRY_AFTER 60 /* seconds at most */
#define WEB_REDIRECTS 8L

typedef struct web_file {
    const levada_web_scheme *scheme;
    const levada_curl       *curl;
    const levada_cancel     *cancel;
    levada_web_target        target;
    char                     etag[256], modified[64]; /* "" = the server does not say */
    char                     tag[256];                /* as of levada_opener_def      */
    int64_t                  size;
    uint8_t                 *first; /* the bytes [0, nfirst) */
    int64_t                  nfirst;
} web_file;

/* What a server says about a file. */
typedef struct web_head {
    char    etag[256], modified[64];
    int64_t from, total; /* of Content-Range; -1 = it has none */
    int64_t retry_after; /* seconds */
} web_head;

/* One request: `size` bytes from `from` on into `data`. */
typedef struct web_request {
    web_file *file;
    CURL     *easy;
    web_head  head;
    int64_t   from, size; /* size = 0: all of the answer */
    uint8_t  *data;
    int64_t   made, capacity;
    bool      opens;  /* a server without ranges may send the whole file */
    long      status;
    bool      too_long, no_memory;
} web_request;

/* -- answers */

static void web_take_text(const char *line, size_t n, size_t skip, char *out, size_t size)
{
    while (skip < n && (line[skip] == ' ' || line[skip] == '\t')) skip++;
    while (n > skip && (line[n - 1] == '\r' || line[n - 1] == '\n' || line[n - 1] == ' ')) n--;
    n -= skip;
    if (n >= size) n = 0; /* not a tag that could be sent again */
    memcpy(out, line + skip, n);
    out[n] = '\0';
}

static void web_take_range(const char *text, web_head *head)
{
    char *end;

    if (strncasecmp(text, "bytes ", 6) != 0) return;
    text += 6;
    if (*text == '*') {
        head->from = 0;
    } else {
        head->from = strtoll(text, &end, 10);
        if (end == text) head->from = -1;
    }
    text = strchr(text, '/');
    if (!text || text[1] == '*') return;
    head->total = strtoll(text + 1, &end, 10);
    if (end == text + 1) head->total = -1;
}

/* Receives one line of the head of an answer. A redirect or a proxy makes several heads; the last
 * one counts. */
static size_t web_on_head(char *line, size_t size, size_t n, void *user)
{
    web_request *r = user;
    char         text[64];

    n *= size;
    if (n >= 5 && strncasecmp(line, "HTTP/", 5) == 0) {
        r->head = (web_head){ .from = -1, .total = -1 };
    } else if (n > 5 && strncasecmp(line, "etag:", 5) == 0) {
        web_take_text(line, n, 5, r->head.etag, sizeof r->head.etag);
    } else if (n > 14 && strncasecmp(line, "last-modified:", 14) == 0) {
        web_take_text(line, n, 14, r->head.modified, sizeof r->head.modified);
    } else if (n > 14 && strncasecmp(line, "content-range:", 14) == 0) {
        web_take_text(line, n, 14, text, sizeof text);
        web_take_range(text, &r->head);
    } else if (n > 12 && strncasecmp(line, "retry-after:", 12) == 0) {
        web_take_text(line, n, 12, text, sizeof text);
        r->head.retry_after = strtoll(text, NULL, 10); /* a date is 0: the pause is ours */
    }
    return n;
}

/* Reserves memory for a whole file, which a server without ranges sends. */
static bool web_grow(web_request *r, int64_t size)
{
    int64_t  capacity = r->capacity;
    uint8_t *data;

    if (size > WEB_WHOLE) r->too_long = true;
    if (r->too_long || size <= capacity) return !r->too_long;
    while (capacity < size) capacity *= 2;
    data = levada_realloc(r->data, (size_t)capacity);
    r->no_memory = !data;
    if (!data) return false;
    r->data = data;
    r->capacity = capacity;
    return true;
}

/* Receives bytes of the body; a return of less than all of them ends the request. */
static size_t web_on_body(char *data, size_t size, size_t n, void *user)
{
    web_request *r = user;

    n *= size;
    if (r->status == 0) {
        (void)r->file->curl->easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &r->status);
    }
    if (r->status != 206 && !(r->status == 200 && r->opens)) {
        return r->status == 200 ? 0 : n; /* the text of an error */
    }
    if (r->status == 200 && !web_grow(r, r->made + (int64_t)n)) return 0;
    if (r->made + (int64_t)n > r->capacity) {
        r->too_long = true;
        return 0;
    }
    memcpy(r->data + r->made, data, n);
    r->made += (int64_t)n;
    return n;
}

/* -- one request */

static struct curl_slist *web_add(const levada_curl *curl, struct curl_slist *list,
                                  const char *name, const char *value, bool *failed)
{
    char               line[sizeof((levada_web_target *)0)->session + 64];
    struct curl_slist *more;

    if (!*value) return list;
    (void)snprintf(line, sizeof line, "%s: %s", name, value);
    more = curl->slist_append(list, line);
    *failed = *failed || !more;
    return more ? more : list;
}

/* Lists the conditions and credentials of a request. */
static struct curl_slist *web_headers(const web_request *r, bool *failed)
{
    const web_file    *f = r->file;
    const levada_curl *curl = f->curl;
    struct curl_slist *list = NULL;

    list = web_add(curl, list, "If-Match", r->opens ? "" : f->etag, failed);
    if (!*f->etag) {
        list = web_add(curl, list, "If-Unmodified-Since", r->opens ? "" : f->modified, failed);
    }
    list = web_add(curl, list, "x-amz-security-token", f->target.session, failed);
    if (*f->target.keys) {
        list = web_add(curl, list, "x-amz-content-sha256", "UNSIGNED-PAYLOAD", failed);
    }
    return list;
}

static bool web_set_target(const web_request *r)
{
    const levada_curl       *curl = r->file->curl;
    const levada_web_target *t = &r->file->target;
    char                     certificates[1024];
    bool                     good;

    good = curl->easy_setopt(r->easy, CURLOPT_URL, t->url) == CURLE_OK;
    if (*t->keys) {
        good = good && curl->easy_setopt(r->easy, CURLOPT_AWS_SIGV4, t->signature) == CURLE_OK;
        good = good && curl->easy_setopt(r->easy, CURLOPT_USERPWD, t->keys) == CURLE_OK;
    }
    if (*t->token) {
        good = good && curl->easy_setopt(r->easy, CURLOPT_HTTPAUTH, CURLAUTH_BEARER) == CURLE_OK;
        good = good && curl->easy_setopt(r->easy, CURLOPT_XOAUTH2_BEARER, t->token) == CURLE_OK;
    }
    good = good && levada_web_setting("SSL_CERT_FILE", NULL, "", certificates, sizeof certificates);
    if (*certificates) {
        good = good && curl->easy_setopt(r->easy, CURLOPT_CAINFO, certificates) == CURLE_OK;
    }
    return good;
}

static bool web_set_up(web_request *r, const struct curl_slist *headers)
{
    const levada_curl *curl = r->file->curl;
    char               range[64];

    (void)snprintf(range, sizeof range, "%lld-%lld", (long long)r->from,
                   (long long)(r->from + r->size - 1));
    if (r->size > 0 && curl->easy_setopt(r->easy, CURLOPT_RANGE, range) != CURLE_OK) return false;
#define WEB_SET(option, value) (void)curl->easy_setopt(r->easy, CURLOPT_##option, (value))
    WEB_SET(NOSIGNAL, 1L);
    WEB_SET(PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    WEB_SET(REDIR_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    WEB_SET(FOLLOWLOCATION, *r->file->target.keys ? 0L : 1L);
    WEB_SET(MAXREDIRS, WEB_REDIRECTS);
    WEB_SET(NETRC, (long)CURL_NETRC_OPTIONAL);
    WEB_SET(USERAGENT, "levada");
    WEB_SET(CONNECTTIMEOUT, (long)WEB_SECONDS);
    WEB_SET(LOW_SPEED_LIMIT, (long)WEB_SLOW);
    WEB_SET(LOW_SPEED_TIME, (long)WEB_SECONDS);
    WEB_SET(HEADERFUNCTION, web_on_head);
    WEB_SET(HEADERDATA, r);
    WEB_SET(WRITEFUNCTION, web_on_body);
    WEB_SET(WRITEDATA, r);
    WEB_SET(HTTPHEADER, headers);
#undef WEB_SET
    return web_set_target(r);
}

/* Runs a request; CURLE_ABORTED_BY_CALLBACK if it was cancelled. */
static CURLcode web_run(const web_request *r, CURLM *multi)
{
    const levada_curl *curl = r->file->curl;
    CURLcode           result = CURLE_OK;
    CURLMsg           *message;
    int                running = 1, left;

    if (curl->multi_add_handle(multi, r->easy) != CURLM_OK) return CURLE_FAILED_INIT;
    while (running > 0 && result == CURLE_OK) {
        if (levada_cancel_requested(r->file->cancel)) result = CURLE_ABORTED_BY_CALLBACK;
        else if (curl->multi_perform(multi, &running) != CURLM_OK) result = CURLE_FAILED_INIT;
        else if (running > 0) (void)curl->multi_poll(multi, NULL, 0, WEB_TICK, NULL);
    }
    while ((message = curl->multi_info_read(multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE && result == CURLE_OK) result = message->data.result;
    }
    (void)curl->multi_remove_handle(multi, r->easy);
    return result;
}

static levada_status web_replaced(levada_error *err)
{
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION, "it was replaced while it was read");
}

/* Waits as long as a server asks for, and fails. */
static levada_status web_busy(const web_request *r, levada_error *err)
{
    int64_t seconds = r->head.retry_after < WEB_RETRY_AFTER ? r->head.retry_after
                                                            : WEB_RETRY_AFTER;

    for (int64_t i = 0; i < seconds * 1000 / WEB_TICK; i++) {
        if (levada_cancel_requested(r->file->cancel)) break;
        (void)poll(NULL, 0, WEB_TICK);
    }
    return levada_fail(err, LEVADA_EUNAVAILABLE, "the server answered with status %ld", r->status);
}

/* Tells what an answer without the bytes means. */
static levada_status web_refused(const web_request *r, levada_error *err)
{
    switch (r->status) {
    case 401:
    case 403:
        return levada_fail(err, LEVADA_EPERMISSION_DENIED,
                           "the server refused access with status %ld; check the keys in the "
                           "environment, or the date of a presigned URL", r->status);
    case 301:
    case 302:
    case 307:
    case 308:
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the server redirects (status %ld): keys go to no other host, so set "
                           "AWS_REGION or AWS_ENDPOINT_URL; without keys, at most %ld redirects "
                           "are followed", r->status, WEB_REDIRECTS);
    case 404:
    case 410: return levada_fail(err, LEVADA_ENOT_FOUND, "no such file (status %ld)", r->status);
    case 412: return web_replaced(err);
    case 416: return web_replaced(err);
    case 200:
        return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                           "the server ignores ranges, and the file has more than %lld MiB; "
                           "download it, or use a server with ranges",
                           (long long)(WEB_WHOLE >> 20));
    default: return web_busy(r, err);
    }
}

static levada_status web_judge(const web_request *r, CURLcode result, levada_error *err)
{
    if (result == CURLE_ABORTED_BY_CALLBACK) {
        return levada_fail(err, LEVADA_ECANCELLED, "interrupted during a request");
    }
    if (r->no_memory) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an answer");
    }
    if (r->opens && r->status == 416 && r->head.total == 0) return LEVADA_OK; /* an empty file */
    if (r->status == 200 && (!r->opens || r->too_long)) return web_refused(r, err);
    if (result != CURLE_OK && (r->status == 0 || r->status == 206 || r->status == 200)) {
        return levada_fail(err, LEVADA_EUNAVAILABLE, "the request failed: %s",
                           r->too_long ? "the answer is longer than the range"
                                       : r->file->curl->easy_strerror(result));
    }
    if (r->status != 206 && r->status != 200) return web_refused(r, err);
    if (r->status == 206 && r->head.from != r->from) {
        return levada_fail(err, LEVADA_EUNAVAILABLE,
                           "the server sent bytes from %lld on in place of %lld",
                           (long long)r->head.from, (long long)r->from);
    }
    return LEVADA_OK;
}

static levada_status web_perform(web_request *r, levada_error *err)
{
    const levada_curl *curl = r->file->curl;
    levada_curl_link  *link = levada_curl_link_take(curl);
    bool               failed = !link;
    struct curl_slist *headers = failed ? NULL : web_headers(r, &failed);
    levada_status      st;

    if (failed) {
        if (link) levada_curl_link_give(curl, link);
        curl->slist_free_all(headers);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a request");
    }
    r->easy = link->easy;
    curl->easy_reset(r->easy);
    if (web_set_up(r, headers)) {
        CURLcode result = web_run(r, link->multi);

        (void)curl->easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &r->status);
        st = web_judge(r, result, err);
    } else {
        st = levada_fail(err, LEVADA_EUNIMPLEMENTED,
                         "libcurl refuses the request; it must be 7.75 or later");
    }
    curl->easy_reset(r->easy);
    curl->slist_free_all(headers);
    levada_curl_link_give(curl, link);
    return st;
}

/* -- a file */

/* Keeps what the first answer says. */
static void web_know(web_file *f, const web_request *r)
{
    bool strong = *r->head.etag && strncmp(r->head.etag, "W/", 2) != 0;

    f->size = r->status == 200 ? r->made : r->head.total;
    f->first = r->data;
    f->nfirst = r->made;
    if (strong) memcpy(f->etag, r->head.etag, sizeof f->etag);
    memcpy(f->modified, r->head.modified, sizeof f->modified);
    if (strong) memcpy(f->tag, f->etag, sizeof f->tag);
    else if (*f->modified) (void)snprintf(f->tag, sizeof f->tag, "W/%s", f->modified);
}

static levada_status web_start(web_file *f, int64_t size, levada_error *err)
{
    web_request   r = { .file = f, .size = size, .capacity = size, .opens = true };
    levada_status st;

    r.data = levada_alloc((size_t)size);
    if (!r.data)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while opening a file");
    st = web_perform(&r, err);
    if (st == LEVADA_OK && r.status == 206 && r.head.total < 0) {
        st = levada_fail(err, LEVADA_EUNIMPLEMENTED,
                         "the server does not send the size of the file; download it");
    }
    if (st == LEVADA_OK) web_know(f, &r);
    else levada_free(r.data);
    return st;
}

static levada_status web_make(void *user, const char *path, const levada_cancel *cancel,
                              int64_t size, web_file **out, levada_error *err)
{
    const levada_web_scheme *scheme = user;
    web_file                *f = levada_alloc_zero(sizeof *f);
    levada_status            st;

    if (!f)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while opening a file");
    f->scheme = scheme;
    f->cancel = cancel;
    st = scheme->locate(path, &f->target, err);
    if (st == LEVADA_OK) st = levada_curl_open(&f->curl, err);
    if (st == LEVADA_OK) st = web_start(f, size, err);
    if (st == LEVADA_OK) *out = f;
    else levada_web_close(f);
    return st;
}

levada_status levada_web_open(void *user, const char *path, const levada_cancel *cancel,
                              void **out, levada_error *err)
{
    web_file *f = NULL;

    LEVADA_TRY(web_make(user, path, cancel, WEB_FIRST, &f, err));
    *out = f;
    return LEVADA_OK;
}

void levada_web_close(void *file)
{
    web_file *f = file;

    levada_free(f->first);
    levada_free(f);
}

levada_status levada_web_size(void *file, int64_t *out, levada_error *err)
{
    (void)err;
    *out = ((const web_file *)file)->size;
    return LEVADA_OK;
}

levada_status levada_web_read_at(void *file, int64_t offset, uint8_t *data, int64_t size,
                                 int64_t *made, levada_error *err)
{
    web_file   *f = file;
    web_request r = { .file = f, .from = offset, .size = size, .data = data, .capacity = size };

    if (offset + size > f->size) r.size = r.capacity = size = f->size - offset;
    *made = 0;
    if (size <= 0) return LEVADA_OK;
    if (offset + size <= f->nfirst) {
        memcpy(data, f->first + offset, (size_t)size);
        *made = size;
        return LEVADA_OK;
    }
    LEVADA_TRY(web_perform(&r, err));
    if (r.head.total >= 0 && r.head.total != f->size) return web_replaced(err);
    if (*f->etag && *r.head.etag && strcmp(f->etag, r.head.etag) != 0) return web_replaced(err);
    *made = r.made;
    return LEVADA_OK;
}

const char *levada_web_version(void *file)
{
    const web_file *f = file;

    return *f->tag ? f->tag : NULL;
}

int64_t levada_web_look(void *user, const char *path)
{
    web_file     *f = NULL;
    levada_status st = web_make(user, path, NULL, 1, &f, NULL);
    int64_t       size;

    if (st == LEVADA_ENOT_FOUND) return LEVADA_FILE_MISSING;
    if (st != LEVADA_OK) return -1;
    size = f->size;
    levada_web_close(f);
    return size;
}

levada_status levada_web_fetch(const levada_web_target *target, const levada_cancel *cancel,
                               char **out, levada_error *err)
{
    web_file     *f = levada_alloc_zero(sizeof *f);
    web_request   r = { .file = f, .capacity = WEB_FIRST, .opens = true };
    levada_status st = LEVADA_OK;

    r.data = f ? levada_alloc((size_t)r.capacity) : NULL;
    if (!r.data) st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a request");
    if (st == LEVADA_OK) {
        f->target = *target;
        f->cancel = cancel;
        st = levada_curl_open(&f->curl, err);
    }
    if (st == LEVADA_OK) st = web_perform(&r, err);
    if (st == LEVADA_OK && !web_grow(&r, r.made + 1))
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an answer");
    if (st == LEVADA_OK) r.data[r.made] = '\0';
    if (st == LEVADA_OK) *out = (char *)r.data;
    else levada_free(r.data);
    levada_free(f);
    return st;
}
