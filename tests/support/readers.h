/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues of file names and readers for tests, and what readers return as text.
 */
#ifndef LEVADA_TESTS_SUPPORT_READERS_H
#define LEVADA_TESTS_SUPPORT_READERS_H

#include "support/queues.h"

#include <levada/reader.h>

/* An unbounded queue of scalars of byte strings. */
levada_queue *test_names(void);
void          test_add_name(levada_queue *queue, const char *name);
/* With these names (to the first NULL), closed. */
levada_queue *test_names_of(const char *const names[]);
void          test_close_names(levada_queue *queue);

levada_reader *test_reader(const levada_reader_options *options);
levada_reader *test_reader_of(levada_reader_kind kind);

/* One call that must succeed; *text (512 bytes at most) gets "key=value ". */
void test_read(levada_reader *reader, levada_queue *queue, char text[512]);
/* Reads one by one until that error; `pairs` is all that came before it. */
void test_reads(levada_reader *reader, levada_queue *queue, const char *pairs,
                levada_status status);
/* read_up_to(n) until that error; the rows of each call are followed by "| ". */
void test_reads_up_to(levada_reader *reader, levada_queue *queue, int64_t n, const char *pairs,
                      levada_status status);
/* A read that must fail so, without waiting, and whose message holds the text. */
void test_refuses(levada_reader *reader, levada_queue *queue, levada_status status,
                  const char *text);
void test_counts(levada_reader *reader, int64_t produced, int64_t finished);
void test_drop_reader(levada_reader **reader, levada_queue **queue);

/* A file in the folder of the test, and its path, which is valid for eight such calls. */
const char *test_write_text(const char *name, const char *text);
/* `count` records "name0", "name1", ... through a filter, or NULL. */
const char *test_write_records(const char *name, const char *filter, int count);

#endif
