/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receipt: which records were delivered, and how often, in any order. Receipts of ranks, of runs
 * between crashes and of epochs are added up; the difference of two receipts names the records that
 * one of them lacks, as long as these lie in few places.
 *
 * A receipt is a row of cells that hold sums. Each record is added to two cells of its file and to
 * two cells of its range of LEVADA_RECEIPT_RANGE records, which hashes of the file and of the range
 * choose. So a cell to which only one place differs says which one (levada/receipt.h). Equal
 * receipts of different records would need sums of 64-bit hashes that collide.
 *
 * A receipt belongs to one thread. It owns nothing, and adding cannot fail.
 */
#ifndef LEVADA_STATE_RECEIPT_H
#define LEVADA_STATE_RECEIPT_H

#include "base/text.h"
#include "state/state_priv.h"

enum {
    LEVADA_RECEIPT_RANGE = 4096, /* records */
    LEVADA_RECEIPT_FILE_CELLS = 16,
    LEVADA_RECEIPT_CELLS = LEVADA_RECEIPT_FILE_CELLS + 32, /* the others are of ranges */
};

/* Sums modulo 2^64 over the records of a cell. */
typedef struct levada_receipt_cell {
    uint64_t places;  /* hashes of their files, or of their ranges: odd, so that the sum for n
                       * records of one place tells n */
    uint64_t records; /* hashes of the records */
} levada_receipt_cell;

typedef struct levada_receipt {
    uint64_t rows;    /* all that were delivered */
    uint64_t unknown; /* of these, those that are in no cell: without an origin, or delivered
                       * before a checkpoint that has no receipt */
    uint64_t skipped; /* bad records that `errors` skipped */
    levada_receipt_cell cells[LEVADA_RECEIPT_CELLS];
} levada_receipt;

/* Returns the hash of a file by that of its base name (run/file_hash.h); odd. */
uint64_t levada_receipt_file(uint64_t name);
/* Returns the hash of the range of a record of a file; odd. */
uint64_t levada_receipt_range(uint64_t file, int64_t number);
/* Sets the numbers of the two cells of a file or, with `range`, of a range. */
void levada_receipt_cells(uint64_t hash, bool range, int32_t cells[2]);

/* Adds the records [first, first + n) of a file. */
void levada_receipt_add(levada_receipt *to, uint64_t file, int64_t first, int64_t n);
/* Adds n records of a file by the numbers in their origins, which are at least 0. */
void levada_receipt_add_each(levada_receipt *to, uint64_t file, const levada_origin *each,
                             int64_t n);
/* Returns the sum of the hashes of these records, which are in one range. */
uint64_t levada_receipt_hash(uint64_t range, int64_t first, int64_t n);
/* Adds all of another receipt `times` times; negative: takes it off. */
void levada_receipt_merge(levada_receipt *to, const levada_receipt *from, int64_t times);

/* Returns how many records of a place make a sum of the hashes of places; negative: they were taken
 * off. Not a small number if the sum is of other places. */
int64_t levada_receipt_count(uint64_t place, uint64_t sum);

/* Writes bytes as text of letters, digits and -_ that begins with `prefix`. */
void levada_receipt_encode(const char *prefix, const uint8_t *bytes, size_t size,
                           levada_text *text);
/* Reads that text, and sets *size to the number of bytes, at most `most`. Returns false if it is
 * another one. */
bool levada_receipt_decode(const char *prefix, const char *text, uint8_t *bytes, size_t most,
                           size_t *size);
/* Writes a receipt as such a text. */
void levada_receipt_print(const levada_receipt *receipt, levada_text *text);
/* Reads the text of a receipt; EINVALID_ARGUMENT: it is not one. */
LEVADA_MUST_USE levada_status levada_receipt_parse(const char *text, levada_receipt *out,
                                                   levada_error *err);

LEVADA_MUST_USE levada_status levada_receipt_put(const levada_receipt *receipt,
                                                 levada_state_writer *to, levada_error *err);
/* Reads the receipt of a state; if the state has none, its `rows` records are unknown. */
LEVADA_MUST_USE levada_status levada_receipt_load(levada_state_reader *from, int64_t rows,
                                                  levada_receipt *out, levada_error *err);

#endif
