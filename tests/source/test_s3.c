/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in S3: where the request goes, and how it is signed.
 */
#include "support/iters.h"
#include "support/web_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char    lines[] = "one\ntwo\nthree\n";
static t_web_request seen;

static t_web_answer look(void *user, const t_web_request *r)
{
    (void)user;
    if (r->number == 0) seen = *r;
    return (t_web_answer){ 0 };
}

/* Reads three lines from `name` of an endpoint on this machine. */
static void read_lines(const char *name)
{
    t_web_server server = { .data = (const uint8_t *)lines, .size = sizeof lines - 1,
                            .etag = "\"a\"", .plan = look };
    char         url[64], text[256];
    t_bytes      got = { 0 };
    levada_iter *it;

    t_web_start(&server);
    (void)setenv("AWS_ENDPOINT_URL", t_web_url(&server, "", url, sizeof url), 1);
    (void)snprintf(text, sizeof text, "text_lines:\"%s\"", name);
    it = t_iter_open(text, 1, 256);
    (void)t_iter_read(it, -1, false, &got);
    levada_iter_close(&it);
    t_web_stop(&server);
    assert_true(got.size > 0);
    t_clear(&got);
    (void)unsetenv("AWS_ENDPOINT_URL");
}

static void asks_public_buckets_without_a_signature(void **state)
{
    (void)state;
    (void)unsetenv("AWS_ACCESS_KEY_ID");
    read_lines("s3://bucket/a folder/100%.txt");
    assert_string_equal(seen.path, "/bucket/a%20folder/100%25.txt");
    assert_string_equal(seen.authorization, "");
}

static void signs_with_the_keys_of_the_environment(void **state)
{
    (void)state;
    (void)setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "hidden", 1);
    (void)setenv("AWS_REGION", "eu-central-1", 1);
    read_lines("s3://bucket/a.txt");
    assert_non_null(strstr(seen.authorization, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"));
    assert_non_null(strstr(seen.authorization, "/eu-central-1/s3/aws4_request"));
    assert_null(strstr(seen.authorization, "hidden"));
    (void)unsetenv("AWS_ACCESS_KEY_ID");
    (void)unsetenv("AWS_SECRET_ACCESS_KEY");
    (void)unsetenv("AWS_REGION");
}

static t_web_answer redirects(void *user, const t_web_request *r)
{
    (void)user, (void)r;
    return (t_web_answer){ .status = 307, .location = "http://127.0.0.1:1/other" };
}

/* A redirect would carry the session token, a header of ours, to another host. */
static void sends_keys_to_one_host(void **state)
{
    t_web_server server = { .data = (const uint8_t *)lines, .size = sizeof lines - 1,
                            .plan = redirects };
    char         url[64];

    (void)state;
    (void)setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "hidden", 1);
    (void)setenv("AWS_SESSION_TOKEN", "hidden", 1);
    t_web_start(&server);
    (void)setenv("AWS_ENDPOINT_URL", t_web_url(&server, "", url, sizeof url), 1);
    (void)t_iter_ends(t_iter_open("text_lines:\"s3://bucket/a\"", 1, 256),
                      LEVADA_EINVALID_ARGUMENT, "status 307");
    t_web_stop(&server);
    assert_int_equal(atomic_load(&server.requests), 1);
    (void)unsetenv("AWS_ENDPOINT_URL");
    (void)unsetenv("AWS_SESSION_TOKEN");
    (void)unsetenv("AWS_SECRET_ACCESS_KEY");
    (void)unsetenv("AWS_ACCESS_KEY_ID");
}

static void refuses_names_without_a_key(void **state)
{
    static const char *const names[] = { "s3://bucket", "s3://bucket/", "s3:///key" };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char         text[64];
        levada_iter *it;

        (void)snprintf(text, sizeof text, "text_lines:\"%s\"", names[i]);
        it = t_iter_open(text, 1, 256);
        (void)t_iter_ends(it, LEVADA_EINVALID_ARGUMENT, "s3://BUCKET/");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_public_buckets_without_a_signature),
        cmocka_unit_test(signs_with_the_keys_of_the_environment),
        cmocka_unit_test(sends_keys_to_one_host),
        cmocka_unit_test(refuses_names_without_a_key),
    };

    if (!t_has("curl")) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
