/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libcurl, opened at first use: levada does not depend on the library, and its
 * wheel does not contain it.
 */
#ifndef LEVADA_WEB_CURL_H
#define LEVADA_WEB_CURL_H

#include <levada/error.h>

#include <curl/curl.h>

#define LEVADA_CURL_MAP(X)                                                                \
    X(global_init, CURLcode, (long))                                                      \
    X(easy_init, CURL *, (void))                                                          \
    X(easy_reset, void, (CURL *))                                                         \
    X(easy_cleanup, void, (CURL *))                                                       \
    X(easy_setopt, CURLcode, (CURL *, CURLoption, ...))                                   \
    X(easy_getinfo, CURLcode, (CURL *, CURLINFO, ...))                                    \
    X(easy_strerror, const char *, (CURLcode))                                            \
    X(slist_append, struct curl_slist *, (struct curl_slist *, const char *))             \
    X(slist_free_all, void, (struct curl_slist *))                                        \
    X(multi_init, CURLM *, (void))                                                        \
    X(multi_cleanup, CURLMcode, (CURLM *))                                                \
    X(multi_add_handle, CURLMcode, (CURLM *, CURL *))                                     \
    X(multi_remove_handle, CURLMcode, (CURLM *, CURL *))                                  \
    X(multi_perform, CURLMcode, (CURLM *, int *))                                         \
    X(multi_poll, CURLMcode, (CURLM *, struct curl_waitfd *, unsigned, int, int *))       \
    X(multi_info_read, CURLMsg *, (CURLM *, int *))

typedef struct levada_curl {
#define LEVADA_CURL_MEMBER(name, result, parameters) result(*name) parameters;
    LEVADA_CURL_MAP(LEVADA_CURL_MEMBER)
#undef LEVADA_CURL_MEMBER
} levada_curl;

/* A connection that is kept for the next request. */
typedef struct levada_curl_link {
    CURL    *easy;
    CURLM   *multi;
    unsigned process;
} levada_curl_link;

/* Opens the library, once for a process. EUNIMPLEMENTED: it is not installed, or too old. Any
 * thread. */
LEVADA_MUST_USE levada_status levada_curl_open(const levada_curl **out, levada_error *err);
/* Takes a kept connection, or makes one; NULL = out of memory. Any thread. */
levada_curl_link *levada_curl_link_take(const levada_curl *curl);
/* Keeps a connection for the next request. Any thread. */
void levada_curl_link_give(const levada_curl *curl, levada_curl_link *link);

#endif
