/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LEVADA_SINK_WRITER_PRIV_H
#define LEVADA_SINK_WRITER_PRIV_H

#include <levada/writer.h>

/* Lets `threads` threads compress, where the filter can; before the first byte. */
LEVADA_MUST_USE levada_status levada_writer_threads(levada_writer *writer, int32_t threads,
                                                    levada_error *err);

#endif
