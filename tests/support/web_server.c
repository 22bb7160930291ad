/* SPDX-License-Identifier: Apache-2.0 */
#include "support/web_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct served {
    t_web_server *server;
    int           socket;
} served;

static bool web_send(int to, const void *data, int64_t size)
{
    const char *at = data;

    while (size > 0) {
        ssize_t n = send(to, at, (size_t)size, MSG_NOSIGNAL);

        if (n <= 0) return false;
        at += n;
        size -= n;
    }
    return true;
}

/* Reads the head of a request; false if the connection ended. */
static bool web_receive(const t_web_server *server, int from, char *head, size_t size)
{
    size_t used = 0;

    while (used + 1 < size) {
        struct pollfd ready = { .fd = from, .events = POLLIN };

        if (atomic_load(&server->stop)) return false;
        if (poll(&ready, 1, 10) <= 0) continue;
        if (recv(from, head + used, 1, 0) <= 0) return false;
        if (used == 0 && *head == 0x16) return false; /* the hello of TLS */
        head[++used] = '\0';
        if (used >= 4 && strcmp(head + used - 4, "\r\n\r\n") == 0) return true;
    }
    return false;
}

static void web_field(const char *head, const char *name, char *out, size_t size)
{
    const char *line = strcasestr(head, name);
    size_t      n;

    *out = '\0';
    if (!line) return;
    line += strlen(name);
    n = strcspn(line, "\r\n");
    if (n < size) {
        memcpy(out, line, n);
        out[n] = '\0';
    }
}

static void web_sleep(const t_web_server *server, int milliseconds)
{
    for (int i = 0; i < milliseconds && !atomic_load(&server->stop); i++) (void)poll(NULL, 0, 1);
}

/* Answers one request; false if the connection has to be closed. */
static bool web_answer(t_web_server *server, int to, const t_web_request *r, const t_web_answer *a)
{
    long long   from = 0, end = server->size - 1, total = server->size;
    bool        ranged = !a->ignores_ranges && sscanf(r->range, "bytes=%lld-%lld", &from, &end) > 0;
    int         status = a->status ? a->status : ranged ? 206 : 200;
    const char *etag = a->etag ? a->etag : server->etag;
    char        head[1024];
    int         n;

    if (end >= total) end = total - 1;
    if (ranged && from >= total && status == 206) status = 416;
    if (*r->if_match && etag && strcmp(r->if_match, etag) != 0 && status < 400) status = 412;
    if (status != 200 && status != 206) end = from - 1;
    n = snprintf(head, sizeof head, "HTTP/1.1 %d X\r\nContent-Length: %lld\r\n", status,
                 end - from + 1);
    if (etag) n += snprintf(head + n, sizeof head - (size_t)n, "ETag: %s\r\n", etag);
    if (a->modified)
        n += snprintf(head + n, sizeof head - (size_t)n, "Last-Modified: %s\r\n", a->modified);
    if (a->location)
        n += snprintf(head + n, sizeof head - (size_t)n, "Location: %s\r\n", a->location);
    if (a->retry_after)
        n += snprintf(head + n, sizeof head - (size_t)n, "Retry-After: %s\r\n", a->retry_after);
    if (status == 206)
        n += snprintf(head + n, sizeof head - (size_t)n, "Content-Range: bytes %lld-%lld/%lld\r\n",
                      from + a->wrong_range, end, total);
    if (status == 416)
        n += snprintf(head + n, sizeof head - (size_t)n, "Content-Range: bytes */%lld\r\n", total);
    n += snprintf(head + n, sizeof head - (size_t)n, "\r\n");
    if (!web_send(to, head, n)) return false;
    if (a->cut > 0 && a->cut <= end - from) {
        (void)web_send(to, server->data + from, a->cut);
        if (a->half_open) web_sleep(server, 600000);
        return false;
    }
    while (a->trickle > 0 && end - from + 1 > a->trickle && !atomic_load(&server->stop)) {
        if (!web_send(to, server->data + from, a->trickle)) return false;
        from += a->trickle;
        web_sleep(server, 10);
    }
    return end < from || web_send(to, server->data + from, end - from + 1);
}

static void *web_serve(void *user)
{
    served        one = *(served *)user;
    t_web_server *server = one.server;
    char          head[8192];
    bool          open = true;

    free(user);
    while (open && web_receive(server, one.socket, head, sizeof head)) {
        t_web_request r = { .number = atomic_fetch_add(&server->requests, 1) };
        t_web_answer  a = { 0 };
        long long     now = atomic_fetch_add(&server->at_once, 1) + 1;

        if (now > atomic_load(&server->most_at_once)) atomic_store(&server->most_at_once, now);
        (void)sscanf(head, "%*s %511s", r.path);
        web_field(head, "\r\nrange: ", r.range, sizeof r.range);
        web_field(head, "\r\nif-match: ", r.if_match, sizeof r.if_match);
        web_field(head, "\r\nauthorization: ", r.authorization, sizeof r.authorization);
        web_field(head, "\r\nhost: ", r.host, sizeof r.host);
        if (!*r.if_match && strncmp(r.range, "bytes=0-", 8) != 0) {
            (void)atomic_fetch_add(&server->unconditional, 1);
        }
        if (server->plan) a = server->plan(server->user, &r);
        web_sleep(server, a.delay);
        if (a.stalls) web_sleep(server, 600000);
        open = web_answer(server, one.socket, &r, &a);
        (void)atomic_fetch_sub(&server->at_once, 1);
    }
    (void)close(one.socket);
    (void)atomic_fetch_sub(&server->threads, 1);
    return NULL;
}

static void *web_accept(void *user)
{
    t_web_server *server = user;

    while (!atomic_load(&server->stop)) {
        struct pollfd ready = { .fd = server->socket, .events = POLLIN };
        served       *one;
        pthread_t     thread;
        int           yes = 1;

        if (poll(&ready, 1, 10) <= 0) continue;
        one = malloc(sizeof *one);
        if (!one) break;
        *one = (served){ server, accept(server->socket, NULL, NULL) };
        (void)setsockopt(one->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        (void)atomic_fetch_add(&server->threads, 1);
        if (one->socket < 0 || pthread_create(&thread, NULL, web_serve, one) != 0) {
            (void)atomic_fetch_sub(&server->threads, 1);
            free(one);
            continue;
        }
        (void)pthread_detach(thread);
    }
    return NULL;
}

void t_web_start(t_web_server *server)
{
    struct sockaddr_in where = { .sin_family = AF_INET };
    socklen_t          size = sizeof where;
    pthread_t          thread;

    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(server->socket >= 0);
    assert_int_equal(bind(server->socket, (struct sockaddr *)&where, sizeof where), 0);
    assert_int_equal(listen(server->socket, 64), 0);
    assert_int_equal(getsockname(server->socket, (struct sockaddr *)&where, &size), 0);
    server->port = ntohs(where.sin_port);
    assert_int_equal(pthread_create(&thread, NULL, web_accept, server), 0);
    server->thread = (unsigned long)thread;
}

void t_web_stop(t_web_server *server)
{
    atomic_store(&server->stop, true);
    (void)pthread_join((pthread_t)server->thread, NULL);
    while (atomic_load(&server->threads) > 0) (void)poll(NULL, 0, 1);
    (void)close(server->socket);
}

const char *t_web_url(const t_web_server *server, const char *name, char *out, int64_t size)
{
    (void)snprintf(out, (size_t)size, "http://127.0.0.1:%d/%s", server->port, name);
    return out;
}
