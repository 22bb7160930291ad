/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks for bindings to languages with an interpreter. With them, the Python package interrupts a
 * waiting call and loses nothing. Programs in C do not need them (interrupt.h cancels from a signal
 * handler). They may change in any version: docs/versions.md does not cover them.
 */
#ifndef LEVADA_BINDING_H
#define LEVADA_BINDING_H

#include <levada/barrier.h>
#include <levada/bucket.h>
#include <levada/iter.h>
#include <levada/queue.h>
#include <levada/state_saver.h>
#include <levada/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A thread that waits calls poll(user) every `every` nanoseconds with nothing held; false ends its
 * call with ECANCELLED, nothing lost. It keeps its place in the line meanwhile, which a caller who
 * waits in short slices would not. Set it before anybody waits (setting the same again does
 * nothing); NULL = none. */
LEVADA_API void levada_queue_set_poll(levada_queue *queue, bool (*poll)(void *user), void *user,
                                      int64_t every);
/* A thread that waited in a dequeue calls accept(user), with nothing held, when its elements have
 * arrived; false returns them to the front and ends the call with ECANCELLED. As set_poll. */
LEVADA_API void levada_queue_set_accept(levada_queue *queue, bool (*accept)(void *user),
                                        void *user);
/* The same for the calls of a barrier. */
LEVADA_API void levada_barrier_set_poll(levada_barrier *barrier, bool (*poll)(void *user),
                                        void *user, int64_t every);
LEVADA_API void levada_barrier_set_accept(levada_barrier *barrier, bool (*accept)(void *user),
                                          void *user);
/* The same for the calls of a state saver. */
LEVADA_API void levada_state_saver_set_poll(levada_state_saver *saver, bool (*poll)(void *user),
                                            void *user, int64_t every);
LEVADA_API void levada_state_saver_set_accept(levada_state_saver *saver,
                                              bool (*accept)(void *user), void *user);
/* The same for threads that wait for their turn at a reader. */
LEVADA_API void levada_reader_set_poll(levada_reader *reader, bool (*poll)(void *user), void *user,
                                       int64_t every);

/* What a decoder noted about good records of a block of levada_decoding_run: message i, borrowed,
 * NULL after the last. Such a block has notes only. */
LEVADA_API const char *levada_block_note(const levada_block *block, int32_t i);

/* What a reader found; borrowed, and valid while the call that found it has its turn. */
typedef struct levada_reader_found {
    levada_block  *block;  /* several records, with "key" and "value"; the callee may take it, and
                            * sets it to NULL then. NULL: one record, that of the other members  */
    const char    *name;   /* of the file: the key, or its beginning; not terminated             */
    size_t         name_size;
    int64_t        number; /* in the key, after the name and ":"; -1 = the key is the name       */
    const uint8_t *value;
    int64_t        size;
} levada_reader_found;

/* Writes the key of one record, unless `to` is NULL; returns its size. */
LEVADA_API int64_t levada_reader_key_bytes(const levada_reader_found *found, uint8_t *to);

/* Reads without a copy into tensors: use() receives what was found, and any status but OK leaves it
 * with the reader for the next call. n = 0: one record, else up to n. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_reader_find(levada_reader *reader, levada_reader_names names, void *names_user, int64_t n,
                   int64_t timeout,
                   levada_status (*use)(void *user, levada_reader_found *found, levada_error *err),
                   void *user, levada_error *err);

/* A bucket over queues that the caller made (n bucket queues and a top queue, with the components
 * that levada_bucket_queue describes), and without threads: put, run and close are the caller's. It
 * reads the options of levada_bucket_check, key_component and keep_component. */
LEVADA_API LEVADA_MUST_USE levada_status levada_bucket_over(const levada_bucket_options *options,
                                                            levada_queue *const *queues,
                                                            levada_queue        *top,
                                                            levada_bucket      **out,
                                                            levada_error        *err);
/* Takes back the block that next() returned last, whole; the next call returns it again. For
 * callers interrupted before they used it. Until then it is part of what save() keeps. */
LEVADA_API void levada_iter_unread(levada_iter *it, levada_block **block);

/* Calls that wait outside of the library (openers, which poll levada_cancel_requested) call
 * interrupted() on their own thread. Where it returns true, an opener gives up: a levada_iter_next
 * of that thread returns AGAIN with nothing lost, and other calls ECANCELLED. NULL = none. For all
 * files that are opened from then on; an environment of NULL is the default one. */
LEVADA_API void levada_env_set_interrupted(levada_env *env, bool (*interrupted)(void));

/* Sets `resolve` of levada_env_options for the default environment (env = NULL), which nobody
 * creates with options; `user` is NULL. Call it before other threads read descriptions. */
LEVADA_API void levada_env_set_resolve(
    levada_env *env, levada_status (*resolve)(void *user, const char *kind, const char *name,
                                              levada_function **out, levada_error *err));

/* Which columns decoders leave encoded until a batch is made. Results never depend on it: this is
 * for tests and for measurements. */
typedef enum levada_late_decode {
    LEVADA_LATE_DECODE_AUTO,   /* where it saves work                           */
    LEVADA_LATE_DECODE_NEVER,
    LEVADA_LATE_DECODE_RANDOM, /* of each block other ones, where it is possible */
    LEVADA_LATE_DECODE_ALWAYS  /* where it is possible                          */
} levada_late_decode;

/* For all iterators of the environment, from their next block on. NULL = the default one. */
LEVADA_API void levada_env_set_late_decode(levada_env *env, levada_late_decode how);

#ifdef __cplusplus
}
#endif

#endif
