/* SPDX-License-Identifier: Apache-2.0 */
/* The text of the sample files: 300 speeches of Shakespeare's "Coriolanus" (public domain), each
 * "SPEAKER:\nlines", separated by an empty line. Not terminated. */
#ifndef LEVADA_SINK_SAMPLE_H
#define LEVADA_SINK_SAMPLE_H

#include <stddef.h>

extern const char   levada_sample_text[];
extern const size_t levada_sample_text_size;

#endif
