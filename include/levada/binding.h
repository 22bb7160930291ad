/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks for bindings to languages with an interpreter. The Python package uses them to interrupt a
 * waiting call without losing data. Programs in C do not need them, because interrupt.h cancels
 * from a signal handler. They may change in any version; docs/versions.md does not cover them.
 */
#ifndef LEVADA_BINDING_H
#define LEVADA_BINDING_H

#include <levada/barrier.h>
#include <levada/bucket.h>
#include <levada/coordinator.h>
#include <levada/iter.h>
#include <levada/queue.h>
#include <levada/state_saver.h>
#include <levada/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the function that waiting threads call every `every` nanoseconds, without holding a lock. If
 * poll(user) returns false, the call ends with ECANCELLED and nothing is lost. A waiting thread
 * keeps its turn, unlike a caller that waits in short slices. Set it before any call waits; setting
 * the same function again does nothing. NULL removes it. */
LEVADA_API void levada_queue_set_poll(levada_queue *queue, bool (*poll)(void *user), void *user,
                                      int64_t every);
/* Sets the function that a thread calls, without holding a lock, when the elements of its dequeue
 * have arrived. If accept(user) returns false, the elements return to the front of the queue and
 * the call ends with ECANCELLED. Set it as levada_queue_set_poll. */
LEVADA_API void levada_queue_set_accept(levada_queue *queue, bool (*accept)(void *user),
                                        void *user);
/* Set the functions of a barrier, as for a queue. */
LEVADA_API void levada_barrier_set_poll(levada_barrier *barrier, bool (*poll)(void *user),
                                        void *user, int64_t every);
LEVADA_API void levada_barrier_set_accept(levada_barrier *barrier, bool (*accept)(void *user),
                                          void *user);
/* Set the functions of a state saver, as for a queue. */
LEVADA_API void levada_state_saver_set_poll(levada_state_saver *saver, bool (*poll)(void *user),
                                            void *user, int64_t every);
LEVADA_API void levada_state_saver_set_accept(levada_state_saver *saver,
                                              bool (*accept)(void *user), void *user);
/* Sets the function that threads call while they wait for their turn at a reader, as for a
 * queue. */
LEVADA_API void levada_reader_set_poll(levada_reader *reader, bool (*poll)(void *user), void *user,
                                       int64_t every);

/* Sets the function that threads call while they wait for the stop or in a join, as for a queue. */
LEVADA_API void levada_coordinator_set_poll(levada_coordinator *coordinator,
                                            bool (*poll)(void *user), void *user, int64_t every);
/* Returns the number of a member within its coordinator, from 1 on; 0 for NULL. */
LEVADA_API int64_t levada_member_number(const levada_member *member);
/* Joins as levada_coordinator_join does, but waits only for the member with this number, which may
 * have ended; 0 = for no thread. The member may stand for several threads of an interpreter. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_coordinator_join_member(levada_coordinator *coordinator, int64_t number, int64_t grace,
                               bool ignore_live, levada_error *err);

/* Returns the number of the i-th source of the pipeline that levada_iter_opened_file does not list;
 * -1 after the last one. Any thread. */
LEVADA_API int32_t levada_iter_source(const levada_iter *it, int32_t i);

/* Returns message i that a decoder wrote about good records of a block of levada_decoding_run:
 * borrowed; NULL after the last message. Such a block has messages only. */
LEVADA_API const char *levada_block_note(const levada_block *block, int32_t i);

/* A record, or several, that a reader found; borrowed, and valid while the call that found it has
 * its turn. */
typedef struct levada_reader_found {
    levada_block  *block;  /* several records, with "key" and "value"; the callee may take it,
                            * and then sets it to NULL. NULL: the other members hold one record */
    const char    *name;   /* name of the file: the key or its beginning; not terminated */
    size_t         name_size;
    int64_t        number; /* in the key, after the name and ":"; -1 = the key is the name */
    const uint8_t *value;
    int64_t        size;
} levada_reader_found;

/* Writes the key of one record, unless `to` is NULL; returns its size. */
LEVADA_API int64_t levada_reader_key_bytes(const levada_reader_found *found, uint8_t *to);

/* Reads up to n records (0 = one record) without copying them into tensors. use() receives them; if
 * it returns another status than OK, the reader keeps them for the next call. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_reader_find(levada_reader *reader, levada_reader_names names, void *names_user, int64_t n,
                   int64_t timeout,
                   levada_status (*use)(void *user, levada_reader_found *found, levada_error *err),
                   void *user, levada_error *err);

/* Creates a bucket over queues that the caller made: n bucket queues and a top queue, with the
 * components that levada_bucket_queue describes. It has no threads, so the caller calls put, run
 * and close. It reads the options of levada_bucket_check, key_component and keep_component. */
LEVADA_API LEVADA_MUST_USE levada_status levada_bucket_over(const levada_bucket_options *options,
                                                            levada_queue *const *queues,
                                                            levada_queue        *top,
                                                            levada_bucket      **out,
                                                            levada_error        *err);
/* Returns the block that next() returned last, whole, to the iterator; the next call of next()
 * returns it again, and until then checkpoints contain it. For callers interrupted before they used
 * the block. */
LEVADA_API void levada_iter_unread(levada_iter *it, levada_block **block);

/* Sets the function that openers call on their own thread, through levada_cancel_requested, while
 * they wait outside of the library. If it returns true, the opener stops waiting: levada_iter_next
 * returns AGAIN on that thread without losing data, and other calls return ECANCELLED. NULL removes
 * it. It applies to all files opened from then on; an environment of NULL is the default
 * environment. */
LEVADA_API void levada_env_set_interrupted(levada_env *env, bool (*interrupted)(void));

/* Sets `resolve` of levada_env_options for the default environment (env = NULL), which is not
 * created with options; `user` is NULL. Call it before other threads parse pipelines. */
LEVADA_API void levada_env_set_resolve(
    levada_env *env, levada_status (*resolve)(void *user, const char *kind, const char *name,
                                              levada_function **out, levada_error *err));

/* Selects the columns that stay encoded until a batch is made (late decoding). Results never depend
 * on it; use it for tests and for measurements. */
typedef enum levada_late_decode {
    LEVADA_LATE_DECODE_AUTO,   /* if it saves work */
    LEVADA_LATE_DECODE_NEVER,
    LEVADA_LATE_DECODE_RANDOM, /* columns drawn for each block, if possible */
    LEVADA_LATE_DECODE_ALWAYS  /* if it is possible                         */
} levada_late_decode;

/* Sets late decoding for all iterators of the environment (NULL = the default environment), from
 * their next block on. */
LEVADA_API void levada_env_set_late_decode(levada_env *env, levada_late_decode how);

#ifdef __cplusplus
}
#endif

#endif
