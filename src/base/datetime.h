/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dates and times as text (ISO 8601) to ticks since 1970-01-01T00:00:00 UTC.
 *
 * 2024-02-29, 2024-02-29T12:30, 2024-02-29 12:30:15.123456789Z, 20240229T123015+0200: a date, and
 * after T or a space the time to the hour, minute, second or a fraction of it, and its distance to
 * UTC. Without a distance the time is UTC. 2024-02 and 2024 are the first day of the month and the
 * year. White space may be around them. Pure functions.
 */
#ifndef LEVADA_BASE_DATETIME_H
#define LEVADA_BASE_DATETIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No time: NaT of NumPy. */
#define LEVADA_DATETIME_NONE INT64_MIN

/* Returns the ticks per second that "datetime64[s]", "datetime64[ms]", "datetime64[us]" or
 * "datetime64[ns]" names; 0 = another word, or NULL. */
int64_t levada_datetime_ticks(const char *word);
/* Returns the word for 1, 1000, 1000000 or 1000000000 ticks per second. */
const char *levada_datetime_word(int64_t ticks);

/* Reads all of text[0, n). NULL, or what is wrong with it: not ISO 8601, no day of the calendar,
 * beyond int64, or a fraction that is not a whole number of ticks. */
const char *levada_datetime_read(const char *text, size_t n, int64_t ticks, int64_t *out);

#endif
