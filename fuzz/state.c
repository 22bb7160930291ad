/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States: whatever the bytes are, restoring answers a status, and an iterator that was restored
 * runs to its end. The checksum is made good first, so that the fuzzer gets past it.
 */
#include "base/kernels.h"
#include <levada/levada.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static levada_dataset *state_dataset(void)
{
    levada_dataset *ds = NULL;

    if (levada_dataset_parse(NULL, "range:40 | shuffle:7,seed=1 | bucket_by_sequence_length:value,"
                                   "boundaries=[10,20],batch_sizes=4",
                             &ds, NULL) != LEVADA_OK) {
        abort();
    }
    return ds;
}

static void state_run(levada_iter *it)
{
    levada_block *block = NULL;
    int           most = 1000;

    while (most-- && levada_iter_next(it, &block, NULL) == LEVADA_OK) levada_block_unref(&block);
}

static void state_try(const uint8_t *data, size_t size)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *ds = state_dataset();
    levada_iter        *it = NULL;

    options.threads = 1;
    if (levada_iter_open(ds, &options, &it, NULL) != LEVADA_OK) abort();
    if (levada_iter_restore(it, data, size, NULL) == LEVADA_OK) state_run(it);
    levada_iter_close(&it);
    levada_dataset_unref(&ds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *good = malloc(size + 4);
    uint32_t crc = levada_kernels_for(LEVADA_CPU_AUTO)->crc32c(0, data, size);

    if (!good) return 0;
    if (size) memcpy(good, data, size);
    for (int i = 0; i < 4; i++) good[size + (size_t)i] = (uint8_t)(crc >> (8 * i));
    state_try(data, size);
    state_try(good, size + 4);
    free(good);
    return 0;
}
