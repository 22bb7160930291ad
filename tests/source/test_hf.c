/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in the Hugging Face hub: where the request goes, and who receives the token.
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
static t_web_request first, second;
static char          elsewhere[128];

/* The hub sends its clients to another host for the bytes. */
static t_web_answer hub(void *user, const t_web_request *r)
{
    (void)user;
    if (strncmp(r->path, "/bytes", 6) == 0) {
        second = *r;
        return (t_web_answer){ 0 };
    }
    first = *r;
    return (t_web_answer){ .status = 302, .location = elsewhere };
}

static void reads(const char *name, const char *path)
{
    t_web_server server = { .data = (const uint8_t *)lines, .size = sizeof lines - 1,
                            .etag = "\"a\"", .plan = hub };
    char         url[64], text[256];
    t_bytes      got = { 0 };
    levada_iter *it;

    t_web_start(&server);
    (void)t_web_url(&server, "", url, sizeof url);
    url[strlen(url) - 1] = '\0';
    (void)setenv("HF_ENDPOINT", url, 1);
    (void)snprintf(elsewhere, sizeof elsewhere, "http://localhost:%d/bytes", server.port);
    (void)snprintf(text, sizeof text, "text_lines:\"%s\"", name);
    it = t_iter_open(text, 1, 256);
    (void)t_iter_read(it, -1, false, &got);
    levada_iter_close(&it);
    t_web_stop(&server);
    assert_true(got.size > 0);
    t_clear(&got);
    (void)unsetenv("HF_ENDPOINT");
    assert_string_equal(first.path, path);
}

static void finds_files_of_a_repository(void **state)
{
    (void)state;
    (void)unsetenv("HF_TOKEN");
    reads("hf://datasets/owner/name/dir/a.txt", "/datasets/owner/name/resolve/main/dir/a.txt");
    reads("hf://datasets/owner/name@v1/a.txt", "/datasets/owner/name/resolve/v1/a.txt");
    reads("hf://owner/model/a.txt", "/owner/model/resolve/main/a.txt");
    assert_string_equal(first.authorization, "");
}

static void sends_the_token_to_the_hub_only(void **state)
{
    (void)state;
    (void)setenv("HF_TOKEN", "hf_secret", 1);
    reads("hf://datasets/owner/name/a.txt", "/datasets/owner/name/resolve/main/a.txt");
    assert_string_equal(first.authorization, "Bearer hf_secret");
    assert_string_equal(second.authorization, "");
    (void)unsetenv("HF_TOKEN");
}

static void refuses_names_without_a_file(void **state)
{
    static const char *const names[] = { "hf://owner", "hf://owner/name",
                                         "hf://datasets/owner/name", "hf://owner/name/" };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char         text[64];
        levada_iter *it;

        (void)snprintf(text, sizeof text, "text_lines:\"%s\"", names[i]);
        it = t_iter_open(text, 1, 256);
        (void)t_iter_ends(it, LEVADA_EINVALID_ARGUMENT, "hf://datasets/OWNER/NAME/PATH");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_files_of_a_repository),
        cmocka_unit_test(sends_the_token_to_the_hub_only),
        cmocka_unit_test(refuses_names_without_a_file),
    };

    if (!t_has("curl")) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
