/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Includes every header for programs that use levada. Authors of stages, sources, decoders and
 * plug-ins include the corresponding header (stage.h, source.h, decoder.h, filter.h, opener.h).
 *
 * NULL. The same rule holds for every function:
 *   - a function that destroys, closes, frees or drops a reference accepts NULL and a pointer to
 *     NULL, and does nothing;
 *   - a function that returns a status returns EINVALID_ARGUMENT with the name of the argument (a
 *     debug build of the library aborts) if the argument is not optional;
 *   - any other function returns NULL, 0 or false (-1 if it uses -1 for "not found"), or does
 *     nothing. An environment of NULL is the default environment; `err` may always be NULL.
 *
 * Numbers. The same rule holds for every argument that is a number:
 *   - an index, a count, an enumerator or a size that cannot be right is treated as NULL is, except
 *     that a debug build does not abort: a call with a status returns EINVALID_ARGUMENT with the
 *     number, or the status that its header states;
 *   - every negative timeout but LEVADA_AT_ONCE is LEVADA_FOREVER.
 * levada cannot check a count or a size against memory of the caller, except that a size_t of -1 is
 * refused.
 *
 * fork(). These handles belong to the process that created them: iterators, queues, barriers,
 * coordinators and their members, queue runners, buckets, watchdogs, readers, writers and
 * interrupts. In the child of a fork their calls return EFAILED_PRECONDITION, and calls without a
 * status behave as for NULL. (The names and options of a handle stay readable.
 * levada_coordinator_should_stop returns true, so that loops end.) Destroying such a handle neither
 * waits nor joins, and frees its memory; memory that a thread of the parent was changing during the
 * fork stays until the child ends. Everything else may be used in the child: environments,
 * datasets, functions, blocks, tensors, specs, values. Processes created by vfork(), _Fork() or
 * clone() must not call the library.
 *
 * Signals. Only levada_interrupt_raise and levada_output_drop_all are async-signal-safe.
 * levada_interrupt_raise cancels iterators, queues, barriers and coordinators from a signal handler
 * (interrupt.h).
 *
 * Example:
 *
 *     levada_dataset *dataset = NULL;
 *
 *     LEVADA_TRY(levada_dataset_parse(NULL, "range:10 | batch:4", &dataset, err));
 *     levada_dataset_unref(&dataset);
 */
#ifndef LEVADA_LEVADA_H
#define LEVADA_LEVADA_H

#include <levada/arrow.h>
#include <levada/barrier.h>
#include <levada/block.h>
#include <levada/bucket.h>
#include <levada/builder.h>
#include <levada/coordinator.h>
#include <levada/dataset.h>
#include <levada/divide.h>
#include <levada/env.h>
#include <levada/error.h>
#include <levada/example.h>
#include <levada/example_view.h>
#include <levada/function.h>
#include <levada/inspect.h>
#include <levada/interrupt.h>
#include <levada/iter.h>
#include <levada/lengths.h>
#include <levada/open.h>
#include <levada/output.h>
#include <levada/queue.h>
#include <levada/reader.h>
#include <levada/receipt.h>
#include <levada/sample.h>
#include <levada/spec.h>
#include <levada/state.h>
#include <levada/state_saver.h>
#include <levada/tensor.h>
#include <levada/value.h>
#include <levada/version.h>
#include <levada/views.h>
#include <levada/watchdog.h>
#include <levada/write.h>
#include <levada/writer.h>

#endif
