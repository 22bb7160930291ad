/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every filter must do; test_gzip, test_zlib and test_zstd call these with their name.
 */
#ifndef LEVADA_TESTS_SUPPORT_CODEC_H
#define LEVADA_TESTS_SUPPORT_CODEC_H

#include "support/files.h"

/* Decodes with steps of these sizes (0 = all at once). What was made before an error counts, but
 * for the call that failed. */
levada_status t_decode(const char *filter, t_bytes in, size_t in_step, size_t out_step,
                       t_bytes *out);

/* Some text, 300 kB of it. */
t_bytes t_prose(void);

void t_codec_round_trips(const char *filter);
/* Every cut of a stream is EDATA_LOSS, in one piece and bytewise. */
void t_codec_reports_cuts(const char *filter);
/* Changed bytes are EDATA_LOSS or, where nothing depends on them, the right bytes. */
void t_codec_reports_changes(const char *filter);
/* The same bytes each time, whatever stands in memory, and in pieces of any size. */
void t_codec_returns_what_is_before_damage(const char *filter);
/* What was put in before a flush can be decoded from the bytes made so far. */
void t_codec_flushes(const char *filter);
/* Through the file reader: lines, offsets, again from an offset. */
void t_codec_reads_files(const char *filter);

#endif
