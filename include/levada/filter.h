/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to write a byte filter, which decodes (and encodes) a compression format.
 *
 * A filter decodes the bytes of a file before a format finds records in them, and may encode the
 * bytes of a writer. Users select it with compression=; by default, levada selects the filter whose
 * probe() verifies the most bits of the first bytes.
 *
 * Each stream has its own state, which one thread uses at a time; the hooks of several streams run
 * at the same time. A filter must not allocate a size that the data declares before it has checked
 * that size. For damaged data it returns EDATA_LOSS after it has written all bytes before the
 * damage.
 *
 * Example:
 *
 *     static int32_t same_probe(const uint8_t *data, size_t size)
 *     {
 *         (void)data, (void)size;
 *         return 0; // no bits of evidence: only the suffix selects this filter
 *     }
 *
 *     static levada_status same_open(void *state, levada_error *err)
 *     {
 *         (void)state, (void)err;
 *         return LEVADA_OK;
 *     }
 *
 *     static void same_close(void *state) { (void)state; }
 *
 *     // Copies its input: a filter without a compression.
 *     static levada_status same_decode(void *state, levada_filter_step *step, levada_error *err)
 *     {
 *         (void)state, (void)err;
 *         step->used = step->in_size < step->out_size ? step->in_size : step->out_size;
 *         step->made = step->used;
 *         memcpy(step->out, step->in, step->made);
 *         step->finished = step->in_ended && step->used == step->in_size;
 *         return LEVADA_OK;
 *     }
 *
 *     static const levada_filter_def same_filter = {
 *         .struct_size = sizeof(levada_filter_def),
 *         .name = "same",
 *         .doc = "bytes as they are",
 *         .suffix = ".same",
 *         .probe = same_probe,
 *         .open = same_open,
 *         .close = same_close,
 *         .reset = same_open,
 *         .decode = same_decode,
 *     };
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
    size_t         used;     /* bytes of `in` read, set by the filter                      */
    size_t         made;     /* bytes of `out` written, set by the filter                  */
    bool           in_ended; /* nothing follows after `in`                                 */
    bool           finished; /* set by the filter: the stream is complete, nothing pending */
    bool           flush;    /* encode: make all input so far readable                     */
} levada_filter_step;

typedef struct levada_filter_def {
    size_t      struct_size;
    const char *name; /* "gzip": also the value of compression= */
    const char *doc;
    const char *suffix; /* ".gz" */
    size_t      state_size;
    /* Returns the number of bits of `data` that match the format; 0 = another format. */
    int32_t (*probe)(const uint8_t *data, size_t size);
    levada_status (*open)(void *state, levada_error *err);
    void (*close)(void *state);
    /* Restarts at the beginning of a stream. */
    levada_status (*reset)(void *state, levada_error *err);
    /* Decodes some bytes, or sets `finished`, after which the rest of the file is ignored. The
     * filter itself handles concatenated streams. If a stream ends early, return OK with the last
     * bytes, then EDATA_LOSS without bytes once in_ended is set. Return every byte before damage
     * first, because the bytes of a failed call are ignored. EDATA_LOSS with `finished` set means
     * that the stream was complete and only its checksum is wrong; `used` then counts, and a caller
     * that accepts the damage calls again for the next bytes. */
    levada_status (*decode)(void *state, levada_filter_step *step, levada_error *err);
    /* Encode, with a separate state; NULL = the filter cannot compress, and `levada check` decodes
     * the file "example" with its suffix from the current directory. level -1 = the default.
     * `threads`: 0 = the encoder must not create threads; else it may create up to that number,
     * which block all signals and on which the output must not depend. close_encoder is then not
     * called in the child of a fork. With in_ended, encode finishes the stream and sets `finished`.
     * A flush is complete after a call that reads nothing and does not fill `out`. */
    levada_status (*open_encoder)(void *state, int32_t level, int32_t threads, levada_error *err);
    levada_status (*encode)(void *state, levada_filter_step *step, levada_error *err);
    void (*close_encoder)(void *state);
} levada_filter_def;

#ifdef __cplusplus
}
#endif

#endif
