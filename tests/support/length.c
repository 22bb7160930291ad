/* SPDX-License-Identifier: Apache-2.0 */
#include "support/length.h"

#include <stdlib.h>

int64_t t_length(void)
{
    const char *text = getenv("LEVADA_TEST_LENGTH");
    long long   length = text ? strtoll(text, NULL, 10) : 1;

    return length < 1 ? 1 : length;
}
