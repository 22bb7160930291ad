/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over random inputs of up to 20 bytes, drawn from a seed, for targets that read
 * their input as choices. LEVADA_TEST_LENGTH multiplies their number; a first argument is the seed.
 */
#include "support/length.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DRAWN_INPUTS 400

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t n = DRAWN_INPUTS * (uint64_t)t_length();

    for (uint64_t i = 0; i < n; i++) {
        uint64_t state = (seed + i) * UINT64_C(0x9E3779B97F4A7C15);
        uint8_t  data[20];

        for (size_t k = 0; k < sizeof data; k++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            data[k] = (uint8_t)(state >> 56);
        }
        LLVMFuzzerTestOneInput(data, 5 + data[19] % 16);
    }
    printf("%llu inputs\n", (unsigned long long)n);
    return 0;
}
