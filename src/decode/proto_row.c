/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all steps of the decoders do to rows: reject one, find one, and reserve memory for them.
 */
#include "decode/proto.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>

levada_status levada_proto_reserve(void **memory, int64_t *capacity, int64_t count, size_t size,
                                levada_error *err)
{
    if (levada_reserve(memory, capacity, count, size)) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while decoding %lld values",
                       (long long)count);
}

levada_status levada_proto_reject(levada_proto *x, int64_t row, levada_error *err,
                                  const char *fmt, ...)
{
    levada_error why = LEVADA_ERROR_INIT;
    char text[sizeof why.message];
    va_list args;

    if (x->rejected[row]) return LEVADA_OK;
    x->rejected[row] = 1;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT, "%s", text);
    return levada_builder_reject(x->out, row, &why, err);
}

levada_status levada_proto_broken(levada_proto *x, int64_t row, levada_error *err)
{
    if (x->plan->sequence) {
        return levada_proto_reject(x, row, err,
                                   "Invalid protocol message input: these %d bytes are not a "
                                   "tf.train.SequenceExample",
                                   x->in->size[row]);
    }
    return levada_proto_reject(x, row, err,
                               "Could not parse example input: these %d bytes are not a "
                               "tf.train.Example",
                               x->in->size[row]);
}

int64_t levada_items_row(const levada_items *items, int64_t item)
{
    int64_t row = 0;

    if (!items->first) return item;
    while (items->first[row + 1] <= item) row++;
    return row;
}
