/* SPDX-License-Identifier: Apache-2.0 */
/* A counting sort for each digit, from the lowest. */
#include "base/sort.h"

#include <string.h>

#define SORT_DIGIT 11 /* bits that one pass looks at */

void levada_sort(levada_sort_entry *entries, levada_sort_entry *spare, int64_t n)
{
    int64_t most = 0;

    for (int64_t i = 0; i < n; i++) {
        if (entries[i].value > most) most = entries[i].value;
    }
    for (int shift = 0; shift < 63 && most >> shift; shift += SORT_DIGIT) {
        int64_t starts[(1 << SORT_DIGIT) + 1] = { 0 };
        int64_t mask = (1 << SORT_DIGIT) - 1;

        for (int64_t i = 0; i < n; i++) starts[((entries[i].value >> shift) & mask) + 1]++;
        for (int64_t d = 0; d < mask; d++) starts[d + 1] += starts[d];
        for (int64_t i = 0; i < n; i++) {
            spare[starts[(entries[i].value >> shift) & mask]++] = entries[i];
        }
        memcpy(entries, spare, (size_t)n * sizeof *entries);
    }
}
