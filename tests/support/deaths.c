/* SPDX-License-Identifier: Apache-2.0 */
#include "support/deaths.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void deaths_child(void (*run)(void *user), void *user, int to)
{
    const struct rlimit none = { 0, 0 };

    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(SIGABRT, SIG_DFL); /* cmocka has a handler of its own */
    (void)dup2(to, STDERR_FILENO);
    (void)alarm(60);
    run(user);
    _exit(0);
}

void test_aborts(void (*run)(void *user), void *user, const char *text)
{
    char said[4096];
    size_t size = 0;
    ssize_t n;
    int ends[2], status = 0;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) deaths_child(run, user, ends[1]);
    close(ends[1]);
    do {
        n = read(ends[0], said + size, sizeof(said) - 1 - size);
        if (n > 0) size += (size_t)n;
    } while (n > 0);
    said[size] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) {
        fail_msg("it did not abort: status %#x, '%s'", (unsigned)status, said);
    }
    if (strstr(said, text) == NULL) fail_msg("'%s' is not in '%s'", text, said);
}
