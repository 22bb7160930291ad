/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include "cli.h"
#include "escape.h"
#include "file.h"
#include "json.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

typedef struct progress_state {
    const char *label; /* or NULL */
    int64_t     records, done, total; /* done, total: bytes; total -1 = not known */
    double      seconds;
} progress_state;

void levada_cli_progress_begin(levada_cli_progress *p, bool wanted, const char *label)
{
    p->shown = wanted && isatty(STDERR_FILENO);
    p->there = false;
    p->begun = p->drawn = levada_cli_now();
    p->label = label;
}

static int64_t progress_columns(void)
{
    struct winsize window = { 0 };
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : 80;
}

/* Returns the number of bytes of the line that fit into the width of the terminal. */
static size_t progress_fit(const levada_cli_buffer *line)
{
    int64_t most = progress_columns(), width = 0;
    size_t  n = 0;

    while (n < line->size) {
        width += ((uint8_t)line->at[n] & 0xC0) != 0x80;
        if (width >= most) break;
        n++;
    }
    return n;
}

static void progress_draw(const levada_cli_buffer *line)
{
    fputs("\r", stderr);
    fwrite(line->at, 1, progress_fit(line), stderr);
    fputs("\033[K", stderr);
    fflush(stderr);
}

/* Draws a bar of up to 24 columns of the line. */
static void progress_bar(levada_cli_buffer *line, double part)
{
    int64_t columns = progress_columns();
    int     width = columns > 144 ? 24 : columns > 60 ? (int)columns / 6 : 10;
    int     halves = (int)(part * 2 * width + 0.5);

    levada_cli_repeat(line, "━", halves / 2);
    levada_cli_repeat(line, "╸", halves % 2);
    levada_cli_repeat(line, "─", width - halves / 2 - halves % 2);
    levada_cli_puts(line, " ");
}

/* All but the slowest stage. `brief`: what else would be cut off matters more than name and bar. */
static void progress_line(levada_cli_buffer *line, const progress_state *at, bool brief)
{
    double part = at->total > 0 ? (double)at->done / (double)at->total : 0;

    if (part > 1) part = 1;
    if (at->label && !brief) {
        levada_cli_show_text(line, at->label);
        levada_cli_puts(line, "  ");
    }
    if (at->total > 0 && !brief) progress_bar(line, part);
    if (at->total > 0) levada_cli_printf(line, "%3.0f %%   ", part * 100);
    if (!brief || at->total <= 0) {
        levada_cli_counted(line, at->records, "record", "records");
        levada_cli_puts(line, " · ");
    }
    levada_cli_rate(line, (double)at->records / at->seconds, " records/s");
    if (at->done > 0) {
        levada_cli_puts(line, " · ");
        levada_cli_rate(line, (double)at->done / at->seconds, "B/s");
    }
    if (part > 0.01 && part < 1) { /* more may come, where the files are read again */
        levada_cli_puts(line, " · ");
        levada_cli_clock(line, at->seconds * (1 - part) / part);
        levada_cli_puts(line, " left");
    }
}

/* The name of the stage that took most of the time: the part of its path after the number. */
static void progress_slowest(levada_cli_buffer *line, levada_iter *it)
{
    char               *text = NULL;
    levada_value       *stats = NULL;
    const levada_value *stages, *worst = NULL;
    const char         *path, *dot;

    if (levada_iter_stats(it, &text, NULL) != LEVADA_OK) return;
    if (levada_cli_json_take(&text, &stats, NULL) != LEVADA_OK) return;
    stages = levada_cli_json_get(stats, "stages");
    for (int64_t i = 0; stages && i < levada_value_count(stages); i++) {
        const levada_value *stage = levada_value_item(stages, i);
        double              seconds = levada_cli_json_float(stage, "seconds");

        if (!worst || seconds > levada_cli_json_float(worst, "seconds")) worst = stage;
    }
    path = levada_cli_json_string(worst, "path");
    dot = strrchr(path, '.');
    if (*path) levada_cli_printf(line, " · slowest: %s", dot ? dot + 1 : path);
    levada_value_destroy(&stats);
}

static bool progress_due(levada_cli_progress *p)
{
    double now = levada_cli_now();

    if (!p->shown || now - p->drawn < 0.1) return false;
    p->drawn = now;
    p->there = true;
    return true;
}

/* Shows the progress, in full if that fits into the terminal. */
static void progress_show(const progress_state *at, levada_iter *it)
{
    levada_cli_buffer line = { 0 }, slowest = { 0 };

    if (it) progress_slowest(&slowest, it);
    progress_line(&line, at, false);
    levada_cli_add(&line, slowest.at, slowest.size);
    if (progress_fit(&line) < line.size) {
        line.size = 0;
        progress_line(&line, at, true);
        levada_cli_add(&line, slowest.at, slowest.size);
    }
    progress_draw(&line);
    levada_cli_buffer_clear(&slowest);
    levada_cli_buffer_clear(&line);
}

void levada_cli_progress_iter(levada_cli_progress *p, levada_iter *it, int64_t records)
{
    progress_state at = { .label = p->label, .records = records, .total = -1 };
    char          *file = NULL;

    if (!progress_due(p)) return;
    if (!p->label && levada_iter_origin_file(it, &(levada_origin){ 0 }, &file, NULL) == LEVADA_OK &&
        file) {
        at.label = levada_cli_file_name(file);
    }
    levada_iter_progress(it, &at.done, &at.total);
    at.seconds = levada_cli_now() - p->begun;
    progress_show(&at, it);
    levada_string_free(&file);
}

void levada_cli_progress_bytes(levada_cli_progress *p, int64_t records, int64_t done,
                               int64_t total)
{
    progress_state at = { p->label, records, done, total, levada_cli_now() - p->begun };

    if (progress_due(p)) progress_show(&at, NULL);
}

void levada_cli_progress_clear(levada_cli_progress *p)
{
    if (!p->there) return;
    p->there = false;
    fputs("\r\033[K", stderr);
    fflush(stderr);
}
