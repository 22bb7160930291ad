/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of sound, as stages read them: [frames] or [frames, channels] per record, the frames
 * ragged or a dimension. Pure, any thread.
 */
#ifndef LEVADA_TRANSFORM_SAMPLES_H
#define LEVADA_TRANSFORM_SAMPLES_H

#include <levada/stage.h>

/* Returns EINVALID_ARGUMENT if the field is not of that form. */
LEVADA_MUST_USE levada_status levada_samples_check(const levada_field *f, levada_error *err);
/* Refuses also all dtypes but float32, float64, int16 and int32. */
LEVADA_MUST_USE levada_status levada_samples_check_audio(const levada_field *f, levada_error *err);
/* Converts n samples from and to float64. Of a result beyond the range of int16 or int32 the
 * nearest limit is stored, of others the nearest integer; floats are not limited. */
void levada_samples_load(levada_dtype dtype, const uint8_t *from, int64_t n, double *to);
void levada_samples_store(levada_dtype dtype, const double *from, int64_t n, uint8_t *to);
/* Multiplies n samples as float64, and stores the results as levada_samples_store does. */
void levada_samples_scale(levada_dtype dtype, const uint8_t *from, int64_t n, double factor,
                          uint8_t *to);
/* Returns the dimension of the channels: 1 of [frames]. */
int64_t levada_samples_channels(const levada_field *f);
/* Makes the frames ragged: for a result whose frames differ from record to record. */
void levada_samples_ragged(levada_field *f);
/* Returns the samples of a record, channels of a frame next to each other. */
const uint8_t *levada_samples_row(const levada_column *c, int64_t row, int64_t *frames);

/* Checks a column of one int32 or int64 per record; else EINVALID_ARGUMENT. */
LEVADA_MUST_USE levada_status levada_rate_check(const levada_field *f, levada_error *err);
int64_t levada_rate_row(const levada_column *c, int64_t row);

#endif
