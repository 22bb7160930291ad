/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes of some records that are saved as origins, to find out that what is read again is
 * something else: a file that was changed where nobody looked, a function that only says it is
 * pure. They are spread over the records evenly, and all of each one is hashed. But downstream of a
 * user's function, floating values are omitted: the last bits of a product of matrices, say, depend
 * on how many rows it has and on the CPU, and what is read again comes in other blocks.
 */
#include "state/state_priv.h"
#include "tensor/encoded.h"
#include "tensor/record_hash.h"

#include <levada/stage.h>

#include <stdio.h>

#define RECORDS_SUMS INT64_C(64)

/* Returns true if a function of the user makes what comes out here, or some of it. */
static bool sums_calls(const levada_dataset *at)
{
    for (const levada_arg *a = at->op->args; a->name; a++) {
        if (a->type == LEVADA_ARG_FUNCTION) return true;
    }
    for (int32_t i = 0; i < at->ninputs; i++) {
        if (sums_calls(at->inputs[i])) return true;
    }
    return false;
}

static int64_t sums_count(const levada_block *block)
{
    return block->n < RECORDS_SUMS ? block->n : RECORDS_SUMS;
}

/* Returns the record that hash number k is of. */
static int64_t sums_place(const levada_block *block, int64_t k)
{
    return k * block->n / sums_count(block);
}

/* Hashes the records that are spread over a block; encoded columns are decoded first, of these
 * records alone. */
static levada_status sums_block(const levada_edge *edge, const levada_block *block,
                                int64_t sums[RECORDS_SUMS], levada_error *err)
{
    int64_t       n = sums_count(block);
    bool          exact = !sums_calls(edge->at);
    int32_t       rows[RECORDS_SUMS] = { 0 };
    levada_block *some = NULL, *decoded = NULL;
    levada_status st;

    for (int64_t k = 0; k < n; k++) rows[k] = (int32_t)sums_place(block, k);
    LEVADA_TRY(levada_block_select(block, rows, n, &some, err));
    st = levada_block_decoded(levada_env_pool(edge->at->env), some, &decoded, err);
    for (int64_t k = 0; st == LEVADA_OK && k < n; k++)
        sums[k] = (int64_t)levada_record_hash(decoded, k, exact);
    levada_block_unref(&decoded);
    levada_block_unref(&some);
    return st;
}

levada_status levada_records_put_sums(levada_state_writer *to, const char *key,
                                      const levada_block *block, levada_error *err)
{
    int64_t sums[RECORDS_SUMS], n = sums_count(block);
    char    name[LEVADA_STATE_NAME];

    LEVADA_TRY(sums_block(to->scope.edge, block, sums, err));
    snprintf(name, sizeof name, "%s.sums", key);
    return levada_state_put_i64s(to, name, sums, n, err);
}

/* Compares the hashes with those of what was read again. */
static levada_status sums_compare(const levada_state_reader *from, const int64_t *sums,
                                  const levada_block *block, levada_error *err)
{
    const levada_edge *edge = from->scope.edge;
    int64_t            are[RECORDS_SUMS];

    LEVADA_TRY(sums_block(edge, block, are, err));
    for (int64_t k = 0; k < sums_count(block); k++) {
        int64_t i = sums_place(block, k);

        if (are[k] == sums[k]) continue;
        (void)levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                          "a buffered record has changed since the checkpoint was saved: its file "
                          "changed on disk, or its function is not pure");
        edge->ops->place(edge, from->scope.path, block, i, err);
        return LEVADA_EFAILED_PRECONDITION;
    }
    return LEVADA_OK;
}

levada_status levada_records_check_sums(levada_state_reader *from, const char *key,
                                        const levada_block *block, levada_error *err)
{
    const int64_t *sums = NULL;
    int64_t        n = 0;
    char           name[LEVADA_STATE_NAME];

    snprintf(name, sizeof name, "%s.sums", key);
    LEVADA_TRY(levada_state_get_i64s(from, name, &sums, &n, err));
    if (n != sums_count(block)) {
        return levada_state_damaged(from, name, err, "%lld hashes, %lld were expected",
                                    (long long)n, (long long)sums_count(block));
    }
    return sums_compare(from, sums, block, err);
}

levada_status levada_records_check_values(const levada_state_reader *from,
                                          const levada_block *saved, const levada_block *block,
                                          levada_error *err)
{
    int64_t sums[RECORDS_SUMS];

    LEVADA_TRY(sums_block(from->scope.edge, saved, sums, err));
    return sums_compare(from, sums, block, err);
}
