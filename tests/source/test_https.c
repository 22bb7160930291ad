/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Web servers with encryption: one that has none is an error, and no request goes out in the clear.
 * python/tests/test_remote.py reads from one with a certificate.
 */
#include "support/iters.h"
#include "support/web_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void refuses_servers_without_encryption(void **state)
{
    t_web_server      server = { .data = (const uint8_t *)"one\n", .size = 4 };
    levada_io_options io = LEVADA_IO_OPTIONS_INIT;
    char              text[128];
    levada_iter      *it;

    (void)state;
    io.attempts = 1;
    assert_int_equal(levada_env_set_io(t_iter_env(), &io, NULL), LEVADA_OK);
    t_web_start(&server);
    (void)snprintf(text, sizeof text, "text_lines:\"https://127.0.0.1:%d/a\"", server.port);
    it = t_iter_open(text, 1, 256);
    (void)t_iter_ends(it, LEVADA_EUNAVAILABLE, "the request failed");
    assert_int_equal(atomic_load(&server.requests), 0);
    t_web_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_servers_without_encryption),
    };

    if (!t_has("curl")) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
