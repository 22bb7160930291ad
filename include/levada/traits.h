/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traits: what a stage, source, decoder or combiner does to records. For authors.
 *
 * A descriptor declares them once. levada divides a dataset among ranks, counts its records,
 * explains it, and decides what it may cache, fetch late or read again from the traits; it knows
 * no names of stages. `levada check` compares each trait with the behavior. Zero is always the
 * weakest promise: a stage that declares nothing is handled correctly, but gains nothing.
 *
 * Example:
 *
 *     static const levada_traits *const keeps_rows =
 *         LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS);
 */
#ifndef LEVADA_TRAITS_H
#define LEVADA_TRAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The relation between the records of the result and of the input. The core copies the origins of
 * records that apply() returns ONE_TO_ONE. */
typedef enum levada_rows {
    LEVADA_ROWS_MANY,       /* any mapping: buffered records cannot be re-read through it */
    LEVADA_ROWS_ONE_TO_ONE, /* record i of the result is made from record i of the input  */
    LEVADA_ROWS_SUBSET,     /* some of the records, unchanged, in order                   */
    LEVADA_ROWS_PERMUTES,   /* all of the records, unchanged, in any order                */
    LEVADA_ROWS_BATCHES,    /* batches of records                                         */
    LEVADA_ROWS_UNBATCHES   /* the records of batches, in order                           */
} levada_rows;

/* The data that a stage reads to process a record. */
typedef enum levada_reads {
    LEVADA_READS_ALL,     /* anything, including other records, their number or order */
    LEVADA_READS_COLUMNS, /* only the columns of the record                           */
    LEVADA_READS_NONE     /* only numbers and order; no columns                       */
} levada_reads;

/* The use of random numbers, which depend on the option `seed` of the stage, else on the seed of
 * the iterator. */
typedef enum levada_random {
    LEVADA_RANDOM_NONE,
    LEVADA_RANDOM_BY_RECORD, /* values, drawn for the record's origin and the pass */
    LEVADA_RANDOM_BY_SEED,   /* selection or order of records, equal in each pass  */
    LEVADA_RANDOM_BY_PASS    /* selection or order, drawn again in each pass       */
} levada_random;

typedef struct levada_traits {
    size_t        struct_size; /* set by LEVADA_TRAITS */
    levada_rows   rows;
    levada_reads  reads;
    levada_random random;
    const char   *drawn; /* description of the draws for levada_dataset_explain: "order of
                          * records" */
    /* Parts of the records may be selected upstream of the stage instead of downstream; all parts
     * together contain the same records (batches: of the same records). Implied if it reads COLUMNS
     * and does not batch. */
    bool    divides;
    bool    keeps_lengths; /* no field changes its length; implied if records do not change */
    bool    never_rejects; /* it rejects no record                                          */
    bool    side_effects;  /* it calls a function of the user, which may have any effect    */
    /* It divides records among `count` ranks and emits those of rank `index`; both are options with
     * these names. The fingerprint of a dataset omits the stage, and a checkpoint can be restored
     * only if these stages have the same options. */
    bool    shards;
    int64_t repeats; /* SERIAL: number of passes over its input, so that origins differ in each
                      * pass: INT64_MAX = forever, 0 = once */
    const char *saves; /* content of the saved state, for levada_dataset_explain; NULL = the
                        * position */
    /* Returns the number of records (batches) of the result for `n` good records of the input; -1 =
     * not known. NULL = it follows from `rows`, or is not known. */
    int64_t (*count)(const void *args, int64_t n);
    /* Changes the traits that depend on the options. NULL = none do. */
    void (*vary)(const void *args, struct levada_traits *traits);
} levada_traits;

/* Declares constant traits in a descriptor outside of functions. */
#define LEVADA_TRAITS(...) \
    (&(const levada_traits){ .struct_size = sizeof(levada_traits), __VA_ARGS__ })

#ifdef __cplusplus
}
#endif

#endif
