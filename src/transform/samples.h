/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of sound, as stages read them: [frames] or [frames, channels] per record, the frames
 * ragged or a dimension. Pure, any thread.
 */
#ifndef LEVADA_TRANSFORM_SAMPLES_H
#define LEVADA_TRANSFORM_SAMPLES_H

#include <levada/stage.h>

/* EINVALID_ARGUMENT where the field is not of that form. */
LEVADA_MUST_USE levada_status levada_samples_check(const levada_field *f, levada_error *err);
/* Dimension of the channels: 1 of [frames]. */
int64_t levada_samples_channels(const levada_field *f);
/* Makes the frames ragged: for a result whose frames differ from record to record. */
void levada_samples_ragged(levada_field *f);
/* Returns the samples of a record, channels of a frame next to each other. */
const uint8_t *levada_samples_row(const levada_column *c, int64_t row, int64_t *frames);

/* Checks a column of one int32 or int64 per record; else EINVALID_ARGUMENT. */
LEVADA_MUST_USE levada_status levada_rate_check(const levada_field *f, levada_error *err);
int64_t levada_rate_row(const levada_column *c, int64_t row);

#endif
