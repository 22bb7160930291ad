/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/keys.h"

#include "tensor/block_priv.h"

levada_status levada_keys_create(levada_pool *pool, const levada_spec *spec,
                                 const levada_origin *origins, int64_t n,
                                 levada_key_lengths *lengths, void *user, levada_block **out,
                                 levada_error *err)
{
    levada_builder *b = NULL;
    levada_block   *made = NULL;
    levada_status   st = levada_builder_make(pool, spec, n, &b, err);

    for (int32_t k = 0; st == LEVADA_OK && k < levada_spec_count(spec); k++) {
        void *values = NULL;

        st = levada_builder_values(b, k, n, &values, err);
        if (st == LEVADA_OK) st = lengths(user, k, origins, n, values, err);
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, &made, err);
    if (st == LEVADA_OK) st = levada_block_put_origins(pool, made, origins, 1, err);
    levada_builder_destroy(&b);
    if (st == LEVADA_OK) *out = made;
    else levada_block_unref(&made);
    return st;
}
