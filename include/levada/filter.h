/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte filters: bytes in, bytes out. For authors of compression formats.
 *
 * A filter decodes the bytes of a file before a format frames records in them, and may encode what
 * a writer writes. Users name it with compression=; without a name, the filter whose probe()
 * verifies the most bits of the first bytes is used.
 *
 * Each stream has a state of its own, which one thread uses at a time; the hooks of several streams
 * run at once. A filter never allocates a size that the data declares before it has checked it.
 * Damage is EDATA_LOSS, after all bytes before the damage were written.
 */
#ifndef LEVADA_FILTER_H
#define LEVADA_FILTER_H

#include <levada/env.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One step of a filter: reads from [in, in + in_size), writes to [out, out + out_size). */
typedef struct levada_filter_step {
    const uint8_t *in;
    size_t         in_size;
    uint8_t       *out;
    size_t         out_size;
    size_t         used;     /* bytes of `in` taken, set by the filter                     */
    size_t         made;     /* bytes of `out` written, set by the filter                  */
    bool           in_ended; /* nothing follows after `in`                                 */
    bool           finished; /* set by the filter: the stream is complete, nothing pending */
    bool           flush;    /* encode: make all that was put in so far readable           */
} levada_filter_step;

typedef struct levada_filter_def {
    size_t      struct_size;
    const char *name; /* "gzip": also the value of compression= */
    const char *doc;
    const char *suffix; /* ".gz" */
    size_t      state_size;
    /* Bits of the first bytes that were verified; 0 = it is not this. */
    int32_t (*probe)(const uint8_t *data, size_t size);
    levada_status (*open)(void *state, levada_error *err);
    void (*close)(void *state);
    /* Back to the beginning of a stream. */
    levada_status (*reset)(void *state, levada_error *err);
    /* Makes progress, or sets finished: then the rest of the file is ignored. Streams that follow
     * each other are the filter's business. A stream that ends early is OK with the last bytes,
     * then EDATA_LOSS without any, once in_ended. Return every byte before damage first: bytes of a
     * call that fails count for nothing. EDATA_LOSS with `finished` set says that the stream was
     * complete and only its own checksum is wrong: `used` counts then, and a caller that accepts
     * the damage calls again for what follows. */
    levada_status (*decode)(void *state, levada_filter_step *step, levada_error *err);
    /* The way back, with a state of its own. NULL = it cannot compress. level -1 = the default.
     * encode with in_ended finishes the stream and sets finished; a flush is done once a call
     * consumes nothing and does not fill `out`. */
    levada_status (*open_encoder)(void *state, int32_t level, levada_error *err);
    levada_status (*encode)(void *state, levada_filter_step *step, levada_error *err);
    void (*close_encoder)(void *state);
    /* Threads of its own that the encoder may use, at least 1; before the first encode(). The bytes
     * must not depend on their number, and the threads must block all signals. In the child of a
     * fork close_encoder is not called then. NULL = encode() does all. */
    levada_status (*encode_threads)(void *state, int32_t threads, levada_error *err);
    /* A stream for `levada check`, of a filter that cannot compress. NULL = the check reads the
     * file "example" with the suffix from its folder. */
    const void *example;
    size_t      example_size;
} levada_filter_def;

#ifdef __cplusplus
}
#endif

#endif
