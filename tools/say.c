/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the command talks: messages, output that may lose its reader, signals and the clock.
 */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static volatile sig_atomic_t say_stop, say_report;
static int                   say_lost; /* errno of the write that failed first */

static void say_on_signal(int number)
{
    if (number == SIGINT) say_stop = 1;
    else say_report = 1;
}

void levada_cli_signals(void)
{
    struct sigaction action = { .sa_handler = say_on_signal };

    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags = (int)SA_RESETHAND; /* the second Ctrl-C is the system's */
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* a write says it */
}

void levada_cli_signals_default(void) { signal(SIGINT, SIG_DFL); }

bool levada_cli_stopped(void) { return say_stop != 0; }

bool levada_cli_report_wanted(void)
{
    bool wanted = say_report != 0;
    say_report = 0;
    return wanted;
}

levada_cli_status levada_cli_fail(const levada_error *err)
{
    char text[768];

    if (levada_cli_stopped() && err->code == LEVADA_ECANCELLED) return LEVADA_CLI_INTERRUPTED;
    levada_cli_say("%s", levada_error_text(err, text, sizeof text));
    return LEVADA_CLI_FAILED;
}

void levada_cli_say(const char *fmt, ...)
{
    va_list list;

    fflush(stdout);
    fputs("levada: ", stderr);
    va_start(list, fmt);
    vfprintf(stderr, fmt, list);
    va_end(list);
    fputc('\n', stderr);
}

bool levada_cli_out(levada_cli_buffer *text)
{
    bool good = (text->size == 0 || fwrite(text->at, 1, text->size, stdout) == text->size)
                && !ferror(stdout);

    if (!good && say_lost == 0) say_lost = errno;
    text->size = 0;
    return good;
}

levada_cli_status levada_cli_out_close(levada_cli_status status)
{
    if (fflush(stdout) != 0 && say_lost == 0) say_lost = errno;
    if (say_lost == 0 || say_lost == EPIPE) return status;
    levada_cli_say("can't write the output: %s", strerror(say_lost));
    return status == LEVADA_CLI_DONE ? LEVADA_CLI_FAILED : status;
}

double levada_cli_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
