/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the user, which `map`, `filter` and the user's own sources call.
 *
 * A function is reference-counted. The stages `map`, `filter` and `call` and the source `records`
 * call it on a thread of the iterator or on the caller's thread; it may block. A function that must
 * run on a special thread (Python) passes the work to that thread in `call` and waits for it.
 *
 * Example:
 *
 *     static levada_status same_call(void *run, const levada_block *in, levada_block **out,
 *                                    levada_error *err)
 *     {
 *         (void)run, (void)err;
 *         *out = levada_block_ref(in);
 *         return LEVADA_OK;
 *     }
 *
 *     static levada_status run(levada_error *err)
 *     {
 *         levada_function_def def = {.struct_size = sizeof def, .kind = "c", .name = "same",
 *                                    .pure = true, .call = same_call};
 *         levada_function    *function = NULL;
 *         levada_dataset     *dataset = NULL;
 *         levada_env         *env = NULL;
 *
 *         LEVADA_TRY(levada_env_create(NULL, &env, err));
 *         LEVADA_TRY(levada_function_create(&def, NULL, &function, err));
 *         LEVADA_TRY(levada_env_add_function(env, function, err));
 *         levada_function_unref(&function);
 *         LEVADA_TRY(levada_dataset_parse(env, "range:10 | map:{c:same}", &dataset, err));
 *         levada_dataset_unref(&dataset);
 *         levada_env_destroy(&env);
 *         return LEVADA_OK;
 *     }
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
    const char *kind; /* "c" or "py"; it prints as {"py": "module:qualname"} */
    /* Name, by which another process finds the function; NULL = it cannot. "#" and 16 hexadecimal
     * digits at its end are a hash of the code, which fingerprints do not include; "#?" = the code
     * or its data are unknown, so cache files are not reused. */
    const char *name;
    bool        pure; /* may be called again for the same records after a restore */
    /* Opens one use of the function, per iterator. NULL: *run is `user`. */
    levada_status (*open)(void *user, void **run, levada_error *err);
    /* Receives a block (borrowed; NULL for sources) and returns a block that the caller owns. A
     * source returns END at its end. AGAIN = not ready: the iterator returns AGAIN, and its next
     * call repeats this call. A call that fails because of one row may set err->record to its
     * number in the block; levada replaces the number by the location of the record. */
    levada_status (*call)(void *run, const levada_block *in, levada_block **out,
                          levada_error *err);
    /* Makes a blocked call return ECANCELLED soon; any thread. May be NULL. */
    void (*cancel)(void *run);
    /* Save and restore the position of a source (NULL = it cannot be saved), or the state of a
     * function of blocks. NULL = the function has no state, and is called again for a block for
     * which it failed or was cancelled. */
    levada_status (*save)(void *run, levada_state_writer *to, levada_error *err);
    levada_status (*restore)(void *run, levada_state_reader *from, levada_error *err);
    void (*close)(void *run);
    /* Called after the last reference was released, on any thread; must not block or call
     * levada. */
    void (*release)(void *user);
    /* Called after open() with the seed and epoch that random numbers of this use may depend on,
     * besides the records. May be NULL. */
    void (*begin)(void *run, uint64_t seed, int64_t epoch);
    /* Receives, before each call with a block and on its thread, the keys of the block's records:
     * terminated strings ("train-3.tfrecord:17"), one after the other, valid during the call. Its
     * error becomes the error of the call. NULL = levada does not make the keys. */
    levada_status (*keys)(void *run, const char *keys, size_t size, levada_error *err);
    /* true if the function handles each row of a block as a record. After a batching stage an
     * element is a whole batch, so `map`, `call` and `filter` reject such a function there. */
    bool per_record;
} levada_function_def;

/* Creates a function; copies the strings of `def`. */
LEVADA_API LEVADA_MUST_USE levada_status levada_function_create(const levada_function_def *def,
                                                                void *user, levada_function **out,
                                                                levada_error *err);
LEVADA_API levada_function *levada_function_ref(const levada_function *function);
LEVADA_API void levada_function_unref(levada_function **function);
/* Returns the descriptor, borrowed for the life of the function. */
LEVADA_API const levada_function_def *levada_function_info(const levada_function *function);
/* Returns the `user` of levada_function_create, which open() receives. */
LEVADA_API void *levada_function_user(const levada_function *function);

#ifdef __cplusplus
}
#endif

#endif
