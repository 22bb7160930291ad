/* SPDX-License-Identifier: Apache-2.0 */
#include "support/blocks.h"

#include <stdlib.h>
#include <string.h>

#define MUST(expr) \
    do {                                \
        if ((expr) != LEVADA_OK) abort(); \
    } while (0)

levada_pool *test_pool(void)
{
    levada_env_options options = LEVADA_ENV_OPTIONS_INIT;
    levada_pool       *pool = NULL;

    MUST(levada_pool_create(&options, &pool, NULL));
    return pool;
}

levada_block *test_block(levada_pool *pool, const int32_t *lengths, int64_t rows, int64_t first)
{
    levada_field fields[3] = { { .name = "x", .dtype = LEVADA_INT64, .depth = 1 },
                               { .name = "n", .dtype = LEVADA_INT64 },
                               { .name = "s", .dtype = LEVADA_BYTES } };
    levada_spec    *spec = NULL;
    levada_builder *b = NULL;
    levada_block   *block = NULL;
    char            letters[5];

    MUST(levada_spec_create(fields, 3, LEVADA_SPEC_PLAIN, &spec, NULL));
    MUST(levada_builder_make(pool, spec, -1, &b, NULL));
    for (int64_t i = 0; i < rows; i++) {
        for (int32_t k = 0; k < lengths[i]; k++) {
            MUST(levada_builder_push_i64(b, 0, first + i, NULL));
        }
        MUST(levada_builder_end_row(b, 0, NULL));
        MUST(levada_builder_push_i64(b, 1, first + i, NULL));
        memset(letters, 'a' + (int)(i % 26), sizeof letters);
        MUST(levada_builder_push_bytes(b, 2, letters, (first + i) % 5, NULL));
    }
    MUST(levada_builder_publish(&b, &block, NULL));
    levada_spec_unref(&spec);
    return block;
}

levada_block *test_nested(levada_pool *pool, const int32_t *outer, int64_t rows,
                          const int32_t *inner)
{
    levada_field    field = { .name = "w", .dtype = LEVADA_INT32, .depth = 2 };
    levada_spec    *spec = NULL;
    levada_builder *b = NULL;
    levada_block   *block = NULL;
    int32_t        *level = NULL, *words = NULL, n = 0, total = 0;
    void           *values = NULL;

    MUST(levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, &spec, NULL));
    MUST(levada_builder_make(pool, spec, rows, &b, NULL));
    MUST(levada_builder_offsets(b, 0, 0, rows, &level, NULL));
    for (int64_t i = 0; i < rows; i++) level[i + 1] = n += outer[i];
    MUST(levada_builder_offsets(b, 0, 1, n, &words, NULL));
    for (int32_t i = 0; i < n; i++) words[i + 1] = total += inner[i];
    MUST(levada_builder_values(b, 0, total, &values, NULL));
    for (int32_t i = 0; i < total; i++) ((int32_t *)values)[i] = i;
    MUST(levada_builder_publish(&b, &block, NULL));
    levada_spec_unref(&spec);
    return block;
}
