/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages that change a field of each record at random. What a record draws depends on seed, epoch
 * and origin alone: not on threads, blocks, ranks or a restored checkpoint. levada_augment_apply is
 * for those that keep the shape of audio and spectrograms: gain, add_noise and spec_augment.
 */
#ifndef LEVADA_TRANSFORM_AUGMENT_H
#define LEVADA_TRANSFORM_AUGMENT_H

#include "base/random.h"
#include "transform/one_field.h"
#include "transform/samples.h"

/* The options of all these stages: levada_augment_args begins their struct. */
typedef struct levada_augment_args {
    const char *field;
    int64_t     seed;
} levada_augment_args;

#define LEVADA_AUGMENT_FIELD(doc_of_field)                                                    \
    LEVADA_ARG(TEXT, levada_augment_args, field, .required = true, .positional = true,        \
               .doc = doc_of_field)
#define LEVADA_AUGMENT_SEED                                                                   \
    LEVADA_ARG(INT, levada_augment_args, seed, .min = 0, .max = INT64_MAX,                    \
               .doc = "seed of this stage; stages with the same seed on other fields draw the " \
                      "same numbers; null = the seed of the iterator")
#define LEVADA_AUGMENT_ARGUMENTS(doc_of_field) \
    LEVADA_AUGMENT_FIELD(doc_of_field), LEVADA_AUGMENT_SEED
#define LEVADA_AUGMENT_AUDIO                                                                  \
    "field with audio: [frames] or [frames, channels] of float32, float64, int16 or int32"

/* State of a stage that draws. */
typedef struct levada_augment_state {
    levada_columns_state shared;
    uint64_t             key; /* of the stage in this epoch */
} levada_augment_state;

/* Refuses a field without audio: a levada_field_change. */
LEVADA_MUST_USE levada_status levada_augment_audio(const void *args, levada_field *f,
                                                   levada_error *err);
/* Opens and closes a stage with this state: hooks open() and close(). */
levada_status levada_augment_open(void *state, const void *args, const levada_context *context,
                                  levada_error *err);
void          levada_augment_close(void *state);

/* The numbers from which a record draws one. */
typedef struct levada_range {
    double low, high;
} levada_range;

/* Reads an option that is one number or [low, high]. */
LEVADA_MUST_USE levada_status levada_range_read(levada_floats option, const char *name,
                                                levada_range *out, levada_error *err);
/* Returns the number of the range that 64 random bits select, all alike. */
double levada_range_draw(levada_range range, uint64_t bits);

/* A record on its way through apply(). */
typedef struct levada_augment_row {
    int64_t        row, frames, channels;
    levada_dtype   dtype;
    const uint8_t *from;
    uint8_t       *to;  /* the result: as many numbers as `from` has */
    uint64_t       key; /* of the random numbers of the record       */
} levada_augment_row;

/* Fills row->to. A record for which it fails is bad, and stays as it was. */
typedef levada_status levada_augment_fill(const void *work, const levada_augment_row *row,
                                          levada_error *why);

/* Implements apply(): returns the block with the result of `fill` for each record. `check` is that
 * of the stage, and lets only fields pass that levada_samples_check accepts. */
LEVADA_MUST_USE levada_status levada_augment_apply(levada_augment_state *s, levada_derive check,
                                                   const void          *args,
                                                   levada_augment_fill *fill, const void *work,
                                                   const levada_block *in, levada_block **out,
                                                   levada_error *err);

#endif
