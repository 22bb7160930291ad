/* SPDX-License-Identifier: Apache-2.0 */
#include "web/curl.h"

#include "base/alloc.h"
#include "base/process.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define CURL_LINKS 64

static levada_curl    curl_functions;
static char           curl_trouble[160]; /* "" = it is open */
static pthread_once_t curl_once = PTHREAD_ONCE_INIT;
/* Links that nobody uses. Without a lock, so that a fork cannot find it locked. */
static _Atomic(levada_curl_link *) curl_links[CURL_LINKS];

/* Finds a function; the cast of an object pointer is what POSIX asks for. */
static bool curl_find(void *library, const char *name, void *out)
{
    void *found = dlsym(library, name);

    if (!found) (void)snprintf(curl_trouble, sizeof curl_trouble, "it lacks %s", name);
    memcpy(out, &found, sizeof found);
    return found != NULL;
}

static void curl_start(void)
{
    static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib" };
    void                    *library = NULL;
    bool                     whole = true;

    for (size_t i = 0; !library && i < sizeof names / sizeof names[0]; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    if (!library) {
        (void)snprintf(curl_trouble, sizeof curl_trouble, "it is not installed");
        return;
    }
#define CURL_FIND(name, result, parameters) \
    whole = whole && curl_find(library, "curl_" #name, &curl_functions.name);
    LEVADA_CURL_MAP(CURL_FIND)
#undef CURL_FIND
    if (whole && curl_functions.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        (void)snprintf(curl_trouble, sizeof curl_trouble, "it does not start");
    }
}

levada_status levada_curl_open(const levada_curl **out, levada_error *err)
{
    (void)pthread_once(&curl_once, curl_start);
    if (*curl_trouble) {
        return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                           "http, https, s3 and hf need libcurl 7.75 or later (%s; on Debian: apt "
                           "install libcurl4)", curl_trouble);
    }
    *out = &curl_functions;
    return LEVADA_OK;
}

static void curl_unlink(const levada_curl *curl, levada_curl_link *link)
{
    if (link->easy) curl->easy_cleanup(link->easy);
    if (link->multi) (void)curl->multi_cleanup(link->multi);
    levada_free(link);
}

levada_curl_link *levada_curl_link_take(const levada_curl *curl)
{
    levada_curl_link *link;

    for (int i = 0; i < CURL_LINKS; i++) {
        link = atomic_exchange(&curl_links[i], NULL);
        if (link && link->process == levada_process()) return link; /* a parent keeps its own */
    }
    link = levada_alloc_zero(sizeof *link);
    if (!link) return NULL;
    link->process = levada_process();
    link->easy = curl->easy_init();
    link->multi = curl->multi_init();
    if (link->easy && link->multi) return link;
    curl_unlink(curl, link);
    return NULL;
}

void levada_curl_link_give(const levada_curl *curl, levada_curl_link *link)
{
    for (int i = 0; i < CURL_LINKS; i++) {
        levada_curl_link *none = NULL;

        if (atomic_compare_exchange_strong(&curl_links[i], &none, link)) return;
    }
    curl_unlink(curl, link);
}
