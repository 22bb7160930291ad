/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes sample files, small real data with which every example of the documentation runs.
 *
 * The data are the first 300 speeches of Shakespeare's "Coriolanus". Each speech is one record
 * whose tokens are its bytes, 6 to 1,006 of them.
 *
 *   train-0.tfrecord.gz  150 tf.train.Example records: `tokens` (int64, one per byte of the
 *   train-1.tfrecord.gz  speech), `label` (int64, the number of the speaker), `speaker` (bytes)
 *   spec.json            the features `tokens` and `label`, for parse_example:@spec.json
 *   speeches.txt         one speech per line, for text_lines
 *
 * Example:
 *
 *     LEVADA_TRY(levada_sample_write(NULL, ".", err)); // train-0.tfrecord.gz, speeches.txt, ...
 */
#ifndef LEVADA_SAMPLE_H
#define LEVADA_SAMPLE_H

#include <levada/env.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the four files to an existing directory and replaces files of these names. `env` may be
 * NULL. Any thread. Returns the errors of levada_writer. */
LEVADA_API LEVADA_MUST_USE levada_status levada_sample_write(levada_env *env, const char *folder,
                                                             levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
