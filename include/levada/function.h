/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the user, which `map`, `filter` and the user's own sources call.
 *
 * A function is reference-counted. It is called by the stages `map`, `filter` and `call` and by the
 * source `records`, on a thread of the iterator or on the caller's own; it may block. A function
 * that must run on a special thread (Python) hands the work over in `call` and waits there.
 */
#ifndef LEVADA_FUNCTION_H
#define LEVADA_FUNCTION_H

#include <levada/block.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_function     levada_function;
typedef struct levada_state_writer levada_state_writer;
typedef struct levada_state_reader levada_state_reader;

typedef struct levada_function_def {
    size_t      struct_size;
    const char *kind; /* "c" or "py": how it prints, {"py": "module:qualname"}                 */
    /* NULL = it has none, and a description of it cannot be read back. "#" and 16 hexadecimal
     * digits at its end are a hash of its code, which fingerprints do not include; "#?" = the code
     * or its data are unknown, and no cache file is reused for them. */
    const char *name;
    bool        pure; /* may be called again for the same records after a restore              */
    /* One running use of it (per iterator). May be NULL: *run is then `user`. */
    levada_status (*open)(void *user, void **run, levada_error *err);
    /* A block in (borrowed; NULL for sources), a block out (the caller's). A source returns END at
     * its end. AGAIN = not now: the iterator returns AGAIN, and its next call repeats this one. */
    levada_status (*call)(void *run, const levada_block *in, levada_block **out,
                          levada_error *err);
    /* Makes a blocked call return ECANCELLED soon; any thread. May be NULL. */
    void (*cancel)(void *run);
    /* Position of a source; NULL = it cannot be saved. State of a function of blocks; NULL = it has
     * none to save, and is called again for the block for which it failed or was cancelled. */
    levada_status (*save)(void *run, levada_state_writer *to, levada_error *err);
    levada_status (*restore)(void *run, levada_state_reader *from, levada_error *err);
    void (*close)(void *run);
    /* After the last reference was released; any thread, must not block or call levada. */
    void (*release)(void *user);
    /* After open: what random numbers of this use may depend on, besides the records. May be NULL.
     */
    void (*begin)(void *run, uint64_t seed, int64_t epoch);
    /* Before each call with a block, on its thread: the keys of the block's records, one terminated
     * string after the other ("train-3.tfrecord:17"); for the call. An error is that of the call.
     * NULL = they are not wanted, and not made. */
    levada_status (*keys)(void *run, const char *keys, size_t size, levada_error *err);
    /* It treats each row of a block as one record. After a batching stage a batch is one element,
     * so `map`, `call` and `filter` refuse such a function there. */
    bool per_record;
} levada_function_def;

/* The strings of def are copied. */
LEVADA_API LEVADA_MUST_USE levada_status levada_function_create(const levada_function_def *def,
                                                                void *user, levada_function **out,
                                                                levada_error *err);
LEVADA_API levada_function *levada_function_ref(const levada_function *function);
LEVADA_API void levada_function_unref(levada_function **function);
/* Borrowed for the life of the function. */
LEVADA_API const levada_function_def *levada_function_info(const levada_function *function);
/* The `user` of levada_function_create, which open() receives. */
LEVADA_API void *levada_function_user(const levada_function *function);

#ifdef __cplusplus
}
#endif

#endif
