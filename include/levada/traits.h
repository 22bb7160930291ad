/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traits: what a stage, source, decoder or combiner does to records. For authors.
 *
 * A descriptor declares them once. levada divides a dataset among ranks, counts its records,
 * explains it, and decides what it may cache, fetch late or read again from the traits; it knows
 * no names of stages. `levada check` compares each trait with the behavior. Zero is always the
 * weakest promise: a stage that declares nothing is handled correctly, but gains nothing.
 *
 *     .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
 */
#ifndef LEVADA_TRAITS_H
#define LEVADA_TRAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the records of the result follow from those of the input. The core moves the origins of
 * records that apply() makes ONE_TO_ONE. */
typedef enum levada_rows {
    LEVADA_ROWS_MANY,       /* anything: records are not readable again through the stage      */
    LEVADA_ROWS_ONE_TO_ONE, /* record i of the result is made of record i of the input         */
    LEVADA_ROWS_SUBSET,     /* some of the records, unchanged and in their order               */
    LEVADA_ROWS_PERMUTES,   /* all of the records, unchanged, in any order                     */
    LEVADA_ROWS_BATCHES,    /* batches of records                                              */
    LEVADA_ROWS_UNBATCHES   /* the records of batches, in their order                          */
} levada_rows;

/* What decides about a record. */
typedef enum levada_reads {
    LEVADA_READS_ALL,     /* anything: also other records, their number or their order         */
    LEVADA_READS_COLUMNS, /* its own columns, and nothing else                                 */
    LEVADA_READS_NONE     /* numbers and order alone: the stage looks at no column             */
} levada_reads;

/* What random numbers decide. They follow from the option `seed`, where a stage has one, else from
 * the seed of the iterator. */
typedef enum levada_random {
    LEVADA_RANDOM_NONE,
    LEVADA_RANDOM_BY_RECORD, /* values, drawn by the origin of the record and the pass         */
    LEVADA_RANDOM_BY_SEED,   /* which records there are, or their order: the same in each pass */
    LEVADA_RANDOM_BY_PASS    /* the same, drawn again in each pass                             */
} levada_random;

typedef struct levada_traits {
    size_t        struct_size; /* set by LEVADA_TRAITS */
    levada_rows   rows;
    levada_reads  reads;
    levada_random random;
    const char   *drawn; /* what is random, for levada_dataset_explain: "order of records" */
    /* A part of the records may be taken upstream of the stage in place of downstream: all parts
     * together have the same records (batches: of the same records). Implied where it reads COLUMNS
     * and makes no batches. */
    bool    divides;
    bool    keeps_lengths; /* no field changes its length; implied where records stay unchanged  */
    bool    never_rejects; /* no record is bad to it */
    bool    side_effects;  /* it calls a function of the user, which may do and draw anything    */
    /* It deals records out to `count` ranks and emits those of rank `index`; both are options of
     * these names. The fingerprint of a dataset omits the stage, and a state is restored only where
     * these stages have the options that they had when it was saved. */
    bool    shards;
    int64_t repeats; /* SERIAL: how often it reads its input from the beginning, so that origins
                      * differ in each pass: INT64_MAX = without an end, 0 = once               */
    const char *saves; /* what save() writes, for levada_dataset_explain; NULL = its position   */
    /* The number of records (batches) of the result where `n` come in and none is bad; -1 = not
     * known. NULL: it follows from `rows`, or is not known. */
    int64_t (*count)(const void *args, int64_t n);
    /* Changes what depends on the options. NULL = nothing does. */
    void (*vary)(const void *args, struct levada_traits *traits);
} levada_traits;

/* Constant traits, for a descriptor outside of functions. */
#define LEVADA_TRAITS(...) \
    (&(const levada_traits){ .struct_size = sizeof(levada_traits), __VA_ARGS__ })

#ifdef __cplusplus
}
#endif

#endif
