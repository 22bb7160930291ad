/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of datasets for ranks and workers, and the length of datasets. The traits of the stages
 * (traits.h) decide where a part is taken, so plug-ins take part.
 *
 * Example:
 *
 *     levada_divide_options options = LEVADA_DIVIDE_OPTIONS_INIT;
 *     levada_dataset       *dataset = NULL, *ours = NULL;
 *     int64_t               records;
 *
 *     options.index = 1; // rank 1 of 4
 *     options.count = 4;
 *     LEVADA_TRY(levada_dataset_parse(NULL, "range:100", &dataset, err));
 *     LEVADA_TRY(levada_dataset_divide(dataset, &options, &ours, err));
 *     LEVADA_TRY(levada_dataset_length(ours, &records, err)); // 25
 *     levada_dataset_unref(&ours);
 *     levada_dataset_unref(&dataset);
 */
#ifndef LEVADA_DIVIDE_H
#define LEVADA_DIVIDE_H

#include <levada/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum levada_divide {
    LEVADA_DIVIDE_RECORDS, /* a shard, as near to each source as the stages allow             */
    LEVADA_DIVIDE_FILES    /* a range of the records of files that have an index, else whole
                            * files; a shard where neither is possible                        */
} levada_divide;

typedef struct levada_divide_options {
    size_t        struct_size;
    int64_t       index, count; /* part `index` of `count`                                    */
    levada_divide by;
    /* "drop" or "pad", as of the stage `shard`: all parts have the same number of batches (records
     * where nothing was batched). NULL = parts may differ. */
    const char *equal;
    bool        seeded; /* the iterators of all parts will have the same seed                  */
    bool        skips;  /* their `errors` may skip records                                     */
} levada_divide_options;

#define LEVADA_DIVIDE_OPTIONS_INIT                             \
    {                                                          \
        sizeof(levada_divide_options), 0, 1, LEVADA_DIVIDE_RECORDS, NULL, false, false \
    }

/* Sets the first `size` bytes to the defaults. */
LEVADA_API void levada_divide_options_init(levada_divide_options *all, size_t size);

/* Returns one part of a dataset: each record is in exactly one of the parts, and a part decodes,
 * shuffles and batches no others as far as possible. EFAILED_PRECONDITION: something upstream of
 * the shard draws random numbers and has no seed, and `seeded` is false; or batches cannot be
 * divided equally. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_dataset_divide(const levada_dataset *dataset, const levada_divide_options *options,
                      levada_dataset **out, levada_error *err);
/* Checks a dataset in which the caller has placed a shard or ranks: EFAILED_PRECONDITION if
 * something upstream of it draws from the seed of the iterator. */
LEVADA_API LEVADA_MUST_USE levada_status levada_dataset_check_divided(const levada_dataset *dataset,
                                                                      levada_error *err);
/* Returns the number of records (batches) of a dataset; -1 if it is not known before they are read.
 * Records that are skipped count. Reads the indexes of files. */
LEVADA_API LEVADA_MUST_USE levada_status levada_dataset_length(const levada_dataset *dataset,
                                                               int64_t              *records,
                                                               levada_error         *err);

#ifdef __cplusplus
}
#endif

#endif
