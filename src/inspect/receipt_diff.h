/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The difference of two receipts, taken apart: which files and records it is made of.
 *
 * A cell whose sum is a small multiple of the hash of one of its places got records of that place
 * only. What is found there is taken off all cells of these records, so that other cells become as
 * simple, until nothing is left or nothing more is found.
 *
 * One thread; pure but for memory.
 */
#ifndef LEVADA_INSPECT_RECEIPT_DIFF_H
#define LEVADA_INSPECT_RECEIPT_DIFF_H

#include "state/receipt.h"

/* A file that may have records in the difference, or a range of LEVADA_RECEIPT_RANGE of a file. */
typedef struct levada_receipt_place {
    uint64_t hash;
    int64_t  file;           /* its number                               */
    int64_t  first, last;    /* the least and the largest number in it   */
    int64_t  records;        /* as many should have come from it         */
    bool     range;
} levada_receipt_place;

typedef struct levada_receipt_found {
    int64_t file, first, last;
    int64_t records; /* < 0: that were missing; > 0: that came once more than expected */
    bool    all;     /* of first to last; else as many of them, as the balance          */
} levada_receipt_found;

typedef struct levada_receipt_diff {
    levada_receipt             left; /* what is not explained */
    const levada_receipt_place *places; /* all files, then all ranges */
    int64_t                     n;
    levada_receipt_found       *found; /* freed by the caller with levada_free */
    int64_t                     nfound, capacity;
    bool                        named; /* nothing is left */
} levada_receipt_diff;

/* Fills `found` and `named`; `left` is the difference on entry. */
LEVADA_MUST_USE levada_status levada_receipt_explain(levada_receipt_diff *diff,
                                                     levada_error        *err);

#endif
