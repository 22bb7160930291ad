/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State: a stage writes it when its iterator is saved, and reads it when it is restored.
 *
 * Keys are local to the stage: at most 63 bytes, 40 for cursors and row stores; a longer one is
 * EINVALID_ARGUMENT. A restore that reads a key that is missing, or does not read one that is
 * there (get or has), is EFAILED_PRECONDITION with its path. A restore hook reads and checks
 * everything first and changes its state last.
 */
#ifndef LEVADA_STATE_H
#define LEVADA_STATE_H

#include <levada/function.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts of records, passes, bytes stay below this, and sums of a few of them in an int64. */
#define LEVADA_COUNT_LIMIT (1LL << 60)

LEVADA_API LEVADA_MUST_USE levada_status levada_state_put_i64(levada_state_writer *to,
                                                              const char *key, int64_t value,
                                                              levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_state_put_bytes(levada_state_writer *to,
                                                                const char *key, const void *bytes,
                                                                size_t size, levada_error *err);
/* A list of integers, stored as differences: small when it is sorted or smooth. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_put_i64s(levada_state_writer *to,
                                                               const char *key,
                                                               const int64_t *values, int64_t n,
                                                               levada_error *err);

LEVADA_API LEVADA_MUST_USE levada_status levada_state_get_i64(levada_state_reader *from,
                                                              const char *key, int64_t *out,
                                                              levada_error *err);
/* A number from 0 to `most`, else EDATA_LOSS: a state may be made up, and what is added to a count
 * must not overflow. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_get_count(levada_state_reader *from,
                                                                const char *key, int64_t most,
                                                                int64_t *out, levada_error *err);
/* Borrowed for the time of the restore. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_get_bytes(levada_state_reader *from,
                                                                const char *key, const void **out,
                                                                size_t *size, levada_error *err);
/* Borrowed for the time of the restore. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_get_i64s(levada_state_reader *from,
                                                               const char *key,
                                                               const int64_t **out, int64_t *n,
                                                               levada_error *err);
/* True when the key is there. */
LEVADA_API bool levada_state_has(const levada_state_reader *from, const char *key);

#ifdef __cplusplus
}
#endif

#endif
