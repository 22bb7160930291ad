/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A web server on a port of this machine, for tests of src/web and files/remote.h. It answers GET
 * with ranges, each connection on a thread of its own, and does what `plan` says.
 */
#ifndef LEVADA_TESTS_WEB_SERVER_H
#define LEVADA_TESTS_WEB_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct t_web_request {
    char    path[512], range[64], if_match[128], authorization[1024], host[128];
    int64_t number; /* of the request, from 0 */
} t_web_request;

/* What the server does to a request. All-zero = answers it. */
typedef struct t_web_answer {
    int         status;      /* in place of 200 and 206 */
    const char *location;    /* of a redirect */
    const char *retry_after;
    int64_t     cut;         /* bytes after which the connection is closed; 0 = all */
    bool        half_open;   /* the connection stays open after `cut` */
    bool        ignores_ranges, stalls, wrong_range;
    int64_t     trickle;     /* bytes in 10 milliseconds; 0 = as fast as possible */
    const char *etag;        /* in place of the server's */
    const char *modified;    /* Last-Modified */
    int         delay;       /* milliseconds before the answer */
} t_web_answer;

typedef struct t_web_server {
    const uint8_t *data; /* of every path */
    int64_t        size;
    const char    *etag; /* with quotes; NULL = none */
    t_web_answer (*plan)(void *user, const t_web_request *request);
    void          *user;
    int            port;
    atomic_llong   requests, unconditional; /* without If-Match, after the first bytes */
    atomic_llong   at_once, most_at_once;
    atomic_bool    stop;
    int            socket;
    unsigned long  thread;
    atomic_int     threads;
} t_web_server;

/* Starts a server; `data` and the rest are set before. Stops it, after its connections ended. */
void t_web_start(t_web_server *server);
void t_web_stop(t_web_server *server);
/* Writes http://127.0.0.1:PORT/NAME. */
const char *t_web_url(const t_web_server *server, const char *name, char *out, int64_t size);

#endif
