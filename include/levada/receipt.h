/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence of what an iterator delivered: batch receipts, the replay of single batches, and epoch
 * receipts, which say whether every record was delivered once.
 *
 * A *batch receipt* names a batch and its values. Print it into the log of a training run:
 * levada_iter_replay rebuilds that batch later, and the receipts of both say whether every value is
 * the same.
 *
 * An *epoch receipt* says which records were delivered, and how often, in any order. Each iterator
 * has one, which its checkpoints contain. Receipts of ranks, parts and runs add up
 * (levada_receipts_merge). levada_receipts_check compares the sum with the records of a dataset and
 * names files and records that are missing or came twice. A receipt has at most 820 bytes, as text
 * 1,100. That is enough to name some ten places in files, or any number of records of some ten
 * ranges of 4,096; where more differ, the report has counts and says so. Files have their names
 * without directories. A row that `pack` or `collect` made of several records counts as its first
 * record, and segments of a sequence count as one record.
 *
 * Receipts find accidents. They are hashes that anybody can compute, so they are no signature.
 *
 * Example:
 *
 *     levada_dataset *dataset = NULL;
 *     levada_iter    *it = NULL, *again = NULL;
 *     levada_block   *batch = NULL;
 *     char           *receipt = NULL, *report = NULL;
 *     levada_status   st;
 *
 *     LEVADA_TRY(levada_dataset_parse(NULL, "range:100 | shuffle:50 | batch:8", &dataset, err));
 *     LEVADA_TRY(levada_iter_open(dataset, NULL, &it, err));
 *     while ((st = levada_iter_next(it, &batch, err)) == LEVADA_OK) levada_block_unref(&batch);
 *     if (st != LEVADA_END) return st;
 *     LEVADA_TRY(levada_iter_delivered(it, &receipt, err));
 *     LEVADA_TRY(levada_iter_open(dataset, NULL, &again, err));
 *     LEVADA_TRY(levada_receipts_check(again, receipt, 0, &report, err));
 *     puts(report); // {"complete":true,"epochs":1,"delivered":100,...
 *     levada_string_free(&report);
 *     levada_string_free(&receipt);
 *     levada_iter_close(&again);
 *     levada_iter_close(&it);
 *     levada_dataset_unref(&dataset);
 */
#ifndef LEVADA_RECEIPT_H
#define LEVADA_RECEIPT_H

#include <levada/iter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- batches */

/* The receipt of a batch (or of a block, where nothing is batched). Equal structs: the same values
 * under the same names, at the same place of the same epoch of the same pipeline. */
typedef struct levada_batch_receipt {
    uint64_t pipeline; /* hash of the fingerprint of the dataset, and of the seed         */
    int64_t  step;     /* number of the batch, from 0                             */
    uint32_t epoch;
    uint32_t records;
    uint8_t  digest[16]; /* hash of names, dtypes and values */
} levada_batch_receipt;

/* Sets *out to the receipt of a batch that the iterator returned, the `step`-th one from 0. With
 * step = -1 it is the last one that it returned. Reads all values of the batch. `batch` may be
 * NULL: levada_batch_receipt_fill then adds records and digest, also after the iterator was closed.
 */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_receipt(levada_iter          *it,
                                                             const levada_block   *batch,
                                                             int64_t               step,
                                                             levada_batch_receipt *out,
                                                             levada_error         *err);
/* Adds the records and the digest of a batch to a receipt, also after the iterator was closed. */
LEVADA_API LEVADA_MUST_USE levada_status levada_batch_receipt_fill(levada_batch_receipt *receipt,
                                                                   const levada_block   *batch,
                                                                   levada_error         *err);
/* Writes a receipt as text of 59 letters, digits and -_, to be freed with levada_string_free. */
LEVADA_API LEVADA_MUST_USE levada_status levada_batch_receipt_print(
     const levada_batch_receipt *receipt, char **out, levada_error *err);
/* Reads that text; EINVALID_ARGUMENT: it is not one. */
LEVADA_API LEVADA_MUST_USE levada_status levada_batch_receipt_parse(const char           *text,
                                                                    levada_batch_receipt *out,
                                                                    levada_error         *err);

/* Returns batch number `step` of the epoch, after it has passed those before. EOUT_OF_RANGE: the
 * epoch has fewer batches. EFAILED_PRECONDITION: the batch was passed already, also by the
 * checkpoint that was restored; or the batches have states that the consumer returns
 * (levada_iter_feed). */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_seek(levada_iter *it, int64_t step,
                                                          levada_block **out,
                                                          levada_error  *err);
/* Returns batch number `step` of the epoch of an iterator, bit for bit, in a new iterator with the
 * same seed; `it` does not move. `state` (NULL = none) is a checkpoint of the same run from before
 * that batch, with which it begins, so that less is read. Both iterators run the functions of the
 * dataset. Errors as levada_iter_seek, and EFAILED_PRECONDITION: a source cannot be read twice. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_replay(levada_iter *it, const void *state,
                                                            size_t size, int64_t step,
                                                            levada_block **out,
                                                            levada_error  *err);

/* -- epochs */

/* Sets *out to the epoch receipt of all that the iterator returned, also before its checkpoint was
 * restored, to be freed with levada_string_free. */
LEVADA_API LEVADA_MUST_USE levada_status levada_iter_delivered(levada_iter *it, char **out,
                                                               levada_error *err);
/* Sets *out to the epoch receipt in a checkpoint of an iterator. `env`: NULL = the default one. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_delivered(levada_env *env,
                                                                const void *state, size_t size,
                                                                char **out, levada_error *err);
/* Adds up n epoch receipts. EINVALID_ARGUMENT: one of them is none. */
LEVADA_API LEVADA_MUST_USE levada_status levada_receipts_merge(const char *const *receipts,
                                                               int64_t n, char **out,
                                                               levada_error *err);
/* Runs an iterator to its end, and compares what it returned with a receipt. Its dataset may be the
 * source alone if all records of that were to be delivered. `epochs`: how often each record must be
 * there, at most 1,000,000; 0 = the multiple that is nearest. ECANCELLED: interrupted.
 *
 * *out is JSON, to be freed with levada_string_free:
 *
 *     {"complete": false,      // true: each record as often as in `epochs` runs of the dataset
 *      "epochs": 1,
 *      "delivered": 39300,     // records of the receipt
 *      "expected": 39364,      // those of the dataset, in all epochs
 *      "files": 64,            // of the dataset
 *      "skipped": 0,           // bad records that `errors` skipped
 *      "unknown": 0,           // records without an origin, or before a checkpoint without receipt
 *      "differences": [        // records < 0: missing ones; > 0: that came once more than expected
 *        {"file": "train-00.tfrecord", "first": 512, "last": 575, "records": -64, "all": true}],
 *      "named": true}          // false: others differ, too, in too many places
 *
 * "all": false means that `records` of those from `first` to `last` differ. */
LEVADA_API LEVADA_MUST_USE levada_status levada_receipts_check(levada_iter *it,
                                                               const char  *receipt,
                                                               int64_t epochs, char **out,
                                                               levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
