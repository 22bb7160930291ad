/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deflate streams in a wrapper: what gzip.c and zlib.c need of an outside library. The build
 * chooses who inflates (ISA-L where it was found, else zlib) and whether there is zlib at all.
 */
#ifndef LEVADA_IO_INFLATE_H
#define LEVADA_IO_INFLATE_H

#include <levada/filter.h>

typedef enum levada_wrap { LEVADA_WRAP_GZIP, LEVADA_WRAP_ZLIB } levada_wrap;

/* One direction of one library. A missing one answers EUNIMPLEMENTED to open. */
typedef struct levada_codec {
    levada_status (*open)(void **codec, levada_wrap wrap, int32_t level, levada_error *err);
    void (*close)(void **codec); /* accepts NULL */
    /* Back to the beginning of a stream. */
    levada_status (*reset)(void *codec, levada_error *err);
    /* One step of one stream: checks its checksum at its end, where it sets finished. It returns
     * every byte before damage first. EDATA_LOSS with finished: only the checksum is wrong. */
    levada_status (*run)(void *codec, levada_filter_step *step, levada_error *err);
} levada_codec;

extern const levada_codec *const levada_codec_inflate; /* the faster one of those that exist */
extern const levada_codec *const levada_codec_deflate; /* the same, at a level of its own */
extern const levada_codec        levada_codec_zlib_inflate;
extern const levada_codec        levada_codec_zlib_deflate;

/* Returns true if the first bytes can be inflated without an error but a wrong checksum at the end.
 * */
bool levada_inflate_tries(levada_wrap wrap, const uint8_t *data, size_t size);

/* A stream that is compressed: at level -1 by the faster library, at 0 to 9 by zlib. All-zero is a
 * valid closed state. */
typedef struct levada_deflate {
    const levada_codec *codec;
    void               *stream;
} levada_deflate;

levada_status levada_deflate_open(levada_deflate *deflate, levada_wrap wrap, int32_t level,
                                  levada_error *err);
levada_status levada_deflate_run(levada_deflate *deflate, levada_filter_step *step,
                                 levada_error *err);
void          levada_deflate_close(levada_deflate *deflate);

/* What both filters share: a stream and the way it ends. All-zero is a valid closed state. */
typedef struct levada_inflate_state {
    void   *codec;
    int64_t made, taken; /* by the current stream                                        */
    bool    ended;       /* the last stream is complete: another one may follow          */
} levada_inflate_state;

/* Decodes one step of the current stream; EDATA_LOSS names the filter and where it ended early.
 * Sets `ended` when the stream is complete, even when its checksum is wrong. */
levada_status levada_inflate_step(levada_inflate_state *state, const char *name,
                                  levada_filter_step *step, levada_error *err);
/* Skips zeros, which are padding, after a stream, and finishes at the end of the input. */
void levada_inflate_padding(levada_filter_step *step);

#endif
