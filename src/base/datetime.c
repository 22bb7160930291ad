/* SPDX-License-Identifier: Apache-2.0 */
#include "base/datetime.h"

#include "base/compiler.h"

#include <string.h>

static const struct {
    const char *word;
    int64_t     ticks;
} datetime_units[] = { { "datetime64[s]", 1 },
                       { "datetime64[ms]", 1000 },
                       { "datetime64[us]", 1000000 },
                       { "datetime64[ns]", 1000000000 } };

enum { DATETIME_UNITS = sizeof datetime_units / sizeof *datetime_units, DATETIME_FINEST = 9 };

static const char datetime_grammar[] = "expected ISO 8601, such as 2024-02-29T12:30:15.250Z";

int64_t levada_datetime_ticks(const char *word)
{
    for (int i = 0; word && i < DATETIME_UNITS; i++)
        if (strcmp(datetime_units[i].word, word) == 0) return datetime_units[i].ticks;
    return 0;
}

const char *levada_datetime_word(int64_t ticks)
{
    for (int i = 0; i < DATETIME_UNITS; i++)
        if (datetime_units[i].ticks == ticks) return datetime_units[i].word;
    return "datetime64";
}

/* A text that is read from left to right. */
typedef struct datetime_cursor {
    const char *at, *end;
} datetime_cursor;

static bool datetime_is_digit(const datetime_cursor *c)
{
    return c->at < c->end && *c->at >= '0' && *c->at <= '9';
}

/* Passes over one of these characters. */
static bool datetime_pass(datetime_cursor *c, const char *any)
{
    bool found = c->at < c->end && *c->at != '\0' && strchr(any, *c->at);

    c->at += found;
    return found;
}

/* Reads a number of exactly n digits. */
static bool datetime_number(datetime_cursor *c, int n, int64_t *out)
{
    int64_t value = 0;

    for (int i = 0; i < n; i++) {
        if (!datetime_is_digit(c)) return false;
        value = value * 10 + (*c->at++ - '0');
    }
    *out = value;
    return true;
}

/* Days from 1970-01-01 to a day of the Gregorian calendar, whose year begins in March so that
 * February ends it. */
static int64_t datetime_days(int64_t year, int64_t month, int64_t day)
{
    int64_t y = year - (month <= 2), of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5;

    return y * 365 + y / 4 - y / 100 + y / 400 - (y < 0) + of_year + day - 1 - 719468;
}

static int64_t datetime_month_days(int64_t year, int64_t month)
{
    static const int8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (leap && month == 2);
}

static const char *datetime_date(datetime_cursor *c, int64_t *days)
{
    int64_t year, month = 1, day = 1;

    if (!datetime_number(c, 4, &year)) return datetime_grammar;
    if (datetime_pass(c, "-")) {
        if (!datetime_number(c, 2, &month)) return datetime_grammar;
        if (datetime_pass(c, "-") && !datetime_number(c, 2, &day)) return datetime_grammar;
    } else if (datetime_is_digit(c)) {
        if (!datetime_number(c, 2, &month) || !datetime_number(c, 2, &day))
            return datetime_grammar;
    }
    if (year == 0 || month < 1 || month > 12 || day < 1 || day > datetime_month_days(year, month))
        return "no day of the calendar";
    *days = datetime_days(year, month, day);
    return NULL;
}

/* Reads a fraction of a second; *out = its ticks. */
static const char *datetime_fraction(datetime_cursor *c, int64_t ticks, int64_t *out)
{
    int64_t nanos = 0;
    int     n = 0;

    for (; datetime_is_digit(c); c->at++, n++) {
        if (n < DATETIME_FINEST) nanos = nanos * 10 + (*c->at - '0');
        else if (*c->at != '0') return "the fraction of a second needs a finer unit";
    }
    if (n == 0) return datetime_grammar;
    for (; n < DATETIME_FINEST; n++) nanos *= 10;
    if (nanos % (1000000000 / ticks) != 0)
        return "the fraction of a second needs a finer unit";
    *out = nanos / (1000000000 / ticks);
    return NULL;
}

static const char *datetime_time(datetime_cursor *c, int64_t ticks, int64_t *seconds,
                                 int64_t *fraction)
{
    int64_t hour, minute = 0, second = 0;
    bool    colons;

    if (!datetime_number(c, 2, &hour)) return datetime_grammar;
    colons = datetime_pass(c, ":");
    if ((colons || datetime_is_digit(c)) && !datetime_number(c, 2, &minute))
        return datetime_grammar;
    if (colons ? datetime_pass(c, ":") : datetime_is_digit(c)) {
        if (!datetime_number(c, 2, &second)) return datetime_grammar;
        if (datetime_pass(c, ".,")) {
            const char *wrong = datetime_fraction(c, ticks, fraction);

            if (wrong) return wrong;
        }
    }
    if (hour > 23 || minute > 59 || second > 59) return "no time of a day";
    *seconds = hour * 3600 + minute * 60 + second;
    return NULL;
}

/* Returns the seconds by which a time is ahead of UTC. */
static const char *datetime_zone(datetime_cursor *c, int64_t *ahead)
{
    bool    behind = c->at < c->end && *c->at == '-';
    int64_t hour, minute = 0;

    if (c->at == c->end || datetime_pass(c, "Zz")) return NULL;
    if (!datetime_pass(c, "+-") || !datetime_number(c, 2, &hour)) return datetime_grammar;
    if ((datetime_pass(c, ":") || datetime_is_digit(c)) && !datetime_number(c, 2, &minute))
        return datetime_grammar;
    if (hour > 23 || minute > 59) return "no distance to UTC";
    *ahead = (hour * 3600 + minute * 60) * (behind ? -1 : 1);
    return NULL;
}

static datetime_cursor datetime_trim(const char *text, size_t n)
{
    datetime_cursor c = { text, text + n };

    while (c.at < c.end && (*c.at == ' ' || *c.at == '\t')) c.at++;
    while (c.at < c.end && (c.end[-1] == ' ' || c.end[-1] == '\t')) c.end--;
    return c;
}

const char *levada_datetime_read(const char *text, size_t n, int64_t ticks, int64_t *out)
{
    datetime_cursor c = datetime_trim(text, n);
    int64_t         days = 0, seconds = 0, fraction = 0, ahead = 0;
    const char     *wrong = datetime_date(&c, &days);

    if (!wrong && datetime_pass(&c, "Tt ")) {
        wrong = datetime_time(&c, ticks, &seconds, &fraction);
        while (!wrong && datetime_pass(&c, " ")) continue;
        if (!wrong) wrong = datetime_zone(&c, &ahead);
    }
    if (wrong) return wrong;
    if (c.at < c.end) return datetime_grammar;
    seconds += days * 86400 - ahead;
    if (seconds < 0 && fraction > 0) { /* so that the product is not beyond int64 by itself */
        seconds++;
        fraction -= ticks;
    }
    if (LEVADA_MUL_OVERFLOW(seconds, ticks, out) || LEVADA_ADD_OVERFLOW(*out, fraction, out) ||
        *out == LEVADA_DATETIME_NONE)
        return "the time is beyond int64 in this unit";
    return NULL;
}
