/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sample files: small real data, so that every example in the documentation runs.
 *
 * The data are the first 300 speeches of Shakespeare's "Coriolanus". Each speech is one record;
 * its bytes are its tokens, and its length varies from 6 to 1,006.
 *
 *   train-0.tfrecord.gz  150 tf.train.Example records: `tokens` (int64, one per byte of the
 *   train-1.tfrecord.gz  speech), `label` (int64, the number of the speaker), `speaker` (bytes)
 *   spec.json            the features `tokens` and `label`, for parse_example:@spec.json
 *   speeches.txt         one speech per line, for text_lines
 */
#ifndef LEVADA_SAMPLE_H
#define LEVADA_SAMPLE_H

#include <levada/env.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the four files into an existing directory and replaces files of these names. `env` may be
 * NULL. Any thread. Errors are those of levada_writer; a file that failed is not complete. */
LEVADA_API LEVADA_MUST_USE levada_status levada_sample_write(levada_env *env, const char *folder,
                                                             levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
