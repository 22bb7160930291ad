/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the command talks: messages, output that may lose its reader, signals and the clock.
 */
#include "cli.h"
#include "escape.h"
#include <levada/output.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SAY_OUT = 4096 }; /* bytes that are written at once, unless they go to a terminal */

static volatile sig_atomic_t say_stop; /* the signal that asked first; 0 = none */
static volatile sig_atomic_t say_report;
static int                   say_lost; /* errno of the write that failed first */
static levada_cli_buffer     say_out;  /* output that is not written yet       */
/* Guards both: threads write messages, which follow the output before them. */
static pthread_mutex_t say_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t             say_main; /* the thread that reads */

/* Leaves no temporary file; then the signal ends the process as it would have. */
static void say_end(int number)
{
    levada_output_drop_all();
    signal(number, SIG_DFL);
    raise(number);
}

static void say_on_signal(int number)
{
    if (number == SIGUSR1) say_report = 1;
    else if (say_stop) say_end(number);
    else say_stop = number;
}

/* Handles what asks to stop, and ends calls that wait, such as for the reader of a pipe. */
static void say_handle(int number, void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler,
                                .sa_flags = number == SIGUSR1 ? SA_RESTART : 0 };

    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void levada_cli_signals(void)
{
    say_main = pthread_self();
    say_handle(SIGUSR1, say_on_signal);
    say_handle(SIGINT, say_on_signal);
    say_handle(SIGTERM, say_end);
    if (signal(SIGHUP, SIG_IGN) != SIG_IGN) say_handle(SIGHUP, say_end); /* nohup ignores it */
    signal(SIGPIPE, SIG_IGN); /* a write says it */
    signal(SIGXFSZ, SIG_IGN);
}

void levada_cli_signals_save(void) { say_handle(SIGTERM, say_on_signal); }

void levada_cli_signals_end(void) { say_handle(SIGINT, say_end); }

bool levada_cli_stopped(void) { return say_stop != 0; }

bool levada_cli_interrupted(void) { return say_stop && pthread_equal(pthread_self(), say_main); }

bool levada_cli_report_wanted(void)
{
    bool wanted = say_report != 0;
    say_report = 0;
    return wanted;
}

levada_cli_status levada_cli_fail(const levada_error *err)
{
    char text[LEVADA_ERROR_TEXT];

    if (levada_cli_stopped() && err->code == LEVADA_ECANCELLED) return LEVADA_CLI_INTERRUPTED;
    levada_cli_say("%s", levada_error_text(err, text, sizeof text));
    return LEVADA_CLI_FAILED;
}

/* Writes all of it, whatever signals come. Returns errno of the failure, or 0. */
static int say_write(int fd, const char *at, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, at, size);

        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : ENOSPC;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

static bool say_flush_locked(void)
{
    if (say_lost == 0) say_lost = say_write(STDOUT_FILENO, say_out.at, say_out.size);
    say_out.size = 0;
    return say_lost == 0;
}

static bool say_flush(void)
{
    bool good;

    pthread_mutex_lock(&say_lock);
    good = say_flush_locked();
    pthread_mutex_unlock(&say_lock);
    return good;
}

void levada_cli_message(const levada_cli_buffer *text)
{
    pthread_mutex_lock(&say_lock);
    say_flush_locked();
    say_write(STDERR_FILENO, text->at, text->size);
    pthread_mutex_unlock(&say_lock);
}

void levada_cli_say(const char *fmt, ...)
{
    levada_cli_buffer text = { 0 }, shown = { 0 };
    va_list           list;

    va_start(list, fmt);
    levada_cli_vprintf(&text, fmt, list);
    va_end(list);
    levada_cli_puts(&shown, "levada: ");
    levada_cli_show(&shown, text.at, text.size); /* it quotes names and values */
    levada_cli_puts(&shown, "\n");
    levada_cli_message(&shown);
    levada_cli_buffer_clear(&text);
    levada_cli_buffer_clear(&shown);
}

/* Whatever is still raw in a text (a name from a state file, say) is escaped here. */
static void say_show(levada_cli_buffer *text)
{
    levada_cli_buffer shown = { 0 };

    if (levada_cli_is_plain(text->at, text->size)) return;
    levada_cli_show_lines(&shown, text->at, text->size);
    levada_cli_buffer_clear(text);
    *text = shown;
}

bool levada_cli_out(levada_cli_buffer *text)
{
    bool good;

    say_show(text);
    pthread_mutex_lock(&say_lock);
    levada_cli_add(&say_out, text->at, text->size);
    good = say_out.size < SAY_OUT && !isatty(STDOUT_FILENO) ? say_lost == 0 : say_flush_locked();
    pthread_mutex_unlock(&say_lock);
    text->size = 0;
    return good;
}

bool levada_cli_out_sync(void)
{
    if (say_flush() && fsync(STDOUT_FILENO) != 0 && errno != EINVAL && errno != EROFS
        && errno != ENOTSUP && errno != EBADF)
        say_lost = errno;
    return say_lost == 0;
}

levada_cli_status levada_cli_out_close(levada_cli_status status)
{
    say_flush();
    levada_cli_buffer_clear(&say_out);
    if (status == LEVADA_CLI_INTERRUPTED && say_stop == SIGTERM) status = LEVADA_CLI_TERMINATED;
    if (say_lost == 0 || say_lost == EPIPE) return status;
    levada_cli_say("cannot write the output: %s", strerror(say_lost));
    return status == LEVADA_CLI_DONE ? LEVADA_CLI_FAILED : status;
}

double levada_cli_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
