/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that users of levada need. Authors of stages, sources, decoders and plug-ins include
 * the header of what they write (stage.h, source.h, decoder.h, filter.h).
 */
#ifndef LEVADA_LEVADA_H
#define LEVADA_LEVADA_H

#include <levada/barrier.h>
#include <levada/block.h>
#include <levada/builder.h>
#include <levada/coordinator.h>
#include <levada/dataset.h>
#include <levada/env.h>
#include <levada/error.h>
#include <levada/example.h>
#include <levada/function.h>
#include <levada/inspect.h>
#include <levada/iter.h>
#include <levada/queue.h>
#include <levada/reader.h>
#include <levada/spec.h>
#include <levada/tensor.h>
#include <levada/value.h>
#include <levada/watchdog.h>
#include <levada/writer.h>

#endif
