/* SPDX-License-Identifier: Apache-2.0 */
#include "support/length.h"

#include <stdio.h>
#include <stdlib.h>

int64_t t_length(void)
{
    const char *text = getenv("LEVADA_TEST_LENGTH");
    char       *end = NULL;
    long        length = text ? strtol(text, &end, 10) : 1;

    if (length >= 1 && length <= 1000000 && (!text || *end == '\0')) return length;
    (void)fprintf(stderr, "LEVADA_TEST_LENGTH='%s' must be an integer from 1 to 1000000\n", text);
    exit(1);
}
