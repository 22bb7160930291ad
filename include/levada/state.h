/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a stage, which its hooks write to a checkpoint and read from it.
 *
 * Keys are local to the stage: at most 63 bytes, 40 for cursors and row stores; a longer key is
 * EINVALID_ARGUMENT. If a restore hook reads a missing key, or does not read every key (get or
 * has), levada_iter_restore returns EFAILED_PRECONDITION with the path of the key. A restore hook
 * must read and check everything before it changes its state.
 *
 * Example:
 *
 *     static levada_status count_save(const void *state, levada_state_writer *to,
 *                                     levada_error *err)
 *     {
 *         return levada_state_put_i64(to, "count", *(const int64_t *)state, err);
 *     }
 *
 *     static levada_status count_restore(void *state, levada_state_reader *from, levada_error *err)
 *     {
 *         return levada_state_get_count(from, "count", LEVADA_COUNT_LIMIT, state, err);
 *     }
 */
#ifndef LEVADA_STATE_H
#define LEVADA_STATE_H

#include <levada/function.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Limit of counts of records, passes and bytes, so that sums of a few counts fit in an int64. */
#define LEVADA_COUNT_LIMIT (1LL << 60)

/* Writes an integer under a key. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_put_i64(levada_state_writer *to,
                                                              const char *key, int64_t value,
                                                              levada_error *err);
/* Writes bytes under a key. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_put_bytes(levada_state_writer *to,
                                                                const char *key, const void *bytes,
                                                                size_t size, levada_error *err);
/* Writes a list of integers as differences, which is compact if the values are sorted or change
 * slowly. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_put_i64s(levada_state_writer *to,
                                                               const char *key,
                                                               const int64_t *values, int64_t n,
                                                               levada_error *err);

/* Reads the integer under a key; EDATA_LOSS if the state lacks it. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_get_i64(levada_state_reader *from,
                                                              const char *key, int64_t *out,
                                                              levada_error *err);
/* Reads a number from 0 to `most`. Returns EDATA_LOSS for other numbers, because a checkpoint may
 * be forged and later additions must not overflow. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_get_count(levada_state_reader *from,
                                                                const char *key, int64_t most,
                                                                int64_t *out, levada_error *err);
/* Reads an entry, borrowed until the restore ends. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_get_bytes(levada_state_reader *from,
                                                                const char *key, const void **out,
                                                                size_t *size, levada_error *err);
/* Reads an entry, borrowed until the restore ends. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_get_i64s(levada_state_reader *from,
                                                               const char *key,
                                                               const int64_t **out, int64_t *n,
                                                               levada_error *err);
/* Returns true if the key exists. */
LEVADA_API bool levada_state_has(const levada_state_reader *from, const char *key);

#ifdef __cplusplus
}
#endif

#endif
